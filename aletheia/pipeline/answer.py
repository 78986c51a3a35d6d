"""One question from retrieval to its row: retrieve, number, generate, verify, score, diagnose."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from aletheia.errors import AletheiaError, BudgetExceeded, ContextTooLong, ModelError
from aletheia.generators.base import Generation, Generator
from aletheia.grounding.modes import judge
from aletheia.grounding.numbering import number
from aletheia.grounding.verify import VerifyOptions, verify_reply
from aletheia.llm.budget import Budget, UnknownPrice, budget_scope
from aletheia.llm.tracking import CostScope
from aletheia.pipeline import outcome
from aletheia.pipeline.observe import CapabilityLog
from aletheia.pipeline.references import with_references
from aletheia.pipeline.row_diagnosis import (
    NO_REPLY,
    Diagnosed,
    Diagnoser,
    diagnosed,
    timed_out,
    without_cell,
)
from aletheia.ragas_bridge.base import OVER_BUDGET, PROVIDER, MetricSample, MetricSuite, Scores
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.model import Embedder
from aletheia.schema.question import Question
from aletheia.schema.report import DetailedResult, NoteRecord
from aletheia.schema.verification import Judged, Mode

if TYPE_CHECKING:
    from aletheia.graph.search import Retrieval

_log = logging.getLogger(__name__)

TIMED_OUT: Final = "the time for this question ran out"


class Retriever(Protocol):
    """The part of a knowledge graph that a run asks."""

    def retrieve(
        self,
        question: str,
        *,
        hops: int,
        max_units: int,
        embedder: Embedder | None,
        community: bool,
    ) -> Retrieval:
        """Evidence by walking the graph."""
        ...

    def similarity_only(
        self, question: str, *, max_units: int, embedder: Embedder | None
    ) -> Retrieval:
        """Evidence by similarity alone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What a run works with. `clock` gives monotonic seconds, `observed` what its models take.

    `diagnoser` None = rows get no cell.
    """

    graph: Retriever
    generator: Generator
    suite: MetricSuite
    embedder: Embedder | None
    clock: Callable[[], float]
    diagnoser: Diagnoser | None = None
    observed: CapabilityLog = field(default_factory=CapabilityLog)

    def implementations(self) -> Mapping[str, str]:
        """Who computes each metric."""
        pairs = (line.partition(": ") for line in self.suite.describe())
        return {name: maker for name, _, maker in pairs}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How each question is treated.

    `hops` and `max_units` bound retrieval, `community` adds community context, `baseline` also
    scores retrieval by similarity alone. `row_timeout_s` bounds one question in all its stages.
    `budget_usd` bounds what its calls may cost (None = no bound), `unknown_price` says what becomes
    of a call without a known price meanwhile.
    """

    mode: Mode = Mode.STRICT
    hops: int = 2
    max_units: int = 12
    community: bool = False
    baseline: bool = False
    row_timeout_s: float = 1800.0
    budget_usd: float | None = None
    unknown_price: UnknownPrice = "warn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A finished question.

    `structured` is how the reply was constrained (None = no reply). `failure` names what the
    endpoint failed at, in the same words each time it happens, None where nothing did.
    `over_budget` says which budget kept a call from being made. A row with either is worth asking
    again.
    """

    row: DetailedResult
    structured: str | None = None
    failure: str | None = None
    over_budget: str | None = None

    @property
    def incomplete(self) -> bool:
        """Whether a reply, a metric or a verdict is missing that another try may bring."""
        return self.row.category == "error" or bool(self.failure or self.over_budget)

    @property
    def ends_the_run(self) -> bool:
        """Whether no further question can be paid."""
        return (self.over_budget or "").startswith(f"{OVER_BUDGET}run")


@dataclass(slots=True, kw_only=True)
class _Watch:
    """Times the stages of one question, and knows how much of its time is left."""

    clock: Callable[[], float]
    limit_s: float
    started: float
    last: float
    timings: dict[str, float] = field(default_factory=dict)

    def stop(self, stage: str) -> None:
        now = self.clock()
        self.timings[stage] = round((now - self.last) * 1000, 3)
        self.last = now

    @property
    def left_s(self) -> float:
        return max(0.0, self.limit_s - (self.clock() - self.started))


async def answer_question(question: Question, stages: Stages, options: Options) -> Outcome:
    """Ask one question. Raises only what ends the run: a setting, a file, a missing package.

    A failure of the model, a budget, or anything unforeseen in this one question, is a row with
    `error`. The row carries what all its calls cost, those included that failed.
    """
    with budget_scope(_budget(options)), CostScope() as scope:
        made = await _answered(question, stages, options)
    spent = {
        "cost": scope.cost,
        "cost_by_purpose": scope.by_purpose(),
        "cost_by_model": scope.by_model(),
        "cached": scope.cost.calls == scope.cost.cached > 0,
    }
    return replace(made, row=made.row.model_copy(update=spent))


def _budget(options: Options) -> Budget | None:
    if options.budget_usd is None:
        return None
    return Budget(options.budget_usd, scope="trace", unknown_price=options.unknown_price)


async def _answered(question: Question, stages: Stages, options: Options) -> Outcome:
    now = stages.clock()
    watch = _Watch(clock=stages.clock, limit_s=options.row_timeout_s, started=now, last=now)
    evidence = EvidenceSet()
    try:
        retrieval = await _retrieve(question, stages, options)
        evidence = _numbered(question, retrieval)
        watch.stop("retrieve")
        generation = await _generate(question, evidence, stages, options, watch)
        watch.stop("generate")
        watch.timings |= {name: round(ms, 3) for name, ms in generation.timings_ms.items()}
        made = await _judged(question, evidence, generation, stages, options, watch)
    except ModelError as error:
        return _failed(question, evidence, stages, watch, str(error), failure=_identity(error))
    except BudgetExceeded as error:
        reason = f"{OVER_BUDGET}{error.scope}: {error}"
        made = _failed(question, evidence, stages, watch, reason, failure=None)
        return replace(made, over_budget=reason)
    except AletheiaError:
        raise
    except Exception as error:  # noqa: BLE001 - the border of one question
        _log.debug("question `%s` failed", question.id, exc_info=True)
        reason = f"internal error: {type(error).__name__}: {error}"
        return _failed(question, evidence, stages, watch, reason, failure=type(error).__name__)
    return _with_retrieval(made, retrieval)


async def _retrieve(question: Question, stages: Stages, options: Options) -> Retrieval:
    return await anyio.to_thread.run_sync(
        lambda: stages.graph.retrieve(
            question.question,
            hops=options.hops,
            max_units=options.max_units,
            embedder=stages.embedder,
            community=options.community,
        )
    )


def _numbered(question: Question, retrieval: Retrieval) -> EvidenceSet:
    return number(with_references(retrieval.units, question.supporting_facts))


async def _generate(
    question: Question, evidence: EvidenceSet, stages: Stages, options: Options, watch: _Watch
) -> Generation:
    with anyio.move_on_after(watch.left_s):
        return await stages.generator.generate(question.question, evidence, mode=options.mode)
    raise _timed_out(options)


def _timed_out(options: Options) -> ModelError:
    return ModelError(f"{TIMED_OUT} ({options.row_timeout_s:g} s)")


async def _judged(
    question: Question,
    evidence: EvidenceSet,
    generation: Generation,
    stages: Stages,
    options: Options,
    watch: _Watch,
) -> Outcome:
    judged = _judge(question, evidence, generation, options.mode)
    row = outcome.result_row(question, evidence, generation, judged)
    watch.stop("verify")
    scores = await _score(
        outcome.sample(question, evidence, judged.verification), stages, watch, options
    )
    watch.stop("metrics")
    baseline: Scores = {}
    if options.baseline:
        baseline = await _baseline(question, stages, options, watch)
        watch.stop("baseline")
    made = await _diagnosed(row, evidence, stages, watch)
    row = made.row.model_copy(
        update={"metrics": scores, "baseline_metrics": baseline, "timings_ms": watch.timings}
    )
    return Outcome(
        row=row,
        structured=outcome.structured_by(generation),
        failure=_first_reason(PROVIDER, scores, baseline) or made.failure,
        over_budget=_first_of((_first_reason(OVER_BUDGET, scores, baseline), made.over_budget)),
    )


async def _diagnosed(
    row: DetailedResult, evidence: EvidenceSet, stages: Stages, watch: _Watch
) -> Diagnosed:
    if stages.diagnoser is None:
        return Diagnosed(row=row)
    made = timed_out(row)
    with anyio.move_on_after(watch.left_s):
        made = await diagnosed(row, evidence, stages.diagnoser)
    watch.stop("diagnose")
    return made


def _judge(question: Question, evidence: EvidenceSet, generation: Generation, mode: Mode) -> Judged:
    options = VerifyOptions(lenient=mode is Mode.LENIENT)
    found = verify_reply(evidence, generation.reply, question=question.question, options=options)
    return judge(found, mode)


async def _score(sample: MetricSample, stages: Stages, watch: _Watch, options: Options) -> Scores:
    with anyio.move_on_after(watch.left_s):
        return await stages.suite.score(sample)
    reason = f"{PROVIDER}{TIMED_OUT} ({options.row_timeout_s:g} s)"
    return outcome.unmeasured(stages.implementations(), reason)


async def _baseline(question: Question, stages: Stages, options: Options, watch: _Watch) -> Scores:
    """Score retrieval by similarity alone; the metrics of answers do not apply to it."""
    found = await anyio.to_thread.run_sync(
        lambda: stages.graph.similarity_only(
            question.question, max_units=options.max_units, embedder=stages.embedder
        )
    )
    sample = outcome.retrieval_sample(question, _numbered(question, found))
    scores = await _score(sample, stages, watch, options)
    return {name: scores[name] for name in outcome.RETRIEVAL_METRICS}


def _first_reason(start: str, *groups: Scores) -> str | None:
    """Return the first reason that begins so; that of a whole run comes before others."""
    reasons = (score.reason or "" for scores in groups for score in scores.values())
    return _first_of([reason for reason in reasons if reason.startswith(start)])


def _first_of(reasons: Sequence[str | None]) -> str | None:
    """Return the first reason there is; that of a whole run comes before others."""
    found = [reason for reason in reasons if reason is not None]
    return min(found, key=lambda reason: not reason.startswith(f"{OVER_BUDGET}run"), default=None)


def _identity(error: ModelError) -> str | None:
    """Name a failure by its kind and status: the words around them differ each time.

    None for a prompt that is too long, which says nothing about the endpoint.
    """
    if isinstance(error, ContextTooLong):
        return None
    return f"{type(error).__name__} {error.status or error.message}"


def _failed(
    question: Question,
    evidence: EvidenceSet,
    stages: Stages,
    watch: _Watch,
    reason: str,
    *,
    failure: str | None,
) -> Outcome:
    watch.stop("failed")
    scores = outcome.unmeasured(stages.implementations(), f"no reply: {reason}")
    row = _error_row(question, evidence, stages, reason, scores)
    return Outcome(row=row.model_copy(update={"timings_ms": watch.timings}), failure=failure)


def _error_row(
    question: Question, evidence: EvidenceSet, stages: Stages, reason: str, scores: Scores
) -> DetailedResult:
    row = outcome.error_row(question, evidence, reason, scores)
    return row if stages.diagnoser is None else without_cell(row, NO_REPLY)


def _with_retrieval(made: Outcome, retrieval: Retrieval) -> Outcome:
    """Say in the row what retrieval did not look at in full."""
    notes = tuple(
        NoteRecord(kind="retrieval", text="", start=0, end=0, reason="bounded", detail=text)
        for text in retrieval.bounded
    )
    if not notes:
        return made
    row = made.row.model_copy(update={"notes": (*made.row.notes, *notes)})
    return replace(made, row=row)


def not_asked(question: Question, stages: Stages, reason: str) -> DetailedResult:
    """Make the row of a question that the run no longer asked."""
    scores = outcome.unmeasured(stages.implementations(), reason)
    return _error_row(question, EvidenceSet(), stages, reason, scores)
