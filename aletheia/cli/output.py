"""The only place that writes to the terminal: data on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from aletheia.reports.text import Role

_CODES: Final = {
    "title": "1",
    "heading": "1",
    "good": "32;1",
    "moderate": "33;1",
    "poor": "31;1",
    "unmeasured": "2",
    "dim": "2",
    "ok": "32",
    "warn": "33",
    "fail": "31",
}


def prepare() -> None:
    """Let no character stop the program: what a terminal cannot encode is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def data(text: str) -> None:
    """Write to stdout as UTF-8, whatever the terminal's encoding: programs read it."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
        return
    buffer.write(text.encode("utf-8"))
    buffer.flush()


def text(line: str = "", *, mark: str = "", role: str = "plain") -> None:
    """Write one line for a person to stdout, after a coloured `mark`; nothing in it acts."""
    print(paint(mark, role) + safe(line))


def block(lines: str) -> None:
    """Write lines to stdout that are safe already, such as the summary with its colours."""
    print(lines)


def note(line: str) -> None:
    """Write one line to stderr; nothing in it acts on the terminal."""
    print(safe(line), file=sys.stderr, flush=True)


def safe(line: str) -> str:
    """Show what would act on a terminal instead of letting it; the line stays one line."""
    from aletheia.reports.visible import one_line

    return one_line(line)


def error(message: str, hint: str | None = None) -> None:
    """Say what went wrong and what to do about it."""
    sign = paint("error:", "poor", sys.stderr)
    print(f"{sign} {safe(_on_one_line(message))}", file=sys.stderr, flush=True)
    if hint:
        note("")
        note(f"hint: {_on_one_line(hint)}")


def traceback_of(exception: BaseException) -> None:
    """Show where an error came from."""
    import traceback

    traceback.print_exception(exception, file=sys.stderr)


def finish() -> None:
    """Flush, so that a closed pipe shows now and not at exit."""
    sys.stdout.flush()
    sys.stderr.flush()


def pipe_closed() -> None:
    """Send what is left nowhere: the reader has gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def is_terminal(stream: TextIO) -> bool:
    """Tell whether a person looks at the stream."""
    return stream.isatty()


def colours(stream: TextIO) -> bool:
    """Tell whether to colour: only a terminal, and not when `NO_COLOR` or a dumb one is set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(stream) and not plain


def paint(line: str, role: str, stream: TextIO | None = None) -> str:
    """Colour a line by its role, if its stream shows colours."""
    code = _CODES.get(role)
    if code is None or not line or not colours(stream or sys.stdout):
        return line
    return f"\x1b[{code}m{line}\x1b[0m"


def styled(line: str, role: Role) -> str:
    """Colour a line of the summary."""
    return paint(line, role)


def pairs(rows: Sequence[tuple[str, str]]) -> Iterable[str]:
    """Lay out names and values in two columns."""
    width = max((len(name) for name, _ in rows), default=0)
    return (f"{name:<{width}}  {value}".rstrip() for name, value in rows)


def console() -> Console:
    """Make rich's console on stderr, for a progress bar."""
    from rich.console import Console

    return Console(stderr=True)


def _on_one_line(message: str) -> str:
    return " ".join(message.split())
