"""Endpoints of all kinds over real HTTP: what they refuse, cut, hide and ask for, once each."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
from stub_server import Recorded, Rule, Step, StubServer, answer_json

from aletheia.errors import (
    ConfigError,
    ContextTooLong,
    ModelBadReply,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from aletheia.generators.base import Generation
from aletheia.generators.llm import LLMGenerator
from aletheia.grounding.numbering import number
from aletheia.llm.capabilities import MEMORY, Capabilities
from aletheia.llm.limit import AdaptiveLimiter, LimitedModel
from aletheia.llm.openai_embedder import OpenAIEmbedder
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.retry import RetryingModel, RetryPolicy
from aletheia.llm.schema_text import schema_text
from aletheia.schema.evidence import EvidenceSet, EvidenceText
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage
from aletheia.schema.verification import Mode

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
PLAIN = Prompt(system="", user="Hello?", temperature=None)
FULL = Prompt(system="Reply.", user="Hello?", schema=SCHEMA, max_output_tokens=8192)
OK = '{"answer": "yes"}'
QUICK = RetryPolicy(max_retries=3, first_wait_s=0.01, max_wait_s=0.02, jitter_s=0.0)
ABSTAIN = answer_json("INSUFFICIENT_CONTEXT")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is reached directly, and nothing is known of an earlier server at its port."""
    MEMORY.clear()
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def adapter(server: StubServer, **options: Any) -> OpenAIChatModel:
    return OpenAIChatModel("stub", base_url=server.base_url, timeout_s=10.0, **options)


def ask(model: ChatModel, prompt: Prompt = PLAIN) -> Reply:
    return anyio.run(model.complete, prompt)


def ask_at_once(model: ChatModel, prompts: list[Prompt]) -> list[Reply | ModelError]:
    outcomes: list[Reply | ModelError | None] = [None] * len(prompts)

    async def one(index: int) -> None:
        try:
            outcomes[index] = await model.complete(prompts[index])
        except ModelError as error:
            outcomes[index] = error

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for index in range(len(prompts)):
                group.start_soon(one, index)

    anyio.run(run)
    return [item for item in outcomes if item is not None]


class TestLadder:
    """What was found out about an endpoint."""

    def test_the_second_model_object_does_not_find_it_out_again(self) -> None:
        with StubServer(refuses=("json_schema", "temperature"), answer=lambda _r: OK) as server:
            assert not adapter(server).capabilities.confirmed
            assert ask(adapter(server), FULL).usage.calls == 3
            second = adapter(server)
            assert second.capabilities == Capabilities(
                structured="json_object",
                dropped=("temperature",),
                token_parameter="max_tokens",
                schema_in_text=True,
                confirmed=True,
            )
            assert ask(second, FULL).usage.calls == 1
            other = OpenAIChatModel("other", base_url=server.base_url)
            assert other.capabilities.structured == "json_schema"

    def test_first_calls_at_once_each_find_it_out_and_agree(self) -> None:
        refuses = ("json_schema", "temperature", "max_tokens")
        with StubServer(refuses=refuses, answer=lambda _r: OK) as server:
            model = adapter(server)
            replies = ask_at_once(model, [FULL] * 6 + [PLAIN] * 6)
            told = model.capabilities
            assert ask(model, FULL).usage.calls == 1
        assert all(isinstance(reply, Reply) for reply in replies)
        assert (told.structured, told.dropped) == ("json_object", ("temperature",))
        assert told.token_parameter == "max_completion_tokens"

    @pytest.mark.parametrize("refuses", [("json_schema",), ("json_schema", "json_object")])
    def test_without_a_schema_on_the_wire_it_stands_in_the_prompt(
        self, refuses: tuple[str, ...]
    ) -> None:
        with StubServer([OK], refuses=refuses) as server:
            ask(adapter(server), FULL)
            first, *_, last = server.chats
        assert schema_text(SCHEMA) not in first.prompt
        assert schema_text(SCHEMA) in last.prompt
        assert last.prompt.startswith("Reply.")

    def test_an_echo_of_the_schema_falls_one_step_with_an_example_and_is_remembered(self) -> None:
        """Field case 14."""
        with StubServer([json.dumps(SCHEMA), OK, OK]) as server:
            reply = ask(adapter(server), FULL)
            again = ask(adapter(server), FULL)
            first, second, third = server.chats
        assert (reply.text, reply.structured, reply.usage.calls) == (OK, "json_object", 2)
        assert again.usage.calls == 1
        assert schema_text(SCHEMA) not in first.prompt
        assert schema_text(SCHEMA) in second.prompt
        assert third.body == second.body

    def test_a_second_echo_is_an_error_that_says_so(self) -> None:
        with StubServer([Step(text=json.dumps(SCHEMA), times=None)]) as server:
            with pytest.raises(ModelBadReply, match="does not follow structured output") as caught:
                ask(adapter(server), FULL)
            assert len(server.chats) == 2
        assert caught.value.usage is not None
        assert caught.value.usage.calls == 2

    def test_a_schema_taken_and_not_followed_stands_in_the_prompt_from_then_on(self) -> None:
        with StubServer(["Yes, it is.", OK]) as server:
            model = adapter(server)
            assert ask(model, FULL).text == "Yes, it is."
            assert ask(model, FULL).structured == "json_schema"
            first, second = server.chats
        assert schema_text(SCHEMA) not in first.prompt
        assert schema_text(SCHEMA) in second.prompt
        assert second.body["response_format"] == first.body["response_format"]

    @pytest.mark.parametrize(
        "complaint",
        [
            {"message": "Unrecognized request argument supplied: store", "param": None},
            {"message": "no", "param": "store"},
        ],
    )
    def test_a_further_parameter_that_is_refused_is_left_out_once_and_said(
        self, complaint: dict[str, object]
    ) -> None:
        with StubServer([Step(status=400, body={"error": complaint}), OK, OK]) as server:
            model = adapter(server, parameters={"seed": 7, "store": False})
            first, second = ask(model), ask(model)
            sent = [item.body for item in server.chats]
        assert ["store" in body for body in sent] == [True, False, False]
        assert [body["seed"] for body in sent] == [7, 7, 7]
        assert first.dropped == second.dropped == ("store",)
        assert model.capabilities.dropped == ("store",)
        assert model.identity.parameters == (("seed", "7"), ("store", "False"))


