"""Right value, wrong subject: a number or date must stand with what it is said of.

A value found somewhere in the evidence is not enough. When one evidence clause speaks of exactly
what the answer's clause speaks of and gives another value of the same kind, and the clauses that
do hold the value speak of something else, the value belongs to another subject. Both conditions
are needed: answers often join what two sentences say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from aletheia.grounding.case import Case, EvidenceIndex
from aletheia.grounding.checks import Result, finding
from aletheia.grounding.lexicon import FUNCTION_WORDS, MONTHS_AND_DAYS
from aletheia.grounding.polarity import stem
from aletheia.grounding.quantities import DateMention, Quantity, match_date, match_quantity

Mention = Quantity | DateMention
_TOKEN = re.compile(r"[^\W\d_]+")
_PRONOUN = re.compile(
    r"\W*(?:it|they|he|she|this|these|its|their|his|her|the latter|the former)\b", re.IGNORECASE
)
_EMPTY_WORDS = FUNCTION_WORDS | MONTHS_AND_DAYS
_SLACK = 2
"""Content words a clause may have more than the claim and still be about the same thing."""


class Segment(NamedTuple):
    """A clause of the evidence: its unit, its span in the index's text and its content stems."""

    unit: str
    start: int
    end: int
    stems: frozenset[str]


def check_slots(case: Case) -> Iterator[Result]:
    """Every number and date that the evidence holds stands there with the same subject."""
    numbers = [q for q in case.numeric.quantities if not q.soft]
    if not case.cited.units or not (numbers or case.numeric.dates):
        return
    slots = _Slots(case)
    for quantity in numbers:
        yield from slots.check(quantity, "number")
    for mention in case.numeric.dates:
        if not mention.soft:
            yield from slots.check(mention, "date")


class _Slots:
    """Segments of the evidence, cut when the first value needs them."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._answer = _Clauses(case.text)
        self._cited: _Side | None = None
        self._others: _Side | None = None

    def check(self, claimed: Mention, kind: Literal["number", "date"]) -> Iterator[Result]:
        """Say whose value it is, where another value belongs to the claim's subject."""
        if (claimed.start, claimed.end) in self.case.missing:
            return
        rivals = [(side, mention) for side in self._sides() for mention in side.alike(claimed)]
        if not rivals:
            return
        content = self._answer.content(*self._answer.around(claimed.start, claimed.end))
        if len(content) < 2:
            return
        needed = sorted(content, key=len, reverse=True)
        room = len(content) + _SLACK
        for side, other in rivals:
            if not (side.near(other, needed) and _is_same_kind(claimed, other)):
                continue
            segment = side.segment(other)
            if not (content <= segment.stems and len(segment.stems) <= room):
                continue
            # What the carriers say does not depend on the rival, so the first one decides.
            if self._is_elsewhere(claimed, content):
                span = (claimed.start, claimed.end)
                nearest = f"{other.text} in {segment.unit}"
                yield finding(self.case, kind, span, "other_subject", nearest=nearest)
            return

    def _sides(self) -> list[_Side]:
        self._cited = self._cited or _Side(self.case.cited)
        if not self.case.others.units:
            return [self._cited]
        self._others = self._others or _Side(self.case.others)
        return [self._cited, self._others]

    def _is_elsewhere(self, claimed: Mention, content: frozenset[str]) -> bool:
        """Whether the clauses that do hold the value speak of something near, but else."""
        cited = self._cited or _Side(self.case.cited)
        carriers = cited.carriers(claimed)
        if not carriers:
            return False
        shared = max(len(content & carrier.stems) for carrier in carriers)
        if shared in (0, len(content)):
            return False
        if any(_refers_back(cited.index.folded, carrier) for carrier in carriers):
            return False
        return min(len(carrier.stems) for carrier in carriers) <= len(content) + _SLACK


