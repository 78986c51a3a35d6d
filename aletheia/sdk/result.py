"""The verdict over one reply as the API returns it and as `aletheia verify` writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from aletheia.schema.verification import (
    Category,
    Finding,
    Judged,
    Mode,
    Note,
    RejectionReason,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """What verification says about one reply, seen through a mode; false where it did not pass.

    `passed`, `category` and the rejection reasons are what the mode makes of it; `verified` is
    the verdict itself, the same in every mode. `answer` is the text of the answer, None where none
    could be read, and `cited_ids` are the units it cites. Offsets of findings and notes count code
    points of `answer`. `normalised_from` pairs a citation as it was written with the id it was
    read as, `dropped` are positions (from 0) of blank evidence, `problem` is the code of a reply
    that could not be read. `checked` and `unchecked` count the sentences with and without
    anything that a check could decide.
    """

    passed: bool
    category: Category
    rejection_reason: RejectionReason | None
    rejection_reasons: tuple[RejectionReason, ...]
    answer: str | None
    cited_ids: tuple[str, ...]
    findings: tuple[Finding, ...]
    mode: Mode
    verified: bool
    warnings: tuple[RejectionReason, ...]
    notes: tuple[Note, ...]
    problem: str | None
    repairs: tuple[str, ...]
    normalised_from: tuple[tuple[str, str], ...]
    dropped: tuple[int, ...]
    checked: int
    unchecked: int

    def __bool__(self) -> bool:
        # An object is true by default, which would let `if verify(...)` pass everything.
        return self.passed

    @classmethod
    def of(cls, judged: Judged, dropped: tuple[int, ...] = ()) -> Self:
        """Flatten a verification and what a mode made of it."""
        found = judged.verification
        return cls(
            passed=judged.passed,
            category=judged.category,
            rejection_reason=judged.rejection_reason,
            rejection_reasons=judged.rejection_reasons,
            answer=found.answer,
            cited_ids=found.cited_ids,
            findings=found.findings,
            mode=judged.mode,
            verified=found.verified,
            warnings=judged.warnings,
            notes=found.notes,
            problem=found.problem,
            repairs=found.repairs,
            normalised_from=found.normalised,
            dropped=dropped,
            checked=found.checked,
            unchecked=found.unchecked,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON, keys in the order of the fields."""
        return {
            "passed": self.passed,
            "category": self.category,
            "rejection_reason": self.rejection_reason,
            "rejection_reasons": list(self.rejection_reasons),
            "answer": self.answer,
            "cited_ids": list(self.cited_ids),
            "findings": [_finding(finding) for finding in self.findings],
            "mode": self.mode,
            "verified": self.verified,
            "warnings": list(self.warnings),
            "notes": [_note(note) for note in self.notes],
            "problem": self.problem,
            "repairs": list(self.repairs),
            "normalised_from": [list(pair) for pair in self.normalised_from],
            "dropped": list(self.dropped),
            "checked": self.checked,
            "unchecked": self.unchecked,
        }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "text": finding.text,
        "start": finding.start,
        "end": finding.end,
        "reason": finding.reason,
        "found_in": finding.found_in,
        "nearest": finding.nearest,
    }


def _note(note: Note) -> dict[str, Any]:
    return {
        "kind": note.kind,
        "text": note.text,
        "start": note.start,
        "end": note.end,
        "reason": note.reason,
        "detail": note.detail,
    }