class TestReasoning:
    """Models that think first."""

    ROOM = Prompt(system="", user="?", max_output_tokens=16, output_ceiling=64)

    def test_all_room_gone_into_thinking_is_one_more_try_and_then_no_reply(self) -> None:
        message = {"content": None, "reasoning_content": "Let me think {"}
        body = {
            "choices": [{"message": message, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 16},
        }
        with StubServer([Step(body=body, times=None)]) as server:
            with pytest.raises(ModelBadReply, match="more output tokens") as caught:
                ask(adapter(server), self.ROOM)
            assert [item.body["max_tokens"] for item in server.chats] == [16, 64]
        assert caught.value.text is None
        assert caught.value.usage == Usage(prompt_tokens=18, completion_tokens=32, calls=2)

    def test_what_is_thought_is_not_what_is_said(self) -> None:
        message = {"content": "", "reasoning_content": OK}
        silent = StubServer([Step(body={"choices": [{"message": message}]})])
        says = "all of its text is reasoning"
        with silent, pytest.raises(ModelBadReply, match=says) as caught:
            ask(adapter(silent))
        assert caught.value.text == ""
        message = {"content": OK, "reasoning_content": "Hm."}
        with StubServer([Step(body={"choices": [{"message": message}]})]) as server:
            assert ask(adapter(server)).text == OK

    @pytest.mark.parametrize("word", ["length", "MAX_TOKENS", "max_tokens", "model_length"])
    def test_a_cut_reply_has_one_word(self, word: str) -> None:
        with StubServer([Step(text="half", finish_reason=word)]) as server:
            assert ask(adapter(server)).finish_reason == "length"

    def test_the_output_limit_goes_out_exactly(self) -> None:
        """Field case 122."""
        for limit in (1, 1024, 8192, 131072):
            with StubServer(["ok"]) as server:
                ask(adapter(server), Prompt(system="", user="?", max_output_tokens=limit))
                assert server.chats[0].body["max_tokens"] == limit

    @pytest.mark.parametrize(
        ("usage", "cached"),
        [
            ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}, 4),
            ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}, 0),
            ({"prompt_tokens": 9, "prompt_tokens_details": None}, None),
            ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 5}, 5),
        ],
    )
    def test_what_was_read_before_is_kept_apart(
        self, usage: dict[str, object], cached: int | None
    ) -> None:
        with StubServer([Step(text="ok", usage=usage)]) as server:
            assert ask(adapter(server)).usage.cached_prompt_tokens == cached


FILTERED = {"hate": {"filtered": True, "severity": "high"}}
HARMLESS = {"hate": {"filtered": False, "severity": "safe"}}