class _Side:
    """Cited or uncited units with their values by segment."""

    def __init__(self, index: EvidenceIndex) -> None:
        self.index = index
        self._clauses = _Clauses(index.folded)

    def carriers(self, claimed: Mention) -> list[Segment]:
        """Segments that hold a value which carries the claimed one."""
        mentions = self._mentions(claimed)
        same = [m for m in mentions if _is_same(claimed, m)]
        return [self.segment(m) for m in (same or [m for m in mentions if _carries(claimed, m)])]

    def alike(self, claimed: Mention) -> list[Mention]:
        """Values of the same kind that are another value, by a first quick look."""
        if isinstance(claimed, DateMention):
            return [m for m in self.index.numeric.dates if not _is_same(claimed, m)]
        kind, value, unit = claimed.kind, claimed.value, claimed.unit
        return [
            m
            for m in self.index.numeric.quantities
            if m.kind == kind and m.value != value and m.unit == unit
        ]

    def segment(self, mention: Mention) -> Segment:
        """The clause that holds the mention."""
        start, end = self._clauses.around(mention.start, mention.end)
        unit = _unit_at(self.index, mention.start)
        return Segment(unit, start, end, self._clauses.content(start, end))

    def near(self, mention: Mention, stems: Sequence[str]) -> bool:
        """Whether all stems stand somewhere near the mention: a quick look before `segment`.

        Each is the beginning of its word; the longest comes first, because it is missed first.
        """
        text = self.index.lower_folded
        low, high = max(0, mention.start - _REACH), mention.end + _REACH
        for stemmed in stems:
            if text.find(stemmed, low, high) < 0 and stemmed.isascii():
                return False
        return True

    def _mentions(self, claimed: Mention) -> Sequence[Mention]:
        numeric = self.index.numeric
        return numeric.dates if isinstance(claimed, DateMention) else numeric.quantities


def _unit_at(index: EvidenceIndex, position: int) -> str:
    offset = 0
    for unit in index.units:
        offset += len(unit.folded.text) + 2
        if position < offset:
            return unit.id
    return index.units[-1].id


def _carries(claimed: Mention, other: Mention) -> bool:
    if isinstance(claimed, DateMention):
        return isinstance(other, DateMention) and match_date(claimed, [other]).supported
    return not isinstance(other, DateMention) and match_quantity(claimed, [other]).supported


def _is_same(claimed: Mention, other: Mention) -> bool:
    if isinstance(claimed, DateMention):
        return isinstance(other, DateMention) and claimed.readings == other.readings
    return not isinstance(other, DateMention) and claimed.value == other.value


def _is_same_kind(claimed: Mention, other: Mention) -> bool:
    """Whether values that `alike` found are of one kind in every other respect."""
    if isinstance(claimed, DateMention):
        return isinstance(other, DateMention) and claimed.precision == other.precision
    return (
        not isinstance(other, DateMention)
        and claimed.currency == other.currency
        and claimed.noun == other.noun
    )


_REACH = 200
"""How far, in characters, the clause around a value may extend to either side."""
_STOPS = (". ", ", ", "; ", ": ", "\n", "? ", "! ", " - ", " and ", " but ", " while ", " whereas ", " und ",
          " et ", " y ")  # fmt: skip


class _Clauses:
    """The clauses of one text, each found from a place in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._stops: list[str] | None = None

    def around(self, start: int, end: int) -> tuple[int, int]:
        """The clause around `text[start:end]`: between the nearest stops and conjunctions."""
        text = self.text
        if self._stops is None:
            # Most texts hold four or five of them.
            self._stops = [stop for stop in _STOPS if stop in text]
        left, high = max(0, start - _REACH), min(len(text), end + _REACH)
        for stop in self._stops:
            place = text.rfind(stop, left, start)
            if place >= 0:
                left = place + len(stop)
            place = text.find(stop, end, high)
            if place >= 0:
                high = place
        return left, high

    def content(self, start: int, end: int) -> frozenset[str]:
        """Stems of the content words; a single capital counts after a name (`Model A`)."""
        found: set[str] = set()
        previous = ""
        for token in _TOKEN.findall(self.text, start, end):
            lower = token.lower()
            if len(token) == 1:
                if token.isupper() and previous[:1].isupper():
                    found.add(lower)
            elif lower not in _EMPTY_WORDS:
                found.add(stem(lower))
            previous = token
        return frozenset(found)


def _refers_back(text: str, segment: Segment) -> bool:
    return bool(_PRONOUN.match(text, segment.start, segment.end))


__all__ = ["check_slots"]
