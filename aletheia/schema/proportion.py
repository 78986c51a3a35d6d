"""Rates with their uncertainty."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

from aletheia.schema.report import Rate

Z95: Final = NormalDist().inv_cdf(0.975)
"""Half width of a two-sided 95 % interval in standard errors."""


def wilson_bounds(numerator: int, denominator: int) -> tuple[float, float]:
    """Return the Wilson 95 % interval of a rate. It does not collapse at 0 or 1.

    Raises ZeroDivisionError over nothing: a rate over nothing has no interval.
    """
    share, square = numerator / denominator, Z95**2
    centre = share + square / (2 * denominator)
    spread = Z95 * math.sqrt(
        share * (1 - share) / denominator + square / (4 * denominator * denominator)
    )
    scale = 1 + square / denominator
    low = 0.0 if numerator == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if numerator == denominator else min(1.0, (centre + spread) / scale)
    return low, high


def wilson(numerator: int, denominator: int) -> Rate:
    """Return a rate with its Wilson 95 % interval, four decimals; no value over nothing."""
    if denominator == 0:
        return Rate(value=None, numerator=numerator, denominator=0)
    low, high = wilson_bounds(numerator, denominator)
    return Rate(
        value=round(numerator / denominator, 4),
        numerator=numerator,
        denominator=denominator,
        low=round(low, 4),
        high=round(high, 4),
    )
