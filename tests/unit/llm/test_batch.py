"""Prompts for a batch and the files that come back, without a network."""

from __future__ import annotations

import json
from collections.abc import Sequence

import anyio
import pytest

from aletheia.errors import ContextTooLong, DataError, ModelBadReply, ModelRefused, ModelUnavailable
from aletheia.llm.base import EndpointIdentity, requests_only
from aletheia.llm.batch import (
    MAX_BYTES,
    MAX_REQUESTS,
    CollectingModel,
    Collector,
    Deferred,
    Held,
    Wanted,
    chunks,
    item_id,
)
from aletheia.llm.batch_results import ItemFailure, read_results, usage_of
from aletheia.llm.batch_status import TOKEN, read_page, read_status
from aletheia.llm.cache import cache_key
from aletheia.llm.failures import BadRequest
from aletheia.llm.openai_wire import Shape
from aletheia.schema.model import Prompt, Usage

SHAPE = Shape()
IDENTITY = EndpointIdentity(provider="openai", base_url="http://127.0.0.1:1/v1", model="m")


class Book:
    """An answer book in memory."""

    def __init__(self) -> None:
        self.bodies: dict[str, Held] = {}
        self.problems: dict[str, ItemFailure] = {}

    def held(self, item: str) -> Held | None:
        return self.bodies.get(item)

    def failed(self, item: str) -> ItemFailure | None:
        return self.problems.get(item)


def completion(text: str = "hi", **more: object) -> dict[str, object]:
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "model": "m-1", **more}


def line(item: str, *, status: object = 200, body: object = None, **more: object) -> str:
    response = {"status_code": status, "body": completion() if body is None else body}
    return json.dumps({"custom_id": item, "response": response, "error": None, **more})


def read(asked: Sequence[str], *lines: str, errors: Sequence[str] = (), whole: bool = True):
    files = {"output": "\n".join(lines).encode(), "errors": "\n".join(errors).encode()}
    return read_results(set(asked), files, shape=SHAPE, whole=whole)


# --- what goes out ------------------------------------------------------------------------------


def test_the_limits_of_a_file_are_those_of_the_api() -> None:
    """https://platform.openai.com/docs/api-reference/batch/create: 50,000 requests, 200 MB."""
    assert (MAX_REQUESTS, MAX_BYTES) == (50_000, 200_000_000)


def test_a_line_of_the_input_file_is_a_chat_request_in_ascii() -> None:
    wanted = asked("é \u2028 {x}")
    raw = wanted.request().line()

    assert raw.endswith(b"\n")
    assert raw.isascii()
    assert json.loads(raw) == {
        "custom_id": wanted.item,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "m",
            "messages": [{"role": "user", "content": "é \u2028 {x}"}],
            "temperature": 0.0,
            "seed": 7,
        },
    }


def asked(text: str, *, model: str = "m", shape: Shape = SHAPE) -> Wanted:
    prompt = Prompt(system="", user=text)
    item = item_id(cache_key(IDENTITY, prompt))
    return Wanted(item=item, model=model, prompt=prompt, shape=shape, parameters={"seed": 7})


def test_an_item_id_is_short_plain_and_the_same_for_another_delimiter() -> None:
    def made(token: str) -> str:
        prompt = Prompt(system="", user=f"<{token}>text</{token}>", delimiter=token)
        return item_id(cache_key(IDENTITY, prompt))

    assert made("abcd") == made("1234")
    assert len(made("abcd")) == 64
    assert made("abcd").isalnum()


def test_batches_hold_one_model_and_one_shape_each_and_keep_every_prompt() -> None:
    other = Shape(temperature=False)
    wanted = [asked("1"), asked("2", model="n"), asked("3", shape=other), asked("4")]
    parts = list(chunks(wanted))

    assert [[item.prompt.user for item in part] for part in parts] == [["1", "4"], ["2"], ["3"]]


@pytest.mark.parametrize(
    ("requests", "most", "sizes"),
    [(5, 2, [2, 2, 1]), (4, 2, [2, 2]), (1, 2, [1]), (0, 2, []), (3, 3, [3])],
)
def test_a_batch_holds_at_most_so_many_requests(requests: int, most: int, sizes: list[int]) -> None:
    wanted = [asked(str(number)) for number in range(requests)]

    assert [len(part) for part in chunks(wanted, max_requests=most)] == sizes


def test_a_batch_holds_at_most_so_many_bytes() -> None:
    wanted = [asked(str(number)) for number in range(5)]
    size = len(wanted[0].request().line())

    assert [len(part) for part in chunks(wanted, max_bytes=2 * size)] == [2, 2, 1]
    assert [len(part) for part in chunks(wanted, max_bytes=2 * size - 1)] == [1] * 5
    with pytest.raises(DataError, match="a batch takes"):
        list(chunks(wanted, max_bytes=size - 1))


# --- what comes back ----------------------------------------------------------------------------


