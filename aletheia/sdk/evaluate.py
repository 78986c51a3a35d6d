"""Diagnose one trace: what the response left out, what it made up, and which layer to mend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from aletheia.config import Settings
from aletheia.config import settings as in_force
from aletheia.errors import UsageError
from aletheia.judges.base import FusedJudge, Judges
from aletheia.llm.budget import Budget, budget_scope
from aletheia.llm.tracking import CostScope
from aletheia.pipeline.diagnose import diagnose
from aletheia.pipeline.judge_setup import (
    JUDGE_CHOICES,
    diagnose_options,
    embedded_judges,
    judge_kind,
    llm_judges,
    whole,
)
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.model import ChatModel
from aletheia.sdk.budget import ContextLike, enforce_budget
from aletheia.sdk.models import leased_model
from aletheia.sdk.portal import run_sync
from aletheia.sdk.trace_input import TraceInput, read_trace

__all__ = ["JudgeLike", "aevaluate", "evaluate", "persisted"]

JudgeLike = str | ChatModel | Judges | FusedJudge
"""`auto`, `embedded` or `llm`; a chat model that judges and cuts; or judges of your own."""

NO_STORE: Final = "no store"


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
    settings: Settings | None = None,
) -> EvaluationResult:
    """Diagnose one trace; works inside a running event loop too.

    `context` is one text, or a list of texts, of mappings with `text` (`rank`, `source`,
    `score`), or of `ContextChunk`; `[]` where nothing was retrieved. `query` None = nothing is
    known of what was asked: then only faithfulness is judged, and there is no cell.

    `judge` is `embedded` (no model, no network), `llm` (`settings.judge_model`, cut by
    `settings.decomposer_model`; on a server of your own `settings.model` does both unless they
    are set), `auto` (`llm` where an endpoint is set), a chat model, or judges of your own. Without `decompose` the query is one sub-question and the response one claim.
    `repeat` asks each judge that often and takes the majority. `coverage` `topical` lets a claim
    cover what it speaks of even where nothing supports it.

    There is no store yet: with `persist` the result says so in `making["persisted"]`, and
    `trace_id` is what you gave. A judge that fails leaves a message in `errors`, and the other
    judges finish. What a trace may cost is bounded by `settings.per_trace_budget_usd`.

    Raises `DataError` for what is no trace, `BudgetExceeded` before any call where the diagnosis
    could cost too much, `ConfigError` where `llm` has no endpoint, `UsageError` for a choice
    there is not.
    """
    return run_sync(
        partial(
            aevaluate,
            query,
            context,
            response,
            persist=persist,
            trace_id=trace_id,
            judge=judge,
            decompose=decompose,
            repeat=repeat,
            coverage=coverage,
            settings=settings,
        )
    )


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
    settings: Settings | None = None,
) -> EvaluationResult:
    """Do what `evaluate` does in the running event loop.

    The embedded judges work in that loop: a trace holds it up for some milliseconds.
    """
    now = settings or in_force.current()
    options = diagnose_options(coverage=coverage, repeat=repeat)
    trace = read_trace(query, context, response)
    chosen = _chosen(judge, now)
    if chosen == "llm":
        enforce_budget(trace.query, trace.chunks, trace.response, repeat=repeat, settings=now)
    budget = Budget(now.per_trace_budget_usd, scope="trace", unknown_price=now.unknown_price)
    async with _judges(chosen, now, decompose=decompose) as judges:
        with CostScope() as spent, budget_scope(budget):
            result = await diagnose(trace.case, judges, options)
    more = {**_making(trace, persist=persist), **_not_default(coverage, repeat)}
    return result.model_copy(
        update={
            "trace_id": trace_id,
            "cost": spent.cost,
            "making": {**result.making, **more},
        }
    )


def persisted(*, persist: bool) -> str:
    """Say what became of keeping a trace."""
    return NO_STORE if persist else "no"


def _making(trace: TraceInput, *, persist: bool) -> Mapping[str, str]:
    return {"persisted": persisted(persist=persist), **trace.notes}


def _not_default(coverage: str, repeat: int) -> Mapping[str, str]:
    given = {"coverage": (coverage, "grounded"), "repeat": (str(repeat), "1")}
    return {name: value for name, (value, usual) in given.items() if value != usual}


def _chosen(judge: object, settings: Settings) -> JudgeLike:
    """Resolve a name to `embedded` or `llm`, and leave a model or judges as they are."""
    if judge is None or isinstance(judge, str):
        return judge_kind(settings, "auto" if judge is None else judge)
    if not isinstance(judge, ChatModel | Judges | FusedJudge):
        listed = ", ".join(f"`{name}`" for name in JUDGE_CHOICES)
        raise UsageError(
            f"`judge` is a `{type(judge).__name__}`", hint=f"give {listed}, or a chat model"
        )
    return judge


@asynccontextmanager
async def _judges(
    chosen: JudgeLike, settings: Settings, *, decompose: bool
) -> AsyncIterator[Judges | FusedJudge]:
    most = settings.max_output_tokens
    if chosen == "embedded":
        yield embedded_judges(decompose=decompose)
    elif isinstance(chosen, str):
        async with (
            leased_model(settings, settings.judging_model) as judge,
            leased_model(settings, settings.decomposing_model) as cutter,
        ):
            yield llm_judges(judge, cutter, max_output_tokens=most, decompose=decompose)
    elif isinstance(chosen, ChatModel):
        yield llm_judges(chosen, max_output_tokens=most, decompose=decompose)
    else:
        yield whole(chosen, decompose=decompose)
