"""Requests and replies as values, without a network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aletheia.llm.base import add_usage, digest_prompt, wire_text
from aletheia.llm.failures import Complaint
from aletheia.llm.openai_wire import Shape, adapt, request_body
from aletheia.schema.model import Prompt, Usage

OPEN = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED = {**OPEN, "required": ["a"], "additionalProperties": False}
PROMPT = Prompt(system="s", user="u", schema=CLOSED, max_output_tokens=5)


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        (OPEN, False),
        ({**CLOSED, "required": []}, False),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": OPEN}}}, False),
        ({**CLOSED, "properties": {"a": {"anyOf": [{"type": "null"}, OPEN]}}}, False),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": CLOSED}}}, True),
    ],
)
def test_strict_is_asked_for_only_where_the_schema_fits_it(
    schema: dict[str, object], strict: bool
) -> None:
    body = request_body("m", Prompt(system="", user="u", schema=schema), Shape())
    assert body["response_format"]["json_schema"]["strict"] is strict


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        ("'response_format' is not supported", {"structured": "json_object"}),
        ("json mode is not enabled", {"structured": "json_object"}),
        ("'temperature' does not support 0", {"temperature": False}),
        ("unrecognized request argument: max_completion_tokens", {"tokens": "max_tokens"}),
        ("use 'max_tokens' instead of 'max_completion_tokens'", {"tokens": "max_tokens"}),
        ("System role not supported", {"system_role": False}),
        ("max_completion_tokens is too large", None),
        ("maximum context length exceeded by response_format", None),
        ("something else", None),
        ("", None),
    ],
)
def test_one_complaint_changes_one_thing(words: str, changed: dict[str, object] | None) -> None:
    shape = adapt(Shape(), PROMPT, 400, Complaint(message=words, words=words))
    if changed is None:
        assert shape is None
    else:
        assert shape is not None
        assert {name: getattr(shape, name) for name in changed} == changed


def test_what_was_not_sent_cannot_be_refused() -> None:
    bare = Prompt(system="", user="u", temperature=None)
    for words in ("response_format", "temperature", "max_completion_tokens unknown", "system role"):
        assert adapt(Shape(), bare, 422, Complaint(message=words, words=words)) is None


def test_the_shape_only_ever_gets_smaller() -> None:
    """An endpoint that refuses everything, in every word, is given up after five changes."""
    words = "response_format temperature max_tokens max_completion_tokens unsupported system role"
    shape: Shape | None = Shape()
    seen = []
    while shape is not None:
        assert shape not in seen
        seen.append(shape)
        shape = adapt(shape, PROMPT, 422, Complaint(message=words, words=words))
    assert len(seen) == 6


def test_a_digest_changes_with_everything_that_is_sent() -> None:
    prompts = [
        PROMPT,
        Prompt(system="s", user="u"),
        Prompt(system="su", user=""),
        Prompt(system="s", user="u", temperature=None),
        Prompt(system="s", user="\ud83d"),
    ]
    assert len({digest_prompt(prompt) for prompt in prompts}) == len(prompts)
    assert digest_prompt(PROMPT) == digest_prompt(PROMPT)


def test_only_half_pairs_are_exchanged_on_the_wire() -> None:
    assert wire_text("a\ud83db \U0001f600 é\x00") == "a\ufffdb \U0001f600 é\x00"


def test_an_unknown_count_stays_unknown_in_a_sum() -> None:
    known = Usage(prompt_tokens=1, completion_tokens=2)
    assert add_usage(known, known) == Usage(prompt_tokens=2, completion_tokens=4, calls=2)
    assert add_usage(known, Usage()) == Usage(calls=2)


def test_a_digest_does_not_see_the_random_token_and_does_see_the_repetition() -> None:
    one, other = (
        Prompt(system=f"<{token}>", user=f"{token} u {token}", delimiter=token)
        for token in ("a1b2c3d4", "99887766")
    )
    assert digest_prompt(one) == digest_prompt(other)
    assert digest_prompt(replace(one, delimiter=None)) != digest_prompt(other)
    assert digest_prompt(replace(one, repeat=1)) != digest_prompt(one)
    assert digest_prompt(replace(one, purpose="judge")) == digest_prompt(one)
