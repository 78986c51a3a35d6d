"""Calls of one row that do not wait for one another, side by side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

T = TypeVar("T")


async def together(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Run all calls at once and return their results in order.

    An exception of one cancels the others and is raised as it is.
    """
    results: dict[int, T] = {}

    async def run(index: int, call: Callable[[], Awaitable[T]]) -> None:
        results[index] = await call()

    try:
        async with anyio.create_task_group() as group:
            for index, call in enumerate(calls):
                group.start_soon(run, index, call)
    except BaseExceptionGroup as several:
        raise _first(several) from None
    return [results[index] for index in range(len(calls))]


def _first(error: BaseException) -> BaseException:
    """One failure cancels the others, so the first in the group is the one to tell."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
