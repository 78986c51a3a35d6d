"""Other dates and numbers: each rule is one-to-one, so that what it did can be undone.

Years move by one distance, so their order stays. Within a year months rotate, and within a month
days 1 to 28, as far as no date of the graph changes its place. Other numbers keep their digits'
count, separators, sign and unit.
"""

from __future__ import annotations

import re
import zlib
from calendar import month_abbr, month_name, monthrange
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

_MONTHS: Final = {name.lower(): n for n, name in enumerate(month_name) if name} | {
    name.lower(): n for n, name in enumerate(month_abbr) if name
}
_MONTHS["sept"] = 9
_FULL: Final = frozenset(name.lower() for name in month_name if name)
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WEEKDAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_TOKEN: Final = re.compile(
    rf"""
    (?P<iso>(?<![\w.,-])(?P<iy>\d{{4}})-(?P<im>\d{{2}})(?:-(?P<id>\d{{2}}))?(?![\d-]))
    | (?P<slashed>(?<![\w/.])\d{{1,2}}(?P<s>[/.])\d{{1,2}}(?P=s)(?P<sy>\d{{4}})(?!\d))
    | (?P<time>(?<!\w)\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?!\w))
    | (?P<text>(?<!\w)(?:(?P<d1>\d{{1,2}})(?P<o1>st|nd|rd|th)?\s+(?:of\s+)?)?
        (?P<month>{_MONTH})\b(?P<dot>\.?)
        (?:\s+(?P<d2>\d{{1,2}})(?P<o2>st|nd|rd|th)?(?![\w:]|[.,]\d))?(?:,?\s+(?P<ty>\d{{4}})(?!\w))?)
    | (?P<weekday>(?<!\w)(?:{"|".join(_WEEKDAYS)})(?=s?\b))
    | (?P<decade>(?<!\w)\d{{3}}0(?=s\b))
    | (?P<ordinal>(?<!\w)\d+(?:st|nd|rd|th)\b)
    | (?P<number>(?<![\w])(?<!\d[.,])(?P<whole>\d{{1,3}}(?:[,\u202f\u00a0]\d{{3}})+(?!\d)|\d+)
        (?:\.(?P<part>\d+))?(?P<percent>\s?(?:%|percent\b|per\scent\b))?)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEFORE_MONTH: Final = re.compile(
    r"\b(?:in|of|on|by|since|until|from|to|early|late|mid|every|each|last|next)[ -]$", re.IGNORECASE
)
_FIRST_YEAR, _YEARS = 1000, 1100
_ROTATED_DAYS: Final = 28
_GROUP: Final = 3
_DIGITS: Final = re.compile(r"\d+")
_SALT, _TRIES = 1_000_003, 30
"""Seeds that are drawn from where the first one moves a number onto a name."""


@dataclass(frozen=True, slots=True)
class Change:
    """What stands in `text[start:end]` of the old text, and what replaces it."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRule:
    """How dates and numbers are replaced; `backward` undoes `forward`.

    `shift` is added to years from 1000 to 2099 (0 leaves all dates alone). `months` holds the
    rotation of each year that the graph uses, `days` that of each (year, month).
    """

    seed: int
    shift: int = 0
    scramble: bool = False
    months: dict[int, int] = field(default_factory=dict)
    days: dict[tuple[int, int], int] = field(default_factory=dict)

    def changes(self, text: str, *, back: bool = False) -> Iterator[Change]:
        """Everything in a text that is replaced, in order; `back` undoes it."""
        for match in _TOKEN.finditer(text) if _has_date_or_digit(text) else ():
            new = self._replaced(match, text, -1 if back else 1)
            if new is not None and new != match[0]:
                yield Change(match.start(), match.end(), new)

    def kept(self, text: str) -> Iterator[str]:
        """Numbers of a text that are left as they are."""
        if not (self.shift or self.scramble) or not _has_date_or_digit(text):
            return
        changed = {c.start for c in self.changes(text)}
        for match in _TOKEN.finditer(text):
            if match.start() not in changed and any(c.isdigit() for c in match[0]):
                yield match[0]

    def _replaced(self, match: re.Match[str], text: str, sign: int) -> str | None:
        kind = next(k for k in _KINDS if match[k] is not None)
        if kind == "number":
            return self._number(match, sign)
        return _KINDS[kind](self, match, text, sign) if self.shift else None

    # --- dates --------------------------------------------------------------------------------

    def year(self, year: int, sign: int = 1) -> int:
        """Move a year from 1000 to 2099 around within that range; others stay."""
        if not self.shift or not _FIRST_YEAR <= year < _FIRST_YEAR + _YEARS:
            return year
        return _FIRST_YEAR + (year - _FIRST_YEAR + sign * self.shift) % _YEARS

    def date(
        self, year: int, month: int, day: int | None, sign: int
    ) -> tuple[int, int, int | None]:
        """Move a date that has a year."""
        other = self.year(year, sign)
        base = year if sign > 0 else other
        turn = self.months.get(base, self._drawn("month", base, 12))
        new_month = (month - 1 + sign * turn) % 12 + 1
        base_month = month if sign > 0 else new_month
        days = self.days.get((base, base_month), self._drawn("day", base * 12 + base_month, 28))
        return other, new_month, self._day(day, days, sign, other, new_month)

    def _day(self, day: int | None, turn: int, sign: int, year: int, month: int) -> int | None:
        if day is None:
            return None
        if day <= _ROTATED_DAYS:
            return (day - 1 + sign * turn) % _ROTATED_DAYS + 1
        return min(day, monthrange(year, month)[1])

    def _drawn(self, what: str, at: int, modulus: int) -> int:
        return zlib.crc32(f"{self.seed}:{what}:{at}".encode()) % modulus

    def _iso(self, match: re.Match[str], text: str, sign: int) -> str | None:
        del text
        month, day = int(match["im"]), match["id"]
        if not 1 <= month <= 12 or (day and not 1 <= int(day) <= 31):
            return f"{self.year(int(match['iy']), sign)}{match[0][4:]}"
        made = self.date(int(match["iy"]), month, int(day) if day else None, sign)
        return "-".join(f"{part:02}" for part in made if part is not None)

    def _text(self, match: re.Match[str], text: str, sign: int) -> str | None:
        day, year = match["d1"] or match["d2"], match["ty"]
        if not (day or year) and not _is_month(match, text):
            return None
        month = _MONTHS[match["month"].lower()]
        known = int(day) if day and 1 <= int(day) <= 31 else None
        if year:
            new_year, new_month, new_day = self.date(int(year), month, known, sign)
        else:
            new_year = 0
            new_month = (month - 1 + sign * (1 + self._drawn("month", 0, 11))) % 12 + 1
            new_day = self._day(known, 1 + self._drawn("day", 0, 27), sign, 2000, new_month)
        return _written(match, new_year, new_month, new_day)

    def _weekday(self, match: re.Match[str], text: str, sign: int) -> str:
        del text
        at = _WEEKDAYS.index(match[0].capitalize())
        return _like(match[0], _WEEKDAYS[(at + sign * (1 + self._drawn("weekday", 0, 6))) % 7])

    def _decade(self, match: re.Match[str], text: str, sign: int) -> str:
        del text
        return str(self.year(int(match[0]), sign))

    def _slashed(self, match: re.Match[str], text: str, sign: int) -> str:
        del text
        return match[0][:-4] + str(self.year(int(match["sy"]), sign))

    # --- numbers ------------------------------------------------------------------------------

    def _number(self, match: re.Match[str], sign: int) -> str | None:
        whole, part, percent = match["whole"], match["part"], match["percent"] or ""
        if self.shift and part is None and not percent and _is_year(whole):
            return str(self.year(int(whole), sign))
        if not self.scramble or (percent and len(whole) >= _GROUP):
            return None
        new = self._digits(whole, sign)
        return new + (f".{self._fraction(part, sign)}" if part else "") + percent

    def _digits(self, whole: str, sign: int) -> str:
        digits = "".join(c for c in whole if c.isdigit())
        plain = digits.lstrip("0")
        if plain in ("", "1"):
            return whole
        low, high = 10 ** (len(plain) - 1), 10 ** len(plain)
        if len(plain) == 1:
            low = 2
        elif len(plain) == 4 and len(whole) == 4:
            low = _FIRST_YEAR + _YEARS
        turn = self._turn(len(plain), high - low)
        made = iter(
            digits[: -len(plain)] + str(low + (int(plain) - low + sign * turn) % (high - low))
        )
        return "".join(next(made) if c.isdigit() else c for c in whole)

    def _fraction(self, part: str, sign: int) -> str:
        value, size = int(part), 10 ** len(part) - 1
        if value == 0:
            return part
        return f"{(value - 1 + sign * self._turn(-len(part), size)) % size + 1:0{len(part)}}"

    def _turn(self, length: int, size: int) -> int:
        """How far numbers of a length rotate: between a tenth and nine tenths of the way round."""
        tenth = max(1, size // 10)
        return tenth + self._drawn("number", length, max(1, size - 2 * tenth))


_Rule = Callable[[NumberRule, "re.Match[str]", str, int], "str | None"]


def _keep(rule: NumberRule, match: re.Match[str], text: str, sign: int) -> None:
    del rule, match, text, sign


_KINDS: Final[dict[str, _Rule]] = {
    "iso": NumberRule._iso,  # noqa: SLF001 - of the class above
    "slashed": NumberRule._slashed,  # noqa: SLF001
    "time": _keep,
    "text": NumberRule._text,  # noqa: SLF001
    "weekday": NumberRule._weekday,  # noqa: SLF001
    "decade": NumberRule._decade,  # noqa: SLF001
    "ordinal": _keep,
    "number": _keep,
}
_WORDS: Final = re.compile(rf"\d|\b(?:{_MONTH}|{'|'.join(_WEEKDAYS)})", re.IGNORECASE)


def _has_date_or_digit(text: str) -> bool:
    return _WORDS.search(text) is not None


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and digits.isdigit() and "1000" <= digits <= "2099"


def _is_month(match: re.Match[str], text: str) -> bool:
    """Whether a month that stands alone is one: not the verb in `it may`, nor a march."""
    if not match["month"][0].isupper():
        return False
    if match["month"].lower() in ("may", "march", "mar", "jan", "dec", "sept"):
        whole = match[0].strip() == text.strip()
        return whole or _BEFORE_MONTH.search(text[: match.start("month")]) is not None
    return len(match["month"]) > _GROUP


def _like(old: str, new: str) -> str:
    if old.isupper():
        return new.upper()
    return new.lower() if old.islower() else new


def _written(match: re.Match[str], year: int, month: int, day: int | None) -> str:
    """Write a date as the old one is written."""
    full = match["month"].lower() in _FULL and not match["dot"]
    names = month_name if full else month_abbr
    new = {"month": _like(match["month"], names[month]), "ty": f"{year}"}
    for number, ordinal in (("d1", "o1"), ("d2", "o2")):
        if match[number] and day is not None and number == ("d1" if match["d1"] else "d2"):
            new[number] = f"{day:0{len(match[number])}}" if match[number][0] == "0" else f"{day}"
            if match[ordinal]:
                new[ordinal] = _suffix(day)
    return _spliced(match, new)


def _spliced(match: re.Match[str], new: dict[str, str]) -> str:
    out, at = [], match.start()
    for name in sorted((n for n in new if match[n]), key=match.start):
        out += [match.string[at : match.start(name)], new[name]]
        at = match.end(name)
    return "".join(out) + match.string[at : match.end()]


def _suffix(day: int) -> str:
    if 10 < day < 20:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def make_rule(
    texts: Iterable[str],
    *,
    seed: int,
    dates: bool,
    numbers: bool,
    avoid: frozenset[str] = frozenset(),
) -> NumberRule:
    """Find the dates of these texts and draw a rule that keeps their order.

    No year or number of the texts becomes one of `avoid`, such as a name that is a bare year, as
    far as a rule can be found for which that holds.
    """
    texts = list(texts)
    first = _rule(texts, seed=seed, dates=dates, numbers=numbers, avoid=avoid)
    if not avoid:
        return first
    others = (
        _rule(texts, seed=seed + salt, dates=dates, numbers=numbers, avoid=avoid)
        for salt in range(_SALT, _SALT + _TRIES)
    )
    return next((rule for rule in (first, *others) if not _lands(rule, texts, avoid)), first)


def _lands(rule: NumberRule, texts: Iterable[str], avoid: frozenset[str]) -> bool:
    """Whether a replaced number, or a part of a replaced date, is one of `avoid`."""
    return any(
        part in avoid
        for text in texts
        for change in rule.changes(text)
        for part in _DIGITS.findall(change.new)
    )


def _rule(
    texts: Sequence[str], *, seed: int, dates: bool, numbers: bool, avoid: frozenset[str]
) -> NumberRule:
    if not dates:
        return NumberRule(seed=seed, scramble=numbers)
    years: set[int] = set()
    months: dict[int, set[int]] = defaultdict(set)
    days: dict[tuple[int, int], set[int]] = defaultdict(set)
    for match in (m for text in texts for m in _TOKEN.finditer(text)):
        year, month, day = _parts(match)
        if year is not None:
            years.add(year)
        if year is not None and month is not None:
            months[year].add(month)
            if day is not None:
                days[year, month].add(day)
    shift = _shift(seed, years, avoid)
    longest = {key: max(used) for key, used in days.items()}
    turns = {
        year: _rotation(seed, f"m{year}", used, 12, _month_fits(year, shift, used, longest))
        for year, used in months.items()
    }
    return NumberRule(
        seed=seed,
        shift=shift,
        scramble=numbers,
        months=turns,
        days={k: _rotation(seed, f"d{k}", {d for d in v if d <= 28}, 28) for k, v in days.items()},
    )


def _parts(match: re.Match[str]) -> tuple[int | None, int | None, int | None]:
    if match["iso"]:
        month, day = int(match["im"]), int(match["id"]) if match["id"] else None
        valid = 1 <= month <= 12 and (day is None or 1 <= day <= 31)
        return int(match["iy"]), month if valid else None, day if valid else None
    if match["text"] and match["ty"]:
        day_text = match["d1"] or match["d2"]
        day = int(day_text) if day_text and 1 <= int(day_text) <= 31 else None
        return int(match["ty"]), _MONTHS[match["month"].lower()], day
    if match["slashed"]:
        return int(match["sy"]), None, None
    if match["number"] and not match["part"] and _is_year(match["whole"]):
        return int(match["whole"]), None, None
    return None, None, None


def _month_fits(
    year: int, shift: int, used: set[int], longest: dict[tuple[int, int], int]
) -> Callable[[int], bool]:
    """Tell whether a rotation of months makes no date such as 31 February."""
    new = _FIRST_YEAR + (year - _FIRST_YEAR + shift) % _YEARS

    def fits(step: int) -> bool:
        return all(longest.get((year, m), 1) <= monthrange(new, m + step)[1] for m in used)

    return fits


def _rotation(
    seed: int, what: str, used: set[int], size: int, fits: Callable[[int], bool] = bool
) -> int:
    """Draw a rotation of 1..size under which the used ones keep their order; 0 if there is none."""
    if not used:
        return 0
    steps = [n for n in range(1 - min(used), size - max(used) + 1) if n and fits(n)]
    return steps[zlib.crc32(f"{seed}:{what}".encode()) % len(steps)] % size if steps else 0


def _shift(seed: int, years: set[int], avoid: frozenset[str] = frozenset()) -> int:
    """Draw the distance of years: whole decades, into the past, and no year out of the range.

    Twenty years apart, so that a leap day nearly always stays one. Where every such distance
    moves a year onto one of `avoid`, a longer one is drawn.
    """
    low, high = min(years, default=1900), max(years, default=1900)
    taken = {int(name) for name in avoid}
    for distances in (range(20, 100, 20), range(100, 500, 20), range(4, 500, 4)):
        past = [-n for n in distances if low - n >= _FIRST_YEAR]
        future = [n for n in distances if high + n < _FIRST_YEAR + _YEARS]
        free = (
            [n for n in steps if taken.isdisjoint(y + n for y in years)] for steps in (past, future)
        )
        steps = next((found for found in free if found), None)
        if steps:
            return steps[zlib.crc32(f"{seed}:years".encode()) % len(steps)]
    return -20
