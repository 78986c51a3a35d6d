"""`aletheia compare` and `aletheia gate`, over runs that the program made."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from e2e.program import here, process

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same ten questions, with twelve units of evidence and with one."""
    directory = tmp_path_factory.mktemp("runs")
    found = []
    for units in (12, 1):
        target = directory / str(units)
        done = here(
            *("evaluate-ragas", "--knowledge-graph", "aldermoor", "--questions", "aldermoor"),
            *("--limit", 10, "--max-units", units, "--output-dir", target),
            cwd=directory,
        )
        assert done.returncode == 0, done.stderr
        found += list(target.glob("*.json"))
    return found[0], found[1]


def test_a_run_in_three_modes(runs: tuple[Path, Path]) -> None:
    """What this version wrote it reads to the same verdicts."""
    done = process("compare", runs[0], "--json", cwd=runs[0].parent)
    found = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    assert (found["reread"], found["not_reread"], found["changed"]) == (10, 0, [])


def test_two_runs(runs: tuple[Path, Path]) -> None:
    done = here("compare", *runs, cwd=runs[0].parent)

    assert done.returncode == 0, done.stderr
    assert "10 of 10 matched by id" in done.stdout
    assert "setting `max_units`: 12 against 1" in done.stdout


def test_a_gate_writes_its_files_and_ends_as_they_say(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    rules = ("--min-pass-rate", "0.5", "--min-faithfulness", "0.5")
    files = ("--junit", "gate.xml", "--markdown", "gate.md", "--github")
    done = process("gate", runs[0], *rules, *files, cwd=tmp_path)
    failed = here("gate", runs[0], "--max-contamination", "0.1", *files, cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Gate passed")
    assert failed.returncode == 3
    assert "not in this report" in failed.stdout
    assert ET.parse(tmp_path / "gate.xml").getroot().get("failures") == "1"
    assert (tmp_path / "gate.md").read_text(encoding="utf-8").startswith("## Gate failed")


def test_a_run_against_itself_is_no_regression(runs: tuple[Path, Path]) -> None:
    done = here("gate", runs[0], "--baseline", runs[0], "--min-coverage", "0", cwd=runs[0].parent)

    assert done.returncode == 0, done.stdout + done.stderr
