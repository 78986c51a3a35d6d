"""Progress: plain lines where nobody looks, lost replies always, and nothing acts on a terminal."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
import threading

import pytest

from aletheia.cli.progress import Display
from aletheia.pipeline.events import Remark, RowDone, RunStarted, RunStopped


def row(done: int, total: int, error: str | None = None) -> RowDone:
    return RowDone(
        index=done - 1,
        id=f"q{done}\x1b[31m",
        category="error" if error else "grounded_answer",
        done=done,
        total=total,
        seconds=0.1,
        error=error,
    )


def shown(total: int, capsys: pytest.CaptureFixture[str], *, quiet: bool = False) -> list[str]:
    with Display(quiet=quiet) as display:
        display(Remark(text="hello"))
        display(RunStarted(total=total, resumed=2, journal="j"))
        for done in range(3, total + 1):
            display(row(done, total, "it is\ndown" if done == 5 else None))
        display(RunStopped(reason="enough", left=1))
        assert display.kept == (total, total)
        assert display.journal == "j"
    told = capsys.readouterr()
    assert told.out == ""
    return told.err.splitlines()


@pytest.mark.parametrize("total", [8, 100, 5000])
def test_a_run_of_any_length_prints_about_ten_lines(
    total: int, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(total, capsys)

    assert lines[0] == "hello"
    assert lines[1] == f"{total} questions, 2 of them done before"
    assert sum("questions done" in line for line in lines) <= 10
    assert f"{total} of {total} questions done" in lines


def test_quiet_leaves_only_what_was_lost(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(100, capsys, quiet=True) == [
        "question `q5‹ESC›[31m`: no reply: it is‹LF›down",
        "stopped: enough; 1 questions were not asked",
    ]


def test_a_terminal_gets_a_bar_that_goes_away() -> None:
    """In a process of its own, because the bar draws on the real stderr."""
    code = (
        "import time\n"
        "from aletheia.cli import progress\n"
        "from aletheia.pipeline.events import RowDone, RunStarted\n"
        "progress.BAR_AFTER_S = 0.0\n"
        "with progress.Display() as display:\n"
        "    display(RunStarted(total=3, resumed=0, journal='j'))\n"
        "    for n in (1, 2, 3):\n"
        "        display(RowDone(index=n, id='q', category='error', done=n, total=3,\n"
        "                        seconds=0.0, error='lost' if n == 2 else None))\n"
        "        time.sleep(0.15)\n"
    )
    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=slave, stdout=slave)
    os.close(slave)
    said = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        said += piece
    os.close(master)

    assert process.wait(60) == 0
    assert b"3/3" in said
    assert b"question `q`: no reply: lost" in said


def test_json_writes_one_object_for_each_event_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Case 167: a program can follow the run, and what is kept is known all the same."""
    with Display(form="json") as display:
        display(RunStarted(total=3, resumed=1, journal="j"))
        display(row(2, 3, "it is down"))
        display(RunStopped(reason="enough", left=1))
        assert (display.kept, display.journal) == ((2, 3), "j")

    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [event["kind"] for event in told] == ["started", "row", "stopped"]
    assert told[1]["error"] == "it is down"


def test_warnings_of_the_program_are_shown_once_and_by_the_display_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = logging.getLogger("aletheia.llm.budget")
    with Display() as display:
        for _ in range(3):
            log.warning("the price of `%s` is not known", "m")
        log.info("nobody needs to know")
        display(Remark(text="hello"))

    assert capsys.readouterr().err.splitlines() == [
        "warning: the price of `m` is not known",
        "hello",
    ]


def test_two_displays_in_threads_write_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Case 167: no live display is fought over where nobody looks at a terminal."""

    def one() -> None:
        with Display() as display:
            display(RunStarted(total=20, resumed=0, journal="j"))
            for done in range(1, 21):
                display(row(done, 20))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = capsys.readouterr().err.splitlines()
    assert lines.count("20 of 20 questions done") == 2
    assert all(line.endswith(("questions done", "20 questions")) for line in lines)
