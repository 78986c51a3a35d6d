"""`@trace`: the caller sees its function as it was, and the trace is in the store."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from aletheia.config import Settings, settings
from aletheia.errors import UsageError
from aletheia.pipeline.stored import store_for
from aletheia.schema.stored import StoredTrace
from aletheia.sdk import log as logging_calls
from aletheia.sdk import trace as tracing
from aletheia.sdk.trace import Tracer, TraceReturn, trace

QUERY = "When did the mill open?"
CONTEXT = ["The mill opened in 1911."]
ANSWER = "In 1911."


@pytest.fixture(autouse=True)
def _told_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test was warned of is news to the next."""
    tracing._WARNINGS.forget()
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def kept() -> list[StoredTrace]:
    """What is in the store of the test."""
    return list(store_for(settings.current()).traces())


def only() -> StoredTrace:
    (found,) = kept()
    return found


def texts(found: StoredTrace) -> tuple[str | None, list[str], str]:
    return found.query, [chunk.text for chunk in found.chunks], found.response


# --- kinds of functions -----------------------------------------------------------------------


@trace
def plain(query: str, k: int = 3) -> tuple[str, list[str]]:
    """Answer a query."""
    return ANSWER, CONTEXT


@trace
def returning(query: str) -> TraceReturn:
    return TraceReturn(response=ANSWER, context=CONTEXT)


@trace
async def asynchronous(query: str) -> tuple[str, list[str]]:
    await anyio.lowlevel.checkpoint()
    return ANSWER, CONTEXT


class Service:
    """Every kind of method, decorated on either side."""

    @trace
    def method(self, query: str) -> tuple[str, list[str]]:
        return ANSWER, CONTEXT

    @classmethod
    @trace
    def inside_class(cls, query: str) -> tuple[str, list[str]]:
        return ANSWER, CONTEXT

    @trace
    @classmethod
    def outside_class(cls, query: str) -> tuple[str, list[str]]:
        assert cls is Service
        return ANSWER, CONTEXT

    @trace
    @staticmethod
    def static(query: str) -> tuple[str, list[str]]:
        return ANSWER, CONTEXT

    @trace
    async def amethod(self, query: str) -> tuple[str, list[str]]:
        return ANSWER, CONTEXT

    def __call__(self, query: str) -> tuple[str, list[str]]:
        return ANSWER, CONTEXT


class AsyncService:
    async def __call__(self, query: str) -> tuple[str, list[str]]:
        return ANSWER, CONTEXT


@trace
def handing_on(query: str) -> Any:
    """A plain function that makes a coroutine."""

    async def inner() -> tuple[str, list[str]]:
        return ANSWER, CONTEXT

    return inner()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "plain": plain,
    "returning": returning,
    "asynchronous": asynchronous,
    "method": Service().method,
    "inside_class": Service.inside_class,
    "outside_class": Service.outside_class,  # type: ignore[dict-item]
    "static": Service.static,
    "amethod": Service().amethod,
    "callable object": trace(Service()),
    "async callable object": trace(AsyncService()),
    "partial": trace(functools.partial(lambda _n, query: (ANSWER, CONTEXT), 1)),
    "handing on": handing_on,
}


