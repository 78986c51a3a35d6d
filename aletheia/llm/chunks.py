"""Ask about many items in groups that fit the context window of the model.

Nothing is cut: items go into smaller groups until each group fits, and an item that does not fit
alone is reported with the error it met.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from aletheia.errors import ContextTooLong, ModelError
from aletheia.llm.base import add_usage, requests_only
from aletheia.schema.model import Usage

T = TypeVar("T")
R = TypeVar("R")

NO_USAGE: Final = requests_only(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk(Generic[T, R]):
    """One group and what came of it. `error` is set where its single item is too long alone."""

    items: tuple[T, ...]
    result: R | None = None
    error: ContextTooLong | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunked(Generic[T, R]):
    """All groups in the order of their items. `refused` is what the requests cost that overflowed."""

    chunks: tuple[Chunk[T, R], ...]
    refused: Usage = NO_USAGE

    @property
    def too_long(self) -> tuple[Chunk[T, R], ...]:
        """Groups of one item that no request can hold."""
        return tuple(chunk for chunk in self.chunks if chunk.error is not None)


async def in_chunks(
    items: Sequence[T],
    ask: Callable[[Sequence[T]], Awaitable[R]],
    *,
    fits: Callable[[Sequence[T]], bool] = lambda _items: True,
) -> Chunked[T, R]:
    """Ask about all items at once; halve a group as often as it overflows, and ask one by one.

    `fits` False saves a request that cannot succeed; it is not asked about a single item. The
    first item that is too long alone ends the work, since the rest could not make up for it.
    Raises what `ask` raises, except `ContextTooLong`.
    """
    waiting, done, refused = [tuple(items)], list[Chunk[T, R]](), NO_USAGE
    while waiting:
        group = waiting.pop()
        if len(group) > 1 and not fits(group):
            waiting += _halves(group)
            continue
        try:
            done.append(Chunk(items=group, result=await ask(group)))
        except ContextTooLong as error:
            refused = add_usage(refused, error.usage or requests_only(1))
            if len(group) <= 1:
                done.append(Chunk(items=group, error=error))
                break
            waiting += _halves(group)
        except ModelError as error:
            error.usage = add_usage(error.usage or requests_only(1), refused)
            raise
    return Chunked(chunks=tuple(done), refused=refused)


def _halves(group: tuple[T, ...]) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """Two halves, the first one last: it is taken from the end."""
    middle = len(group) // 2
    return group[middle:], group[:middle]
