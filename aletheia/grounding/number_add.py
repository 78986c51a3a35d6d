"""Record a numeral with what stands beside it, joined to its neighbour where both make a range."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final, NamedTuple

from aletheia.grounding.number_dates import AND_GAPS, RANGE_GAPS, Scan
from aletheia.grounding.number_words import (
    PLAIN_NEXT,
    SPEAKING,
    Following,
    NextWord,
    following,
    last_word,
)
from aletheia.grounding.numerals import Numeral, Reading, scaled, simple
from aletheia.grounding.quantity import Quantity
from aletheia.grounding.units import QUICK, Exact, Kind, Suffix

_BETWEEN: Final = frozenset({"between", "zwischen", "entre", "tra", "tussen"})
_FROM: Final = frozenset({"from", "von", "de", "desde", "da", "van", "от", "с", "من"})
# `one day`, `one time`: said without counting.
_DIGITS = re.compile(r"\D?\D?(?:[\d.,]*\d-)?\d(?:[\d.,]*\d)?")
_FROM_TO: Final = ("에서 ", "から")
_RANKED: Final = ("第", "제")
_IDIOMS: Final = frozenset({"d", "s", "times"})


class Place(NamedTuple):
    """Where a numeral stands: with its signs, its first digit, its end; what the signs say."""

    start: int
    digits: int
    end: int
    last: str = ""
    negative: bool = False
    currency: str | None = None
    after: NextWord | None = None


# `1.5m dollars`: a letter that is a unit elsewhere is a scale before a currency.
_SHORT_SCALE_OF_MONEY = re.compile(
    r"[mkbt]n?\s(?:US\s)?(?:dollar|euro|pound|yen|rupee|crown|franc|kron|peso|USD|EUR|GBP|CHF|JPY)"
)


def add_quantity(
    scan: Scan,
    place: Place,
    read: Numeral,
    *,
    is_word: bool = False,
    kind: Kind = "number",
    soft: bool = False,
) -> int:
    """Record a numeral with what follows it, joined to the one before when both make a range.

    Returns where the quantity ends.
    """
    text = scan.text
    start, end, currency = place.start, place.end, place.currency
    money = currency is not None or _SHORT_SCALE_OF_MONEY.match(text, end) is not None
    if text[start - 1 : start] in _RANKED:
        read_on = Following(end)  # 第3天 is the third day, not three of them
    else:
        read_on = _quick_following(text, end) or following(text, end, money=money)
    stop, suffixes, ordinal, self_counted = read_on
    value, exponent, others = read
    unit: str | None = None
    enlarged = False
    if suffixes:
        named = suffixes[-1]
        if len(suffixes) > 1 or named.kind is None or named.divisor != 1:
            value, exponent, others, enlarged = _enlarged(read, suffixes)
        if named.kind is not None:
            kind, unit, currency = named.kind, named.unit, named.currency or currency
    if currency is not None:
        kind = "money"
    elif ordinal:
        kind = "ordinal"
    elif enlarged and kind == "fraction":
        kind = "number"
    if text.startswith("+", stop):
        stop += 1
    if place.negative or text.endswith(("minus ", "negative "), 0, start):
        value = -value
    if unit == "d" and value in (6, 7) and text.startswith((" a week", " per week"), stop):
        self_counted = True  # an opening time, told from a list of days
    if soft:
        soft = not enlarged and (kind == "number" or unit in _IDIOMS)
    quantity = Quantity(
        start, stop, text, kind, value, exponent, others, unit, currency, None, is_word,
        soft or self_counted, False, enlarged,
    )  # fmt: skip
    _join_or_add(scan, quantity)
    scan.reached = stop
    return stop


def _quick_following(text: str, end: int) -> Following | None:
    """Read the common case of `following`: one plain unit, or a scale and a plain word."""
    match = PLAIN_NEXT.match(text, end)
    if match is None or match[1] != " ":
        return None
    item = QUICK.get(match[2])
    if item is None:
        return None
    stop = match.end()
    if item.kind is not None:
        return Following(stop, (item,))
    match = PLAIN_NEXT.match(text, stop)
    if match is None or match[1] != " ":
        return None
    second = QUICK.get(match[2])
    if second is not None:
        return Following(match.end(), (item, second)) if second.kind is not None else None
    return None if match[2] in SPEAKING else Following(stop, (item,))


def add_plain(
    scan: Scan, start: int, end: int, read: Numeral, *, is_word: bool = False, soft: bool = False
) -> None:
    """Record a numeral that no word behind it changes."""
    value, exponent, others = read
    quantity = Quantity(
        start, end, scan.text, "number", value, exponent, others, None, None, None, is_word, soft
    )
    quantities = scan.quantities
    if quantities and start - quantities[-1].end <= 9:
        _join_or_add(scan, quantity)
    else:
        quantities.append(quantity)
    scan.reached = end


def _enlarged(
    read: Numeral, suffixes: tuple[Suffix, ...]
) -> tuple[Exact, int, tuple[Reading, ...], bool]:
    """Return a numeral with its scale words applied, and whether there were any."""
    value, exponent, others = read.value, read.exponent, read.others
    enlarged = False
    for item in suffixes:
        if item.power or item.factor != 1:
            value = simple(scaled(value, item.power) * item.factor)
            exponent += item.power
            others = tuple((scaled(v, item.power), e + item.power) for v, e in others)
            enlarged = True
        if item.divisor != 1:
            value, exponent = simple(Fraction(value) / item.divisor), exponent - 2
            others = ()
    return value, exponent, others, enlarged


def _join_or_add(scan: Scan, new: Quantity) -> None:
    quantities = scan.quantities
    if quantities:
        previous = quantities[-1]
        if 0 < new.start - previous.end <= 9:
            joined = _joined(previous, new, scan.text)
            if joined is not None:
                quantities[-1] = joined
                return
    quantities.append(new)


def _joined(previous: Quantity, new: Quantity, text: str) -> Quantity | None:
    """Return a range or mixed number made of two neighbours, or None."""
    gap = text[previous.end : new.start]
    if previous.high is not None or new.high is not None:
        return None
    if 0 < new.value < 1 and gap in (" ", "-", " and ") and "/" in new.text:
        return _mixed(previous, new)
    if gap not in RANGE_GAPS and gap not in AND_GAPS:
        return None
    lead = last_word(text, previous.start)
    if gap in AND_GAPS and lead not in _BETWEEN:
        return None
    if previous.kind != new.kind and previous.kind != "number":
        return None
    if previous.kind == new.kind and previous.unit != new.unit:
        return None
    low = previous.value
    if previous.kind == "number" and new.scaled and not previous.scaled:
        low = lift(Numeral(low), new)
    if not low < new.value:
        score = "-" in gap and previous.kind == new.kind == "number" and not new.scaled
        if not score:
            return None
        return new._replace(start=previous.start, kind="ratio", value=low, high=new.value)
    return new._replace(
        start=previous.start, value=low, high=new.value,
        currency=new.currency or previous.currency, is_word=previous.is_word and new.is_word,
        exponent=min(previous.exponent, new.exponent), ends_count=lead in _FROM or gap in _FROM_TO,
    )  # fmt: skip


def _mixed(previous: Quantity, new: Quantity) -> Quantity | None:
    """`5 1/2 days`."""
    if previous.kind != "number" or not isinstance(previous.value, int):
        return None
    return new._replace(
        start=previous.start,
        value=previous.value + new.value,
        kind="measure" if new.unit else "number",
    )


def lift(low: Numeral, upper: Quantity) -> Exact:
    """Return the lower end of a range: that of `5-10 million` is five million."""
    if not upper.scaled:
        return low.value
    written = _DIGITS.match(upper.source, upper.start)
    if written is not None:
        money = upper.kind == "money"
        read_on = following(upper.source, written.end(), money=money).suffixes
        lifted = scaled(low.value, sum(item.power for item in read_on))
        if low.value < lifted < upper.value:
            return lifted
    power = 0
    while low.value and low.value * 10 ** (power + 3) < upper.value:
        power += 3
    return scaled(low.value, power)
