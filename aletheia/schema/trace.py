"""A trace: what was asked, what was retrieved, what was answered, and the pieces of both."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ClaimKind = Literal["answer", "elaboration", "conversational"]
"""`conversational` claims (greetings, offers, talk about the answer) are kept and not graded."""


class TraceRecord(BaseModel):
    """Base of what stands in results and stores: frozen, no unknown fields, no NaN."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=()
    )


class ContextChunk(TraceRecord):
    """One retrieved piece. `rank` counts from 0 in the order of the caller; rank 0 is unit E1."""

    text: str
    rank: int = Field(ge=0)
    source: str | None = None
    score: float | None = None


class SubQuestion(TraceRecord):
    """A part of the query that stands alone. `id` counts from 0."""

    id: int = Field(ge=0)
    text: str


class Claim(TraceRecord):
    """A statement of the response that stands alone. `id` counts from 0.

    `start` and `end` are code points of the response, the span the claim was made from; `text`
    may complete it (a pronoun resolved, the stem of a list, the question for a bare answer).
    """

    id: int = Field(ge=0)
    text: str
    kind: ClaimKind = "answer"
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Decomposition(TraceRecord):
    """The pieces of one trace, and who cut them.

    `discarded` are claims of a model that stand on no span of the response: they are not graded,
    and counted. `method` is `embedded`, `llm` or `whole` (not cut at all).
    """

    sub_questions: tuple[SubQuestion, ...] = ()
    claims: tuple[Claim, ...] = ()
    discarded: tuple[str, ...] = ()
    method: Literal["embedded", "llm", "whole"] = "embedded"

    @property
    def graded(self) -> tuple[Claim, ...]:
        """The claims that are judged."""
        return tuple(claim for claim in self.claims if claim.kind != "conversational")
