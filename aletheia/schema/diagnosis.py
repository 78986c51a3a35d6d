"""The diagnosis of a trace: flags, the cell they add up to, and what to do about it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from aletheia.schema.cost import Cost
from aletheia.schema.judgement import (
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.trace import Claim, SubQuestion, TraceRecord


class FailureCell(StrEnum):
    """The six cells: coverage × grounding."""

    COMPLETE_GROUNDED = "complete_grounded"
    COMPLETE_UNGROUNDED = "complete_ungrounded"
    INCOMPLETE_GROUNDED = "incomplete_grounded"
    INCOMPLETE_UNGROUNDED = "incomplete_ungrounded"
    EXTRA_GROUNDED = "extra_grounded"
    EXTRA_UNGROUNDED = "extra_ungrounded"

    @property
    def plain_name(self) -> str:
        """The name for people."""
        return _PLAIN[self]


_PLAIN = {
    FailureCell.COMPLETE_GROUNDED: "Healthy",
    FailureCell.COMPLETE_UNGROUNDED: "Hallucinated",
    FailureCell.INCOMPLETE_GROUNDED: "Retrieval gap",
    FailureCell.INCOMPLETE_UNGROUNDED: "Missing + made-up",
    FailureCell.EXTRA_GROUNDED: "Over-answered",
    FailureCell.EXTRA_UNGROUNDED: "Fabricated extras",
}

LATENCY_KEYS = (
    "persist_trace",
    "decompose_query",
    "decompose_response",
    "judge_sufficiency",
    "judge_faithfulness",
    "judge_completeness",
    "calibration",
)
"""The keys of `latency_ms`, in the order of the steps."""

SufficiencyLevel = Literal["high", "low"]
CompletenessVerdict = Literal["complete", "incomplete", "extra"]
Abstention = Literal["honest", "over_refusal", "undecided"]


class Flags(TraceRecord):
    """What is true of a trace, each by itself; None = not known. The cell is a view of them.

    `missing`: a sub-question is not covered. `extra`: a claim was not asked for. `ungrounded`: a
    claim is not supported. `miscited`: a claim is supported, but not by what it cites.
    `abstained`: the response refuses to answer. `over_refused`: it does so over sufficient
    evidence. `conflict`: the evidence contradicts itself on what is claimed.
    """

    missing: bool | None = None
    extra: bool | None = None
    ungrounded: bool | None = None
    miscited: bool | None = None
    abstained: bool | None = None
    over_refused: bool | None = None
    conflict: bool | None = None


class Diagnosis(TraceRecord):
    """Where a trace stands.

    `failure_cell` None = not diagnosed, and `problems` say why. Fractions are over measured
    items, None where there is none. `sufficiency_level` None = not known. `tentative` says that
    the cell rests on a verdict of low confidence, `level_tentative` says so of the level of
    sufficiency. An `empty_response` is evaluated by rule: incomplete, neither grounded nor
    ungrounded nor an abstention, so it has no cell. `n_claims` counts the graded claims.
    `threshold` is what `high` needs, and `threshold_source` where it came from (`calibrated`,
    `fallback_project`, `fallback_memory`).
    """

    failure_cell: FailureCell | None = None
    completeness: CompletenessVerdict | None = None
    flags: Flags = Field(default_factory=Flags)
    sufficiency_level: SufficiencyLevel | None = None
    sufficiency_fraction: float | None = Field(default=None, ge=0.0, le=1.0)
    faithfulness_fraction: float | None = Field(default=None, ge=0.0, le=1.0)
    n_sub_questions: int = 0
    n_claims: int = 0
    n_uncovered_sub_questions: int | None = None
    n_extra_claims: int | None = None
    n_unmeasured: int = 0
    abstention: Abstention | None = None
    tentative: bool = False
    level_tentative: bool = False
    empty_response: bool = False
    threshold: float | None = Field(default=None, ge=0.0, le=1.0)
    threshold_source: str | None = None
    problems: tuple[str, ...] = ()


class Suggestion(TraceRecord):
    """What to do about a cell at a level of sufficiency. `slug` is `<cell>_<level>`."""

    slug: str
    title: str
    body: str
    actions: tuple[str, ...] = ()


class EvaluationResult(TraceRecord):
    """One trace, diagnosed as far as it could be.

    `errors` has a message for each metric that failed. `latency_ms` has all of `LATENCY_KEYS`, 0
    for a step that was not taken. `making` names what made it:
    package, judge, models, prompt digests.
    """

    trace_id: int | None = None
    query: str | None
    response: str
    sub_questions: tuple[SubQuestion, ...] = ()
    claims: tuple[Claim, ...] = ()
    sufficiency: tuple[SufficiencyJudgment, ...] = ()
    faithfulness: tuple[FaithfulnessJudgment, ...] = ()
    completeness: CompletenessJudgment | None = None
    diagnosis: Diagnosis
    suggestion: Suggestion | None = None
    created_at: datetime
    errors: dict[str, str] = Field(default_factory=dict)
    findings: tuple[str, ...] = ()
    latency_ms: dict[str, float] = Field(default_factory=dict)
    cost: Cost = Field(default_factory=Cost)
    making: dict[str, str] = Field(default_factory=dict)

    @property
    def failure_cell(self) -> FailureCell | None:
        """The cell, None where there is no diagnosis."""
        return self.diagnosis.failure_cell
