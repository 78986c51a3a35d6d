"""What a worker without work looks for: traces that are pending and in nobody's queue."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from aletheia.config import Settings
from aletheia.pipeline.judge_setup import judge_kind
from aletheia.pipeline.stored import address
from aletheia.sdk.worker_jobs import Pace, Work

__all__ = ["Sweeps", "at_once", "together"]

_NEVER: Final = float("inf")

_Scope = tuple[str, str]
"""A store and one of its projects."""


def at_once(settings: Settings) -> int:
    """Return how many pieces of work are done at the same time: embedded judges share a core."""
    return 1 if judge_kind(settings) == "embedded" else settings.worker_concurrency


def together(settings: Settings) -> int:
    """Return how many traces are claimed and saved in one transaction.

    What a model was paid for is saved at once.
    """
    return settings.batch_size if judge_kind(settings) == "embedded" else 1


@dataclass(slots=True)
class Sweeps:
    """The projects that this process logs to, and which of them are to be swept.

    A project is swept when the process first logs to it, whenever the queue overflowed, and every
    `pace.sweep_s` seconds. Others than its own are left alone: their judges may be others. What is
    younger than the worker, or than `pace.left_s`, stands in the queue of somebody who lives.
    """

    pace: Pace
    clock: Callable[[], float] = time.monotonic
    _settings: dict[_Scope, Settings] = field(default_factory=dict)
    _overflowed: set[_Scope] = field(default_factory=set)
    _due: dict[_Scope, datetime] = field(default_factory=dict)
    _began: datetime = field(default_factory=lambda: datetime.now(UTC))
    _round_at: float = _NEVER

    @property
    def overflowed(self) -> bool:
        """Whether traces of this process are pending that did not fit into its queue."""
        return bool(self._overflowed)

    @property
    def due_in(self) -> float | None:
        """Seconds until something is to be swept; None = never."""
        if self._overflowed or self._due:
            return 0.0
        return None if self._round_at == _NEVER else max(0.0, self._round_at - self.clock())

    def know(self, settings: Settings, project: str, *, overflowed: bool) -> None:
        """Take note of the project of a trace that was stored."""
        scope = (address(settings), project)
        if scope not in self._settings:
            self._due[scope] = self._began
            self._round_at = min(self._round_at, self.clock() + self.pace.sweep_s)
        self._settings[scope] = settings
        if overflowed:
            self._overflowed.add(scope)

    def next(self, *, only_own: bool) -> Work | None:
        """Return what to claim next; `only_own` leaves out what others may have left."""
        for scope in self._overflowed:
            return self._work(scope, None)
        if only_own:
            return None
        if self.clock() >= self._round_at:
            self._round_at = self.clock() + self.pace.sweep_s
            until = datetime.now(UTC) - timedelta(seconds=self.pace.left_s)
            self._due = dict.fromkeys(self._settings, until) | self._due
        for scope, until in self._due.items():
            return self._work(scope, until)
        return None

    def swept(self, work: Work, claimed: int) -> None:
        """Take note of what a sweep found; a scope with less than was asked for is done."""
        if work.ids or work.project is None or claimed >= work.limit:
            return
        scope = (address(work.settings), work.project)
        self._overflowed.discard(scope)
        self._due.pop(scope, None)

    def lost(self, work: Work) -> None:
        """Take note that work was begun and not done: its traces are in no queue any more."""
        where = address(work.settings)
        self._overflowed |= {scope for scope in self._settings if scope[0] == where}

    def _work(self, scope: _Scope, until: datetime | None) -> Work:
        settings = self._settings[scope]
        return Work(settings=settings, project=scope[1], limit=together(settings), until=until)
