"""One diagnosed trace as a row and as text: nothing lost, nothing that acts, no score from nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from aletheia.reports.trace_json import (
    ROW_KEYS,
    error_row,
    faithfulness_score,
    sufficiency_score,
    trace_row,
)
from aletheia.reports.trace_text import render_trace, verdict_line
from aletheia.reports.visible import cells
from aletheia.schema.diagnosis import Diagnosis, EvaluationResult, FailureCell, Flags, Suggestion
from aletheia.schema.judgement import FaithfulnessJudgment, SufficiencyJudgment
from aletheia.schema.trace import Claim, SubQuestion

RESPONSE = "One is so. Two is not."
SPANS = ((0, 10), (11, 22))


def claims(*kinds: Any) -> tuple[Claim, ...]:
    return tuple(
        Claim(id=at, text=RESPONSE[a:b], kind=kind, start=a, end=b)
        for at, (kind, (a, b)) in enumerate(zip(kinds, SPANS, strict=False))
    )


def verdict(
    at: int, said: str | None, score: float | None = None, **more: Any
) -> FaithfulnessJudgment:
    return FaithfulnessJudgment.model_validate(
        {
            "claim_id": at,
            "verdict": said,
            "score": score,
            "evidence_ids": ("E1",) if said == "Y" else (),
            "problem": "model_unavailable" if said is None else None,
            **more,
        }
    )


def result(**fields: Any) -> EvaluationResult:
    usual: dict[str, Any] = {
        "query": "Is it so?",
        "response": RESPONSE,
        "claims": claims("answer", "answer"),
        "faithfulness": (verdict(0, "Y"), verdict(1, "N", unsupported=((15, 21),))),
        "sub_questions": (SubQuestion(id=0, text="Is it so?"),),
        "sufficiency": (SufficiencyJudgment(sub_question_id=0, verdict="Y", evidence_ids=("E1",)),),
        "diagnosis": Diagnosis(failure_cell=FailureCell.COMPLETE_UNGROUNDED),
        "created_at": datetime(2020, 1, 2, tzinfo=UTC),
    }
    return EvaluationResult(**{**usual, **fields})


@pytest.mark.parametrize(
    ("kinds", "judgments", "score"),
    [
        (("answer", "answer"), (verdict(0, "Y"), verdict(1, "N")), 0.5),
        (("answer", "answer"), (verdict(0, "Y", 0.8), verdict(1, "N", 0.3)), 0.55),
        (("answer", "answer"), (verdict(0, "Y", 0.8), verdict(1, "N")), 0.5),
        (("answer", "conversational"), (verdict(0, "Y", 0.8),), 0.8),
        (("answer", "answer"), (verdict(0, "Y"), verdict(1, None)), None),
        (("answer", "answer"), (verdict(0, "Y"),), None),
        (("answer", "answer"), (), None),
        (("conversational",), (), None),
        ((), (), None),
    ],
)
def test_a_missing_verdict_leaves_no_score(kinds: Any, judgments: Any, score: float | None) -> None:
    """Field cases 8, 34: neither few verdicts nor none make a good score."""
    made = result(claims=claims(*kinds), faithfulness=judgments)
    assert faithfulness_score(made) == (None if score is None else pytest.approx(score))


def test_sufficiency_has_a_score_only_where_it_is_measured() -> None:
    assert sufficiency_score(result()) == 1.0
    assert sufficiency_score(result(sufficiency=())) is None
    assert sufficiency_score(result(sub_questions=(), sufficiency=())) is None


def test_rows_have_the_same_keys_whatever_happened() -> None:
    good, bad = trace_row(result(), record_id="a", line=1), error_row("broken", line=2)

    assert tuple(good) == tuple(bad) == ROW_KEYS
    assert json.loads(json.dumps(good, allow_nan=False))["failure_cell"] == "complete_ungrounded"
    assert bad["errors"] == {"input": "broken"}
    assert (bad["failure_cell"], bad["faithfulness_score"], bad["diagnosis"]) == (None, None, None)


def test_a_claim_that_is_not_graded_stands_in_the_row_without_a_verdict() -> None:
    row = trace_row(
        result(claims=claims("answer", "conversational"), faithfulness=(verdict(0, "Y"),))
    )
    assert [(item["kind"], item["verdict"]) for item in row["faithfulness"]] == [
        ("answer", "Y"),
        ("conversational", None),
    ]


NASTY = "\x1b[31mred\x1b[0m \u202e \x00 line\nline " + "wide漢字" * 30


@pytest.mark.parametrize(
    "made",
    [
        result(),
        result(query=NASTY, response=NASTY, claims=(), faithfulness=()),
        result(errors={"faithfulness": NASTY}, findings=("judge_obeyed_injection",)),
        result(faithfulness=(verdict(0, "Y", reasoning=NASTY), verdict(1, None))),
        result(
            suggestion=Suggestion(slug="s", title=NASTY[:40], body=NASTY, actions=(NASTY,)),
            diagnosis=Diagnosis(problems=(NASTY,), flags=Flags(missing=None, conflict=True)),
        ),
    ],
)
def test_text_stays_within_80_columns_and_nothing_in_it_acts(made: EvaluationResult) -> None:
    text = render_trace(made)

    assert max(map(cells, text.split("\n"))) <= 80
    assert not set(text) & {"\x1b", "\x00", "\u202e"}


@pytest.mark.parametrize(
    ("diagnosis", "line", "role"),
    [
        (Diagnosis(), "Not diagnosed", "unmeasured"),
        (Diagnosis(empty_response=True), "Empty response", "poor"),
        (
            Diagnosis(failure_cell=FailureCell.COMPLETE_GROUNDED),
            "Healthy [complete_grounded]",
            "good",
        ),
        (
            Diagnosis(failure_cell=FailureCell.COMPLETE_GROUNDED, tentative=True),
            "Healthy [complete_grounded] (tentative)",
            "moderate",
        ),
        (
            Diagnosis(failure_cell=FailureCell.EXTRA_UNGROUNDED),
            "Fabricated extras [extra_ungrounded]",
            "poor",
        ),
    ],
)
def test_doubt_is_shown_where_the_cell_is(diagnosis: Diagnosis, line: str, role: str) -> None:
    assert verdict_line(diagnosis) == (line, role)


def test_text_shows_verdicts_units_and_what_nothing_carries() -> None:
    text = render_trace(
        result(faithfulness=(verdict(0, "Y", 0.9, confidence="low"), verdict(1, None)))
    )

    assert "carried      One is so." in text
    assert "E1; score 0.90; tentative" in text
    assert "unmeasured   Two is not." in text
    assert "unmeasured: model unavailable" in text
    assert 'nothing carries "is not"' in render_trace(result(faithfulness=(verdict(1, "N", unsupported=((15, 21),)),)))  # fmt: skip