def test_each_item_has_one_outcome_whatever_the_order_and_the_file() -> None:
    found = read(["a", "b", "c"], line("c"), "", line("a"), errors=[line("b", status=500, body={})])

    assert set(found.bodies) == {"a", "c"}
    assert set(found.failures) == {"b"}
    assert found.unanswered == ()
    assert found.remarks == ()


FAILURES = {
    "500": (line("a", status=500, body={"error": {"message": "x"}}), ModelUnavailable),
    "429": (line("a", status=429, body={"error": {"message": "slow down"}}), ModelUnavailable),
    "400": (line("a", status=400, body={"error": {"message": "bad temperature"}}), BadRequest),
    "401": (line("a", status=401, body={"error": {"message": "key"}}), ModelRefused),
    "too long": (
        line("a", status=400, body={"error": {"message": "x", "code": "context_length_exceeded"}}),
        ContextTooLong,
    ),
    "error in a success": (line("a", body={"error": {"message": "x"}}), ModelUnavailable),
    "error as text": (line("a", status=503, body="<html>"), ModelUnavailable),
    "failed by the batch": (
        json.dumps({"custom_id": "a", "response": None, "error": {"code": "x", "message": "y"}}),
        ModelUnavailable,
    ),
    "neither": (json.dumps({"custom_id": "a"}), ModelBadReply),
    "no status": (line("a", status=None), ModelBadReply),
    "status as text": (line("a", status="200"), ModelBadReply),
    "a boolean status": (line("a", status=True), ModelBadReply),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failed_item_becomes_the_error_of_a_single_call(case: str) -> None:
    text, kind = FAILURES[case]
    found = read(["a", "b"], text, line("b"))
    error = found.failures["a"].error("http://here/v1")

    assert type(error) is kind
    assert "http://here/v1" in str(error)
    assert set(found.bodies) == {"b"}


@pytest.mark.parametrize("state", ["expired", "cancelled"])
def test_what_was_not_worked_on_is_left_over_and_no_failure(state: str) -> None:
    error = {"code": f"batch_{state}", "message": "too late"}
    left = json.dumps({"custom_id": "b", "response": None, "error": error})
    found = read(["a", "b", "c"], line("a"), errors=[left], whole=False)

    assert set(found.bodies) == {"a"}
    assert found.failures == {}
    assert set(found.unanswered) == {"b", "c"}


def test_an_item_without_a_line_is_missing_once_the_batch_is_whole() -> None:
    found = read(["a", "b"], line("a"))

    assert found.failures["b"].kind == "missing"
    assert isinstance(found.failures["b"].error("x"), ModelUnavailable)


@pytest.mark.parametrize("second", ["output", "errors"])
def test_two_lines_for_one_item_leave_it_without_a_reply(second: str) -> None:
    """Nobody knows which is its own, also where they say the same or stand in two files."""
    more = [line("a")] if second == "output" else []
    errors = [line("a")] if second == "errors" else []
    found = read(["a", "b"], line("a"), line("b"), *more, errors=errors)

    assert found.failures["a"].kind == "duplicate"
    assert set(found.bodies) == {"b"}


STRAYS = {
    "cut": '{"custom_id": "a", "resp',
    "a list": "[1]",
    "no id": "{}",
    "a number as id": '{"custom_id": 7}',
    "NaN": '{"custom_id": "a", "response": NaN}',
    "infinite": '{"custom_id": "a", "response": 1e999}',
    "deep": "[" * 100_000,
    "not UTF-8": '{"custom_id": "\udcff"}',
    "unknown": line("z"),
}


@pytest.mark.parametrize("case", STRAYS)
def test_a_line_of_no_item_is_told_of_and_changes_nothing_else(case: str) -> None:
    content = f"{STRAYS[case]}\n{line('b')}".encode(errors="surrogateescape")
    found = read_results({"a", "b"}, {"output": content}, shape=SHAPE, whole=True)

    assert set(found.bodies) == {"b"}
    assert found.failures["a"].kind == "missing"
    assert len(found.remarks) == 1
    assert found.remarks[0].startswith("output, line 1: ")


def test_a_byte_order_mark_and_windows_line_ends_are_no_damage() -> None:
    content = b"\xef\xbb\xbf" + f"{line('a')}\r\n{line('b')}\r\n".encode()
    found = read_results({"a", "b"}, {"output": content}, shape=SHAPE, whole=True)

    assert set(found.bodies) == {"a", "b"}


@pytest.mark.parametrize(
    ("body", "usage"),
    [
        (
            completion(usage={"prompt_tokens": 3, "completion_tokens": 4}),
            Usage(prompt_tokens=3, completion_tokens=4),
        ),
        (completion(), Usage()),
        ({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 0}}, None),
        ("<html>", Usage()),
    ],
)
def test_what_an_item_cost_is_what_the_endpoint_reported_and_else_not_known(
    body: object, usage: Usage | None
) -> None:
    found = usage_of(body)

    assert (found.prompt_tokens, found.calls) == (3 if usage is None else usage.prompt_tokens, 1)
    assert usage is None or found.completion_tokens == usage.completion_tokens


