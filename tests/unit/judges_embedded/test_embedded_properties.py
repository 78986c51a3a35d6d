"""What holds of the embedded judges over any trace: order of units, ids, blank texts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from aletheia.schema.diagnosis import EvaluationResult
from aletheia.sdk.evaluate import evaluate

EDITS = Path(__file__).parents[2] / "data" / "edits.jsonl"


def texts() -> tuple[list[str], list[str]]:
    lines = map(json.loads, EDITS.read_text(encoding="utf-8").splitlines())
    records: list[dict[str, Any]] = list(lines)
    evidence = list(dict.fromkeys(str(item["evidence"]) for item in records))
    return evidence, [str(item["claim"]) for item in records]


def traces() -> list[tuple[list[str], str]]:
    """Thirty traces of four units and three claims; some claims are carried by none of them."""
    draw = random.Random(7)
    evidence, claims = texts()
    return [(draw.sample(evidence, 4), " ".join(draw.sample(claims, 3))) for _ in range(30)]


def judge(units: list[str], response: str) -> EvaluationResult:
    query = "What happened, and when did it happen?"
    return evaluate(query, units, response, persist=False, judge="embedded")


def seen(result: EvaluationResult, units: list[str]) -> list[tuple[object, ...]]:
    """Every verdict, with the texts of its units instead of their ids."""
    judgments = (*result.sufficiency, *result.faithfulness)
    return [
        (item.verdict, item.score, item.confidence, sorted(units[rank] for rank in item.ranks))
        for item in judgments
    ]


@pytest.mark.parametrize("at", range(30))
def test_verdicts_do_not_depend_on_the_order_of_units_and_ids_exist(at: int) -> None:
    units, response = traces()[at]
    shuffled = random.Random(at).sample(units, len(units))
    first, second = judge(units, response), judge(shuffled, response)
    assert seen(first, units) == seen(second, shuffled)
    assert first.diagnosis == second.diagnosis
    ids = {f"E{n}" for n in range(1, len(units) + 1)}
    for item in (*first.sufficiency, *first.faithfulness):
        assert set(item.evidence_ids) <= ids
        assert (item.verdict == "Y") == bool(item.evidence_ids)


@pytest.mark.parametrize("context", [[], [""], ["   "], ["\n\t"], ["", "\u3000", "***"]])
@pytest.mark.parametrize("response", ["The mill opened in 1911.", "- a\n- b", "***", "  "])
@pytest.mark.parametrize("query", ["When did the mill open?", "??", "and", "何"])
def test_blank_texts_support_nothing_and_break_nothing(
    context: list[str], response: str, query: str
) -> None:
    result = evaluate(query, context, response, persist=False, judge="embedded")
    assert all(item.verdict != "Y" for item in result.faithfulness)
    assert all(item.verdict != "Y" for item in result.sufficiency)
    known = {claim.id for claim in result.claims}
    assert result.completeness is not None
    assert set(result.completeness.extras) <= known
