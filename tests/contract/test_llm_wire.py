"""The door to chat models over real HTTP: what each answer of an endpoint becomes.

Every request that was sent is counted, by the server and by `usage.calls`.
"""

from __future__ import annotations

import asyncio
import email.utils
import gc
import json
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import anyio
import numpy as np
import pytest
from stub_server import Rule, Step, StubServer, answer_json

from aletheia.config import Settings
from aletheia.errors import (
    ConfigError,
    ContextTooLong,
    ModelBadReply,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from aletheia.generators.llm import LLMGenerator
from aletheia.grounding.numbering import number
from aletheia.llm.build import build_adapter, build_embedder, build_model
from aletheia.llm.capabilities import MEMORY
from aletheia.llm.openai_embedder import OpenAIEmbedder
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.probe import ProbeResult, probe
from aletheia.llm.record import CallLedger, RecordingModel
from aletheia.llm.retry import RetryingModel, RetryPolicy
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage
from aletheia.schema.verification import Mode
from aletheia.testing import SAMPLE_EVIDENCE

SECRET = "sk-secret-0123456789abcdef"
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
PLAIN = Prompt(system="Be brief.", user="Hello?", temperature=None)
FULL = Prompt(
    system="Reply in JSON.", user="Hello?", schema=SCHEMA, schema_name="hi", max_output_tokens=8192
)
QUICK = RetryPolicy(max_retries=3, first_wait_s=0.01, max_wait_s=0.02, jitter_s=0.0)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is reached directly, whatever the machine is set to."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    """A port may be used twice; what was learnt of the server there before is forgotten."""
    MEMORY.clear()


def adapter(server: StubServer, *, key: str | None = SECRET, timeout_s: float = 10.0):
    return OpenAIChatModel("stub", api_key=key, base_url=server.base_url, timeout_s=timeout_s)


def ask(model: ChatModel, prompt: Prompt = PLAIN) -> Reply:
    return asyncio.run(model.complete(prompt))


def test_a_valid_reply_keeps_every_part() -> None:
    """Text, finish reason, usage and model arrive; the request holds exactly what was asked."""
    with StubServer([Step(text='{"answer": "é\u2028 ok"}')]) as server:
        reply = ask(adapter(server), FULL)
        (sent,) = server.chats
    assert reply == Reply(
        text='{"answer": "é\u2028 ok"}',
        model="stub",
        finish_reason="stop",
        usage=Usage(prompt_tokens=11, completion_tokens=7, calls=1),
        structured="json_schema",
    )
    assert sent.headers["authorization"] == f"Bearer {SECRET}"
    assert sent.body == {
        "model": "stub",
        "messages": [
            {"role": "system", "content": "Reply in JSON."},
            {"role": "user", "content": "Hello?"},
        ],
        "temperature": 0.0,
        "max_tokens": 8192,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "hi", "schema": SCHEMA, "strict": True},
        },
    }


def test_a_plain_prompt_sends_nothing_it_was_not_given() -> None:
    with StubServer(["hi"]) as server:
        assert ask(adapter(server)).structured == "none"
        assert set(server.chats[0].body) == {"model", "messages"}


def test_braces_percent_signs_and_half_pairs_go_out_as_they_are() -> None:
    """Nothing formats the prompt; half of a UTF-16 pair, which JSON cannot carry, is U+FFFD."""
    text = "fun f(a) { ... } {question} {{x}} %s ${y} \x00 \ud83d"
    with StubServer(["ok"]) as server:
        ask(adapter(server), Prompt(system="", user=text))
        assert server.chats[0].body["messages"] == [
            {"role": "user", "content": text.replace("\ud83d", "\ufffd")}
        ]


def test_without_a_key_a_local_server_is_still_asked() -> None:
    with StubServer(["ok"]) as server:
        assert ask(adapter(server, key=None)).text == "ok"
        assert server.chats[0].headers["authorization"] == "Bearer no-key"


OK = '{"answer": "yes"}'


@pytest.mark.parametrize(
    ("refuses", "requests", "structured", "dropped", "kept"),
    [
        ((), 1, "json_schema", (), {"temperature", "max_tokens", "response_format"}),
        (("json_schema",), 2, "json_object", (), {"temperature", "max_tokens", "response_format"}),
        (("json_schema", "json_object"), 3, "none", (), {"temperature", "max_tokens"}),
        (("temperature",), 2, "json_schema", ("temperature",), {"max_tokens", "response_format"}),
        (
            ("max_tokens",),
            2,
            "json_schema",
            (),
            {"temperature", "max_completion_tokens", "response_format"},
        ),
        (
            ("system",),
            2,
            "json_schema",
            ("system_role",),
            {"temperature", "max_tokens", "response_format"},
        ),
        (
            ("json_schema", "json_object", "temperature", "max_tokens", "system"),
            6,
            "none",
            ("temperature", "system_role"),
            {"max_completion_tokens"},
        ),
    ],
)
def test_what_an_endpoint_refuses_is_left_out_once_and_remembered(
    refuses: tuple[str, ...],
    requests: int,
    structured: str,
    dropped: tuple[str, ...],
    kept: set[str],
) -> None:
    with StubServer([OK, OK], refuses=refuses) as server:
        model = adapter(server)
        first, second = ask(model, FULL), ask(model, FULL)
        assert len(server.chats) == requests + 1
        assert set(server.chats[-1].body) - {"model", "messages"} == kept
        limits = [
            body.get("max_tokens", body.get("max_completion_tokens")) for body in bodies(server)
        ]
    assert (first.usage.calls, second.usage.calls) == (requests, 1)
    assert (first.structured, first.dropped) == (structured, dropped)
    assert (second.structured, second.dropped) == (structured, dropped)
    assert set(limits) == {8192}


def bodies(server: StubServer) -> list[dict[str, object]]:
    return [item.body for item in server.chats]


def test_two_limit_names_refused_is_a_refusal_and_the_limit_is_not_dropped() -> None:
    with StubServer(refuses=("max_tokens", "max_completion_tokens")) as server:
        with pytest.raises(ModelRefused, match="max_completion_tokens") as caught:
            ask(adapter(server), FULL)
        assert len(server.chats) == 2
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 2


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "This model does not support response format `json_schema`"}}),
        (400, {"error": {"message": "bad", "param": "response_format"}}),
        (400, {"object": "error", "message": "This response_format type is unavailable now"}),
        (400, {"error": "json_schema is not implemented"}),
        (422, {"detail": [{"loc": ["body", "response_format"], "msg": "extra", "input": {}}]}),
        (422, {"detail": "unprocessable"}),
        (422, None),
    ],
)
def test_many_wordings_of_no_schema_step_down(status: int, body: object) -> None:
    step = Step(status=status, body=body) if body else Step(status=status, raw="")
    with StubServer([step, OK]) as server:
        assert ask(adapter(server), FULL).structured == "json_object"
        assert len(server.chats) == 2


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens; reduce max_tokens or the messages",
        "max_tokens is too large: 8192. This model allows at most 4096 completion tokens",
        "Invalid value for 'messages'",
    ],
)
def test_other_bad_requests_are_told_after_one_request(message: str) -> None:
    with StubServer([Step(status=400, message=message)]) as server:
        with pytest.raises(ModelRefused) as caught:
            ask(adapter(server), FULL)
        assert len(server.chats) == 1
    assert caught.value.status == 400
    assert message[:20] in caught.value.message


def test_a_lesser_shape_that_fails_otherwise_is_not_remembered() -> None:
    """Only what was seen to work is kept: the schema is tried again after a 500 in between."""
    steps = [Step(status=422, raw=""), Step(status=500), OK]
    with StubServer(steps) as server:
        model = adapter(server)
        with pytest.raises(ModelUnavailable) as caught:
            ask(model, FULL)
        assert ask(model, FULL).structured == "json_schema"
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 2


@pytest.mark.parametrize(
    ("step", "error", "status", "says"),
    [
        (Step(status=401, message="no"), ModelRefused, 401, "`OPENAI_API_KEY`"),
        (Step(status=402, message="pay"), ModelRefused, 402, "credit"),
        (Step(status=403, message="no"), ModelRefused, 403, "may not use"),
        (Step(status=404, message="no model `stub`"), ModelRefused, 404, "model's name"),
        (Step(status=413, message="large"), ContextTooLong, 413, "large"),
        (Step(status=408), ModelUnavailable, 408, "408"),
        (Step(status=409), ModelUnavailable, 409, "409"),
        (Step(status=429), ModelUnavailable, 429, "429"),
        (Step(status=500), ModelUnavailable, 500, "500"),
        (Step(status=529, message="overloaded"), ModelUnavailable, 529, "overloaded"),
        (
            Step(
                status=429,
                body={"error": {"message": "Check your plan", "code": "insufficient_quota"}},
            ),
            ModelRefused,
            429,
            "credit",
        ),
        (
            Step(status=400, body={"error": {"message": "no", "code": "content_filter"}}),
            ModelRefused,
            400,
            "content filter",
        ),
        (
            Step(body={"error": {"message": "upstream is busy", "code": 429}}),
            ModelUnavailable,
            429,
            "upstream is busy",
        ),
        (Step(body={"error": "upstream failed"}), ModelUnavailable, 502, "upstream failed"),
        (Step(text="", usage=None), ModelBadReply, None, "empty"),
        (Step(text=None), ModelBadReply, None, "empty (finish_reason `stop`)"),
        (Step(text=" \n\t"), ModelBadReply, None, "empty"),
        (Step(text="", finish_reason="length"), ModelBadReply, None, "more output tokens"),
        (Step(text=None, refusal="I cannot."), ModelRefused, None, "I cannot."),
        (Step(text="half", finish_reason="content_filter"), ModelRefused, None, "content filter"),
        (Step(raw='{"choices": [{"mess'), ModelBadReply, None, "not JSON"),
        (
            Step(raw="{}x", headers={"Content-Type": "a/b; charset=utf-16"}),
            ModelBadReply,
            None,
            "not JSON",
        ),
        (Step(raw="<html>login</html>"), ModelBadReply, None, "<html>"),
        (Step(raw=""), ModelBadReply, None, "not JSON"),
        (Step(raw="[" * 100_000), ModelBadReply, None, "not JSON"),
        (Step(body={}), ModelBadReply, None, "no choice"),
        (Step(body={"choices": []}), ModelBadReply, None, "no choice"),
        (Step(body={"choices": ["x"]}), ModelBadReply, None, "no choice"),
        (Step(body=[1]), ModelBadReply, None, "`list`"),
        (Step(body={"choices": [{"message": {"content": 5}}]}), ModelBadReply, None, "`int`"),
        (Step(body={"choices": [{"message": None}]}), ModelBadReply, None, "empty"),
        (
            Step(status=500, raw="xyz", headers={"Content-Type": "a/b; charset=utf-16"}),
            ModelBadReply,
            None,
            "not JSON",
        ),
        (
            Step(raw="zip", headers={"Content-Encoding": "gzip"}),
            ModelUnavailable,
            None,
            "no answer",
        ),
        (Step(hang_up=True), ModelUnavailable, None, "no answer from"),
    ],
)
def test_each_failure_becomes_its_error_after_one_request(
    step: Step, error: type[ModelError], status: int | None, says: str
) -> None:
    with StubServer([step]) as server:
        with pytest.raises(error) as caught:
            ask(adapter(server))
        assert len(server.chats) == 1
    assert type(caught.value) is error
    assert caught.value.status == status
    assert says in str(caught.value)
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 1


def test_an_empty_reply_keeps_what_it_cost_and_that_it_was_empty() -> None:
    with StubServer([Step(text=" ")]) as server, pytest.raises(ModelBadReply) as caught:
        ask(adapter(server))
    assert caught.value.text == " "
    assert caught.value.usage == Usage(prompt_tokens=11, completion_tokens=7, calls=1)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": "9", "completion_tokens": 3}, Usage(completion_tokens=3)),
        ({"prompt_tokens": 0}, Usage(prompt_tokens=0)),
    ],
)
def test_a_count_that_is_none_is_not_made_up(usage: object, expected: Usage) -> None:
    with StubServer([Step(text="ok", usage=usage)]) as server:  # type: ignore[arg-type]
        assert ask(adapter(server)).usage == expected


def test_content_in_parts_is_put_together() -> None:
    parts = [
        {"type": "thinking", "text": "hm"},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]
    body = {"choices": [{"message": {"content": parts}}], "model": "served"}
    with StubServer([Step(body=body)]) as server:
        reply = ask(adapter(server))
    assert (reply.text, reply.model, reply.finish_reason) == ("ab", "served", None)


class TestCutReplies:
    """A reply that ends with `length`."""

    LIMITED = Prompt(system="", user="Hello?", max_output_tokens=16, output_ceiling=64)

    def test_without_a_ceiling_the_reply_says_that_it_was_cut(self) -> None:
        with StubServer([Step(text="half", finish_reason="length")]) as server:
            reply = ask(adapter(server), Prompt(system="", user="?", max_output_tokens=16))
            assert len(server.chats) == 1
        assert (reply.text, reply.finish_reason) == ("half", "length")

    def test_with_a_ceiling_it_is_asked_for_once_more(self) -> None:
        with StubServer([Step(text="half", finish_reason="length"), "whole"]) as server:
            reply = ask(adapter(server), self.LIMITED)
            assert [body["max_tokens"] for body in bodies(server)] == [16, 64]
        assert (reply.text, reply.finish_reason) == ("whole", "stop")
        assert reply.usage == Usage(prompt_tokens=22, completion_tokens=14, calls=2)

    def test_a_second_cut_is_told_and_not_tried_again(self) -> None:
        with StubServer([Step(text="half", finish_reason="length", times=None)]) as server:
            reply = ask(adapter(server), self.LIMITED)
            assert len(server.chats) == 2
        assert reply.finish_reason == "length"

    def test_more_room_also_helps_where_all_of_it_went_into_thinking(self) -> None:
        with StubServer([Step(text="", finish_reason="length"), "whole"]) as server:
            assert ask(adapter(server), self.LIMITED).text == "whole"

    def test_a_refused_ceiling_leaves_the_cut_reply(self) -> None:
        steps = [
            Step(text="half", finish_reason="length"),
            Step(status=400, message="max_tokens is too large: 64"),
        ]
        with StubServer(steps) as server:
            reply = ask(adapter(server), self.LIMITED)
        assert (reply.text, reply.finish_reason, reply.usage.calls) == ("half", "length", 2)

    def test_a_ceiling_below_the_limit_changes_nothing(self) -> None:
        prompt = Prompt(system="", user="?", max_output_tokens=64, output_ceiling=64)
        with StubServer([Step(text="half", finish_reason="length")]) as server:
            assert ask(adapter(server), prompt).finish_reason == "length"

    def test_a_failure_on_the_way_counts_both_requests(self) -> None:
        steps = [Step(text="half", finish_reason="length"), Step(status=503)]
        with StubServer(steps) as server, pytest.raises(ModelUnavailable) as caught:
            ask(adapter(server), self.LIMITED)
        assert caught.value.usage == Usage(prompt_tokens=11, completion_tokens=7, calls=2)


class TestTime:
    """Slow answers end at the limit, waits are those the endpoint asks for."""

    @pytest.mark.parametrize("step", [Step(text="x", delay=30.0), Step(text="x", drip=0.05)])
    def test_a_slow_answer_ends_at_the_limit(self, step: Step) -> None:
        """Also one that trickles, byte by byte, faster than any read timeout."""
        with StubServer([step]) as server:
            started = time.monotonic()
            with pytest.raises(ModelUnavailable, match=r"no reply within 0\.4 s|timed out"):
                ask(adapter(server, timeout_s=0.4))
        assert time.monotonic() - started < 5

    def test_the_limit_over_all_retries_cuts_a_slow_answer(self) -> None:
        policy = RetryPolicy(max_retries=9, total_s=1.0)
        with StubServer([Step(text="x", delay=30.0, times=None)]) as server:
            with pytest.raises(ModelUnavailable, match=r"1 try; no time left of 1 s"):
                ask(RetryingModel(adapter(server), policy))
            assert len(server.chats) <= 1

    @pytest.mark.parametrize("header", ["Retry-After", "retry-after-ms", "date"])
    def test_retry_after_is_waited_out(self, header: str) -> None:
        ahead = email.utils.formatdate(time.time() + 2, usegmt=True)
        headers = {
            "Retry-After": {"Retry-After": "1"},
            "retry-after-ms": {"retry-after-ms": "400"},
            "date": {"Retry-After": ahead},
        }[header]
        with StubServer([Step(status=429, headers=headers), "ok"]) as server:
            assert ask(RetryingModel(adapter(server), QUICK)).text == "ok"
            first, second = server.chats
        # A date has whole seconds, so up to one of the two has passed already.
        assert (
            second.at - first.at >= {"Retry-After": 1.0, "retry-after-ms": 0.4, "date": 0.9}[header]
        )


class TestRetries:
    """Counts are exact, as the server sees them."""

    def test_what_passes_is_tried_again(self) -> None:
        steps = [
            Step(status=429, headers={"Retry-After": "0"}),
            Step(status=503),
            Step(hang_up=True),
        ]
        with StubServer([*steps, "ok"]) as server:
            model = RetryingModel(adapter(server), QUICK)
            reply = ask(model)
            assert len(server.chats) == 4
        assert (reply.text, reply.usage.calls) == ("ok", 4)
        assert (model.stats.calls, model.stats.retries, model.stats.gave_up) == (1, 3, 0)

    def test_what_a_lost_request_cost_is_not_known(self) -> None:
        """An endpoint may have worked on what it did not answer; what it refused costs nothing."""
        usages = {}
        for name, step in (("lost", Step(hang_up=True)), ("refused", Step(status=429))):
            with StubServer([step, "ok"]) as server:
                usage = ask(RetryingModel(adapter(server), QUICK)).usage
            usages[name] = (usage.prompt_tokens, usage.completion_tokens)
        assert usages == {"lost": (None, None), "refused": (11, 7)}

    def test_after_the_last_try_the_error_says_how_many_there_were(self) -> None:
        with StubServer([Step(status=500, message="boom", times=None)]) as server:
            with pytest.raises(ModelUnavailable, match=r"boom \(4 tries\)") as caught:
                ask(RetryingModel(adapter(server), QUICK))
            assert len(server.chats) == 4
        assert caught.value.status == 500
        assert caught.value.usage is not None
        assert caught.value.usage.calls == 4

    @pytest.mark.parametrize(
        "step", [Step(status=401), Step(text=""), Step(raw="{"), Step(text=None, refusal="no")]
    )
    def test_what_cannot_pass_is_told_after_one_request(self, step: Step) -> None:
        with StubServer([step]) as server:
            with pytest.raises(ModelError):
                ask(RetryingModel(adapter(server), QUICK))
            assert len(server.chats) == 1

    def test_a_wait_longer_than_the_cap_ends_the_call_at_once(self) -> None:
        with StubServer([Step(status=429, headers={"Retry-After": "3600"})]) as server:
            with pytest.raises(ModelUnavailable, match="asks to wait 3600 s") as caught:
                ask(RetryingModel(adapter(server), QUICK))
            assert len(server.chats) == 1
        assert caught.value.retry_after_s == 3600

    def test_a_closed_port_is_unavailable_and_says_so(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        model = OpenAIChatModel("stub", base_url=f"http://127.0.0.1:{port}/v1")
        with pytest.raises(ModelUnavailable, match=r"no answer from.*\(4 tries\)"):
            ask(RetryingModel(model, QUICK))

    def test_one_failure_does_not_touch_its_neighbours(self) -> None:
        """One prompt always fails; the other nine are answered, each with its own text."""

        async def all_of_them(model: ChatModel) -> list[Reply | BaseException]:
            prompts = [Prompt(system="", user=f"question {n};") for n in range(10)]
            calls = [model.complete(prompt) for prompt in prompts]
            return await asyncio.gather(*calls, return_exceptions=True)

        rules = [Rule(contains="question 3;", steps=[Step(status=500, times=None)])]
        with StubServer(rules=rules, answer=lambda request: f"to {request.prompt}") as server:
            results = asyncio.run(all_of_them(RetryingModel(adapter(server), QUICK)))
            assert len(server.chats) == 9 + 4
        texts = [item.text if isinstance(item, Reply) else type(item).__name__ for item in results]
        expected = [f"to question {n};" for n in range(10)]
        expected[3] = "ModelUnavailable"
        assert texts == expected


@contextmanager
def raw_server(answer: bytes) -> Iterator[str]:
    """The URL of a server that takes one request, writes `answer` and closes the connection."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


class TestBrokenHttp:
    """What is no HTTP is said in words of its own, and what it cost is not known."""

    @pytest.mark.parametrize(
        ("answer", "told"),
        [
            (b"HTTP/1.1 200 OK\r\nContent-Ty", "ended within the headers"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{}", "Not enough data"),
            (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "Bad status line"),
            (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", "Error"),
        ],
        ids=["cut in its headers", "cut in its body", "another protocol", "not compressed"],
    )
    def test_it_is_unavailable(self, answer: bytes, told: str) -> None:
        with raw_server(answer) as url, pytest.raises(ModelUnavailable) as caught:
            ask(OpenAIChatModel("m", base_url=url))

        assert f"no answer from `{url}`" in caught.value.message
        assert told in caught.value.message
        assert "400" not in caught.value.message
        assert caught.value.usage is not None
        assert caught.value.usage.prompt_tokens is None

    def test_a_connection_that_was_never_made_cost_nothing(self) -> None:
        with pytest.raises(ModelUnavailable) as caught:
            ask(OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1"))

        assert caught.value.usage is not None
        assert caught.value.usage.prompt_tokens == 0


class TestSecrets:
    """The key is in no message, whatever the server says."""

    def test_a_request_tells_nothing_about_this_machine(self) -> None:
        with StubServer(["ok"]) as server:
            ask(adapter(server))
            (request,) = server.chats
        assert [name for name in request.headers if name.startswith("x-stainless")] == []
        assert request.path == "/v1/chat/completions"

    def chain(self, error: BaseException | None) -> str:
        text = ""
        while error is not None:
            text += f"{error!r} {error}"
            error = error.__cause__
        return text

    @pytest.mark.parametrize(
        "step",
        [
            Step(status=401, message=f"Incorrect API key provided: {SECRET}"),
            Step(status=500, raw=f"Bearer {SECRET} is bad"),
            Step(status=400, body={"detail": [{"loc": [SECRET], "msg": SECRET}]}),
            Step(raw=f"<html>{SECRET}</html>"),
            Step(body={"error": {"message": SECRET, "code": 500}}),
        ],
    )
    def test_an_echoed_key_is_cut_out(self, step: Step) -> None:
        with StubServer([step]) as server:
            model = adapter(server)
            with pytest.raises(ModelError) as caught:
                ask(model)
        assert SECRET not in self.chain(caught.value) + repr(model)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None

    def test_another_key_that_is_echoed_is_cut_out_too(self) -> None:
        step = Step(status=401, message="bad key sk-other-9876543210")
        with StubServer([step]) as server, pytest.raises(ModelRefused) as caught:
            ask(adapter(server))
        assert "9876543210" not in str(caught.value)

    @pytest.mark.parametrize("bad", [SECRET + "\n", SECRET + "é", " " + SECRET])
    def test_a_key_that_fits_no_header_is_a_config_error(self, bad: str) -> None:
        with pytest.raises(ConfigError) as caught:
            OpenAIChatModel("m", api_key=bad)
        assert SECRET not in str(caught.value)

    @pytest.mark.parametrize(
        "bad",
        ["localhost:8000", "ftp://h/v1", f"http://u:{SECRET}@h/v1", f"http://h/v1?k={SECRET}", "x"],
    )
    def test_a_url_that_is_not_plain_is_a_config_error(self, bad: str) -> None:
        with pytest.raises(ConfigError, match="not a plain URL") as caught:
            OpenAIChatModel("m", base_url=bad)
        assert SECRET not in str(caught.value)

    def test_neither_key_nor_url_is_a_config_error(self) -> None:
        with pytest.raises(ConfigError, match="no model endpoint"):
            OpenAIChatModel("m")


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def settle(count: Callable[[], int], at_most: int) -> int:
    """Wait for the server's threads to close their side."""
    until = time.monotonic() + 5
    while count() > at_most and time.monotonic() < until:
        time.sleep(0.01)
    return count()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_one_model_object_survives_a_hundred_event_loops_without_a_leak() -> None:
    with StubServer() as server:
        model = RetryingModel(adapter(server), QUICK)
        ask(model)
        before = open_descriptors()
        for _ in range(100):
            ask(model)
        assert settle(open_descriptors, before) <= before
        assert len(server.chats) == 101


def test_connections_are_kept_within_a_loop_and_the_loop_is_let_go_after_it() -> None:
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def three(model: ChatModel) -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        for _ in range(3):
            await model.complete(PLAIN)

    with StubServer() as server:
        model = adapter(server)
        for _ in range(3):
            asyncio.run(three(model))
        anyio.run(three, model)
        assert len(server.chats) == 12
        assert server.connections == 4
        gc.collect()
        assert [item() for item in loops] == [None] * 4


def test_two_threads_may_share_one_model() -> None:
    with StubServer(answer=lambda request: request.prompt) as server:
        model = adapter(server)

        def five(name: str) -> list[str]:
            async def calls() -> list[str]:
                prompts = [Prompt(system="", user=f"{name} {n}") for n in range(5)]
                replies = await asyncio.gather(*[model.complete(prompt) for prompt in prompts])
                return [reply.text for reply in replies]

            return asyncio.run(calls())

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(five, "ab")) == [[f"{t} {n}" for n in range(5)] for t in "ab"]


def test_a_model_is_asked_again_and_again_inside_one_running_loop() -> None:
    async def three_times(model: ChatModel) -> list[str]:
        return [(await model.complete(PLAIN)).text for _ in range(3)]

    with StubServer(["a", "b", "c"]) as server:
        assert asyncio.run(three_times(adapter(server))) == ["a", "b", "c"]


def test_aclose_ends_the_connections_and_the_next_call_opens_new_ones() -> None:
    async def twice(model: OpenAIChatModel) -> None:
        await model.complete(PLAIN)
        await model.aclose()
        await model.aclose()
        await model.complete(PLAIN)

    with StubServer() as server:
        asyncio.run(twice(adapter(server)))
        assert server.connections == 2


def test_a_call_that_is_cancelled_leaves_the_model_usable() -> None:
    async def cancelled_then_asked(model: ChatModel) -> str:
        with anyio.move_on_after(0.2):
            await model.complete(Prompt(system="", user="wait"))
        return (await model.complete(PLAIN)).text

    slow = Rule(contains="wait", steps=[Step(text="late", delay=30.0)])
    with StubServer(["next"], rules=[slow]) as server:
        assert asyncio.run(cancelled_then_asked(adapter(server))) == "next"


class TestLedger:
    """What was sent is written down, inside the retries."""

    def test_every_try_is_in_the_ledger(self) -> None:
        ledger = CallLedger(keep_records=True)
        with StubServer([Step(status=500), Step(text="ok", usage=None), "ok"]) as server:
            model = RetryingModel(RecordingModel(adapter(server), ledger), QUICK)
            ask(model)
            ask(model)
        totals = ledger.totals("stub")
        assert [item.error for item in ledger.records] == ["ModelUnavailable", None, None]
        assert (totals.calls, totals.failed, totals.requests) == (3, 1, 3)
        assert (totals.prompt_tokens, totals.completion_tokens, totals.unreported) == (11, 7, 1)
        assert ledger.totals("other").calls == 0


class TestBuild:
    """From settings to a model."""

    def settings(self, server: StubServer, **values: object) -> Settings:
        given = {"openai_base_url": server.base_url, "openai_api_key": None, "model": "stub"}
        return Settings(**{**given, **values})

    def test_the_settings_reach_the_wire(self) -> None:
        ledger = CallLedger()
        with StubServer([Step(status=500, times=None)]) as server:
            model = build_model(
                self.settings(server, max_retries=0, openai_api_key=SECRET), ledger=ledger
            )
            with pytest.raises(ModelUnavailable, match=r"\(1 try\)"):
                ask(model)
            assert server.chats[0].headers["authorization"] == f"Bearer {SECRET}"
            assert server.chats[0].body["model"] == "stub"
        assert ledger.totals().calls == 1

    def test_an_argument_wins_over_the_setting(self) -> None:
        with StubServer(["ok"]) as server:
            model = build_model(self.settings(server), model="other")
            assert (ask(model).model, model.name) == ("other", "other")

    def test_the_timeout_of_the_settings_is_that_of_a_request(self) -> None:
        gives_up = pytest.raises(ModelUnavailable, match=r"0\.3 s|timed out")
        with StubServer([Step(text="x", delay=30.0)]) as server, gives_up:
            ask(build_model(self.settings(server, timeout_s=0.3, max_retries=0)))


GOOD = answer_json("Tea and salt.", ["E2"])


@pytest.mark.parametrize(
    ("steps", "requests", "reply", "finish"),
    [
        ([GOOD], 1, GOOD, "stop"),
        (["no JSON here", GOOD], 2, GOOD, "stop"),
        ([Step(text=""), GOOD], 2, GOOD, "stop"),
        ([Step(text=""), Step(text=None)], 2, "", None),
        ([Step(text=GOOD[:30], finish_reason="length"), GOOD], 2, GOOD, "stop"),
        ([Step(status=503), "prose", Step(status=429), GOOD], 4, GOOD, "stop"),
        (["prose", Step(status=500, times=None)], 5, "prose", "stop"),
    ],
)
def test_a_generation_over_http_loses_nothing(
    steps: list[Step | str], requests: int, reply: str, finish: str | None
) -> None:
    """Retries, more room for a cut reply and the one repair work together; the counts are exact."""
    with StubServer(steps) as server:
        generator = LLMGenerator(RetryingModel(adapter(server), QUICK))
        evidence = number(SAMPLE_EVIDENCE)
        made = asyncio.run(generator.generate("Exports?", evidence, mode=Mode.STRICT))
        assert len(server.chats) == requests
    assert (made.reply, made.finish_reason, made.usage.calls) == (reply, finish, requests)


class TestEmbedder:
    """`/embeddings` in batches."""

    def embedder(self, server: StubServer) -> OpenAIEmbedder:
        return OpenAIEmbedder("emb", base_url=server.base_url, batch_size=4, policy=QUICK)

    def test_vectors_are_unit_length_in_the_order_of_the_texts(self) -> None:
        texts = [f"text {n}" for n in range(10)]
        with StubServer() as server:
            embedder = self.embedder(server)
            together = embedder.embed(texts)
            alone = embedder.embed([texts[7]])
            sent = server.to("/embeddings")
        assert together.shape == (10, 8)
        assert together.dtype == np.float32
        assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-6)
        assert np.array_equal(together[7], alone[0])
        assert [len(item.body["input"]) for item in sent] == [4, 4, 2, 1]

    def test_no_text_is_no_request(self) -> None:
        with StubServer() as server:
            assert self.embedder(server).embed([]).shape == (0, 0)
            assert server.requests == []

    def test_the_synchronous_face_works_inside_a_running_loop(self) -> None:
        async def inside(embedder: OpenAIEmbedder) -> tuple[int, int]:
            return len(embedder.embed(["a"])), len(await embedder.aembed(["a", "b"]))

        with StubServer() as server:
            assert asyncio.run(inside(self.embedder(server))) == (1, 2)

    def test_the_settings_name_the_model(self) -> None:
        with StubServer() as server:
            given = Settings(openai_base_url=server.base_url, embed_model="mine")
            build_embedder(given).embed(["a"])
            assert server.to("/embeddings")[0].body["model"] == "mine"

    @pytest.mark.parametrize(
        ("data", "says"),
        [
            ([], "indices"),
            ([{"index": 0, "embedding": [1.0]}], "indices"),
            ([{"index": 0, "embedding": [1.0]}] * 2, "indices"),
            ([{"index": 0, "embedding": [1.0]}, {"index": 2, "embedding": [1.0]}], "indices"),
            ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}], "length"),
            ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [0.0]}], "zero"),
            ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": ["1"]}], "number"),
            ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1e300]}], "finite"),
            ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [10**400]}], "too large"),
            ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": []}], "vector 1"),
            ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": "AAAA"}], "vector 1"),
        ],
    )
    def test_vectors_that_do_not_fit_the_texts_are_a_bad_reply(
        self, data: object, says: str
    ) -> None:
        with StubServer(embeddings=[{"data": data}]) as server:
            with pytest.raises(ModelBadReply, match=says):
                self.embedder(server).embed(["a", "b"])
            assert len(server.to("/embeddings")) == 1


