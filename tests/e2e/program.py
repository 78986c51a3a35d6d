"""The program, run as a process or in this one.

Signals, pipes, standard input, the encoding of a terminal and the start itself are shown by a
process. Everything else is the same without one, and costs no start: ragas alone takes seconds.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from aletheia.cli.app import main
from aletheia.llm.capabilities import MEMORY
from aletheia.pipeline.stored import close_stores
from aletheia.sdk.worker_host import HOST

TIMEOUT_S = 180
OURS = ("ALETHEIA_", "OPENAI_")

Done = subprocess.CompletedProcess[str]


def environment(**more: str) -> dict[str, str]:
    """The environment of a user without any setting."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, **more}


def line(*arguments: object) -> list[str]:
    """The command line of a process."""
    return [sys.executable, "-m", "aletheia", *map(str, arguments)]


def process(*arguments: object, cwd: Path, stdin: str = "", **variables: str) -> Done:
    """Run the program as a user does."""
    return subprocess.run(
        line(*arguments),
        input=stdin,
        env=environment(**variables),
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )


def here(*arguments: object, cwd: Path, **variables: str) -> Done:
    """Run the program in this process, from its first line to its exit code.

    As in a new process, nothing is known of endpoints and no store is open. What only ends a
    process, such as an exception that nobody caught, ends the test.
    """
    words = list(map(str, arguments))
    out, err = _stream(), _stream()
    MEMORY.clear()
    with pytest.MonkeyPatch.context() as patch, chdir(cwd):
        for name in filter(lambda name: name.startswith(OURS), list(os.environ)):
            patch.delenv(name)
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["aletheia", *words])
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main()
        HOST.renew()
        close_stores()
    code = ended.value.code
    assert isinstance(code, int)
    return Done(words, code, _text(out), _text(err))


def _stream() -> io.TextIOWrapper:
    """A stream with bytes below it, as those of a process have."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    held = stream.buffer
    assert isinstance(held, io.BytesIO)
    return held.getvalue().decode("utf-8")
