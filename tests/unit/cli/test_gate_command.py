"""`aletheia gate`: options, exit codes, and files that agree with them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from unit.reports.samples import GROUNDED, measured, row, sample_report

from aletheia.cli.app import run
from aletheia.reports.document import dump_json


def write(path: Path, faithfulness: float, **changes: object) -> str:
    rows = [
        row(
            f"q{n}",
            "q?",
            "g",
            **GROUNDED,
            answer="x",
            correct=True,
            metrics=measured(faithfulness=faithfulness),
        )
        for n in range(20)
    ]
    path.write_text(dump_json(sample_report(rows, **changes)), encoding="utf-8")
    return str(path)


@pytest.fixture
def report(tmp_path: Path) -> str:
    return write(tmp_path / "new.json", 0.8)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--min-pass-rate", "1"], 0),
        (["--min-faithfulness", "0.8"], 0),
        (["--min-faithfulness", "0.81"], 3),
        (["--min-faithfulness", "0.8", "--use-interval"], 3),
        (["--min-context-recall", "0"], 3),
        (["--max-contamination", "1"], 3),
        (["--max-rejections", "0", "--max-unmeasured", "0", "--min-accuracy", "1"], 0),
        (["--min-pass-rate", "1", "--confident-only"], 3),
        # misuse
        ([], 2),
        (["--use-interval"], 2),
        (["--confident-only"], 2),
        (["--min-pass-rate", "80"], 2),
        (["--min-pass-rate", "nan"], 2),
        (["--max-contamination", "nan"], 2),
        (["--min-pass-rate", "0", "--alpha", "0"], 2),
        (["--baseline", "missing.json"], 2),
        (["--min-pass-rate", "0", "--junit", "no/such/directory.xml"], 2),
    ],
)
def test_exit_codes(report: str, arguments: list[str], code: int) -> None:
    assert run(["gate", report, *arguments]) == code


def test_without_a_rule_the_rules_are_listed(
    report: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", report]) == 2

    said = capfd.readouterr().err
    for rule in ("--min-pass-rate", "--min-coverage", "--max-unmeasured", "--baseline"):
        assert rule in said


@pytest.mark.parametrize(("bound", "code"), [("0.5", 0), ("0.9", 3)])
def test_text_files_json_and_exit_code_say_the_same(
    report: str, tmp_path: Path, bound: str, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    junit, markdown = tmp_path / "gate.xml", tmp_path / "gate.md"
    files = ["--junit", str(junit), "--markdown", str(markdown)]
    word = "Gate passed" if code == 0 else "Gate failed"

    assert run(["gate", report, "--min-faithfulness", bound, *files, "--json"]) == code
    decision = json.loads(capfd.readouterr().out)
    assert (decision["exit_code"], decision["passed"]) == (code, code == 0)
    assert run(["gate", report, "--min-faithfulness", bound]) == code
    assert capfd.readouterr().out.startswith(word)
    assert (ET.fromstring(junit.read_text(encoding="utf-8")).get("failures") == "0") is (code == 0)
    assert markdown.read_text(encoding="utf-8").startswith(f"## {word}")


def test_annotations_leave_json_whole(report: str, capfd: pytest.CaptureFixture[str]) -> None:
    rule = ["--min-faithfulness", "0.9", "--github"]

    assert run(["gate", report, *rule]) == 3
    lines = capfd.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith(f"::error file={report},title=")]
    assert run(["gate", report, *rule, "--json"]) == 3
    captured = capfd.readouterr()
    json.loads(captured.out)
    assert captured.err.startswith("::error ")


def test_a_baseline(report: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    better = write(tmp_path / "better.json", 0.9)
    same = write(tmp_path / "same.json", 0.8)

    assert run(["gate", report, "--baseline", same]) == 0
    assert run(["gate", report, "--baseline", better]) == 3
    assert "faithfulness against the baseline: −0.10" in capfd.readouterr().out
    assert run(["gate", better, "--baseline", report]) == 0
    assert run(["gate", report, "--baseline", better, "--alpha", "0.001"]) == 3


def test_a_baseline_of_another_judge_is_refused(
    report: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = write(tmp_path / "other.json", 0.9, metrics_by="ragas")

    assert run(["gate", report, "--baseline", other]) == 2
    assert "provenance.metrics_by" in capfd.readouterr().err
