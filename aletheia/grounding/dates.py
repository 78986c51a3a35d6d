"""Dates and times at the precision at which they were given.

A date is an interval of days: a year holds its months, a decade its years. A claimed date is
carried by evidence that lies inside it (`2019` by `12 May 2019`), not by evidence that holds it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from aletheia.grounding.units import listed

Precision = Literal[
    "century", "decade", "year", "half", "quarter", "month", "day", "weekday", "time"
]
Interval = tuple[int, int]
"""First and last day, each `year * 10000 + month * 100 + day`; the year is 0 when none is given."""

YEAR: Final = 10_000


class When(NamedTuple):
    """What a date says. `readings` are intervals; minutes of the day for precision `time`."""

    precision: Precision
    readings: tuple[Interval, ...]
    has_year: bool = True


class DateMention(NamedTuple):
    """A date at `text[start:end]`. `soft`: a bare word that may not be meant as a date."""

    start: int
    end: int
    text: str
    when: When
    soft: bool = False

    @property
    def precision(self) -> Precision:
        """The finest part that was given."""
        return self.when.precision

    @property
    def readings(self) -> tuple[Interval, ...]:
        """All intervals that the text may mean (`3/4/2019` has two)."""
        return self.when.readings


def _months() -> dict[str, int]:
    table = {
        "en": "january february march april may june july august september october november "
        "december",
        "abbreviated": "jan feb mar apr may jun jul aug sep oct nov dec",
        "de": "januar februar märz april mai juni juli august september oktober november dezember",
        "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre "
        "décembre",
        "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
        "diciembre",
        "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre "
        "novembre dicembre",
        "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
        "dezembro",
        "nl": "januari februari maart april mei juni juli augustus september oktober november "
        "december",
        "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "ru-nominative": "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь "
        "декабрь",
        "hi": "जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर",
    }
    months = {
        name: number for names in table.values() for number, name in enumerate(names.split(), 1)
    }
    return {**months, "sept": 9, "jänner": 1, "setiembre": 9}


MONTHS: Final[dict[str, int]] = _months()
WEEKDAYS: Final[dict[str, int]] = {
    name: number % 7
    for number, name in enumerate(
        listed(
            "monday tuesday wednesday thursday friday saturday sunday "
            "montag dienstag mittwoch donnerstag freitag samstag sonntag "
            "lundi mardi mercredi jeudi vendredi samedi dimanche "
            "lunes martes miércoles jueves viernes sábado domingo"
        )
    )
}
DECADE_WORDS: Final[dict[str, int]] = {
    "twenties": 1920, "thirties": 1930, "forties": 1940, "fifties": 1950, "sixties": 1960,
    "seventies": 1970, "eighties": 1980, "nineties": 1990,
}  # fmt: skip
CLOCK_WORDS: Final[dict[str, int]] = {"noon": 720, "midday": 720, "midnight": 0}

_MONTH_NAMES = "|".join(sorted(map(re.escape, MONTHS), key=len, reverse=True))
DAY_MONTH: Final = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th|er|º|\.)?(?:\s?(?:-|to|and|bis|a)\s?(\d{1,2})(?:st|nd|rd|th|\.)?)?"
    rf"(?:\s+(?:day\s)?(?:of\s|de\s|di\s)?|-)({_MONTH_NAMES})\b\.?"
    r"(?:(?:,?\s+(?:de\s|del\s|of\s)?|-)(\d{4})(?![\d,.]\d))?",
    re.IGNORECASE,
)
"""`12 May 2019`, `12th of May`, `5-7 June 2020`, `12. Mai`, `12-May-2019`; starts at the day."""
MONTH_DAY: Final = re.compile(
    r"(?:the\s)?(\d{1,2})(?:st|nd|rd|th)?(?:\s?(?:-|to|and|through)\s?(\d{1,2})(?:st|nd|rd|th)?)?"
    r"(?![\d:%]|[.,]\d)(?:,?\s+(?:in\s|of\s)?(\d{4})(?![\d,.]\d|\d))?",
    re.IGNORECASE,
)
"""What follows a month name: `12, 2019`, `12th`, `12-15, 2019`; starts at the day."""
CLOCK: Final = re.compile(
    r"\s?(?:(?P<half>[ap])\.?\s?m\b\.?|o'clock|Uhr\b|h(?P<minutes>\d\d)?\b|hrs\b)", re.IGNORECASE
)
ERA: Final = re.compile(
    r"\s?(?:(?P<before>B\.?C\.?(?:E\.?)?|v\. ?Chr\.)|A\.?D\.?|C\.?E\.?)(?![a-z])"
)
CENTURY: Final = re.compile(
    r"(?:st|nd|rd|th|\.|e|ème)?[\s-](?:century|centuries|jahrhunderts?|siècle|eeuw)\b",
    re.IGNORECASE,
)
CJK_DATE: Final = re.compile(
    r"(\d{2,4})\s?[年년](?:\s?(\d{1,2})\s?[月월](?:\s?(\d{1,2})\s?[日号號일])?)?(?!代)"
)
CJK_MONTH_DAY: Final = re.compile(r"(\d{1,2})\s?[月월](?:\s?(\d{1,2})\s?[日号號일])?")
CJK_DECADE: Final = re.compile(r"(\d{2,4})\s?年代|(\d{1,2})\s?(?:世纪|世紀|세기)")
CJK_CLOCK: Final = re.compile(
    r"(\d{1,2})\s?[时時点點시](?!间|間|间|区|區)(?:\s?(\d{1,2})\s?[分분])?"
)

_ISO = re.compile(r"(\d{4})([-/.])(\d{1,2})(?:\2(\d{1,2}))?")
_NUMERIC = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::\d{1,2}(?:\.\d+)?)?")
_TIMES = re.compile(r"(\d{1,2}:\d{1,2})-(\d{1,2}:\d{1,2})")
YEARS = re.compile(r"(1\d{3}|20\d{2})[-/](1\d{3}|20\d{2}|\d{2})")

Piece = tuple[int, int, When]
"""Start and end within the matched text, and what stands there."""


@lru_cache(maxsize=4096)
def year(value: int) -> When:
    """Return a calendar year; negative before Christ."""
    return When("year", (year_span(value),))


def years(precision: Precision, first: int, last: int) -> When:
    """Return a span of whole years, such as a decade."""
    return When(precision, ((first * YEAR + 101, last * YEAR + 1231),))


def century(number: int) -> When:
    """Return the n-th century; loosely, so that 1900 and 2000 count to both sides."""
    return years("century", (number - 1) * 100, number * 100)


def month(number: int, in_year: int | None = None) -> When:
    """Return a month, of a year or of none."""
    base = (in_year or 0) * YEAR + number * 100
    return When("month", ((base + 1, base + 31),), in_year is not None)


def day(number: int, of_month: int, in_year: int | None = None) -> When | None:
    """Return a day; None when there is no such day."""
    if not (1 <= of_month <= 12 and 1 <= number <= 31):
        return None
    base = (in_year or 0) * YEAR + of_month * 100 + number
    return When("day", ((base, base),), in_year is not None)


def months(precision: Precision, first: int, last: int, in_year: int | None = None) -> When:
    """Return a quarter or a half of a year."""
    base = (in_year or 0) * YEAR
    return When(precision, ((base + first * 100 + 1, base + last * 100 + 31),), in_year is not None)


def weekday(number: int) -> When:
    """Return a day of the week, Monday is 0."""
    return When("weekday", ((number, number),), has_year=False)


def clock(hour: int, minute: int, half: str | None = None) -> When | None:
    """Return a time of day; without `half` (`a`, `p`) an hour up to 12 may be either."""
    if hour > 24 or minute > 59:
        return None
    if half:
        if hour > 12:
            half = None
        else:
            hour = hour % 12 + (12 if half.lower() == "p" else 0)
    total = (hour * 60 + minute) % 1440
    found = [total]
    if not half and 1 <= hour <= 12:
        found.append((total + 720) % 1440)
    return When("time", tuple((value, value) for value in found), has_year=False)


def year_span(value: int) -> Interval:
    """Return the first and last day of a year."""
    return value * YEAR + 101, value * YEAR + 1231


def _full_year(text: str) -> int:
    value = int(text)
    if len(text) > 2:
        return value
    return value + (2000 if value < 50 else 1900)


@lru_cache(maxsize=16384)
def date_shape(text: str) -> tuple[Piece, ...]:
    """Dates and times in a run of digits and separators; empty when it is none.

    `2019-05-12`, `12.05.2019`, `3/4/2019`, `17:00`, `9:00-17:30`, `1997-2001`, `2011-12`.
    """
    match = _TIME.fullmatch(text)
    if match:
        found = clock(int(match[1]), int(match[2]))
        ratio = len(match[2]) == 1 and match[2] != "0"
        return () if found is None or ratio else ((0, len(text), found),)
    match = _TIMES.fullmatch(text)
    if match:
        pieces = [(match.start(n), match.end(n), date_shape(match[n])) for n in (1, 2)]
        return tuple((start, end, shape[0][2]) for start, end, shape in pieces if shape)
    match = YEARS.fullmatch(text)
    if match:
        return _year_range(match)
    match = _ISO.fullmatch(text)
    if match:
        return _iso(match)
    match = _NUMERIC.fullmatch(text)
    if match:
        return _numeric(match)
    return ()


def _year_range(match: re.Match[str]) -> tuple[Piece, ...]:
    first = int(match[1])
    tail = match[2]
    last = int(tail) if len(tail) == 4 else first // 100 * 100 + int(tail)
    begin = (0, 4, year(first))
    if last > first:
        end: Piece = (match.start(2), match.end(2), year(last))
        if len(tail) == 2 and int(tail) <= 12:
            # `2011-12` is two years or a month.
            as_month = month(int(tail), first)
            return begin, (0, match.end(), When("month", (*as_month.readings, *end[2].readings)))
        return begin, end
    if len(tail) == 2 and 1 <= int(tail) <= 12:
        return ((0, match.end(), month(int(tail), first)),)
    return ()


def _iso(match: re.Match[str]) -> tuple[Piece, ...]:
    value, of_month, number = int(match[1]), int(match[3]), match[4]
    if not 1 <= of_month <= 12 or not 1000 <= value <= 2200:
        return ()
    if number is None:
        return () if match[2] == "." else ((0, match.end(), month(of_month, value)),)
    found = day(int(number), of_month, value)
    return () if found is None else ((0, match.end(), found),)


def _numeric(match: re.Match[str]) -> tuple[Piece, ...]:
    one, other, value = int(match[1]), int(match[3]), _full_year(match[4])
    if match[2] == "." and len(match[4]) == 2:
        return ()
    options = [day(one, other, value)]
    if match[2] != "." and one != other:
        options.append(day(other, one, value))
    found = tuple(option.readings[0] for option in options if option is not None)
    return ((0, match.end(), When("day", found)),) if found else ()
