"""What verification found. Offsets are code points of the original answer string."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Mode(StrEnum):
    """What a failed verification does to an answer."""

    STRICT = "strict"
    LENIENT = "lenient"
    OFF = "off"


class RejectionReason(StrEnum):
    """The five reasons, in the order in which they are checked."""

    PARSE_ERROR = "parse_error"
    ANSWER_WITHOUT_CITATIONS = "answer_without_citations"
    INSUFFICIENT_CONTEXT_WITH_CITATIONS = "insufficient_context_with_citations"
    INVALID_CITATION_IDS = "invalid_citation_ids"
    UNCITED_ENTITIES = "uncited_entities"


FindingKind = Literal[
    "reply",  # the reply could not be read
    "citation",  # a cited id, or none where one is needed
    "name",
    "number",
    "date",
    "quotation",
    "link",
    "identifier",
    "polarity",  # a statement with the opposite sign of the evidence
    "claim",  # a statement that shares nothing with the cited units
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing in the answer that the cited units do not carry.

    `text == answer[start:end]`; `start == end == 0` where no span applies. `reason` is a fixed
    code (see docs/reference/findings.md). `found_in` is the uncited unit that carries it,
    `nearest` the closest thing the cited units hold instead.
    """

    kind: FindingKind
    text: str
    start: int
    end: int
    reason: str
    found_in: str | None = None
    nearest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something worth saying that does not fail the answer (`rounded`, `partial_name`, ...)."""

    kind: str
    text: str
    start: int
    end: int
    reason: str
    detail: str | None = None


Category = Literal["grounded_answer", "insufficient_context", "rejected", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The verdict over one reply; the same whatever the mode.

    `verified` is True when no reason applies. `abstained` is True for a clean abstention.
    `reasons` hold in check order, the first is the rejection reason. `checked` and `unchecked`
    count the statements of the answer with and without anything the checks could decide.
    """

    verified: bool
    abstained: bool
    answer: str | None
    cited_ids: tuple[str, ...] = ()
    reasons: tuple[RejectionReason, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[Note, ...] = ()
    repairs: tuple[str, ...] = ()
    normalised: tuple[tuple[str, str], ...] = ()
    problem: str | None = None
    checked: int = 0
    unchecked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verification seen through a mode.

    `passed` says whether the mode lets the answer through. In lenient mode what failed is in
    `warnings` and not in `rejection_reasons`; `verification.verified` stays the plain truth.
    """

    mode: Mode
    passed: bool
    category: Category
    rejection_reason: RejectionReason | None
    rejection_reasons: tuple[RejectionReason, ...]
    warnings: tuple[RejectionReason, ...]
    verification: Verification
