"""One queue of writers a process: what is asked for at the same time shares a transaction.

The first thread that has something to write leads: it takes all that waits, does it in one
transaction, and each caller returns after the commit. A thread that finds nobody else goes
straight through.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from sqlalchemy import Connection, Engine

from aletheia.store.engine import writing
from aletheia.store.failures import is_passing

T = TypeVar("T")

_TOGETHER: Final = 64
"""So many pieces of work share a transaction at most."""

_TRIES: Final = 5


@dataclass(slots=True, eq=False)
class _Job:
    """Work of one caller. `leads`: its thread has to do what waits, its own work included."""

    work: Callable[[Connection], object]
    value: object = None
    error: BaseException | None = None
    leads: bool = False
    woken: threading.Event = field(default_factory=threading.Event)


class Writer:
    """Runs pieces of work, one transaction at a time.

    A piece that fails is left out, and the others of its transaction are done again without it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._waiting: list[_Job] = []
        self._led = False

    def run(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in a transaction and return what it returns, after the commit.

        It may be run more than once. Raises what it raises, and what the database reports.
        """
        job = _Job(work)
        with self._lock:
            self._waiting.append(job)
            job.leads, self._led = not self._led, True
        if not job.leads:
            self._wait(job)
        if job.leads:
            self._lead(job)
        if job.error is not None:
            raise job.error
        return cast("T", job.value)

    def _wait(self, job: _Job) -> None:
        """Until the work is done, or the thread has to lead."""
        try:
            job.woken.wait()
        except BaseException:  # an interrupt: nobody would lead in its place
            with self._lock:
                if job in self._waiting:
                    self._waiting.remove(job)
                if job.leads:
                    self._hand_on()
            raise

    def _lead(self, mine: _Job) -> None:
        with self._lock:
            batch, self._waiting = self._waiting[:_TOGETHER], self._waiting[_TOGETHER:]
        try:
            self._commit(batch)
        except BaseException:  # an interrupt of this thread is none of the others
            with self._lock:
                self._waiting[:0] = [job for job in batch if job is not mine]
            batch = []
            raise
        finally:
            with self._lock:
                self._hand_on()
            for job in batch:
                job.woken.set()

    def _hand_on(self) -> None:
        """Let the first that waits lead; the lock is held."""
        successor = self._waiting[0] if self._waiting else None
        self._led = successor is not None
        if successor is not None:
            successor.leads = True
            successor.woken.set()

    def _commit(self, batch: list[_Job]) -> None:
        left, tries = list(batch), _TRIES
        while left:
            at: _Job | None = None
            try:
                with writing(self._engine) as connection:
                    for at in left:
                        at.value = at.work(connection)
                    at = None
                return
            except Exception as error:  # noqa: BLE001 - it is raised where the work came from
                tries -= 1
                if is_passing(error) and tries:
                    continue
                for job in [at] if at is not None else left:
                    job.error = error
                left = [job for job in left if job.error is None]
