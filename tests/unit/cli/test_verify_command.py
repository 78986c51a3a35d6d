"""The help of `aletheia verify`, and rows down odd outputs."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from aletheia.cli.app import run

RECORD = {
    "id": 1,
    "evidence": ["The pump runs at 40 Hz."],
    "reply": {"answer": "The pump runs at 40 Hz.", "evidence_ids": ["E1"]},
}


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(RECORD) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "said",
    ["--grounding-mode", "--exempt-question-entities", "--max-bad-rows", "--output", "Exit status"],
)
def test_the_help_names_every_option(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--help"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_rows_go_to_stdout_and_the_summary_to_stderr(
    answers: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(answers)]) == 0

    captured = capfd.readouterr()
    assert json.loads(captured.out)["passed"] is True
    assert captured.err.splitlines()[0] == f"{answers}, strict: 1 of 1 records passed"


def test_a_named_pipe_can_be_the_output(answers: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()

    assert run(["verify", str(answers), "--output", str(pipe)]) == 0

    reader.join(timeout=30)
    assert json.loads(read[0])["id"] == 1
    assert pipe.is_fifo()


def test_an_output_that_cannot_be_written_is_an_error(
    answers: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(answers), "--output", "/dev/full"]) == 2
    assert "No space left on device" in capfd.readouterr().err