def test_an_error_answer_is_not_charged() -> None:
    failure = ItemFailure(kind="http", message="x", shape=SHAPE, status=500)
    lost = ItemFailure(kind="missing", message="x", shape=SHAPE)

    assert usage_of(None, failure) == requests_only(1)
    assert usage_of(None, lost) == Usage()


# --- the model that collects --------------------------------------------------------------------


def test_a_prompt_is_collected_once_and_answered_when_the_book_knows_it() -> None:
    book, collector = Book(), Collector()
    model = CollectingModel(IDENTITY, book, collector)
    prompt = Prompt(system="", user="hello", purpose="judge")
    for _ in range(2):
        with pytest.raises(Deferred):
            anyio.run(model.complete, prompt)
    ((item, wanted),) = collector.wanted.items()
    book.bodies[item] = Held(body=completion("ho"), shape=wanted.shape)
    reply = anyio.run(model.complete, prompt)

    assert (reply.text, reply.source, reply.model) == ("ho", "batch", "m-1")
    assert wanted.prompt.purpose == "judge"
    assert collector.failed == set()


def test_repetitions_of_one_prompt_are_several_items() -> None:
    collector = Collector()
    model = CollectingModel(IDENTITY, Book(), collector)
    for repeat in (0, 1, 1):
        with pytest.raises(Deferred):
            anyio.run(model.complete, Prompt(system="", user="hello", repeat=repeat))

    assert len(collector.wanted) == 2


def test_a_failure_is_raised_every_time_and_not_collected() -> None:
    book, collector = Book(), Collector()
    model = CollectingModel(IDENTITY, book, collector)
    prompt = Prompt(system="", user="hello")
    item = item_id(cache_key(IDENTITY, prompt))
    book.problems[item] = ItemFailure(kind="http", message="x", shape=SHAPE, status=500)
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            anyio.run(model.complete, prompt)

    assert collector.wanted == {}
    assert collector.failed == {item}


def test_an_echo_of_the_schema_is_asked_for_once_more_as_a_single_call_is() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    book, collector = Book(), Collector()
    model = CollectingModel(IDENTITY, book, collector)
    prompt = Prompt(system="", user="hello", schema=schema)
    for text in (json.dumps(schema), '{"answer": "x"}'):
        with pytest.raises(Deferred):
            anyio.run(model.complete, prompt)
        (wanted,) = collector.wanted.values()
        book.bodies[wanted.item] = Held(body=completion(text), shape=wanted.shape)
        collector.begin()

    assert anyio.run(model.complete, prompt).text == '{"answer": "x"}'
    assert [held.shape.structured for held in book.bodies.values()] == [
        "json_schema",
        "json_object",
    ]


# --- a batch as it is shown ---------------------------------------------------------------------


def test_a_batch_is_read_with_its_counts_and_token() -> None:
    status = read_status(
        {
            "id": "batch_1",
            "status": "in_progress",
            "request_counts": {"total": 9, "completed": 4, "failed": 1},
            "metadata": {TOKEN: "t"},
            "output_file_id": "",
        }
    )

    assert (status.total, status.completed, status.failed, status.token) == (9, 4, 1, "t")
    assert (status.ended, status.output_file_id) == (False, None)
    assert str(status) == "batch `batch_1` is in_progress, 4 of 9 requests done, 1 failed"


def test_the_first_complaints_about_an_input_file_are_told() -> None:
    errors = [{"code": "c", "line": number, "message": "bad"} for number in range(1, 6)]
    status = read_status({"id": "b", "status": "failed", "errors": {"data": errors}})

    assert status.errors[0] == "line 1: bad (`c`)"
    assert status.errors[-1] == "and 2 more"


@pytest.mark.parametrize(
    "body",
    [None, [], {}, {"id": "b"}, {"id": "b", "status": "odd"}, {"id": 7, "status": "failed"}],
)
def test_what_is_no_batch_is_a_bad_reply(body: object) -> None:
    with pytest.raises(ModelBadReply):
        read_status(body)


def test_a_list_leaves_out_what_cannot_be_read_and_says_whether_there_is_more() -> None:
    batches, more = read_page(
        {"data": [{"id": "b", "status": "failed"}, {"id": "c"}], "has_more": True}
    )

    assert ([batch.id for batch in batches], more) == (["b"], True)
    with pytest.raises(ModelBadReply):
        read_page({"data": None})


def test_lines_end_at_line_feeds_only() -> None:
    """Texts may hold other separators as they are, not escaped."""
    text = "a\u2028b\u2029c\x85d"
    response = {"status_code": 200, "body": completion(text)}
    raw = json.dumps({"custom_id": "a", "response": response}, ensure_ascii=False)
    found = read_results({"a"}, {"output": raw.encode()}, shape=SHAPE, whole=True)

    assert found.bodies["a"]["choices"][0]["message"]["content"] == text
