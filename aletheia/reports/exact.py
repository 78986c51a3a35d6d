"""Rates with the exact interval of Clopper and Pearson, which never covers too little.

Wilson's interval is right on average over all rates: at some it holds the rate in fewer than 95 of
100 runs. Where a rate is a finding that a run is judged by, the exact one stands in its place. It
is a little wider.
"""

from __future__ import annotations

import math
from typing import Final

from aletheia.schema.report import Rate

_TAIL: Final = 0.025
_STEPS: Final = 10_000
"""Bounds have four decimals, and are rounded away from the rate."""


def exact_bounds(numerator: int, denominator: int) -> tuple[float, float]:
    """Return the Clopper-Pearson 95 % interval of a rate, from 0 or up to 1 at the ends.

    Raises ZeroDivisionError over nothing: a rate over nothing has no interval.
    """
    if denominator == 0:
        raise ZeroDivisionError("a rate over nothing has no interval")
    from scipy.stats import beta

    yes, no = numerator, denominator - numerator
    low = float(beta.ppf(_TAIL, yes, no + 1)) if yes else 0.0
    high = float(beta.ppf(1 - _TAIL, yes + 1, no)) if no else 1.0
    return low, high


def exact(numerator: int, denominator: int) -> Rate:
    """Return a rate with its Clopper-Pearson 95 % interval; no value over nothing."""
    if denominator == 0:
        return Rate(value=None, numerator=numerator, denominator=0)
    low, high = exact_bounds(numerator, denominator)
    return Rate(
        value=round(numerator / denominator, 4),
        numerator=numerator,
        denominator=denominator,
        low=math.floor(low * _STEPS) / _STEPS,
        high=math.ceil(high * _STEPS) / _STEPS,
    )
