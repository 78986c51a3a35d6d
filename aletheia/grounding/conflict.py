"""Evidence that contradicts itself on what an answer says.

Two units that speak of the same thing in the same words and give another number, date, identifier
or sign contradict each other. Everything else is left open: a list of different things, another
year, a bound, a range, an amount in another unit, and words that only look alike. A contradiction
is told only where it is plain; that there is none is told only where everything that speaks of the
claim could be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aletheia.grounding.conflict_compare import ConflictKind, Relation, compared, equal
from aletheia.grounding.conflict_statements import StatedText, Statement, Value, beginnings, slot
from aletheia.grounding.conflict_words import FLOW, PRONOUN, REVISION, names_something
from aletheia.grounding.dates import YEAR, DateMention
from aletheia.grounding.lazy import lazy
from aletheia.grounding.quantities import numeric_mentions
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Unit `unit` carries the claim, unit `other` says otherwise of the same thing.

    `says` and `other_says` are the values as written, or the two pieces of text for a sign.
    `newer` is the unit that takes the other's place, where dates or words of revision tell.
    """

    kind: ConflictKind
    unit: str
    other: str
    says: str
    other_says: str
    newer: str | None = None

    @property
    def text(self) -> str:
        """The conflict in one line, as traces and notes show it."""
        newer = "" if self.newer is None else f"; {self.newer} is newer"
        return (
            f"conflict: {self.unit} says `{self.says}`, {self.other} says "
            f"`{self.other_says}`{newer}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimConflicts:
    """What the units say of one claim.

    `decided` is True where a unit states the claim and every statement that may speak of the same
    could be compared with it. `stated_by` is the unit that says the claim word for word, in the
    same order and with the same values and sign.
    """

    conflicts: tuple[Conflict, ...] = ()
    decided: bool = False
    stated_by: str | None = None

    @property
    def found(self) -> bool | None:
        """True: the evidence contradicts itself on the claim. None: that could not be decided."""
        return True if self.conflicts else False if self.decided else None


def find_conflicts(evidence: EvidenceSet, claims: Sequence[str]) -> tuple[ClaimConflicts, ...]:
    """Look for units that contradict each other on each claim; deterministic, without a model.

    The order of the units decides nothing but which of several conflicts comes first. Claims are
    texts without citation markers.
    """
    units = [_Unit(unit) for unit in evidence if unit.duplicate_of is None]
    if len(units) < 2:
        return (ClaimConflicts(),) * len(claims)
    return tuple(_on_claim(units, StatedText("claim", claim)) for claim in claims)


class _Unit(StatedText):
    """One unit, with what tells how old it is."""

    def __init__(self, unit: EvidenceUnit) -> None:
        super().__init__(unit.id, unit.text, " ".join(filter(None, (unit.source, *unit.aliases))))

    @lazy
    def years(self) -> frozenset[int]:
        """The days that its text and title name, as numbers that can be compared."""
        dated = numeric_mentions(f"{self.title}\n{self.folded}").dates
        return frozenset(date.readings[0][0] for date in dated if date.when.has_year)

    @lazy
    def is_revision(self) -> bool:
        """Whether it says that it takes the place of something earlier."""
        return REVISION.search(f"{self.title}\n{self.folded}") is not None


def _on_claim(units: Sequence[_Unit], claim: StatedText) -> ClaimConflicts:
    found: list[Conflict] = []
    decided, stated_by, judged = True, None, False
    for statement in _claimed(claim):
        held = [(unit, item) for unit in units for item in _speaking(unit, statement)]
        carriers = [(unit, item) for unit, item in held if _carries(item, statement)]
        judged = judged or bool(carriers)
        for carrier in carriers:
            if stated_by is None and _says_it(carrier[1], statement):
                stated_by = carrier[0].name
            for other in held:
                relation, conflict = _between(carrier, other, statement)
                found += [] if conflict is None else [conflict]
                decided = decided and relation != "unclear"
    return ClaimConflicts(
        conflicts=_distinct(found), decided=decided and judged, stated_by=stated_by
    )


def _claimed(claim: StatedText) -> Iterator[Statement]:
    """Yield the statements of a claim: those with a value, and each sentence as a whole."""
    for at in range(len(claim.spans)):
        for number, item in enumerate(claim.read(at)):
            if number == 0 or item.values:
                yield item


def _distinct(found: Sequence[Conflict]) -> tuple[Conflict, ...]:
    """One conflict for each other unit: the first, which is that of the whole sentence."""
    kept: dict[str, Conflict] = {}
    carriers = {item.unit for item in found}
    for item in found:
        if item.other not in kept and not (item.other in carriers and item.unit in kept):
            kept[item.other] = item
    return tuple(kept.values())


def _speaking(unit: _Unit, claim: Statement) -> Iterator[Statement]:
    """Yield the statements of a unit that speak of what the claim speaks of, whatever they say."""
    wanted = claim.core
    for at in _places(unit, claim):
        for item in unit.read(at):
            whole = _completed(unit, at, item, wanted) if claim.values else item
            core = whole.core
            # One word more on either side: it may be the opposite of the other.
            if core & wanted and min(len(core - wanted), len(wanted - core)) <= 1:
                yield whole


def _places(unit: _Unit, claim: Statement) -> Iterator[int]:
    """Yield the sentences worth reading: with values like those claimed, or with all its words."""
    looked_for = beginnings(" ".join(claim.core))
    slots = frozenset(slot(value) for value in claim.values)
    for at, held in enumerate(unit.beginnings):
        if not slots:
            if len(looked_for - held) <= 1 and not looked_for.isdisjoint(held):
                yield at
        elif (
            not held.isdisjoint(looked_for)
            or (at and not unit.beginnings[at - 1].isdisjoint(looked_for))
            or unit.titled
        ) and not slots.isdisjoint(unit.valued(at)):
            yield at


def _completed(unit: _Unit, at: int, item: Statement, wanted: frozenset[str]) -> Statement:
    """Give `It weighs 2.8 kg` its subject: that of the sentence before, or the title of the unit."""
    missing = wanted - item.core
    if not missing or item.core - wanted or not item.values:
        return item
    if missing <= unit.titled:
        return item.about(sorted(missing))
    if at and names_something(missing) and PRONOUN.match(item.text) is not None:
        opening = unit.opening(at - 1)[: len(missing)]
        if set(opening) == missing:
            return item.about(opening)
    return item


def _carries(item: Statement, claim: Statement) -> bool:
    """Whether a statement of the evidence says what the claim says of its values and sign."""
    core, wanted = item.core, claim.core
    if item.negated != claim.negated or not (core <= wanted or wanted <= core):
        return False
    return all(any(equal(value, other) for other in item.values) for value in claim.values)


def _says_it(item: Statement, claim: Statement) -> bool:
    return item.words == claim.words and len(item.values) == len(claim.values)


def _between(
    carrier: tuple[_Unit, Statement], other: tuple[_Unit, Statement], claim: Statement
) -> tuple[Relation, Conflict | None]:
    (unit, item), (rival, said) = carrier, other
    if unit is rival or item.text == said.text:
        return "same", None
    relation, kind, pair = compared(item, said)
    if relation != "differs" or kind is None:
        return relation, None
    mine, theirs = pair or (None, None)
    if kind == "polarity" and item.core != claim.core:
        return "unclear", None
    if mine is not None and not any(equal(value, mine) for value in claim.values):
        return "unrelated", None
    if _is_other_period(unit, rival, item):
        return "unclear", None
    return relation, Conflict(
        kind=kind,
        unit=unit.name,
        other=rival.name,
        says=_written(item, mine),
        other_says=_written(said, theirs),
        newer=_newer(unit, rival, pair),
    )


def _written(item: Statement, value: Value | None) -> str:
    return (
        item.text if value is None else item.text[value.start - item.start : value.end - item.start]
    )


def _is_other_period(unit: _Unit, rival: _Unit, item: Statement) -> bool:
    """Whether the units are of different years, and the value is one that each year has."""
    if FLOW.search(item.bare) is None:
        return False
    mine = {day // YEAR for day in unit.years}
    theirs = {day // YEAR for day in rival.years}
    return mine != theirs


def _newer(unit: _Unit, rival: _Unit, pair: tuple[Value, Value] | None) -> str | None:
    """The unit with the later date beside the values in question, else the one that is a revision."""
    values = {
        v.readings[0][0] for v in pair or () if isinstance(v, DateMention) and v.when.has_year
    }
    mine, theirs = unit.years - values, rival.years - values
    if mine and theirs and max(mine) != max(theirs):
        return unit.name if max(mine) > max(theirs) else rival.name
    if unit.is_revision != rival.is_revision:
        return unit.name if unit.is_revision else rival.name
    return None
