"""The four metrics without a network: rules and an embedded model in the judge's place."""

from __future__ import annotations

from collections.abc import Sequence

from aletheia.ragas_bridge.adapters import PreparedJudge
from aletheia.ragas_bridge.base import (
    Measured,
    MetricSample,
    NotApplicable,
    Outcome,
    Scores,
    SupportCounter,
    Unmeasured,
    as_score,
    settled,
)
from aletheia.ragas_bridge.library import Library, aload, measure, via_ragas
from aletheia.ragas_bridge.relevance import Relevance, judge
from aletheia.ragas_bridge.similarity import Similarity
from aletheia.schema.model import Embedder
from aletheia.schema.report import METRICS

_BASIS = "supporting facts, else gold answer words"


class EmbeddedSuite:
    """Offline metrics.

    `support` counts the statements of an answer that deterministic verification supports;
    `embedder` gives the vectors of `answer_similarity`. ragas computes precision, recall and
    similarity; for faithfulness it has nothing that runs without a model of its own.
    """

    name = "embedded"

    def __init__(self, *, embedder: Embedder, support: SupportCounter) -> None:
        self._similarity = Similarity(embedder)
        self._support = support
        self._implementations = {
            "context_precision": f"embedded:ContextPrecision({_BASIS}) {via_ragas()}",
            "context_recall": f"embedded:ContextRecall({_BASIS}) {via_ragas()}",
            "faithfulness": "embedded:share of statements verified against the evidence",
            "answer_similarity": f"embedded:{self._similarity.implementation()}",
        }

    def describe(self) -> tuple[str, ...]:
        """One line per metric."""
        return tuple(f"{metric}: {self._implementations[metric]}" for metric in METRICS)

    async def prepare(self) -> None:
        """Import ragas off the event loop; `ConfigError` when it cannot be imported."""
        await aload()

    async def score(self, sample: MetricSample) -> Scores:
        """All four scores of one row."""
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
        verdicts = judge(sample)
        outcomes = {
            "context_precision": settled("context_precision", sample, gold_needed=False)
            or await _precision(library, verdicts),
            "context_recall": settled("context_recall", sample, gold_needed=False)
            or await _recall(library, verdicts),
            "faithfulness": settled("faithfulness", sample) or self._faithfulness(sample),
            "answer_similarity": similar,
        }
        return {
            metric: as_score(outcomes[metric], self._implementations[metric]) for metric in METRICS
        }

    def _faithfulness(self, sample: MetricSample) -> Outcome:
        counts = self._support(sample.answer or "", sample.evidence, sample.cited_ids)
        return faithfulness(*counts)


def faithfulness(supported: int, total: int, undecided: int) -> Outcome:
    """Supported / total. An undecided statement counts as unsupported, and the remark says so.

    With nothing decided there is no value; with no statements the metric does not apply.
    """
    if min(supported, undecided) < 0 or supported + undecided > total:
        return Unmeasured(
            reason=f"the counts contradict each other: {supported} supported and {undecided} "
            f"undecided of {total}"
        )
    if total == 0:
        return NotApplicable(reason="the answer makes no statement that can be checked")
    if undecided == total:
        return Unmeasured(reason=f"none of the {total} statements could be decided")
    remark = f"{supported} of {total} statements supported"
    if undecided:
        best = (supported + undecided) / total
        remark += f", {undecided} undecided and counted as unsupported (at best {best:.2f})"
    return Measured(value=round(supported / total, 9), remark=remark)


async def _precision(library: Library, verdicts: Relevance | str) -> Outcome:
    if isinstance(verdicts, str):
        return Unmeasured(reason=verdicts)
    # The judge is a rule, so ragas needs no texts: ids stand for the units.
    metric = library.context_precision(
        llm=PreparedJudge([{"reason": "rule", "verdict": int(v)} for v in verdicts.units])
    )
    found = await measure(
        metric,
        user_input="question",
        reference=verdicts.basis,
        retrieved_contexts=[f"E{n}" for n in range(1, len(verdicts.units) + 1)],
    )
    count = f"{sum(verdicts.units)} of {len(verdicts.units)} units relevant"
    return _with_remark(found, f"{count}, by {verdicts.basis}")


async def _recall(library: Library, verdicts: Relevance | str) -> Outcome:
    if isinstance(verdicts, str):
        return Unmeasured(reason=verdicts)
    classified = [
        {"statement": str(n), "reason": "rule", "attributed": int(found)}
        for n, (_, found) in enumerate(verdicts.wanted)
    ]
    metric = library.context_recall(llm=PreparedJudge([{"classifications": classified}]))
    found = await measure(
        metric, user_input="question", reference=verdicts.basis, retrieved_contexts=["units"]
    )
    missed = [wanted for wanted, there in verdicts.wanted if not there]
    count = f"{len(verdicts.wanted) - len(missed)} of {len(verdicts.wanted)} found"
    note = f"; not: {', '.join(missed)}" if missed else ""
    return _with_remark(found, f"{count}, by {verdicts.basis}{note}")


def _with_remark(outcome: Outcome, remark: str) -> Outcome:
    if isinstance(outcome, Measured) and outcome.remark is None:
        return Measured(value=outcome.value, remark=remark)
    return outcome
