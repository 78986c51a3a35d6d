"""What verification, metrics and judges make of the replies of a probe run. No generator is asked.

Every reply is verified as each mode reads it, and put into a cell by the evidence that was shown.
An answer without evidence is judged by the evidence of the base answer: whether it would have
looked healthy beside it. The base answer also gets its metrics, as in a benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from aletheia.generators.base import Generation
from aletheia.grounding.modes import judge
from aletheia.grounding.verify import VerifyOptions, verify_reply
from aletheia.pipeline import outcome
from aletheia.pipeline.row_diagnosis import Diagnoser, diagnosed
from aletheia.ragas_bridge.base import MetricSuite
from aletheia.schema.attribution import ConditionRecord
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.question import Question
from aletheia.schema.report import DetailedResult
from aletheia.schema.verification import Judged, Mode

MADE: Final = "made"
"""Stands for the model in rows that are only judged, and not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeJudging:
    """Who scores the base answers and who puts replies into cells; None = nobody."""

    suite: MetricSuite | None = None
    diagnoser: Diagnoser | None = None

    @property
    def identity(self) -> dict[str, str]:
        """What makes this judge this judge; empty where nothing judges."""
        return {} if self.diagnoser is None else dict(self.diagnoser.identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """The base answer as a row of a benchmark, and its verdict in each mode (empty: no reply)."""

    row: DetailedResult
    read: Mapping[Mode, Judged]


def readings(question: Question, evidence: EvidenceSet, raw: str) -> dict[Mode, Judged]:
    """Verify a reply as strict reads citations, and as lenient does."""
    strict, lenient = (
        verify_reply(evidence, raw, question=question.question, options=VerifyOptions(lenient=wide))
        for wide in (False, True)
    )
    return {mode: judge(lenient if mode is Mode.LENIENT else strict, mode) for mode in Mode}


async def judged(
    record: ConditionRecord,
    question: Question,
    shown: EvidenceSet,
    by: ProbeJudging,
    *,
    blind: bool = False,
) -> ConditionRecord:
    """Say which modes keep a reply, and which cell it is in.

    `question` and `shown` are as they were in the condition. A `blind` answer was given without
    any evidence, so that no mode keeps or rejects it.
    """
    if record.raw_reply is None:
        return record
    read = readings(question, shown, record.raw_reply)
    found: dict[str, object] = {}
    if not blind:
        strict = read[Mode.STRICT]
        found["kept"] = tuple(mode for mode in Mode if read[mode].passed)
        found["rejection"] = strict.rejection_reason
    if by.diagnoser is not None:
        found |= await _cell(record.raw_reply, question, shown, read, by.diagnoser)
    return record.model_copy(update=found)


async def _cell(
    raw: str,
    question: Question,
    shown: EvidenceSet,
    read: Mapping[Mode, Judged],
    diagnoser: Diagnoser,
) -> dict[str, object]:
    row = outcome.result_row(question, shown, Generation(reply=raw, model=MADE), read[Mode.LENIENT])
    if row.parse_problem is not None:
        return {"not_diagnosed": "no answer"}
    made = (await diagnosed(row, shown, replace(diagnoser, rejected_too=True))).row
    diagnosis = made.diagnosis
    return {
        "cell": None if diagnosis is None else diagnosis.failure_cell,
        "tentative": diagnosis is not None and diagnosis.tentative,
        "not_diagnosed": made.not_diagnosed,
    }


async def base_row(
    record: ConditionRecord, question: Question, evidence: EvidenceSet, by: ProbeJudging
) -> Reread:
    """Make the row that a benchmark in strict mode would have for the base answer."""
    if record.raw_reply is None:
        return Reread(row=outcome.error_row(question, evidence, record.reason or "", {}), read={})
    read = readings(question, evidence, record.raw_reply)
    strict = read[Mode.STRICT]
    row = outcome.result_row(
        question, evidence, Generation(reply=record.raw_reply, model=MADE), strict
    )
    if by.suite is not None:
        scores = await by.suite.score(outcome.sample(question, evidence, strict.verification))
        row = row.model_copy(update={"metrics": scores})
    return Reread(row=row, read=read)
