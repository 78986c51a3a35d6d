"""Traces that a store keeps: taken in, judged by the rules of their project, and calibrated.

One store for each address and process. It is opened when it is first asked for, and closed by
`close_stores` or at exit.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aletheia.config import Settings
from aletheia.diagnosis.calibrate import CalibrationOptions, Threshold, fallback
from aletheia.errors import DataError
from aletheia.judges.base import FusedJudge, Judges
from aletheia.llm.budget import Budget, budget_scope
from aletheia.llm.tracking import CostScope
from aletheia.pipeline.diagnose import diagnose, trace_case
from aletheia.pipeline.judge_setup import Calibration, calibration_options, judge_id
from aletheia.pipeline.redact import RedactLike, redaction_of
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.stored import NewTrace
from aletheia.schema.trace import ContextChunk

if TYPE_CHECKING:
    from aletheia.store import TraceStore

__all__ = [
    "Judging",
    "address",
    "capture",
    "close_stores",
    "evaluate_stored",
    "failure_of",
    "in_memory",
    "note_saved",
    "store_for",
    "threshold_for",
]

CALIBRATION: Final = "calibration"
"""Key of `errors` where the threshold of the project could not be read."""

_STALE_S: Final = 60.0
"""Seconds after which a threshold is read again: other processes save traces too."""

_GROWTH: Final = 20
"""A threshold is read again when its project grew by one in so many traces."""


# --- the stores of this process ---------------------------------------------------------------


def address(settings: Settings) -> str:
    """Return where traces are kept: a URL, or the absolute path of a SQLite file."""
    # `abspath` and not `resolve`: this is asked for with every trace, and touches no disk.
    return settings.db_url or os.path.abspath(settings.db_path)  # noqa: PTH100


def store_for(settings: Settings) -> TraceStore:
    """Return the open store of these settings, the same for every caller of the process.

    Raises `StoreError` where it cannot be used, and `MissingExtra` where its driver is missing.
    """
    return _STORES.at(address(settings))


def close_stores() -> None:
    """Close every store of this process; the next call opens it again."""
    _STORES.close()


class _Stores:
    """The open stores by address, and the thresholds that were read from each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, TraceStore] = {}
        self._registered = False
        self.thresholds: dict[tuple[str, str, str], _Held] = {}

    def at(self, where: str) -> TraceStore:
        store = self._open.get(where)
        return store if store is not None else self._opened(where)

    def close(self) -> None:
        with self._lock:
            stores, self._open = list(self._open.values()), {}
            self.thresholds.clear()
        for store in stores:
            store.close()

    def _opened(self, where: str) -> TraceStore:
        from aletheia.store import open_store

        with self._lock:
            if where not in self._open:
                self._register()
                self._open[where] = open_store(where if "://" in where else Path(where))
            return self._open[where]

    def _register(self) -> None:
        if not self._registered:
            atexit.register(self.close)
            os.register_at_fork(after_in_child=self._after_fork)
            self._registered = True

    def _after_fork(self) -> None:
        # Another thread of the parent may have held it. The stores themselves survive a fork.
        self._lock = threading.Lock()


# --- thresholds -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Held:
    """A threshold that was read, when, and how many traces were saved since."""

    threshold: Threshold
    options: CalibrationOptions
    read_at: float
    saved: int = 0

    def holds(self, options: CalibrationOptions) -> bool:
        """Whether reading it again would hardly change it."""
        fresh = time.monotonic() - self.read_at < _STALE_S
        return fresh and options == self.options and self.saved * _GROWTH <= self.threshold.traces


_STORES: Final = _Stores()


def threshold_for(store: TraceStore, settings: Settings, project: str, judge: str) -> Threshold:
    """Return what `high` needs in a project, learned from what this judge found healthy there.

    With fewer than `settings.calibration_min_traces` of them it is the fallback for projects.
    Read again as the project grows by a twentieth, and after a minute. Raises `StoreError`.
    """
    key, options = (store.url, project, judge), calibration_options(settings)
    held = _STORES.thresholds.get(key)
    if held is None or not held.holds(options):
        threshold = _learned(store.healthy_fractions(project, judge=judge), options)
        held = _Held(threshold, options, time.monotonic())
        _STORES.thresholds[key] = held
    return held.threshold


def note_saved(store: TraceStore, project: str, judge: str, count: int = 1) -> None:
    """Say that so many results were saved, so that thresholds follow."""
    held = _STORES.thresholds.get((store.url, project, judge))
    if held is not None:
        held.saved += count


