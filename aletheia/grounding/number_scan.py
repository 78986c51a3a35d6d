"""Read the numerals in digits, and tell numbers from dates, versions and identifiers."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from aletheia.grounding.dates import MONTHS, DateMention, year
from aletheia.grounding.lexicon import FUNCTION_WORDS
from aletheia.grounding.number_add import Place, add_plain, add_quantity, lift
from aletheia.grounding.number_dates import DATE_WORDS, YEAR_LEADS, Scan, date_at
from aletheia.grounding.number_marks import (
    DOTTED_PARTS,
    is_list_number,
    mark_before,
    skip,
    spaced_currency,
    version,
)
from aletheia.grounding.number_myriads import SCALE_SIGNS, myriads
from aletheia.grounding.number_words import (
    ORDINAL_ENDS,
    SPEAKING,
    hedge_before,
    is_uncased,
    last_word,
    next_word,
)
from aletheia.grounding.numerals import EXACT, Numeral, numeral, simple
from aletheia.grounding.quantity import Quantity
from aletheia.grounding.units import listed, suffix

_CHUNK = re.compile(r"\d[\d.,:/'^-]*")
_SIMPLE = re.compile(r"(\d++)(?: ([A-Za-z]++)(?![/^\d\u0080-\uffff])|[.,;)](?= [A-Za-z\n]|$))")
# `56, 000` is what a tokenizer leaves of 56,000; `412, 415` are two numbers.
_SPACED_GROUPS = re.compile(
    r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?![\d^/:])|\d{1,3}(?: ?, (?:\d00|0\d\d))+(?![\d^/:]|, \d)"
)
_SCIENCE = re.compile(r"\d+(?:\.\d+)?[eE][+-]?\d{1,3}(?!\w)")
_COMMA_LIST = re.compile(r"\d+(?:\.\d+)?(?:,\d+(?:\.\d+)?)+")
# Three fifths, told from below.
_SHARE = re.compile(r"(\d{1,4})(?:분의|分の|分之) ?(\d{1,4})(?![\d.,]*\d)")
_OF: Final = frozenset({"분의", "分の", "分之"})
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")

_REFERENCES: Final = frozenset(
    listed(
        "section sections table tables figure fig fig. chapter part article art art. appendix "
        "clause version ver ver. release v rule equation step"
    )
)


NOT_BARE: Final = MONTHS.keys() | {"minus", "negative", "rs", "kr", "ad"} | _REFERENCES
"""Words before digits that make more than a bare number of them."""


def digit_starts(text: str) -> list[int]:
    """Positions of all ASCII digits, in order; ten searches are quicker than one pattern."""
    found: list[int] = []
    find, add = text.find, found.append
    for digit in "0123456789":
        position = find(digit)
        while position >= 0:
            add(position)
            position = find(digit, position + 1)
    found.sort()
    return found


def scan_digits(scan: Scan) -> None:
    """Find all numerals in digits, and the dates among them."""
    done = 0
    for position in digit_starts(scan.text):
        if position >= done:
            done = _at_digit(scan, position)


def _at_digit(scan: Scan, position: int) -> int:
    """Read what stands at the digit `position`; returns where to go on."""
    text = scan.text
    char = text[position - 1] if position else " "
    if char == " " and position:
        found = _SIMPLE.match(text, position)
        if found is not None:
            done = _simple_at(scan, position, found)
            if done:
                return done
    chunk = _chunk(text, position)
    end = position + len(chunk)
    start, negative, currency = position, False, None
    if char != " " and char != "(" and char != "\n":
        lead = mark_before(scan, position, end, char)
        if isinstance(lead, int):
            return lead
        start, negative, currency = lead
    if end - start <= 3 and text[end : end + 1] in ".)" and is_list_number(text, start, end):
        return end
    last = last_word(text, start)
    if last and currency is None:
        currency = spaced_currency(last, text, start)
    after = next_word(text, end)
    if currency is None and not negative:
        dated = date_at(scan, start, end, chunk, last, after)
        if dated is not None:
            return dated
    return _number_at(scan, chunk, Place(start, position, end, last, negative, currency, after))


def _simple_at(scan: Scan, position: int, match: re.Match[str]) -> int:
    """Read the common case, digits between two words; return their end, 0 if they are more."""
    text, digits, word = scan.text, match[1], match[2]
    if len(digits) > 15:
        return 0
    before = text[text.rfind(" ", max(0, position - 24), position - 1) + 1 : position - 1]
    if not before.isalpha() or (len(before) < 5 and before.isupper()):
        return 0
    end = match.end(1)
    before = before.lower()
    if before in NOT_BARE or (word is not None and word in DATE_WORDS):
        return 0
    if len(digits) == 4:
        if word in SPEAKING or before not in YEAR_LEADS or not "1000" <= digits <= "2100":
            return 0
        scan.dates.append(DateMention(position, end, digits, year(int(digits))))
    elif word is None or word not in SPEAKING:
        add_plain(scan, position, end, Numeral(int(digits)))
    else:
        place = Place(position, position, end, before)
        return add_quantity(scan, place, Numeral(int(digits)))
    return end


def _chunk(text: str, position: int) -> str:
    """Return the run of digits and separators at `position`, without those at its end."""
    match = _CHUNK.match(text, position)
    assert match is not None  # noqa: S101  # there is a digit at the position
    chunk = match[0]
    size = len(chunk)
    if not chunk[-1].isdigit():
        chunk = chunk.rstrip(".,:/'^-")
    if size <= 4 and text[position + size : position + size + 1] in (" ", ","):
        spaced = _SPACED_GROUPS.match(text, position)
        if spaced:
            return spaced[0]
    return chunk


def _number_at(scan: Scan, chunk: str, place: Place) -> int:
    text, end, after = scan.text, place.end, place.after
    if after is not None and not after.gap and after.word in ("e", "E"):
        match = _SCIENCE.match(text, place.digits)
        if match:
            chunk, end = match[0], match.end()
            place = place._replace(end=end, after=next_word(text, end))
    share = _SHARE.match(text, place.digits) if text[end : end + 2].strip() in _OF else None
    if share is not None and int(share[1]):
        place = place._replace(end=share.end())
        value = simple(Fraction(int(share[2]), int(share[1])))
        return add_quantity(scan, place, Numeral(value, EXACT), kind="fraction")
    if text[end : end + 1] in SCALE_SIGNS:
        several = myriads(text, place.digits)
        if several is not None:
            return add_quantity(scan, place._replace(end=several.end), several.read)
    if place.start < place.digits and text[place.digits - 1] == ".":
        chunk = "0." + chunk
    read = numeral(chunk)
    if read is None:
        return _compound(scan, chunk, place)
    if "." in chunk and _names_version(text, place, chunk):
        scan.quantities.append(version(text, place.start, place.digits, end))
        return end
    if text[end : end + 1] == "_" or (after is not None and not after.gap and _glued(text, place)):
        return skip(text, place.digits)
    return add_quantity(scan, place, read)


def _glued(text: str, place: Place) -> bool:
    """Letters right after the digits that are no unit: `4chan`, `1080p`, `9f3a`."""
    after = place.after
    if after is None or after.gap or not after.word[0].isalpha() or is_uncased(after.word[0]):
        return False
    if after.word in ORDINAL_ENDS or after.word == "x":
        return False
    return suffix(after.word, attached=True) is None or text[after.end : after.end + 1].isdigit()


def _names_version(text: str, place: Place, chunk: str) -> bool:
    """`Python 3.11`, `version 2.0`, `Section 3.1`: digits that name, and are never rounded."""
    last, start = place.last, place.start
    if not last or text[start - 1] != " " or chunk.count(".") != 1 or place.digits != start:
        return False
    if last in _REFERENCES:
        return True
    whole, _, part = chunk.partition(".")
    if len(whole) > 2 or len(part) > 2 or place.after is not None:
        return False
    return (
        len(last) > 2
        and text[start - 1 - len(last)].isupper()
        and last.isalpha()
        and last not in FUNCTION_WORDS
        and hedge_before(text, start) is None
    )


def _compound(scan: Scan, chunk: str, place: Place) -> int:
    """Two numerals with a mark between: a range, a fraction, a ratio; or a list, or neither."""
    for mark in "-/:":
        left, found, right = chunk.partition(mark)
        if found:
            one, other = numeral(left), numeral(right)
            if one is not None and other is not None:
                return _pair(scan, place, mark, one, other)
    if DOTTED_PARTS.fullmatch(chunk):
        scan.quantities.append(version(scan.text, place.start, place.digits, place.end))
        return place.end
    if _COMMA_LIST.fullmatch(chunk):
        for match in _DECIMAL.finditer(chunk):
            read = numeral(match[0])
            if read is not None:
                start = place.digits + match.start()
                end = place.digits + match.end()
                add_quantity(scan, Place(start, start, end, currency=place.currency), read)
    return max(place.end, skip(scan.text, place.digits))


def _pair(scan: Scan, place: Place, mark: str, one: Numeral, other: Numeral) -> int:
    text = scan.text
    start, end = place.start, place.end
    whole = isinstance(one.value, int) and isinstance(other.value, int)
    if mark == "/" and whole and 0 < one.value < other.value <= 100:
        share = Numeral(Fraction(one.value) / other.value, EXACT)
        return add_quantity(scan, place, share, kind="fraction")
    if mark == "-" and one.value < other.value:
        stop = add_quantity(scan, place, other)
        upper = scan.quantities[-1]
        scan.quantities[-1] = upper._replace(
            value=lift(one, upper), high=upper.value, exponent=min(one.exponent, upper.exponent)
        )
        return stop
    scan.quantities.append(Quantity(start, end, text, "ratio", one.value, 0, high=other.value))
    return end
