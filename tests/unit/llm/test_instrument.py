"""A client of one's own is counted, and goes on as if nobody watched."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import openai
import pydantic
import pytest
from stub_server import Fault, Step, StubServer

from aletheia.errors import UsageError
from aletheia.llm.instrument import PURPOSE, instrument, uninstrument
from aletheia.llm.pricing import Pricer
from aletheia.llm.tracking import CostScope, get_tracker
from aletheia.schema.cost import Cost

MODEL = "gpt-4o-mini"
ASK: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
USD = 5.85e-6
"""What the stub's 11 prompt and 7 completion tokens cost."""


@dataclass(frozen=True)
class Own:
    """Prices of one's own."""

    price_input_usd: float | None = 1e6
    price_output_usd: float | None = 1e6


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer([Step(text="x", times=None)]) as running:
        yield running


def client_of(server: StubServer, **options: Any) -> openai.OpenAI:
    given = {"api_key": "k", "base_url": server.base_url, "max_retries": 0, **options}
    return instrument(openai.OpenAI(**given))


def async_client_of(server: StubServer) -> openai.AsyncOpenAI:
    return instrument(openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0))


def parts(*, usage: bool) -> Step:
    """A stream of three parts, the last with the usage where it was asked for."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
        for text in ("Tea", " and salt")
    ]
    if usage:
        said = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        chunks.append({"choices": [], "usage": said})
    head = {"id": "s", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    lines = [f"data: {json.dumps({**head, **chunk})}\n\n" for chunk in chunks]
    return Step(
        raw="".join([*lines, "data: [DONE]\n\n"]), headers={"Content-Type": "text/event-stream"}
    )


def one(**values: Any) -> Cost:
    """The cost of one call."""
    return Cost(**{"calls": 1, "requests": 1, **values})


COUNTED = one(prompt_tokens=11, completion_tokens=7, usd=USD)
UNREPORTED = one(unreported=1, unpriced=1, usd=None)


def test_a_call_is_counted_with_its_price(server: StubServer) -> None:
    get_tracker().reset()
    with client_of(server) as client, CostScope() as scope:
        reply = client.chat.completions.create(**ASK)
    assert type(reply).__name__ == "ChatCompletion"
    assert reply.choices[0].message.content == "x"
    assert scope.cost == COUNTED
    assert get_tracker().cost == COUNTED
    assert list(scope.by_purpose()) == [PURPOSE]
    assert list(scope.by_model()) == [MODEL]


def test_an_async_client_in_tasks(server: StubServer) -> None:
    async def work() -> tuple[CostScope, list[CostScope]]:
        inner: list[CostScope] = []

        async def ask(client: openai.AsyncOpenAI, times: int) -> None:
            async with CostScope() as scope:
                for _ in range(times):
                    await client.chat.completions.create(**ASK)
            inner.append(scope)

        async with (
            async_client_of(server) as client,
            CostScope() as outer,
            anyio.create_task_group() as group,
        ):
            for times in range(4):
                group.start_soon(ask, client, times)
        return outer, inner

    outer, inner = anyio.run(work)
    assert sorted(scope.calls for scope in inner) == [0, 1, 2, 3]
    assert outer.calls == 6
    assert outer.usd == pytest.approx(6 * USD)


def test_twice_is_once_and_it_can_be_taken_back(server: StubServer) -> None:
    with client_of(server) as client, CostScope() as scope:
        assert instrument(instrument(client)) is client
        client.chat.completions.create(**ASK)
        assert scope.calls == 1
        assert uninstrument(uninstrument(client)) is client
        client.chat.completions.create(**ASK)
        assert "create" not in vars(client.chat.completions)
    assert scope.calls == 1


def test_only_this_one_client_is_touched(server: StubServer) -> None:
    options: dict[str, Any] = {"api_key": "k", "base_url": server.base_url}
    with client_of(server), openai.OpenAI(**options) as other, CostScope() as scope:
        other.chat.completions.create(**ASK)
    assert scope.calls == 0


def test_a_wrapper_that_was_there_before_stays(server: StubServer) -> None:
    seen: list[str] = []
    client = openai.OpenAI(api_key="k", base_url=server.base_url)
    plain = client.chat.completions.create

    def theirs(**options: Any) -> Any:
        seen.append(options["model"])
        return plain(**options)

    client.chat.completions.create = theirs  # type: ignore[method-assign,assignment]
    with client, CostScope() as scope:
        instrument(client).chat.completions.create(**ASK)
        uninstrument(client).chat.completions.create(**ASK)
        assert client.chat.completions.create is theirs
    assert (seen, scope.calls) == ([MODEL, MODEL], 1)


@pytest.mark.parametrize("thing", [object(), None, "client"])
def test_what_is_no_client_is_an_error(thing: object) -> None:
    with pytest.raises(UsageError, match="no method to count"):
        instrument(thing)


class TestOtherMethods:
    """Not only chat completions."""

    def test_parse(self) -> None:
        class Answer(pydantic.BaseModel):
            text: str

        with (
            StubServer(['{"text": "tea"}']) as server,
            client_of(server) as client,
            CostScope() as scope,
        ):
            reply = client.chat.completions.parse(response_format=Answer, **ASK)
        assert reply.choices[0].message.parsed == Answer(text="tea")
        assert scope.cost == COUNTED

    def test_embeddings(self, server: StubServer) -> None:
        with client_of(server) as client, CostScope() as scope:
            client.embeddings.create(
                model="text-embedding-3-small", input=["a", "b"], encoding_format="float"
            )
        cost = scope.cost
        assert (cost.calls, cost.prompt_tokens, cost.unreported) == (1, 2, 0)
        assert cost.usd == pytest.approx(2 * 0.02 / 1e6)

    def test_responses(self) -> None:
        usage = {
            "input_tokens": 11,
            "input_tokens_details": {"cached_tokens": 11},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 18,
        }
        body = {"id": "r", "object": "response", "model": MODEL, "output": [], "usage": usage}
        fault = Fault(path="/v1/responses", method="POST", steps=[Step(body=body)])
        with (
            StubServer(faults=[fault]) as server,
            client_of(server) as client,
            CostScope() as scope,
        ):
            client.responses.create(model=MODEL, input="hi")
        assert scope.tokens == 18
        assert scope.usd == pytest.approx((11 * 0.075 + 7 * 0.6) / 1e6)

    def test_a_stream_of_responses(self) -> None:
        usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
        done = {"type": "response.completed", "response": {"model": MODEL, "usage": usage}}
        text = {"type": "response.output_text.delta", "delta": "x"}
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in (text, done)]
        step = Step(raw="".join(lines), headers={"Content-Type": "text/event-stream"})
        fault = Fault(path="/v1/responses", method="POST", steps=[step])
        with (
            StubServer(faults=[fault]) as server,
            client_of(server) as client,
            CostScope() as scope,
        ):
            stream = client.responses.create(model=MODEL, input="hi", stream=True)
            assert [event.type for event in stream] == [text["type"], done["type"]]
        assert scope.cost == COUNTED

    def test_azure(self, server: StubServer) -> None:
        """The name of a deployment has no price; the model that the reply names has."""
        body = {
            "id": "a",
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "choices": [],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }
        path = "/openai/deployments/mine/chat/completions"
        fault = Fault(path=path, method="POST", steps=[Step(body=body)])
        with StubServer(faults=[fault]) as server:
            azure = instrument(
                openai.AzureOpenAI(
                    api_key="k",
                    api_version="2024-10-21",
                    azure_endpoint=f"http://127.0.0.1:{server.port}",
                )
            )
            with azure, CostScope() as scope:
                azure.chat.completions.create(**{**ASK, "model": "mine"})
        assert scope.cost == COUNTED
        assert list(scope.by_model()) == ["mine"]

    def test_prices_of_ones_own(self, server: StubServer) -> None:
        client = openai.OpenAI(api_key="k", base_url=server.base_url)
        with instrument(client, pricer=Pricer(Own())), CostScope() as scope:
            client.chat.completions.create(**ASK)
        assert scope.usd == 18.0


class TestStreams:
    """A stream is counted when it ends, with the usage that its last part carries."""

    @pytest.mark.parametrize("usage", [True, False])
    def test_read_to_the_end(self, usage: bool) -> None:
        with StubServer([parts(usage=usage)]) as server, client_of(server) as client:
            with CostScope() as scope:
                stream = client.chat.completions.create(stream=True, **ASK)
                assert isinstance(stream, openai.Stream)
                assert scope.calls == 0
                texts = [c.choices[0].delta.content for c in stream if c.choices]
            assert texts == ["Tea", " and salt"]
        assert scope.cost == (COUNTED if usage else UNREPORTED)

    def test_read_in_two_goes(self) -> None:
        """Who takes a first look and reads on later loses nothing."""
        with (
            StubServer([parts(usage=True)]) as server,
            client_of(server) as client,
            CostScope() as scope,
        ):
            stream = client.chat.completions.create(stream=True, **ASK)
            first = next(stream)
            rest = list(stream)
        assert (first.choices[0].delta.content, len(rest)) == ("Tea", 2)
        assert scope.cost == COUNTED

    def test_closed_early(self) -> None:
        with (
            StubServer([parts(usage=True)]) as server,
            client_of(server) as client,
            CostScope() as scope,
            client.chat.completions.create(stream=True, **ASK) as stream,
        ):
            next(stream)
        assert scope.cost == UNREPORTED

    def test_thrown_away(self) -> None:
        """Even then the call is counted, for the scope in which it was made."""
        with StubServer([parts(usage=True)]) as server, client_of(server) as client:
            with CostScope() as scope:
                stream = client.chat.completions.create(stream=True, **ASK)
            stream.response.close()
            del stream
            gc.collect()
        assert scope.cost == UNREPORTED

    def test_the_helper_that_gathers_events(self) -> None:
        with (
            StubServer([parts(usage=True)]) as server,
            client_of(server) as client,
            CostScope() as scope,
            client.chat.completions.stream(**ASK) as stream,
        ):
            final = stream.get_final_completion()
        assert final.choices[0].message.content == "Tea and salt"
        assert scope.cost == COUNTED

    @pytest.mark.parametrize("usage", [True, False])
    def test_async(self, usage: bool) -> None:
        async def work(server: StubServer) -> CostScope:
            async with async_client_of(server) as client, CostScope() as scope:
                stream = await client.chat.completions.create(stream=True, **ASK)
                assert isinstance(stream, openai.AsyncStream)
                assert len([part async for part in stream]) == (3 if usage else 2)
            return scope

        with StubServer([parts(usage=usage)]) as server:
            scope = anyio.run(work, server)
        assert scope.cost == (COUNTED if usage else UNREPORTED)

    def test_async_closed_early(self) -> None:
        async def work(server: StubServer) -> CostScope:
            async with (
                async_client_of(server) as client,
                CostScope() as scope,
                await client.chat.completions.create(stream=True, **ASK) as stream,
            ):
                await anext(stream)
            return scope

        with StubServer([parts(usage=True)]) as server:
            assert anyio.run(work, server).cost == UNREPORTED

    def test_an_error_in_the_middle(self) -> None:
        raw = 'data: {"error": {"message": "broke"}}\n\n'
        step = Step(raw=raw, headers={"Content-Type": "text/event-stream"})
        with StubServer([step]) as server, client_of(server) as client, CostScope() as scope:
            stream = client.chat.completions.create(stream=True, **ASK)
            with pytest.raises(openai.APIError, match="broke"):
                list(stream)
        assert scope.cost == UNREPORTED.model_copy(update={"failed": 1})


class TestRawReplies:
    """`with_raw_response` is counted too; what is not read yet has no usage."""

    def test_raw(self, server: StubServer) -> None:
        client = openai.OpenAI(api_key="k", base_url=server.base_url)
        _ = client.chat.completions.with_raw_response  # asked for before
        with instrument(client), CostScope() as scope:
            raw = client.chat.completions.with_raw_response.create(**ASK)
            assert raw.parse().choices[0].message.content == "x"
            assert scope.cost == COUNTED
            uninstrument(client)
            client.chat.completions.with_raw_response.create(**ASK)
        assert scope.calls == 1

    def test_async_raw(self, server: StubServer) -> None:
        async def work() -> CostScope:
            async with async_client_of(server) as client, CostScope() as scope:
                raw = await client.chat.completions.with_raw_response.create(**ASK)
                assert raw.parse().choices[0].message.content == "x"
            return scope

        assert anyio.run(work).cost == COUNTED

    def test_streamed(self, server: StubServer) -> None:
        with (
            client_of(server) as client,
            CostScope() as scope,
            client.chat.completions.with_streaming_response.create(**ASK) as response,
        ):
            assert response.parse().choices[0].message.content == "x"
        assert scope.cost == UNREPORTED


class TestFailures:
    """An error is counted and comes through untouched."""

    def test_the_endpoint_says_no(self) -> None:
        """It charges nothing for that."""
        with (
            StubServer([Step(status=429)]) as server,
            client_of(server) as client,
            CostScope() as scope,
            pytest.raises(openai.RateLimitError) as caught,
        ):
            client.chat.completions.create(**ASK)
        assert caught.value.status_code == 429
        assert scope.cost == one(failed=1, usd=0.0)

    def test_no_answer(self) -> None:
        with (
            StubServer([Step(hang_up=True)]) as server,
            client_of(server) as client,
            CostScope() as scope,
            pytest.raises(openai.APIConnectionError),
        ):
            client.chat.completions.create(**ASK)
        assert scope.cost == UNREPORTED.model_copy(update={"failed": 1})

    def test_async_cancelled(self) -> None:
        async def work(server: StubServer) -> CostScope:
            async with async_client_of(server) as client, CostScope() as scope:
                with anyio.move_on_after(0.2):
                    await client.chat.completions.create(**ASK)
            return scope

        with StubServer([Step(text="late", delay=30.0)]) as server:
            scope = anyio.run(work, server)
        assert scope.cost == UNREPORTED.model_copy(update={"failed": 1})

    @pytest.mark.parametrize(
        "usage",
        [
            None,
            {},
            {"prompt_tokens": None, "completion_tokens": None},
            {"prompt_tokens": -5, "completion_tokens": 7, "total_tokens": 2},
        ],
    )
    def test_usage_that_is_none_is_unreported(self, usage: dict[str, Any] | None) -> None:
        with (
            StubServer([Step(text="x", usage=usage)]) as server,
            client_of(server) as client,
            CostScope() as scope,
        ):
            client.chat.completions.create(**ASK)
        assert (scope.cost.unreported, scope.unpriced, scope.usd) == (1, 1, None)

    def test_a_fault_in_counting_is_logged_and_the_call_goes_on(
        self, server: StubServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken(Pricer):
            def price(self, *_args: Any, **_options: Any) -> Any:
                raise RuntimeError("no prices today")

        client = openai.OpenAI(api_key="k", base_url=server.base_url)
        with instrument(client, pricer=Broken()), caplog.at_level(logging.WARNING):
            assert client.chat.completions.create(**ASK).choices[0].message.content == "x"
        assert "could not be counted" in caplog.text
        assert "no prices today" in caplog.text
