"""How the progress of `aletheia eval` is shown: the only writer to the terminal while it runs.

A bar on a terminal, a few plain lines elsewhere, or one JSON object for each event.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from array import array
from collections.abc import Iterable, Iterator
from textwrap import wrap
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from aletheia.cli import output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

BAR_AFTER_S: Final = 2.0
"""A run that is shorter shows no bar."""
LINES: Final = 10
"""About how many lines a long run prints where there is no terminal."""
LISTED: Final = 20
"""So many rows that failed are told of one by one; the others are listed together at the end."""
_KINDS: Final = 50
_REPEATS_NAMED: Final = 5


class _Warnings(logging.Handler):
    """Hands warnings of the program on, each text once."""

    def __init__(self, progress: EvalProgress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Show one warning."""
        text = record.getMessage()
        if text not in self._told:
            self._told.add(text)
            self._progress.say(f"warning: {text}")


class EvalProgress:
    """Shows a run in one form: `auto`, `plain`, `json` or `none`. Failures are shown in all."""

    def __init__(self, form: str) -> None:
        self._form = form
        # Asked once: the bar puts a stream of its own in the place of stderr.
        self._terminal = form == "auto" and output.is_terminal(sys.stderr)
        self._warnings = _Warnings(self)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._begun = time.monotonic()
        self._total = self._done = self._told = self._repeats = 0
        self._failures = Failures()

    def __enter__(self) -> Self:
        logging.getLogger("aletheia").addHandler(self._warnings)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        logging.getLogger("aletheia").removeHandler(self._warnings)
        self._close()

    def begin(self, line: str, **facts: object) -> None:
        """Tell what the run is. `facts` stand in the event; `total` rows are to be done."""
        self._total = int(str(facts.get("total", 0)))
        if self._form == "json":
            self._event("started", **facts)
        else:
            self.say(line)

    def resumed(self, rows: int) -> None:
        """Count rows that an earlier run has done."""
        self._done += rows

    def say(self, text: str, *, always: bool = False) -> None:
        """Tell something that a person should know; in the form `none` only what is `always`."""
        if self._form == "json":
            self._event("remark", text=text)
        elif self._form != "none" or always:
            self._show(text)

    def repeated(self, place: str) -> None:
        """Tell of a row whose id was there before; of some of them only."""
        self._repeats += 1
        if self._repeats <= _REPEATS_NAMED:
            self.say(f"{place}: its id stands on an earlier line too")

    def row(self, **facts: object) -> None:
        """Count one more row that is done and kept. `facts` stand in the event."""
        self._done += 1
        if self._form == "json":
            self._event("row", **facts, done=self._done, total=self._total)
        elif self._terminal:
            self._advance()
        elif self._form != "none" and self._due():
            output.note(f"{self._done} of {self._total} traces done")

    def failed(self, line: int, place: str, message: str) -> None:
        """Tell of a row that is bad or was not judged in full; `message` may name the place."""
        if self._form == "json":
            return
        if self._failures.add(line, message.removeprefix(place)):
            self._show(message if message.startswith(place) else f"{place}{message}")

    def summary(self) -> None:
        """List the rows that failed and were not told of one by one."""
        self._close()
        for line in self._failures.lines():
            output.note(line)

    def _event(self, kind: str, **facts: object) -> None:
        output.note(json.dumps({"kind": kind, **facts}))

    def _show(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(output.safe(text), markup=False, highlight=False)
        else:
            output.note(text)

    def _due(self) -> bool:
        """Tell whether another tenth of a long run is done."""
        tenth = self._done * LINES // max(1, self._total)
        if tenth <= self._told or self._total <= LINES:
            return False
        self._told = tenth
        return True

    def _advance(self) -> None:
        if self._bar is None and time.monotonic() - self._begun >= BAR_AFTER_S:
            self._open()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)

    def _open(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns: tuple[Any, ...] = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress("traces", *columns, console=output.console(), transient=True)
        self._task = self._bar.add_task("traces", total=self._total)
        self._bar.start()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class Failures:
    """Rows that failed, by what is said of them: eight bytes a row that is not told of at once."""

    def __init__(self) -> None:
        self._count = 0
        self._lines: dict[str, array[int]] = {}
        self._others: array[int] = array("q")

    def add(self, line: int, message: str) -> bool:
        """Note a row, and say whether to tell of it now."""
        self._count += 1
        if self._count <= LISTED:
            return True
        known = self._lines.get(message)
        if known is None and len(self._lines) < _KINDS:
            known = self._lines.setdefault(message, array("q"))
        (self._others if known is None else known).append(line)
        return False

    def lines(self) -> Iterator[str]:
        """List the rows that were not told of, each kind of failure with its lines."""
        for message, lines in self._lines.items():
            yield from _listed(lines, f" {message}")
        if self._others:
            yield from _listed(self._others, " other messages: `errors` of the rows")


def _listed(lines: Iterable[int], message: str) -> list[str]:
    found = sorted(lines)
    what = "line" if len(found) == 1 else "lines"
    return wrap(f"{what} {', '.join(_ranges(found))}:{message}", width=79, subsequent_indent="  ")


def _ranges(lines: Iterable[int]) -> Iterator[str]:
    """Write `1-3` for lines that follow one another."""
    first = last = None
    for line in lines:
        if first is None or last is None:
            first = line
        elif line != last + 1:
            yield f"{first}-{last}" if last > first else f"{first}"
            first = line
        last = line
    if first is not None and last is not None:
        yield f"{first}-{last}" if last > first else f"{first}"
