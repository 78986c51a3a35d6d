"""One diagnosed trace as a JSON object: a row of `aletheia eval --output`.

The keys are the same in every row, also in that of a line that held no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.judgement import CompletenessJudgment, Judgment

ROW_KEYS: Final = (
    *("id", "failure_cell", "flags", "tentative", "sufficiency", "sufficiency_score"),
    *("faithfulness", "faithfulness_score", "completeness", "diagnosis", "suggestion"),
    *("errors", "findings", "cost", "latency_ms", "created_at", "making", "line"),
)
"""The keys of a row, in their order."""

INPUT: Final = "input"
"""The key of `errors` for a line that held no record."""


def trace_row(
    result: EvaluationResult, *, record_id: str | float | None = None, line: int | None = None
) -> dict[str, Any]:
    """Return the row of a trace; offsets are code points of the response."""
    diagnosis = result.diagnosis
    return {
        "id": record_id,
        "failure_cell": diagnosis.failure_cell,
        "flags": diagnosis.flags.model_dump(mode="json"),
        "tentative": diagnosis.tentative,
        "sufficiency": _sufficiency(result),
        "sufficiency_score": sufficiency_score(result),
        "faithfulness": _faithfulness(result),
        "faithfulness_score": faithfulness_score(result),
        "completeness": _completeness(result.completeness, diagnosis.completeness),
        "diagnosis": diagnosis.model_dump(mode="json"),
        "suggestion": None
        if result.suggestion is None
        else result.suggestion.model_dump(mode="json"),
        "errors": dict(result.errors),
        "findings": list(result.findings),
        "cost": result.cost.model_dump(mode="json"),
        "latency_ms": {name: round(value, 3) for name, value in result.latency_ms.items()},
        "created_at": result.created_at.isoformat(),
        "making": dict(result.making),
        "line": line,
    }


def error_row(
    message: str,
    *,
    record_id: str | float | None = None,
    line: int | None = None,
    metric: str = INPUT,
) -> dict[str, Any]:
    """Return the row of a line without a diagnosis; `metric` says where it failed."""
    empty: dict[str, Any] = dict.fromkeys(ROW_KEYS)
    lists: dict[str, Any] = {name: [] for name in ("sufficiency", "faithfulness", "findings")}
    maps: dict[str, Any] = {"latency_ms": {}, "making": {}}
    return {
        **empty,
        **lists,
        **maps,
        "id": record_id,
        "errors": {metric: message},
        "line": line,
    }


def sufficiency_score(result: EvaluationResult) -> float | None:
    """How well the evidence answers the query, in [0, 1]; None where that is not measured.

    The mean of the scores of all sub-questions; where the judge gives none, the share of `Y`.
    """
    return _mean(result.sufficiency, len(result.sub_questions))


def faithfulness_score(result: EvaluationResult) -> float | None:
    """How well the evidence carries the response, in [0, 1]; None where that is not measured.

    The mean of the scores of all graded claims; where the judge gives none, the share of `Y`.
    None too where there is no claim to grade, as in a refusal.
    """
    graded = sum(claim.kind != "conversational" for claim in result.claims)
    return _mean(result.faithfulness, graded)


def _mean(judgments: Sequence[Judgment], items: int) -> float | None:
    """A missing verdict leaves no score: any other rule would let it raise or lower one."""
    verdicts = [item.verdict for item in judgments]
    if not items or len(verdicts) < items or None in verdicts:
        return None
    scores = [item.score for item in judgments]
    known = [score for score in scores if score is not None]
    if len(known) == len(scores):
        return round(sum(known) / len(known), 6)
    return round(verdicts.count("Y") / len(verdicts), 6)


def _sufficiency(result: EvaluationResult) -> list[dict[str, Any]]:
    texts = {item.id: item.text for item in result.sub_questions}
    return [
        {"sub_question": texts.get(item.sub_question_id), **_verdict(item)}
        for item in result.sufficiency
    ]


def _faithfulness(result: EvaluationResult) -> list[dict[str, Any]]:
    """Every claim, those that are not graded too: their verdict is null."""
    found = {item.claim_id: item for item in result.faithfulness}
    rows = []
    for claim in result.claims:
        place = {"claim": claim.text, "start": claim.start, "end": claim.end, "kind": claim.kind}
        judgment = found.get(claim.id)
        unsupported = () if judgment is None else judgment.unsupported
        rows.append(
            {
                **place,
                **(_NO_VERDICT if judgment is None else _verdict(judgment)),
                "unsupported": [list(span) for span in unsupported],
            }
        )
    return rows


def _verdict(item: Judgment) -> dict[str, Any]:
    return {
        "verdict": item.verdict,
        "score": item.score,
        "confidence": item.confidence,
        "evidence_ids": list(item.evidence_ids),
        "reasoning": item.reasoning,
        "warnings": list(item.warnings),
        "agreement": item.agreement,
        "problem": item.problem,
    }


_NO_VERDICT: Final[dict[str, Any]] = {
    "verdict": None,
    "score": None,
    "confidence": None,
    "evidence_ids": [],
    "reasoning": "",
    "warnings": [],
    "agreement": None,
    "problem": None,
}


def _completeness(
    judgment: CompletenessJudgment | None, verdict: str | None
) -> dict[str, Any] | None:
    if judgment is None:
        return None
    return {"verdict": verdict, **judgment.model_dump(mode="json")}
