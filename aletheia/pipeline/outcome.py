"""From a question and what happened to it to the row of the result file. All pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypedDict

from aletheia.generators.base import Generation
from aletheia.grounding.parse import parse_reply
from aletheia.pipeline import gold
from aletheia.ragas_bridge.base import MetricSample
from aletheia.schema.answer import ParsedAnswer
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.question import Question
from aletheia.schema.report import (
    METRICS,
    DetailedResult,
    FindingRecord,
    MetricScore,
    NoteRecord,
    UnitRecord,
)
from aletheia.schema.verification import Judged, Mode, Verification

RETRIEVAL_METRICS: Final = ("context_precision", "context_recall")
"""The metrics that speak of retrieval alone, so that two retrievals can be compared."""

Scores = Mapping[str, MetricScore]


def result_row(
    question: Question, evidence: EvidenceSet, generation: Generation, judged: Judged
) -> DetailedResult:
    """One question with its reply, as the mode sees it; metrics and timings come later.

    In mode `off` there is no verdict (`verified` None); what was found stays in the row.
    """
    verification = judged.verification
    off = judged.mode is Mode.OFF
    parsed = parse_reply(generation.reply)
    return DetailedResult(
        **_asked(question),
        category=judged.category,
        grounding_rejected=not judged.passed,
        rejection_reason=judged.rejection_reason,
        rejection_reasons=judged.rejection_reasons,
        warnings=judged.warnings,
        verified=None if off else verification.verified,
        answer=verification.answer,
        reasoning=parsed.reasoning if isinstance(parsed, ParsedAnswer) else None,
        raw_reply=generation.reply,
        cited_ids=verification.cited_ids,
        evidence=_units(evidence, verification.cited_ids),
        findings=_findings(verification),
        notes=_notes(verification) + _told(generation),
        repairs=verification.repairs,
        normalised=verification.normalised,
        parse_problem=verification.problem,
        abstained=verification.abstained,
        abstention_kind=gold.abstention_kind(question, evidence, abstained=verification.abstained),
        gold_in_evidence=gold.gold_in_evidence(question, evidence),
        correct=gold.is_correct(question, answer_of(verification)),
        prompt_tokens=generation.usage.prompt_tokens if generation.usage.calls else None,
        completion_tokens=generation.usage.completion_tokens if generation.usage.calls else None,
    )


def error_row(
    question: Question, evidence: EvidenceSet, reason: str, scores: Scores
) -> DetailedResult:
    """One question without a reply. It stands outside every rate."""
    return DetailedResult(
        **_asked(question),
        category="error",
        grounding_rejected=False,
        evidence=_units(evidence, ()),
        gold_in_evidence=gold.gold_in_evidence(question, evidence),
        metrics=dict(scores),
        error=reason,
    )


def answer_of(verification: Verification) -> str | None:
    """Return what can be compared with the gold answer: no abstention, no half an answer."""
    if verification.abstained or verification.problem is not None:
        return None
    return verification.answer


def sample(question: Question, evidence: EvidenceSet, verification: Verification) -> MetricSample:
    """Make what the metrics look at."""
    answer = verification.answer if verification.problem is None else None
    return MetricSample(
        question=question.question,
        answer=answer,
        gold_answer=question.answer,
        gold_aliases=question.answer_aliases,
        evidence=evidence,
        supporting_facts=question.supporting_facts,
        cited_ids=verification.cited_ids,
        abstained=verification.abstained,
        answerable=question.answerable,
    )


def retrieval_sample(question: Question, evidence: EvidenceSet) -> MetricSample:
    """Make what the metrics of another retrieval look at: no answer was made from it."""
    return MetricSample(
        question=question.question,
        answer=None,
        gold_answer=question.answer,
        gold_aliases=question.answer_aliases,
        evidence=evidence,
        supporting_facts=question.supporting_facts,
        answerable=question.answerable,
    )


def unmeasured(implementations: Mapping[str, str], reason: str) -> dict[str, MetricScore]:
    """All four metrics, with one reason why none has a value."""
    return {
        name: MetricScore(implementation=implementations[name], status="unmeasured", reason=reason)
        for name in METRICS
    }


class _Asked(TypedDict):
    id: str
    question: str
    type: str | None
    answerable: bool
    gold_answer: str
    gold_aliases: tuple[str, ...]


def _asked(question: Question) -> _Asked:
    return {
        "id": question.id,
        "question": question.question,
        "type": question.type,
        "answerable": question.answerable,
        "gold_answer": question.answer,
        "gold_aliases": question.answer_aliases,
    }


def _units(evidence: EvidenceSet, cited: Iterable[str]) -> tuple[UnitRecord, ...]:
    chosen = frozenset(cited)
    return tuple(
        UnitRecord(
            id=unit.id,
            text=unit.text,
            source=unit.source,
            aliases=unit.aliases,
            facts=unit.facts,
            duplicate_of=unit.duplicate_of,
            cited=unit.id in chosen,
        )
        for unit in evidence
    )


def _findings(verification: Verification) -> tuple[FindingRecord, ...]:
    return tuple(
        FindingRecord(
            kind=item.kind,
            text=item.text,
            start=item.start,
            end=item.end,
            reason=item.reason,
            found_in=item.found_in,
            nearest=item.nearest,
        )
        for item in verification.findings
    )


def structured_by(generation: Generation) -> str | None:
    """Say how the reply was constrained; None where no model was asked, or it said nothing."""
    # Not the number of calls: a reply from the cache took none.
    asked = generation.prompt_digest is not None and generation.reply.strip()
    return generation.structured if asked else None


def _notes(verification: Verification) -> tuple[NoteRecord, ...]:
    return tuple(
        NoteRecord(
            kind=item.kind,
            text=item.text,
            start=item.start,
            end=item.end,
            reason=item.reason,
            detail=item.detail,
        )
        for item in verification.notes
    )


def _told(generation: Generation) -> tuple[NoteRecord, ...]:
    """Keep what the generator says of its reply, and the replies before it that did not count."""
    earlier = (
        ("earlier_reply", f"{attempt.problem or 'it did not count'}: {attempt.reply}")
        for attempt in generation.attempts[:-1]
    )
    dropped = (("dropped_parameter", name) for name in generation.dropped)
    said = (("remark", text) for text in generation.notes)
    return tuple(
        NoteRecord(kind="generator", text="", start=0, end=0, reason=reason, detail=detail)
        for reason, detail in (*earlier, *dropped, *said)
    )
