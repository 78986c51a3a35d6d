"""Many traces to their diagnoses, a bounded number at once; nothing is held but counts.

A trace whose judge fails is one row with its errors, and the others go on. After the same failure
of the provider several times in a row, or when the budget of the run is used up, no further trace
is judged: the rest get rows that say so, and can be judged later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from aletheia.errors import AletheiaError, BudgetExceeded, ConfigError, UsageError
from aletheia.judges.base import FusedJudge, Judges, TraceCase
from aletheia.llm.budget import Budget, UnknownPrice, budget_scope
from aletheia.llm.tracking import CostScope
from aletheia.pipeline.diagnose import DiagnoseOptions, diagnose
from aletheia.pipeline.judge_setup import judge_id
from aletheia.pipeline.runner import run_bounded
from aletheia.reports.trace_json import error_row, trace_row
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.stored import NewTrace

BUDGET: Final = "budget"
CONTEXT: Final = "context"
TIMEOUT: Final = "timeout"
INTERNAL: Final = "internal"
NOT_JUDGED: Final = "run"
"""Keys of `errors` in a row without a diagnosis, beside `input`."""

_RUN_IS_OVER: Final = "the budget of this run is"
_CHANGING: Final = re.compile(r"\b[0-9a-f]{8}[0-9a-f-]*\b|\d+")
"""Parts of a message that differ between failures of one kind: counts, times, request ids."""

RecordId = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceItem:
    """One row: a case to judge, or the `error` that says why there is none.

    `line` says where it stands, `index` counts the rows (None = as `line`). `notes` go into the
    `making` of the result. `trace` is what a store is to keep, `trace_id` its id there. `refused`
    says why a case may not be judged, and `refused_for` under which key: it could cost too much
    (`budget`), or nobody knows what was retrieved (`context`).
    """

    line: int
    id: RecordId | None = None
    index: int | None = None
    case: TraceCase | None = None
    error: str | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    trace: NewTrace | None = None
    trace_id: int | None = None
    refused: str | None = None
    refused_for: str = BUDGET

    @property
    def place(self) -> int:
        """What tells the rows of a run apart, and puts them in order."""
        return self.line if self.index is None else self.index


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOutcome:
    """What became of a row. `again` says that it should be judged again in a later run.

    `failure` names the kind of failure of a provider, `over` says that the run cannot go on.
    `trace_id` is the id of the trace in a store, `result` what is to be kept there.
    """

    line: int
    row: Mapping[str, Any]
    place: int = 0
    trace_id: int | None = None
    result: EvaluationResult | None = None
    again: bool = False
    failure: str | None = None
    over: str | None = None

    @property
    def failed(self) -> str | None:
        """What kept the row from being whole: the first message, None where it is whole."""
        return next(iter(self.row["errors"].values()), None) or _open_problem(self.row)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyOptions:
    """How traces are judged.

    `guard` is asked about each trace before anything is called, and raises `BudgetExceeded`
    where the trace could cost too much. `trace_budget_usd` bounds each trace, `run_budget_usd`
    all of them (None = no bound). After `stop_after` equal failures in a row no further trace is
    judged (0 = never stop). `making` goes into every result.
    """

    judges: Judges | FusedJudge
    diagnose: DiagnoseOptions
    concurrency: int = 1
    guard: Callable[[TraceCase], object] | None = None
    trace_budget_usd: float | None = None
    run_budget_usd: float | None = None
    unknown_price: UnknownPrice = "warn"
    stop_after: int = 5
    row_timeout_s: float = 1800.0
    making: Mapping[str, str] = field(default_factory=dict)


Listener = Callable[[TraceOutcome], None]


async def evaluate_many(
    items: Iterable[TraceItem],
    options: ManyOptions,
    *,
    commit: Listener,
) -> str | None:
    """Judge all items and hand each outcome to `commit`, never two at once, in any order.

    Returns why the run stopped early, None where it did not. Raises `UsageError` and
    `ConfigError`, and whatever `commit` raises.
    """
    run = _Run(options, commit)
    left = iter(items)
    budget = _budget(options.run_budget_usd, "run", options)
    with budget_scope(budget):
        await run_bounded(left, run.judge, limit=options.concurrency, commit=run.commit)
    if run.stopped is not None:
        for item in left:
            commit(not_judged(item, run.stopped))
    return run.stopped


def _budget(limit: float | None, scope: Any, options: ManyOptions) -> Budget | None:  # noqa: ANN401
    if limit is None:
        return None
    return Budget(limit, scope=scope, unknown_price=options.unknown_price)


class _Run:
    """The state of one run: what failed last, and how often in a row."""

    def __init__(self, options: ManyOptions, commit: Listener) -> None:
        self._options = options
        self._commit = commit
        self._failure: str | None = None
        self._failures = 0
        self.stopped: str | None = None

    async def judge(self, item: TraceItem) -> TraceOutcome:
        """Judge one item; whatever it meets becomes its row."""
        if item.case is None:
            return bad_row(item)
        if item.refused is not None:
            return unjudged(item, item.refused_for, item.refused)
        try:
            with anyio.fail_after(self._options.row_timeout_s):
                return await self._judged(item, item.case)
        except (UsageError, ConfigError):
            raise
        except BudgetExceeded as error:
            return unjudged(item, BUDGET, str(error))
        except TimeoutError:
            seconds = f"{self._options.row_timeout_s:g}"
            return unjudged(item, TIMEOUT, f"it was not judged within {seconds} seconds")
        except AletheiaError as error:
            return unjudged(item, INTERNAL, str(error))
        except Exception as error:  # noqa: BLE001 - the border of one trace
            return unjudged(item, INTERNAL, f"{type(error).__name__}: {error}")

    async def _judged(self, item: TraceItem, case: TraceCase) -> TraceOutcome:
        options = self._options
        if options.guard is not None:
            options.guard(case)
        budget = _budget(options.trace_budget_usd, "trace", options)
        with CostScope() as spent, budget_scope(budget):
            result = await diagnose(case, options.judges, options.diagnose)
        made = {**result.making, **options.making, **item.notes}
        if item.trace_id is not None:
            # By this name the store finds the traces that one judge found healthy.
            made["judge"] = judge_id(options.judges.making)
        changed = {"cost": spent.cost, "making": made, "trace_id": item.trace_id}
        return _outcome(item, result.model_copy(update=changed))

    async def commit(self, _item: TraceItem, outcome: TraceOutcome) -> bool:
        """Hand an outcome on, and say whether the run may go on."""
        self._commit(outcome)
        if self.stopped is not None:
            return False
        if outcome.over is not None:
            self.stopped = outcome.over
            return False
        if outcome.failure is None or outcome.failure != self._failure:
            self._failures = 0
        self._failure = outcome.failure
        self._failures += outcome.failure is not None
        most = self._options.stop_after
        if not most or self._failures < most:
            return True
        self.stopped = f"{self._failures} failures of one kind in a row, the last: {outcome.failed}"
        return False


def not_judged(item: TraceItem, reason: str) -> TraceOutcome:
    """Return the row of an item that the run did not come to."""
    if item.case is None:
        return bad_row(item)
    return unjudged(item, NOT_JUDGED, f"not judged, the run had stopped: {reason}")


def bad_row(item: TraceItem) -> TraceOutcome:
    """Return the row of an item that holds no record."""
    row = error_row(item.error or "", record_id=item.id, line=item.line)
    return TraceOutcome(line=item.line, place=item.place, row=row)


def unjudged(item: TraceItem, metric: str, message: str) -> TraceOutcome:
    """Return the row of an item that should be judged again; `metric` says where it failed."""
    row = error_row(message, record_id=item.id, line=item.line, metric=metric)
    return TraceOutcome(
        line=item.line, place=item.place, row=row, again=True, trace_id=item.trace_id
    )


def judged_before(item: TraceItem, result: EvaluationResult) -> TraceOutcome:
    """Return the row of an item whose result is there already."""
    return _outcome(item, result)


def _outcome(item: TraceItem, result: EvaluationResult) -> TraceOutcome:
    messages = list(result.errors.values())
    over = next((message for message in messages if _RUN_IS_OVER in message), None)
    # Only calls that failed speak of the provider: a reply that says nonsense is that trace's own.
    failure = _kind(messages) if messages and result.cost.failed else None
    return TraceOutcome(
        line=item.line,
        place=item.place,
        trace_id=item.trace_id,
        result=result,
        row=trace_row(result, record_id=item.id, line=item.line),
        again=bool(messages),
        failure=failure,
        over=over,
    )


def _kind(messages: Iterable[str]) -> str:
    return "; ".join(sorted({_CHANGING.sub("#", message) for message in messages}))


def _open_problem(row: Mapping[str, Any]) -> str | None:
    """Say what is unmeasured in a row without errors.

    A trace without a query and an empty response have no cell by rule, and are whole.
    """
    verdicts = [*row["sufficiency"], *row["faithfulness"], row["completeness"] or {}]
    problem = next((item["problem"] for item in verdicts if item.get("problem")), None)
    if problem is not None:
        return f"unmeasured: `{problem}`"
    diagnosis = row["diagnosis"]
    if row["failure_cell"] is not None or diagnosis["empty_response"] or has_no_query(row):
        return None
    return "; ".join(diagnosis["problems"]) or "it has no cell"


def has_no_query(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is of a trace of which nothing is known of what was asked."""
    return any("`no_query`" in problem for problem in row["diagnosis"]["problems"])
