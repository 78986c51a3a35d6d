"""Two runs over the same questions: what is refused, matched, compared and said."""

from __future__ import annotations

import json
import logging

import pytest
from scipy.stats import permutation_test
from statsmodels.stats.weightstats import DescrStatsW
from unit.reports.samples import (
    ABSTAINED,
    GROUNDED,
    HOSTILE,
    measured,
    rejected,
    row,
    sample_report,
    sample_rows,
)

from aletheia.errors import DataError
from aletheia.reports.compare import NO_DIFFERENCE, TOO_FEW, paired_statistics
from aletheia.reports.comparison import compare_runs
from aletheia.reports.comparison_document import load_comparison, to_json
from aletheia.reports.comparison_modes import compare_modes
from aletheia.reports.comparison_text import render_comparison
from aletheia.reports.visible import cells
from aletheia.schema.report import MetricScore
from aletheia.schema.verification import RejectionReason


def answers(*values, **fields):
    """One grounded answer for each value of faithfulness."""
    return [
        row(
            f"q{n}",
            "q?",
            "g",
            **GROUNDED,
            answer="x",
            metrics=measured(faithfulness=value),
            **fields,
        )
        for n, value in enumerate(values)
    ]


def compared(first, second, allowed=(), **changes):
    reports = [("a.json", sample_report(first)), ("b.json", sample_report(second, **changes))]
    return compare_runs(reports, allowed=allowed).pairs[0]


# --- may they be compared ---------------------------------------------------------------------

OTHER = "sha256:" + "00" * 32


@pytest.mark.parametrize(
    ("changes", "field", "allowance"),
    [
        ({"questions_digest": OTHER}, "provenance.questions_digest", "questions"),
        ({"graph_digest": OTHER}, "provenance.graph_digest", "graph"),
        ({"metrics_by": "ragas"}, "provenance.metrics_by", "judge"),
    ],
)
def test_runs_that_differ_in_more_than_the_system_are_refused(changes, field, allowance):
    """A judge or graph swap is no regression (field case 130)."""
    with pytest.raises(DataError, match=rf"b\.json: field `{field}`") as raised:
        compared(answers(1.0), answers(1.0), **changes)

    assert f"--allow-different {allowance}" in (raised.value.hint or "")
    assert compared(answers(1.0), answers(1.0), [allowance], **changes).notes


def test_another_implementation_of_a_metric_is_another_judge():
    score = MetricScore(value=0.1, implementation="ragas:Faithfulness(other)", status="measured")
    other = [
        item.model_copy(update={"metrics": {"faithfulness": score}}) for item in answers(*[1.0] * 8)
    ]

    with pytest.raises(DataError, match=r"aggregate_details\.faithfulness"):
        compared(answers(*[1.0] * 8), other)
    found = compared(answers(*[1.0] * 8), other, ["judge"]).metrics[0]
    assert (found.n, len(found.implementations), found.verdict) == (8, 2, "lower")


def test_an_id_that_repeats_is_refused():
    with pytest.raises(DataError, match=r"a\.json: field `detailed_results\.1\.id`"):
        compared(answers(1.0) * 2, answers(1.0))


def test_what_differs_besides_is_named():
    notes = compared(answers(1.0), answers(1.0), generator="llm", settings={"hops": 3}).notes

    assert notes == (
        "generator: extractive against llm",
        "setting `hops`: 2 against 3",
        "setting `max_units`: 20 against not set",
    )


# --- matching ---------------------------------------------------------------------------------


def test_rows_are_matched_by_id_and_what_has_no_partner_is_listed():
    first, second = answers(1.0, 1.0, 1.0), list(reversed(answers(1.0, 1.0, 1.0)))
    second[0] = second[0].model_copy(update={"id": "new"})
    second[1] = second[1].model_copy(update={"question": "another?"})
    found = compared(first, second).matching

    assert (found.matched, found.total) == (1, 4)
    assert (found.only_first, found.only_second, found.other_text) == (("q2",), ("new",), ("q1",))


def test_without_a_common_question_nothing_is_compared():
    other = [item.model_copy(update={"id": f"other-{item.id}"}) for item in answers(1.0)]

    assert compared(answers(1.0), other).verdict[0].startswith("No question stands in both runs")


# --- metrics ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ([0.5] * 12, [0.9] * 12, "higher"),
        ([0.9] * 12, [0.5] * 12, "lower"),
        ([0.5, 0.6] * 10, [0.6, 0.5] * 10, NO_DIFFERENCE),
        ([0.9] * 12, [0.9] * 12, NO_DIFFERENCE),
        ([0.9] * 5, [0.1] * 5, TOO_FEW),
    ],
)
def test_the_test_decides_the_verdict(first, second, verdict):
    found = compared(answers(*first), answers(*second)).metrics[0]

    assert (found.name, found.verdict) == ("faithfulness", verdict)
    assert found.first == pytest.approx(sum(first) / len(first))
    assert found.second == pytest.approx(sum(second) / len(second))