def _learned(fractions: Mapping[float, int], options: CalibrationOptions) -> Threshold:
    """The 10th percentile, linearly interpolated, of fractions that are counted."""
    counted = sorted((value, count) for value, count in fractions.items() if value and count)
    total = sum(count for _, count in counted)
    if total < options.traces:
        held = fallback(persisted=True, options=options)
        return Threshold(value=held.value, source=held.source, traces=total)
    ends = list(accumulate(count for _, count in counted))
    at, part = divmod(total - 1, 10)

    def nth(place: int) -> float:
        return next(value for (value, _), end in zip(counted, ends, strict=True) if place < end)

    value = nth(at)
    if part:
        value += (nth(at + 1) - value) * part / 10
    return Threshold(value=min(value, 1.0), source="calibrated", traces=total)


# --- one trace --------------------------------------------------------------------------------


def capture(
    query: str | None,
    chunks: Sequence[ContextChunk],
    response: str,
    settings: Settings,
    *,
    project: str | None = None,
    external_id: str | None = None,
    source: str = "log",
    redact: RedactLike | None = None,
    notes: Mapping[str, str] | None = None,
) -> NewTrace:
    """Return a trace as it may be stored, judged and sent: redacted, where that is asked for.

    `chunks` have ranks from 0 without gaps. `redact` wins over `settings.redact`, `project` over
    `settings.project`. `notes` say what was changed before. Raises `DataError` where the
    redaction fails, and `ConfigError` where there is no such redaction.
    """
    kept, said = tuple(chunks), dict(notes or {})
    redaction = redaction_of(settings, redact)
    if redaction is not None:
        done = redaction.apply(query, kept, response)
        query, kept, response = done.query, done.chunks, done.response
        said.update(done.notes)
    return NewTrace(
        query=query,
        chunks=kept,
        response=response,
        project=settings.project if project is None else project,
        external_id=external_id,
        source=source,
        notes=said,
    )


def in_memory(settings: Settings) -> Callable[[str, str], Threshold]:
    """Return the threshold of traces that nothing keeps: one for every project and judge."""
    threshold = fallback(persisted=False, options=calibration_options(settings))
    return lambda _project, _judge: threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Who judges traces, and how.

    `threshold` is asked for the threshold of a project and a judge when the verdicts are there.
    `making` goes into every result.
    """

    judges: Judges | FusedJudge
    settings: Settings
    threshold: Callable[[str, str], Threshold]
    coverage: str = "grounded"
    repeat: int = 1
    making: Mapping[str, str] = field(default_factory=dict)

    @property
    def judge(self) -> str:
        """Name by whom traces are calibrated together."""
        return judge_id(self.judges.making)


async def evaluate_stored(
    trace: NewTrace, judging: Judging, *, trace_id: int | None = None
) -> EvaluationResult:
    """Diagnose a trace that was captured; `trace_id` and its notes are stamped on the result.

    Where the threshold cannot be read, `errors` says so and the fallback in memory holds. Raises
    `DataError` where nobody knows what was retrieved, `UsageError` and `ConfigError`.
    """
    if trace.context_unknown is not None:
        raise DataError(f"the context is not known: {trace.context_unknown}", field="context")
    settings, judge = judging.settings, judging.judge
    calibration = Calibration(
        look_up=lambda: judging.threshold(trace.project, judge),
        otherwise=fallback(persisted=False, options=calibration_options(settings)),
    )
    options = calibration.options(coverage=judging.coverage, repeat=judging.repeat)
    case = trace_case(trace.query, trace.chunks, trace.response)
    budget = Budget(
        settings.per_trace_budget_usd, scope="trace", unknown_price=settings.unknown_price
    )
    with CostScope() as spent, budget_scope(budget):
        result = await diagnose(case, judging.judges, options)
    errors = {} if calibration.problem is None else {CALIBRATION: calibration.problem}
    # By its name the store finds the traces that one judge found healthy.
    named = {} if trace_id is None else {"judge": judge, "persisted": trace.project}
    return result.model_copy(
        update={
            "trace_id": trace_id,
            "cost": spent.cost,
            "errors": {**result.errors, **errors},
            "latency_ms": {**result.latency_ms, CALIBRATION: calibration.ms},
            "making": {**result.making, **named, **judging.making, **trace.notes},
        }
    )


def failure_of(result: EvaluationResult) -> str | None:
    """Say why a result holds no verdict at all, where a judge failed; None where it holds some.

    Such a trace has failed, and may be evaluated again.
    """
    message = next((text for key, text in result.errors.items() if key != CALIBRATION), None)
    aligned = result.completeness is not None and result.completeness.problem is None
    judged = [*result.sufficiency, *result.faithfulness]
    if message is None or aligned or any(item.verdict is not None for item in judged):
        return None
    return message
