"""Sentences made from lists: what no rule was written with is caught as often as the card says."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import anyio

from aletheia.grounding.numbering import number
from aletheia.judges.base import Judged, TraceCase
from aletheia.judges.embedded import EmbeddedFaithfulnessJudge
from aletheia.schema.trace import Claim

ROOT = Path(__file__).parents[3]
GENERATED = ROOT / "tests/data/edits_generated.jsonl"


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("edits", ROOT / "training/edits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judged(name: str) -> Iterator[tuple[str, bool]]:
    for line in GENERATED.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if not record["id"].startswith(name):
            continue
        claim = record["claim"]
        case = TraceCase(query=None, evidence=number([record["evidence"]]), response=claim)
        claims = (Claim(id=0, text=claim, start=0, end=len(claim)),)
        outcome = anyio.run(EmbeddedFaithfulnessJudge().judge_faithfulness, case, claims)
        assert isinstance(outcome, Judged)
        yield record["kind"], (outcome.value[0].verdict == "Y") is record["supported"]


def test_the_records_are_those_that_the_command_makes() -> None:
    made = maker()
    records = (
        *made.records(made.FRAMES, "generated", made.FILLS),
        *made.records(made.LAST, "last", 1),
    )
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    assert lines == GENERATED.read_text(encoding="utf-8").splitlines()


def test_nine_in_ten_edits_that_no_rule_was_written_with_are_caught() -> None:
    found = list(judged("last"))
    edits = [right for kind, right in found if kind != "paraphrase"]
    same = [right for kind, right in found if kind == "paraphrase"]
    assert len(edits) >= 60
    assert sum(edits) / len(edits) >= 0.9
    assert sum(same) / len(same) >= 0.7
