"""One answer prepared for checking: folded once, cut into statements, bound to its evidence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from aletheia.grounding.citations import Marker
from aletheia.grounding.lazy import lazy
from aletheia.grounding.lexicon import FUNCTION_WORDS, OTHER_FUNCTION_WORDS, is_common
from aletheia.grounding.polarity import stem
from aletheia.grounding.quantities import NumericMentions, numeric_mentions
from aletheia.grounding.sentences import sentences
from aletheia.grounding.spans import Spans
from aletheia.grounding.tables import Table, tables
from aletheia.grounding.text import Folded, fold
from aletheia.grounding.tokens import Corpus, UnitIndex, letter_runs
from aletheia.schema.evidence import EvidenceSet


class Sentence(NamedTuple):
    """A sentence of the answer, offsets in the folded text. `scope` are the ids of its markers."""

    start: int
    end: int
    scope: tuple[str, ...] = ()


@dataclass(eq=False, kw_only=True)
class EvidenceIndex(Corpus):
    """Units searched together, with their numbers and dates, each bound to its unit."""

    units: Sequence[UnitIndex]

    @lazy
    def numeric(self) -> NumericMentions:
        """Quantities and dates of all units; offsets are into `folded`."""
        return numeric_mentions(self.folded)

    @lazy
    def tables(self) -> list[Table]:
        """Tables of all units."""
        return [table for unit in self.units for table in tables(unit.folded.text)]

    @lazy
    def stems(self) -> frozenset[str]:
        """Stems of the vocabulary."""
        return frozenset(map(stem, self.vocabulary))

    @lazy
    def technical_words(self) -> list[str]:
        """Long words that are not ordinary English ones, sorted."""
        return sorted(word for word in self.vocabulary if len(word) >= 7 and not is_common(word))

    @lazy
    def sentence_spans(self) -> list[tuple[int, int]]:
        """Sentences of `folded`."""
        return sentences(self.folded)


@dataclass(eq=False, kw_only=True)
class Case:
    """What a check sees.

    `text` is the folded answer with its citation markers blanked out, so that offsets stay true.
    `cited` are the valid cited units, `others` the units that were presented but not cited.
    Checks add to `masks` the spans that later checks must not read again, to `decided` every span
    they came to a decision about, and to `missing` the numbers and dates the evidence lacks.
    """

    answer: str
    folded: Folded
    sentences: tuple[Sentence, ...]
    cited: EvidenceIndex
    others: EvidenceIndex
    question: str = ""
    masks: Spans = field(default_factory=Spans)
    decided: list[tuple[int, int]] = field(default_factory=list)
    missing: set[tuple[int, int]] = field(default_factory=set)
    _scopes: dict[tuple[str, ...], EvidenceIndex] = field(default_factory=dict)
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.folded.text

    @lazy
    def numeric(self) -> NumericMentions:
        """Quantities and dates of the answer."""
        return numeric_mentions(self.text)

    @lazy
    def numeric_spans(self) -> Spans:
        """What the numbers and dates of the answer cover."""
        spans = [(quantity.start, quantity.end) for quantity in self.numeric.quantities]
        return Spans(spans + [(date.start, date.end) for date in self.numeric.dates])

    @lazy
    def runs(self) -> list[str]:
        """Every run of letters of the answer."""
        return letter_runs(self.text)

    @lazy
    def words(self) -> frozenset[str]:
        """The runs of letters in lower case."""
        return frozenset(letter_runs(self.text.lower()))

    @lazy
    def has_scopes(self) -> bool:
        """Whether any sentence cites units of its own."""
        return any(sentence.scope for sentence in self.sentences)

    @lazy
    def is_english(self) -> bool:
        """Whether answer and cited units are both written in English, by their function words."""
        return _english_share(self.text) > 0.5 and _english_share(self.cited.folded) > 0.5

    @lazy
    def question_index(self) -> EvidenceIndex:
        """The question as a corpus of its own."""
        from aletheia.schema.evidence import EvidenceUnit

        unit = EvidenceUnit(id="Q", text=self.question, key="", position=0)
        return EvidenceIndex(units=[UnitIndex(unit)])

    def scope_of(self, position: int) -> EvidenceIndex | None:
        """The units the sentence at `position` cites itself, if they are fewer than all cited."""
        if not self.has_scopes:
            return None
        sentence = self.sentence_at(position)
        return None if sentence is None else self._narrowed(sentence.scope)

    def sentence_at(self, position: int) -> Sentence | None:
        """The sentence that holds `position`."""
        index = bisect_right(self.sentences, position, key=itemgetter(0)) - 1
        if index < 0 or position >= self.sentences[index].end:
            return None
        return self.sentences[index]

    def _narrowed(self, scope: tuple[str, ...]) -> EvidenceIndex | None:
        if not scope:
            return None
        units = [unit for unit in self.cited.units if unit.id in scope]
        if not units or len(units) == len(self.cited.units):
            return None
        if scope not in self._scopes:
            self._scopes[scope] = EvidenceIndex(units=units)
        return self._scopes[scope]

    def uncited_units(self) -> Iterator[EvidenceIndex]:
        """Each uncited unit as an index of its own."""
        for unit in self.others.units:
            yield self.single(unit)

    def single(self, unit: UnitIndex) -> EvidenceIndex:
        """One unit as an index of its own; made once, because it reads the unit's numbers."""
        if (unit.id,) not in self._scopes:
            self._scopes[unit.id,] = EvidenceIndex(units=[unit])
        return self._scopes[unit.id,]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in the answer of a folded span."""
        return self.folded.span(start, end)


_LATIN_WORD = re.compile(r"[a-z]{1,12}")
_FOREIGN = frozenset[str]().union(*OTHER_FUNCTION_WORDS.values()) - FUNCTION_WORDS
_LONGEST_WORD = 12
_HEAD = 2000


def _english_share(folded: str) -> float:
    """Share of English among the function words of the first 2,000 characters; 1 without any."""
    words = _latin_words(folded[:_HEAD].lower())
    if _FOREIGN.isdisjoint(words):
        return 1.0 if folded[:_HEAD].isascii() or not FUNCTION_WORDS.isdisjoint(words) else 0.0
    english = sum(map(FUNCTION_WORDS.__contains__, words))
    foreign = sum(map(_FOREIGN.__contains__, words))
    return english / (english + foreign)


def _latin_words(lower: str) -> list[str]:
    """Runs of up to twelve ASCII letters."""
    if not lower.isascii():
        return _LATIN_WORD.findall(lower)
    words = letter_runs(lower)
    if len(max(words, key=len, default="")) > _LONGEST_WORD:
        return _LATIN_WORD.findall(" ".join(words))
    return words


def build_case(
    answer: str,
    markers: Sequence[Marker],
    evidence: EvidenceSet,
    cited: Sequence[str],
    question: str | None = None,
) -> Case:
    """Prepare `answer` for checking against `evidence`, of which `cited` are the cited ids."""
    blanked = blank(answer, markers)
    folded = fold(blanked)
    wanted = _with_duplicates(evidence, set(cited))
    indexes = [UnitIndex(unit) for unit in evidence.units]
    return Case(
        answer=answer,
        folded=folded,
        sentences=_sentences(answer, markers, folded),
        cited=EvidenceIndex(units=[index for index in indexes if index.unit.id in wanted]),
        others=EvidenceIndex(units=[index for index in indexes if index.unit.id not in wanted]),
        question=question or "",
    )


def _with_duplicates(evidence: EvidenceSet, wanted: set[str]) -> set[str]:
    """The wanted ids with those of units that hold the same content."""
    copies = [unit for unit in evidence.units if unit.duplicate_of is not None]
    return wanted.union(
        [unit.id for unit in copies if unit.duplicate_of in wanted],
        [unit.duplicate_of for unit in copies if unit.id in wanted and unit.duplicate_of],
    )


def blank(answer: str, markers: Sequence[Marker]) -> str:
    """The answer with each marker overwritten by as many spaces."""
    if not markers:
        return answer
    pieces: list[str] = []
    position = 0
    for marker in markers:
        pieces.append(answer[position : marker.start])
        pieces.append(" " * (marker.end - marker.start))
        position = marker.end
    pieces.append(answer[position:])
    return "".join(pieces)


def _sentences(answer: str, markers: Sequence[Marker], folded: Folded) -> tuple[Sentence, ...]:
    found: list[Sentence] = []
    waiting = 0
    for start, end in sentences(answer):
        scope: dict[str, None] = {}
        while waiting < len(markers) and markers[waiting].start < end:
            if markers[waiting].start >= start:
                scope.update(dict.fromkeys(markers[waiting].ids))
            waiting += 1
        if folded.starts:
            start, end = folded.locate(start), folded.locate(end)
        if start < end:
            found.append(Sentence(start, end, tuple(scope)))
    return tuple(found)
