"""Yes-or-no measures of two runs, held against statsmodels, scipy and exact enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multinomial
from statsmodels.stats.contingency_tables import mcnemar
from unit.reports.samples import ABSTAINED, GROUNDED, row

from aletheia.reports.compare import NO_DIFFERENCE, NOT_MEASURED, TOO_FEW
from aletheia.reports.comparison_rates import (
    HIGHER,
    LOWER,
    RATES,
    Changes,
    has_passed,
    rate_difference,
)
from aletheia.schema.proportion import wilson


def of(both: int, gained: int, lost: int, neither: int) -> Changes:
    return Changes(
        n=both + gained + lost + neither,
        first=both + lost,
        second=both + gained,
        gained=gained,
        lost=lost,
    )


TABLES = [(40, 3, 9, 8), (10, 0, 6, 0), (10, 6, 0, 0), (30, 5, 5, 0), (1, 1, 2, 1), (0, 12, 3, 40)]


@pytest.mark.parametrize("table", TABLES)
def test_the_test_agrees_with_statsmodels(table: tuple[int, int, int, int]) -> None:
    both, gained, lost, neither = table
    expected = mcnemar([[both, lost], [gained, neither]], exact=True).pvalue

    assert of(*table).p_value() == pytest.approx(expected, abs=1e-6)


def test_one_sided_asks_for_losses_only() -> None:
    """Six losses and no gain: one of 64 outcomes is as bad."""
    assert of(10, 0, 6, 0).p_value("less") == pytest.approx(1 / 64, abs=1e-6)
    assert of(10, 6, 0, 0).p_value("less") == pytest.approx(1.0)


@pytest.mark.parametrize("table", [(10, 0, 0, 0), (0, 0, 0, 10), (5, 0, 0, 5)])
def test_without_changes_nothing_differs_and_the_interval_does_not_collapse(
    table: tuple[int, int, int, int],
) -> None:
    """Twenty of twenty twice is no proof that both are always right."""
    found = of(*table)
    low, high = found.interval() or (0.0, 0.0)

    assert found.p_value() == 1.0
    assert low < 0 < high


def test_over_nothing_there_is_no_figure() -> None:
    found = of(0, 0, 0, 0)

    assert (found.difference, found.p_value(), found.interval(), found.detectable()) == (None,) * 4


@pytest.mark.parametrize(
    ("n", "gain", "loss"), [(20, 0.1, 0.2), (30, 0.02, 0.02), (40, 0.3, 0.05), (20, 0.0, 0.3)]
)
def test_the_interval_covers_the_truth_over_all_outcomes(n: int, gain: float, loss: float) -> None:
    """Exact coverage: every possible table, weighted by its probability."""
    covered = 0.0
    for gained in range(n + 1):
        for lost in range(n + 1 - gained):
            chance = multinomial.pmf(
                [gained, lost, n - gained - lost], n, [gain, loss, 1 - gain - loss]
            )
            low, high = Changes(
                n=n, first=lost, second=gained, gained=gained, lost=lost
            ).interval() or (1, 0)
            covered += chance * (low <= gain - loss <= high)

    assert covered >= 0.93


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_what_is_called_detectable_is_found_four_times_in_five(alternative: str) -> None:
    """Simulated: that size of loss, with the noise of the observed table, 4,000 runs."""
    n, noise = 60, 2.5 / 61
    size = of(50, 2, 2, 6).detectable(alternative)  # type: ignore[arg-type]
    rng = np.random.default_rng(5)
    tables = rng.multinomial(n, [noise, size + noise, 1 - size - 2 * noise], size=4000)
    counts = {(int(gained), int(lost)) for gained, lost, _ in tables}
    p = {pair: of(0, *pair, n - sum(pair)).p_value(alternative) for pair in counts}  # type: ignore[arg-type]
    found = sum(p[int(gained), int(lost)] < 0.05 for gained, lost, _ in tables) / 4000

    assert found == pytest.approx(0.8, abs=0.03)


def test_where_no_result_could_be_significant_no_size_is_detectable() -> None:
    """Two-sided, five changes in one direction have p = 0.0625."""
    assert of(5, 0, 0, 0).detectable() is None
    assert (of(9, 0, 0, 0).detectable() or 0) > 6 / 9


def rows(*passed: bool | None) -> list[object]:
    return [
        row(
            f"q{number}",
            "q?",
            "g",
            **{**GROUNDED, "verified": value},
            answer="x",
            warnings=("uncited_entities",),
        )
        for number, value in enumerate(passed)
    ]


@pytest.mark.parametrize(
    ("first", "second", "verdict", "n", "total"),
    [
        ([None] * 8, [True] * 8, NOT_MEASURED, 0, 8),
        ([True] * 5, [False] * 5, TOO_FEW, 5, 5),
        ([True] * 8, [False] * 8, LOWER, 8, 8),
        ([False] * 8, [True] * 8, HIGHER, 8, 8),
        ([True] * 8, [True] * 7 + [False], NO_DIFFERENCE, 8, 8),
        ([True] * 8 + [None], [False] * 8 + [True], LOWER, 8, 9),
    ],
)
def test_verdicts_and_coverage(
    first: list[bool | None], second: list[bool | None], verdict: str, n: int, total: int
) -> None:
    pairs = list(zip(rows(*first), rows(*second), strict=True))
    found = rate_difference("pass_rate", pairs, has_passed)  # type: ignore[arg-type]

    assert (found.verdict, found.n, found.total) == (verdict, n, total)
    assert found.first == wilson(sum(map(bool, first[:n])), n)


ERROR = {"category": "error", "grounding_rejected": False, "error": "no reply"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (ERROR, dict.fromkeys(RATES)),
        (
            {**GROUNDED, "answer": "x", "correct": True, "gold_in_evidence": True},
            {"pass_rate": True, "accuracy": True, "abstention": False, "over_refusal": False},
        ),
        (
            {**GROUNDED, "answer": "x", "correct": True, "grounding_rejected": True},
            {"pass_rate": True, "accuracy": False, "over_refusal": None},
        ),
        (
            {**ABSTAINED, "abstention_kind": "warranted", "gold_in_evidence": False},
            {"accuracy": True, "abstention": True, "over_refusal": None, "signs_of_memory": None},
        ),
        (
            {**ABSTAINED, "abstention_kind": "over_refusal", "gold_in_evidence": True},
            {"accuracy": False, "abstention": True, "over_refusal": True},
        ),
        (
            {**GROUNDED, "answer": "x", "correct": True, "gold_in_evidence": False},
            {"signs_of_memory": True, "over_refusal": None},
        ),
    ],
)
def test_what_each_rate_counts(fields: dict[str, object], expected: dict[str, object]) -> None:
    """A row without a reply counts in no rate; one that cannot tell is left out, not counted."""
    found = {name: test(row("q", "q?", "g", **fields)) for name, test in RATES.items()}

    assert {name: found[name] for name in expected} == expected


def test_figures_are_finite() -> None:
    for table in TABLES:
        found = of(*table)
        low, high = found.interval() or (math.nan, math.nan)
        assert -1 <= low <= (found.difference or 0) <= high <= 1
