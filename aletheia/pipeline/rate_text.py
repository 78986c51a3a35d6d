"""Cells and rates over many traces, as lines of at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from aletheia.diagnosis.rates import Share, TraceRates
from aletheia.reports import numbers
from aletheia.schema.diagnosis import FailureCell

_NAME: Final = 20
"""Columns of the name of a rate."""


def cell_lines(rates: TraceRates) -> Iterator[str]:
    """Write all six cells, empty ones too."""
    for cell in FailureCell:
        count, doubtful = rates.cells[cell], rates.tentative_cells[cell]
        doubt = f"  {doubtful} tentative" if doubtful else ""
        share = numbers.percent(count, rates.evaluated)
        yield f"  {cell.plain_name:<20}{numbers.count(count):>6}  {share:>4}{doubt}".rstrip()
    if rates.empty_responses:
        yield f"  {'Empty response':<20}{numbers.count(rates.empty_responses):>6}"


def rate_lines(rates: TraceRates) -> Iterator[str]:
    """Write each rate with its interval, and what it could be over the unmeasured ones too."""
    rows = (
        ("healthy", rates.healthy),
        ("healthy or honest", rates.adjusted),
        ("honest abstention", rates.honest_abstention),
        ("over-refusal", rates.over_refusal),
    )
    for name, share in rows:
        yield f"{name:<{_NAME}}{_rate_text(share)}"
        bounds = _bounds_text(share)
        if bounds:
            yield f"{'':<{_NAME}}{bounds}"
    if rates.unmeasured:
        told = numbers.count_of(rates.unmeasured, rates.total)
        yield f"{'unmeasured':<{_NAME}}{told} traces"


def _rate_text(share: Share) -> str:
    rate = share.rate
    text = (
        f"{numbers.percent_of(rate.value):>4}  {numbers.count_of(rate.numerator, rate.denominator)}"
    )
    if rate.low is not None and rate.high is not None:
        low, high = numbers.percent_of(rate.low), numbers.percent_of(rate.high)
        text += f", 95 % interval {low}–{high}"
    return text


def _bounds_text(share: Share) -> str | None:
    """What the rate could be over the unmeasured ones too; None where that is the same."""
    if share.total <= share.rate.denominator or share.low is None or share.high is None:
        return None
    low, high = numbers.percent_of(share.low), numbers.percent_of(share.high)
    return f"{low:>4} at worst, {high} at best, with the unmeasured" if low != high else None
