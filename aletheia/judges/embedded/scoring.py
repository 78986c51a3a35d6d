"""How well evidence carries a part of a response: trees over parts, then trees over the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aletheia.grounding.sentences import sentences
from aletheia.judges.embedded.evidence import Evidence
from aletheia.judges.embedded.features import Measure, Part, Row
from aletheia.judges.embedded.tokens import holds_word
from aletheia.judges.embedded.trees import Model, Trees, model
from aletheia.judges.embedded.yes_no import without_answer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PART_TREES, WHOLE_TREES = "part", "whole"
_TINY = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """`score` in [0, 1] is the probability that the evidence carries all of [start, end)."""

    start: int
    end: int
    score: float


def sentence_parts(text: str, start: int = 0, end: int | None = None) -> list[Part]:
    """The sentences of `text[start:end]` that hold a word, with their places."""
    stop = len(text) if end is None else end
    spans = [(start + a, start + b) for a, b in sentences(text[start:stop])]
    spans = [span for span in spans if holds_word(text, *span)]
    last = max(1, len(spans) - 1)
    return [
        Part(start=a, end=b, position=i / last, siblings=len(spans))
        for i, (a, b) in enumerate(spans)
    ]


def table(rows: Sequence[Row], trees: Trees) -> npt.NDArray[np.float64]:
    """Rows as the trees want them: their columns, in their order."""
    import numpy as np

    return np.array(
        [[row[name] for name in trees.features] for row in rows], dtype=np.float32
    ).astype(np.float64)


def summary(scores: Sequence[float], at_once: float) -> Row:
    """What the scores of the parts say together, and the score of all of it read as one part."""
    ordered = sorted(scores)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return {
        "parts_at_once": at_once,
        "parts_least": ordered[0],
        "parts_least2": sum(ordered[:2]) / len(ordered[:2]),
        "parts_least3": sum(ordered[:3]) / len(ordered[:3]),
        "parts_mean": sum(ordered) / len(ordered),
        "parts_median": median,
        "parts_log": sum(math.log(score + _TINY) for score in ordered),
        "parts_n": float(len(ordered)),
        "parts_low": float(sum(score < 0.3 for score in ordered)),
        "parts_below": float(sum(score < 0.5 for score in ordered)),
    }


class Scorer:
    """Scores spans of one response against one evidence."""

    def __init__(
        self, evidence: Evidence, response: str, query: str | None, fitted: Model | None = None
    ) -> None:
        # A leading `No,` denies once more what the sentence after it denies by itself.
        self.response = without_answer(response)
        self.measure = Measure(evidence, self.response, query)
        self._model = fitted or model()
        self._calibrate = self._model.calibrations["faithfulness"]

    def spans(self, spans: Sequence[tuple[int, int]]) -> list[Scored]:
        """Score each span by itself: its sentences first, then what they say together."""
        if not spans:
            return []
        groups = [
            sentence_parts(self.response, *span) or [Part(start=span[0], end=span[1])]
            for span in spans
        ]
        flat = self.measure.rows(part for group in groups for part in group)
        of_parts = iter(flat)
        wholes: list[Row] = []
        for (start, end), group in zip(spans, groups, strict=True):
            own = [next(of_parts) for _ in group]
            one = len(group) == 1 and (group[0].start, group[0].end) == (start, end)
            whole = Part(start=start, end=end, siblings=len(group))
            wholes.append(own[0] if one else self.measure.row(whole))
        parts = self._model.trees[PART_TREES]
        raw = iter(parts.predict(table(flat, parts)).tolist())
        together = parts.predict(table(wholes, parts)).tolist()
        rows = [
            {**summary([next(raw) for _ in group], at_once), **whole}
            for group, at_once, whole in zip(groups, together, wholes, strict=True)
        ]
        trees = self._model.trees[WHOLE_TREES]
        scores = trees.predict(table(rows, trees)).tolist()
        return [
            Scored(start=start, end=end, score=self._calibrate(score))
            for (start, end), score in zip(spans, scores, strict=True)
        ]
