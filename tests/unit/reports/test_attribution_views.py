"""The views of a probe run: who is right in which, what flips, and the cells of each."""

from __future__ import annotations

from typing import Any

import pytest

from aletheia.reports.attribution_sides import cell_rows, cell_text, change_text, kept_text
from aletheia.reports.attribution_views import (
    cell_counts,
    probe_flips,
    probe_views,
    standing,
)
from aletheia.schema.attribution import (
    CONDITIONS,
    ConditionRecord,
    ProbeReport,
    ProbeView,
    QuestionProbe,
    View,
)
from aletheia.schema.diagnosis import FailureCell
from aletheia.schema.verification import Mode, RejectionReason

ALL = tuple(Mode)
WIDE = (Mode.LENIENT, Mode.OFF)


def seen(condition: str, outcome: str, *, correct: bool | None = None, **more: Any) -> Any:
    """A reply that came."""
    values = {"answer": "x", "raw_reply": "{}", "abstained": outcome == "abstained", **more}
    return ConditionRecord(
        condition=condition,  # type: ignore[arg-type]
        status="measured",
        outcome=outcome,
        correct=correct,
        **values,
    )


def absent(condition: str, status: str = "not_asked") -> ConditionRecord:
    return ConditionRecord(condition=condition, status=status, reason="why")  # type: ignore[arg-type]


def probe(name: str, *records: ConditionRecord, answerable: bool = True) -> QuestionProbe:
    given = {record.condition: record for record in records}
    return QuestionProbe(
        id=name,
        question=f"{name}?",
        answerable=answerable,
        gold_answer="x",
        conditions=tuple(given.get(item, absent(item)) for item in CONDITIONS),
        attribution="neither",
        possible=("neither",),
    )


def right(name: str, *records: ConditionRecord, **more: Any) -> QuestionProbe:
    """A question whose base answer is right, and kept by every mode unless said otherwise."""
    return probe(name, seen("base", "right", correct=True, **{"kept": ALL, **more}), *records)


def view(found: tuple[ProbeView, ...], name: View) -> ProbeView:
    return next(item for item in found if item.view == name)


@pytest.mark.parametrize(
    ("record", "looked_at", "expected"),
    [
        (seen("base", "right", correct=True, kept=WIDE), "strict", "rejected"),
        (seen("base", "right", correct=True, kept=WIDE), "lenient", "right"),
        (seen("base", "right", correct=True, kept=WIDE), "base", "right"),
        (seen("base", "wrong", correct=False, kept=ALL), "strict", "wrong"),
        (seen("base", "abstained", kept=ALL), "strict", "abstained"),
        (seen("closed_book", "same", correct=True), "closed_book", "right"),
        (seen("closed_book", "other", correct=False), "closed_book", "wrong"),
        (seen("counterfactual", "followed", correct=True), "counterfactual", "right"),
        (seen("counterfactual", "kept", correct=False), "counterfactual", "kept"),
        (seen("counterfactual", "unclear", correct=None), "counterfactual", "unclear"),
        (absent("shuffled", "unmeasured"), "shuffled", None),
        (absent("shuffled", "not_applicable"), "shuffled", None),
    ],
)
def test_how_a_question_ends_in_a_view(record, looked_at, expected):
    assert standing(probe("q", record), looked_at) == expected


def test_modes_differ_over_one_reply_and_conditions_over_another():
    questions = [
        right("a", seen("closed_book", "same", correct=True), kept=WIDE),
        right("b", seen("closed_book", "other", correct=False)),
        right("c", seen("closed_book", "abstained")),
        probe("d", seen("base", "wrong", correct=False, kept=ALL)),
        probe("e", absent("base", "unmeasured")),
    ]
    found = probe_views(questions)
    closed, strict = view(found, "closed_book"), view(found, "strict")

    assert [item.view for item in found] == ["strict", "lenient", "base", "closed_book"]
    assert (strict.right.rate.numerator, strict.right.rate.denominator) == (2, 4)
    assert (strict.right.low, strict.right.high, strict.right.total) == (0.4, 0.6, 5)
    assert view(found, "lenient").right.rate.numerator == 3
    assert view(found, "base").change is None
    assert closed.right.rate.value == pytest.approx(1 / 3, abs=1e-4)
    assert closed.change is not None
    assert (closed.change.n, closed.change.gained, closed.change.lost) == (3, 0, 2)
    assert closed.change.p_value == 0.5  # two of two changes in one direction, two-sided
    assert change_text(closed.change) == "0 gained, 2 lost, p = 0.500 (n = 3)"


