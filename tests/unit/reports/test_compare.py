"""Paired differences between two retrievals."""

import pytest
from unit.reports.samples import GROUNDED, measured, row, sample_rows, without_value

from aletheia.reports.compare import (
    BETTER,
    NO_DIFFERENCE,
    NOT_MEASURED,
    TOO_FEW,
    WORSE,
    paired_difference,
    paired_differences,
)
from aletheia.schema.report import MetricScore


def pair(ours, baseline, number=0):
    return row(
        f"r{number}",
        "q?",
        "g",
        **GROUNDED,
        answer="x",
        metrics={} if ours is None else measured(context_recall=ours),
        baseline_metrics={} if baseline is None else measured(context_recall=baseline),
    )


def compared(*pairs):
    return paired_difference(
        "context_recall", [pair(*values, number) for number, values in enumerate(pairs)]
    )


def test_without_a_baseline_there_is_nothing_to_compare():
    assert paired_differences([pair(1.0, None)]) == ()


@pytest.mark.parametrize(
    ("pairs", "verdict", "n", "total"),
    [
        ([(None, 0.5)], NOT_MEASURED, 0, 1),
        ([(0.9, 0.5)], TOO_FEW, 1, 1),
        ([(0.9, 0.5)] * 5, TOO_FEW, 5, 5),
        ([(0.9, 0.5)] * 8, BETTER, 8, 8),
        ([(0.5, 0.9)] * 8, WORSE, 8, 8),
        ([(0.5, 0.5)] * 40, NO_DIFFERENCE, 40, 40),
        ([(0.6, 0.5), (0.5, 0.6)] * 20, NO_DIFFERENCE, 40, 40),
        ([(0.9, 0.5)] * 8 + [(0.9, None), (None, 0.1)], BETTER, 8, 10),
    ],
)
def test_verdicts_and_coverage(pairs, verdict, n, total):
    result = compared(*pairs)

    assert (result.verdict, result.n, result.total) == (verdict, n, total)


def test_equal_differences_give_no_interval_instead_of_a_certain_one():
    result = compared(*[(0.9, 0.5)] * 20)

    assert result.difference == pytest.approx(0.4)
    assert result.low is result.high is None


def test_the_exact_test_counts_all_sign_patterns():
    """Eight equal differences: two of 256 patterns are as extreme."""
    assert compared(*[(0.9, 0.5)] * 8).p_value == pytest.approx(2 / 256, abs=1e-6)


def test_the_interval_holds_the_difference_and_the_result_is_reproducible():
    pairs = [(0.5 + 0.01 * (number % 7), 0.5) for number in range(40)]
    first, second = compared(*pairs), compared(*pairs)

    assert first == second
    assert first.low < first.difference < first.high
    assert first.verdict == BETTER


def test_another_implementation_makes_no_pair():
    other = MetricScore(value=0.1, implementation="other", status="measured")
    rows = [pair(0.9, 0.5).model_copy(update={"baseline_metrics": {"context_recall": other}})]
    result = paired_difference("context_recall", rows)

    assert (result.n, result.total, result.verdict) == (0, 1, NOT_MEASURED)


def test_a_metric_that_applies_on_neither_side_is_left_out():
    nothing = without_value("context_recall", "not_applicable", "no gold answer")
    rows = [
        pair(0.9, 0.5),
        pair(None, None).model_copy(update={"metrics": nothing, "baseline_metrics": nothing}),
    ]

    assert paired_difference("context_recall", rows).total == 1


def test_float_noise_is_no_difference():
    result = compared(*[(0.1 + 0.2, 0.3)] * 10)

    assert (result.p_value, result.verdict) == (1.0, NO_DIFFERENCE)


def test_metrics_stand_in_the_order_of_the_contract():
    names = [pair.metric for pair in paired_differences(sample_rows())]

    assert names == ["context_precision", "context_recall"]
