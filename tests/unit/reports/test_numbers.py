"""How numbers are written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aletheia.reports import numbers


@pytest.mark.parametrize(
    ("numerator", "denominator", "rate"),
    [
        (58, 70, 0.83),
        (7, 70, 0.10),
        (3, 70, 0.04),
        (2, 70, 0.03),
        (1, 8, 0.13),
        (3, 8, 0.38),
        (0, 5, 0.0),
        (5, 5, 1.0),
        (0, 0, None),
    ],
)
def test_rates_have_two_decimals_and_ties_go_up(numerator, denominator, rate):
    assert numbers.rounded_rate(numerator, denominator) == rate


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (1.0, "1.00"),
        (0.005, "0.01"),
        (0.125, "0.13"),
        (0.7, "0.70"),
        (0.999, ">0.99"),
        (0.001, "<0.01"),
        (None, "–"),
    ],
)
def test_scores_never_reach_a_bound_they_do_not_have(value, text):
    assert numbers.score(value) == text


@pytest.mark.parametrize(
    ("numerator", "denominator", "text"),
    [
        (58, 70, "83%"),
        (1, 8, "13%"),
        (999, 1000, ">99%"),
        (1, 1000, "<1%"),
        (0, 1000, "0%"),
        (1000, 1000, "100%"),
        (0, 0, "–"),
    ],
)
def test_percentages_never_reach_a_bound_they_do_not_have(numerator, denominator, text):
    assert numbers.percent(numerator, denominator) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.8286, "83%"), (1.0, "100%"), (0.999, ">99%"), (0.001, "<1%"), (0.0, "0%"), (None, "–")],
)
def test_rates_as_percentages(value, text):
    assert numbers.percent_of(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(0.72, 0.97, "0.72–0.97"), (0.5, 0.5, "0.50"), (None, 0.5, "–"), (0.0, 1.0, "0.00–1.00")],
)
def test_intervals(low, high, text):
    assert numbers.interval(low, high) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0.0, "0.0 ms"),
        (0.36, "0.4 ms"),
        (9.94, "9.9 ms"),
        (9.96, "10 ms"),
        (999.4, "999 ms"),
        (999.6, "1.0 s"),
        (1294.1, "1.3 s"),
        (59_949, "59.9 s"),
        (59_960, "1 min 0 s"),
        (185_000, "3 min 5 s"),
        (3_720_000, "1 h 2 min"),
        (None, "–"),
    ],
)
def test_durations_are_in_the_unit_a_person_would_use(milliseconds, text):
    assert numbers.duration(milliseconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.24, "+0.24"),
        (-0.05, "−0.05"),
        (0.0, "0.00"),
        (0.001, "+<0.01"),
        (-0.001, "−<0.01"),
        (None, "–"),
    ],
)
def test_differences_carry_their_sign(value, text):
    assert numbers.signed(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0001, "p < 0.001"), (0.0345, "p = 0.035"), (1.0, "p = 1.000")]
)
def test_p_values(value, text):
    assert numbers.p_value(value) == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (numbers.missing("no rows"), "– (no rows)"),
        (numbers.score(None, "judge failed"), "– (judge failed)"),
        (numbers.percent(0, 0, "no rows"), "– (no rows)"),
        (numbers.signed_interval(-0.1, 0.2), "−0.10 to +0.20"),
        (numbers.count_of(1234, 56789), "1,234 of 56,789"),
        (numbers.plural(1, "reply", "replies"), "1 reply"),
        (numbers.plural(2, "reply", "replies"), "2 replies"),
        (numbers.plural(0, "question"), "0 questions"),
        (numbers.moment("2026-01-02T03:04:05+00:00"), "2026-01-02 03:04 UTC"),
        (numbers.moment("2026-01-02T03:04:05"), "2026-01-02 03:04"),
        (numbers.moment("some day"), "some day"),
    ],
)
def test_small_phrases(written, text):
    assert written == text


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 10_000))
def test_a_rate_is_within_half_a_hundredth(numerator, denominator):
    numerator = min(numerator, denominator)
    rate = numbers.rounded_rate(numerator, denominator)

    assert rate is not None
    assert abs(rate - numerator / denominator) <= 0.005 + 1e-12


@settings(deadline=None)
@given(st.floats(0, 1))
def test_a_score_shown_as_a_bound_is_that_bound(value):
    assert (numbers.score(value) == "1.00") == (value == 1.0)
    assert (numbers.score(value) == "0.00") == (value == 0.0)
