"""Generators passed through: what they yield is kept in mind, and everything else goes both ways."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from functools import partial
from typing import Any, ParamSpec

from aletheia.sdk.trace_return import Captured, Pieces

__all__ = ["Arguments", "async_generator", "generator"]

P = ParamSpec("P")

Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
"""What a function was called with."""


def generator(
    function: Callable[P, Generator[Any, Any, Any]],
    finish: Callable[[Captured, Arguments], Any],
) -> Callable[P, Generator[Any, Any, Any]]:
    """Return a generator function that yields what `function` yields, and calls `finish` after.

    Values and exceptions that are sent reach the inner generator; what it returns is returned. One
    that is not read to its end is not finished.
    """

    def tapped(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
        pieces = Pieces()
        returned = yield from _tapped(function(*args, **kwargs), pieces)
        value = finish(pieces.captured(returned), (args, kwargs))
        return None if returned is None else value

    return tapped


def _tapped(inner: Generator[Any, Any, Any], pieces: Pieces) -> Generator[Any, Any, Any]:
    """Do what `yield from inner` does, and keep what is yielded."""
    step = partial(next, inner)
    while True:
        try:
            item = step()
        except StopIteration as end:
            return end.value
        if not pieces.keep(item):
            step = partial(next, inner)
            continue
        try:
            sent = yield item
        except GeneratorExit:
            inner.close()
            raise
        except BaseException as error:  # noqa: BLE001 - it is the consumer's, and goes inside
            step = partial(inner.throw, error)
        else:
            step = partial(inner.send, sent)


def async_generator(
    function: Callable[P, AsyncGenerator[Any, Any]],
    finish: Callable[[Captured, Arguments], Awaitable[Any]],
) -> Callable[P, AsyncGenerator[Any, Any]]:
    """Do the same with an asynchronous generator function."""

    async def tapped(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Any, Any]:
        pieces, inner = Pieces(), function(*args, **kwargs)
        step = inner.__anext__()
        while True:
            try:
                item = await step
            except StopAsyncIteration:
                break
            if not pieces.keep(item):
                step = inner.__anext__()
                continue
            try:
                sent = yield item
            except GeneratorExit:
                await inner.aclose()
                raise
            except BaseException as error:  # noqa: BLE001 - it is the consumer's, and goes inside
                step = inner.athrow(error)
            else:
                step = inner.asend(sent)
        await finish(pieces.captured(), (args, kwargs))

    return tapped
