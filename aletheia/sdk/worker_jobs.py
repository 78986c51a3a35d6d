"""What the background worker does with some traces: claim them, judge them, save what came out."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio

from aletheia.config import Settings
from aletheia.errors import AletheiaError, StoreError
from aletheia.pipeline.judge_setup import judge_kind
from aletheia.pipeline.stored import (
    Judging,
    evaluate_stored,
    failure_of,
    note_saved,
    store_for,
    threshold_for,
)
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.stored import StoredTrace, TraceFilter
from aletheia.sdk.budget import enforce_budget
from aletheia.sdk.evaluate_judges import opened_judges

if TYPE_CHECKING:
    from aletheia.store import TraceStore

__all__ = ["Done", "Pace", "Work", "do_work", "owner_name"]

_SHARE: Final = 0.8
"""Share of a claim in which its traces are judged; what is saved after it may be another's."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The times and numbers that a worker keeps to; seconds.

    A claim lasts `lease_embedded_s` or `lease_llm_s`: so long the traces of a process that died
    stay where they are. `sweep_s` is how often a worker without work looks for traces that others
    left, `left_s` how old such a trace is at least. After `stop_after` failures of a provider in
    a row the worker rests for `pause_s`. A trace whose evaluation was begun `most_attempts` times
    and never ended has failed. `exit_s` is how long the end of the program is held up.
    """

    lease_embedded_s: float = 60.0
    lease_llm_s: float = 900.0
    sweep_s: float = 60.0
    left_s: float = 60.0
    stop_after: int = 5
    pause_s: float = 60.0
    most_attempts: int = 5
    exit_s: float = 10.0

    def lease(self, settings: Settings) -> float:
        """Return how long a claim lasts with the judges of these settings."""
        embedded = judge_kind(settings) == "embedded"
        return self.lease_embedded_s if embedded else self.lease_llm_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Some traces of one store: those of `ids`, or where it is empty any of the project.

    Of these only those that were created before `until`: later ones stand in somebody's queue.
    """

    settings: Settings
    project: str | None
    ids: tuple[int, ...] = ()
    limit: int = 1
    until: datetime | None = None

    @property
    def where(self) -> TraceFilter:
        """The traces that may be claimed."""
        if self.ids:
            return TraceFilter(ids=self.ids)
        return TraceFilter(project=self.project, until=self.until)


@dataclass(slots=True, kw_only=True)
class Done:
    """What became of some traces.

    `left` were claimed and given back. `provider` is the failure of a provider that no success
    followed.
    """

    claimed: int = 0
    evaluated: int = 0
    failed: int = 0
    left: int = 0
    provider: str | None = None
    errors: dict[int, str] = field(default_factory=dict)


def owner_name() -> str:
    """Return a name for one worker that no other has: host, process, and a random part."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


def _never() -> bool:
    return False


async def do_work(
    work: Work, pace: Pace, owner: str, *, ending: Callable[[], bool] = _never
) -> Done:
    """Claim, judge and save. Blocking calls of the store are made on the loop itself.

    While `ending`, what fails because a provider cannot be reached is given back, not failed: a
    program that ends may be unable to connect. When cancelled, what is judged is saved and the
    rest given back. Raises `StoreError`, and `ConfigError` where there are no judges; the traces
    stay pending then.
    """
    store, settings = store_for(work.settings), work.settings
    # Opened before the claim: to load them may take longer than a claim lasts.
    async with opened_judges(judge_kind(settings), settings) as judges:
        judging = Judging(
            judges=judges, settings=settings, threshold=partial(threshold_for, store, settings)
        )
        lease_s = pace.lease(settings)
        batch = _Batch(store, judging, time.monotonic() + _SHARE * lease_s, ending)
        traces = store.claim(work.limit, owner=owner, lease_s=lease_s, where=work.where)
        try:
            await batch.run(traces, pace.most_attempts)
        finally:
            batch.commit()
    return batch.done


class _Batch:
    """Some claimed traces and what is known of them so far."""

    def __init__(
        self, store: TraceStore, judging: Judging, deadline: float, ending: Callable[[], bool]
    ) -> None:
        self._store = store
        self._judging = judging
        self._deadline = deadline
        self._ending = ending
        self._open: dict[int, StoredTrace] = {}
        self._results: list[tuple[int, EvaluationResult]] = []
        self.done = Done()

    async def run(self, traces: Sequence[StoredTrace], most_attempts: int) -> None:
        """Judge them one after the other, as long as the claim lasts."""
        self.done.claimed = len(traces)
        self._open = {trace.id: trace for trace in traces}
        for trace in traces:
            if trace.attempts > most_attempts:
                self._fail(trace, f"begun {trace.attempts - 1} times, and never came to its end")
            elif time.monotonic() < self._deadline:
                await self._one(trace)

    def commit(self) -> None:
        """Save what was judged, and give back what was not."""
        self._save()
        for trace_id, message in self.done.errors.items():
            self._store.fail(trace_id, message)
        if self._open:
            self.done.left = len(self._open)
            self._store.release(list(self._open))

    def _save(self) -> None:
        if not self._results:
            return
        try:
            self._store.save(self._results)
        except StoreError as error:
            _log.warning("of %d results not all were saved: %s", len(self._results), error)
        made = [result.making for _, result in self._results]
        for (project, judge), count in Counter(
            (item["persisted"], item["judge"]) for item in made
        ).items():
            note_saved(self._store, project, judge, count)

    async def _one(self, trace: StoredTrace) -> None:
        """Judge one trace; whatever it meets is its own."""
        left = self._deadline - time.monotonic()
        try:
            self._guard(trace)
            with anyio.fail_after(left):
                result = await evaluate_stored(trace, self._judging, trace_id=trace.id)
        except TimeoutError:
            self._fail(trace, f"not judged within {left:.0f} seconds")
        except AletheiaError as error:
            self._fail(trace, str(error))
        except Exception as error:  # noqa: BLE001 - the border of one job
            self._fail(trace, f"{type(error).__name__}: {error}")
        else:
            self._take(trace, result)

    def _guard(self, trace: StoredTrace) -> None:
        """Raise `BudgetExceeded` where the trace could cost too much."""
        settings = self._judging.settings
        if judge_kind(settings) == "llm":
            enforce_budget(trace.query, trace.chunks, trace.response, settings=settings)

    def _take(self, trace: StoredTrace, result: EvaluationResult) -> None:
        problem = failure_of(result)
        if problem is None:
            del self._open[trace.id]
            self._results.append((trace.id, result))
            self.done.evaluated += 1
            self.done.provider = None
            return
        if result.cost.failed:
            self.done.provider = problem
            if self._ending():
                return
        self._fail(trace, problem)

    def _fail(self, trace: StoredTrace, message: str) -> None:
        del self._open[trace.id]
        self.done.errors[trace.id] = message
        self.done.failed += 1