@pytest.mark.parametrize(
    "step",
    [
        Step(text="half", finish_reason="content_filter"),
        Step(text="", finish_reason="SAFETY"),
        Step(text="", finish_reason="refusal"),
        Step(text=None, refusal="I cannot."),
        Step(
            status=400,
            body={
                "error": {
                    "message": "The response was filtered",
                    "code": "content_filter",
                    "innererror": {"code": "ResponsibleAIPolicyViolation"},
                }
            },
        ),
        Step(
            status=400,
            body={
                "error": {
                    "message": "no",
                    "code": None,
                    "innererror": {"code": "ResponsibleAIPolicyViolation"},
                }
            },
        ),
        Step(status=403, message="blocked by our content policy"),
        Step(
            body={
                "choices": [],
                "prompt_filter_results": [
                    {"prompt_index": 0, "content_filter_results": FILTERED},
                ],
            }
        ),
        Step(
            body={
                "choices": [
                    {
                        "message": {"content": "half"},
                        "finish_reason": "stop",
                        "content_filter_results": FILTERED,
                    }
                ]
            }
        ),
    ],
)
def test_every_form_of_a_content_filter_is_a_refusal_after_one_request(step: Step) -> None:
    with StubServer([step]) as server:
        with pytest.raises(ModelRefused) as caught:
            ask(RetryingModel(adapter(server), QUICK), FULL)
        assert len(server.chats) == 1
    assert not isinstance(caught.value, ContextTooLong)


def test_a_filter_report_that_found_nothing_changes_nothing() -> None:
    choice = {"message": {"content": "ok"}, "content_filter_results": HARMLESS}
    report = [{"prompt_index": 0, "content_filter_results": HARMLESS}]
    body = {"choices": [choice], "prompt_filter_results": report}
    with StubServer([Step(body=body)]) as server:
        assert ask(adapter(server)).text == "ok"


TOO_LONG: list[Step] = [
    Step(status=413, message="Payload Too Large"),
    *(
        Step(status=status, body={"error": error})
        for status, error in [
            (
                400,
                {
                    "message": "This model's maximum context length is 8192 tokens. However, your "
                    "messages resulted in 9001 tokens.",
                    "code": "context_length_exceeded",
                },
            ),
            (400, {"message": "no", "code": "context_length_exceeded"}),
            (
                400,
                {
                    "message": "The decoder prompt (length 5000) is longer than the maximum model "
                    "length of 4096."
                },
            ),
            (
                400,
                {
                    "message": "the request exceeds the available context size",
                    "type": "exceed_context_size_error",
                    "n_ctx": 4096,
                },
            ),
            (500, "input length exceeds the context length"),
            (
                400,
                {
                    "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for "
                    "model with 32768 maximum context length"
                },
            ),
            (400, {"message": "prompt is too long: 208310 tokens > 200000 maximum"}),
            (
                400,
                {
                    "message": "input length and `max_tokens` exceed context limit: 190000 + 20000 "
                    "> 200000"
                },
            ),
            (
                400,
                {
                    "message": "The input token count (1200000) exceeds the maximum number of "
                    "tokens allowed (1048575)."
                },
            ),
            (422, {"message": "Input is too long for requested model."}),
            (429, {"message": "Request too large for gpt-x on tokens per min (TPM): Limit 6000"}),
        ]
    ),
]


@pytest.mark.parametrize("step", TOO_LONG)
def test_every_wording_of_an_overflow_is_told_after_one_request(step: Step) -> None:
    with StubServer([step]) as server:
        with pytest.raises(ContextTooLong) as caught:
            ask(RetryingModel(adapter(server), QUICK), FULL)
        assert len(server.chats) == 1
    assert caught.value.status == step.status


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "max_tokens is too large: 8192. This model supports at most 4096 tokens"),
        (400, "'max_tokens' is too large: 8192. This model's maximum context length is 4096"),
        (429, "Rate limit reached: the tokens requested exceed the limit of a minute"),
        (400, "Invalid value for 'messages'"),
    ],
)
def test_what_a_shorter_prompt_would_not_help_is_no_overflow(status: int, message: str) -> None:
    server = StubServer([Step(status=status, message=message, times=None)])
    with server, pytest.raises(ModelError) as caught:
        ask(adapter(server), FULL)
    assert not isinstance(caught.value, ContextTooLong)


def units(count: int) -> EvidenceSet:
    return number(
        [EvidenceText(text=f"Harbour {n} opened in {1900 + n}.") for n in range(1, count + 1)]
    )