class TestProbe:
    """What `aletheia doctor` prints."""

    def facts(self, server: StubServer, *, key: str | None = SECRET) -> dict[str, str]:
        result = self.run(server, key=key)
        return {fact.name: fact.status for fact in result.facts}

    def run(self, server: StubServer, *, key: str | None = SECRET) -> ProbeResult:
        return asyncio.run(probe(adapter(server, key=key), has_key=key is not None))

    def test_all_is_well(self) -> None:
        with StubServer([Step(text='{"ready": true}')], api_key=SECRET) as server:
            result = self.run(server)
            assert len(server.requests) == 2
        assert result.ok
        assert {fact.status for fact in result.facts} == {"ok"}
        assert result.structured == "json_schema"
        assert result.latency_s is not None
        assert 0 < result.latency_s < 10

    def test_a_wrong_key(self) -> None:
        with StubServer(api_key="sk-right-0123456789") as server:
            facts = self.facts(server)
            assert len(server.requests) == 2
        assert (facts["endpoint"], facts["key"], facts["reply"]) == ("ok", "failed", "failed")

    def test_an_unknown_model_lists_the_nearest(self) -> None:
        step = Step(status=404, message="no such model")
        with StubServer([step], models=("stub-2", "other")) as server:
            result = self.run(server)
        assert not result.ok
        (model,) = [fact for fact in result.facts if fact.name == "model"]
        assert (model.status, "`stub-2`" in model.detail) == ("failed", True)

    def test_no_server_is_found_out_with_one_request(self) -> None:
        model = OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1", timeout_s=5.0)
        result = asyncio.run(probe(model))
        statuses = {fact.name: fact.status for fact in result.facts}
        assert statuses == {
            "endpoint": "failed",
            "key": "skipped",
            "model": "skipped",
            "reply": "skipped",
            "structured": "skipped",
        }

    @pytest.mark.parametrize(
        ("refuses", "text", "level", "status"),
        [
            (("json_schema",), '{"ready": true}', "json_object", "ok"),
            (("json_schema", "json_object"), '{"ready": true}', "none", "warning"),
            ((), "Sure, I am ready.", "json_schema", "warning"),
        ],
    )
    def test_the_level_of_structured_output(
        self, refuses: tuple[str, ...], text: str, level: str, status: str
    ) -> None:
        with StubServer([text], refuses=refuses, models=None) as server:
            result = self.run(server, key=None)
        assert result.structured == level
        assert {fact.name: fact.status for fact in result.facts}["structured"] == status
        assert result.ok

    def test_a_slow_reply_is_no_unreachable_endpoint(self) -> None:
        with StubServer([Step(text="x", delay=30.0)]) as server:
            result = asyncio.run(probe(adapter(server, timeout_s=1.5)))
        statuses = {fact.name: fact.status for fact in result.facts}
        assert (statuses["endpoint"], statuses["reply"]) == ("ok", "failed")

    def test_every_fact_is_one_line_without_the_key(self) -> None:
        with StubServer(api_key="sk-right-0123456789") as server:
            lines = [str(fact) for fact in self.run(server).facts]
        assert not any("\n" in line or SECRET in line for line in lines)


