"""The questions of a run as the HTML page shows them: grouped by outcome, failures first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from aletheia.reports import words
from aletheia.reports.highlight import (
    AnswerPiece,
    EvidencePiece,
    answer_pieces,
    evidence_pieces,
    is_content,
)
from aletheia.reports.tally import replied
from aletheia.schema.report import BenchmarkReport, DetailedResult, FindingRecord, UnitRecord

Tone = Literal["good", "warn", "bad", "calm", "grey"]

GroupKey = Literal["rejected", "error", "over_refusal", "wrong", "unverified", "abstained", "right"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A kind of outcome: its heading, the badge of its questions, and what it means."""

    key: GroupKey
    title: str
    badge: str
    icon: str
    tone: Tone
    meaning: str
    failing: bool


GROUPS: tuple[Group, ...] = (
    Group(
        key="rejected",
        title="Failed verification",
        badge="Failed",
        icon="✕",
        tone="bad",
        meaning="Something in the reply does not follow from the evidence it cites.",
        failing=True,
    ),
    Group(
        key="error",
        title="No reply",
        badge="No reply",
        icon="!",
        tone="grey",
        meaning="The generator or its provider failed. These questions are in no rate.",
        failing=True,
    ),
    Group(
        key="over_refusal",
        title="Abstained although the evidence held the answer",
        badge="Over-refusal",
        icon="–",
        tone="warn",
        meaning="Retrieval brought the answer, and the generator did not use it.",
        failing=True,
    ),
    Group(
        key="wrong",
        title="Grounded, but not the gold answer",
        badge="Not the gold",
        icon="≠",
        tone="warn",
        meaning="The answer follows from its evidence and still differs from the gold answer.",
        failing=True,
    ),
    Group(
        key="unverified",
        title="Not verified",
        badge="Not verified",
        icon="?",
        tone="grey",
        meaning="The reply carries no verdict.",
        failing=False,
    ),
    Group(
        key="abstained",
        title="Abstained",
        badge="Abstained",
        icon="–",
        tone="calm",
        meaning="The generator said that the evidence is not enough.",
        failing=False,
    ),
    Group(
        key="right",
        title="Grounded",
        badge="Grounded",
        icon="✓",
        tone="good",
        meaning="Everything that could be checked is in the cited evidence.",
        failing=False,
    ),
)


def group_of(row: DetailedResult) -> GroupKey:
    """Say under which heading a row stands; failures take precedence."""
    if not replied(row):
        return "error"
    if row.verified is None:
        return "unverified"
    if not row.verified:
        return "rejected"
    if row.abstained:
        return "over_refusal" if row.abstention_kind == "over_refusal" else "abstained"
    return "wrong" if row.correct is False else "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """A finding with its number in the answer and its codes in words."""

    number: int
    kind: str
    reason: str
    record: FindingRecord

    @property
    def about_content(self) -> bool:
        """Tell whether `nearest` is a piece of evidence; else it is a message about the reply."""
        return is_content(self.record)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitView:
    """An evidence unit with its marked pieces."""

    record: UnitRecord
    pieces: tuple[EvidencePiece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """One question, ready to be laid out. `following` is the next failure's anchor."""

    anchor: str
    group: Group
    row: DetailedResult
    reasons: tuple[str, ...]
    answer: tuple[AnswerPiece, ...]
    findings: tuple[FindingView, ...]
    cited: tuple[UnitView, ...]
    uncited: tuple[UnitView, ...]
    shown: frozenset[str]
    abstention: str | None
    problem: str | None
    following: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """The questions of one outcome. `questions` builds them one by one, to keep memory flat."""

    group: Group
    numbers: tuple[int, ...]
    report: BenchmarkReport

    @property
    def questions(self) -> Iterator[QuestionView]:
        """The questions of this group in the order of the run."""
        rows = self.report.detailed_results
        for number, after in zip(self.numbers, (*self.numbers[1:], None), strict=True):
            following = anchor_of(after) if after and self.group.failing else None
            yield _question(number, rows[number - 1], self.group, following)


def group_views(report: BenchmarkReport) -> tuple[GroupView, ...]:
    """Sort questions by outcome, failures first; empty groups are left out."""
    found: dict[GroupKey, list[int]] = {}
    for number, row in enumerate(report.detailed_results, 1):
        found.setdefault(group_of(row), []).append(number)
    return tuple(
        GroupView(group=group, numbers=tuple(found[group.key]), report=report)
        for group in GROUPS
        if group.key in found
    )


def anchor_of(number: int) -> str:
    """Name a question by its place in the run: ids come from data and may be anything."""
    return f"q{number}"


def _question(
    number: int, row: DetailedResult, group: Group, following: str | None
) -> QuestionView:
    failed = row.rejection_reasons or row.warnings
    units = [UnitView(record=unit, pieces=evidence_pieces(unit, row)) for unit in row.evidence]
    return QuestionView(
        anchor=anchor_of(number),
        group=group,
        row=row,
        reasons=tuple(words.REASONS[reason].label for reason in failed),
        answer=() if row.answer is None else answer_pieces(row.answer, row.findings),
        findings=tuple(_finding(place, record) for place, record in enumerate(row.findings, 1)),
        cited=tuple(unit for unit in units if unit.record.cited),
        uncited=tuple(unit for unit in units if not unit.record.cited),
        shown=frozenset(unit.id for unit in row.evidence),
        abstention=words.ABSTENTIONS[row.abstention_kind] if row.abstention_kind else None,
        problem=words.finding_words(row.parse_problem) if row.parse_problem else None,
        following=following,
    )


def _finding(number: int, record: FindingRecord) -> FindingView:
    return FindingView(
        number=number,
        kind=words.kind_words(record.kind),
        reason=words.finding_words(record.reason),
        record=record,
    )