def shown(request: Recorded) -> list[str]:
    """Ids of the units that a request holds."""
    return [f"E{n}" for n in range(1, 99) if f"\n[E{n}] " in request.prompt]


def window(most: int, answer: Callable[[list[str]], str]) -> Callable[[Recorded], Step | str]:
    """An endpoint that reads at most so many units, and answers by what it was shown."""

    def answered(request: Recorded) -> Step | str:
        ids = shown(request)
        if len(ids) > most:
            body = {"error": {"message": "no", "type": "exceed_context_size_error"}}
            return Step(status=400, body=body)
        return answer(ids)

    return answered


def generate(server: StubServer, evidence: EvidenceSet, **options: Any) -> Generation:
    generator = LLMGenerator(RetryingModel(adapter(server), QUICK), **options)

    async def run() -> Generation:
        return await generator.generate("When did it open?", evidence, mode=Mode.STRICT)

    return anyio.run(run)


class TestOverflow:
    """Field case 124: only this question is asked in groups, and no unit is cut."""

    def test_one_group_answers_with_the_ids_as_they_were(self) -> None:
        def answer(ids: list[str]) -> str:
            return answer_json("In 1907.", ["E7"]) if "E7" in ids else ABSTAIN

        with StubServer(answer=window(2, answer)) as server:
            made = generate(server, units(8))
            asked = [shown(item) for item in server.chats]
        assert json.loads(made.reply)["evidence_ids"] == ["E7"]
        assert [ids for ids in asked if len(ids) <= 2] == [
            ["E1", "E2"],
            ["E3", "E4"],
            ["E5", "E6"],
            ["E7", "E8"],
        ]
        assert made.usage.calls == len(asked) == 7
        assert made.usage.prompt_tokens == 4 * 11
        assert "E1 to E2; E3 to E4; E5 to E6; E7 to E8" in made.notes[0]
        assert "only the group E7 to E8" in made.notes[1]
        assert len(made.attempts) == 4

    def test_no_group_answers(self) -> None:
        with StubServer(answer=window(3, lambda _ids: ABSTAIN)) as server:
            made = generate(server, units(6))
        assert made.reply == ABSTAIN
        assert "no group" in made.notes[1]

    def test_several_groups_answer_and_their_units_are_asked_about_together(self) -> None:
        def answer(ids: list[str]) -> str:
            chosen = [one for one in ids if one in ("E2", "E5")]
            return answer_json(f"From {chosen}.", chosen) if chosen else ABSTAIN

        with StubServer(answer=window(3, answer)) as server:
            made = generate(server, units(6))
            asked = [shown(item) for item in server.chats]
        assert asked[-1] == ["E2", "E5"]
        assert json.loads(made.reply)["evidence_ids"] == ["E2", "E5"]
        assert "E2, E5" in made.notes[1]
        assert made.usage.calls == len(asked) == 4

    def test_cited_units_that_do_not_fit_together_leave_it_unmeasured(self) -> None:
        with StubServer(answer=window(1, lambda ids: answer_json("Yes.", ids))) as server:
            with pytest.raises(ContextTooLong, match=r"E1, E2.*do not fit together") as caught:
                generate(server, units(2))
            assert caught.value.usage is not None
            assert caught.value.usage.calls == len(server.chats) == 4

    def test_a_unit_too_long_alone_is_named(self) -> None:
        with StubServer(answer=window(0, lambda _ids: ABSTAIN)) as server:
            with pytest.raises(ContextTooLong, match="unit `E1` alone is too long") as caught:
                generate(server, units(4))
            assert caught.value.usage is not None
            assert caught.value.usage.calls == len(server.chats) == 3

    def test_an_unreadable_group_is_not_outvoted(self) -> None:
        """What it would have said is not known, so the whole cannot be read either."""

        def answer(ids: list[str]) -> str:
            return "Well." if "E1" in ids else answer_json("Yes.", ["E3"])

        with StubServer(answer=window(2, answer)) as server:
            made = generate(server, units(4))
        assert made.reply == "Well."
        assert "cannot be read" in made.notes[1]

    def test_a_known_window_saves_the_requests_that_cannot_fit(self) -> None:
        evidence = number([EvidenceText(text=f"word{n} " * 300) for n in range(4)])
        with StubServer(answer=lambda _r: ABSTAIN) as server:
            generate(server, evidence, context_window=1300)
            assert [shown(item) for item in server.chats] == [["E1", "E2"], ["E3", "E4"]]

    def test_the_other_rows_are_asked_in_one_piece(self) -> None:
        with StubServer(answer=window(3, lambda _ids: ABSTAIN)) as server:
            generate(server, units(6))
            before = len(server.chats)
            assert generate(server, units(3)).notes == ()
            assert len(server.chats) == before + 1


