"""Whether the evidence holds the quantity that was claimed.

Values are compared exactly. What may differ is stated: a unit of the same dimension, an honest
rounding, a comparison that holds. Text similarity never takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from aletheia.grounding.numerals import EXACT
from aletheia.grounding.quantity import Outcome, Quantity, QuantityMatch
from aletheia.grounding.units import (
    Exact,
    convert,
    distance,
    meanings,
    same_currency,
    same_dimension,
    same_unit,
)


def match_quantity(claimed: Quantity, available: Sequence[Quantity]) -> QuantityMatch:
    """Find the evidence quantity that carries `claimed`; see `QuantityMatch`."""
    value, high = claimed.value, claimed.high
    for index, other in enumerate(available):
        if other.value == value and other.high == high and _exact(claimed, other):
            return QuantityMatch("exact", index, note=_hedge_note(claimed, other))
    if claimed.kind != "version" or claimed.others:
        for rule, indexes in _candidates(claimed, available):
            for index in indexes:
                outcome = rule(claimed, available[index])
                if outcome is not None:
                    return QuantityMatch(outcome, index)
    if high is not None:
        together = _ends(claimed, available)
        if together is not None:
            return together
    return _nearest(claimed, available)


_Rule = Callable[[Quantity, Quantity], Outcome | None]


def _candidates(claimed: Quantity, available: Sequence[Quantity]) -> list[tuple[_Rule, list[int]]]:
    """Pair the rules, in order, with the quantities they may apply to; one pass finds them."""
    ambiguous: list[int] = []
    ranges: list[int] = []
    convertible: list[int] = []
    near: list[int] = []
    value, unit, kind = distance(claimed.value, 0), claimed.unit, claimed.kind
    for index, other in enumerate(available):
        if other.high is not None:
            ranges.append(index)
        if claimed.others or other.others:
            ambiguous.append(index)
        if other.unit != unit or other.kind != kind:
            convertible.append(index)
        size = distance(other.value, 0)
        if size <= 2 * value and value <= 2 * size:
            near.append(index)
    return [
        (_other_reading, ambiguous),
        (_end_of_range, ranges),
        (_converted, convertible if kind in _CONVERTED else []),
        (_rounded, near),
        (_compared, near),
        (_reversed, ranges if kind in _SCORES else []),
    ]


# A bound says something about a value at most a quarter away.
_NEAR: Final = Fraction(5, 4)
_SCORES: Final = frozenset({"ratio", "number"})
_CONVERTED: Final = frozenset({"measure", "fraction", "percent"})


def _exact(claimed: Quantity, other: Quantity) -> bool:
    """Whether two quantities of one value say the same."""
    return _compatible(claimed, other) and not _invented(claimed, claimed.exponent, other.exponent)


def _invented(claimed: Quantity, given: int, known: int) -> bool:
    """Digits beyond those of the evidence; `.0` and `.00` after a whole number are harmless."""
    if given >= known or given >= 0 or given == EXACT:
        return False
    return not (isinstance(claimed.value, int) and known >= 0)


def _hedge_note(claimed: Quantity, other: Quantity) -> str | None:
    if claimed.approx == other.approx:
        return None
    return "hedge_dropped" if claimed.approx is None else "hedge_changed"


_PLAIN_KINDS: Final = frozenset({"number", "measure", "money"})


def _compatible(claimed: Quantity, other: Quantity) -> bool:
    """Whether kind, unit and currency allow the two to be the same quantity."""
    if claimed.kind == other.kind:
        if claimed.unit != other.unit and not same_unit(claimed.unit, other.unit):
            return False
        if claimed.currency is not None and other.currency is not None:
            return same_currency(claimed.currency, other.currency)
        return True
    if claimed.kind == "number":
        # A unit that the answer leaves out is no contradiction; a percent sign is.
        return other.kind in ("measure", "money")
    if claimed.kind == "measure" and other.kind == "money":
        return claimed.unit == "lb" and other.currency == "GBP"
    if claimed.kind == "money" and other.kind == "measure":
        return claimed.currency == "GBP" and other.unit == "lb"
    if other.kind == "number":
        if claimed.kind == "percent" or claimed.kind == "points":
            return False
        if claimed.kind in ("measure", "money"):
            return other.noun is None
        return claimed.kind in ("ordinal", "fraction")
    return False


def _other_reading(claimed: Quantity, other: Quantity) -> Outcome | None:
    if not claimed.others and not other.others:
        return None
    if claimed.high != other.high:
        return None
    if "version" in (claimed.kind, other.kind):
        return _same_digits(claimed, other)
    if not _compatible(claimed, other):
        return None
    mine = ((claimed.value, claimed.exponent), *claimed.others)
    theirs = ((other.value, other.exponent), *other.others)
    for value, given in mine:
        for candidate, known in theirs:
            if value == candidate and not _invented(claimed, given, known):
                return "exact"
    return None


def _same_digits(claimed: Quantity, other: Quantity) -> Outcome | None:
    """Accept a version beside a plain number only if the digits agree to the last."""
    if claimed.kind == other.kind or "number" not in (claimed.kind, other.kind):
        return None
    version, number = (claimed, other) if claimed.kind == "version" else (other, claimed)
    return "exact" if (number.value, number.exponent) in version.others else None


def _converted(claimed: Quantity, other: Quantity) -> Outcome | None:
    """Accept the same amount in another unit, or a fraction as a percentage."""
    if claimed.kind == "measure" and other.kind == "measure":
        return _converted_unit(claimed, other)
    if {claimed.kind, other.kind} == {"fraction", "percent"} and claimed.high == other.high:
        return _converted_share(claimed, other)
    return None


def _converted_share(claimed: Quantity, other: Quantity) -> Outcome | None:
    """Accept `a third` for 33.4 %, `75%` for three quarters; a point off, three when hedged."""
    if claimed.kind == "percent":
        value = other.value * 100
        return "converted" if value == claimed.value or _rounds(claimed, value) else None
    gap = distance(other.value, claimed.value * 100)
    return "converted" if gap <= (3 if claimed.approx else 1) else None


def _converted_unit(claimed: Quantity, other: Quantity) -> Outcome | None:
    if other.unit is None or claimed.unit is None or (claimed.high is None) != (other.high is None):
        return None
    pairs = ((one, two) for one in meanings(other.unit) for two in meanings(claimed.unit))
    if any(_is_converted(claimed, other, *pair) for pair in pairs):
        return "converted"
    return None


def _is_converted(claimed: Quantity, other: Quantity, source: str, target: str) -> bool:
    """Whether `other`, in unit `source`, is what is claimed in `target`."""
    if source == target or not same_dimension(source, target):
        return False
    value = convert(other.value, source, target)
    if value != claimed.value and not _rounds(claimed, value):
        return False
    if claimed.high is None or other.high is None:
        return True
    high = convert(other.high, source, target)
    return high == claimed.high or _rounds(claimed._replace(value=claimed.high), high)


def _rounded(claimed: Quantity, other: Quantity) -> Outcome | None:
    """Honest rounding to the digits that the claim gives; see `_rounds`."""
    if other.high is not None or claimed.high is not None:
        return None
    if not _compatible(claimed, other):
        return None
    if claimed.exponent <= other.exponent and not claimed.approx:
        return None
    return "rounded" if _rounds(claimed, other.value) else None


def _rounds(claimed: Quantity, value: Exact) -> bool:
    """Whether `value` rounds to the claim.

    Half a unit of the claim's last digit, and no more than a tenth of the value. After a hedge the
    trailing zeros of a whole number count as not given, within five percent.
    """
    gap = distance(value, claimed.value)
    if gap * 2 <= Fraction(10) ** claimed.exponent and gap * 10 <= distance(value, 0):
        return True
    if claimed.approx not in ("about", "nearly"):
        return False
    if claimed.approx == "nearly" and value > claimed.value:
        return False
    return gap * 20 <= distance(value, 0) and gap * 2 <= 10 ** _trailing_zeros(claimed.value)


def _trailing_zeros(value: Exact) -> int:
    if not isinstance(value, int) or value == 0:
        return 0
    digits = str(value)
    return len(digits) - len(digits.rstrip("0"))


def _compared(claimed: Quantity, other: Quantity) -> Outcome | None:
    """`over 400` with 412: the comparison holds, and the bound is near."""
    if other.high is not None or claimed.high is not None or not _compatible(claimed, other):
        return None
    approx = claimed.approx
    if approx is None or approx in ("about", "nearly"):
        return None
    bound, value = claimed.value, other.value
    if approx in ("over", "at_least"):
        return "derived" if bound <= value <= bound * _NEAR else None
    return "derived" if bound / _NEAR <= value <= bound else None


def _end_of_range(claimed: Quantity, other: Quantity) -> Outcome | None:
    """Accept an end of an evidence range that is a fact by itself, or that the hedge points to."""
    if other.high is None or claimed.high is not None or not _same_kind_of_range(claimed, other):
        return None
    if other.ends_count and claimed.value in (other.value, other.high):
        return "exact"
    if claimed.approx in ("at_most", "under", "nearly") and claimed.value == other.high:
        return "derived"
    if claimed.approx in ("at_least", "over") and claimed.value == other.value:
        return "derived"
    return None


def _same_kind_of_range(claimed: Quantity, other: Quantity) -> bool:
    return _compatible(claimed, other) or (other.kind == "ratio" and claimed.kind == "number")


def _reversed(claimed: Quantity, other: Quantity) -> Outcome | None:
    """Accept a score told from the other side."""
    if "ratio" not in (claimed.kind, other.kind):
        return None
    if claimed.kind not in _SCORES or other.kind not in _SCORES:
        return None
    if "-" not in claimed.text or "-" not in other.text:
        return None
    return "exact" if (claimed.value, claimed.high) == (other.high, other.value) else None


def _ends(claimed: Quantity, available: Sequence[Quantity]) -> QuantityMatch | None:
    """Accept a range of which both ends are in the evidence, or that holds all its values."""
    assert claimed.high is not None  # noqa: S101  # checked by the caller
    low = claimed._replace(high=None)
    first = match_quantity(low, available)
    second = match_quantity(low._replace(value=claimed.high), available)
    if first.supported and second.supported:
        return QuantityMatch("exact", first.index)
    same = [
        index
        for index, other in enumerate(available)
        if other.kind == claimed.kind and other.unit == claimed.unit and _compatible(low, other)
    ]
    if claimed.kind == "number" or len(same) < 2:
        return None
    inside = all(
        claimed.value <= available[i].value
        and (available[i].high or available[i].value) <= claimed.high
        for i in same
    )
    return QuantityMatch("derived", same[0]) if inside else None


def _nearest(claimed: Quantity, available: Sequence[Quantity]) -> QuantityMatch:
    """Return the failure, with the quantity that comes closest and what keeps the two apart."""
    soft = claimed.soft or claimed.small or (claimed.kind == "ordinal" and claimed.is_word)
    best: int | None = None
    best_gap: Exact | None = None
    for index, other in enumerate(available):
        if _within(claimed, other):
            return QuantityMatch("within_range", index, soft=soft)
        note = _difference(claimed, other)
        if note is not None:
            return QuantityMatch("contradicted", index, soft=soft, note=note)
        if other.soft or not _alike(claimed, other):
            continue
        gap = distance(other.value, claimed.value)
        if best_gap is None or gap < best_gap:
            best, best_gap = index, gap
    if best is None:
        return QuantityMatch("absent", None, soft=soft)
    # A rival count of the same noun; one and two are too often made by pointing.
    if claimed.value > 2 and claimed.noun is not None:
        soft = claimed.soft
    return QuantityMatch("contradicted", best, soft=soft)


def _within(claimed: Quantity, other: Quantity) -> bool:
    return (
        other.high is not None
        and claimed.high is None
        and other.kind != "ratio"
        and other.value <= claimed.value <= other.high
        and _compatible(claimed, other)
    )


def _difference(claimed: Quantity, other: Quantity) -> str | None:
    """Why two quantities of one value are not the same; None when the values differ."""
    if claimed.high != other.high:
        return None
    if other.value == -claimed.value and claimed.value and _compatible(claimed, other):
        return "sign_differs"
    if other.value != claimed.value:
        return None
    if claimed.currency and other.currency and not same_currency(claimed.currency, other.currency):
        return "currency_differs"
    if claimed.kind != other.kind or claimed.unit != other.unit:
        return "unit_differs" if {claimed.kind, other.kind} != {"number", "ordinal"} else None
    return "invented_precision" if _compatible(claimed, other) else None


def _alike(claimed: Quantity, other: Quantity) -> bool:
    """Whether `other` is a rival value for the same thing."""
    if claimed.kind != other.kind or (claimed.high is None) != (other.high is None):
        return False
    if claimed.kind == "number" or claimed.kind == "ordinal":
        return claimed.noun == other.noun
    return claimed.unit == other.unit
