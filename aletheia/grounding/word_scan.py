"""Read number words, and the months, weekdays and times that stand without a digit."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from aletheia.grounding import dates as d
from aletheia.grounding.dates import When
from aletheia.grounding.han_scan import HAN, scan_han
from aletheia.grounding.lexicon import FUNCTION_WORDS, OTHER_FUNCTION_WORDS
from aletheia.grounding.number_add import Place, add_plain, add_quantity
from aletheia.grounding.number_dates import Scan, Taken
from aletheia.grounding.number_words import PLAIN_NEXT, SPEAKING
from aletheia.grounding.numerals import EXACT, Numeral, simple
from aletheia.grounding.quantity import Quantity
from aletheia.grounding.units import Exact, listed
from aletheia.grounding.word_numerals import (
    DENOMINATORS,
    HOMOGRAPHS,
    LINKS,
    ORDINALS,
    WORDS,
    read_words,
)

_ENGLISH_MONTHS: Final = frozenset(
    listed("january february march april may june july august september october november december")
)
_VOCABULARY: Final = frozenset(
    {*WORDS, *ORDINALS, *DENOMINATORS, *d.DECADE_WORDS, *d.CLOCK_WORDS, *d.WEEKDAYS}
    | _ENGLISH_MONTHS
)
_SINGLE: Final[dict[str, Numeral]] = {word: Numeral(*read_words([word])[0][2:]) for word in WORDS}
_BYTES: Final[dict[bytes, str]] = {
    word.encode("latin-1"): word for word in _VOCABULARY if max(word) < "\u0100"
}
_LISTED: Final = frozenset(_BYTES)
_FOREIGN: Final = {word for word, entry in WORDS.items() if "en" not in entry.languages}
# Lower-case letters for letters and blanks for the rest, byte by byte in Latin-1, in which all
# the number words are written; other letters become blanks.
_SPACED: Final = bytes(
    ord(chr(byte).lower()) if chr(byte).isalnum() and ord(chr(byte).lower()) < 256 else 32
    for byte in range(256)
)
_PERIOD_NAME = re.compile(
    r"[ -](quarter|half)(?: of)?(?: (?:fiscal )?(?:year )?(\d{4}))?(?!\w)", re.IGNORECASE
)
_CENTURY = re.compile(r"[ -]century\b", re.IGNORECASE)
_HALF_OF: Final = (" a ", " of ", " the ", " million", " billion", " an ", " its ", " their ")
_VERBS: Final = frozenset({"may", "march"})
_DATE_LEADS: Final = frozenset(
    listed(
        "in on by since until till from to through of last next this early late mid during every "
        "each between and before after"
    )
)


def scan_words(scan: Scan) -> None:
    """Find number words and named dates, leaving out what the digits already took."""
    text = scan.text
    spaced = b" " + text.encode("latin-1", "replace").translate(_SPACED) + b" "
    tokens = spaced.split()
    found = _LISTED.intersection(tokens)
    if found:
        words = _in_language({_BYTES[word] for word in found}, tokens)
        hits = _hits(spaced, words)
        if hits:
            _scan_hits(scan, hits, spaced[1:].decode("latin-1"))
    if not text.isascii() and HAN.search(text):
        scan_han(scan)


def _scan_hits(scan: Scan, hits: list[Hit], spaced: str) -> None:
    taken = Taken(scan)
    scan.reached = position = 0
    while position < len(hits):
        position = _phrase(scan, spaced, hits, position, taken)


def _in_language(found: set[str], tokens: list[bytes]) -> set[str]:
    """Leave out the number words of languages that the text is not written in."""
    foreign = found & _FOREIGN
    if not foreign:
        return found
    if foreign <= HOMOGRAPHS and b"the" in tokens:
        return found - foreign
    language = _language(tokens)
    if language is None:
        certain = {name for word in foreign - HOMOGRAPHS for name in WORDS[word].languages}
        doubtful = foreign & HOMOGRAPHS
        return found - {word for word in doubtful if not WORDS[word].languages & certain}
    return {word for word in found if word not in WORDS or language in WORDS[word].languages}


def _language(tokens: list[bytes]) -> str | None:
    words = {token.decode("latin-1") for token in tokens}
    counts = {name: len(listed & words) for name, listed in OTHER_FUNCTION_WORDS.items()}
    counts["en"] = len(FUNCTION_WORDS & words)
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] and list(counts.values()).count(counts[best]) == 1 else None


Hit = tuple[int, int, str]


def _hits(spaced: bytes, words: set[str]) -> list[Hit]:
    """Every place where one of `words` stands alone, in order."""
    hits: list[Hit] = []
    for word in words:
        needle = b" " + word.encode("latin-1") + b" "
        length = len(word)
        at = spaced.find(needle)
        while at >= 0:
            hits.append((at, at + length, word))
            at = spaced.find(needle, at + length)
    hits.sort()
    return hits


def _phrase(scan: Scan, lower: str, hits: list[Hit], index: int, taken: Taken) -> int:
    """Read the phrase that begins with hit `index`; returns the index of the next one."""
    start, end, word = hits[index]
    if start < scan.reached or start in taken:
        return index + 1
    single = _SINGLE.get(word)
    if single is not None:
        if index + 1 < len(hits) and hits[index + 1][0] - end <= 5:
            return _numerals(scan, lower, hits, index)
        _number(scan, lower, (start, end), single, word)
    elif word in ORDINALS or word in DENOMINATORS:
        _ordinal_or_share(scan, lower, (start, end), None, word)
    else:
        _named_date(scan, lower, start, end, word)
    return index + 1


def _numerals(scan: Scan, lower: str, hits: list[Hit], index: int) -> int:
    """Read a run of number words, such as `two hundred and forty`, and the share it may begin."""
    words, places, index = _run(scan.text, hits, index)
    items = read_words(words)
    for number, (first, stop, value, exponent) in enumerate(items):
        span = places[first][0], places[stop - 1][1]
        if number == len(items) - 1 and index < len(hits):
            _, end, follower = hits[index]
            gap = scan.text[span[1] : hits[index][0]]
            ranked = gap in (" ", "-") and (follower in DENOMINATORS or follower in ORDINALS)
            if ranked and _ordinal_or_share(scan, lower, (span[0], end), value, follower):
                index += 1
                continue
        _number(scan, lower, span, Numeral(value, exponent), words[first])
    return index


def _run(lower: str, hits: list[Hit], index: int) -> tuple[list[str], list[tuple[int, int]], int]:
    """Read number words that belong together, their places, and the index of the hit after them."""
    start, end, word = hits[index]
    words, places = [word], [(start, end)]
    index += 1
    while index < len(hits) and hits[index][2] in WORDS:
        start, stop, word = hits[index]
        gap = lower[end:start]
        link = gap.strip(" -")
        if gap not in (" ", "-", " - ") and not (link in LINKS and gap == f" {link} "):
            break
        if link:
            words.append(link)
            places.append((end, start))
        words.append(word)
        places.append((start, stop))
        end = stop
        index += 1
    return words, places, index


def _number(scan: Scan, lower: str, span: tuple[int, int], read: Numeral, word: str) -> None:
    start, end = span
    if lower.startswith(" and ", end):
        half = _and_a_half(lower, end)
        if half:
            read, end = Numeral(Fraction(2 * read.value + 1, 2), EXACT), half
    text = scan.text
    soft = word == "one" and read.value == 1
    after = PLAIN_NEXT.match(text, end)
    if after is not None and after[2] not in SPEAKING:
        add_plain(scan, start, end, read, is_word=True, soft=soft)
    else:
        add_quantity(scan, Place(start, start, end), read, is_word=True, soft=soft)


def _and_a_half(lower: str, end: int) -> int:
    if lower[end + 1 : end + 4] != "and":
        return 0
    for tail in (" and a half", " and one half", "-and-a-half"):
        if lower.startswith(tail, end):
            return end + len(tail)
    return 0


def _ordinal_or_share(
    scan: Scan, lower: str, span: tuple[int, int], count: int | None, word: str
) -> bool:
    """Read a fraction (`two-thirds`), a period (`first quarter of 2020`) or an ordinal."""
    start, end = span
    share = _share(lower, span, count, word)
    if share is not None:
        stop = end + _article(lower, end) if word == "half" else end
        place = Place(start, start, stop)
        add_quantity(scan, place, Numeral(share, EXACT), is_word=True, kind="fraction")
        return True
    rank = _rank(count, word)
    if rank is None:
        return False
    if _CENTURY.match(lower, end):
        match = _CENTURY.match(lower, end)
        scan.date(start, match.end() if match else end, d.century(rank))
        return True
    period = _PERIOD_NAME.match(lower, end)
    if period and rank <= (4 if period[1] == "quarter" else 2):
        size: d.Precision = "quarter" if period[1] == "quarter" else "half"
        months = 3 if size == "quarter" else 6
        in_year = int(period[2]) if period[2] else None
        when = d.months(size, (rank - 1) * months + 1, rank * months, in_year)
        scan.date(start, period.end(), when, soft=in_year is None)
        return True
    scan.quantities.append(
        Quantity(start, end, scan.text, "ordinal", rank, is_word=True, soft=rank <= 2)
    )
    return True


def _article(lower: str, end: int) -> int:
    """Length of ` a` in `half a million`."""
    if lower.startswith(" a ", end):
        return 2
    return 3 if lower.startswith(" an ", end) else 0


def _rank(count: int | None, word: str) -> int | None:
    rank = ORDINALS.get(word)
    if rank is None or count is None:
        return rank
    if count >= 20 and count % 10 == 0 and rank < 10:
        return count + rank
    return None


def _share(lower: str, span: tuple[int, int], count: int | None, word: str) -> Exact | None:
    """Read the fraction that the words mean, or None when they mean an ordinal or nothing."""
    denominator = DENOMINATORS.get(word)
    if denominator is None:
        return None
    if count is not None:
        plural = word.endswith("s") or word == "halves"
        if count == 1 or plural:
            return simple(Fraction(count, denominator))
        return None
    before = lower[max(0, span[0] - 10) : span[0]].split()
    if word == "half":
        meant = lower.startswith(_HALF_OF, span[1])
        return Fraction(1, 2) if meant and before[-1:] not in (["first"], ["second"]) else None
    meant = before[-1:] in (["a"], ["one"]) and lower.startswith(" of", span[1])
    return Fraction(1, denominator) if meant else None


def _named_date(scan: Scan, lower: str, start: int, end: int, word: str) -> None:
    """Read a month, weekday, decade or time without a digit; months and weekdays need a capital."""
    if word in d.DECADE_WORDS:
        if lower[max(0, start - 4) : start].endswith("the "):
            scan.date(start, end, d.years("decade", *_ten(d.DECADE_WORDS[word])))
        return
    if word in d.CLOCK_WORDS:
        minute = d.CLOCK_WORDS[word]
        scan.date(start, end, When("time", ((minute, minute),), has_year=False))
        return
    lead = lower[max(0, start - 12) : start].split()
    soft = not lead or lead[-1] not in _DATE_LEADS
    if not scan.text[start].isupper() and word in _ENGLISH_MONTHS and (soft or word in _VERBS):
        return
    if word in _ENGLISH_MONTHS:
        scan.date(start, end, d.month(d.MONTHS[word]), soft=soft)
    elif word in d.WEEKDAYS:
        scan.date(start, end, d.weekday(d.WEEKDAYS[word]), soft=soft)


def _ten(first: int) -> tuple[int, int]:
    return first, first + 9
