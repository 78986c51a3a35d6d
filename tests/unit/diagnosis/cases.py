"""Small traces: sub-questions and claims by number, verdicts as letters.

A letter is `Y` or `N`, in lower case where the judge is not confident, `?` for a failed item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aletheia.diagnosis.classify import classify
from aletheia.schema.diagnosis import Diagnosis
from aletheia.schema.judgement import (
    Alignment,
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.trace import Claim, Decomposition, SubQuestion


def verdict(letter: str) -> dict[str, Any]:
    if letter == "?":
        return {"problem": "bad_reply"}
    return {
        "verdict": letter.upper(),
        "evidence_ids": ("E1",) if letter.upper() == "Y" else (),
        "confidence": "low" if letter.islower() else "high",
    }


def pieces(questions: int, claims: int, conversational: int = 0) -> Decomposition:
    return Decomposition(
        sub_questions=tuple(SubQuestion(id=item, text=f"question {item}") for item in range(questions)),
        claims=tuple(
            Claim(
                id=item,
                text=f"claim {item}",
                start=item,
                end=item + 1,
                kind="answer" if item < claims else "conversational",
            )
            for item in range(claims + conversational)
        ),
    )  # fmt: skip


def sufficiency(letters: str) -> tuple[SufficiencyJudgment, ...]:
    return tuple(
        SufficiencyJudgment(sub_question_id=item, **verdict(letter))
        for item, letter in enumerate(letters)
    )


def faithfulness(letters: str) -> tuple[FaithfulnessJudgment, ...]:
    return tuple(
        FaithfulnessJudgment(claim_id=item, **verdict(letter))
        for item, letter in enumerate(letters)
    )


def alignment(
    covering: Mapping[int, Sequence[int]], extras: Sequence[int] = (), **fields: Any
) -> CompletenessJudgment:
    return CompletenessJudgment(
        alignments=tuple(
            Alignment(sub_question_id=question, claim_ids=tuple(claims))
            for question, claims in covering.items()
        ),
        extras=tuple(extras),
        **fields,
    )  # fmt: skip


def diagnose(
    sufficient: str = "Y",
    faithful: str = "Y",
    covering: Mapping[int, Sequence[int]] | None = None,
    extras: Sequence[int] = (),
    **fields: Any,
) -> Diagnosis:
    """Classify a trace; without `covering` each sub-question is answered by the claim of its number."""
    if covering is None:
        covering = {item: [item] for item in range(len(sufficient))}
    arguments: dict[str, Any] = {
        "decomposition": pieces(len(sufficient), len(faithful)),
        "sufficiency": sufficiency(sufficient),
        "faithfulness": faithfulness(faithful),
        "completeness": alignment(covering, extras),
    }
    return classify(**{**arguments, **fields})


HEALTHY = diagnose()
HALLUCINATED = diagnose("Y", "N")
GAP = diagnose("YN", "Y", {0: [0], 1: []})
WORST = diagnose("YN", "YN")
OVER_ANSWERED = diagnose("Y", "YY", extras=[1])
FABRICATED = diagnose("Y", "YN", extras=[1])
ALL_CELLS = (HEALTHY, HALLUCINATED, GAP, WORST, OVER_ANSWERED, FABRICATED)

HONEST = diagnose("NN", "", {0: [], 1: []}, abstained=True)
OVER_REFUSAL = diagnose("YY", "", {0: [], 1: []}, abstained=True)
EMPTY = diagnose("Y", "", {0: []}, empty_response=True)
UNMEASURED = diagnose("Y", "?")
TENTATIVE = diagnose("Y", "y")
