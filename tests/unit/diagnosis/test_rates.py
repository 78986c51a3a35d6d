"""Rates over traces: what is missing is counted beside them and improves nothing."""

import pytest
from unit.diagnosis.cases import (
    ALL_CELLS,
    EMPTY,
    HEALTHY,
    HONEST,
    OVER_REFUSAL,
    TENTATIVE,
    UNMEASURED,
    WORST,
    diagnose,
)

from aletheia.diagnosis.rates import trace_rates


def test_healthy_among_evaluated():
    found = trace_rates([*ALL_CELLS, HEALTHY])

    assert (found.total, found.evaluated, found.unmeasured) == (7, 7, 0)
    assert (found.healthy.rate.numerator, found.healthy.rate.denominator) == (2, 7)
    assert found.healthy.low == found.healthy.high == pytest.approx(2 / 7)
    assert list(found.cells.values()) == [2, 1, 1, 1, 1, 1]


def test_pending_and_failed_are_in_no_denominator():
    found = trace_rates([HEALTHY], pending=3, failed=2)

    assert (found.total, found.pending, found.failed) == (6, 3, 2)
    assert (found.healthy.rate.value, found.healthy.rate.denominator) == (1.0, 1)


def test_what_is_unmeasured_widens_the_range():
    """Case 23: 1 of 1 with 1 more unknown lies between a half and all."""
    found = trace_rates([HEALTHY, UNMEASURED])

    assert (found.evaluated, found.healthy.total) == (1, 2)
    assert found.healthy.rate.value == 1.0
    assert (found.healthy.low, found.healthy.high) == (0.5, 1.0)


def test_a_trace_known_to_be_ill_cannot_turn_out_healthy():
    assert trace_rates([HEALTHY, diagnose("YY", "N?")]).healthy.high == 0.5


def test_an_empty_response_counts_against_health():
    """A system that returns nothing on hard questions must not look better for it."""
    found = trace_rates([HEALTHY, EMPTY])

    assert (found.evaluated, found.empty_responses) == (2, 1)
    assert found.healthy.rate.value == 0.5


def test_abstentions():
    """Case 43: a system that refuses what the evidence answers is seen."""
    found = trace_rates([HEALTHY, HONEST, OVER_REFUSAL, WORST])

    assert found.healthy.rate.value == 0.25
    assert found.adjusted.rate.value == 0.5
    assert found.honest_abstention.rate.value == found.over_refusal.rate.value == 0.25


def test_an_abstention_of_unknown_kind_may_be_honest():
    unknown = diagnose("?", "", {0: []}, abstained=True)
    found = trace_rates([HEALTHY, unknown])

    assert (found.adjusted.low, found.adjusted.high) == (0.5, 1.0)
    assert found.healthy.high == 0.5


def test_tentative_cells_count_and_are_counted():
    found = trace_rates([HEALTHY, TENTATIVE])

    assert (found.evaluated, found.tentative, found.healthy.tentative) == (2, 1, 1)
    assert list(found.tentative_cells.values()) == [1, 0, 0, 0, 0, 0]


def test_a_gate_can_demand_confident_cells():
    found = trace_rates([HEALTHY, TENTATIVE, diagnose("Y", "n")], confident_only=True)

    assert (found.evaluated, found.unmeasured) == (1, 2)
    assert (found.healthy.low, found.healthy.high) == (pytest.approx(1 / 3), 1.0)


def test_over_nothing_there_is_no_rate():
    found = trace_rates([], pending=1)

    assert (found.healthy.rate.value, found.healthy.low, found.healthy.high) == (None, None, None)
    assert trace_rates([UNMEASURED]).healthy.rate.value is None


def test_the_interval_does_not_collapse():
    """Case 35: 20 of 20 is no certainty."""
    assert trace_rates([HEALTHY] * 20).healthy.rate.low == pytest.approx(0.8389)
