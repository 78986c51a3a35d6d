"""How the progress of a run is shown: a bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self, assert_never

from aletheia.cli import output
from aletheia.pipeline.events import Event, Remark, RowDone, RunStarted, RunStopped

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

BAR_AFTER_S: Final = 2.0
"""A run that is shorter shows no bar."""
LINES: Final = 10
"""About how many lines a long run prints where there is no terminal."""


Form = Literal["auto", "plain", "json"]


class _Warnings(logging.Handler):
    """Hands warnings of the program on, each text once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Show one warning."""
        text = record.getMessage()
        if text not in self._told:
            self._told.add(text)
            self._say(text)


class Display:
    """Listens to a run and tells a person; `quiet` keeps all but lost replies from them.

    `form` `plain` shows lines on a terminal too, `json` one object for each event. Inside its
    block it also shows the warnings that the program logs: nothing else writes to the terminal.
    """

    def __init__(self, *, quiet: bool = False, form: Form = "auto") -> None:
        self._quiet = quiet
        self._json = form == "json"
        # Asked once: the bar puts a stream of its own in the place of stderr.
        self._terminal = output.is_terminal(sys.stderr) and form == "auto"
        self._warnings = _Warnings(self._warn)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._begun = time.monotonic()
        self._kept = 0
        self._total = 0
        self._told = 0
        self.journal: str | None = None

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
        if self._bar is not None:
            self._bar.stop()

    @property
    def kept(self) -> tuple[int, int]:
        """How many questions are done and kept, and how many there are."""
        return self._kept, self._total

    def __call__(self, event: Event) -> None:
        """Show one event."""
        self._note(event)
        if self._json:
            if not self._quiet:
                output.note(json.dumps(asdict(event)))
            return
        match event:
            case RunStarted():
                self._start(event)
            case RowDone():
                self._row(event)
            case Remark(text=text):
                self._say(text)
            case RunStopped(reason=reason, left=left):
                self._say(f"stopped: {reason}; {left} questions were not asked", always=True)
            case _:
                assert_never(event)

    def _note(self, event: Event) -> None:
        """Remember how far the run is, however it is shown."""
        match event:
            case RunStarted():
                self.journal = event.journal
                self._kept, self._total = event.resumed, event.total
            case RowDone():
                self._kept = event.done

    def _warn(self, text: str) -> None:
        self(Remark(text=f"warning: {text}"))

    def _start(self, event: RunStarted) -> None:
        done = f", {event.resumed} of them done before" if event.resumed else ""
        self._say(f"{event.total} questions{done}")

    def _row(self, event: RowDone) -> None:
        if event.error is not None:
            self._say(f"question `{event.id}`: no reply: {event.error}", always=True)
        if self._quiet:
            return
        if self._terminal:
            self._advance()
        elif self._due():
            output.note(f"{event.done} of {event.total} questions done")

    def _due(self) -> bool:
        """Tell whether another tenth of the run is done."""
        tenth = self._kept * LINES // max(1, self._total)
        if tenth == self._told:
            return False
        self._told = tenth
        return True

    def _advance(self) -> None:
        if self._bar is None and time.monotonic() - self._begun >= BAR_AFTER_S:
            self._open()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._kept)

    def _open(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        self._bar = Progress(
            "questions",
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=output.console(),
            transient=True,
        )
        self._task = self._bar.add_task("questions", total=self._total)
        self._bar.start()

    def _say(self, line: str, *, always: bool = False) -> None:
        if self._quiet and not always:
            return
        if self._bar is not None:
            self._bar.console.print(output.safe(line), markup=False, highlight=False)
        else:
            output.note(line)
