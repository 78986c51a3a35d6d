"""The background worker: a daemon thread with an event loop of its own that evaluates traces.

Its queue holds ids and no texts, and what does not fit into it stays pending in the store. When it
has nothing to do it sweeps up what is pending there: traces that did not fit, and those that
another process left when it died.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import anyio

from aletheia.config import Settings
from aletheia.errors import StoreError
from aletheia.sdk.models import close_models
from aletheia.sdk.worker_jobs import Done, Pace, Work, do_work, owner_name
from aletheia.sdk.worker_sweep import Sweeps, at_once, together
from aletheia.sdk.worker_warnings import RareWarnings

__all__ = ["Job", "Submitted", "Worker"]

Submitted = Literal["queued", "full", "closed"]
"""What became of a job: `full` and `closed` leave the trace pending in the store."""

_POLL_S: Final = 0.02
"""Seconds between two looks at the queue while something is being evaluated."""

_RETRY_S: Final = 5.0
"""Seconds of rest after the store failed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """A stored trace that is to be evaluated with these settings."""

    trace_id: int
    project: str
    settings: Settings


class Worker:
    """Evaluates what is submitted, in the order in which it came.

    The thread starts with the first job. The embedded judges take one trace after the other, a
    model `settings.worker_concurrency` of them at once. Nothing here raises into the caller.

    `loading` is held while the first work is done: whoever forks then would leave the child with
    modules that are half imported.
    """

    def __init__(self, pace: Pace | None = None, *, loading: threading.Lock | None = None) -> None:
        self._pace: Final = pace or Pace()
        self._loading: Final = loading or threading.Lock()
        self._loaded = False
        self._owner: Final = owner_name()
        self._changed: Final = threading.Condition()
        self._queue: Final[deque[Job]] = deque()
        self._sweeps: Final = Sweeps(self._pace)
        self._warnings: Final = RareWarnings(_log)
        self._thread: threading.Thread | None = None
        self._busy = 0
        self._failures = 0
        self._rests_until = 0.0
        # When to stop at the latest; None as long as it is open.
        self._ends_at: float | None = None

    # Called from any thread.

    def submit(self, job: Job) -> Submitted:
        """Take a job, unless the queue is full or the worker was closed."""
        with self._changed:
            if self._ends_at is not None or not self._started():
                return "closed"
            full = len(self._queue) >= job.settings.queue_size
            self._sweeps.know(job.settings, job.project, overflowed=full)
            if not full:
                self._queue.append(job)
            self._changed.notify_all()
        return "full" if full else "queued"

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was submitted is evaluated.

        False where time ran out before, and where nothing can be evaluated for a while.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_idle() or self._is_resting(), timeout_s)
            return self._is_idle()

    def close(self, *, within_s: float | None) -> None:
        """Evaluate what was submitted, for `within_s` seconds at most (None = all), and end.

        What is not done then stays pending. May be called again.
        """
        ends_at = time.monotonic() + (threading.TIMEOUT_MAX if within_s is None else within_s)
        with self._changed:
            self._ends_at = min(ends_at, self._ends_at or ends_at)
            thread = self._thread
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            # Judges hold up the end of their thread until they come to a point of rest.
            thread.join(None if within_s is None else within_s + _RETRY_S)

    def _started(self) -> bool:
        """Start the thread unless it runs; False where the interpreter starts none any more."""
        if self._is_alive():
            return True
        try:
            # A daemon: the interpreter would wait for another one before it says that it exits.
            thread = threading.Thread(target=self._main, name="aletheia-worker", daemon=True)
            thread.start()
        except RuntimeError:
            return False
        self._thread = thread
        return True

    def _is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _is_done(self) -> bool:
        return not (self._queue or self._busy or self._sweeps.overflowed)

    def _is_idle(self) -> bool:
        return self._is_done() or not self._is_alive()

    def _is_resting(self) -> bool:
        return time.monotonic() < self._rests_until

    def _is_ending(self) -> bool:
        return self._ends_at is not None

    # Called in the thread of the worker.

    def _main(self) -> None:
        try:
            anyio.run(self._serve)
        except Exception:  # noqa: BLE001 - the border of the thread
            # What is pending stays so.
            _log.exception("the worker stopped; it starts again with the next trace")
        finally:
            with self._changed:
                self._changed.notify_all()

    async def _serve(self) -> None:
        freed = anyio.Event()
        async with anyio.create_task_group() as group:
            while not self._is_over():
                work = self._next()
                if work is not None:
                    group.start_soon(self._do, work, freed.set)
                elif self._busy:
                    with anyio.move_on_after(_POLL_S):
                        await freed.wait()
                    freed = anyio.Event()
                else:
                    self._sleep()
            group.cancel_scope.cancel()
        await close_models()

    def _is_over(self) -> bool:
        """Whether to stop: all is done, time is up, or what is left cannot be done now."""
        with self._changed:
            if self._ends_at is None:
                return False
            over = time.monotonic() >= self._ends_at
            return over or self._is_done() or self._is_resting()

    def _next(self) -> Work | None:
        """Return what to do now, None where there is nothing or nobody is free."""
        with self._changed:
            if self._is_resting():
                return None
            work = self._queued() or self._sweeps.next(only_own=self._is_ending())
            if work is None or self._busy >= at_once(work.settings):
                return None
            for _ in work.ids:
                self._queue.popleft()
            self._busy += 1
            return work

    def _queued(self) -> Work | None:
        """Return what stands first in the queue, with the jobs behind it of the same settings."""
        if not self._queue:
            return None
        settings, ids = self._queue[0].settings, []
        for job, _ in zip(self._queue, range(together(settings)), strict=False):
            if job.settings is not settings and job.settings != settings:
                break
            ids.append(job.trace_id)
        return Work(settings=settings, project=None, ids=tuple(ids), limit=len(ids))

    def _sleep(self) -> None:
        """Until there is news. Nothing is under way, so the loop may be held up."""
        with self._changed:
            rest = self._rests_until - time.monotonic()
            if rest > 0:
                self._changed.wait_for(self._is_ending, rest)
            else:
                self._changed.wait_for(self._has_news, self._sweeps.due_in)

    def _has_news(self) -> bool:
        return bool(self._queue) or self._sweeps.overflowed or self._is_ending()

    async def _do(self, work: Work, freed: Callable[[], None]) -> None:
        """Do some work; whatever it meets ends here."""
        loads, self._loaded = not self._loaded, True
        if loads:
            self._loading.acquire()
        try:
            done = await do_work(work, self._pace, self._owner, ending=self._is_ending)
        except StoreError as error:
            self._put_off(work, "the store", str(error))
        except Exception as error:  # noqa: BLE001 - the border of one job
            self._put_off(work, type(error).__name__, repr(error))
        else:
            self._account(work, done)
        finally:
            if loads:
                self._loading.release()
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()
            freed()

    def _put_off(self, work: Work, what: str, why: str) -> None:
        """Leave traces pending, and look for them again after a rest."""
        with self._changed:
            self._rests_until = time.monotonic() + _RETRY_S
            self._sweeps.lost(work)
        self._warnings.warn(what, f"logged traces stay pending: {why}")

    def _account(self, work: Work, done: Done) -> None:
        """Warn of failures, and rest after several of a provider in a row."""
        with self._changed:
            self._sweeps.swept(work, done.claimed)
        for trace_id, message in done.errors.items():
            kind = done.provider or message
            self._warnings.warn(kind, f"trace {trace_id} was not evaluated: {message}")
        if done.evaluated:
            self._failures = 0
        if done.provider is not None:
            self._failures += max(done.failed, 1)
        if self._failures >= self._pace.stop_after:
            self._failures = 0
            self._rests_until = time.monotonic() + self._pace.pause_s
            self._warnings.warn(
                "rest", f"evaluation rests for {self._pace.pause_s:g} seconds: {done.provider}"
            )
