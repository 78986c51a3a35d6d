"""Read one numeral, in digits or in words, into an exact value with its precision.

A numeral in digits can be read in more than one way (`1.000` is one or one thousand); all readings
are kept, the likelier one first. Precision is the place of the last digit that was given.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from aletheia.grounding.units import Exact

Reading = tuple[Exact, int]
"""A value, and the power of ten of its last given digit."""


EXACT: Final = -9
"""Exponent of a fraction, which is given to any digit."""


class Numeral(NamedTuple):
    """`value` with its last digit at `10 ** exponent`, and the `others` it may be read as."""

    value: Exact
    exponent: int = 0
    others: tuple[Reading, ...] = ()


_PLAIN = re.compile(r"\d+")
_DECIMAL = re.compile(r"(\d*)[.,](\d+)")
_GROUPED = re.compile(r"(\d{1,3})(?:([., ']|, | , )\d{3})(?:\2\d{3})*(?:([.,])(\d+))?")
_INDIAN = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.(\d+))?")
_MYRIAD = re.compile(r"\d{1,4}(?:,\d{4})+")
_SCIENTIFIC = re.compile(r"(\d+(?:\.\d+)?)[eE]([+-]?\d{1,3})")
_POWER = re.compile(r"(\d{1,6})\^(-?\d{1,2})")


def exact(digits: str, decimals: int) -> Exact:
    """Return the value of `digits` whose last `decimals` digits stand after the decimal mark."""
    if not decimals:
        return int(digits)
    scale = 10**decimals
    value = int(digits)
    return value // scale if value % scale == 0 else Fraction(value, scale)


@lru_cache(maxsize=16384)
def numeral(text: str) -> Numeral | None:
    """Read digits with grouping and decimal marks; None when `text` is no numeral.

    Longer than 40 digits is an identifier, not a quantity.
    """
    if len(text) > 40:
        return None
    if _PLAIN.fullmatch(text):
        return Numeral(int(text))
    match = _GROUPED.fullmatch(text)
    if match and match[3] != match[2]:
        return _grouped(text, match)
    match = _DECIMAL.fullmatch(text)
    if match:
        return Numeral(exact(match[1] + match[2], len(match[2])), -len(match[2]))
    return _unusual(text)


def _grouped(text: str, match: re.Match[str]) -> Numeral:
    mark, decimals = match[2], match[4] or ""
    whole = exact(re.sub(r"\D", "", text), len(decimals))
    exponent = -len(decimals)
    if decimals or (text.count(mark) > 1 and " " not in mark) or mark == "'":
        return Numeral(whole, exponent)
    if " " in mark:
        # Numbers that happen to stand side by side look the same.
        return Numeral(whole, 0, tuple((int(part), 0) for part in text.split(mark)))
    as_decimal = exact(text.replace(mark, ""), 3)
    if match[1] == "0":
        return Numeral(as_decimal, -3)
    if mark == ".":
        return Numeral(as_decimal, -3, ((whole, 0),))
    return Numeral(whole)


def _unusual(text: str) -> Numeral | None:
    match = _INDIAN.fullmatch(text)
    if match:
        decimals = match[1] or ""
        return Numeral(exact(re.sub(r"\D", "", text), len(decimals)), -len(decimals))
    if _MYRIAD.fullmatch(text):
        return Numeral(int(text.replace(",", "")))
    match = _SCIENTIFIC.fullmatch(text)
    if match:
        return _scientific(match[1], int(match[2]))
    match = _POWER.fullmatch(text)
    if match:
        value = Fraction(int(match[1])) ** int(match[2]) if int(match[1]) else Fraction(0)
        return Numeral(simple(value))
    return None


def _scientific(mantissa: str, power: int) -> Numeral:
    base = numeral(mantissa)
    assert base is not None  # noqa: S101  # the pattern admits nothing else
    return Numeral(scaled(base.value, power), base.exponent + power)


def scaled(value: Exact, power: int) -> Exact:
    """`value * 10 ** power`, exactly."""
    if power >= 0:
        return simple(value * 10**power)
    return simple(Fraction(value) / 10**-power)


def simple(value: Exact) -> Exact:
    """Return an int where the value is whole."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value
