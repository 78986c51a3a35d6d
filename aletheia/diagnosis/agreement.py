"""How good a judge is, measured against labels of people and against itself.

Raw agreement flatters a judge where one label is common: so chance-corrected agreement, the base
rate and the judge that always says the same stand beside it.

What its errors do to a rate is in `aletheia.diagnosis.correction`, named here too.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aletheia.diagnosis.correction import (
    HIGHER,
    LOWER,
    NO_DIFFERENCE,
    NOT_MEASURED,
    Difference,
    Estimate,
    corrected_rate,
    difference,
)
from aletheia.schema.judgement import Verdict
from aletheia.schema.proportion import Z95, wilson, wilson_bounds
from aletheia.schema.report import Rate

__all__ = [
    "HIGHER",
    "LOWER",
    "NOT_MEASURED",
    "NO_DIFFERENCE",
    "Agreement",
    "Confusion",
    "Difference",
    "Estimate",
    "FittedThreshold",
    "LabelledItem",
    "RepeatedItem",
    "Stability",
    "agreement",
    "balanced_accuracy",
    "confusion",
    "corrected_rate",
    "difference",
    "fit_threshold",
    "in_first_half",
    "kappa",
    "stability",
]

# A variance that is nothing but the noise of floating sums.
_NO_ERROR: Final = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledItem:
    """One item with the label of a person and the verdict of the judge.

    `verdict` None = unmeasured. `score` in [0, 1] is how well the judge holds it supported.
    """

    id: str
    label: Verdict
    verdict: Verdict | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Counts of label and verdict; `Y` is positive."""

    true_positive: int = 0
    false_negative: int = 0
    false_positive: int = 0
    true_negative: int = 0

    @property
    def measured(self) -> int:
        """Items with a verdict."""
        return self.positive + self.negative

    @property
    def positive(self) -> int:
        """Items that the label says are Y."""
        return self.true_positive + self.false_negative

    @property
    def negative(self) -> int:
        """Items that the label says are N."""
        return self.false_positive + self.true_negative

    @property
    def right(self) -> int:
        """Items where verdict and label agree."""
        return self.true_positive + self.true_negative


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A judge beside its labels.

    `base_rate` is the share of Y among the labels of measured items, `constant` the raw agreement
    of a judge that always gives the commoner label. `sensitivity` is the share of Y found among
    labels Y, `specificity` that of N among N; `balanced` is their mean. `disagreements` are in
    the order of the items, `unmeasured` are ids.
    """

    total: int
    confusion: Confusion
    raw: Rate
    kappa: Estimate
    base_rate: Rate
    constant: float | None
    sensitivity: Rate
    specificity: Rate
    balanced: float | None
    disagreements: tuple[LabelledItem, ...]
    unmeasured: tuple[str, ...]


def agreement(items: Iterable[LabelledItem]) -> Agreement:
    """Compare verdicts with labels. Items without a verdict are listed, and in no figure."""
    listed = list(items)
    measured = [item for item in listed if item.verdict is not None]
    table = confusion(measured)
    return Agreement(
        total=len(listed),
        confusion=table,
        raw=wilson(table.right, table.measured),
        kappa=kappa(table),
        base_rate=wilson(table.positive, table.measured),
        constant=_ratio(max(table.positive, table.negative), table.measured),
        sensitivity=wilson(table.true_positive, table.positive),
        specificity=wilson(table.true_negative, table.negative),
        balanced=balanced_accuracy(table),
        disagreements=tuple(item for item in measured if item.verdict != item.label),
        unmeasured=tuple(item.id for item in listed if item.verdict is None),
    )


def confusion(items: Iterable[LabelledItem]) -> Confusion:
    """Count the items that have a verdict."""
    counts = Counter((item.label, item.verdict) for item in items)
    return Confusion(
        true_positive=counts["Y", "Y"],
        false_negative=counts["Y", "N"],
        false_positive=counts["N", "Y"],
        true_negative=counts["N", "N"],
    )


def balanced_accuracy(table: Confusion) -> float | None:
    """Return the mean of sensitivity and specificity; None where one label does not occur."""
    if not table.positive or not table.negative:
        return None
    return (table.true_positive / table.positive + table.true_negative / table.negative) / 2


def kappa(table: Confusion) -> Estimate:
    """Return Cohen's kappa with an interval.

    The interval is that of the large-sample variance. Where that variance is nothing (no
    disagreement, or a constant judge) it is the Wilson interval of raw agreement, rescaled: a
    handful of items that all agree is no certainty. No value where only one label and one verdict
    occur, or nothing was measured.
    """
    n = table.measured
    if n == 0:
        return Estimate(value=None, reason="nothing was measured")
    said = table.true_positive + table.false_positive
    by_chance = table.positive * said + table.negative * (n - said)  # of n * n pairs
    if by_chance == n * n:
        return Estimate(value=None, reason="labels and verdicts are all the same")
    value = (table.right * n - by_chance) / (n * n - by_chance)
    chance = by_chance / (n * n)
    rows, columns = (table.positive / n, table.negative / n), (said / n, 1 - said / n)
    error = math.sqrt(max(_kappa_variance(table, rows, columns, value, chance), 0.0))
    if error < _NO_ERROR:
        low, high = ((bound - chance) / (1 - chance) for bound in wilson_bounds(table.right, n))
    else:
        low, high = value - Z95 * error, value + Z95 * error
    return Estimate(value=value, low=max(low, -1.0), high=min(high, 1.0))


def _kappa_variance(
    table: Confusion,
    rows: tuple[float, float],
    columns: tuple[float, float],
    value: float,
    chance: float,
) -> float:
    """Fleiss, Cohen and Everitt (1969), two categories."""
    n = table.measured
    cells = (
        (table.true_positive / n, table.false_negative / n),
        (table.false_positive / n, table.true_negative / n),
    )
    agreed = sum(cells[i][i] * (1 - (rows[i] + columns[i]) * (1 - value)) ** 2 for i in range(2))
    apart = (1 - value) ** 2 * sum(
        cells[i][1 - i] * (columns[i] + rows[1 - i]) ** 2 for i in range(2)
    )
    rest = (value - chance * (1 - value)) ** 2
    return (agreed + apart - rest) / ((1 - chance) ** 2 * n)


# --- a threshold that is not tested on what it was fitted on -----------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedThreshold:
    """A threshold on the score, and how it does on items it has not seen.

    Y from `threshold` on. `fitted` is the balanced accuracy on the `fit_items` it was chosen on,
    `tested` all figures on the rest. `threshold` None: it could not be fitted, `reason` says why.
    """

    threshold: float | None
    fit_items: int
    fitted: float | None = None
    tested: Agreement
    reason: str | None = None


def fit_threshold(items: Iterable[LabelledItem]) -> FittedThreshold:
    """Choose the threshold of best balanced accuracy on one half, and test it on the other.

    The halves come from a hash of the id: the same item always lies in the same half. Items
    without a score count as unmeasured in the test. Of several best thresholds the middle one is
    taken.
    """
    listed = list(items)
    fit = [item for item in listed if item.score is not None and in_first_half(item.id)]
    test = [item for item in listed if not in_first_half(item.id)]
    labels = {item.label for item in fit}
    if len(labels) < 2:
        return FittedThreshold(
            threshold=None,
            fit_items=len(fit),
            tested=agreement([]),
            reason="the half to fit on does not hold both labels with a score",
        )
    threshold, fitted = _best_threshold(fit)
    return FittedThreshold(
        threshold=threshold,
        fit_items=len(fit),
        fitted=fitted,
        tested=agreement(_judged_at(test, threshold)),
    )


def in_first_half(item_id: str) -> bool:
    """Whether an item belongs to the half that thresholds are fitted on."""
    return hashlib.sha256(item_id.encode()).digest()[0] % 2 == 0


def _judged_at(items: Iterable[LabelledItem], threshold: float) -> list[LabelledItem]:
    return [
        LabelledItem(
            id=item.id,
            label=item.label,
            score=item.score,
            verdict=None if item.score is None else "Y" if item.score >= threshold else "N",
        )
        for item in items
    ]


def _best_threshold(items: Sequence[LabelledItem]) -> tuple[float, float]:
    """Sweep the scores downwards once; a threshold lies in the middle between two of them."""
    positive = sum(item.label == "Y" for item in items)
    negative = len(items) - positive
    by_score: dict[float, Counter[Verdict]] = {}
    for item in items:
        by_score.setdefault(item.score or 0.0, Counter())[item.label] += 1
    scores = sorted(by_score, reverse=True)
    hits, misses = 0, 0
    options: list[tuple[float, float]] = []
    for score, below in zip(scores, [*scores[1:], None], strict=True):
        hits += by_score[score]["Y"]
        misses += by_score[score]["N"]
        found = (hits / positive + 1 - misses / negative) / 2
        options.append((score if below is None else (score + below) / 2, found))
    best = max(value for _, value in options)
    tied = [threshold for threshold, value in options if math.isclose(value, best)]
    return tied[len(tied) // 2], best


# --- repeats ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedItem:
    """One item judged several times.

    `verdict` is what more than half of all repeats said, None where nothing got so far.
    `agreement` is the share of repeats that said the commonest verdict, `flipped` that both were
    said.
    """

    id: str
    verdict: Verdict | None
    agreement: float
    repeats: int
    unmeasured: int
    flipped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """How much a judge agrees with itself.

    `flip_rate` is the share of items that got both verdicts, among those with at least two.
    """

    items: tuple[RepeatedItem, ...]
    flip_rate: Rate
    mean_agreement: float | None


def stability(votes: Mapping[str, Sequence[Verdict | None]]) -> Stability:
    """Take the majority of repeats for each item, in the order of `votes`."""
    items = tuple(_repeated(name, verdicts) for name, verdicts in votes.items())
    comparable = [item for item in items if item.repeats - item.unmeasured > 1]
    return Stability(
        items=items,
        flip_rate=wilson(sum(item.flipped for item in comparable), len(comparable)),
        mean_agreement=_ratio(math.fsum(item.agreement for item in items), len(items)),
    )


def _repeated(name: str, verdicts: Sequence[Verdict | None]) -> RepeatedItem:
    counts = Counter(verdict for verdict in verdicts if verdict is not None)
    best, count = counts.most_common(1)[0] if counts else (None, 0)
    return RepeatedItem(
        id=name,
        verdict=best if count * 2 > len(verdicts) else None,
        agreement=count / len(verdicts) if verdicts else 0.0,
        repeats=len(verdicts),
        unmeasured=len(verdicts) - counts.total(),
        flipped=len(counts) > 1,
    )


def _ratio(numerator: float, denominator: int) -> float | None:
    return numerator / denominator if denominator else None
