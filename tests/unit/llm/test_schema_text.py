"""A schema in words, and its echo."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aletheia.grounding.prompt import answer_schema
from aletheia.llm.openai_wire import Shape, request_body
from aletheia.llm.schema_text import form_of, is_echo, schema_text
from aletheia.schema.model import Prompt

VERDICTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {"type": "array", "items": {"$ref": "#/$defs/V"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "version": {"const": 2},
    },
    "required": ["verdicts"],
    "$defs": {
        "V": {
            "type": "object",
            "properties": {"index": {"type": "integer"}, "verdict": {"enum": ["Y", "N"]}},
        }
    },
}


def test_the_form_shows_the_shape_and_suggests_no_verdict() -> None:
    assert form_of(VERDICTS) == {
        "verdicts": [{"index": "<integer>", "verdict": "<one of: Y, N>"}],
        "note": "<string>",
        "version": 2,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": ["string", "null"]},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#"},
        {"anyOf": []},
    ],
)
def test_any_schema_has_a_form(schema: dict[str, Any]) -> None:
    """A schema that refers to itself ends."""
    json.dumps(form_of(schema))


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ('{"type":"object","properties":{"answer":{"type":"string"}}}', True),
        (json.dumps(answer_schema()), True),
        (f"```json\n{json.dumps(answer_schema(), indent=2)}\n```", True),
        (json.dumps({"name": "cited_answer", "schema": answer_schema()}), True),
        (json.dumps({"json_schema": answer_schema()}), True),
        (json.dumps(form_of(answer_schema())), True),
        (
            '{"answer": "The word \\"properties\\"", "evidence_ids": ["E1"], "reasoning": "<b>"}',
            False,
        ),
        ('{"answer": "x", "properties": {}, "evidence_ids": []}', False),
        ('{"properties": "cut', False),
        ('"properties" and no object', False),
        ("", False),
    ],
)
def test_an_echo_is_the_schema_or_the_form_and_nothing_else(text: str, echo: bool) -> None:
    assert is_echo(text, answer_schema()) is echo


def test_a_schema_that_asks_for_properties_is_not_mistaken() -> None:
    asked = {"type": "object", "properties": {"properties": {"type": "object"}}}
    assert not is_echo('{"properties": {"colour": "red"}}', asked)


@pytest.mark.parametrize(
    ("shape", "shown"),
    [
        (Shape(), False),
        (Shape(schema_in_text=True), True),
        (Shape(structured="json_object"), True),
        (Shape(structured="none"), True),
    ],
)
@pytest.mark.parametrize("system_role", [True, False])
@pytest.mark.parametrize("system", ["Be brief.", ""])
def test_a_schema_that_the_endpoint_does_not_take_stands_in_the_prompt(
    shape: Shape, shown: bool, system_role: bool, system: str
) -> None:
    shape = Shape(
        structured=shape.structured, schema_in_text=shape.schema_in_text, system_role=system_role
    )
    prompt = Prompt(system=system, user="Hello?", schema=VERDICTS)
    messages = request_body("m", prompt, shape)["messages"]
    text = "\n".join(item["content"] for item in messages)
    assert (schema_text(VERDICTS) in text) is shown
    assert messages[-1]["content"].endswith("Hello?")
    assert text.startswith(system)
    assert {item["role"] for item in messages} <= ({"system", "user"} if system_role else {"user"})


def test_without_a_schema_nothing_is_added() -> None:
    body = request_body("m", Prompt(system="s", user="u"), Shape(structured="none"))
    assert [item["content"] for item in body["messages"]] == ["s", "u"]
