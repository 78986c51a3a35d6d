"""Whether the evidence holds the date that was claimed, at that precision or a finer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from aletheia.grounding.dates import YEAR, DateMention, When, year_span

DateOutcome = Literal[
    "exact", "coarser", "combined", "invented_precision", "contradicted", "absent"
]


@dataclass(frozen=True, slots=True)
class DateMatch:
    """How a claimed date stands to the evidence; `index` is the mention matched or nearest."""

    outcome: DateOutcome
    index: int | None = None

    @property
    def supported(self) -> bool:
        """Whether the evidence carries the date."""
        return self.outcome in ("exact", "coarser", "combined")


def match_date(claimed: DateMention, available: Sequence[DateMention]) -> DateMatch:
    """Find the evidence date that carries `claimed`.

    Evidence at the same or a finer precision inside the claimed interval carries it (`exact`,
    `coarser`). A day and a year that stand apart in the evidence carry it together (`combined`).
    Evidence that is coarser and fits is `invented_precision`; `contradicted` means that dates of
    the same precision are there and all differ.
    """
    when = claimed.when
    finer: int | None = None
    coarser: int | None = None
    alike: int | None = None
    for index, mention in enumerate(available):
        other = mention.when
        if other.readings == when.readings and other.precision == when.precision:
            return DateMatch("exact", index)
        relation = _relation(when, other)
        if relation == "inside":
            coarser = index if coarser is None else coarser
        elif relation == "around":
            finer = index if finer is None else finer
        elif other.precision == when.precision and alike is None:
            alike = index
    if coarser is not None:
        same = available[coarser].when.precision == when.precision
        return DateMatch("exact" if same else "coarser", coarser)
    if when.has_year and when.precision in ("day", "month", "quarter", "half"):
        together = _combined(when, available)
        if together is not None:
            return DateMatch("combined", together)
    if finer is not None:
        return DateMatch("invented_precision", finer)
    return DateMatch("absent" if alike is None else "contradicted", alike)


def _relation(claimed: When, other: When) -> str:
    """`inside`: evidence within the claim; `around`: the claim within the evidence; or empty."""
    if (claimed.precision == "time") != (other.precision == "time"):
        return ""
    if claimed.precision == "weekday" or other.precision == "weekday":
        return _weekday_relation(claimed, other)
    result = ""
    for first, last in claimed.readings:
        for begin, end in other.readings:
            if not claimed.has_year and other.has_year:
                if end - begin >= YEAR or end - begin == 1130:
                    continue
                begin, end = begin % YEAR, end % YEAR
            elif claimed.has_year and not other.has_year:
                continue
            if first <= begin and end <= last:
                return "inside"
            if begin <= first and last <= end:
                result = "around"
    return result


def _weekday_relation(claimed: When, other: When) -> str:
    if claimed.precision != "weekday":
        return ""
    wanted = claimed.readings[0][0]
    if other.precision == "weekday":
        return "inside" if other.readings[0][0] == wanted else ""
    if other.precision == "day" and other.has_year:
        return "inside" if any(_weekday_of(r[0]) == wanted for r in other.readings) else ""
    return ""


@lru_cache(maxsize=4096)
def _weekday_of(value: int) -> int | None:
    try:
        return date(value // YEAR, value // 100 % 100, value % 100).weekday()
    except ValueError:
        return None


def _combined(when: When, available: Sequence[DateMention]) -> int | None:
    """Index of a mention with the day or month, when another one has the year."""
    for first, last in when.readings:
        of_year = year_span(first // YEAR)
        if not any(
            mention.when.has_year and of_year[0] <= begin and end <= of_year[1]
            for mention in available
            for begin, end in mention.when.readings
        ):
            continue
        part = When(when.precision, ((first % YEAR, last % YEAR),), has_year=False)
        for index, mention in enumerate(available):
            if not mention.when.has_year and _relation(part, mention.when) == "inside":
                return index
    return None
