"""The scripted model, and what settings lead to."""

from __future__ import annotations

import asyncio

import pytest

from aletheia.config import Settings
from aletheia.errors import ConfigError, ModelRefused, UsageError
from aletheia.llm.build import build_model, describe
from aletheia.llm.record import CallLedger
from aletheia.schema.model import ChatModel, Prompt, Reply
from aletheia.testing import SAMPLE_EVIDENCE, ScriptedModel, answer_reply

PROMPT = Prompt(system="", user="Who?")
NOTHING = {"openai_api_key": None, "openai_base_url": None}


def ask(model: ChatModel) -> Reply:
    return asyncio.run(model.complete(PROMPT))


def test_a_queue_is_used_line_by_line() -> None:
    whole = Reply(text="whole", model="other", finish_reason="length")
    model = ScriptedModel(["text", whole, ModelRefused("no")])
    assert (ask(model).text, ask(model)) == ("text", whole)
    with pytest.raises(ModelRefused, match="no"):
        ask(model)
    with pytest.raises(UsageError, match="3 replies is used up"):
        ask(model)
    assert model.history == [PROMPT] * 4


def test_a_function_answers_from_the_prompt() -> None:
    model = ScriptedModel(lambda prompt: answer_reply(prompt.user, ["E1"]), name="echo")
    assert ask(model).text == '{"answer": "Who?", "evidence_ids": ["E1"], "reasoning": "As cited."}'
    assert (model.name, isinstance(model, ChatModel)) == ("echo", True)
    assert len(SAMPLE_EVIDENCE) == 3


@pytest.mark.parametrize(
    ("given", "usable", "shown"),
    [
        ({}, False, "no model: neither `OPENAI_API_KEY` nor `OPENAI_BASE_URL` is set"),
        (
            {"openai_api_key": "sk-hidden", "model": "m"},
            True,
            "`m` at https://api.openai.com/v1, with a key",
        ),
        (
            {"openai_base_url": "http://localhost:1/v1", "model": "m"},
            True,
            "`m` at http://localhost:1/v1, without a key",
        ),
    ],
)
def test_the_description_says_what_would_be_used(
    given: dict[str, str], usable: bool, shown: str
) -> None:
    described = describe(Settings(**{**NOTHING, **given}))
    assert (described.usable, str(described)) == (usable, shown)
    assert "sk-hidden" not in repr(described)


def test_without_an_endpoint_there_is_no_model_and_the_way_out_is_named() -> None:
    with pytest.raises(ConfigError, match="extractive generator"):
        build_model(Settings(**NOTHING), ledger=CallLedger())
