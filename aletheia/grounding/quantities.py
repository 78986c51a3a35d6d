"""Quantities and dates: what a text states in numbers, and whether the evidence states it too.

Digits are found first, then the few number words, months and weekdays that the text holds. Digits
inside links, mail addresses, code, hashes, identifiers (`A-30`, `COVID-19`, `H2O`), markers
(`[E1]`) and list numbers are masked: they are no quantities. Every function takes folded text, and
offsets are into it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from operator import itemgetter

from aletheia.grounding import dates as d
from aletheia.grounding.date_match import DateMatch, match_date
from aletheia.grounding.dates import DateMention
from aletheia.grounding.number_dates import Scan
from aletheia.grounding.number_scan import scan_digits
from aletheia.grounding.number_spelled import scan_spelled
from aletheia.grounding.number_words import Approx
from aletheia.grounding.quantity import Outcome, Quantity, QuantityMatch
from aletheia.grounding.quantity_match import match_quantity
from aletheia.grounding.word_scan import scan_words

__all__ = [
    "Approx",
    "DateMatch",
    "DateMention",
    "NumericMentions",
    "Outcome",
    "Quantity",
    "QuantityMatch",
    "check_date",
    "check_quantity",
    "dates",
    "match_date",
    "match_quantity",
    "numeric_mentions",
    "quantities",
]

_MASKED = re.compile(
    # Short, and not the old typewriter quotation (`like this').
    r"(?<![\w`])`(?! )[^`\n']{1,60}(?<! )`(?!\w)"
    r"|\b(?:https?|ftp)://[^\s<>\"']+"
    r"|\bwww\.[^\s<>\"']+"
    r"|(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]+"
    r"|\b(?:doi:\s?)?10\.\d{4,9}/[^\s<>\"']+"
    r"|(?<![\w-])[\w-]++\.(?:com|org|net|io|gov|edu)/[^\s<>\"']*"
)
_LINK_SIGNS = ("://", "10.", ".com/", ".org/", ".net/", ".io/", ".gov/", ".edu/")
_start = itemgetter(0)
_DIGIT_TO_SPACE = str.maketrans("0123456789", "          ")


@dataclass(frozen=True, slots=True)
class NumericMentions:
    """All quantities and dates of one text, each sorted by start."""

    quantities: tuple[Quantity, ...] = ()
    dates: tuple[DateMention, ...] = ()


def numeric_mentions(text: str) -> NumericMentions:
    """Find the quantities and dates of folded `text` in one pass."""
    scan = Scan(_unmasked(text))
    scan_digits(scan)
    scan_words(scan)
    scan_spelled(scan)
    scan.quantities.sort(key=_start)
    scan.dates.sort(key=_start)
    return NumericMentions(tuple(scan.quantities), tuple(scan.dates))


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of folded `text`, in order."""
    return list(numeric_mentions(text).quantities)


def dates(text: str) -> list[DateMention]:
    """Return the dates of folded `text`, in order."""
    return list(numeric_mentions(text).dates)


def _unmasked(text: str) -> str:
    """`text` with blanks for the digits of links, mail addresses and code; same length."""
    slashed = "/" in text and any(sign in text for sign in _LINK_SIGNS)
    if not (slashed or "@" in text or "`" in text or "www." in text):
        return text
    return _MASKED.sub(lambda match: match[0].translate(_DIGIT_TO_SPACE), text)


def check_quantity(claimed: Quantity, evidence: NumericMentions) -> QuantityMatch:
    """`match_quantity` over everything numeric in the evidence.

    Four digits may be a count in one text and a year in the other: a bare number that no quantity
    carries may be carried by a year.
    """
    found = match_quantity(claimed, evidence.quantities)
    if found.supported or claimed.kind != "number" or not _year_like(claimed):
        return found
    as_year = d.year(int(claimed.value))
    if any(mention.when == as_year for mention in evidence.dates):
        return QuantityMatch("exact", None)
    return found


def _year_like(claimed: Quantity) -> bool:
    return isinstance(claimed.value, int) and 1000 <= claimed.value <= 2100 and claimed.high is None


def check_date(claimed: DateMention, evidence: NumericMentions) -> DateMatch:
    """`match_date` over everything numeric in the evidence; a year may stand there as a number."""
    found = match_date(claimed, evidence.dates)
    if found.supported or claimed.precision != "year":
        return found
    value = claimed.readings[0][0] // 10_000
    for other in evidence.quantities:
        if other.value == value and other.kind == "number":
            return DateMatch("exact", None)
    return found
