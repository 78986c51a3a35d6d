"""The table of the small model: which questions it asks, what it bounds, what it says of nothing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from aletheia.generators.closed_book import closed_book_prompt
from aletheia.schema.question import Question

FILE = Path(__file__).parents[3] / "benchmarks" / "local_model.py"


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("local_model_benchmark", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["local_model_benchmark"] = module
    spec.loader.exec_module(module)
    return module


made = _module()


def asked(name: str, kind: str, *, answerable: bool = True) -> Question:
    answer = "x" if answerable else "INSUFFICIENT_CONTEXT"
    return Question(id=name, question="?", answer=answer, type=kind, answerable=answerable)


def test_a_question_of_each_type_in_turn_and_none_without_an_answer():
    questions = [
        asked("a1", "a"),
        asked("a2", "a"),
        asked("a3", "a"),
        asked("b0", "b", answerable=False),
        asked("b1", "b"),
    ]

    assert made.in_turn(questions, 4) == ["a1", "b1", "a2", "a3"]
    assert made.in_turn(questions, 2) == ["a1", "b1"]


def test_every_text_and_list_of_a_schema_gets_a_bound():
    prompt = closed_book_prompt("When?", delimiter="abcdef123456")
    found = made.bounded(prompt.schema)

    assert {item["maxLength"] for item in found["properties"].values()} == {made.TEXT}
    assert found["required"] == prompt.schema["required"]
    assert "maxLength" not in str(prompt.schema)
    assert made.bounded(None) is None


def test_a_table_over_nothing_has_no_figure(tmp_path):
    places = [
        made.Place(name=name, stages=None, questions=(), kept=tmp_path / name)
        for name in ("real", "fictional")
    ]
    lines = list(made.table(places))

    assert lines[0] == "| | real | fictional |"
    assert "| questions, all with an answer | 0 | 0 |" in lines
    assert "%" not in "".join(lines)
