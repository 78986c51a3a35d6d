"""Pairs of values over the same questions: difference, interval and test.

The mean difference gets a bootstrap interval and a paired permutation test. Both are computed
with a fixed seed, the test exactly while there are at most 13 pairs. The test decides the verdict.
Two retrievals of one run are compared here; two runs in `aletheia.reports.comparison`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, stdev
from typing import Final, Literal

from aletheia.schema.report import METRICS, DetailedResult, MetricScore, PairedDifference

BETTER = "better than the baseline"
WORSE = "worse than the baseline"
NO_DIFFERENCE = "no detectable difference"
TOO_FEW = "too few pairs to tell"
NOT_MEASURED = "not measured"

SIGNIFICANCE = 0.05

MIN_PAIRS = 6
"""With five pairs the smallest two-sided p-value is 2/32, so nothing could be detected."""

MIN_PAIRS_FOR_INTERVAL = 10
"""A bootstrap over fewer pairs is far too narrow."""

RESAMPLES = 9999

POWER: Final = 0.80
"""Chance with which a difference that is called detectable would have been found."""

Pair = tuple[float, float]
"""The value of interest and the one it is compared with."""

Alternative = Literal["two-sided", "less", "greater"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedStatistics:
    """Pairs `(ours, baseline)` summed up; `difference` is the mean of ours minus baseline.

    `low` and `high` are a 95 % bootstrap interval, `p_value` a paired permutation test, and
    `detectable` the size that a test at the level asked for finds with a chance of 80 %. None
    where a figure cannot be estimated.
    """

    n: int
    mean: float | None
    baseline_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    detectable: float | None


def paired_statistics(
    pairs: Sequence[Pair],
    *,
    seed: int = 0,
    alternative: Alternative = "two-sided",
    alpha: float = SIGNIFICANCE,
) -> PairedStatistics:
    """Compare the values of pairs. `less` asks whether ours is below the baseline."""
    differences = [round(ours - baseline, 12) for ours, baseline in pairs]
    low, high = _interval(differences, seed)
    return PairedStatistics(
        n=len(pairs),
        mean=_mean([ours for ours, _ in pairs]),
        baseline_mean=_mean([baseline for _, baseline in pairs]),
        difference=_mean(differences),
        low=low,
        high=high,
        p_value=_permutation(differences, seed, alternative),
        detectable=_detectable(differences, alternative, alpha),
    )


def _detectable(
    differences: Sequence[float], alternative: Alternative, alpha: float
) -> float | None:
    """Return the difference that the test finds with a chance of 80 %, for this spread and number.

    Quantile of the level plus quantile of the power, times the standard error; but no less than
    it takes for enough pairs to differ at all. None below two pairs, and where all values agree:
    then their spread is not known.
    """
    if len(differences) < 2 or _all_equal(differences):
        return None
    level = alpha / 2 if alternative == "two-sided" else alpha
    error = stdev(differences) / math.sqrt(len(differences))
    normal = NormalDist()
    size = (normal.inv_cdf(1 - level) + normal.inv_cdf(POWER)) * error
    apart = [abs(value) for value in differences if value]
    needed = math.floor(math.log2(1 / level)) + 1
    if needed > len(differences):
        return None
    return round(max(size, needed / len(differences) * math.fsum(apart) / len(apart)), 6)


def paired_differences(
    rows: Sequence[DetailedResult], *, seed: int = 0
) -> tuple[PairedDifference, ...]:
    """Every metric that some row carries for the baseline; empty when there is no baseline."""
    named = {name for row in rows for name in row.baseline_metrics}
    ordered = [*(name for name in METRICS if name in named), *sorted(named - set(METRICS))]
    return tuple(paired_difference(name, rows, seed=seed) for name in ordered)


def paired_difference(
    metric: str, rows: Iterable[DetailedResult], *, seed: int = 0
) -> PairedDifference:
    """One metric against its baseline.

    A pair needs both values, from one implementation. A row that lacks one of them stays in
    `total`; only a row to which the metric applies on neither side is left out.
    """
    sides = [(row.metrics.get(metric), row.baseline_metrics.get(metric)) for row in rows]
    sides = [side for side in sides if any(_applies(score) for score in side)]
    pairs = [pair for side in sides if (pair := _pair(*side)) is not None]
    return _difference(metric, pairs, len(sides), seed)


def _applies(score: MetricScore | None) -> bool:
    return score is not None and score.status != "not_applicable"


def _pair(ours: MetricScore | None, baseline: MetricScore | None) -> Pair | None:
    if ours is None or baseline is None or ours.value is None or baseline.value is None:
        return None
    if ours.implementation != baseline.implementation:
        return None
    return ours.value, baseline.value


def _difference(metric: str, pairs: Sequence[Pair], total: int, seed: int) -> PairedDifference:
    found = paired_statistics(pairs, seed=seed)
    return PairedDifference(
        metric=metric,
        mean=found.mean,
        baseline_mean=found.baseline_mean,
        difference=found.difference,
        low=found.low,
        high=found.high,
        p_value=found.p_value,
        n=found.n,
        total=total,
        verdict=_verdict(found.n, found.difference, found.p_value),
    )


def _verdict(n: int, mean: float | None, p_value: float | None) -> str:
    if n == 0 or mean is None:
        return NOT_MEASURED
    if n < MIN_PAIRS or p_value is None:
        return TOO_FEW
    if p_value >= SIGNIFICANCE or mean == 0:
        return NO_DIFFERENCE
    return BETTER if mean > 0 else WORSE


def _mean(values: Sequence[float]) -> float | None:
    return round(math.fsum(values) / len(values), 6) if values else None


def _interval(differences: Sequence[float], seed: int) -> tuple[float | None, float | None]:
    """95 % bootstrap interval; none when all values agree: resampling would call that certain."""
    if len(differences) < MIN_PAIRS_FOR_INTERVAL or _all_equal(differences):
        return None, None
    import numpy as np
    from scipy.stats import bootstrap

    bounds = bootstrap(
        (np.asarray(differences),),
        np.mean,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=512,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return round(float(bounds.low), 6), round(float(bounds.high), 6)


def _permutation(differences: Sequence[float], seed: int, alternative: Alternative) -> float | None:
    """p-value under random signs; exact while all sign patterns can be counted."""
    if len(differences) < 2:
        return None
    if not any(differences):
        return 1.0
    import numpy as np
    from scipy.stats import permutation_test

    result = permutation_test(
        (np.asarray(differences),),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=512,
        alternative=alternative,
        rng=np.random.default_rng(seed),
    )
    return round(float(result.pvalue), 6)


def _all_equal(values: Sequence[float]) -> bool:
    return all(math.isclose(value, values[0], abs_tol=1e-12) for value in values)
