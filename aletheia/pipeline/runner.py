"""Many items at once, a bounded number of them, each finished one handed on before the next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Generic, TypeVar

import anyio

Item = TypeVar("Item")
Result = TypeVar("Result")


async def run_bounded(
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[Result]],
    *,
    limit: int,
    commit: Callable[[Item, Result], Awaitable[bool]],
) -> None:
    """Work on `items` in their order, at most `limit` at once.

    `commit` is given each result as it comes, never two at once; when it returns False no further
    item is begun, and those under way are finished and committed. Items are drawn one by one, so
    nothing but the items under way is held. An exception of `work` or `commit` cancels the rest.
    """
    if limit < 1:
        raise ValueError(f"`limit` is {limit}, at least 1 is needed")
    state = _State(iter(items))
    try:
        async with anyio.create_task_group() as group:
            for _ in range(limit):
                group.start_soon(_worker, state, work, commit)
    except BaseExceptionGroup as several:
        raise _first(several) from None


class _State(Generic[Item]):
    """What the workers of one run share. They live in one event loop: a plain iterator will do."""

    def __init__(self, items: Iterator[Item]) -> None:
        self.items = items
        self.stopped = False
        self.committing = anyio.Lock()


async def _worker(
    state: _State[Item],
    work: Callable[[Item], Awaitable[Result]],
    commit: Callable[[Item, Result], Awaitable[bool]],
) -> None:
    for item in state.items:
        result = await work(item)
        async with state.committing:
            if not await commit(item, result):
                state.stopped = True
        if state.stopped:
            return


def _first(error: BaseException) -> BaseException:
    """One failure cancels the others, so the first in the group is the one to tell."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