def test_under_other_evidence_only_right_answers_are_counted():
    questions = [
        right("a", seen("counterfactual", "followed", correct=True)),
        right("b", seen("counterfactual", "kept", correct=False)),
        probe(
            "c", seen("base", "wrong", correct=False, kept=ALL), seen("counterfactual", "followed")
        ),
    ]
    found = view(probe_views(questions), "counterfactual")

    assert (found.right.rate.numerator, found.right.rate.denominator, found.right.total) == (
        1,
        2,
        2,
    )


def test_a_question_without_an_answer_is_in_no_rate_but_may_flip():
    question = probe(
        "a",
        seen("base", "abstained", kept=ALL),
        seen("closed_book", "other", correct=False),
        answerable=False,
    )
    (flip,) = probe_flips([question])

    assert probe_views([question]) == ()
    assert flip.changed == ("closed_book",)
    assert flip.under["base"] == "abstained"


def test_what_was_not_measured_never_flips():
    missing = absent("shuffled", "unmeasured")

    assert list(probe_flips([right("a", missing), probe("b", absent("base", "unmeasured"))])) == []


def test_flips_name_the_views_that_make_the_difference():
    question = right(
        "a",
        seen("closed_book", "abstained"),
        seen("counterfactual", "followed", correct=True),
        kept=WIDE,
    )
    (flip,) = probe_flips([question])

    assert flip.changed == ("strict", "closed_book")
    assert flip.under == {
        "strict": "rejected",
        "lenient": "right",
        "base": "right",
        "closed_book": "abstained",
        "counterfactual": "right",
    }


def test_cells_of_each_view_and_why_a_reply_has_none():
    healthy = {"cell": FailureCell.COMPLETE_GROUNDED, "tentative": True}
    questions = [
        right("a", kept=ALL, **healthy),
        right(
            "b",
            kept=WIDE,
            rejection=RejectionReason.UNCITED_ENTITIES,
            cell=FailureCell.COMPLETE_UNGROUNDED,
        ),
        right("c", kept=ALL, not_diagnosed="unmeasured: faithfulness"),
        probe("d", absent("base", "unmeasured")),
    ]
    strict, lenient, off = cell_counts(questions)

    assert strict.view == "strict"
    assert strict.diagnosed == strict.tentative == 1
    assert strict.not_diagnosed == {
        "unmeasured: faithfulness": 1,
        "rejected: uncited_entities": 1,
    }
    assert lenient.cells == off.cells
    assert off.cells[FailureCell.COMPLETE_UNGROUNDED] == 1
    assert off.not_diagnosed == {"unmeasured: faithfulness": 1}
    assert sum(off.cells.values()) == off.diagnosed == 2


def test_without_a_judge_there_are_no_cells():
    assert cell_counts([right("a"), right("b")]) == ()


def test_cells_in_words():
    questions = [right("a", cell=FailureCell.COMPLETE_GROUNDED)] * 3
    report = ProbeReport.model_construct(cells=cell_counts(questions))

    assert [cell_text(row) for row in cell_rows(report)] == ["Healthy 3"] * 3
    assert cell_rows(report)[0].boxes[0].share == "100%"


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (seen("base", "right", kept=ALL), "verified"),
        (
            seen("base", "right", kept=WIDE, rejection=RejectionReason.UNCITED_ENTITIES),
            "strict rejects it (uncited_entities); lenient, off keep it",
        ),
        (seen("closed_book", "same"), ""),
    ],
)
def test_what_the_modes_make_of_a_reply(record, said):
    assert kept_text(record) == said
