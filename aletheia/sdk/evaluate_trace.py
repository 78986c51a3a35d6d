"""One evaluation on its way: read and checked, kept in the store, judged, and saved."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from aletheia.config import Settings
from aletheia.errors import AletheiaError, BudgetExceeded, DataError, StoreError
from aletheia.judges.base import FusedJudge, Judges
from aletheia.pipeline.judge_setup import diagnose_options, whole
from aletheia.pipeline.redact import RedactLike
from aletheia.pipeline.stored import (
    Judging,
    capture,
    evaluate_stored,
    failure_of,
    in_memory,
    note_saved,
    store_for,
    threshold_for,
)
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.stored import NewTrace
from aletheia.sdk.budget import ContextLike, enforce_budget
from aletheia.sdk.evaluate_judges import JudgeLike, chosen_judge, opened_judges
from aletheia.sdk.portal import run_sync
from aletheia.sdk.trace_input import read_trace

if TYPE_CHECKING:
    from aletheia.store import TraceStore

__all__ = ["Evaluation", "Origin", "read_evaluation"]

PERSIST: Final = "persist_trace"
NOT_PERSISTED: Final = "no"
FAILED: Final = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a trace comes from, and what is done to it before it is kept."""

    project: str | None = None
    external_id: str | None = None
    source: str = "evaluate"
    redact: RedactLike | None = None
    notes: Mapping[str, str] | None = None


def read_evaluation(
    query: str | None,
    context: ContextLike,
    response: str,
    *,
    settings: Settings,
    judge: JudgeLike | None = None,
    repeat: int = 1,
    coverage: str = "grounded",
    decompose: bool = True,
    origin: Origin | None = None,
) -> Evaluation:
    """Read a trace, bound its cost, and redact it; nothing is written and no model is called.

    Raises `DataError` for what is no trace, `BudgetExceeded` (with the response as `produced`),
    `ConfigError` and `UsageError` for choices there are not.
    """
    read, origin = read_trace(query, context, response), origin or Origin()
    chosen = chosen_judge(judge, settings)
    diagnose_options(coverage=coverage, repeat=repeat)
    if not isinstance(chosen, str) and isinstance(chosen, Judges | FusedJudge):
        chosen = whole(chosen, decompose=decompose)
    if chosen == "llm":
        try:
            enforce_budget(read.query, read.chunks, read.response, repeat=repeat, settings=settings)
        except BudgetExceeded as error:
            error.produced = response
            raise
    trace = capture(
        read.query,
        read.chunks,
        read.response,
        settings,
        project=origin.project,
        external_id=origin.external_id,
        source=origin.source,
        redact=origin.redact,
        notes={**read.notes, **(origin.notes or {})},
    )
    return Evaluation(
        trace=trace,
        settings=settings,
        judge=chosen,
        repeat=repeat,
        coverage=coverage,
        decompose=decompose,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A trace that may be evaluated, and how."""

    trace: NewTrace
    settings: Settings
    judge: JudgeLike
    repeat: int = 1
    coverage: str = "grounded"
    decompose: bool = True

    def run(self, *, persist: bool, trace_id: int | None = None) -> EvaluationResult:
        """Keep it (unless not `persist`), judge it, save what came out."""
        kept = self._kept(persist=persist, trace_id=trace_id)
        try:
            result = run_sync(self._judged, kept)
        except AletheiaError as error:
            kept.fail(error)
            raise
        return kept.save(result)

    async def arun(self, *, persist: bool, trace_id: int | None = None) -> EvaluationResult:
        """Do what `run` does in the running event loop; the store is used in a thread."""
        keep = partial(self._kept, persist=persist, trace_id=trace_id)
        kept = await to_thread.run_sync(keep) if persist else keep()
        try:
            result = await self._judged(kept)
        except AletheiaError as error:
            await to_thread.run_sync(kept.fail, error)
            raise
        return await to_thread.run_sync(kept.save, result) if persist else result

    def _kept(self, *, persist: bool, trace_id: int | None) -> _Kept:
        if not persist:
            return _Kept(trace=self.trace, trace_id=trace_id)
        started = time.perf_counter()
        try:
            kept = _keep(self.trace, store_for(self.settings), trace_id)
        except StoreError as error:
            kept = _Kept(trace=self.trace, trace_id=trace_id, problem=str(error))
        return replace(kept, ms=(time.perf_counter() - started) * 1000)

    async def _judged(self, kept: _Kept) -> EvaluationResult:
        threshold = in_memory(self.settings)
        if kept.store is not None:
            threshold = partial(threshold_for, kept.store, self.settings)
        async with opened_judges(self.judge, self.settings, decompose=self.decompose) as judges:
            judging = Judging(
                judges=judges,
                settings=self.settings,
                threshold=threshold,
                coverage=self.coverage,
                repeat=self.repeat,
                making={"persisted": kept.persisted, **self._not_default()},
            )
            result = await evaluate_stored(kept.trace, judging, trace_id=kept.trace_id)
        return kept.stamped(result)

    def _not_default(self) -> Mapping[str, str]:
        given = {"coverage": (self.coverage, "grounded"), "repeat": (str(self.repeat), "1")}
        return {name: value for name, (value, usual) in given.items() if value != usual}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What became of keeping a trace. `store` None = it is not kept, and `problem` says why not."""

    trace: NewTrace
    trace_id: int | None = None
    store: TraceStore | None = None
    ms: float = 0.0
    problem: str | None = None

    @property
    def persisted(self) -> str:
        """The project it is kept in."""
        if self.store is not None:
            return self.trace.project
        return NOT_PERSISTED if self.problem is None else FAILED

    def stamped(self, result: EvaluationResult) -> EvaluationResult:
        """Say in the result how long keeping took, or what it failed with."""
        latency = {**result.latency_ms, PERSIST: self.ms}
        errors = {} if self.problem is None else {PERSIST: self.problem}
        return result.model_copy(
            update={"latency_ms": latency, "errors": {**result.errors, **errors}}
        )

    def save(self, result: EvaluationResult) -> EvaluationResult:
        """Save a result; where the store fails the result says so and is not lost."""
        if self.store is None or self.trace_id is None:
            return result
        problem = failure_of(result)
        try:
            if problem is None:
                self.store.save([(self.trace_id, result)])
                note_saved(self.store, self.trace.project, result.making["judge"])
            else:
                self.store.fail(self.trace_id, problem)
        except StoreError as error:
            return replace(self, problem=str(error)).stamped(result)
        return result

    def fail(self, error: AletheiaError) -> None:
        """Say in the store that there is no result; what cannot be said stays pending."""
        if self.store is None or self.trace_id is None:
            return
        try:
            self.store.fail(self.trace_id, str(error))
        except StoreError:
            return


def _keep(trace: NewTrace, store: TraceStore, trace_id: int | None) -> _Kept:
    if trace_id is None:
        (made,) = store.add([trace])
        return _Kept(trace=trace, trace_id=made, store=store)
    stored = store.get(trace_id)
    if stored is None:
        raise DataError(f"there is no trace {trace_id}", field="trace_id", hint=_LEAVE_OUT)
    for name in ("query", "chunks", "response"):
        if getattr(stored, name) != getattr(trace, name):
            said = "context" if name == "chunks" else name
            raise DataError(f"trace {trace_id} has another `{said}`", field=said, hint=_LEAVE_OUT)
    return _Kept(trace=stored, trace_id=trace_id, store=store)


_LEAVE_OUT: Final = "leave `trace_id` out to store a new trace"
