"""The exact interval: right against statsmodels and R, rounded away from the rate."""

from __future__ import annotations

import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from aletheia.reports.exact import exact, exact_bounds


@pytest.mark.parametrize(
    ("numerator", "denominator", "low", "high"),
    [
        # binom.test(x, n)$conf.int in R
        (0, 10, 0.0, 0.3084971),
        (1, 10, 0.002528579, 0.4450161),
        (5, 10, 0.1870860, 0.8129140),
        (10, 10, 0.6915029, 1.0),
        (3, 97, 0.006429, 0.087736),
    ],
)
def test_known_values(numerator, denominator, low, high):
    found = exact_bounds(numerator, denominator)
    other = proportion_confint(numerator, denominator, method="beta")

    assert found == pytest.approx((low, high), abs=2e-5)
    assert found == pytest.approx(other, abs=1e-9)


def test_bounds_are_rounded_away_from_the_rate():
    found = exact(1, 10)

    assert (found.value, found.low, found.high) == (0.1, 0.0025, 0.4451)
    assert exact(0, 0).low is None


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("asked", [12, 66, 97])
def test_it_holds_every_rate_in_at_least_95_of_100_runs(asked, rate):
    bounds = [exact(k, asked) for k in range(asked + 1)]
    chance = sum(
        binom.pmf(k, asked, rate)
        for k, found in enumerate(bounds)
        if (found.low or 0) <= rate <= (found.high or 0)
    )

    assert chance >= 0.95


def test_nothing_has_no_interval():
    with pytest.raises(ZeroDivisionError):
        exact_bounds(0, 0)
