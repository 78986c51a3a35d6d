"""What becomes of rows that were judged: into the store, into the journal, and only then counted.

Several rows share one transaction and one write to the disk. A row counts as done when both hold
it, so that a run that is killed has lost nothing that it had told of.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from aletheia.diagnosis.calibrate import Threshold
from aletheia.pipeline.evaluate_many import NOT_JUDGED, TraceItem, TraceOutcome
from aletheia.pipeline.row_journal import RowJournal
from aletheia.pipeline.stored import failure_of
from aletheia.schema.stored import TraceFilter, TraceStatus
from aletheia.tabular.values import encode

if TYPE_CHECKING:
    from aletheia.diagnosis.calibrate import ThresholdSource
    from aletheia.schema.diagnosis import EvaluationResult
    from aletheia.store import TraceStore

TOGETHER: Final = 64
"""Rows that share a transaction, where judging costs no money."""
RUN: Final = "run"
"""Key of `making` for what tells one run from another, so that it can be gone on with."""
_LONGEST_ID: Final = 80
_PAGE: Final = 1000


@dataclass(slots=True, kw_only=True)
class Keeper:
    """Keeps outcomes: call it with each, and `flush` at the end, whatever the end is.

    `done` is told of each row when it is kept. `together` rows are kept at once, fewer where the
    first of them has waited `wait_s` seconds.
    """

    done: Callable[[TraceOutcome], None]
    store: TraceStore | None = None
    journal: RowJournal | None = None
    together: int = TOGETHER
    wait_s: float = 1.0
    seconds: float = 0.0
    stored: int = 0
    _waiting: list[TraceOutcome] = field(default_factory=list, repr=False)
    _since: float = field(default=0.0, repr=False)

    def __call__(self, outcome: TraceOutcome) -> None:
        """Take one outcome."""
        now = time.monotonic()
        if not self._waiting:
            self._since = now
        self._waiting.append(outcome)
        if len(self._waiting) >= self.together or now - self._since >= self.wait_s:
            self.flush()

    def flush(self) -> None:
        """Keep what waits. Raises `StoreError` where it cannot be kept."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        started = time.perf_counter()
        if self.store is not None:
            self._save(self.store, waiting)
        if self.journal is not None:
            for outcome in waiting:
                row = encode(dict(outcome.row)).encode() + b"\n"
                self.journal.append(outcome.place, row, again=outcome.again, sync=False)
            self.journal.sync()
        self.seconds += time.perf_counter() - started
        for outcome in waiting:
            # The result has been kept, and need not be held.
            self.done(replace(outcome, result=None))

    def _save(self, store: TraceStore, outcomes: Iterable[TraceOutcome]) -> None:
        results: list[tuple[int, EvaluationResult]] = []
        for outcome in outcomes:
            if outcome.trace_id is None:
                continue
            reason = _failure(outcome)
            if outcome.result is not None and reason is None:
                results.append((outcome.trace_id, outcome.result))
            elif reason is not None:
                store.fail(outcome.trace_id, reason)
        if results:
            store.save(results)
            self.stored += len(results)


def _failure(outcome: TraceOutcome) -> str | None:
    """Say why there is nothing to save; None too for a row that the run did not come to."""
    if outcome.result is not None:
        return failure_of(outcome.result)
    errors = outcome.row["errors"]
    return None if NOT_JUDGED in errors else next(iter(errors.values()), None)


@dataclass(slots=True, kw_only=True)
class Intake:
    """Puts rows into a store before they are judged, some at a time. `seconds` is what it took."""

    store: TraceStore
    together: int = TOGETHER
    seconds: float = 0.0

    def __call__(self, items: Iterable[TraceItem]) -> Iterator[TraceItem]:
        """Yield the items, those that were stored with their ids."""
        left = iter(items)
        while some := list(islice(left, self.together)):
            started = time.perf_counter()
            traces = [item.trace for item in some if item.trace is not None]
            ids = iter(self.store.add(traces))
            self.seconds += time.perf_counter() - started
            for item in some:
                yield item if item.trace is None else replace(item, trace_id=next(ids))


def external_id(digest: str, line: int, record_id: object) -> str:
    """Name a row of a file in the store: its file, its line, and its own id where it has one."""
    start = f"{digest[:16]}:{line}"
    return start if record_id is None else f"{start}:{str(record_id)[:_LONGEST_ID]}"


@dataclass(frozen=True, slots=True)
class Before:
    """What a run that was not finished has left in a store: ids of traces by external id."""

    ids: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, store: TraceStore, project: str, digest: str) -> Before:
        """Find the evaluated traces of a file."""
        where = TraceFilter(project=project, statuses=(TraceStatus.EVALUATED,))
        start, found, last = f"{digest[:16]}:", {}, None
        while page := store.summaries(where, limit=_PAGE, before=last):
            last = page[-1].id
            for item in page:
                if item.external_id is not None and item.external_id.startswith(start):
                    found[item.external_id] = item.id
        return cls(found)

    def threshold(self, store: TraceStore, run: str) -> Threshold | None:
        """Return the threshold that this very run had, None where it left no result."""
        for name in self.ids:
            result = self.result(store, name, run)
            made = None if result is None else result.diagnosis
            if made is not None and made.threshold is not None and made.threshold_source:
                source = cast("ThresholdSource", made.threshold_source)
                return Threshold(value=made.threshold, source=source, traces=0)
        return None

    def result(self, store: TraceStore, name: str, run: str) -> EvaluationResult | None:
        """Return the result of a trace, if this very run made it and none of its judges failed."""
        trace_id = self.ids.get(name)
        trace = None if trace_id is None else store.get(trace_id)
        if trace is None or trace.result is None or trace.result.errors:
            return None
        return trace.result if trace.result.making.get(RUN) == run else None
