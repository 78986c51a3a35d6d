"""A run against an earlier one: tested for a drop, and refused where that would mislead."""

from __future__ import annotations

import random

import pytest
from statsmodels.stats.multitest import multipletests
from unit.reports.samples import GROUNDED, measured, row, sample_report

from aletheia.errors import DataError
from aletheia.reports.gate import Rules, decide
from aletheia.reports.gate_baseline import holm, regression
from aletheia.reports.gate_facts import facts_of
from aletheia.schema.verification import Mode


def answers(values, *, wrong=0):
    return [
        row(
            f"q{n}",
            "q?",
            "g",
            **GROUNDED,
            answer="x",
            correct=n >= wrong,
            metrics=measured(faithfulness=value),
        )
        for n, value in enumerate(values)
    ]


def against(new, old, *, alpha=0.05, **changes):
    return regression(
        ("new.json", sample_report(new, **changes)), ("old.json", sample_report(old)), alpha=alpha
    )


def statuses(found):
    return {
        check.name.removesuffix(" against the baseline"): check.status for check in found.checks
    }


def test_the_same_run_is_no_regression():
    assert set(statuses(against(answers([0.9] * 20), answers([0.9] * 20))).values()) == {"met"}


def test_a_drop_is_found_where_it_is():
    """Nine of twenty answers turned wrong; the scores did not move."""
    found = statuses(against(answers([0.9] * 20, wrong=9), answers([0.9] * 20)))

    assert (found["accuracy"], found["faithfulness"], found["pass rate"]) == (
        "not_met",
        "met",
        "met",
    )


def test_a_drop_of_a_metric_is_found_and_a_rise_is_none():
    low, high = answers([0.5] * 20), answers([0.9] * 20)

    assert statuses(against(low, high))["faithfulness"] == "not_met"
    assert statuses(against(high, low))["faithfulness"] == "met"


def test_a_bare_difference_is_no_regression():
    """Noise moves the mean down by a little: with a bare difference every other run would fail."""
    old = [0.5 + 0.01 * (n % 20) for n in range(40)]
    new = [value + (0.10 if n % 2 else -0.11) for n, value in enumerate(old)]
    found = against(answers(new), answers(old)).checks[-1]

    assert sum(new) < sum(old)
    assert found.status == "met"
    assert "could detect 0." in found.detail
    assert "no detectable drop" in found.detail


def test_a_drop_of_the_healthy_rate_is_found():
    def diagnosed(name):
        found = row("q", "q?", "g", **GROUNDED, diagnosis={"failure_cell": name}).diagnosis
        return [item.model_copy(update={"diagnosis": found}) for item in answers([0.9] * 20)]

    found = against(diagnosed("complete_ungrounded"), diagnosed("complete_grounded"))
    assert statuses(found)["healthy rate"] == "not_met"


def test_too_few_pairs_do_not_pass():
    """With four pairs no one-sided p-value is below 0.05: that is no proof of no drop."""
    found = statuses(against(answers([0.1] * 4), answers([0.9] * 4)))

    assert (found["accuracy"], found["faithfulness"]) == ("unmeasured", "unmeasured")


def test_what_the_baseline_has_and_the_run_lacks_does_not_pass():
    bare = [item.model_copy(update={"metrics": {}}) for item in answers([0.9] * 20)]

    assert statuses(against(bare, answers([0.9] * 20)))["faithfulness"] == "unmeasured"
    assert "faithfulness" not in statuses(against(answers([0.9] * 20), bare))


def test_a_run_that_leaves_questions_out_does_not_pass():
    found = against(answers([0.9] * 10), answers([0.9] * 20))

    assert statuses(found)["questions of the baseline"] == "not_met"
    assert "q19" in found.checks[0].detail


def test_the_baseline_is_seen_in_the_mode_of_the_run():
    """A lenient baseline keeps an answer that strict rejects: that is no drop of accuracy."""
    failed = {"verified": False, "warnings": ("uncited_entities",)}
    kept = [item.model_copy(update=failed) for item in answers([0.9] * 20)]
    strict = [
        item.model_copy(update={"category": "rejected", "grounding_rejected": True})
        for item in kept
    ]
    report = ("new.json", sample_report(strict, mode=Mode.STRICT))
    found = regression(report, ("old.json", sample_report(kept, mode=Mode.LENIENT)))

    assert statuses(found)["accuracy"] == "met"


@pytest.mark.parametrize(
    "changes",
    [{"graph_digest": "sha256:0"}, {"questions_digest": "sha256:0"}, {"metrics_by": "ragas"}],
)
def test_another_judge_graph_or_question_set_is_refused(changes):
    """Field case 130."""
    with pytest.raises(DataError, match=r"new\.json: field `provenance"):
        against(answers([0.9] * 20), answers([0.9] * 20), **changes)


@pytest.mark.parametrize(
    "values", [[0.01, 0.04, 0.03], [0.5, 0.5], [0.001] * 6, [1.0], [0.02, 0.9, 0.02, 0.3]]
)
def test_the_adjustment_is_holms(values):
    assert holm(values) == pytest.approx(list(multipletests(values, method="holm")[1]))


def test_a_missing_p_value_still_counts_as_a_test():
    assert holm([0.02, None, 0.5]) == [pytest.approx(0.06), None, 1.0]


def test_false_alarms_stay_below_the_level():
    """Two runs of one system, 100 times: several measures share the level of 5 %."""
    noise, alarms = random.Random(11), 0
    for _ in range(100):
        rows = []
        for _side in range(2):
            flags = [noise.random() < 0.8 for _ in range(12)]
            values = [round(noise.random(), 2) for _ in range(12)]
            made = answers(values)
            rows.append(
                [
                    item.model_copy(update={"correct": flag})
                    for item, flag in zip(made, flags, strict=True)
                ]
            )
        alarms += "not_met" in statuses(against(*rows)).values()

    assert alarms <= 10


def test_the_gate_joins_rules_and_baseline():
    new = answers([0.5] * 20)
    found = against(new, answers([0.9] * 20))
    result = decide(
        facts_of(sample_report(new), "new.json"),
        Rules(min_pass_rate=0.9),
        against=found.checks,
        baseline="old.json",
        compared=found.metrics,
    )

    assert (result.exit_code, result.baseline) == (3, "old.json")
    assert [check.name for check in result.checks if check.status != "met"] == [
        "faithfulness against the baseline"
    ]
