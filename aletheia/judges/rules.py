"""What is settled before any judge is asked, and the decomposer that does not cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from aletheia.diagnosis.abstention import is_abstention_literal, refusal
from aletheia.grounding.numbering import is_blank
from aletheia.judges.base import Judged, Outcome, ResponsePieces, Skipped, TraceCase
from aletheia.schema.judgement import (
    Alignment,
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.trace import Claim, SubQuestion

NO_QUERY: Final = "no_query"
NO_CLAIMS: Final = "no_claims"
NO_SUB_QUESTIONS: Final = "no_sub_questions"
EMPTY_RESPONSE: Final = "empty_response"
ABSTAINED: Final = "abstained"
_NO_EVIDENCE: Final = "There is no evidence."


def has_query(case: TraceCase) -> bool:
    """Whether anything was asked."""
    return case.query is not None and not is_blank(case.query)


def is_empty(case: TraceCase) -> bool:
    """Whether the response is blank: neither grounded nor an abstention."""
    return is_blank(case.response)


def is_abstention(case: TraceCase) -> bool:
    """Whether the response is the literal abstention, or a refusal and nothing else."""
    return is_abstention_literal(case.response) or refusal(case.response) is not None


def settled_query(case: TraceCase) -> Outcome[tuple[SubQuestion, ...]] | None:
    """Return the sub-questions where no decomposer is needed."""
    return None if has_query(case) else Skipped(reason=NO_QUERY)


def settled_response(case: TraceCase) -> Outcome[ResponsePieces] | None:
    """Return the claims where no decomposer is needed: a blank response and a refusal have none."""
    return Judged(value=ResponsePieces()) if is_empty(case) or is_abstention(case) else None


def settled_sufficiency(
    case: TraceCase, sub_questions: Sequence[SubQuestion]
) -> Outcome[tuple[SufficiencyJudgment, ...]] | None:
    """Return the outcome where no judge is needed: nothing answers without a unit."""
    if not has_query(case):
        return Skipped(reason=NO_QUERY)
    if not sub_questions:
        return Skipped(reason=NO_SUB_QUESTIONS)
    if len(case.evidence):
        return None
    return Judged(
        value=tuple(
            SufficiencyJudgment(
                sub_question_id=item.id, verdict="N", reasoning=_NO_EVIDENCE, confidence="high"
            )
            for item in sub_questions
        )
    )


def settled_faithfulness(
    case: TraceCase, claims: Sequence[Claim]
) -> Outcome[tuple[FaithfulnessJudgment, ...]] | None:
    """Return the outcome where no judge is needed; `claims` are the graded ones."""
    if not claims:
        return Skipped(reason=_why_no_claims(case))
    if len(case.evidence):
        return None
    return Judged(
        value=tuple(
            FaithfulnessJudgment(
                claim_id=item.id,
                verdict="N",
                reasoning=_NO_EVIDENCE,
                confidence="high",
                unsupported=((item.start, item.end),),
            )
            for item in claims
        )
    )


def settled_completeness(
    case: TraceCase, sub_questions: Sequence[SubQuestion], claims: Sequence[Claim]
) -> Outcome[CompletenessJudgment] | None:
    """Return the outcome where no judge is needed: without claims no sub-question is answered."""
    if not has_query(case):
        return Skipped(reason=NO_QUERY)
    if not sub_questions:
        return Skipped(reason=NO_SUB_QUESTIONS)
    if claims:
        return None
    return Judged(
        value=CompletenessJudgment(
            alignments=tuple(Alignment(sub_question_id=item.id) for item in sub_questions),
            reasoning=f"The response makes no claim: `{_why_no_claims(case)}`.",
            confidence="high",
        )
    )


def _why_no_claims(case: TraceCase) -> str:
    if is_empty(case):
        return EMPTY_RESPONSE
    return ABSTAINED if is_abstention(case) else NO_CLAIMS


class WholeDecomposer:
    """`Decomposer` that cuts nothing: the query is one sub-question, the response one claim."""

    @property
    def name(self) -> str:
        """Which kind of decomposer this is."""
        return "whole"

    @property
    def making(self) -> Mapping[str, str]:
        """What results keep of it."""
        return {"decomposer": self.name}

    async def decompose_query(self, case: TraceCase) -> Outcome[tuple[SubQuestion, ...]]:
        """Return the query as it is."""
        if case.query is None:
            return Skipped(reason=NO_QUERY)
        return Judged(value=(SubQuestion(id=0, text=case.query.strip()),))

    async def decompose_response(self, case: TraceCase) -> Outcome[ResponsePieces]:
        """Return the response as it is."""
        text = case.response.strip()
        if not text:
            return Judged(value=ResponsePieces())
        start = case.response.index(text)
        claim = Claim(id=0, text=text, start=start, end=start + len(text))
        return Judged(value=ResponsePieces(claims=(claim,)))
