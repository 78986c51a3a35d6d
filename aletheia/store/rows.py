"""From values to rows: what is written for a trace, and what for its result. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Table

from aletheia.errors import UsageError
from aletheia.grounding.numbering import is_blank
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.judgement import CompletenessJudgment, Judgment
from aletheia.schema.stored import NewTrace, TraceStatus
from aletheia.schema.trace import ContextChunk
from aletheia.store.tables import (
    CLAIMS,
    COMPLETENESS,
    COMPLETENESS_EXTRAS,
    COMPLETENESS_MAPPINGS,
    COST_PREFIX,
    FAITHFULNESS,
    FLAG_PREFIX,
    GROUNDING,
    SUB_QUESTIONS,
    SUFFICIENCY,
)

Row = dict[str, object]
"""Column -> value."""

TRACE_COLUMNS: Final = (
    *("project", "status", "attempts", "revision", "source", "external_id", "external_key"),
    *("created_at", "query", "response", "notes"),
)
"""Columns of a trace that has no result yet."""

CHUNK_COLUMNS: Final = ("position", "rank", "evidence_id", "source", "score", "text")

MAX_PROJECT_LENGTH: Final = 200

_JSON: Final = ("diagnosis", "suggestion", "errors", "findings", "latency_ms", "making")
_ELSEWHERE: Final = frozenset(
    {
        *_JSON,
        *("trace_id", "query", "response", "created_at", "cost"),
        *("sub_questions", "claims", "sufficiency", "faithfulness", "completeness"),
    }
)


def trace_row(trace: NewTrace, now: datetime) -> Row:
    """Return the row of a pending trace. Raises `UsageError` for a project without a usable name."""
    if not trace.project.strip() or len(trace.project) > MAX_PROJECT_LENGTH:
        raise UsageError(
            f"`{trace.project[:40]}` is no name of a project",
            hint=f"a name has 1 to {MAX_PROJECT_LENGTH} characters, and not only blanks",
        )
    return {
        "project": trace.project,
        "status": TraceStatus.PENDING.value,
        "attempts": 0,
        "revision": 0,
        "source": trace.source,
        "external_id": trace.external_id,
        "external_key": external_key(trace.project, trace.external_id),
        "created_at": trace.created_at or now,
        "query": trace.query,
        "response": trace.response,
        "notes": dict(trace.notes),
    }


def external_key(project: str, external_id: str | None) -> str | None:
    """Return the digest under which an external id of a project is unique, None without an id."""
    if external_id is None:
        return None
    text = f"{len(project)}:{project}{external_id}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chunk_rows(chunks: Sequence[ContextChunk]) -> list[Row]:
    """Return the rows of the chunks, with the ids that judges cite them by."""
    ids = _evidence_ids(chunks)
    return [
        {
            "position": position,
            "rank": chunk.rank,
            "evidence_id": ids.get(position),
            "source": chunk.source,
            "score": chunk.score,
            "text": chunk.text,
        }
        for position, chunk in enumerate(chunks)
    ]


def _evidence_ids(chunks: Sequence[ContextChunk]) -> dict[int, str]:
    """Position -> `E<n>`: chunks that are not blank, numbered from 1 in the order of their ranks."""
    order = sorted(range(len(chunks)), key=lambda position: chunks[position].rank)
    seen = [position for position in order if not is_blank(chunks[position].text)]
    return {position: f"E{n}" for n, position in enumerate(seen, start=1)}


def result_row(result: EvaluationResult) -> Row:
    """Return the columns of `traces` that a result fills."""
    diagnosis, making = result.diagnosis, result.making
    # Not as JSON: that writes other text for half a surrogate pair in a key.
    told = result.model_dump(include=set(_JSON))
    flags, cost = diagnosis.flags.model_dump(), result.cost.model_dump()
    return {
        "evaluated_at": result.created_at,
        "failure_cell": diagnosis.failure_cell and diagnosis.failure_cell.value,
        "overall_verdict": diagnosis.completeness,
        "sufficiency_level": diagnosis.sufficiency_level,
        "sufficiency_fraction": diagnosis.sufficiency_fraction,
        "faithfulness_fraction": diagnosis.faithfulness_fraction,
        "tentative": diagnosis.tentative,
        "level_tentative": diagnosis.level_tentative,
        "empty_response": diagnosis.empty_response,
        "abstention": diagnosis.abstention,
        "threshold": diagnosis.threshold,
        "threshold_source": diagnosis.threshold_source,
        "judge": making.get("judge"),
        "judge_model": making.get("judge_model"),
        "decomposer_model": making.get("decomposer_model"),
        "prompts": {key: value for key, value in making.items() if key.startswith("prompt_")},
        **{f"{FLAG_PREFIX}{name}": value for name, value in flags.items()},
        **{f"{COST_PREFIX}{name}": value for name, value in cost.items()},
        **told,
        "more": result.model_dump(mode="json", exclude=set(_ELSEWHERE)),
    }


def result_rows(trace_id: int, result: EvaluationResult) -> Mapping[Table, list[Row]]:
    """Return the rows of a result outside `traces`, by table."""
    return {
        SUB_QUESTIONS: [
            {"trace_id": trace_id, "position": n, "sub_question_id": item.id, "text": item.text}
            for n, item in enumerate(result.sub_questions)
        ],
        CLAIMS: [
            {
                "trace_id": trace_id,
                "position": n,
                "claim_id": item.id,
                "kind": item.kind,
                "span_start": item.start,
                "span_end": item.end,
                "text": item.text,
            }
            for n, item in enumerate(result.claims)
        ],
        SUFFICIENCY: [
            {**_judged(trace_id, n, item), "sub_question_id": item.sub_question_id}
            for n, item in enumerate(result.sufficiency)
        ],
        FAITHFULNESS: [
            {
                **_judged(trace_id, n, item),
                "claim_id": item.claim_id,
                "unsupported": [list(span) for span in item.unsupported],
            }
            for n, item in enumerate(result.faithfulness)
        ],
        GROUNDING: [
            *_cited(trace_id, SUFFICIENCY.name, result.sufficiency),
            *_cited(trace_id, FAITHFULNESS.name, result.faithfulness),
        ],
        **_alignment(trace_id, result.completeness),
    }


def _judged(trace_id: int, position: int, item: Judgment) -> Row:
    return {
        "trace_id": trace_id,
        "position": position,
        "verdict": item.verdict,
        "reasoning": item.reasoning,
        "score": item.score,
        "confidence": item.confidence,
        "warnings": list(item.warnings),
        "problem": item.problem,
        "agreement": item.agreement,
    }


def _cited(trace_id: int, judgement: str, items: Sequence[Judgment]) -> Iterator[Row]:
    for at, item in enumerate(items):
        for position, evidence_id in enumerate(item.evidence_ids):
            yield {
                "trace_id": trace_id,
                "judgement": judgement,
                "judgement_position": at,
                "position": position,
                "evidence_id": evidence_id,
            }


def _alignment(trace_id: int, found: CompletenessJudgment | None) -> Mapping[Table, list[Row]]:
    if found is None:
        return {}
    whole: Row = {
        "trace_id": trace_id,
        "reasoning": found.reasoning,
        "confidence": found.confidence,
        "problem": found.problem,
        "agreement": found.agreement,
    }
    extras: list[Row] = [
        {"trace_id": trace_id, "position": position, "claim_id": claim_id}
        for position, claim_id in enumerate(found.extras)
    ]
    mappings = list(_mappings(trace_id, found))
    return {COMPLETENESS: [whole], COMPLETENESS_MAPPINGS: mappings, COMPLETENESS_EXTRAS: extras}


def _mappings(trace_id: int, found: CompletenessJudgment) -> Iterator[Row]:
    for position, item in enumerate(found.alignments):
        for claim_position, claim_id in enumerate(item.claim_ids or (None,)):
            yield {
                "trace_id": trace_id,
                "position": position,
                "claim_position": claim_position,
                "sub_question_id": item.sub_question_id,
                "claim_id": claim_id,
            }
