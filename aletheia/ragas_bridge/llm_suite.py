"""The four metrics through ragas with a chat model as the judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from aletheia.grounding.data_region import neutralise
from aletheia.ragas_bridge.adapters import ChatJudge, PreparedJudge
from aletheia.ragas_bridge.base import (
    Measured,
    MetricSample,
    NotApplicable,
    Outcome,
    Scores,
    as_score,
    context_of,
    settled,
)
from aletheia.ragas_bridge.library import Library, aload, measure, via_ragas
from aletheia.ragas_bridge.replies import (
    GoldVerdicts,
    Shape,
    Statements,
    StatementVerdicts,
    UnitVerdict,
)
from aletheia.ragas_bridge.similarity import Similarity
from aletheia.ragas_bridge.together import together
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit
from aletheia.schema.model import ChatModel, Embedder
from aletheia.schema.report import METRICS

_CLASSES = {
    "context_precision": "ContextPrecision",
    "context_recall": "ContextRecall",
    "faithfulness": "Faithfulness",
}

NewJudge = Callable[..., ChatJudge]
"""Makes the judge of one metric, or of one unit, given the answer if there is one to judge."""


class RagasLLMSuite:
    """ragas's own metrics; every call goes through `model`, every vector comes from `embedder`.

    The metrics of a row, and its units, are asked about side by side: how many calls are in flight
    is the runner's and the model's business. `max_output_tokens` goes out with every call (None =
    the endpoint's own limit). In prompts, and only there, evidence and answers are written so that
    nothing in them reads as structure.
    """

    name = "ragas"

    def __init__(
        self, *, model: ChatModel, embedder: Embedder, max_output_tokens: int | None = None
    ) -> None:
        self._judge = partial(ChatJudge, model, max_output_tokens=max_output_tokens)
        self._similarity = Similarity(embedder)
        self._implementations = {
            metric: f"ragas:{name}({model.name}) {via_ragas()}" for metric, name in _CLASSES.items()
        }
        self._implementations["answer_similarity"] = f"ragas:{self._similarity.implementation()}"

    def describe(self) -> tuple[str, ...]:
        """One line per metric."""
        return tuple(f"{metric}: {self._implementations[metric]}" for metric in METRICS)

    async def prepare(self) -> None:
        """Import ragas off the event loop; `ConfigError` when it cannot be imported."""
        await aload()

    async def score(self, sample: MetricSample) -> Scores:
        """All four scores of one row: one call per unit, and three more."""
        return (await self.score_many([sample]))[0]

    async def score_many(self, samples: Sequence[MetricSample]) -> list[Scores]:
        """Scores of many rows in order, embedded in one batch."""
        library = await aload()
        similar = await self._similarity.outcomes(library, samples)
        return [
            await self._row(library, sample, outcome)
            for sample, outcome in zip(samples, similar, strict=True)
        ]

    async def _row(self, library: Library, sample: MetricSample, similar: Outcome) -> Scores:
        shown = _shown(sample)

        async def outcome(metric: str) -> Outcome:
            run = _RUNS[metric]
            return settled(metric, sample) or await run(library, self._judge, shown)

        found = await together([partial(outcome, metric) for metric in _RUNS])
        outcomes = {**dict(zip(_RUNS, found, strict=True)), "answer_similarity": similar}
        return {
            metric: as_score(outcomes[metric], self._implementations[metric]) for metric in METRICS
        }


async def _precision(library: Library, new: NewJudge, sample: MetricSample) -> Outcome:
    """Ask about all units at once, then let ragas compute with the verdicts in order.

    ragas itself asks about one unit after another. Each prompt holds one unit, so it makes the
    same prompts from lists of one.
    """
    contexts = _contexts(sample)
    scores = partial(_precision_of, library, sample)
    judges = [new() for _ in contexts]
    asked = await together(
        [partial(scores, one, [text]) for one, text in zip(judges, contexts, strict=True)]
    )
    failed = next((outcome for outcome in asked if not isinstance(outcome, Measured)), None)
    if failed is not None:
        return failed
    verdicts = [reply for one in judges for reply in one.replies]
    outcome = await scores(PreparedJudge([reply.model_dump() for reply in verdicts]), contexts)
    return _with_remark(outcome, _useful(sample, verdicts))


async def _precision_of(
    library: Library, sample: MetricSample, judge: ChatJudge | PreparedJudge, contexts: list[str]
) -> Outcome:
    return await measure(
        library.context_precision(llm=judge),
        user_input=sample.question,
        reference=sample.gold_answer,
        retrieved_contexts=contexts,
    )


def _useful(sample: MetricSample, verdicts: Sequence[Shape]) -> str:
    useful = [
        unit.id
        for unit, reply in zip(sample.evidence, verdicts, strict=True)
        if isinstance(reply, UnitVerdict) and reply.verdict
    ]
    return f"useful: {', '.join(useful) or 'none'} of {len(sample.evidence)}"


async def _recall(library: Library, new: NewJudge, sample: MetricSample) -> Outcome:
    judge = new()
    outcome = await measure(
        library.context_recall(llm=judge),
        user_input=sample.question,
        reference=sample.gold_answer,
        retrieved_contexts=_contexts(sample),
    )
    match judge.replies:
        case [GoldVerdicts(classifications=items)]:
            return _with_remark(outcome, _counted([(i.statement, i.attributed) for i in items]))
    return outcome


async def _faithfulness(library: Library, new: NewJudge, sample: MetricSample) -> Outcome:
    answer = sample.answer or ""
    judge = new(answer)
    outcome = await measure(
        library.faithfulness(llm=judge),
        user_input=sample.question,
        response=answer,
        retrieved_contexts=_contexts(sample),
    )
    match judge.replies:
        case [Statements(statements=[])]:
            return NotApplicable(reason="the judge found no statement in the answer")
        case [Statements(), StatementVerdicts(statements=items)]:
            return _with_remark(outcome, _counted([(i.statement, i.verdict) for i in items]))
    return outcome


_RUNS: dict[str, Callable[[Library, NewJudge, MetricSample], Awaitable[Outcome]]] = {
    "context_precision": _precision,
    "context_recall": _recall,
    "faithfulness": _faithfulness,
}


def _shown(sample: MetricSample) -> MetricSample:
    """Write question, answers and evidence as a judge may see them.

    All of it is data of unknown origin, the answer too: a model may repeat what its evidence told
    it to say.
    """
    return replace(
        sample,
        question=neutralise(sample.question),
        answer=None if sample.answer is None else neutralise(sample.answer),
        gold_answer=neutralise(sample.gold_answer),
        evidence=EvidenceSet(units=tuple(map(_neutral, sample.evidence))),
    )


def _neutral(unit: EvidenceUnit) -> EvidenceUnit:
    return replace(
        unit,
        text=neutralise(unit.text),
        source=None if unit.source is None else neutralise(unit.source),
        aliases=tuple(map(neutralise, unit.aliases)),
    )


def _contexts(sample: MetricSample) -> list[str]:
    return [context_of(unit) for unit in sample.evidence]


def _with_remark(outcome: Outcome, remark: str) -> Outcome:
    return (
        Measured(value=outcome.value, remark=remark) if isinstance(outcome, Measured) else outcome
    )


def _counted(verdicts: list[tuple[str, int]]) -> str:
    unsupported = [statement for statement, verdict in verdicts if not verdict]
    note = f"; not: {' | '.join(unsupported)}" if unsupported else ""
    return f"{len(verdicts) - len(unsupported)} of {len(verdicts)} statements supported{note}"
