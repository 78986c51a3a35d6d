"""Several repeats about one trace: a verdict needs more than half of all of them."""

from __future__ import annotations

import pytest

from aletheia.judges.base import Failed, Judged, Outcome
from aletheia.judges.repeat import NO_MAJORITY, majority
from aletheia.schema.judgement import Confidence, FaithfulnessJudgment, Verdict

FAILED = Failed(code="model_unavailable", message="no answer")


def said(
    verdict: Verdict | None, confidence: Confidence | None = None, *warnings: str
) -> Outcome[tuple[FaithfulnessJudgment, ...]]:
    return Judged(
        value=(
            FaithfulnessJudgment(
                claim_id=0,
                verdict=verdict,
                evidence_ids=("E1",) if verdict == "Y" else (),
                confidence=confidence,
                warnings=warnings,
                problem="no_verdict" if verdict is None else None,
            ),
        )
    )


@pytest.mark.parametrize(
    ("repeats", "verdict", "problem", "agreement"),
    [
        ([said("Y"), said("Y"), said("N")], "Y", None, 2 / 3),
        ([said("N"), said("Y"), said("N")], "N", None, 2 / 3),
        ([said("Y"), said("N")], None, NO_MAJORITY, None),
        ([said("Y"), said(None), said(None)], None, NO_MAJORITY, None),
        ([said("Y"), FAILED, FAILED], None, NO_MAJORITY, None),
        ([said("Y"), said("Y"), FAILED], "Y", None, 2 / 3),
        ([said(None), said(None)], None, "no_verdict", None),
    ],
)
def test_a_verdict_that_is_missing_counts_for_neither_side(
    repeats: list[Outcome[tuple[FaithfulnessJudgment, ...]]],
    verdict: Verdict | None,
    problem: str | None,
    agreement: float | None,
) -> None:
    joined = majority(repeats)
    assert isinstance(joined, Judged)
    (item,) = joined.value

    assert (item.verdict, item.problem, item.agreement) == (verdict, problem, agreement)


@pytest.mark.parametrize("order", [("high", "low"), ("low", "high")])
def test_one_repeat_that_was_unsure_makes_the_verdict_unsure(
    order: tuple[Confidence, Confidence],
) -> None:
    joined = majority([said("Y", order[0], "first"), said("Y", order[1], "second")])
    assert isinstance(joined, Judged)
    (item,) = joined.value

    assert (item.confidence, item.warnings) == ("low", ("first", "second"))


def test_where_all_repeats_failed_there_is_no_judgement() -> None:
    assert majority([FAILED, FAILED]) == FAILED
