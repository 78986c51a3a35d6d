"""What one call of a judge is about, and what was read of its reply."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from aletheia.judges.base import TraceCase
from aletheia.judges.roster import Family, Roster, roster
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.judgement import Verdict
from aletheia.schema.trace import Claim, SubQuestion

OBEYED: Final = "judge_obeyed_injection"
"""Finding: the canary came back positive."""

CHUNKED: Final = "evidence_chunked"
"""Finding: the units did not fit into one call, and were judged in parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCase:
    """A trace with the items a judge is asked about; `claims` are graded ones."""

    trace: TraceCase
    sub_questions: tuple[SubQuestion, ...] = ()
    claims: tuple[Claim, ...] = ()
    # Both are shown once and read once; made when they are first asked for.
    _rosters: dict[Family, Roster] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def questions_asked(self) -> Roster:
        """The sub-questions as they are shown, with a canary."""
        return self._roster("Q", self.sub_questions)

    @property
    def claims_asked(self) -> Roster:
        """The claims as they are shown, with a canary."""
        return self._roster("C", self.claims)

    def _roster(self, family: Family, items: Sequence[SubQuestion | Claim]) -> Roster:
        held = self._rosters.get(family)
        if held is None:
            held = roster(family, [item.text for item in items], self._salt)
            self._rosters[family] = held
        return held

    @property
    def _salt(self) -> str:
        trace = self.trace
        return "\n".join(
            [trace.query or "", trace.response, *(unit.key for unit in trace.evidence)]
        )

    def only(self, questions: Collection[int], claims: Collection[int]) -> Self:
        """Return the case with those claims alone.

        While a claim is asked about, all sub-questions stay: it may answer any of them.
        """
        kept = tuple(item for item in self.claims if item.id in claims)
        asked = self.sub_questions
        if not kept:
            asked = tuple(item for item in self.sub_questions if item.id in questions)
        return replace(self, sub_questions=asked, claims=kept)

    def over(self, evidence: EvidenceSet) -> Self:
        """Return the case over other units."""
        return replace(self, trace=replace(self.trace, evidence=evidence))


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVerdict:
    """One verdict; `problem` set = there is none, and why."""

    verdict: Verdict | None = None
    evidence_ids: tuple[str, ...] = ()
    reasoning: str = ""
    warnings: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAlignment:
    """Which sub-questions (by id) one claim answers; `problem` set = not known, and why."""

    answers: tuple[int, ...] = ()
    off_topic: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read of one reply: an entry for every item asked, by its id."""

    questions: Mapping[int, ItemVerdict] = field(default_factory=dict)
    claims: Mapping[int, ItemVerdict] = field(default_factory=dict)
    alignments: Mapping[int, ItemAlignment] = field(default_factory=dict)
    findings: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """Every problem, in order, each once."""
        groups = (self.questions, self.claims, self.alignments)
        found = (item.problem for group in groups for item in group.values())
        return tuple(dict.fromkeys(problem for problem in found if problem is not None))

    @property
    def open_questions(self) -> frozenset[int]:
        """Sub-questions without a verdict."""
        return frozenset(key for key, item in self.questions.items() if item.problem)

    @property
    def open_claims(self) -> frozenset[int]:
        """Claims that lack a verdict or an alignment that was asked for."""
        return frozenset(
            key
            for group in (self.claims, self.alignments)
            for key, item in group.items()
            if item.problem
        )

    def completed_by(self, second: Reading) -> Reading:
        """Return this reading with what it lacks taken from `second`."""
        return Reading(
            questions=_completed(self.questions, second.questions),
            claims=_completed(self.claims, second.claims),
            alignments=_completed_alignments(self.alignments, second.alignments),
            findings=tuple(dict.fromkeys((*self.findings, *second.findings))),
        )

    def joined(self, other: Reading) -> Reading:
        """Return both readings; they are about different items."""
        return Reading(
            questions={**self.questions, **other.questions},
            claims={**self.claims, **other.claims},
            alignments={**self.alignments, **other.alignments},
            findings=tuple(dict.fromkeys((*self.findings, *other.findings))),
        )

    def beside(self, other: Reading) -> Reading:
        """Return the verdict over the units of both readings; they are about the same items.

        What one part carries is carried; what a part could not judge is not known to be lacking.
        """
        return Reading(
            questions={
                key: _either(item, other.questions[key]) for key, item in self.questions.items()
            },
            claims={key: _either(item, other.claims[key]) for key, item in self.claims.items()},
            alignments=_completed_alignments(self.alignments, other.alignments),
            findings=tuple(dict.fromkeys((*self.findings, *other.findings, CHUNKED))),
        )


def _completed(
    first: Mapping[int, ItemVerdict], second: Mapping[int, ItemVerdict]
) -> dict[int, ItemVerdict]:
    return {key: second.get(key, item) if item.problem else item for key, item in first.items()}


def _completed_alignments(
    first: Mapping[int, ItemAlignment], second: Mapping[int, ItemAlignment]
) -> dict[int, ItemAlignment]:
    return {key: second.get(key, item) if item.problem else item for key, item in first.items()}


def _either(first: ItemVerdict, second: ItemVerdict) -> ItemVerdict:
    if first.verdict == "Y" and second.verdict == "Y":
        return replace(
            first,
            evidence_ids=first.evidence_ids + second.evidence_ids,
            warnings=tuple(dict.fromkeys(first.warnings + second.warnings)),
        )
    for item in (first, second):
        if item.verdict == "Y":
            return item
    return first if first.problem else second
