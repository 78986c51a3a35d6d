"""Ranking texts against a question: BM25 and embeddings, summed on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from aletheia.schema.model import Embedder

    Scores = npt.NDArray[np.float32]

LEXICAL_WEIGHT = 0.5
"""Share of BM25 in the sum; the rest is cosine. See docs/guides/knowledge-graphs.md."""

_CACHE = 20_000


class LexicalIndex:
    """BM25 over stemmed texts. A million short texts index in about a minute."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        import bm25s

        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(w, len(vocabulary)) for w in text] for text in texts]
        self._size = len(ids)
        self._model: bm25s.BM25 | None = None
        if vocabulary:
            self._model = bm25s.BM25(method="lucene")
            self._model.index((ids, vocabulary), show_progress=False)

    def scores(self, query: Sequence[str]) -> Scores:
        """One score per text, divided by the best, so 0..1; all zero if no word occurs."""
        if self._model is None or not query:
            return np.zeros(self._size, dtype=np.float32)
        raw = np.asarray(self._model.get_scores(list(query)), dtype=np.float32)[: self._size]
        best = float(raw.max(initial=0.0))
        return raw / best if best > 0 else raw


class VectorCache:
    """Remembers the vectors of the texts it has seen, for one embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._vectors: dict[str, Scores] = {}

    def vectors(self, texts: Sequence[str]) -> Scores:
        """Vectors of shape (len(texts), dimension); only new texts are computed."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if len(self._vectors) + len(new) > _CACHE:
            self._vectors.clear()
            new = list(dict.fromkeys(texts))
        if new:
            self._vectors.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])

    def cosines(self, question: str, texts: Sequence[str]) -> Scores:
        """Cosine of the question with each text; negative ones count as 0."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        query = self.embedder.embed([question])[0]
        cosines: Scores = np.clip(self.vectors(texts) @ query, 0.0, 1.0)
        return cosines


def combine(lexical: Scores, cosine: Scores | None) -> Scores:
    """Sum both by weight; lexical alone where there are no embeddings."""
    if cosine is None:
        return lexical
    return LEXICAL_WEIGHT * lexical + (1.0 - LEXICAL_WEIGHT) * cosine
