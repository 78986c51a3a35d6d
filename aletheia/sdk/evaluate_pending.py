"""Evaluate what is pending in a store, now and to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from aletheia.config import Settings
from aletheia.config import settings as in_force
from aletheia.pipeline.runner import run_bounded
from aletheia.pipeline.stored import store_for
from aletheia.schema.stored import TraceFilter, TraceStatus
from aletheia.sdk.portal import run_sync
from aletheia.sdk.worker_jobs import Done, Pace, Work, do_work, owner_name
from aletheia.sdk.worker_sweep import at_once, together

__all__ = ["PendingCounts", "aevaluate_pending", "evaluate_pending"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCounts:
    """What became of pending traces. `stopped` says why the rest was left, None where none was."""

    evaluated: int = 0
    failed: int = 0
    stopped: str | None = None


Listener = Callable[[PendingCounts], None]


def evaluate_pending(
    settings: Settings | None = None,
    *,
    limit: int | None = None,
    project: str | None = None,
    listen: Listener | None = None,
) -> PendingCounts:
    """Evaluate the pending traces of a store, the oldest first, and count them.

    `limit` of them at most, those of `project` only (None = all). What another process is
    evaluating is left to it. After several failures of a provider in a row the rest is left
    pending. `listen` is given the counts so far after each step. Raises `StoreError`, and
    `ConfigError` where the judges cannot be had.
    """
    run = partial(aevaluate_pending, limit=limit, project=project, listen=listen)
    return run_sync(run, settings or in_force.current())


async def aevaluate_pending(
    settings: Settings | None = None,
    *,
    limit: int | None = None,
    project: str | None = None,
    listen: Listener | None = None,
) -> PendingCounts:
    """Do what `evaluate_pending` does in the running event loop, which it holds up now and then."""
    chosen = settings or in_force.current()
    run = _Run(Pace(), listen)
    pending = TraceFilter(project=project, statuses=(TraceStatus.PENDING,))
    if not store_for(chosen).count(pending)[TraceStatus.PENDING]:
        return run.counts
    await run_bounded(
        _pieces(chosen, project, limit), run.do, limit=at_once(chosen), commit=run.commit
    )
    return run.counts


def _pieces(settings: Settings, project: str | None, limit: int | None) -> Iterator[Work]:
    """Give work until nobody asks for more."""
    left, size = limit, together(settings)
    while left is None or left > 0:
        some = size if left is None else min(size, left)
        yield Work(settings=settings, project=project, limit=some)
        left = None if left is None else left - some


class _Run:
    """The counts of one run, and how often a provider failed in a row."""

    def __init__(self, pace: Pace, listen: Listener | None) -> None:
        self._pace = pace
        self._owner = owner_name()
        self._listen = listen
        self._failures = 0
        self.counts = PendingCounts()

    async def do(self, work: Work) -> Done:
        """Do one piece of work."""
        return await do_work(work, self._pace, self._owner)

    async def commit(self, _work: Work, done: Done) -> bool:
        """Count what came out, and say whether there may be more."""
        self._failures = self._failures + done.failed if done.provider else 0
        over = done.provider if self._failures >= self._pace.stop_after else None
        self.counts = PendingCounts(
            evaluated=self.counts.evaluated + done.evaluated,
            failed=self.counts.failed + done.failed,
            stopped=over or self.counts.stopped,
        )
        if self._listen is not None:
            self._listen(self.counts)
        return over is None and done.claimed > 0
