"""The evidence of a trace as the embedded judges see it: sentences, and which words stand in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

from aletheia.grounding.sentences import sentences
from aletheia.judges.embedded.tokens import Token, tokens
from aletheia.judges.embedded.words import word_table
from aletheia.schema.evidence import EvidenceSet

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

LONGEST = 60
"""Words of an evidence sentence; a longer one (a table, a list) is cut into such pieces."""
PREFIX = 5
"""Letters that make two longer words forms of one another."""
_NEAREST, _FARTHEST = 0.85, 0.45
"""Cosine of words that mean the same, and of words that have nothing to do with each other."""


T = TypeVar("T")
CHARACTERS = 5
SELF = frozenset("i me my mine myself we us our i'm i've i'll i'd we're".split())
"""Words of one who speaks of himself."""


def runs(items: Sequence[T], n: int) -> Iterator[tuple[T, ...]]:
    """All runs of `n` neighbours, in order."""
    return zip(*(items[i:] for i in range(n)), strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One evidence sentence: the index of its unit, its offsets there, its words."""

    unit: int
    start: int
    end: int
    tokens: tuple[Token, ...]

    @property
    def forms(self) -> frozenset[str]:
        """What its words are compared by, function words left out."""
        return frozenset(token.form for token in self.tokens if token.kind != "function")


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """How words (rows) stand in evidence sentences (columns), each in [0, 1].

    `exact` is 1 where the same form stands there, `near` also counts words of like meaning and
    longer words with the same beginning.
    """

    exact: Floats
    near: Floats


class Evidence:
    """Numbered units, cut once into sentences, and asked for many words at a time."""

    def __init__(self, units: EvidenceSet) -> None:
        self.units = units
        self.pieces = tuple(_pieces(units))
        self.unit_of = [piece.unit for piece in self.pieces]
        self._words: list[str] = []
        self._starts: list[int] = []
        self._index()
        self.n_words = sum(len(piece.tokens) for piece in self.pieces)
        self.n_self = sum(t.word in SELF for piece in self.pieces for t in piece.tokens)

    @cached_property
    def _grams(self) -> dict[int, set[tuple[str, ...]]]:
        forms = [token.form for piece in self.pieces for token in piece.tokens]
        return {n: set(runs(forms, n)) for n in (2, 3, 5)}

    @cached_property
    def _chars(self) -> set[tuple[str, ...]]:
        texts = [self.units.units[at].text for at in by_text(self.units)]
        return set(runs("\n".join(texts).lower(), CHARACTERS))

    def __len__(self) -> int:
        return len(self.pieces)

    def _index(self) -> None:
        """Tables from forms and beginnings to the sentences that hold them."""
        self._forms: dict[str, list[int]] = {}
        self._beginnings: dict[str, list[int]] = {}
        self._kept: list[int] = []
        for i, piece in enumerate(self.pieces):
            first = len(self._words)
            for token in piece.tokens:
                if token.kind == "function":
                    continue
                self._forms.setdefault(token.form, []).append(i)
                if token.kind != "number":
                    self._words.append(token.word)
                    if len(token.form) >= PREFIX:
                        self._beginnings.setdefault(token.form[:PREFIX], []).append(i)
            if len(self._words) > first:
                self._starts.append(first)
                self._kept.append(i)

    def known_runs(self, forms: Sequence[str], n: int) -> list[bool]:
        """For each run of `n` (2, 3 or 5) forms, whether the evidence holds it."""
        known = self._grams[n]
        return [run in known for run in runs(forms, n)]

    def character_share(self, text: str) -> float:
        """Share of the runs of five characters of `text` that stand in the evidence."""
        asked = list(runs(text.lower(), CHARACTERS))
        if not asked:
            return float(any(text.lower() in unit.text.lower() for unit in self.units))
        return sum(run in self._chars for run in asked) / len(asked)

    def has(self, form: str) -> bool:
        """Whether any sentence holds this form as a content word."""
        return form in self._forms

    def match(self, found: Sequence[Token]) -> Matches:
        """Matches of shape (len(found), number of sentences)."""
        import numpy as np

        exact = np.zeros((len(found), len(self.pieces)), dtype=np.float32)
        near = np.zeros_like(exact)
        for row, token in enumerate(found):
            if token.kind != "number" and len(token.form) > PREFIX:
                near[row, self._beginnings.get(token.form[:PREFIX], [])] = 0.7
            exact[row, self._forms.get(token.form, [])] = 1.0
        likeness = self._likeness(found)
        if likeness is not None:
            kept = self._known[2]
            near[:, kept] = np.maximum(near[:, kept], likeness)
        return Matches(exact=exact, near=np.maximum(exact, near))

    @cached_property
    def _known(self) -> tuple[Floats, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Vectors of the distinct words, which of them each word is, and the sentences with words."""
        import numpy as np

        names = dict.fromkeys(self._words)
        place = {word: i for i, word in enumerate(names)}
        return (
            word_table().vectors_of(list(names)),
            np.array([place[word] for word in self._words], dtype=np.intp),
            np.array(self._kept, dtype=np.intp),
        )

    def _likeness(self, found: Sequence[Token]) -> Floats | None:
        """The best likeness of each ordinary word with any word of each sentence."""
        import numpy as np

        if not self._starts or not found:
            return None
        vectors, places, _ = self._known
        asked = word_table().vectors_of([t.word if t.kind == "word" else "" for t in found])
        # A product by BLAS would start a thread on every core for a few thousand numbers.
        cosine = np.einsum("ij,kj->ik", asked, vectors)
        scaled = np.clip((cosine - _FARTHEST) / (_NEAREST - _FARTHEST), 0.0, 1.0)
        best: Floats = np.maximum.reduceat(scaled.take(places, axis=1), self._starts, axis=1)
        return best


@lru_cache(maxsize=4)
def evidence_of(units: EvidenceSet) -> Evidence:
    """The cut evidence; the judges of one trace share it."""
    return Evidence(units)


def by_text(units: EvidenceSet) -> list[int]:
    """Indices of the units in the order of their texts."""
    return sorted(
        range(len(units)), key=lambda at: (units.units[at].text, units.units[at].source or "")
    )


def _pieces(units: EvidenceSet) -> list[Piece]:
    """Pieces of units in the order of their texts: nothing may depend on the order of the units."""
    found: list[Piece] = []
    for index in by_text(units):
        unit = units.units[index]
        for start, end in sentences(unit.text):
            words = tokens(unit.text, start, end)
            for at in range(0, len(words), LONGEST):
                part = tuple(words[at : at + LONGEST])
                found.append(Piece(unit=index, start=part[0].start, end=part[-1].end, tokens=part))
        for name in (unit.source, *unit.aliases):
            words = tokens(name) if name else []
            if words:
                found.append(Piece(unit=index, start=0, end=0, tokens=tuple(words)))
    return found
