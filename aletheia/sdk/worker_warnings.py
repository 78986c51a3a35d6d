"""Warnings that may come with every request: told once, and then now and again with their number."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["RareWarnings"]

EVERY_S: Final = 600.0
"""Seconds between two warnings of one kind."""

_MOST: Final = 1000
"""Kinds that are told apart; beyond them each warning counts as new."""


@dataclass(slots=True)
class _Told:
    at: float
    since: int = 0


class RareWarnings:
    """Tells the first warning of each kind, and after ten minutes how many more there were.

    They go to the log and never raise, whatever filters the program sets. Safe to use from
    threads.
    """

    def __init__(
        self, logger: logging.Logger, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger = logger
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[str, _Told] = {}
        self._registered = False

    def warn(self, kind: str, message: str) -> None:
        """Log `message`, unless one of this `kind` was logged a short time ago."""
        now = self._clock()
        with self._lock:
            if not self._registered:
                # Another thread of the parent may hold the lock when it forks.
                os.register_at_fork(after_in_child=self.forget)
                self._registered = True
            told = self._told.get(kind)
            if told is not None and now - told.at < EVERY_S:
                told.since += 1
                return
            if len(self._told) >= _MOST:
                self._told.clear()
            self._told[kind] = _Told(now)
        more = f" ({told.since} more like it were not told)" if told and told.since else ""
        self._logger.warning("%s%s", message, more)

    def forget(self) -> None:
        """Begin anew, as a process does after a fork."""
        self._lock = threading.Lock()
        self._told = {}
