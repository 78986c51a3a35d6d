"""The ports of judges, and the three ways a judgement can end.

A judge with a model and a judge without one fit through the same ports; the pipeline knows only
these. The names of the methods are the names under which latencies and errors are reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.judgement import (
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.trace import Claim, SubQuestion

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCase:
    """One trace as judges see it. Unit E1 is the chunk of rank 0.

    `query` None = nothing is known of what was asked: only faithfulness can be judged. `repeat`
    numbers the times one case is judged on purpose, from 0.
    """

    query: str | None
    evidence: EvidenceSet
    response: str
    repeat: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Generic[T]):
    """There is a judgement; items in it may still be unmeasured, each with its `problem`.

    `findings` are codes about the judge or the evidence, such as `judge_obeyed_injection`.
    `message` tells people what went wrong with a part of it, where something did.
    """

    value: T
    findings: tuple[str, ...] = ()
    message: str | None = None
    kind: Literal["judged"] = "judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """There was nothing to judge, and `reason` says why: `no_query`, `no_claims`, ..."""

    reason: str
    kind: Literal["skipped"] = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """There should be a judgement and there is none.

    `code` is a short reason (`model_unavailable`, `budget_exceeded`, ...), `message` is for people.
    """

    code: str
    message: str
    findings: tuple[str, ...] = ()
    kind: Literal["failed"] = "failed"


Outcome = Judged[T] | Skipped | Failed
"""What a judge returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePieces:
    """The claims of a response, and those of a model that stand on no span of it."""

    claims: tuple[Claim, ...] = ()
    discarded: tuple[str, ...] = ()


class Named(Protocol):
    """What every judge says of itself."""

    @property
    def name(self) -> str:
        """Which kind of judge this is: `llm`, `embedded`, ..."""
        ...

    @property
    def making(self) -> Mapping[str, str]:
        """What a result should keep of it: model id, prompt digest, version of the weights."""
        ...


@runtime_checkable
class Decomposer(Named, Protocol):
    """Cuts the query into sub-questions and the response into claims."""

    async def decompose_query(self, case: TraceCase) -> Outcome[tuple[SubQuestion, ...]]:
        """Return the sub-questions, ids from 0 in order. Raises nothing for a bad reply."""
        ...

    async def decompose_response(self, case: TraceCase) -> Outcome[ResponsePieces]:
        """Return the claims, ids from 0 in order, each with its span of the response."""
        ...


@runtime_checkable
class SufficiencyJudge(Named, Protocol):
    """Says of each sub-question whether the units alone hold enough to answer it."""

    async def judge_sufficiency(
        self, case: TraceCase, sub_questions: Sequence[SubQuestion]
    ) -> Outcome[tuple[SufficiencyJudgment, ...]]:
        """Return one judgment for each sub-question, in the order asked."""
        ...


@runtime_checkable
class FaithfulnessJudge(Named, Protocol):
    """Says of each claim whether the units carry it."""

    async def judge_faithfulness(
        self, case: TraceCase, claims: Sequence[Claim]
    ) -> Outcome[tuple[FaithfulnessJudgment, ...]]:
        """Return one judgment for each claim, in the order asked; all of them are graded ones."""
        ...


@runtime_checkable
class CompletenessJudge(Named, Protocol):
    """Says which claims answer which sub-question, and which speak of another topic."""

    async def judge_completeness(
        self, case: TraceCase, sub_questions: Sequence[SubQuestion], claims: Sequence[Claim]
    ) -> Outcome[CompletenessJudgment]:
        """Return the alignment of the whole trace, one entry for each sub-question."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """The outcomes of the three judges over one trace."""

    sufficiency: Outcome[tuple[SufficiencyJudgment, ...]]
    faithfulness: Outcome[tuple[FaithfulnessJudgment, ...]]
    completeness: Outcome[CompletenessJudgment]


@runtime_checkable
class FusedJudge(Named, Protocol):
    """Does all of it in two steps: cut both texts, then judge three times at once."""

    async def decompose(
        self, case: TraceCase
    ) -> tuple[Outcome[tuple[SubQuestion, ...]], Outcome[ResponsePieces]]:
        """Return the sub-questions and the claims."""
        ...

    async def judge(
        self, case: TraceCase, sub_questions: Sequence[SubQuestion], claims: Sequence[Claim]
    ) -> Verdicts:
        """Return the outcomes of all three judges; `claims` are the graded ones."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """Who judges a trace. One object may fill several places."""

    decomposer: Decomposer
    sufficiency: SufficiencyJudge
    faithfulness: FaithfulnessJudge
    completeness: CompletenessJudge

    @property
    def making(self) -> dict[str, str]:
        """What results keep of all of them; entries of the same name say the same thing."""
        parts = (self.decomposer, self.sufficiency, self.faithfulness, self.completeness)
        return {key: value for part in parts for key, value in part.making.items()}
