"""The decision of a gate: what is met, what is not, what has no value."""

from __future__ import annotations

import pytest
from unit.reports.samples import (
    GROUNDED,
    HOSTILE,
    measured,
    row,
    sample_report,
    sample_rows,
    without_value,
)

from aletheia.reports.annotations import render_annotations
from aletheia.reports.gate import Rules, decide, plain
from aletheia.reports.gate_facts import facts_of
from aletheia.reports.gate_text import headline, render_gate
from aletheia.reports.markdown import render_markdown
from aletheia.reports.visible import cells
from aletheia.schema.attribution import ProbeRate
from aletheia.schema.report import MetricScore, Rate
from aletheia.schema.verification import Mode, RejectionReason

FAILED = {
    "category": "rejected",
    "grounding_rejected": True,
    "verified": False,
    "rejection_reason": RejectionReason.UNCITED_ENTITIES,
}
ERROR = {"category": "error", "grounding_rejected": False, "error": "429"}


def run(*rows, **changes):
    made = [row(f"q{number}", "q?", "g", **fields) for number, fields in enumerate(rows)]
    return sample_report(made, **changes)


def good(faithfulness=1.0, **fields):
    return {**GROUNDED, "answer": "x", "metrics": measured(faithfulness=faithfulness), **fields}


def gate(report, **rules):
    return decide(facts_of(report, "r.json"), Rules(**rules))


def statuses(result):
    return {check.name: check.status for check in result.checks}


TEN = [good()] * 8 + [FAILED] * 2


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        # the bound itself is enough
        ({"min_pass_rate": 0.8}, "met"),
        ({"min_pass_rate": 0.81}, "not_met"),
        ({"max_rejections": 2}, "met"),
        ({"max_rejections": 1}, "not_met"),
        ({"min_metrics": {"faithfulness": 1.0}}, "met"),
        ({"min_metrics": {"context_recall": 0.0}}, "unmeasured"),
        ({"min_metrics": {"no_such_metric": 0.0}}, "unmeasured"),
        ({"max_contamination": 1.0}, "unmeasured"),
        ({"max_unmeasured": 0.0}, "met"),
        ({"min_accuracy": 0.1}, "not_met"),
        ({"min_accuracy": 0.0}, "met"),
        # the interval of 8 of 10 begins at 0.49
        ({"min_pass_rate": 0.5, "use_interval": True}, "not_met"),
        ({"min_pass_rate": 0.49, "use_interval": True}, "met"),
        # eight of eight perfect scores are no certainty (field case 35)
        ({"min_metrics": {"faithfulness": 0.7}, "use_interval": True}, "not_met"),
        ({"min_healthy_rate": 0.0}, "unmeasured"),
    ],
)
def test_a_rule(rules, status):
    result = gate(run(*TEN), **rules)

    assert result.checks[0].status == status
    assert result.passed is all(check.status == "met" for check in result.checks)
    assert result.exit_code == (0 if result.passed else 3)


LOOSEST = [
    {"min_pass_rate": 0.0},
    {"min_accuracy": 0.0},
    {"max_rejections": 99},
    {"min_metrics": {"faithfulness": 0.0}},
    {"max_contamination": 1.0},
]
OF_QUESTIONS = [{"min_coverage": 0.0}, {"max_unmeasured": 1.0}]


@pytest.mark.parametrize(
    ("rules", "rows"),
    [
        *((rules, [ERROR] * 5) for rules in LOOSEST),
        *((rules, []) for rules in (*LOOSEST, *OF_QUESTIONS)),
    ],
)
def test_what_was_never_measured_passes_no_rule(rules, rows):
    """Even the loosest bound is not met by a run without a figure."""
    assert gate(run(*rows), **rules).exit_code == 3


def test_mode_off_has_no_verdicts_to_pass_with():
    rows = [{**good(), "verified": None}] * 9
    result = gate(run(*rows, mode=Mode.OFF), min_pass_rate=0.0, max_rejections=0)

    assert statuses(result) == {
        "pass rate": "unmeasured",
        "rejections": "unmeasured",
        "coverage": "not_met",
    }


# --- how much was measured --------------------------------------------------------------------

HALF = [
    good(),
    {**GROUNDED, "answer": "x", "metrics": without_value("faithfulness", "unmeasured", "cut")},
]


def test_a_judge_that_crashes_on_hard_rows_does_not_pass():
    """Field case 23: the mean over what is left is 1.0, and coverage 50 %."""
    result = gate(run(*HALF * 5), min_metrics={"faithfulness": 0.9})

    assert statuses(result) == {"faithfulness": "met", "coverage": "not_met"}
    assert "faithfulness (5 of 10)" in result.checks[-1].detail
    assert gate(run(*HALF * 5), min_metrics={"faithfulness": 0.9}, min_coverage=0.0).passed


def test_without_a_bound_only_what_the_rules_look_at_has_to_be_measured():
    assert gate(run(*HALF * 5), min_pass_rate=0.9).passed
    assert not gate(run(*HALF * 5), min_pass_rate=0.9, min_coverage=0.9).passed


def test_lost_replies_count_against_coverage():
    rows = [good()] * 8 + [ERROR] * 2

    assert statuses(gate(run(*rows), min_pass_rate=1.0)) == {
        "pass rate": "met",
        "coverage": "not_met",
    }


def test_the_questions_that_lack_something_are_named():
    result = gate(run(good(), ERROR, *HALF), max_unmeasured=0.1)

    assert result.checks[0].detail == "2 of 4 lack a reply, a verdict or a score: q1, q3"


