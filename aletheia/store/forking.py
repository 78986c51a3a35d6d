"""A fork finds no connection open: SQLite loses its locks where one is carried into a child.

The child would inherit, in memory, locks that its process does not hold: it would wait for a
writer that is not there, or read what another process overwrites.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakSet

_LONGEST_S: Final = 10.0


class Gate:
    """Lets calls through, except while the process forks.

    A fork waits until the calls that are under way have ended, and then calls `close`, which has
    to close what is open. Threads that come meanwhile wait for the end of the fork.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._changed = threading.Condition(threading.Lock())
        self._inside = 0
        self._forking = False
        _FORKS.add(self)

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Inside, no fork takes place."""
        with self._changed:
            while self._forking:
                self._changed.wait()
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def shut(self) -> bool:
        """Wait until nobody is inside, and keep everybody out; the lock stays held.

        The wait has an end, as a fork in a signal handler may wait for its own thread. Returns
        whether the lock is held.
        """
        if not self._changed.acquire(timeout=_LONGEST_S):
            return False
        self._forking = True
        self._changed.wait_for(lambda: not self._inside, timeout=_LONGEST_S)
        self._close()
        return True

    def reopen(self) -> None:
        """Let everybody in again, in the parent."""
        self._forking = False
        self._changed.notify_all()
        self._changed.release()

    def renew(self) -> None:
        """Begin anew in the child, where the threads that waited do not exist."""
        self._changed = threading.Condition(threading.Lock())
        self._inside, self._forking = 0, False


class _Forks:
    """The gates of this process, and those that the fork under way has shut."""

    def __init__(self) -> None:
        self.gates: WeakSet[Gate] = WeakSet()
        self._shut: list[Gate] = []
        self._registered = False

    def add(self, gate: Gate) -> None:
        self.gates.add(gate)
        if not self._registered:
            self._registered = True
            os.register_at_fork(
                before=self._before,
                after_in_parent=lambda: self._after(Gate.reopen),
                after_in_child=lambda: self._after(Gate.renew),
            )

    def _before(self) -> None:
        for gate in list(self.gates):
            if gate.shut():
                self._shut.append(gate)

    def _after(self, do: Callable[[Gate], None]) -> None:
        while self._shut:
            do(self._shut.pop())


_FORKS: Final = _Forks()
