"""Count the calls of a client that is the user's own.

A client of `openai` is wrapped method by method, on that one object; no class is touched and
`openai` is not imported. Whatever goes wrong in counting is logged, and the call goes on.
"""

from __future__ import annotations

import inspect
import json
import logging
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar

from aletheia.errors import UsageError
from aletheia.llm.base import requests_only
from aletheia.llm.ledger import CallRecord
from aletheia.llm.pricing import Pricer
from aletheia.llm.tracking import record_call
from aletheia.schema.model import Usage

__all__ = ["PURPOSE", "instrument", "uninstrument"]

Client = TypeVar("Client")

PURPOSE: Final = "application"
"""Purpose of the calls that are counted here."""

_METHODS: Final = (
    ("chat.completions", "create"),
    ("chat.completions", "parse"),
    ("responses", "create"),
    ("responses", "parse"),
    ("embeddings", "create"),
)
_BOUND_EARLY: Final = ("with_raw_response", "with_streaming_response")
"""Views of a resource that keep the methods they found when they were first asked for."""

_MARK: Final = "aletheia_original"
_log = logging.getLogger(__name__)


def instrument(client: Client, *, pricer: Pricer | None = None) -> Client:
    """Count each call that `client` makes from now on, and return `client`.

    `client` is an `OpenAI`, `AsyncOpenAI` or Azure client. Counted are `chat.completions`,
    `responses` and `embeddings`, into the open scopes and the process tracker, under the purpose
    `application`. Doing it twice changes nothing. A client made from it by `with_options` or
    `copy` is another one. Raises `UsageError` for an object that has none of these methods.
    """
    found = list(_methods(client))
    if not found:
        raise UsageError(
            f"a `{type(client).__name__}` has no method to count calls of",
            hint="give a client of the `openai` package",
        )
    site = _Site(base_url=_url(client), pricer=pricer or Pricer())
    for resource, name in found:
        method = getattr(resource, name)
        if not hasattr(method, _MARK):
            setattr(resource, name, _counted(method, site))
            _forget_views(resource)
    return client


def uninstrument(client: Client) -> Client:
    """Take back what `instrument` did, and return `client`."""
    for resource, name in _methods(client):
        original = getattr(getattr(resource, name), _MARK, None)
        if original is None:
            continue
        delattr(resource, name)
        if getattr(resource, name) != original:
            setattr(resource, name, original)  # somebody else's wrapper was there before
        _forget_views(resource)
    return client


def _methods(client: object) -> Iterator[tuple[Any, str]]:
    for path, name in _METHODS:
        resource: Any = client
        for part in path.split("."):
            resource = getattr(resource, part, None)
        if callable(getattr(resource, name, None)):
            yield resource, name


def _forget_views(resource: object) -> None:
    for name in _BOUND_EARLY:
        vars(resource).pop(name, None)


def _url(client: object) -> str | None:
    url = getattr(client, "base_url", None)
    return None if url is None else str(url)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    """What all calls of one client share."""

    base_url: str | None
    pricer: Pricer


@dataclass(slots=True, kw_only=True)
class _Call:
    """One call on its way. It is counted once, in the context in which it was made."""

    site: _Site
    model: str
    started: float
    context: Context = field(default_factory=copy_context)
    usage: Usage = field(default_factory=Usage)
    answered_by: str | None = None
    done: bool = False

    def note(self, body: object) -> None:
        """Take model and usage from a reply or from a part of a stream, as far as they are there."""
        try:
            # Events of `responses` carry the reply inside.
            reply = _get(body, "response") or body
            model = _get(reply, "model")
            self.answered_by = model if isinstance(model, str) else self.answered_by
            self.usage = _usage(reply) or self.usage
        except Exception:  # noqa: BLE001 - counting must never break the call
            _log.warning("a reply of `%s` could not be counted", self.model, exc_info=True)

    def end(self, error: BaseException | None = None) -> None:
        """Count the call, unless that is done."""
        if self.done:
            return
        self.done = True
        try:
            self.context.run(record_call, self._record(error))
        except Exception:  # noqa: BLE001 - counting must never break the call
            _log.warning("a call of `%s` could not be counted", self.model, exc_info=True)

    def _record(self, error: BaseException | None) -> CallRecord:
        usage = self.usage
        if isinstance(getattr(error, "status_code", None), int):
            usage = requests_only(1)  # the endpoint answered with an error: it charges nothing
        price = self.site.pricer.price(
            self.model, self.site.base_url, usage, answered_by=self.answered_by
        )
        return CallRecord(
            model=self.model,
            usage=usage,
            seconds=time.monotonic() - self.started,
            error=None if error is None else type(error).__name__,
            purpose=PURPOSE,
            usd=None if price is None else price.usd,
            base_url=self.site.base_url,
        )


