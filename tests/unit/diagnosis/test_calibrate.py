"""The threshold of sufficiency: learned from healthy traces, or a fallback that says so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.diagnosis.cases import HALLUCINATED, HEALTHY

from aletheia.diagnosis.calibrate import CalibrationOptions, Threshold, calibrate, fallback
from aletheia.errors import UsageError


def healthy(*fractions):
    return [HEALTHY.model_copy(update={"sufficiency_fraction": item}) for item in fractions]


def test_the_tenth_percentile_of_healthy_traces():
    found = calibrate(healthy(*[0.5] * 3, *[1.0] * 17))

    assert found == Threshold(value=0.5, source="calibrated", traces=20)


@given(st.lists(st.floats(0.01, 1.0), min_size=20, max_size=60))
def test_it_is_interpolated_like_numpy_does(fractions):
    assert calibrate(healthy(*fractions)).value == pytest.approx(np.percentile(fractions, 10))


@given(st.integers(1, 9).flatmap(lambda n: st.integers(1, n).map(lambda k: k / n)))
def test_traces_that_all_agree_reach_their_own_threshold(fraction):
    """An interpolation that loses the last digit would turn every one of them to `low`."""
    assert calibrate(healthy(*[fraction] * 20)).reached(fraction)


@pytest.mark.parametrize(
    ("fractions", "others", "usable"),
    [([1.0] * 19, 0, 19), ([1.0] * 19 + [0.0] * 5, 0, 19), ([1.0] * 19, 30, 19), ([], 0, 0)],
)
def test_too_few_healthy_traces_leave_the_fallback(fractions, others, usable):
    """Zero sufficiency teaches that nothing is needed (5.12), and other cells do not count."""
    found = calibrate([*healthy(*fractions), *[HALLUCINATED] * others])

    assert found == Threshold(value=1.0, source="fallback_project", traces=usable)


def test_a_trace_without_a_fraction_is_left_out():
    assert calibrate(healthy(*[None] * 30)).source == "fallback_project"


@pytest.mark.parametrize(
    ("persisted", "value", "source"),
    [(True, 1.0, "fallback_project"), (False, 0.8, "fallback_memory")],
)
def test_the_fallbacks(persisted, value, source):
    assert fallback(persisted=persisted) == Threshold(value=value, source=source)
    assert calibrate([], persisted=persisted).value == value


def test_the_settings_are_used():
    options = CalibrationOptions(traces=2, project=0.7, memory=0.6)

    assert fallback(persisted=False, options=options).value == 0.6
    assert calibrate(healthy(0.4), options=options).value == 0.7
    assert calibrate(healthy(0.4, 0.4), options=options).source == "calibrated"


@pytest.mark.parametrize("make", [lambda: Threshold(value=1.1, source="calibrated"), lambda: CalibrationOptions(traces=1)])  # fmt: skip
def test_what_makes_no_sense_is_refused(make):
    with pytest.raises(UsageError):
        make()
