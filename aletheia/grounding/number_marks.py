"""What the character before a digit makes of it: a sign, a currency, an identifier, a marker."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from aletheia.grounding.number_dates import Scan, dotted_month, period_at
from aletheia.grounding.number_words import is_uncased
from aletheia.grounding.numerals import numeral, simple
from aletheia.grounding.quantity import Quantity
from aletheia.grounding.units import currency_of

_TOKEN = re.compile(r"[\w.,'^/:-]*\w")
DOTTED_PARTS = re.compile(r"\d{1,4}(?:\.\d{1,4}){0,4}")
_MARKER = re.compile(r"\[\s?\^?\d{1,3}(?:\s?[,;-]\s?\d{1,3})*\s?\]")
_LIST_NUMBER = re.compile(r"[.)](?= |\t|\*)")
_HEBREW_LEAD = re.compile("[בהוכלמש]{1,3}")
_PREFIXES: Final = frozenset({"mid", "pre", "post", "non", "sub", "early", "late"})
CURRENCY_SIGNS: Final = frozenset("$€£¥₹₽₩₺₪₦฿₿₴₫")


def mark_before(
    scan: Scan, position: int, end: int, char: str
) -> int | tuple[int, bool, str | None]:
    """Tell what the character before a digit means; an int is where to go on after a mask."""
    text = scan.text
    if char.isalpha():
        return _letter_before(scan, position, end)
    mark = _mark_before(text, position, char)
    return skip(text, position) if mark is None else mark


def _letter_before(scan: Scan, position: int, end: int) -> int | tuple[int, bool, str | None]:
    """Tell what a letter right before a digit means: a currency, a period, or an identifier."""
    text = scan.text
    if is_uncased(text[position - 1]):
        return position, False, None
    begin = position - 1
    while begin and text[begin - 1].isalpha() and position - begin < 8:
        begin -= 1
    word = text[begin:position]
    if word in ("T", "x") and begin and text[begin - 1].isdigit():
        return position, False, None
    code = currency_of(word)
    if code is not None and (word.isupper() or word in ("Rs", "kr", "Kč")):
        return begin, False, code
    if word in ("Q", "H", "FY"):
        period = period_at(scan, begin)
        if period is not None:
            return period
    if word in ("v", "V") and DOTTED_PARTS.fullmatch(text, position, end):
        scan.quantities.append(version(text, begin, position, end))
        return end
    return skip(text, position)


def _mark_before(text: str, position: int, char: str) -> tuple[int, bool, str | None] | None:
    """Start, sign and currency for a numeral with punctuation before it; None when masked."""
    before = text[position - 2] if position > 1 else " "
    if char in CURRENCY_SIGNS:
        return _currency_start(text, position - 1)
    if char == "-":
        if before.isalnum() or before in ")_.":
            return _after_hyphen(text, position)
        if before in CURRENCY_SIGNS:
            begin, _, code = _currency_start(text, position - 2)
            return begin, True, code
        return (position - 1, True, None) if before not in "-~" else (position, False, None)
    if char == "." and not before.isalnum():
        return position - 1, False, None
    if char in "#_@&\\^" or (char == "/" and before.isalnum()):
        return None
    if char in ".:" and before.isdigit():
        return None
    if char == "[" and _MARKER.match(text, position - 1):
        return None
    return position, False, None


def _after_hyphen(text: str, position: int) -> tuple[int, bool, None] | None:
    """`mid-1990` and `10-15` are numbers, `A-30` and `COVID-19` are identifiers."""
    begin = position - 1
    while begin and (text[begin - 1].isalnum() or text[begin - 1] == "_"):
        begin -= 1
    word = text[begin : position - 1]
    if _HEBREW_LEAD.fullmatch(word):
        return position, False, None
    plain = word.isalpha() and len(word) > 1 and (word.islower() or word.lower() in _PREFIXES)
    return (position, False, None) if plain or word.isdigit() else None


def _currency_start(text: str, sign: int) -> tuple[int, bool, str | None]:
    """`$` may have a country before it (`US$`, `C$`) and a minus sign."""
    begin = sign
    while begin and text[begin - 1].isalpha() and sign - begin < 3 and text[begin - 1].isascii():
        begin -= 1
    code = currency_of(text[begin : sign + 1]) if begin < sign else None
    if code is None:
        begin, code = sign, currency_of(text[sign])
    negative = begin > 0 and text[begin - 1] == "-" and (begin == 1 or text[begin - 2] in " (\n")
    return begin - negative, negative, code


def spaced_currency(word: str, text: str, start: int) -> str | None:
    """Read a sign or code with a space after it: `$ 5`, `USD 5`, `Rs. 5`."""
    if word[-1] in CURRENCY_SIGNS or word in ("rs.", "rs", "kr"):
        return currency_of(word.lstrip("("))
    if len(word) < 5 and text[start - 2].isupper():
        written = text[start - len(word) - 1 : start - 1]
        return currency_of(word.lstrip("(")) if written.isupper() else None
    return None


def is_list_number(text: str, start: int, end: int) -> bool:
    """`1. ` or `2) ` at the start of a line."""
    if not _LIST_NUMBER.match(text, end) or dotted_month(text, end):
        return False
    line = text.rfind("\n", 0, start) + 1
    return not text[line:start].strip(" \t(*#>-")


def version(text: str, start: int, position: int, end: int) -> Quantity:
    """Parts of a version become places of 10,000, so that 3.1 and 3.10 stay apart."""
    parts = text[position:end].split(".")
    value = sum(Fraction(int(part), 10_000**i) for i, part in enumerate(parts))
    as_decimal = numeral(text[position:end]) if len(parts) == 2 else None
    others = ((as_decimal.value, as_decimal.exponent),) if as_decimal else ()
    return Quantity(start, end, text, "version", simple(value), -len(parts), others)


def skip(text: str, position: int) -> int:
    """Return the end of the token at `position`, which is an identifier and no quantity."""
    match = _TOKEN.match(text, position)
    return match.end() if match else position + 1
