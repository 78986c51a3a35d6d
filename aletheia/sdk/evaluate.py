"""Diagnose one trace: what the response left out, what it made up, and which layer to mend."""

from __future__ import annotations

from aletheia.config import Settings
from aletheia.config import settings as in_force
from aletheia.pipeline.redact import RedactLike
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.sdk.budget import ContextLike
from aletheia.sdk.evaluate_judges import JudgeLike
from aletheia.sdk.evaluate_trace import Origin, read_evaluation

__all__ = ["JudgeLike", "aevaluate", "evaluate"]


def evaluate(
    query: str | None,
    context: ContextLike,
    response: str,
    *,
    persist: bool = True,
    trace_id: int | None = None,
    judge: JudgeLike | None = None,
    decompose: bool = True,
    repeat: int = 1,
    coverage: str = "grounded",
    project: str | None = None,
    redact: RedactLike | None = None,
    settings: Settings | None = None,
) -> EvaluationResult:
    """Diagnose one trace; works inside a running event loop too.

    `context` is one text, or a list of texts, of mappings with `text` (`rank`, `source`,
    `score`), or of `ContextChunk`; `[]` where nothing was retrieved. `query` None = nothing is
    known of what was asked: then only faithfulness is judged, and there is no cell.

    `judge` is `embedded` (no model, no network), `llm` (`settings.judge_model`, cut by
    `settings.decomposer_model`; on a server of your own `settings.model` does both unless they
    are set), `auto` (`llm` where an endpoint is set), a chat model, or judges of your own. Without
    `decompose` the query is one sub-question and the response one claim. `repeat` asks each judge
    that often and takes the majority. `coverage` `topical` lets a claim cover what it speaks of
    even where nothing supports it. `redact` wins over `settings.redact`: what it takes out is in
    no store, no prompt and not in the result.

    With `persist` the trace is kept in the store, under `project` (else `settings.project`):
    `result.trace_id` is its id, and `making["persisted"]` its project. `trace_id` evaluates a
    trace that is there again, and replaces its result. A store that cannot be used costs no
    diagnosis: `errors["persist_trace"]` says what happened. Without `persist` no store is touched.

    A judge that fails leaves a message in `errors`, and the other judges finish. What a trace may
    cost is bounded by `settings.per_trace_budget_usd`.

    Raises `DataError` for what is no trace, and for a `trace_id` that there is not or that has
    other texts; `BudgetExceeded` before any call where the diagnosis could cost too much,
    `ConfigError` where `llm` has no endpoint, `UsageError` for a choice there is not.
    """
    evaluation = read_evaluation(
        query,
        context,
        response,
        settings=settings or in_force.current(),
        judge=judge,
        repeat=repeat,
        coverage=coverage,
        decompose=decompose,
        origin=Origin(project=project, redact=redact),
    )
    return evaluation.run(persist=persist, trace_id=trace_id)


async def aevaluate(
    query: str | None,
    context: ContextLike,
    response: str,
    *,
    persist: bool = True,
    trace_id: int | None = None,
    judge: JudgeLike | None = None,
    decompose: bool = True,
    repeat: int = 1,
    coverage: str = "grounded",
    project: str | None = None,
    redact: RedactLike | None = None,
    settings: Settings | None = None,
) -> EvaluationResult:
    """Do what `evaluate` does in the running event loop; the store is used in a thread.

    The embedded judges work in that loop: a trace holds it up for some milliseconds.
    """
    evaluation = read_evaluation(
        query,
        context,
        response,
        settings=settings or in_force.current(),
        judge=judge,
        repeat=repeat,
        coverage=coverage,
        decompose=decompose,
        origin=Origin(project=project, redact=redact),
    )
    return await evaluation.arun(persist=persist, trace_id=trace_id)
