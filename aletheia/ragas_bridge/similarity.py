"""`answer_similarity`: ragas's SemanticSimilarity over an `Embedder`, in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import anyio

from aletheia.errors import BudgetExceeded, ModelError
from aletheia.ragas_bridge.adapters import VectorTable
from aletheia.ragas_bridge.base import (
    Measured,
    MetricSample,
    Outcome,
    Unmeasured,
    failed_call,
    settled,
)
from aletheia.ragas_bridge.library import Library, measure, via_ragas
from aletheia.schema.model import Embedder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

METRIC = "answer_similarity"
Vectors = Mapping[str, "npt.NDArray[np.float32]"]


@runtime_checkable
class Windowed(Protocol):
    """An embedder that reads only so much of a text, and says of which texts."""

    def truncated(self, texts: Sequence[str]) -> tuple[bool, ...]:
        """For each text, whether its end is left out."""
        ...


@runtime_checkable
class AsyncEmbedder(Protocol):
    """An embedder that waits for an endpoint: in the task that asks, so that its cost counts there."""

    async def aembed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension), float32, L2-normalised."""
        ...


@dataclass(frozen=True, slots=True)
class Similarity:
    """Cosine of the answer and the closest of gold answer and aliases."""

    embedder: Embedder

    def implementation(self) -> str:
        """Say what computes it, without the prefix of the suite."""
        return f"SemanticSimilarity({self.embedder.name}) {via_ragas()}"

    async def outcomes(self, library: Library, samples: Sequence[MetricSample]) -> list[Outcome]:
        """One outcome per sample, in order; the texts of all are embedded in one call."""
        decided = [settled(METRIC, sample) for sample in samples]
        open_samples = [s for s, done in zip(samples, decided, strict=True) if done is None]
        vectors = await self._vectors(open_samples)
        return [
            done or self._remarked(sample, await _outcome(library, sample, vectors))
            for sample, done in zip(samples, decided, strict=True)
        ]

    def _remarked(self, sample: MetricSample, outcome: Outcome) -> Outcome:
        """Say it where the end of a text had no effect on the value."""
        if not isinstance(outcome, Measured) or not isinstance(self.embedder, Windowed):
            return outcome
        if not any(self.embedder.truncated(_texts(sample))):
            return outcome
        cut = "the embedder reads only the beginning of these texts"
        return replace(outcome, remark=f"{outcome.remark}; {cut}" if outcome.remark else cut)

    async def _vectors(self, samples: Sequence[MetricSample]) -> Vectors | Unmeasured:
        texts = list(dict.fromkeys(text for sample in samples for text in _texts(sample)))
        if not texts:
            return {}
        try:
            rows = await self._embedded(texts)
        except (ModelError, BudgetExceeded) as error:
            return failed_call(error, self.embedder.name)
        return dict(zip(texts, rows, strict=True))

    async def _embedded(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if isinstance(self.embedder, AsyncEmbedder):
            return await self.embedder.aembed(texts)
        return await anyio.to_thread.run_sync(self.embedder.embed, texts)


def _references(sample: MetricSample) -> tuple[str, ...]:
    aliases = (alias for alias in sample.gold_aliases if alias.strip())
    return tuple(dict.fromkeys((sample.gold_answer, *aliases)))


def _texts(sample: MetricSample) -> tuple[str, ...]:
    return (sample.answer or "", *_references(sample))


async def _outcome(
    library: Library, sample: MetricSample, vectors: Vectors | Unmeasured
) -> Outcome:
    if isinstance(vectors, Unmeasured):
        return vectors
    bad = [text for text in _texts(sample) if not _usable(vectors[text])]
    if bad:
        return Unmeasured(reason=f"the embedder gave no direction for {bad[0][:60]!r}")
    metric = library.semantic_similarity(embeddings=VectorTable(vectors))
    answer = sample.answer or ""
    best: Outcome | None = None
    for reference in _references(sample):
        found = await measure(metric, reference=reference, response=answer)
        if not isinstance(found, Measured):
            return found
        if reference != sample.gold_answer:
            found = replace(found, remark=f"closest to the alias `{reference}`")
        if not isinstance(best, Measured) or found.value > best.value:
            best = found
    return best or Unmeasured(reason="the question has no gold answer")


def _usable(vector: npt.NDArray[np.float32]) -> bool:
    length = float(vector @ vector)
    return 0.0 < length < float("inf")