class TestCutPrompt:
    """An endpoint that reads less than it was sent, and answers all the same."""

    LONG = number([EvidenceText(text=f"Harbour{n} " * 500) for n in range(12)])

    def test_it_is_never_an_answer(self) -> None:
        usage = {"prompt_tokens": 2048, "completion_tokens": 9}
        step = Step(text=answer_json("Yes.", ["E1"]), usage=usage, times=None)
        with StubServer([step]) as server:
            with pytest.raises(ModelBadReply, match=r"2048 of at least 6.*num_ctx") as caught:
                generate(server, self.LONG)
            assert len(server.chats) == 1
        assert caught.value.usage == Usage(prompt_tokens=2048, completion_tokens=9, calls=1)

    @pytest.mark.parametrize("tokens", [None, 0, 11, 9000])
    def test_a_count_that_says_nothing_or_enough_is_no_cut(self, tokens: int | None) -> None:
        usage = {"prompt_tokens": tokens, "completion_tokens": 9}
        with StubServer([Step(text=answer_json("Yes.", ["E1"]), usage=usage)]) as server:
            assert generate(server, self.LONG).notes == ()


def test_a_cut_answer_is_unmeasured_after_one_retry_with_more_room() -> None:
    """Field case 7, also where the piece that is left could be read."""
    for text in (answer_json("Tea.", ["E1"])[:-1], answer_json("Tea.", ["E1"])[:30]):
        with StubServer([Step(text=text, finish_reason="length", times=None)]) as server:
            with pytest.raises(ModelBadReply, match="cut at the limit") as caught:
                generate(server, units(2), max_output_tokens=16)
            assert [item.body["max_tokens"] for item in server.chats] == [16, 8192]
        assert caught.value.usage is not None
        assert caught.value.usage.calls == 2


def test_an_answer_that_ends_before_the_cut_is_whole() -> None:
    """As from a server that goes on with white space."""
    text = answer_json("Tea.", ["E1"]) + "\n" * 50
    with StubServer([Step(text=text, finish_reason="length", times=None)]) as server:
        assert generate(server, units(2)).reply == text


