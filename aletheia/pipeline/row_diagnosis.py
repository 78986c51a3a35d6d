"""The diagnosis of one row of a benchmark: what is judged, and how that stands in the row."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aletheia.errors import ConfigError, UsageError
from aletheia.judges.base import FusedJudge, Judges, TraceCase
from aletheia.llm.tracking import CostScope
from aletheia.pipeline.diagnose import DiagnoseOptions, diagnose
from aletheia.pipeline.judge_setup import diagnose_options, identity
from aletheia.ragas_bridge.base import OVER_BUDGET
from aletheia.reports.trace_json import trace_row
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.report import DetailedResult
from aletheia.schema.run_diagnosis import Judgements

_log = logging.getLogger(__name__)

NO_REPLY: Final = "no reply"
TIMED_OUT: Final = "the time for this question ran out"
EMPTY: Final = "empty answer"
_OVER: Final = re.compile(r"the budget of this (run|trace) is ")
_CHANGING: Final = re.compile(r"\b[0-9a-f]{8}[0-9a-f-]*\b|\d+")
"""Parts of a message that differ between failures of one kind: counts, times, request ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnoser:
    """Who diagnoses the rows of a run, and how.

    Rejected replies are not judged, unless `rejected_too`: a rehearsal cannot know what a run
    will reject.
    """

    judges: Judges | FusedJudge
    options: DiagnoseOptions = field(default_factory=diagnose_options)
    rejected_too: bool = False

    @property
    def identity(self) -> Mapping[str, str]:
        """What makes this judge this judge: kinds, models, digests of prompts."""
        return identity(self.judges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """A row with its diagnosis; `failure` and `over_budget` as in the outcome of a question."""

    row: DetailedResult
    failure: str | None = None
    over_budget: str | None = None


async def diagnosed(row: DetailedResult, evidence: EvidenceSet, by: Diagnoser) -> Diagnosed:
    """Diagnose what the mode accepted: answers, and clean abstentions.

    A judge that fails leaves the row without a cell, and the answer stands. Raises `UsageError`
    and `ConfigError` only.
    """
    if row.answer is None or (row.grounding_rejected and not by.rejected_too):
        reason = (
            "no answer" if row.rejection_reason is None else f"rejected: {row.rejection_reason}"
        )
        return Diagnosed(row=without_cell(row, reason))
    case = TraceCase(query=row.question, evidence=evidence, response=row.answer)
    try:
        with CostScope() as spent:
            result = await diagnose(case, by.judges, by.options, cited=row.cited_ids)
    except (UsageError, ConfigError):
        raise
    except Exception as error:  # noqa: BLE001 - the answer was paid for, and must not be lost
        _log.debug("the diagnosis of question `%s` failed", row.id, exc_info=True)
        return Diagnosed(row=without_cell(row, f"internal error: {type(error).__name__}"))
    return Diagnosed(
        row=_with_cell(row, result),
        failure=_failure(result) if spent.cost.failed else None,
        over_budget=_over_budget(result),
    )


def without_cell(row: DetailedResult, reason: str) -> DetailedResult:
    """Say in a row why it has no cell."""
    return row.model_copy(update={"not_diagnosed": reason})


def timed_out(row: DetailedResult) -> Diagnosed:
    """Return the row of a question whose time ran out while it was judged."""
    return Diagnosed(row=without_cell(row, TIMED_OUT), failure=f"judge: {TIMED_OUT}")


def _with_cell(row: DetailedResult, result: EvaluationResult) -> DetailedResult:
    return row.model_copy(
        update={
            "diagnosis": result.diagnosis,
            "suggestion": result.suggestion,
            "not_diagnosed": _why_not(result),
            "judgements": _judgements(result),
        }
    )


def _why_not(result: EvaluationResult) -> str | None:
    """Name the metrics that are lacking: what went wrong with each stands in the judgements."""
    if result.failure_cell is not None:
        return None
    if result.diagnosis.empty_response:
        return EMPTY
    found = trace_row(result)
    lacking = [
        name
        for name, items in (
            ("sufficiency", found["sufficiency"]),
            ("faithfulness", found["faithfulness"]),
            ("completeness", [found["completeness"] or {}]),
        )
        if name in result.errors or any(item.get("problem") for item in items)
    ]
    lacking += [name for name in result.errors if name.startswith("decompose")]
    return f"unmeasured: {', '.join(lacking) or '; '.join(result.diagnosis.problems)}"


def _judgements(result: EvaluationResult) -> Judgements:
    row: Mapping[str, Any] = trace_row(result)
    return Judgements.model_validate({name: row[name] for name in Judgements.model_fields})


def _failure(result: EvaluationResult) -> str | None:
    """Name what a provider failed at, in the same words each time it happens."""
    messages = sorted({_CHANGING.sub("#", message) for message in result.errors.values()})
    return f"judge: {'; '.join(messages)}" if messages else None


def _over_budget(result: EvaluationResult) -> str | None:
    """Say which budget kept a judge from being asked; that of the run comes first."""
    found = [
        (match[1], message)
        for message in result.errors.values()
        if (match := _OVER.search(message))
    ]
    scope, message = min(found, default=("", ""))
    return f"{OVER_BUDGET}{scope}: {message}" if found else None
