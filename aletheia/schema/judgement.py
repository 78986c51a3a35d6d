"""What judges say: one verdict an item, or the reason why there is none."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from aletheia.schema.trace import TraceRecord

Verdict = Literal["Y", "N"]
Confidence = Literal["high", "low"]


class Judgment(TraceRecord):
    """One verdict. `verdict` None = unmeasured, and `problem` says why.

    `evidence_ids` are the units that carry a positive verdict, `score` in [0, 1] is how well the
    item is supported (None where the judge gives no score), `confidence` `low` marks a verdict
    that the judge itself holds for tentative. `warnings` are reason codes of doubts that did not
    change the verdict, such as `citation_lacks_literals`. `agreement` is the share of repeats that
    gave this verdict, None where the item was judged once.
    """

    verdict: Verdict | None = None
    reasoning: str = ""
    evidence_ids: tuple[str, ...] = ()
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    confidence: Confidence | None = None
    warnings: tuple[str, ...] = ()
    problem: str | None = None
    agreement: float | None = Field(default=None, ge=0.0, le=1.0)

    @model_validator(mode="after")
    def _missing_has_a_reason(self) -> Self:
        if (self.verdict is None) != (self.problem is not None):
            raise ValueError(f"`verdict` is {self.verdict!r} but `problem` is {self.problem!r}")
        return self

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks of the units: E1 is rank 0."""
        return tuple(int(unit[1:]) - 1 for unit in self.evidence_ids)


class SufficiencyJudgment(Judgment):
    """Do the chunks alone hold enough to answer the sub-question."""

    sub_question_id: int = Field(ge=0)

    @property
    def supporting_chunk_ranks(self) -> tuple[int, ...]:
        """Ranks of the chunks that answer it."""
        return self.ranks


class FaithfulnessJudgment(Judgment):
    """Is the claim grounded in the chunks.

    `unsupported` are spans [start, end) of the response, in code points, that nothing carries.
    """

    claim_id: int = Field(ge=0)
    unsupported: tuple[tuple[int, int], ...] = ()

    @property
    def grounding_chunk_ranks(self) -> tuple[int, ...]:
        """Ranks of the chunks that carry it."""
        return self.ranks


class Alignment(TraceRecord):
    """Which claims answer one sub-question."""

    sub_question_id: int = Field(ge=0)
    claim_ids: tuple[int, ...] = ()


class CompletenessJudgment(TraceRecord):
    """The alignment of all claims and sub-questions; the verdict is derived from it elsewhere.

    `extras` are ids of claims about a topic that was not asked. `problem` set = unmeasured, and
    then `alignments` and `extras` are empty. `agreement` is the share of repeats that gave this
    very alignment, None where it was judged once.
    """

    alignments: tuple[Alignment, ...] = ()
    extras: tuple[int, ...] = ()
    reasoning: str = ""
    confidence: Confidence | None = None
    problem: str | None = None
    agreement: float | None = Field(default=None, ge=0.0, le=1.0)