class Azure(BaseHTTPRequestHandler):
    """Writes down how it was asked, and answers."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))  # type: ignore[attr-defined]
        answer: dict[str, Any] = {"choices": [{"message": {"content": "ok"}}], "model": "gpt-x"}
        if "/embeddings" in self.path:
            answer = {"data": [{"index": 0, "embedding": [3.0, 4.0]}]}
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def azure() -> Iterator[tuple[str, list[tuple[str, dict[str, str], Any]]]]:
    with HTTPServer(("127.0.0.1", 0), Azure) as server:
        asked: list[tuple[str, dict[str, str], Any]] = []
        server.asked = asked  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


class TestAzure:
    """An API version makes requests go out as Azure wants them."""

    @pytest.mark.parametrize(
        ("suffix", "path"),
        [
            ("", "/openai/deployments/my-judge/chat/completions"),
            ("/", "/openai/deployments/my-judge/chat/completions"),
            ("/openai", "/openai/deployments/my-judge/chat/completions"),
            ("/openai/deployments/fixed", "/openai/deployments/fixed/chat/completions"),
            ("/openai/v1", "/openai/v1/chat/completions"),
            ("/openai/v1/", "/openai/v1/chat/completions"),
        ],
    )
    def test_path_query_and_header(self, suffix: str, path: str) -> None:
        with azure() as (url, asked):
            model = OpenAIChatModel(
                "my-judge", api_key="k-123", base_url=url + suffix, api_version="2026-01-01"
            )
            reply = ask(model, FULL)
            ((sent, headers, body),) = asked
        assert urlsplit(sent).path == path
        assert parse_qs(urlsplit(sent).query) == {"api-version": ["2026-01-01"]}
        assert {name.lower(): value for name, value in headers.items()}["api-key"] == "k-123"
        assert body["max_completion_tokens"] == 8192
        assert (reply.text, reply.model, reply.structured) == ("ok", "gpt-x", "json_schema")
        assert model.identity.provider == "azure"
        assert ("api_version", "2026-01-01") in model.identity.parameters

    def test_embeddings_too(self) -> None:
        with azure() as (url, asked):
            embedder = OpenAIEmbedder("emb", api_key="k", base_url=url, api_version="v")
            assert embedder.embed(["a"]).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
            path = urlsplit(asked[0][0]).path
        assert path == "/openai/deployments/emb/embeddings"

    def test_a_version_without_a_url_and_a_name_that_is_no_deployment(self) -> None:
        with pytest.raises(ConfigError, match="`OPENAI_API_VERSION`"):
            OpenAIChatModel("m", api_key="k", api_version="v")
        with pytest.raises(ConfigError, match="deployment"):
            OpenAIChatModel("a/b?c", api_key="k", base_url="http://localhost", api_version="v")

    def test_the_url_of_the_resource_tells_two_caches_apart(self) -> None:
        one = OpenAIChatModel("m", base_url="http://localhost/v1").identity
        other = OpenAIChatModel(
            "m", base_url="http://localhost/v1", parameters={"seed": 1}
        ).identity
        assert one != other
        assert one.provider == "openai"


class TestLimits:
    """Field cases 154, 155 and 157."""

    def test_retry_after_is_honoured_once_by_all_and_a_dead_row_stays_alone(self) -> None:
        """One row gets 429 with `Retry-After` twice and then its reply, one always times out."""
        wait = 0.4
        busy = Step(status=429, headers={"Retry-After": str(wait)}, times=2)
        rules = [
            Rule(contains="busy", steps=[busy, Step(text="late")]),
            Rule(contains="dead", steps=[Step(text="x", delay=30.0, times=None)]),
        ]
        with StubServer(rules=rules, answer=lambda _r: "ok") as server:
            limiter = AdaptiveLimiter(4)
            inner = OpenAIChatModel("stub", base_url=server.base_url, timeout_s=2.0)
            policy = RetryPolicy(max_retries=2, first_wait_s=0.01, jitter_s=0.0)
            model = RetryingModel(LimitedModel(inner, limiter), policy)
            prompts = [Prompt(system="", user=text) for text in ("busy", "dead", "a", "b")]
            outcomes = ask_at_once(model, prompts)
            times = [item.at for item in server.chats if "busy" in item.prompt]
        late, dead, *rest = outcomes
        assert isinstance(late, Reply)
        assert (late.text, late.usage.calls) == ("late", 3)
        assert isinstance(dead, ModelUnavailable)
        assert [reply.text for reply in rest if isinstance(reply, Reply)] == ["ok", "ok"]
        assert all(after - before >= wait for before, after in pairwise(times))
        assert limiter.stats.pauses == 2
        assert limiter.stats.lowest < 4

    @pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 413, 422])
    def test_what_cannot_succeed_is_not_tried_again(self, status: int) -> None:
        with StubServer([Step(status=status, times=None)]) as server:
            with pytest.raises(ModelRefused):
                ask(RetryingModel(adapter(server), QUICK))
            assert len(server.chats) == 1

    @pytest.mark.parametrize(
        "step",
        [
            *(Step(status=status) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)),
            Step(hang_up=True),
            Step(text="x", delay=30.0),
        ],
    )
    def test_what_may_pass_is_tried_again(self, step: Step) -> None:
        with StubServer([step, "ok"]) as server:
            model = OpenAIChatModel("stub", base_url=server.base_url, timeout_s=0.5)
            reply = ask(RetryingModel(model, QUICK))
            assert (reply.text, reply.usage.calls, len(server.chats)) == ("ok", 2, 2)

    def test_a_reply_that_cannot_be_read_gets_one_repair(self) -> None:
        with StubServer([Step(text="no JSON", times=None)]) as server:
            made = generate(server, units(2))
            assert len(server.chats) == 2
        assert made.usage.calls == 2
        assert all(item.problem for item in made.attempts)

    def test_an_error_of_one_row_does_not_stick_to_the_next(self) -> None:
        """Field case 154."""
        steps = ["a", Step(status=400, message="bad"), "c", Step(hang_up=True), "e"]
        with StubServer(steps) as server:
            model = LimitedModel(adapter(server), AdaptiveLimiter(2))

            async def run() -> list[str]:
                said = []
                for _ in range(5):
                    try:
                        said.append((await model.complete(PLAIN)).text)
                    except ModelError as error:
                        said.append(type(error).__name__)
                return said

            assert anyio.run(run) == ["a", "ModelRefused", "c", "ModelUnavailable", "e"]
