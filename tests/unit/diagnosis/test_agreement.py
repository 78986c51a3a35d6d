"""How good a judge is, and what its errors do to the rates it gives."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import confint_proportions_2indep

from aletheia.diagnosis.agreement import (
    Confusion,
    LabelledItem,
    agreement,
    fit_threshold,
    in_first_half,
    kappa,
    stability,
)
from aletheia.diagnosis.correction import Estimate, corrected_rate, difference
from aletheia.schema.proportion import wilson


def items(pairs):
    return [
        LabelledItem(id=f"i{at}", label=label, verdict=None if verdict == "?" else verdict)
        for at, (label, verdict) in enumerate(pairs)
    ]


def table(*counts):
    return Confusion(
        true_positive=counts[0],
        false_negative=counts[1],
        false_positive=counts[2],
        true_negative=counts[3],
    )


def test_a_judge_that_always_says_yes():
    """Case 134: 30 of 45 are positive. Raw agreement flatters it, kappa does not."""
    found = agreement(items(["YY"] * 30 + ["NY"] * 15))

    assert found.raw.value == pytest.approx(found.constant, abs=1e-4)
    assert found.constant == pytest.approx(2 / 3)
    assert found.kappa.value == pytest.approx(0.0)
    assert (found.balanced, found.base_rate.numerator) == (0.5, 30)
    assert found.confusion == table(30, 0, 15, 0)
    assert len(found.disagreements) == 15


def test_what_was_not_measured_is_listed_and_in_no_figure():
    found = agreement(items(["YY", "Y?", "NN", "NY"]))

    assert (found.total, found.confusion.measured, found.unmeasured) == (4, 3, ("i1",))
    assert [item.id for item in found.disagreements] == ["i3"]


@given(st.tuples(*[st.integers(1, 40)] * 4))
def test_kappa_agrees_with_statsmodels(counts):
    ours, theirs = kappa(table(*counts)), cohens_kappa([counts[:2], counts[2:]])

    assert ours.value == pytest.approx(theirs.kappa, abs=1e-9)
    assert ours.low == pytest.approx(max(theirs.kappa_low, -1), abs=1e-9)
    assert ours.high == pytest.approx(min(theirs.kappa_upp, 1), abs=1e-9)


def test_full_agreement_on_a_few_items_is_no_certainty():
    found = kappa(table(5, 0, 0, 5))

    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low is not None
    assert found.low < 0.5


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (9, 0, 0, 0), (0, 0, 0, 9)])
def test_kappa_of_one_label_does_not_exist(counts):
    found = kappa(table(*counts))

    assert found.value is None
    assert found.reason


def test_nothing_measured_has_no_figures():
    found = agreement(items(["Y?"]))

    assert (found.raw.value, found.constant, found.balanced) == (None, None, None)


# --- threshold --------------------------------------------------------------------------------


def scored(number, *, right=1.0, seed=0):
    made = random.Random(seed)
    for at in range(number):
        label = "Y" if made.random() < 0.5 else "N"
        high = (label == "Y") == (made.random() < right)
        score = made.uniform(0.6, 1.0) if high else made.uniform(0.0, 0.5)
        yield LabelledItem(id=f"i{at}", label=label, score=score)


def test_a_threshold_is_tested_on_what_it_was_not_fitted_on():
    found = fit_threshold(scored(200))

    assert found.threshold is not None
    assert 0.5 < found.threshold < 0.6
    assert found.fitted == found.tested.balanced == 1.0
    assert found.fit_items + found.tested.total == 200
    assert 60 < found.fit_items < 140


def test_noise_is_not_praised_on_the_other_half():
    """Fitted on its own items a threshold always looks useful; the rest tells the truth."""
    runs = [fit_threshold(scored(60, right=0.5, seed=seed)) for seed in range(30)]
    fitted = [run.fitted for run in runs]
    tested = [run.tested.balanced for run in runs]

    assert min(fitted) >= 0.5
    assert statistics.mean(fitted) > 0.55
    assert statistics.mean(tested) == pytest.approx(0.5, abs=0.03)


@given(st.lists(st.text(max_size=8), unique=True), st.randoms())
def test_the_split_depends_on_the_id_alone(names, shuffler):
    before = {name: in_first_half(name) for name in names}
    shuffler.shuffle(names)

    assert {name: in_first_half(name) for name in names} == before


def test_an_item_without_a_score_is_unmeasured_in_the_test():
    rows = [*scored(100), *[LabelledItem(id=f"n{at}", label="Y") for at in range(20)]]
    found = fit_threshold(rows)

    assert set(found.tested.unmeasured) == {
        f"n{at}" for at in range(20) if not in_first_half(f"n{at}")
    }


def test_one_label_fits_nothing():
    found = fit_threshold([LabelledItem(id=f"i{at}", label="Y", score=0.5) for at in range(9)])

    assert found.threshold is None
    assert found.reason


# --- corrected rates --------------------------------------------------------------------------


def test_a_perfect_judge_is_not_corrected():
    found = corrected_rate(30, 100, sensitivity=wilson(50, 50), specificity=wilson(50, 50))

    assert found.value == pytest.approx(0.3)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.21
    assert found.high > 0.39


def test_the_rate_behind_the_rate():
    """Rogan and Gladen: (0.3 + 0.9 - 1) / (0.8 + 0.9 - 1)."""
    found = corrected_rate(30, 100, sensitivity=wilson(40, 50), specificity=wilson(45, 50))

    assert found.value == pytest.approx(0.2 / 0.7)


@pytest.mark.parametrize(
    ("sensitivity", "specificity"),
    [((25, 50), (25, 50)), ((10, 50), (20, 50)), ((0, 0), (9, 9)), ((9, 9), (0, 0))],
)
def test_a_judge_no_better_than_chance_corrects_nothing(sensitivity, specificity):
    found = corrected_rate(
        30, 100, sensitivity=wilson(*sensitivity), specificity=wilson(*specificity)
    )

    assert found.value is None
    assert found.reason


@pytest.mark.parametrize(
    ("true", "sensitivity", "specificity", "rows", "labelled"),
    [(0.1, 0.8, 0.9, 300, 50), (0.5, 0.7, 0.8, 200, 40), (0.9, 0.95, 0.99, 100, 40)],
)
def test_the_interval_holds_the_truth_as_often_as_it_says(
    true, sensitivity, specificity, rows, labelled
):
    made = random.Random(7)

    def draw(number, share):
        return sum(made.random() < share for _ in range(number))

    hits, runs = 0, 300
    for _ in range(runs):
        found = corrected_rate(
            draw(rows, true * sensitivity + (1 - true) * (1 - specificity)),
            rows,
            sensitivity=wilson(draw(labelled, sensitivity), labelled),
            specificity=wilson(draw(labelled, specificity), labelled),
        )
        hits += found.value is not None and found.low <= true <= found.high
    assert hits / runs >= 0.92


@given(
    st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
)
def test_a_corrected_rate_is_a_rate(observed, sensitivity, specificity):
    found = corrected_rate(
        *observed, sensitivity=wilson(*sensitivity), specificity=wilson(*specificity)
    )
    if found.value is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1


# --- differences ------------------------------------------------------------------------------


def test_two_close_rates_have_no_detectable_difference():
    """Case 133: 1.3 % and 1.9 % of 800."""
    found = difference(wilson(10, 800), wilson(15, 800))

    assert found.verdict == "no detectable difference"


@pytest.mark.parametrize("counts", [(10, 800, 15, 800), (90, 100, 60, 100), (0, 20, 20, 20)])
def test_the_interval_of_a_difference_agrees_with_statsmodels(counts):
    found = difference(wilson(*counts[:2]), wilson(*counts[2:]))
    low, high = confint_proportions_2indep(*counts, method="newcomb", compare="diff")

    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (wilson(90, 100), wilson(60, 100), "higher"),
        (wilson(60, 100), wilson(90, 100), "lower"),
        (wilson(0, 0), wilson(9, 10), "not measured"),
        (Estimate(value=None), wilson(9, 10), "not measured"),
        (Estimate(value=0.9, low=0.3, high=1.0), wilson(60, 100), "no detectable difference"),
    ],
)
def test_what_two_rates_say_of_each_other(first, second, verdict):
    assert difference(first, second).verdict == verdict


# --- repeats ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "verdict", "share", "flipped"),
    [
        ("YYY", "Y", 1.0, False),
        ("YNY", "Y", 2 / 3, True),
        ("YNYN", None, 0.5, True),
        ("Y??", None, 1 / 3, False),
        ("YY?", "Y", 2 / 3, False),
        ("???", None, 0.0, False),
    ],
)
def test_the_majority_of_all_repeats(votes, verdict, share, flipped):
    """Case 119. A repeat without a verdict counts for neither side."""
    found = stability({"a": [None if vote == "?" else vote for vote in votes]}).items[0]

    assert (found.verdict, found.agreement, found.flipped) == (
        verdict,
        pytest.approx(share),
        flipped,
    )


def test_the_flip_rate_is_over_items_that_could_flip():
    found = stability({"a": ["Y", "N"], "b": ["Y", "Y"], "c": ["Y", None], "d": []})

    assert (found.flip_rate.numerator, found.flip_rate.denominator) == (1, 2)
    assert found.mean_agreement == pytest.approx((0.5 + 1 + 0.5 + 0) / 4)