def test_the_bare_adapter_is_what_the_probe_gets() -> None:
    model = build_adapter(Settings(openai_base_url="http://127.0.0.1:9/v1", model="m"))
    assert isinstance(model, OpenAIChatModel)


def test_requests_of_the_stub_are_json() -> None:
    """The stub itself: what it recorded can be read back over HTTP, as other processes do."""
    with StubServer(["ok"]) as server:
        ask(adapter(server))
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/requests") as answer:
            (recorded,) = json.load(answer)
    assert recorded["path"] == "/v1/chat/completions"


def test_the_stub_as_a_process_follows_its_script(tmp_path: Path) -> None:
    """As tests of the command line use it: the port on stdout, rules by text, ended by SIGTERM."""
    script = {
        "refuses": ["json_schema"],
        "rules": [{"contains": "Who", "steps": [{"status": 500}, "a name"]}],
        "steps": [{"text": "first"}],
    }
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script), encoding="utf-8")
    command = [sys.executable, "-m", "stub_server", "--port", "0", "--script", str(file)]
    tests = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=tests, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            base_url = f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
            model = RetryingModel(OpenAIChatModel("m", base_url=base_url), QUICK)
            assert ask(model, Prompt(system="", user="Who?")).text == "a name"
            assert ask(model).text == "first"
            evidence = "EVIDENCE:\n[E1] Tea."
            reply = ask(model, Prompt(system="", user=evidence, schema=SCHEMA))
            assert (json.loads(reply.text)["answer"], reply.structured) == ("Tea.", "json_object")
        finally:
            process.terminate()
        assert process.wait(timeout=10) == 0
