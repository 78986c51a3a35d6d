"""Whether two statements of the evidence, about what is claimed, agree or contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from aletheia.grounding.conflict_statements import Identifier, Statement, Value, slot
from aletheia.grounding.conflict_words import (
    EMPTY_WORDS,
    FORMER,
    ONCE,
    names_something,
    states_now,
)
from aletheia.grounding.date_match import match_date
from aletheia.grounding.dates import DateMention
from aletheia.grounding.number_words import next_word
from aletheia.grounding.polarity import is_listed_opposite, stem
from aletheia.grounding.quantity import Quantity
from aletheia.grounding.quantity_match import match_quantity
from aletheia.grounding.text import plain
from aletheia.grounding.units import distance, same_currency

ConflictKind = Literal["number", "date", "identifier", "polarity"]
Relation = Literal["same", "differs", "unclear", "unrelated"]
_COMPARED: Final = frozenset({"number", "percent", "money", "measure", "version"})
_LEAST_FOR_SIGN: Final = 2
"""Words that two statements must share before their signs are compared."""
_LEAST_DENSE: Final = 3
"""The same, in characters of a script without spaces."""

Compared = tuple[Relation, ConflictKind | None, tuple[Value, Value] | None]
"""How two statements stand; where they differ, in what, and the two values where it is one."""

_SAME: Final[Compared] = ("same", None, None)
_UNCLEAR: Final[Compared] = ("unclear", None, None)
_UNRELATED: Final[Compared] = ("unrelated", None, None)


def compared(one: Statement, other: Statement) -> Compared:
    """Compare two statements of the evidence; both speak of what is claimed."""
    if one.core != other.core:
        return _opposite(one, other)
    differing = _differing(one.values, other.values)
    if differing is None:
        return _UNCLEAR
    if not differing:
        if one.negated == other.negated:
            return _SAME
        return ("differs", "polarity", None) if _has_comparable_sign(one, other) else _UNCLEAR
    if len(differing) > 1:
        return _UNRELATED  # another year, another size: two things
    if one.negated or other.negated or not _is_plain(one, other):
        return _UNCLEAR
    return _value_conflict(one, other, *differing[0])


def _opposite(one: Statement, other: Statement) -> Compared:
    """`The export is enabled` and `The export is disabled`; any other word leaves it open."""
    new, lost = one.core - other.core, other.core - one.core
    if not new or not lost:
        return _UNCLEAR if one.core & other.core else _UNRELATED
    if len(new) > 1 or len(lost) > 1 or one.negated != other.negated:
        return _UNRELATED
    mine, theirs = _whole(one, *new), _whole(other, *lost)
    # In capitals it belongs to a name: Upper and Lower Quennock are two places.
    if not (mine.islower() and theirs.islower() and is_listed_opposite(mine, theirs)):
        return _UNRELATED
    same_values = _differing(one.values, other.values) == []
    if not same_values or not _is_plain(one, other) or not names_something(one.core & other.core):
        return _UNCLEAR
    return "differs", "polarity", None


def _whole(item: Statement, stemmed: str) -> str:
    """The word as written that has this stem."""
    found = (word.strip(".,;:!?()") for word in item.text.split())
    return next((word for word in found if word.lower().startswith(stemmed[:4])), stemmed)


def _has_comparable_sign(one: Statement, other: Statement) -> bool:
    core = one.core
    dense = all(len(word) == 1 for word in core)
    enough = len(core) >= (_LEAST_DENSE if dense else _LEAST_FOR_SIGN)
    return enough and names_something(core) and _is_plain(one, other)


def _is_plain(one: Statement, other: Statement) -> bool:
    """Whether neither statement is about another time, a plan, a bound or a part."""
    return FORMER.search(one.bare) is None and FORMER.search(other.bare) is None


def _differing(mine: Sequence[Value], theirs: Sequence[Value]) -> list[tuple[Value, Value]] | None:
    """Pair the values by place; the pairs that differ, None where they do not pair."""
    if [slot(value) for value in mine] != [slot(value) for value in theirs]:
        return None
    return [(a, b) for a, b in zip(mine, theirs, strict=True) if not equal(a, b)]


def equal(one: Value, other: Value) -> bool:
    """Whether two values say the same: converted, rounded, or at another precision."""
    match one, other:
        case Quantity(), Quantity():
            return match_quantity(one, [other]).supported or match_quantity(other, [one]).supported
        case DateMention(), DateMention():
            return match_date(one, [other]).supported or match_date(other, [one]).supported
        case Identifier(), Identifier():
            return one.text == other.text
    return False


def _value_conflict(one: Statement, other: Statement, mine: Value, theirs: Value) -> Compared:
    counted = {stem(plain(v.noun)) for v in (mine, theirs) if isinstance(v, Quantity) and v.noun}
    if not names_something(one.core - counted):
        return _UNCLEAR
    now = states_now(_before(one, mine)) and states_now(_before(other, theirs))
    match mine, theirs:
        case Quantity(), Quantity() if _are_rivals(mine, theirs, now=now):
            return "differs", "number", (mine, theirs)
        case DateMention(), DateMention() if _is_one_date(one, mine, theirs, now=now):
            return "differs", "date", (mine, theirs)
        case Identifier(), Identifier() if now:
            return "differs", "identifier", (mine, theirs)
        case Identifier(), Identifier():
            return _UNRELATED
    return _UNCLEAR


def _before(item: Statement, value: Value) -> str:
    return item.before[item.values.index(value)]


def _are_rivals(mine: Quantity, theirs: Quantity, *, now: bool) -> bool:
    """Whether two quantities cannot both be the value; `now` where the words say it is one."""
    if mine.kind not in _COMPARED or mine.kind != theirs.kind:
        return False
    if mine.high is not None or theirs.high is not None or mine.hedged or theirs.hedged:
        return False
    if mine.unit == "times" or (mine.kind == "number" and not (now or _count_alike(mine, theirs))):
        return False
    # `Cook for 3 hours` and `cook for 20 minutes` are two steps.
    if slot(mine) == "time" and not now:
        return False
    if mine.kind == "money":
        if mine.currency is None or theirs.currency is None:
            return False
        if not same_currency(mine.currency, theirs.currency):
            return False
    return not _is_round(mine, theirs) and not _is_round(theirs, mine)


def _count_alike(mine: Quantity, theirs: Quantity) -> bool:
    """Whether both numbers count the same: `40 staff` and `45 staff`, unlike `passage 1`."""
    one, other = next_word(mine.source, mine.end), next_word(theirs.source, theirs.end)
    if one is None or other is None or one.word.lower() in EMPTY_WORDS:
        return False
    return one.word.lower() == other.word.lower()


def _is_round(one: Quantity, other: Quantity) -> bool:
    """Whether a whole number with zeros at its end may stand for the other: 8,000 for 8,234."""
    if not isinstance(one.value, int) or one.value % 100:
        return False
    zeros = len(str(one.value)) - len(str(one.value).rstrip("0"))
    step: int = 10**zeros
    return distance(one.value, other.value) * 2 <= step


def _is_one_date(item: Statement, mine: DateMention, theirs: DateMention, *, now: bool) -> bool:
    if mine.precision != theirs.precision or mine.when.has_year != theirs.when.has_year:
        return False
    if mine.precision in ("century", "decade", "half", "quarter"):
        return False
    if not names_something(frozenset(word for word in item.core if not ONCE.match(word))):
        return False
    once = ONCE.search(item.bare) is not None
    return now or (once and mine.precision not in ("weekday", "time"))
