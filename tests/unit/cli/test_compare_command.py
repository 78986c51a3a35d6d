"""`aletheia compare`: files in, text or JSON out, one clear error for what is no report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.reports.samples import GROUNDED, row, sample_report, unit

from aletheia.cli.app import run
from aletheia.reports.comparison_document import load_comparison
from aletheia.reports.document import dump_json
from aletheia.schema.report import BenchmarkReport

OTHER = "sha256:" + "00" * 32


def write(path: Path, report: BenchmarkReport) -> str:
    path.write_text(dump_json(report), encoding="utf-8")
    return str(path)


@pytest.fixture
def old(tmp_path: Path) -> str:
    return write(tmp_path / "old.json", sample_report())


def test_one_report_is_shown_in_three_modes(old: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", old]) == 0

    captured = capfd.readouterr()
    assert captured.out.startswith("One run in three modes\n")
    assert captured.err == ""


def test_several_reports_are_compared_with_the_first(
    old: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "comparison.json"

    assert run(["compare", old, old, old, "--json", "--output", str(target)]) == 0
    printed = capfd.readouterr().out
    assert target.read_text(encoding="utf-8") == printed
    assert len(json.loads(printed)["pairs"]) == 2
    assert load_comparison(printed, "c.json").kind == "runs"


def test_other_questions_are_refused_until_they_are_allowed(
    old: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    new = write(tmp_path / "new.json", sample_report(questions_digest=OTHER, graph_digest=OTHER))

    assert run(["compare", old, new]) == 2
    said = capfd.readouterr().err
    assert f"{new}: field `provenance.questions_digest`" in said
    assert "--allow-different questions" in said
    assert run(["compare", old, new, "--allow-different", "questions"]) == 2
    assert run(["compare", old, new, "--allow-different", "questions, graph"]) == 0


@pytest.mark.parametrize(
    "arguments", [["--allow-different", "all"], ["--allow-different", "judge"]]
)
def test_an_allowance_that_means_nothing_is_misuse(old: str, arguments: list[str]) -> None:
    assert run(["compare", old, *arguments]) == 2


CITED_ODDLY = '{"answer": "The pump runs at 40 Hz (E1).", "evidence_ids": []}'


def test_a_reply_that_only_lenient_can_read_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`(E1)` is a citation to lenient and none to strict: the same reply, two verdicts."""
    found = row(
        "q1",
        "How fast?",
        "40 Hz",
        **GROUNDED,
        answer="The pump runs at 40 Hz (E1).",
        raw_reply=CITED_ODDLY,
        evidence=(unit(1, "The pump runs at 40 Hz.", cited=True),),
    )
    report = write(tmp_path / "r.json", sample_report([found], mode="lenient"))

    assert run(["compare", report, "--json"]) == 0
    modes = json.loads(capfd.readouterr().out)
    assert modes["readings"] == [
        {"id": "q1", "strict": "answer_without_citations", "lenient": None}
    ]
    assert modes["gap"]["numerator"] == 1
    assert [view["kept"] for view in modes["views"]] == [0, 1, 1]


BROKEN = [
    ("", "not JSON"),
    ("{", "not JSON"),
    ("[]", "one JSON object"),
    ("{}", "field `schema_version`"),
    ('{"schema_version": 1}', "field `"),
    ('{"a": NaN}', "`NaN` is not a JSON number"),
    ('{"query": "q"}\n{"query": "q"}\n', "not JSON"),
    ("\ufffe", "not JSON"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
@pytest.mark.parametrize("command", [["compare"], ["gate", "--min-pass-rate", "0"]])
def test_a_file_that_is_no_report_is_one_clear_error(
    command: list[str], text: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")

    assert run([*command, str(path)]) == 2
    errors = capfd.readouterr().err
    assert "broken.json" in errors.splitlines()[0]
    assert said in errors.splitlines()[0]
    assert "Traceback" not in errors


@pytest.mark.parametrize("command", [["compare"], ["gate", "--min-pass-rate", "0"]])
def test_a_file_that_cannot_be_read_is_one_clear_error(command: list[str], tmp_path: Path) -> None:
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'{"a": "\xe9"}')

    assert run([*command, str(tmp_path / "missing.json")]) == 2
    assert run([*command, str(tmp_path)]) == 2
    assert run([*command, str(latin)]) == 2


def test_the_output_has_to_be_a_file_that_can_be_written(old: str, tmp_path: Path) -> None:
    assert run(["compare", old, "--output", str(tmp_path)]) == 2
    assert run(["compare", old, "--output", str(tmp_path / "no" / "c.json")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]
