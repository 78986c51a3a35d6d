"""The cells of a run: counts add up, and what is missing never makes a rate better."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from aletheia.diagnosis.run_report import diagnosis_report
from aletheia.diagnosis.suggest import suggest
from aletheia.schema.diagnosis import Diagnosis, FailureCell, Flags
from aletheia.schema.report import DetailedResult
from aletheia.schema.run_diagnosis import DiagnosisReport

JUDGE = {"judge": "llm", "judge_model": "m"}


def row(cell: str | None = None, reason: str | None = None, **fields: Any) -> DetailedResult:
    found = None
    if cell is not None:
        found = Diagnosis(
            failure_cell=FailureCell(cell),
            sufficiency_level="high",
            sufficiency_fraction=1.0,
            threshold=0.8,
            threshold_source="fallback_memory",
            n_claims=1,
            n_sub_questions=1,
            tentative=fields.pop("tentative", False),
            abstention=fields.pop("abstention", None),
        )
    return DetailedResult.model_validate(
        {
            "id": "q",
            "question": "?",
            "gold_answer": "a",
            "category": "grounded_answer",
            "grounding_rejected": False,
            "verified": True,
            "answer": "a",
            "diagnosis": found,
            "suggestion": None if found is None else suggest(found),
            "not_diagnosed": reason,
            **fields,
        }
    )


REJECTED: dict[str, Any] = {
    "category": "rejected",
    "grounding_rejected": True,
    "rejection_reason": "uncited_entities",
    "verified": False,
}
UNMEASURED: dict[str, Any] = {
    "diagnosis": Diagnosis(flags=Flags(ungrounded=True), problems=("x",)),
}
ROWS = (
    row("complete_grounded"),
    row("complete_grounded", tentative=True),
    row("incomplete_grounded", abstention="honest"),
    row("extra_ungrounded"),
    row(reason="unmeasured: completeness", **UNMEASURED),
    row(reason="rejected: uncited_entities", **REJECTED),
    row(reason="rejected: uncited_entities", **REJECTED),
    row(reason="no reply", category="error", error="down", verified=None),
)


def report(*rows: DetailedResult) -> DiagnosisReport:
    found = diagnosis_report(rows, JUDGE)
    assert found is not None
    return found


def test_the_counts_add_up_to_the_questions() -> None:
    found = report(*ROWS)

    assert sum(found.cells.values()) == found.diagnosed == 4
    assert set(found.cells) == set(FailureCell)
    assert found.tentative == found.tentative_cells[FailureCell.COMPLETE_GROUNDED] == 1
    assert [(entry.reason, entry.count) for entry in found.not_diagnosed] == [
        ("rejected: uncited_entities", 2),
        ("no reply", 1),
        ("unmeasured: completeness", 1),
    ]


def test_the_rates_are_over_accepted_replies_and_one_is_over_all() -> None:
    found = report(*ROWS)

    assert (found.healthy.rate.numerator, found.healthy.rate.denominator) == (2, 4)
    assert (found.adjusted.rate.numerator, found.adjusted.rate.denominator) == (3, 4)
    assert (found.healthy_of_all.numerator, found.healthy_of_all.denominator) == (2, 6)
    assert found.healthy.rate.low is not None
    assert found.healthy.rate.low < 0.5
    # The unmeasured row has a claim that is not supported: it cannot turn out healthy.
    assert (found.healthy.low, found.healthy.high) == (2 / 5, 2 / 5)


def test_the_most_frequent_advice_comes_first() -> None:
    slugs = [(item.slug, item.count) for item in report(*ROWS).suggestions]

    assert slugs[0] == ("complete_grounded_high", 2)
    assert slugs[1:] == [("extra_ungrounded_high", 1), ("incomplete_grounded_high", 1)]


def test_a_run_without_replies_has_no_rate_and_no_threshold() -> None:
    found = report(ROWS[-1])

    assert (found.healthy.rate.value, found.healthy_of_all.value) == (None, None)
    assert (found.threshold, found.threshold_source) == (None, None)


def test_without_a_judge_there_is_no_report() -> None:
    assert diagnosis_report(ROWS, {}) is None


@pytest.mark.parametrize("field", ["diagnosed", "total", "tentative"])
def test_a_file_whose_counts_do_not_add_up_is_refused(field: str) -> None:
    data = report(*ROWS).model_dump()

    with pytest.raises(ValidationError, match=field):
        DiagnosisReport.model_validate({**data, field: data[field] + 1})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"not_diagnosed": "why", "diagnosis": ROWS[0].diagnosis}, "there is a cell"),
        ({"diagnosis": Diagnosis()}, "does not say why"),
        ({"suggestion": ROWS[0].suggestion}, "does not say why"),
    ],
)
def test_a_row_has_a_cell_or_a_reason(fields: dict[str, Any], said: str) -> None:
    plain = row().model_dump()

    with pytest.raises(ValidationError, match=said):
        DetailedResult.model_validate({**plain, **fields})