def called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of any kind."""
    made = function(*args, **kwargs)
    if not inspect.isawaitable(made):
        return made

    async def wait() -> Any:
        return await made

    return asyncio.run(wait())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_caller_gets_the_response_and_the_store_the_trace(name: str) -> None:
    assert called(FUNCTIONS[name], query=QUERY) == ANSWER

    assert texts(only()) == (QUERY, CONTEXT, ANSWER)
    assert only().source == "trace"


def test_the_function_keeps_its_name_its_signature_and_its_kind() -> None:
    """Frameworks look at all of them."""
    assert (plain.__name__, plain.__doc__) == ("plain", "Answer a query.")  # type: ignore[attr-defined]
    assert list(inspect.signature(plain).parameters) == ["query", "k"]
    assert inspect.iscoroutinefunction(asynchronous)
    assert inspect.isgeneratorfunction(pieces)
    assert inspect.isasyncgenfunction(apieces)
    assert not inspect.iscoroutinefunction(plain)


@pytest.mark.parametrize("function", [plain, asynchronous])
def test_what_the_function_raises_passes_untouched(function: Callable[..., Any]) -> None:
    class Own(Exception):
        pass

    error = Own("mine")

    @trace
    def failing(query: str) -> tuple[str, list[str]]:
        raise error

    @trace
    async def afailing(query: str) -> tuple[str, list[str]]:
        raise error

    chosen = afailing if inspect.iscoroutinefunction(function) else failing
    with pytest.raises(Own) as caught:
        called(chosen, QUERY)
    assert caught.value is error
    assert kept() == []


# --- generators -------------------------------------------------------------------------------


@trace
def pieces(query: str) -> Iterator[Any]:
    yield "In "
    yield "1911."
    yield TraceReturn(context=CONTEXT)


@trace
async def apieces(query: str) -> AsyncIterator[Any]:
    yield "In "
    yield "1911."
    yield TraceReturn(context=CONTEXT)


@trace
def ending(query: str) -> Any:
    """A generator that returns what a function would."""
    yield "In "
    yield "1911."
    return ANSWER, CONTEXT


@trace
def handing_on_pieces(query: str) -> Any:
    return pieces.__wrapped__(query)  # type: ignore[attr-defined]


@trace
def handing_on_apieces(query: str) -> Any:
    return apieces.__wrapped__(query)  # type: ignore[attr-defined]


def drained(made: Any) -> list[Any]:
    if inspect.isgenerator(made):
        return list(made)

    async def read() -> list[Any]:
        return [item async for item in made]

    return asyncio.run(read())


@pytest.mark.parametrize(
    "function", [pieces, apieces, ending, handing_on_pieces, handing_on_apieces]
)
def test_a_stream_is_joined_and_its_last_word_is_not_handed_on(
    function: Callable[..., Any],
) -> None:
    assert drained(function(QUERY)) == ["In ", "1911."]

    assert texts(only()) == (QUERY, CONTEXT, ANSWER)


def test_a_generator_returns_the_response_alone() -> None:
    def outer() -> Iterator[Any]:
        found.append((yield from ending(QUERY)))

    found: list[Any] = []
    list(outer())

    assert found == [ANSWER]


def test_what_is_sent_and_thrown_reaches_the_generator() -> None:
    seen: list[Any] = []

    @trace
    def talking(query: str) -> Any:
        seen.append((yield "a"))
        try:
            yield "b"
        except KeyError as error:
            seen.append(error)
        yield "c"
        yield TraceReturn(context=CONTEXT)

    stream, error = talking(QUERY), KeyError("k")
    assert [next(stream), stream.send(7), stream.throw(error)] == ["a", "b", "c"]
    assert list(stream) == []
    assert seen == [7, error]
    assert only().response == "abc"


def test_what_is_sent_and_thrown_reaches_the_asynchronous_generator() -> None:
    seen: list[Any] = []

    @trace
    async def talking(query: str) -> Any:
        seen.append((yield "a"))
        try:
            yield "b"
        except KeyError as error:
            seen.append(error)
        yield TraceReturn(context=CONTEXT)

    async def use() -> None:
        stream, error = talking(QUERY), KeyError("k")
        assert [await anext(stream), await stream.asend(7)] == ["a", "b"]
        with pytest.raises(StopAsyncIteration):
            await stream.athrow(error)
        assert seen == [7, error]

    asyncio.run(use())
    assert only().response == "ab"


@pytest.mark.parametrize("function", [pieces, apieces])
def test_a_stream_that_is_not_read_to_its_end_is_closed_and_not_logged(
    function: Callable[..., Any],
) -> None:
    closed = []

    @trace
    def watched(query: str) -> Any:
        try:
            yield "In "
            yield "1911."
        finally:
            closed.append(True)

    @trace
    async def awatched(query: str) -> Any:
        try:
            yield "In "
            yield "1911."
        finally:
            await anyio.lowlevel.checkpoint()
            closed.append(True)

    async def begin() -> None:
        stream = awatched(QUERY)
        await anext(stream)
        await stream.aclose()

    if function is apieces:
        asyncio.run(begin())
    else:
        stream = watched(QUERY)
        next(stream)
        stream.close()
    assert (closed, kept()) == ([True], [])


def test_an_error_in_the_middle_of_a_stream_passes_and_nothing_is_logged() -> None:
    @trace
    def breaking(query: str) -> Iterator[Any]:
        yield "In "
        raise OSError("cut")

    stream = breaking(QUERY)
    next(stream)
    with pytest.raises(OSError, match="cut"):
        next(stream)
    assert kept() == []


# --- what is no trace -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "given", "said"),
    [
        ("only text", "only text", "it is a `str`"),
        (None, None, "it is a `NoneType`"),
        (("a", "b", "c"), ("a", "b", "c"), "it is a `tuple`"),
        (("text", 42), ("text", 42), "the second of its pair is a `int`"),
        (("text", {"text": "x"}), ("text", {"text": "x"}), "the second of its pair is a `dict`"),
        ((7, CONTEXT), (7, CONTEXT), "it is a `tuple`"),
        (("text", None), "text", "its context is `None`"),
        (("text", [{"body": "x"}]), "text", "field `context[0]`"),
        (("text", [7]), "text", "field `context[0]`"),
        (TraceReturn(context=CONTEXT), None, "its response is a `NoneType`"),
        (TraceReturn(response="text", context=None), "text", "its context is `None`"),
    ],
)
def test_what_cannot_be_logged_is_told_and_costs_the_caller_nothing(
    caplog: pytest.LogCaptureFixture, returned: object, given: object, said: str
) -> None:
    @trace
    def odd(query: str) -> Any:
        return returned

    assert odd(QUERY) == given
    assert kept() == []
    assert said in caplog.text
    assert "test_trace" not in caplog.text or "odd" in caplog.text


def test_a_stream_without_a_context_is_told(caplog: pytest.LogCaptureFixture) -> None:
    @trace
    def bare(query: str) -> Iterator[str]:
        yield "In 1911."

    assert list(bare(QUERY)) == ["In 1911."]
    assert "it yielded no `TraceReturn`" in caplog.text


def test_a_problem_is_told_once_for_each_kind_and_function(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @trace
    def odd(query: str) -> Any:
        return query

    @trace
    def odder(query: str) -> Any:
        return query

    for _ in range(3):
        odd(QUERY)
        odder(QUERY)
    assert len(caplog.records) == 2


def test_silent_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    @trace(on_error="silent")
    def odd(query: str) -> Any:
        return query

    assert odd(QUERY) == QUERY
    assert caplog.records == []


def test_a_store_that_cannot_be_used_is_told_once_and_loses_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Settings(db_path=tmp_path / "none" / "a.db")
    odd = trace(settings=broken)(plain.__wrapped__)  # type: ignore[attr-defined]
    aodd = trace(settings=broken)(asynchronous.__wrapped__)  # type: ignore[attr-defined]

    assert [odd(QUERY), odd(QUERY), called(aodd, QUERY)] == [ANSWER] * 3
    assert len(caplog.records) == 2
    assert "there is no directory" in caplog.text


def test_a_budget_never_loses_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    """And nothing is kept of what may not be evaluated."""
    costly = Settings(openai_api_key="k", per_trace_budget_usd=0.0)
    odd = trace(settings=costly)(plain.__wrapped__)  # type: ignore[attr-defined]

    assert odd(QUERY) == ANSWER
    assert "the budget of this trace is $0" in caplog.text
    assert kept() == []


# --- the query --------------------------------------------------------------------------------


def answered(*_: object, **__: object) -> tuple[str, list[str]]:
    return ANSWER, CONTEXT


def by_name(other: str, question: str) -> Any:
    return answered()


def by_position(n: int, first: str, second: str) -> Any:
    return answered()


def by_keyword(**fields: object) -> Any:
    return answered()


def by_default(query: str = "What is the default?") -> Any:
    return answered()


def by_object(query: dict[str, str], text: str) -> Any:
    return answered()


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "query", "how"),
    [
        (by_name, ("x", QUERY), {}, QUERY, "argument `question`"),
        (by_position, (1, QUERY, "x"), {}, QUERY, "first text, argument `first`"),
        (by_keyword, (), {"n": 1, "question": QUERY}, QUERY, "argument `question`"),
        (by_default, (), {}, "What is the default?", "argument `query`"),
        (by_object, ({"q": "x"}, QUERY), {}, QUERY, "first text, argument `text`"),
        (answered, (1, QUERY), {}, QUERY, "first text, argument `_[1]`"),
        (answered, (1,), {}, None, "no argument is a text"),
    ],
)
def test_the_query_is_found_by_name_or_else_is_the_first_text(
    function: Callable[..., Any], args: Any, kwargs: Any, query: str | None, how: str
) -> None:
    assert trace(function)(*args, **kwargs) == ANSWER
    assert (only().query, only().notes["query_from"]) == (query, how)


def test_a_query_that_is_not_found_is_told(caplog: pytest.LogCaptureFixture) -> None:
    trace(answered)(1)

    assert "only faithfulness is judged" in caplog.text


def test_the_argument_can_be_named_and_what_is_returned_wins() -> None:
    @trace(query_arg="text")
    def named(query: str, text: str) -> Any:
        return answered()

    @trace
    def told(query: str) -> TraceReturn:
        return TraceReturn(response=ANSWER, context=CONTEXT, query="What was meant?")

    named("not this", QUERY)
    told("not this")
    assert [found.query for found in kept()] == [QUERY, "What was meant?"]


def test_an_argument_there_is_not_is_refused_where_it_is_decorated() -> None:
    with pytest.raises(UsageError, match="did you mean `query`"):
        trace(query_arg="querry")(by_default)


@pytest.mark.parametrize("wrong", [7, "text", None])
def test_what_is_no_function_is_refused(wrong: Any) -> None:
    if wrong is None:
        with pytest.raises(UsageError, match="`on_error`"):
            trace(on_error="raise")
    else:
        with pytest.raises(UsageError, match="cannot be traced"):
            trace(wrong)


# --- options ----------------------------------------------------------------------------------


def test_options_reach_the_log() -> None:
    @trace(project="support", redact="mask")
    def private(query: str) -> tuple[str, list[str]]:
        return "Write to jane@example.org.", ["Her address is jane@example.org."]

    assert private(QUERY) == "Write to jane@example.org."
    assert only().project == "support"
    assert texts(only())[1:] == (["Her address is [EMAIL-1]."], "Write to [EMAIL-1].")


def test_a_redaction_that_fails_keeps_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(text: str) -> str:
        raise ValueError(text)

    assert trace(redact=broken)(by_default)(QUERY) == ANSWER
    assert kept() == []
    assert "failed with ValueError" in caplog.text
    assert QUERY not in caplog.text


@pytest.mark.parametrize("function", [plain, asynchronous])
def test_in_sync_it_is_evaluated_when_the_function_returns(function: Callable[..., Any]) -> None:
    now = trace(sync=True)(function.__wrapped__)  # type: ignore[attr-defined]

    assert called(now, QUERY) == ANSWER
    assert only().result is not None


def test_what_is_traced_is_evaluated_in_the_background() -> None:
    plain(QUERY)
    assert logging_calls.flush(60)

    found = only()
    assert found.status == "evaluated"
    assert found.result is not None
    assert found.result.trace_id == found.id


def test_a_tracer_is_a_value() -> None:
    assert trace() == Tracer()
    assert trace(project="a") == Tracer(project="a")
    assert logging.getLogger("aletheia.sdk.trace").level == logging.NOTSET