def _counted(method: Callable[..., Any], site: _Site) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the user's own call
        current = _Call(site=site, model=_named(kwargs.get("model")), started=time.monotonic())
        try:
            result = method(*args, **kwargs)
        except BaseException as error:
            current.end(error)
            raise
        return _awaited(result, current) if inspect.isawaitable(result) else _seen(result, current)

    setattr(call, _MARK, method)
    return call


def _named(model: object) -> str:
    return model if isinstance(model, str) else "unknown"


async def _awaited(result: Awaitable[Any], call: _Call) -> Any:  # noqa: ANN401 - the user's own
    try:
        value = await result
    except BaseException as error:
        call.end(error)
        raise
    return _seen(value, call)


def _seen(result: Any, call: _Call) -> Any:  # noqa: ANN401 - the user's own
    """Count a reply, or let a stream count itself; what comes back is `result`."""
    try:
        if hasattr(result, "__next__") or hasattr(result, "__anext__"):
            _follow(result, call)
            return result
        call.note(_body(result))
    except Exception:  # noqa: BLE001 - counting must never break the call
        _log.warning("a reply of `%s` could not be counted", call.model, exc_info=True)
    call.end()
    return result


def _body(result: Any) -> object:  # noqa: ANN401 - a model of `openai`, or a raw reply
    """Return what holds the usage. A reply asked for raw is read beside its own way of reading."""
    raw = getattr(result, "http_response", None)
    if raw is None:
        return result
    # One that is not read yet belongs to the caller; its usage stays unreported.
    return json.loads(raw.content) if raw.is_stream_consumed else None


def _follow(stream: Any, call: _Call) -> None:  # noqa: ANN401 - a stream of `openai`
    """Make a stream count itself: when it ends, is closed, or is thrown away."""
    stream.__class__ = _following(type(stream))  # type: ignore[arg-type]  # a class has a hash
    stream.aletheia_call = call
    weakref.finalize(stream, call.end).atexit = False


@lru_cache(maxsize=16)
def _following(kind: type[Any]) -> type[Any]:
    """Return a subclass of a stream class whose parts are noted on their way.

    It has one base and no slots, so that a stream that exists can become one.
    """
    methods = _async_methods(kind) if hasattr(kind, "__anext__") else _methods_of(kind)
    named = {method.__name__: method for method in methods}
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, **named})


def _methods_of(kind: type[Any]) -> tuple[Callable[..., Any], ...]:
    def __next__(stream: Any) -> Any:  # noqa: ANN401, N807 - a part of the stream
        with _noting(stream.aletheia_call, StopIteration) as call:
            part = kind.__next__(stream)
        call.note(part)
        return part

    def __iter__(stream: Any) -> Iterator[Any]:  # noqa: ANN401, N807
        while True:
            try:
                part = next(stream)
            except StopIteration:
                return
            yield part

    def close(stream: Any) -> None:  # noqa: ANN401
        """Close the stream; what it said so far is counted."""
        kind.close(stream)
        stream.aletheia_call.end()

    return __next__, __iter__, close


def _async_methods(kind: type[Any]) -> tuple[Callable[..., Any], ...]:
    async def __anext__(stream: Any) -> Any:  # noqa: ANN401, N807 - a part of the stream
        with _noting(stream.aletheia_call, StopAsyncIteration) as call:
            part = await kind.__anext__(stream)
        call.note(part)
        return part

    async def __aiter__(stream: Any) -> AsyncIterator[Any]:  # noqa: ANN401, N807
        while True:
            try:
                part = await anext(stream)
            except StopAsyncIteration:
                return
            yield part

    async def close(stream: Any) -> None:  # noqa: ANN401
        """Close the stream; what it said so far is counted."""
        await kind.close(stream)
        stream.aletheia_call.end()

    return __anext__, __aiter__, close


@contextmanager
def _noting(call: _Call, over: type[Exception]) -> Iterator[_Call]:
    """Count the call where its stream is `over`, or breaks."""
    try:
        yield call
    except BaseException as error:
        call.end(None if isinstance(error, over) else error)
        raise


def _usage(reply: object) -> Usage | None:
    """Read the usage of chat, responses or embeddings; None where there is none."""
    said = _get(reply, "usage")
    if said is None:
        return None
    prompt = _count(said, "prompt_tokens", "input_tokens")
    completion = _count(said, "completion_tokens", "output_tokens")
    if completion is None and _count(said, "total_tokens") == prompt:
        completion = 0  # embeddings say nothing of what they do not produce
    details = _get(said, "prompt_tokens_details") or _get(said, "input_tokens_details")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_prompt_tokens=_count(details, "cached_tokens"),
    )


def _count(said: object, *names: str) -> int | None:
    for name in names:
        value = _get(said, name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def _get(value: object, name: str) -> Any:  # noqa: ANN401 - JSON, or a model of `openai`
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
