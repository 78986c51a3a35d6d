"""What a run would cost: replies made from schemas, time under concurrency, figures for a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from unit.pipeline import worlds

from aletheia.config import Settings
from aletheia.errors import UsageError
from aletheia.grounding.prompt import answer_schema
from aletheia.pipeline.assemble import Choice
from aletheia.pipeline.dry_run import (
    Estimate,
    Line,
    Span,
    estimate_json,
    estimate_lines,
    makespan,
    rehearse,
)
from aletheia.pipeline.measure import reply_for
from aletheia.pipeline.request import Request

WORD = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "words", "items", "reply"),
    [
        (WORD, 3, 1, "word word word"),
        ({"type": "string", "pattern": "^E[0-9]+$"}, 3, 1, "E1"),
        ({"enum": [0, 1]}, 1, 1, 0),
        ({"const": "Y"}, 1, 1, "Y"),
        ({"type": "boolean"}, 1, 1, False),
        ({"type": "number"}, 1, 1, 0),
        ({"type": "null"}, 1, 1, None),
        ({"anyOf": [WORD, {"type": "null"}]}, 1, 1, "word"),
        ({"type": "array", "items": WORD}, 1, 3, ["word"] * 3),
        ({"type": "array", "items": WORD, "maxItems": 2}, 1, 3, ["word"] * 2),
        ({"type": "array", "items": WORD, "minItems": 4}, 1, 3, ["word"] * 4),
        (
            {"$defs": {"A": WORD}, "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
            1,
            1,
            {"a": "word"},
        ),
        (
            answer_schema(),
            1,
            1,
            {"answer": "word", "evidence_ids": ["E1"], "reasoning": "word"},
        ),
    ],
)
def test_a_reply_follows_its_schema(
    schema: dict[str, Any], words: int, items: int, reply: object
) -> None:
    assert reply_for(schema, words, items) == reply


@pytest.mark.parametrize(
    ("rows", "concurrency", "calls"),
    [
        ([], 4, 0),
        ([0, 0], 4, 0),
        ([3, 3, 3, 3], 1, 12),
        ([3, 3, 3, 3], 4, 3),
        ([3, 3, 3, 3], 100, 3),
        ([10, 1, 1, 1], 2, 10),
        ([1, 1, 1, 10], 2, 11),
    ],
)
def test_calls_of_one_question_follow_one_another(
    rows: list[int], concurrency: int, calls: int
) -> None:
    """Questions are taken in order by whoever comes free."""
    assert makespan(rows, concurrency) == calls


def request(directory: Path, number: int = 3, **choice: Any) -> Request:
    worlds.port_graph(directory)
    questions = [item.model_dump() for item in worlds.port_questions(number).questions]
    path = directory / "questions.json"
    path.write_text(json.dumps({"questions": questions}), encoding="utf-8")
    return Request(
        knowledge_graph=str(directory / "ports.json"),
        questions=str(path),
        output_dir=directory / "never" / "made",
        choice=Choice(**choice),
    )


def settings(**given: Any) -> Settings:
    nothing = {"openai_api_key": None, "openai_base_url": None}
    return Settings(**{**nothing, **given})


def estimated(given: Settings, asked: Request) -> Estimate:
    return anyio.run(rehearse, given, asked)


def test_the_real_pipeline_is_measured_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = request(tmp_path)
    before = sorted(tmp_path.rglob("*"))

    found = estimated(settings(openai_base_url="http://127.0.0.1:9/v1", model="gpt-4o"), asked)

    lines = {line.purpose: line for line in found.lines}
    assert set(lines) == {"generate", "metric"}
    assert lines["generate"].calls == Span(low=3, high=6)
    # One call for each unit of evidence, one for the gold answer, two for the answer.
    assert lines["metric"].calls.low >= 3 * 4
    assert found.calls.low == sum(line.calls.low for line in found.lines)
    assert found.failed == ()
    assert sorted(tmp_path.rglob("*")) == before
    for line in found.lines:
        assert 0 < line.prompt_tokens.low < line.prompt_tokens.high
        assert line.usd is not None
        assert 0 < line.usd[0] < line.usd[1]
    slow, slower = found.durations
    assert (slow.call_s, slower.call_s) == (1.0, 10.0)
    assert slower.low_s == 10 * slow.low_s > 0


@pytest.mark.parametrize(
    ("given", "choice", "calls", "usd"),
    [
        pytest.param({}, {}, 0, True, id="offline"),
        pytest.param({}, {"generator": "llm", "metrics": "embedded"}, 3, True, id="no key"),
        pytest.param(
            {},
            {"model": "nobody-sells-it", "generator": "llm", "metrics": "embedded"},
            3,
            False,
            id="no price",
        ),
        pytest.param(
            {"price_input_usd": 1.0, "price_output_usd": 2.0},
            {"model": "nobody-sells-it", "generator": "llm", "metrics": "embedded"},
            3,
            True,
            id="price set",
        ),
    ],
)
def test_no_key_and_no_network_are_needed_and_an_unknown_price_is_none(
    tmp_path: Path, given: dict[str, Any], choice: dict[str, Any], calls: int, usd: bool
) -> None:
    found = estimated(settings(**given), request(tmp_path, **choice))

    assert found.calls.low == calls
    assert (found.usd is not None) is usd


def test_bad_input_is_said_as_in_a_run(tmp_path: Path) -> None:
    asked = request(tmp_path)
    with pytest.raises(UsageError, match="no question file"):
        estimated(settings(), Request(**{**fields(asked), "questions": "nowhere"}))


def fields(asked: Request) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in asked.__dataclass_fields__}


def estimate(**changed: Any) -> Estimate:
    line = Line(
        purpose="metric",
        model="a-model-with-a-rather-long-name",
        calls=Span(low=1_000_000, high=2_000_000),
        prompt_tokens=Span(low=123_456_789, high=987_654_321),
        completion_tokens=Span(low=1, high=1),
        usd=None,
    )
    made = {"questions": 1, "concurrency": 4, "lines": (line,), "durations": (), **changed}
    return Estimate(**made)


def test_figures_fit_a_terminal_and_name_what_is_not_known() -> None:
    lines = list(estimate_lines(estimate(failed=("question `q1`: " + "why " * 40,))))

    assert all(len(line) <= 80 for line in lines)
    assert "  cost                price not known" in lines
    assert "  completion tokens   1" in lines
    assert any("A token is 3 to 5 bytes" in line for line in lines)
    assert any(line.startswith("  - question `q1`: why") for line in lines)
    assert not any("$0" in line for line in lines)


def test_without_models_there_is_one_thing_to_say() -> None:
    lines = list(estimate_lines(estimate(lines=(), note="no language model is involved")))

    assert lines[1:] == ["0 calls: no language model is involved"]


def test_json_holds_every_figure_and_the_sums() -> None:
    found = json.loads(estimate_json(estimate()))

    assert found["total"]["calls"] == {"low": 1_000_000, "high": 2_000_000}
    assert found["total"]["usd"] is None
    assert found["lines"][0]["model"] == "a-model-with-a-rather-long-name"
    assert found["assumptions"]
