"""Yes-or-no measures of two runs: counts, exact McNemar test, interval of the difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from aletheia.reports.compare import (
    MIN_PAIRS,
    NO_DIFFERENCE,
    NOT_MEASURED,
    POWER,
    SIGNIFICANCE,
    TOO_FEW,
    Alternative,
)
from aletheia.reports.comparison_match import RowPair
from aletheia.reports.comparison_modes import seen
from aletheia.reports.comparison_signs import shows_memory
from aletheia.reports.tally import answered, evidence_holds_answer, replied
from aletheia.schema.comparison import RateDifference
from aletheia.schema.diagnosis import FailureCell
from aletheia.schema.proportion import Z95, wilson
from aletheia.schema.report import DetailedResult
from aletheia.schema.verification import Mode

HIGHER: Final = "higher"
LOWER: Final = "lower"

Test = Callable[[DetailedResult], bool | None]
"""Whether a row has something; None leaves the row out."""


def has_passed(row: DetailedResult) -> bool | None:
    """Tell whether a reply passed verification; None without a reply or a verdict."""
    return row.verified if replied(row) else None


def is_right(row: DetailedResult) -> bool | None:
    """Tell whether a question ended in an accepted right answer or a warranted abstention."""
    if not replied(row):
        return None
    return (answered(row) and row.correct is True) or row.abstention_kind == "warranted"


def has_abstained(row: DetailedResult) -> bool | None:
    """Tell whether a reply is an abstention."""
    return row.abstained if replied(row) else None


def has_over_refused(row: DetailedResult) -> bool | None:
    """Tell whether a reply abstains over evidence that holds the answer; None where it lacks it."""
    return row.abstained if replied(row) and evidence_holds_answer(row) is True else None


def is_healthy(row: DetailedResult) -> bool | None:
    """Tell whether an accepted reply is complete and grounded; None where it has no cell."""
    if row.diagnosis is None or row.diagnosis.failure_cell is None:
        return None
    return row.diagnosis.failure_cell is FailureCell.COMPLETE_GROUNDED


def _remembers(row: DetailedResult) -> bool | None:
    return shows_memory(seen(row, Mode.STRICT))


RATES: Final[dict[str, Test]] = {
    "pass_rate": has_passed,
    "accuracy": is_right,
    "abstention": has_abstained,
    "over_refusal": has_over_refused,
    "healthy": is_healthy,
    "signs_of_memory": _remembers,
}
"""What is counted in both runs; None leaves a row out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """A yes-or-no measure over `n` pairs: how often only one side has it."""

    n: int
    first: int
    second: int
    gained: int
    lost: int

    @property
    def difference(self) -> float | None:
        """Second rate minus first."""
        return (self.gained - self.lost) / self.n if self.n else None

    def p_value(self, alternative: Alternative = "two-sided") -> float | None:
        """McNemar's test, exact: whether gains and losses are equally likely."""
        if not self.n:
            return None
        if not self.gained + self.lost:
            return 1.0
        from scipy.stats import binomtest

        test = binomtest(self.gained, self.gained + self.lost, 0.5, alternative=alternative)
        return round(float(test.pvalue), 6)

    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the difference (Bonett and Price, 2012): no collapse without changes."""
        if not self.n:
            return None
        gained, lost = self._shares()
        centre, reach = gained - lost, Z95 * self._error()
        return max(centre - reach, -1.0), min(centre + reach, 1.0)

    def detectable(
        self, alternative: Alternative = "two-sided", alpha: float = SIGNIFICANCE
    ) -> float | None:
        """Size of a difference that the test finds with a chance of 80 %; None if none is.

        It is assumed that as many rows change for no reason as changed here in the rarer way.
        """
        noise = (min(self.gained, self.lost) + 0.5) / (self.n + 1)
        level = alpha / 2 if alternative == "two-sided" else alpha
        power = partial(_power, self.n, noise, level)
        most = 1 - 2 * noise
        if not self.n or power(most) < POWER:
            return None
        from scipy.optimize import bisect

        return round(float(bisect(lambda size: power(size) - POWER, 0.0, most, xtol=1e-5)), 4)

    def _shares(self) -> tuple[float, float]:
        return (self.gained + 1) / (self.n + 2), (self.lost + 1) / (self.n + 2)

    def _error(self) -> float:
        gained, lost = self._shares()
        return math.sqrt((gained + lost - (gained - lost) ** 2) / (self.n + 2))


def _power(n: int, noise: float, level: float, size: float) -> float:
    """Chance that McNemar's test finds a difference of `size`, over all numbers of changes."""
    import numpy as np
    from scipy.stats import binom

    number = np.arange(n + 1)
    changed = size + 2 * noise
    needed = binom.isf(level, number, 0.5)
    found = binom.sf(needed, number, (size + noise) / changed)
    return float(np.sum(binom.pmf(number, n, changed) * found))


def changes(rows: Sequence[RowPair], test: Test) -> tuple[Changes, int]:
    """Count a measure in both runs; also return how many pairs have it on a side."""
    return changes_of([(test(one), test(two)) for one, two in rows])


def changes_of(sides: Sequence[tuple[bool | None, bool | None]]) -> tuple[Changes, int]:
    """Count what is known on both sides; also return how many pairs have it on a side."""
    total = sum(one is not None or two is not None for one, two in sides)
    both = [(one, two) for one, two in sides if one is not None and two is not None]
    found = Changes(
        n=len(both),
        first=sum(one for one, _ in both),
        second=sum(two for _, two in both),
        gained=sum(two and not one for one, two in both),
        lost=sum(one and not two for one, two in both),
    )
    return found, total


def rate_difference(name: str, rows: Sequence[RowPair], test: Test) -> RateDifference:
    """Compare one rate over the pairs that have it on both sides."""
    return difference_of(name, [(test(one), test(two)) for one, two in rows])


def difference_of(name: str, sides: Sequence[tuple[bool | None, bool | None]]) -> RateDifference:
    """Compare what holds on two sides; None leaves a pair out."""
    found, total = changes_of(sides)
    low, high = found.interval() or (None, None)
    p_value = found.p_value()
    return RateDifference(
        name=name,
        n=found.n,
        total=total,
        first=wilson(found.first, found.n),
        second=wilson(found.second, found.n),
        gained=found.gained,
        lost=found.lost,
        difference=_rounded(found.difference),
        low=_rounded(low),
        high=_rounded(high),
        p_value=p_value,
        detectable=found.detectable(),
        verdict=verdict_of(found.n, found.difference, p_value),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def verdict_of(n: int, difference: float | None, p_value: float | None) -> str:
    """Say what a test found; the test decides, not the interval."""
    if n == 0 or difference is None:
        return NOT_MEASURED
    if n < MIN_PAIRS or p_value is None:
        return TOO_FEW
    if p_value >= SIGNIFICANCE or difference == 0:
        return NO_DIFFERENCE
    return HIGHER if difference > 0 else LOWER
