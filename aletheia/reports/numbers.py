"""How numbers are written for people: pure functions from values to short strings.

Ties round half up, on exact fractions, because that is how a reader checks a rate by hand:
58/70 is 0.83, 7/70 is 0.10, 1/8 is 0.13. A value that is short of a bound is never shown as the
bound: 999 of 1,000 is `>99%`, not `100%`. A missing value is `–`, with its reason where known.
"""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

MISSING = "–"
"""Stands for a value that does not exist."""

MINUS = "−"


def rounded_rate(numerator: int, denominator: int) -> float | None:
    """Divide to two decimals, half up; None over nothing."""
    if denominator == 0:
        return None
    return (200 * numerator + denominator) // (2 * denominator) / 100


def missing(reason: str | None = None) -> str:
    """Return the sign for a missing value, with its reason."""
    return f"{MISSING} ({reason})" if reason else MISSING


def rounded(value: float, digits: int = 2) -> str:
    """Write fixed decimals, half up on the shortest decimal form of `value`."""
    exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{abs(exact) if exact == 0 else exact}"


def score(value: float | None, reason: str | None = None) -> str:
    """Write a score between 0 and 1 with two decimals; `>0.99` and `<0.01` near the bounds."""
    if value is None:
        return missing(reason)
    text = rounded(value)
    if text == "1.00" and value < 1:
        return ">0.99"
    return "<0.01" if text == "0.00" and value > 0 else text


def interval(low: float | None, high: float | None, reason: str | None = None) -> str:
    """Write two scores as a range; one score when both look the same."""
    if low is None or high is None:
        return missing(reason)
    return score(low) if score(low) == score(high) else f"{score(low)}–{score(high)}"


def percent(numerator: int, denominator: int, reason: str | None = None) -> str:
    """Write a share as a whole percentage; `>99%` and `<1%` near the bounds."""
    if denominator == 0:
        return missing(reason)
    whole = (200 * numerator + denominator) // (2 * denominator)
    if whole == 100 and numerator < denominator:
        return ">99%"
    return "<1%" if whole == 0 and numerator > 0 else f"{whole}%"


def percent_of(value: float | None, reason: str | None = None) -> str:
    """Write a rate between 0 and 1 as a whole percentage, with the same care at the bounds."""
    if value is None:
        return missing(reason)
    text = rounded(value * 100, 0)
    if text == "100" and value < 1:
        return ">99%"
    return "<1%" if text == "0" and value > 0 else f"{text}%"


def count(number: int) -> str:
    """Write a whole number with grouped thousands."""
    return f"{number:,}"


def count_of(number: int, total: int) -> str:
    """Write `n of N`."""
    return f"{count(number)} of {count(total)}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """Write a count with its noun: `1 question`, `2 questions`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def signed(value: float | None, reason: str | None = None) -> str:
    """Write a difference with two decimals and its sign; no sign on zero."""
    if value is None:
        return missing(reason)
    text = rounded(abs(value))
    if text == "0.00":
        return text if value == 0 else f"{'+' if value > 0 else MINUS}<0.01"
    return f"{'+' if value > 0 else MINUS}{text}"


def signed_interval(low: float | None, high: float | None, reason: str | None = None) -> str:
    """Write the bounds of a difference: `−0.10 to +0.20`."""
    if low is None or high is None:
        return missing(reason)
    return f"{signed(low)} to {signed(high)}"


def p_value(value: float | None, reason: str | None = None) -> str:
    """Write a p-value: `p = 0.034`, `p < 0.001`."""
    if value is None:
        return missing(reason)
    return "p < 0.001" if value < 0.001 else f"p = {rounded(value, 3)}"


def money(usd: float | None, reason: str | None = None) -> str:
    """Write US dollars: `$1,234.50`, `$0.0123`, `<$0.0001`; `$0` is nothing at all."""
    if usd is None:
        return missing(reason)
    if usd == 0:
        return "$0"
    if usd < 0.0001:
        return "<$0.0001"
    return f"${Decimal(rounded(usd, 2 if usd >= 1 else 4)):,}"


def duration(milliseconds: float | None, reason: str | None = None) -> str:
    """Write a time as a person would: `0.4 ms`, `12 ms`, `1.2 s`, `3 min 5 s`, `1 h 2 min`."""
    if milliseconds is None:
        return missing(reason)
    if milliseconds < 9.95:
        return f"{rounded(milliseconds, 1)} ms"
    if milliseconds < 999.5:
        return f"{rounded(milliseconds, 0)} ms"
    if milliseconds < 59_950:
        return f"{rounded(milliseconds / 1000, 1)} s"
    minutes, seconds = divmod(int(rounded(milliseconds / 1000, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def moment(iso: str) -> str:
    """Write an ISO time to the minute, in its own zone; what is no ISO time stays as it is."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    zone = "" if when.tzinfo is None else f" {when.tzname()}"
    return f"{when:%Y-%m-%d %H:%M}{zone}"
