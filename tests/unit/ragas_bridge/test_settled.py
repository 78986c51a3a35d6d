"""Rows that a rule decides, in both suites alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aletheia.ragas_bridge.base import (
    Measured,
    MetricSample,
    NotApplicable,
    Unmeasured,
    as_score,
    context_of,
    settled,
)
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit
from aletheia.schema.report import METRICS

UNIT = EvidenceUnit(id="E1", text="Leeds has a port.", key="k", position=0)
ROW = MetricSample(
    question="Where is the port?",
    answer="Leeds",
    gold_answer="Leeds",
    evidence=EvidenceSet(units=(UNIT,)),
)
NONE = EvidenceSet()


def kinds(row: MetricSample) -> list[str]:
    """One letter a metric, in report order: `-` left to measuring, n, u, or the value."""
    letters: list[str] = []
    for metric in METRICS:
        match settled(metric, row):
            case None:
                letters.append("-")
            case Measured(value=value):
                letters.append(str(value))
            case NotApplicable():
                letters.append("n")
            case Unmeasured():
                letters.append("u")
    return letters


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (ROW, "- - - -"),
        (replace(ROW, abstained=True), "- - n n"),
        (replace(ROW, answer="INSUFFICIENT_CONTEXT"), "- - n n"),
        (replace(ROW, answer=None), "- - n n"),
        (replace(ROW, answer=" \n"), "- - n n"),
        (replace(ROW, evidence=NONE), "0.0 0.0 0.0 -"),
        (replace(ROW, evidence=NONE, abstained=True), "0.0 0.0 n n"),
        (replace(ROW, answerable=False, gold_answer="INSUFFICIENT_CONTEXT"), "n n - n"),
        (replace(ROW, answerable=False, evidence=NONE), "n n 0.0 n"),
        (replace(ROW, gold_answer=" "), "u u - u"),
    ],
)
def test_rule_table(row: MetricSample, expected: str) -> None:
    assert kinds(row) == expected.split()


@pytest.mark.parametrize(
    ("outcome", "status", "value"),
    [
        (Measured(value=0.5), "measured", 0.5),
        (NotApplicable(reason="why"), "not_applicable", None),
        (Unmeasured(reason="why"), "unmeasured", None),
    ],
)
def test_a_score_without_value_has_a_reason(
    outcome: Measured | NotApplicable | Unmeasured, status: str, value: float | None
) -> None:
    score = as_score(outcome, "embedded:x")
    assert (score.status, score.value) == (status, value)
    assert score.reason == (None if value is not None else "why")


def test_source_and_other_names_are_part_of_what_a_judge_reads() -> None:
    shown = context_of(replace(UNIT, source="Harbours", aliases=("Loidis", "Ledes")))
    assert shown == "Harbours\nLeeds has a port.\nAlso known as: Loidis; Ledes"
    assert context_of(UNIT) == "Leeds has a port."