def test_scores_of_two_implementations_have_no_mean_to_pass_with():
    other = {"faithfulness": MetricScore(value=1.0, implementation="x", status="measured")}
    result = gate(run(good(), good(metrics=other)), min_metrics={"faithfulness": 0.1})

    assert result.checks[0].status == "unmeasured"
    assert "2 implementations" in result.checks[0].detail


def test_a_contamination_rate_that_is_there_is_held_against_the_bound():
    found = ProbeRate(
        rate=Rate(value=0.1, numerator=1, denominator=10), total=10, low=0.1, high=0.1
    )
    facts = facts_of(run(good()), "r", contamination=found)

    assert decide(facts, Rules(max_contamination=0.1)).passed
    assert not decide(facts, Rules(max_contamination=0.1, use_interval=True)).passed


def test_answers_that_the_probes_could_not_decide_are_unmeasured():
    """1 of 10 answers from memory, and 10 more of which nothing is known: no gate passes on that."""
    found = ProbeRate(
        rate=Rate(value=0.1, numerator=1, denominator=10), total=20, low=0.05, high=0.55
    )
    facts = facts_of(run(good()), "r", contamination=found)

    assert not decide(facts, Rules(max_contamination=0.1)).passed


def cell(name="complete_grounded", **fields):
    return good(diagnosis={"failure_cell": name, **fields})


def test_the_healthy_rate_counts_cells_and_a_missing_one_is_unmeasured():
    rows = [cell()] * 8 + [cell("extra_ungrounded"), good()]

    assert gate(run(*rows), min_healthy_rate=0.88).passed
    assert statuses(gate(run(*rows), min_healthy_rate=0.89)) == {
        "healthy rate": "not_met",
        "coverage": "met",
    }
    assert (
        statuses(gate(run(*rows[:7], *[good()] * 3), min_healthy_rate=0.9))["coverage"] == "not_met"
    )


def test_a_tentative_cell_counts_as_none_where_only_confident_ones_do():
    rows = [cell()] * 8 + [cell(tentative=True)] * 2

    assert gate(run(*rows), min_healthy_rate=1.0).passed
    assert statuses(gate(run(*rows), min_healthy_rate=1.0, confident_only=True)) == {
        "healthy rate": "met",
        "coverage": "not_met",
    }
    assert gate(run(*[cell()] * 9, rows[-1]), min_healthy_rate=1.0, confident_only=True).passed


def test_a_report_without_a_diagnosis_does_not_pass_as_confident():
    assert (
        statuses(gate(run(*TEN), min_pass_rate=0.1, confident_only=True))["confidence"]
        == "unmeasured"
    )


def test_a_gate_without_a_check_does_not_pass():
    assert gate(run(good())).exit_code == 3


@pytest.mark.parametrize(
    ("value", "bound", "text"),
    [
        (58 / 70, 0.8, "0.83"),
        (58 / 70, 0.83, "0.8286"),
        (0.7999999, 0.8, "0.79999990"),
        (0.8, 0.8, "0.80"),
        (0.8, None, "0.80"),
        (0.825, None, "0.8250"),
        (1.0, 0.9, "1.00"),
    ],
)
def test_a_figure_is_never_written_as_the_bound_that_it_misses(value, bound, text):
    assert plain(value, bound) == text


# --- renderings -------------------------------------------------------------------------------


def hostile():
    rows = [
        item.model_copy(
            update={"id": f"::error::{HOSTILE}|`@x #1 http://e.example www.e.example\n"}
        )
        if item.id == "f-005"
        else item
        for item in sample_rows()
    ]
    return decide(
        facts_of(sample_report(rows), f"a,b:c%{HOSTILE}\n.json"),
        Rules(min_pass_rate=0.99, max_unmeasured=0.0, max_contamination=0.1),
    )


def test_text_has_80_columns_and_no_line_that_a_ci_system_obeys():
    text = render_gate(hostile())

    assert max(map(cells, text.split("\n"))) <= 80
    assert [char for char in text if char < " " and char != "\n"] == []
    assert not any(line.lstrip().startswith("::") for line in text.split("\n"))


def test_annotations_are_one_line_each_and_nothing_ends_them_early():
    lines = render_annotations(hostile())

    assert len(lines) == 3
    for line in lines:
        assert line.startswith("::error file=a%2Cb%3Ac%25")
        assert [char for char in line if char < " "] == []
        assert line.count(",title=Aletheia gate::") == 1
    assert render_annotations(gate(run(good()), min_pass_rate=1.0)) == (
        "::notice title=Aletheia gate::Gate passed: 2 rules met.",
    )


def test_markdown_holds_no_markup_from_data():
    text = render_markdown(hostile())
    tables = [line for line in text.split("\n") if line.startswith("|")]

    assert {line.count("|") for line in tables} == {6, 4}
    data = text.replace("<code>", "").replace("</code>", "")
    assert not any(part in data for part in ("<", "`", "](", "://", "@", "www.e"))
    assert [char for char in text if char < " " and char != "\n"] == []


@pytest.mark.parametrize(
    "rules", [{"min_pass_rate": 0.8}, {"min_pass_rate": 0.9}, {"max_contamination": 0.5}]
)
def test_every_rendering_says_what_the_exit_code_says(rules):
    """Field case 29: one decision behind text, files and exit code."""
    from aletheia.reports.junit import render_junit

    result = gate(run(*TEN), **rules)
    said = headline(result)

    assert said.startswith("Gate passed" if result.exit_code == 0 else "Gate failed")
    assert render_gate(result).startswith(said)
    assert said in render_junit(result)
    assert said.rstrip(".") in render_markdown(result)
    assert ("<failure" in render_junit(result)) is (result.exit_code == 3)
    assert any(line.startswith("::error") for line in render_annotations(result)) is (
        result.exit_code == 3
    )