VALUES = [(0.9, 0.4), (0.3, 0.5), (0.8, 0.7), (0.6, 0.65), (0.2, 0.1), (0.7, 0.3), (0.95, 0.5)]


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_the_permutation_test_is_that_of_scipy(alternative):
    import numpy as np

    expected = permutation_test(
        (np.array([one - two for one, two in VALUES]),),
        np.mean,
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
    ).pvalue

    assert paired_statistics(VALUES, alternative=alternative).p_value == pytest.approx(
        expected, abs=1e-6
    )


def test_the_interval_is_close_to_that_of_the_mean():
    """The bootstrap against statsmodels' interval of a mean, over 120 pairs."""
    pairs = [(0.5 + 0.003 * (n * 37 % 101), 0.5) for n in range(120)]
    low, high = DescrStatsW([one - two for one, two in pairs]).tconfint_mean()
    found = paired_statistics(pairs)

    assert (found.low, found.high) == (
        pytest.approx(low, abs=0.005),
        pytest.approx(high, abs=0.005),
    )


def test_a_size_is_called_detectable_only_where_enough_pairs_differ():
    """One pair of fifty that differs by 1 is far from what a sign test could find: six are needed."""
    found = paired_statistics([(1.0, 0.0)] + [(1.0, 1.0)] * 49)

    assert found.detectable >= 6 / 50
    assert paired_statistics([(1.0, 0.5)] * 20).detectable is None


def test_a_score_that_lacks_on_one_side_makes_no_pair_and_stays_in_the_total():
    second = answers(*[0.9] * 8)
    second[0] = second[0].model_copy(update={"metrics": {}})
    found = compared(answers(*[0.9] * 8), second).metrics[0]

    assert (found.n, found.total) == (7, 8)


# --- flips ------------------------------------------------------------------------------------


def test_a_question_that_ended_otherwise_is_listed_with_the_reason_on_each_side():
    good = row("q0", "Who?", "g", **GROUNDED, answer="x", correct=True)
    bad = row(
        "q0", "Who?", "g", **rejected(RejectionReason.UNCITED_ENTITIES), answer="y", correct=False
    )
    lost = row("q0", "Who?", "g", category="error", grounding_rejected=False, error="429")
    quiet = row("q0", "Who?", "g", **ABSTAINED, abstention_kind="over_refusal")

    flip = compared([good], [bad]).flips[0]
    assert (flip.id, flip.changed) == ("q0", ("passed", "correct"))
    assert (flip.first.reason, flip.second.reason) == (None, "uncited_entities")
    assert compared([good], [lost]).flips[0].changed == ("replied",)
    assert compared([good], [lost]).flips[0].second.error == "429"
    assert compared([good], [quiet]).flips[0].changed == ("correct", "abstained")
    assert compared([good], [good]).flips == ()


# --- words, text, JSON ------------------------------------------------------------------------


def test_no_difference_comes_with_the_size_that_would_have_been_found():
    verdict = compared(answers(*[0.5, 0.6] * 10), answers(*[0.6, 0.5] * 10)).verdict

    assert "No detectable difference: pass rate (0." in verdict[0]
    assert "chance of 80%" in verdict[0]


def test_a_difference_is_said_with_its_test_and_number():
    verdict = compared(answers(*[0.9] * 12), answers(*[0.5] * 12)).verdict

    assert verdict[0] == "Faithfulness is lower in the second run: −0.40 (p < 0.001, n = 12)."


def test_every_run_is_compared_with_the_first():
    reports = [(f"{name}.json", sample_report()) for name in "abc"]

    assert [(p.first.file, p.second.file) for p in compare_runs(reports).pairs] == [
        ("a.json", "b.json"),
        ("a.json", "c.json"),
    ]


def hostile():
    changed = [item.model_copy(update={"correct": not item.correct}) for item in sample_rows()]
    first, second = sample_report(), sample_report(changed[:9], settings={HOSTILE: HOSTILE})
    return [
        compare_modes(first, f"{HOSTILE}.json"),
        compare_runs([(f"a{HOSTILE}", first), ("b.json", second), ("c.json", second)]),
    ]


@pytest.mark.parametrize("found", hostile(), ids=["modes", "runs"])
def test_the_text_is_80_columns_and_nothing_acts(found):
    text = render_comparison(found)

    assert max(map(cells, text.split("\n"))) <= 80
    assert [char for char in text if char < " " and char != "\n"] == []
    assert not any("\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" for char in text)


@pytest.mark.parametrize("found", hostile(), ids=["modes", "runs"])
def test_the_json_reads_back(found, caplog):
    with caplog.at_level(logging.WARNING):
        text = to_json(found)
    text.encode("utf-8")

    assert "unpaired surrogates were replaced" in caplog.text
    assert "\x1b" not in text
    assert to_json(load_comparison(text, "c.json")) == text


@pytest.mark.parametrize("text", ["{", "[]", '{"kind": "other"}', '{"kind": "runs"}'])
def test_a_foreign_comparison_is_one_error(text):
    with pytest.raises(DataError, match=r"c\.json"):
        load_comparison(text, "c.json")


def test_the_same_reports_give_the_same_comparison():
    pairs = [
        to_json(compare_runs([("a", sample_report()), ("b", sample_report())])) for _ in range(2)
    ]

    assert pairs[0] == pairs[1]
    assert json.loads(pairs[0])["kind"] == "runs"
