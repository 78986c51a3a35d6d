"""Rates of a judge that errs: the rate behind the rate, and whether two of them differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from aletheia.schema.proportion import Z95, wilson_bounds
from aletheia.schema.report import Rate

NO_DIFFERENCE: Final = "no detectable difference"
HIGHER: Final = "higher"
LOWER: Final = "lower"
NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure with its 95 % interval; no value, and `reason`, where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def corrected_rate(flagged: int, total: int, *, sensitivity: Rate, specificity: Rate) -> Estimate:
    """Return the true rate behind the rate of a judge that errs (Rogan and Gladen).

    `flagged` of `total` items got the verdict in question; `sensitivity` and `specificity` are
    those of that verdict on a labelled set. The interval counts the uncertainty of all three
    (Lang and Reiczigel, 2014), and does not collapse where one of them is 0 or 1. No value where
    the judge does no better than chance: then its rate says nothing.
    """
    if total == 0:
        return Estimate(value=None, reason="nothing was measured")
    if not sensitivity.denominator or not specificity.denominator:
        return Estimate(value=None, reason="the labelled set does not hold both labels")
    found = _share(sensitivity, 0), _share(specificity, 0)
    smooth = _share(sensitivity, 1), _share(specificity, 1)
    if sum(found) <= 1 or sum(smooth) <= 1:
        return Estimate(value=None, reason="the judge is no better than chance on the labelled set")
    value = (flagged / total + found[1] - 1) / (sum(found) - 1)
    sizes = sensitivity.denominator + 2, specificity.denominator + 2
    low, high = _corrected_interval(flagged, total, smooth, sizes)
    value = min(max(value, 0.0), 1.0)
    return Estimate(value=value, low=min(low, value), high=max(high, value))


def _share(rate: Rate, added: int) -> float:
    """Return a share, with `added` successes and as many failures put in."""
    return (rate.numerator + added) / (rate.denominator + 2 * added)


def _corrected_interval(
    flagged: int, total: int, judge: tuple[float, float], sizes: tuple[int, int]
) -> tuple[float, float]:
    square = Z95**2
    size = total + square
    apparent = (flagged + square / 2) / size
    power = sum(judge) - 1
    centre = (apparent + judge[1] - 1) / power
    spreads = [share * (1 - share) / number for share, number in zip(judge, sizes, strict=True)]
    shift = 2 * square * (centre * spreads[0] - (1 - centre) * spreads[1])
    variance = (
        apparent * (1 - apparent) / size + centre**2 * spreads[0] + (1 - centre) ** 2 * spreads[1]
    )
    reach = Z95 * math.sqrt(variance) / power
    low, high = centre + shift - reach, centre + shift + reach
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """First rate minus second, with its 95 % interval.

    `verdict` is `higher` or `lower` (the first against the second) where the interval leaves 0
    out, else `no detectable difference`; `not measured` where a rate has no value.
    """

    value: float | None
    low: float | None
    high: float | None
    verdict: str


def difference(first: Rate | Estimate, second: Rate | Estimate) -> Difference:
    """Compare two rates of independent samples by their intervals (Newcombe's method).

    Works for plain rates and for corrected ones.
    """
    bounds = _bounds(first), _bounds(second)
    if bounds[0] is None or bounds[1] is None:
        return Difference(value=None, low=None, high=None, verdict=NOT_MEASURED)
    (one, one_low, one_high), (two, two_low, two_high) = bounds[0], bounds[1]
    value = one - two
    low = value - math.hypot(one - one_low, two_high - two)
    high = value + math.hypot(one_high - one, two - two_low)
    verdict = HIGHER if low > 0 else LOWER if high < 0 else NO_DIFFERENCE
    return Difference(value=value, low=low, high=high, verdict=verdict)


def _bounds(rate: Rate | Estimate) -> tuple[float, float, float] | None:
    if isinstance(rate, Rate):
        if rate.denominator == 0:
            return None
        return (
            rate.numerator / rate.denominator,
            *wilson_bounds(rate.numerator, rate.denominator),
        )
    if rate.value is None or rate.low is None or rate.high is None:
        return None
    return rate.value, rate.low, rate.high
