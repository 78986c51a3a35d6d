"""Counts, rates and means over rows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.reports.samples import (
    ABSTAINED,
    GROUNDED,
    SCORERS,
    measured,
    rejected,
    row,
    sample_rows,
    without_value,
)

from aletheia.reports.tally import (
    abstention_report,
    by_type,
    grounding_report,
    metric_summaries,
    metric_summary,
)
from aletheia.schema.proportion import wilson
from aletheia.schema.report import DetailedResult, MetricScore
from aletheia.schema.verification import RejectionReason

REASONS = list(RejectionReason)
ANSWER = {**GROUNDED, "answer": "x"}


def rows_of(count, **fields):
    return [row(f"r{number}", "q?", "g", **fields) for number in range(count)]


def worked_example():
    return [
        *rows_of(45, **ANSWER),
        *rows_of(13, **ABSTAINED),
        *rows_of(3, **rejected(RejectionReason.ANSWER_WITHOUT_CITATIONS)),
        *rows_of(2, **rejected(RejectionReason.PARSE_ERROR, RejectionReason.UNCITED_ENTITIES)),
        *rows_of(7, **rejected(RejectionReason.UNCITED_ENTITIES)),
    ]


def test_the_worked_example_of_the_contract():
    """70 in all, 58 passed, and the breakdown sorted by count."""
    assert grounding_report(worked_example()).model_dump(mode="json") == {
        "summary": {
            "total_verified": 70,
            "verification_passed": 58,
            "verification_failed": 12,
            "pass_rate": 0.83,
        },
        "response_categories": {
            "grounded_answers": 45,
            "insufficient_context": 13,
            "errors": 0,
        },
        "rejection_breakdown": [
            {"reason": "uncited_entities", "count": 7, "rate": 0.10},
            {"reason": "answer_without_citations", "count": 3, "rate": 0.04},
            {"reason": "parse_error", "count": 2, "rate": 0.03},
        ],
    }


def test_errors_stand_outside_the_total():
    error = {"category": "error", "grounding_rejected": False, "error": "timeout"}
    report = grounding_report([*rows_of(2, **ANSWER), *rows_of(3, **error)])

    assert report.summary.total_verified == 2
    assert report.summary.pass_rate == 1.0
    assert report.response_categories.errors == 3


@pytest.mark.parametrize(
    "rows", [[], rows_of(3, category="grounded_answer", grounding_rejected=False, answer="x")]
)
def test_without_verdicts_there_is_no_pass_rate(rows):
    summary = grounding_report(rows).summary

    assert (summary.total_verified, summary.pass_rate) == (0, None)


def test_lenient_mode_counts_the_verdict_and_not_the_mode():
    kept = {
        "category": "grounded_answer",
        "grounding_rejected": False,
        "verified": False,
        "warnings": (RejectionReason.UNCITED_ENTITIES,),
        "answer": "x",
    }
    report = grounding_report([*rows_of(1, **ANSWER), *rows_of(1, **kept)])

    assert report.summary.pass_rate == 0.5
    assert report.rejection_breakdown[0].reason == "uncited_entities"


def test_a_failure_without_a_reason_cannot_be_stored():
    with pytest.raises(ValueError, match="no reason says why"):
        row("r", "q?", "g", category="rejected", grounding_rejected=True, verified=False)


def _score(status, value):
    return {
        "faithfulness": MetricScore(
            value=value if status == "measured" else None,
            implementation=SCORERS["faithfulness"],
            status=status,
        )
    }


@st.composite
def any_row(draw) -> DetailedResult:
    """A row of any category whose fields agree with each other."""
    base = draw(
        st.sampled_from(
            [
                ANSWER,
                ABSTAINED,
                {"category": "error", "grounding_rejected": False, "error": "x"},
                {"category": "grounded_answer", "grounding_rejected": False, "answer": "x"},
                *(rejected(reason) for reason in REASONS),
            ]
        )
    )
    metrics = draw(
        st.one_of(
            st.just({}),
            st.builds(
                _score,
                st.sampled_from(["measured", "unmeasured", "not_applicable"]),
                st.floats(0, 1),
            ),
        )
    )
    return row(
        "r",
        "q?",
        "g",
        **base,
        metrics=metrics,
        type=draw(st.sampled_from([None, "temporal", "own"])),
        gold_in_evidence=draw(st.sampled_from([None, True, False])),
        correct=draw(st.sampled_from([None, True, False])),
        abstention_kind=draw(st.sampled_from([None, "warranted", "over_refusal", "undecided"])),
    )


@settings(deadline=None)
@given(st.lists(any_row(), max_size=30))
def test_the_invariants_of_the_contract_hold_over_any_rows(rows):
    report = grounding_report(rows)
    summary, categories = report.summary, report.response_categories
    counts = [entry.count for entry in report.rejection_breakdown]

    assert summary.verification_passed + summary.verification_failed == summary.total_verified
    assert (
        categories.grounded_answers + categories.insufficient_context == summary.verification_passed
    )
    assert sum(counts) == summary.verification_failed
    assert counts == sorted(counts, reverse=True)
    assert 0 not in counts
    assert (summary.pass_rate is None) == (summary.total_verified == 0)
    assert sum(line.total for line in by_type(rows)) == len(rows)


@settings(deadline=None)
@given(st.lists(any_row(), max_size=30))
def test_means_lie_between_the_worst_and_the_best_case(rows):
    summary = metric_summary("faithfulness", rows)

    assert 0 <= summary.measured <= summary.total <= len(rows)
    assert (summary.mean is None) == (summary.measured == 0)
    if summary.mean is not None:
        assert summary.low <= summary.mean <= summary.high
        assert summary.mean_rejected_as_zero <= summary.mean
    if summary.total == summary.measured > 0:
        assert summary.low == summary.mean == summary.high


@settings(deadline=None)
@given(st.lists(any_row(), max_size=30))
def test_rates_of_abstention_have_values_over_something_only(rows):
    report = abstention_report(rows)
    for rate in (
        report.correct_abstention,
        report.over_refusal,
        report.accuracy_when_answered,
        report.accuracy,
    ):
        assert (rate.value is None) == (rate.denominator == 0)
        if rate.value is not None:
            assert 0 <= rate.low <= rate.value <= rate.high <= 1


def test_unmeasured_rows_stay_in_the_total():
    """One of two rows measured at 1.0 is 1 of 2 with the range from 0.5 to 1 (case 23)."""
    rows = [
        row("a", "q?", "g", **ANSWER, metrics=measured(faithfulness=1.0)),
        row("b", "q?", "g", **ANSWER, metrics=without_value("faithfulness", "unmeasured", "429")),
    ]
    summary = metric_summary("faithfulness", rows)

    assert (summary.mean, summary.measured, summary.total) == (1.0, 1, 2)
    assert (summary.coverage, summary.low, summary.high) == (0.5, 0.5, 1.0)


def test_a_row_that_lacks_the_metric_is_unmeasured():
    summary = metric_summary("faithfulness", rows_of(2, **ANSWER))

    assert (summary.implementation, summary.mean) == ("none", None)
    assert (summary.measured, summary.total, summary.low, summary.high) == (0, 2, 0.0, 1.0)


def test_only_accepted_answers_are_in_the_mean_and_rejected_ones_count_as_zero_beside_it():
    rows = [
        row("a", "q?", "g", **ANSWER, metrics=measured(faithfulness=0.8)),
        row(
            "b",
            "q?",
            "g",
            **rejected(RejectionReason.UNCITED_ENTITIES),
            metrics=measured(faithfulness=1.0),
        ),
    ]
    summary = metric_summary("faithfulness", rows)

    assert (summary.mean, summary.total, summary.mean_rejected_as_zero) == (0.8, 1, 0.4)


def test_an_abstention_has_no_faithfulness_and_lowers_nothing():
    rows = [
        row("a", "q?", "g", **ANSWER, metrics=measured(faithfulness=0.8)),
        row(
            "b", "q?", "g", **ABSTAINED,
            metrics=without_value("faithfulness", "not_applicable", "no claims"),
        ),
    ]  # fmt: skip
    summary = metric_summary("faithfulness", rows)

    assert (summary.mean, summary.total, summary.not_applicable) == (0.8, 1, 1)


def test_scores_of_two_implementations_are_never_averaged():
    def scored(identifier, value, maker):
        score = MetricScore(value=value, implementation=maker, status="measured")
        return row(identifier, "q?", "g", **ANSWER, metrics={"faithfulness": score})

    summary = metric_summary(
        "faithfulness", [scored("a", 1.0, "ragas:Faithfulness"), scored("b", 0.0, "embedded:x")]
    )

    assert summary.implementation == "mixed"
    assert summary.mean is summary.low is summary.mean_rejected_as_zero is None
    assert summary.note is not None
    assert [(part.implementation, part.mean, part.total) for part in summary.parts] == [
        ("embedded:x", 0.0, 1),
        ("ragas:Faithfulness", 1.0, 1),
    ]


def test_metrics_stand_in_the_order_of_the_contract_and_others_follow():
    score = MetricScore(value=1.0, implementation="own", status="measured")
    rows = [row("a", "q?", "g", **ANSWER, metrics={"own_metric": score})]

    assert list(metric_summaries(rows)) == [
        "context_precision",
        "context_recall",
        "faithfulness",
        "answer_similarity",
        "own_metric",
    ]


def test_a_system_that_always_refuses_is_seen():
    """Ten answerable questions, ten abstentions: full over-refusal, no accuracy (case 43)."""
    rows = rows_of(10, **ABSTAINED, gold_in_evidence=True, abstention_kind="over_refusal")
    report = abstention_report(rows)

    assert report.over_refusal.value == 1.0
    assert report.correct_abstention.value is None
    assert report.accuracy_when_answered.value is None
    assert report.accuracy.value == 0.0


def test_a_right_abstention_is_a_success():
    """Evidence without the answer, and an abstention (case 41)."""
    rows = rows_of(1, **ABSTAINED, answerable=False, abstention_kind="warranted")
    report = abstention_report(rows)

    assert report.correct_abstention.value == 1.0
    assert report.accuracy.value == 1.0


def test_an_answer_without_a_comparison_is_not_counted_as_right():
    report = abstention_report(rows_of(2, **ANSWER))

    assert (report.accuracy_when_answered.numerator, report.accuracy_when_answered.denominator) == (
        0,
        2,
    )


@pytest.mark.parametrize("numerator", [0, 1, 10, 19, 20])
def test_wilson_intervals_agree_with_statsmodels(numerator):
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(numerator, 20, method="wilson")
    rate = wilson(numerator, 20)

    assert rate.low == pytest.approx(low, abs=5e-5)
    assert rate.high == pytest.approx(high, abs=5e-5)


def test_an_interval_does_not_collapse_at_the_bound():
    """20 of 20 is not certainty (case 35)."""
    assert wilson(20, 20).low < 0.9


def test_types_stand_in_their_order_and_count_every_row():
    lines = by_type(sample_rows())

    assert [line.type for line in lines] == [
        "alias_lookup",
        "entity_existence",
        "entity_description",
        "relationship",
        "attribute_filter",
        "multi_hop",
        "temporal",
        "attribute_filter<script>",
        "untyped",
    ]
    temporal = lines[6]
    assert (temporal.total, temporal.passed, temporal.rejected) == (4, 2, 1)
    assert (temporal.abstained, temporal.errors) == (1, 1)
    assert (temporal.correct, temporal.answered) == (1, 1)
