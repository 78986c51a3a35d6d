"""Numerals of digits with Chinese, Japanese or Korean scales between them: 3億5千万, 2천5백만."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from aletheia.grounding.number_names import GROUP_SCALES, SMALL_SCALES
from aletheia.grounding.numerals import Numeral, numeral
from aletheia.grounding.units import Exact

_SMALL: Final = "".join(SMALL_SCALES)
_GROUP: Final = "".join(GROUP_SCALES)
SCALE_SIGNS: Final = frozenset(_SMALL + _GROUP)
"""Characters that make a scale of what stands before them."""
# A space stands between the groups in Korean only; a year is no part of an amount.
_TERM: Final = re.compile(
    r"((?<=[만억조천백]) )?(\d+(?:,\d{3})*(?:\.\d+)?)"
    rf"(?:([{_SMALL}])([{_GROUP}])?|()([{_GROUP}])|(?![\d.,]*\d|\s?[년年](?!간|間)))"
)
_LEAST_REST: Final = 2
"""Digits that must stand behind the last scale: 1万5 is 15,000 to one reader, 10,005 to another."""
_OPEN: Final = 99


class Myriads(NamedTuple):
    """A numeral of several terms and where it ends."""

    read: Numeral
    end: int


class _Sum:
    """What has been read: closed groups in `total`, the group still open in `section`."""

    __slots__ = ("exponent", "group", "section", "small", "terms", "total")

    def __init__(self) -> None:
        self.total: Exact = 0
        self.section: Exact = 0
        self.group = self.small = _OPEN
        self.exponent = self.terms = 0

    def add(self, read: Numeral, small: int, group: int) -> bool:
        """Add a term with the powers of its scales; False where it does not continue the rest."""
        section = self.section + read.value * 10**small
        within = read.value * 10**small < 10**self.small and section * 10**group < 10**self.group
        if not within or not isinstance(self.total + self.section, int):
            return False
        self.section, self.small, self.exponent = section, small, read.exponent + small
        if group:
            self.total, self.section = self.total + section * 10**group, 0
            self.group, self.small = group, _OPEN
            self.exponent += group
        self.terms += 1
        return True


def myriads(text: str, position: int) -> Myriads | None:
    """Read the numeral at `position`; None where it has fewer than two terms."""
    found, end = _Sum(), position
    while (match := _TERM.match(text, end)) is not None:
        gap, digits, small, group = match[1], match[2], match[3] or "", match[4] or match[6] or ""
        rest = not small and not group
        read = numeral(digits)
        if read is None or (rest and len(digits) < _LEAST_REST + (gap is not None)):
            break
        if not found.add(read, SMALL_SCALES.get(small, 0), GROUP_SCALES.get(group, 0)):
            break
        end = match.end()
        if rest:
            break
    if found.terms < 2:  # one term is a numeral with a scale word behind it
        return None
    value = found.total + found.section
    return Myriads(Numeral(value, found.exponent), end)
