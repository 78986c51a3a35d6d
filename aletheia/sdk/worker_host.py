"""The one worker of a process: made with the first trace, ended once, and not shared by a fork."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Final

from aletheia.sdk.worker import Job, Submitted, Worker
from aletheia.sdk.worker_jobs import Pace

__all__ = ["HOST", "WorkerHost"]


_FORK_S: Final = 10.0
"""Seconds that a fork waits at most for judges that are being loaded."""


class WorkerHost:
    """Makes the worker when it is needed. Once it was closed it stays closed in this process.

    At exit what was submitted is evaluated for `pace.exit_s` seconds; the rest stays pending. A
    forked child has no part in the queue of its parent, and makes a worker of its own.
    """

    def __init__(self, pace: Pace | None = None) -> None:
        self._pace: Final = pace or Pace()
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._worker: Worker | None = None
        self._closed = False
        self._registered = False
        self._holds = False
        # Never touched again: its locks may be held by threads that are not there.
        self._inherited: list[Worker] = []

    def submit(self, job: Job) -> Submitted:
        """Hand a job to the worker."""
        with self._lock:
            if self._closed:
                return "closed"
            if self._worker is None:
                self._register()
                self._worker = Worker(self._pace, loading=self._loading)
            worker = self._worker
        return worker.submit(job)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was submitted is evaluated, as `Worker.flush` does."""
        worker = self._worker
        return worker is None or worker.flush(timeout_s)

    def close(self, *, within_s: float | None) -> None:
        """Evaluate what was submitted and end, as `Worker.close` does; nothing starts again."""
        with self._lock:
            self._closed = True
            worker = self._worker
        if worker is not None:
            worker.close(within_s=within_s)

    def renew(self) -> None:
        """End at once, and be open again as in a fresh process. For tests."""
        self.close(within_s=0.0)
        with self._lock:
            self._worker, self._closed = None, False

    def _register(self) -> None:
        if not self._registered:
            atexit.register(self.close, within_s=self._pace.exit_s)
            os.register_at_fork(
                before=self._before_fork,
                after_in_parent=self._after_fork,
                after_in_child=self._in_child,
            )
            self._registered = True

    def _before_fork(self) -> None:
        """Let the worker load its judges first: the child would have modules half imported."""
        self._holds = self._loading.acquire(timeout=_FORK_S)

    def _after_fork(self) -> None:
        if self._holds:
            self._loading.release()

    def _in_child(self) -> None:
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        if self._worker is not None:
            self._inherited.append(self._worker)
        self._worker = None
        self._closed = False


HOST: Final = WorkerHost()
