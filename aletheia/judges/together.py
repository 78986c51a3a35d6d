"""Run calls side by side, and raise what one of them raises as it is, not in a group."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from aletheia.errors import AletheiaError

T = TypeVar("T")


async def together(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Await all calls at once and return what they return, in order.

    The first `AletheiaError` ends the others and is raised by itself.
    """
    if len(calls) == 1:
        return [await calls[0]()]
    done: dict[int, T] = {}
    errors: list[AletheiaError] = []

    async def one(at: int, call: Callable[[], Awaitable[T]]) -> None:
        try:
            done[at] = await call()
        except AletheiaError as error:
            errors.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for at, call in enumerate(calls):
            group.start_soon(one, at, call)
    if errors:
        raise errors[0]
    return [done[at] for at in range(len(calls))]
