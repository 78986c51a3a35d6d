"""Recording replies and replaying them: what was said comes back as it was, or the test fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from stub_server import Step, StubServer

from aletheia.errors import (
    AletheiaError,
    BudgetExceeded,
    ConfigError,
    ContextTooLong,
    DataError,
    ModelBadReply,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    StoreError,
    UsageError,
)
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.replay import ReplayModel, record_replies
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage

PROMPT = Prompt(system="Be brief.", user="Who keeps the lighthouse?")
ODD = "a\u2028b\x00c\ud800d\r\n\x1b[31m é😀 {x} %s"
USAGE = Usage(prompt_tokens=3, completion_tokens=None, calls=2, cached_prompt_tokens=1)
REPLY = Reply(
    text=ODD,
    model="m-2026",
    finish_reason="length",
    usage=USAGE,
    structured="json_object",
    dropped=("temperature", "system"),
    source="batch",
)


def outcome(model: ChatModel, prompt: Prompt) -> Reply | AletheiaError:
    async def ask() -> Reply | AletheiaError:
        try:
            return await model.complete(prompt)
        except AletheiaError as error:
            return error

    return anyio.run(ask)


def recorded(path: Path, lines: Sequence[Line], prompts: Sequence[Prompt]) -> None:
    model = record_replies(ScriptedModel(lines, name="m"), path)
    for prompt in prompts:
        outcome(model, prompt)


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return tmp_path / "cassette.jsonl"


def facts(error: AletheiaError) -> dict[str, object]:
    return {"class": type(error), "text": str(error), **vars(error)}


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable(ODD, status=429, usage=USAGE, retry_after_s=2.5, hint="wait"),
        ModelRefused("no", status=403),
        ContextTooLong("too long", status=400, usage=USAGE),
        ModelBadReply("empty", text=""),
        ModelBadReply("no choices", text=None, status=200),
        ModelError("other"),
        BudgetExceeded(1.25, 0.5, scope="run", model="m", hint="raise it"),
        BudgetExceeded(None, 0.5),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_with_its_class_and_facts(
    cassette: Path, error: ModelError | BudgetExceeded
) -> None:
    recorded(cassette, [error], [PROMPT])

    replayed = outcome(ReplayModel(cassette), PROMPT)

    assert isinstance(replayed, AletheiaError)
    assert facts(replayed) == facts(error)


def test_a_reply_comes_back_as_it_was_odd_text_included(cassette: Path) -> None:
    prompt = Prompt(system=ODD, user=ODD, schema={"b": [1, None], "a": {"x": ODD}}, delimiter="ab")
    recorded(cassette, [REPLY], [prompt])

    replay = ReplayModel(cassette)

    assert outcome(replay, prompt) == REPLY
    assert replay.name == "m"
    assert cassette.read_bytes().isascii()
    assert cassette.read_bytes().count(b"\n") == 1


def test_the_recorded_outcome_is_the_outcome(cassette: Path) -> None:
    error = ModelRefused("no", status=403)
    model = record_replies(ScriptedModel([REPLY, error], name="m"), cassette)

    assert outcome(model, PROMPT) is REPLY
    assert outcome(model, PROMPT) is error
    assert model.name == "m"


def test_a_repeated_prompt_gets_its_replies_in_order_and_then_no_more(cassette: Path) -> None:
    other = replace(PROMPT, user="What is exported?")
    recorded(cassette, ["one", "tea", ModelRefused("no"), "two"], [PROMPT, other, PROMPT, PROMPT])
    replay = ReplayModel(cassette)

    said = [outcome(replay, prompt) for prompt in (PROMPT, PROMPT, other, PROMPT)]
    used_up = outcome(replay, PROMPT)

    assert [getattr(item, "text", str(item)) for item in said] == ["one", "no", "tea", "two"]
    assert isinstance(used_up, UsageError)
    assert "3 times" in used_up.message


def test_the_random_token_of_a_call_makes_no_other_prompt(cassette: Path) -> None:
    prompts = [
        Prompt(system="", user=f"<{t}> hi", delimiter=t) for t in ("a1b2c3d4e5f60718", "0" * 16)
    ]
    recorded(cassette, ["hi"], prompts[:1])

    assert getattr(outcome(ReplayModel(cassette), prompts[1]), "text", None) == "hi"


def test_the_random_token_is_not_the_difference_that_is_named(cassette: Path) -> None:
    recorded(cassette, ["hi"], [Prompt(system="", user="<a1b2c3> tea", delimiter="a1b2c3")])

    error = outcome(
        ReplayModel(cassette), Prompt(system="", user="<ffffff> salt", delimiter="ffffff")
    )

    assert "has 'tea' at character 9 of `user`, this one 'salt'" in str(error)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            replace(PROMPT, user="Who keeps the lamp?"),
            ["line 1", "at character 15 of `user`", "'ighthouse?'", "'amp?'"],
        ),
        (replace(PROMPT, user="What is imported?"), ["line 2", "'exported?'"]),
        (replace(PROMPT, system="Be long."), ["line 1", "of `system`"]),
        (replace(PROMPT, temperature=0.7), ["line 1", "`temperature` 0.0, this one 0.7"]),
        (replace(PROMPT, repeat=1), ["line 1", "`repeat` 0, this one 1"]),
        (replace(PROMPT, schema={}), ["line 1", "has another `schema`"]),
    ],
)
def test_a_prompt_that_was_not_recorded_is_an_error_that_names_the_nearest(
    cassette: Path, asked: Prompt, said: list[str]
) -> None:
    recorded(cassette, ["a", "b"], [PROMPT, replace(PROMPT, user="What is exported?")])

    error = outcome(ReplayModel(cassette), asked)

    assert isinstance(error, UsageError)
    for part in said:
        assert part in error.message, error.message


def test_what_is_recorded_over_http_is_replayed_without_it(cassette: Path) -> None:
    prompts = [replace(PROMPT, user=f"q{number}") for number in range(3)]
    with StubServer([Step(text="a"), Step(status=400, message="bad"), Step(text="c")]) as server:
        model = record_replies(OpenAIChatModel("stub", base_url=server.base_url), cassette)
        live = [outcome(model, prompt) for prompt in prompts]

    replay = ReplayModel(cassette)
    again = [outcome(replay, prompt) for prompt in prompts]

    assert replay.name == "stub"
    assert again[::2] == live[::2]
    assert facts(again[1]) == facts(live[1])  # type: ignore[arg-type]


def test_a_fault_of_the_program_is_not_recorded(cassette: Path) -> None:
    recorded(cassette, [ConfigError("no key"), "hi"], [PROMPT, PROMPT])

    assert getattr(outcome(ReplayModel(cassette), PROMPT), "text", None) == "hi"


def test_an_error_of_ones_own_class_comes_back_as_the_nearest_of_ours(cassette: Path) -> None:
    class Maintenance(ModelUnavailable):
        pass

    recorded(cassette, [Maintenance("back soon", status=503)], [PROMPT])

    error = outcome(ReplayModel(cassette), PROMPT)

    assert type(error) is ModelUnavailable
    assert error.message == "back soon"


def test_recording_goes_on_in_a_file_whose_last_line_was_cut(cassette: Path) -> None:
    recorded(cassette, ["one"], [PROMPT])
    cassette.write_bytes(cassette.read_bytes() + b'{"cassette": 1, "mod')
    recorded(cassette, ["two"], [PROMPT])

    with pytest.raises(DataError) as caught:
        ReplayModel(cassette)
    assert caught.value.line == 2
    lines = cassette.read_bytes().splitlines(keepends=True)
    cassette.write_bytes(b"".join([lines[0], lines[2]]))
    assert getattr(outcome(ReplayModel(cassette), PROMPT), "text", None) == "one"


def test_models_in_one_cassette_are_told_apart(cassette: Path) -> None:
    for name in ("a", "b"):
        outcome(record_replies(ScriptedModel([name], name=name), cassette), PROMPT)

    assert getattr(outcome(ReplayModel(cassette, model="b"), PROMPT), "text", None) == "b"
    with pytest.raises(DataError, match="`a`, `b`"):
        ReplayModel(cassette)
    with pytest.raises(DataError, match="no call of `c`"):
        ReplayModel(cassette, model="c")


GOOD = {
    "cassette": 1,
    "model": "m",
    "prompt": {"system": "", "user": ""},
    "reply": {"text": "", "model": "m"},
}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no json", "Expecting value"),
        ("[]", "no line of a cassette"),
        (json.dumps({**GOOD, "cassette": 2}), "no line of a cassette"),
        (json.dumps({**GOOD, "prompt": {"system": ""}}), "`user` of the prompt"),
        (json.dumps({**GOOD, "reply": {"text": 1, "model": "m"}}), "`text` of the reply"),
        (json.dumps({"cassette": 1, "model": "m"}), "`error` is missing"),
        (json.dumps({**GOOD, "reply": None}), "reply is not an object"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(cassette: Path, line: str, said: str) -> None:
    cassette.write_text(f"{json.dumps(GOOD)}\n\n{line}\n")

    with pytest.raises(DataError, match=said) as caught:
        ReplayModel(cassette)

    assert (caught.value.file, caught.value.line) == (str(cassette), 3)


def test_a_file_that_is_not_there_or_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        ReplayModel(tmp_path / "none.jsonl")
    with pytest.raises(StoreError, match="cannot be written"):
        record_replies(ScriptedModel([]), tmp_path)
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(DataError, match="no call"):
        ReplayModel(tmp_path / "empty.jsonl")
