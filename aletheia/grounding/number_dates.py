"""Recognise the dates and times that begin with digits or follow a month's name."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from aletheia.grounding import dates as d
from aletheia.grounding.dates import DateMention, When
from aletheia.grounding.number_words import NextWord, named
from aletheia.grounding.quantity import Quantity
from aletheia.grounding.units import listed

RANGE_GAPS: Final = frozenset(
    {"-", " - ", "- ", " to ", " bis ", " à ", " a ", " tot ", "~", " ~ ", " through ", "-to-"}
    | {"至", "到", "〜", " 〜 ", "から", "에서 ", "ถึง", " ถึง ", " से ", " до ", " إلى ", " עד "}
)
AND_GAPS: Final = frozenset({" and ", " und ", " et ", " y ", " e ", " en "})
_DAY_GAPS: Final = RANGE_GAPS | AND_GAPS

_DECADE = re.compile(r"'?s(?![a-z])")
_PERIOD = re.compile(r"(Q[1-4]|H[12]|FY)(?:[ '-]?(?:of )?(\d{4}|\d{2})(?!\d|[.,]\d))?(?!\w)")
_DOTTED_MONTH = re.compile(r"\.\s?([^\W\d_]+)(\s\d{4})?")
_OF_MONTH = re.compile(r"(?:st|nd|rd|th)?(?: day)?(?: (?:of|de|di|do))? ([^\W\d_]+)")
_BEFORE_MONTH: Final = frozenset(
    {"st", "nd", "rd", "th", "of", "de", "di", "do", "day", "to", "and"}
)
_CLOCK_WORDS: Final = frozenset(listed("a p am pm o uhr h hrs st nd rd th e ème"))
_ERAS: Final = frozenset(listed("BC BCE AD CE B A v"))
YEAR_LEADS: Final = frozenset(
    listed(
        "in since by of from until till during after before year years circa early late mid spring "
        "summer autumn fall winter through and to vs around about c. ca. "
        "im seit bis vor nach jahr en depuis avant après desde antes hasta dal nel em sinds"
    )
)
_NOT_COUNTED: Final = frozenset(
    listed(
        "elections olympics games series sales results season's finals championships awards this "
        "has was does titles statistics figures census news"
    )
)


_KOREAN_HOURS = re.compile(r"\d+ ?시간")
_CJK_QUARTER = re.compile(r"([1-4])\s?(?:분기|四半期|季度)")
_YEAR_WORDS: Final = frozenset(listed("год года году годом годах гг року рік році"))
_YEAR_PREPOSITIONS: Final = frozenset(listed("в с до от к после на по"))


DATE_WORDS: Final = frozenset(
    {*d.MONTHS, *map(str.capitalize, d.MONTHS), *map(str.upper, d.MONTHS)} | _BEFORE_MONTH
    | _CLOCK_WORDS | {word.upper() for word in _CLOCK_WORDS} | _ERAS | {"s", "am", "pm", "AM", "PM"}
)  # fmt: skip
"""Words behind digits that may make them a date."""


class Scan:
    """What has been found in `text` so far."""

    __slots__ = ("dates", "quantities", "reached", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.quantities: list[Quantity] = []
        self.dates: list[DateMention] = []
        self.reached = 0
        """End of the latest quantity."""

    def date(self, start: int, end: int, when: When, *, soft: bool = False) -> int:
        """Record a date and return where it ends."""
        self.dates.append(DateMention(start, end, self.text[start:end], when, soft))
        return end


class Taken:
    """Spans that digits already account for."""

    __slots__ = ("ends", "starts")

    def __init__(self, scan: Scan) -> None:
        spans = [(mention.start, mention.end) for mention in scan.quantities]
        spans += [(mention.start, mention.end) for mention in scan.dates]
        spans.sort()
        self.starts = [start for start, _ in spans]
        self.ends = [end for _, end in spans]

    def __contains__(self, position: int) -> bool:
        index = bisect_right(self.starts, position) - 1
        return index >= 0 and position < self.ends[index]


def period_at(scan: Scan, begin: int) -> int | None:
    """Record `Q3 2020`, `H1`, `FY2019`; None when there is no such thing at `begin`."""
    match = _PERIOD.match(scan.text, begin)
    if match is None:
        return None
    name, digits = match[1], match[2]
    in_year = None if digits is None else int(digits) + (2000 if len(digits) == 2 else 0)
    start, end = match.span()
    if name == "FY":
        return scan.date(start, end, d.year(in_year)) if in_year is not None else end
    number = int(name[1])
    size = 3 if name[0] == "Q" else 6
    kind: d.Precision = "quarter" if size == 3 else "half"
    when = d.months(kind, (number - 1) * size + 1, number * size, in_year)
    return scan.date(start, end, when)


def date_at(
    scan: Scan, start: int, end: int, chunk: str, last: str, after: NextWord | None
) -> int | None:
    """Record the date that begins here or whose month stands before; None when there is none."""
    size = len(chunk)
    if last and size < 6:
        before = last.strip(".,('\"")
        if before in d.MONTHS:
            dated = _after_month(scan, start, chunk, before)
            if dated is not None:
                return dated
    if not chunk.isdigit():
        shape = d.date_shape(chunk)
        if shape:
            return _shaped(scan, start, end, shape)
    if size <= 5 and _may_precede_month(scan.text, end, after):
        dated = _before_month(scan, start, end)
        if dated is not None:
            return dated
    if size <= 4 and chunk.isdigit():
        return _calendar(scan, start, end, chunk, last, after)
    return None


def _may_precede_month(text: str, end: int, after: NextWord | None) -> bool:
    if after is None:
        return text[end : end + 1] == "."
    return after.word in DATE_WORDS


def _shaped(scan: Scan, start: int, end: int, shape: tuple[d.Piece, ...]) -> int:
    after = d.CLOCK.match(scan.text, end) if shape[-1][2].precision == "time" else None
    for begin, stop, when in shape:
        meant = when
        if after and after["half"]:
            hour, minute = divmod(min(reading[0] for reading in when.readings), 60)
            meant = d.clock(hour, minute, after["half"]) or when
        scan.date(start + begin, start + stop, meant)
    return after.end() if after else end


def _after_month(scan: Scan, start: int, chunk: str, name: str) -> int | None:
    """`May 12, 2019`, `May 2019`, `May 12-15`."""
    text = scan.text
    number = d.MONTHS[name]
    begin = start - 1
    while begin and text[begin - 1] != " " and text[begin : begin + len(name)].lower() != name:
        begin -= 1
    if not text[begin].isupper() and name in ("may", "march", "mar", "mars"):
        return None
    if chunk.isdigit() and len(chunk) == 4:
        return scan.date(begin, start + 4, d.month(number, int(chunk)))
    match = d.MONTH_DAY.match(text, start)
    if match is None:
        return None
    in_year = int(match[3]) if match[3] else None
    return _days(scan, (begin, match.end()), (match[1], match[2]), number, in_year)


def _days(
    scan: Scan, span: tuple[int, int], digits: tuple[str, str | None], month: int, year: int | None
) -> int | None:
    """One day, or the first and last of a few."""
    found = [d.day(int(part), month, year) for part in digits if part]
    if None in found:
        return None
    for when in found:
        if when is not None:
            scan.date(*span, when)
    return span[1]


def _before_month(scan: Scan, start: int, end: int) -> int | None:
    """`12 May 2019`, `12th of May`, `5-7 June`, `12. Mai`."""
    text = scan.text
    if not _month_follows(text, end):
        return None
    match = d.DAY_MONTH.match(text, start)
    if match is None:
        return None
    begin, digits = start, (match[1], match[2])
    previous = scan.quantities[-1] if scan.quantities else None
    if previous and not match[2] and _is_day(previous, text[previous.end : start]):
        begin, digits = previous.start, (str(previous.value), match[1])
        scan.quantities.pop()
    in_year = int(match[4]) if match[4] else None
    return _days(scan, (begin, match.end()), digits, d.MONTHS[match[3].lower()], in_year)


def _is_day(previous: Quantity, gap: str) -> bool:
    """Whether the number before is the first day of a few (`5 to 7 June`)."""
    plain = previous.kind == "number" and isinstance(previous.value, int)
    return plain and 0 < previous.value <= 31 and gap in _DAY_GAPS


def dotted_month(text: str, end: int) -> bool:
    """Whether a full stop and a month follow: `12. Mai`, or `12. May 2019`.

    Elsewhere a month after a full stop begins a sentence.
    """
    match = _DOTTED_MONTH.match(text, end)
    if not match or match[1].lower() not in d.MONTHS:
        return False
    return bool(match[2]) or match[1].lower().endswith(("ar", "ai", "uni", "uli", "er", "rz"))


def _month_follows(text: str, end: int) -> bool:
    follows = text[end : end + 1]
    if follows == ".":
        return dotted_month(text, end)
    of_month = _OF_MONTH.match(text, end) if follows != "-" else None
    name = of_month[1] if of_month else text[end + 1 : end + 4]
    if name in ("to", "and"):
        return True
    return name.lower() in d.MONTHS and name not in ("may", "march")


def _calendar(
    scan: Scan, start: int, end: int, chunk: str, last: str, after: NextWord | None
) -> int | None:
    """Read a year, decade, century, or a time with `p.m.` after it."""
    text = scan.text
    if last in ("ad", "a.d."):
        return scan.date(start, end, d.year(int(chunk)))
    if after is not None:
        dated = _marked(scan, start, end, (chunk, last), after)
        if dated is not None:
            return dated
    if text.startswith("'s", end) and chunk[-1] == "0" and len(chunk) in (2, 4):
        return scan.date(start, end + 2, _decade(int(chunk)))
    if len(chunk) == 4 and _is_year(text, int(chunk), last, after):
        return scan.date(start, end, d.year(int(chunk)))
    return None


def _marked(
    scan: Scan, start: int, end: int, words: tuple[str, str], after: NextWord
) -> int | None:
    """Digits that the word after them makes a date: `1990s`, `44 BC`, `5 p.m.`, `21st century`."""
    (chunk, last), text, word = words, scan.text, after.word
    if word == "s" and not after.gap and chunk[-1] == "0" and len(chunk) in (2, 4):
        return scan.date(start, after.end, _decade(int(chunk)))
    if word in _ERAS:
        era = d.ERA.match(text, end)
        if era:
            value = -int(chunk) if era["before"] else int(chunk)
            return scan.date(start, era.end(), d.year(value))
    if len(chunk) <= 2 and word.lower() in _CLOCK_WORDS:
        return _clock_or_century(scan, start, end, chunk)
    if len(chunk) == 4 and _names_year(text, chunk, after, last):
        return scan.date(start, end, d.year(int(chunk)))
    if ord(word[0]) > 0x2E7F:
        return _cjk_date(scan, start)
    return None


def _names_year(text: str, chunk: str, after: NextWord, last: str) -> bool:
    """`2021 года`, `2021 г.`, `в 2021 г`; elsewhere `г` is a gram."""
    if not "1000" <= chunk <= "2100":
        return False
    word = after.word.lower()
    return word in _YEAR_WORDS or (
        word == "г" and (text.startswith(".", after.end) or last.lstrip("(") in _YEAR_PREPOSITIONS)
    )


def _decade(value: int) -> When:
    first = value if value > 99 else 1900 + value
    return d.years("decade", first, first + (99 if first % 100 == 0 else 9))


def _clock_or_century(scan: Scan, start: int, end: int, chunk: str) -> int | None:
    text = scan.text
    match = d.CLOCK.match(text, end)
    if match:
        minutes = int(match["minutes"] or 0)
        hours = match.group().strip().lower()
        if match["half"] or match["minutes"] or not hours.startswith("h"):
            when = d.clock(int(chunk), minutes, match["half"])
            return scan.date(start, match.end(), when) if when else None
    match = d.CENTURY.match(text, end)
    if match:
        return scan.date(start, match.end(), d.century(int(chunk)))
    return None


def _cjk_date(scan: Scan, start: int) -> int | None:
    text = scan.text
    match = d.CJK_DECADE.match(text, start)
    if match:
        when = _decade(int(match[1])) if match[1] else d.century(int(match[2]))
        return scan.date(start, match.end(), when)
    match = d.CJK_DATE.match(text, start)
    if match and len(match[1]) == 4:
        return scan.date(start, match.end(), _cjk_day(*match.groups()))
    match = d.CJK_MONTH_DAY.match(text, start)
    if match and 1 <= int(match[1]) <= 12:
        found = d.day(int(match[2]), int(match[1])) if match[2] else d.month(int(match[1]))
        return scan.date(start, match.end(), found) if found else None
    match = _CJK_QUARTER.match(text, start)
    if match:
        first = int(match[1]) * 3 - 2
        return scan.date(start, match.end(), d.months("quarter", first, first + 2, None))
    match = None if _KOREAN_HOURS.match(text, start) else d.CJK_CLOCK.match(text, start)
    found = d.clock(int(match[1]), int(match[2] or 0)) if match else None
    return scan.date(start, match.end(), found) if match and found else None


def _cjk_day(year: str, month: str | None, day: str | None) -> When:
    if month is None or not 1 <= int(month) <= 12:
        return d.year(int(year))
    whole = d.month(int(month), int(year))
    return whole if day is None else d.day(int(day), int(month), int(year)) or whole


def _is_year(text: str, value: int, last: str, after: NextWord | None) -> bool:
    """Whether four digits without a sign or unit are meant as a year."""
    if not 1000 <= value <= 2100:
        return False
    led = last.lstrip("(") in YEAR_LEADS
    if after is None:
        return value >= 1300 or led
    gap, word, end = after
    if not gap and word.isalpha():
        return False
    is_unit = word not in ("a", "in", "an") and named(text, after)[1] is not None
    if is_unit and not text[end : end + 1].isdigit():
        return False
    if led:
        return True
    counted = gap == " " and len(word) > 4 and word.islower() and word.endswith("s")
    return value >= 1500 and not (counted and word not in _NOT_COUNTED)
