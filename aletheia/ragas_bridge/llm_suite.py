"""The four metrics through ragas with a chat model as the judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from aletheia.ragas_bridge.adapters import ChatJudge
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
from aletheia.ragas_bridge.replies import GoldVerdicts, Statements, StatementVerdicts, UnitVerdict
from aletheia.ragas_bridge.similarity import Similarity
from aletheia.schema.model import ChatModel, Embedder
from aletheia.schema.report import METRICS

_CLASSES = {
    "context_precision": "ContextPrecision",
    "context_recall": "ContextRecall",
    "faithfulness": "Faithfulness",
}


class RagasLLMSuite:
    """ragas's own metrics; every call goes through `model`, every vector comes from `embedder`.

    The metrics of a row run one after another: how many calls are in flight is the runner's
    and the model's business.
    """

    name = "ragas"

    def __init__(self, *, model: ChatModel, embedder: Embedder) -> None:
        self._model = model
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
        outcomes = {
            metric: settled(metric, sample) or await run(library, self._model, sample)
            for metric, run in _RUNS.items()
        }
        outcomes["answer_similarity"] = similar
        return {
            metric: as_score(outcomes[metric], self._implementations[metric]) for metric in METRICS
        }


async def _precision(library: Library, model: ChatModel, sample: MetricSample) -> Outcome:
    judge = ChatJudge(model)
    outcome = await measure(
        library.context_precision(llm=judge),
        user_input=sample.question,
        reference=sample.gold_answer,
        retrieved_contexts=_contexts(sample),
    )
    useful = [
        unit.id
        for unit, reply in zip(sample.evidence, judge.replies, strict=False)
        if isinstance(reply, UnitVerdict) and reply.verdict
    ]
    return _with_remark(outcome, f"useful: {', '.join(useful) or 'none'} of {len(sample.evidence)}")


async def _recall(library: Library, model: ChatModel, sample: MetricSample) -> Outcome:
    judge = ChatJudge(model)
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


async def _faithfulness(library: Library, model: ChatModel, sample: MetricSample) -> Outcome:
    answer = sample.answer or ""
    judge = ChatJudge(model, answer)
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


_RUNS: dict[str, Callable[[Library, ChatModel, MetricSample], Awaitable[Outcome]]] = {
    "context_precision": _precision,
    "context_recall": _recall,
    "faithfulness": _faithfulness,
}


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
