"""Groups that fit: every item is asked about exactly once, in order, and none is cut."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from aletheia.errors import ContextTooLong, ModelUnavailable
from aletheia.llm.chunks import Chunked, in_chunks
from aletheia.schema.model import Usage

ONE = Usage(prompt_tokens=0, completion_tokens=0, calls=1)


def split(
    sizes: list[int], window: int, *, known: bool = False
) -> tuple[Chunked[int, int], list[list[int]]]:
    """Ask about items of these sizes with a window; the answer to a group is its sum."""
    asked: list[list[int]] = []

    async def ask(items: Sequence[int]) -> int:
        asked.append(list(items))
        if sum(items) > window:
            raise ContextTooLong("too long", usage=ONE)
        return sum(items)

    async def run() -> Chunked[int, int]:
        if known:
            return await in_chunks(sizes, ask, fits=lambda items: sum(items) <= window)
        return await in_chunks(sizes, ask)

    return anyio.run(run), asked


@pytest.mark.parametrize(
    ("sizes", "window", "groups", "refused"),
    [
        ([1, 1, 1], 9, [(1, 1, 1)], 0),
        ([3, 3, 3, 3], 6, [(3, 3), (3, 3)], 1),
        ([3, 3, 3, 3], 3, [(3,)] * 4, 3),
        ([9, 1, 1], 9, [(9,), (1, 1)], 1),
        ([1, 1, 9], 9, [(1,), (1,), (9,)], 2),
    ],
)
def test_groups_are_halved_until_they_fit(
    sizes: list[int], window: int, groups: list[tuple[int, ...]], refused: int
) -> None:
    done, _ = split(sizes, window)
    assert [chunk.items for chunk in done.chunks] == groups
    assert [chunk.result for chunk in done.chunks] == [sum(group) for group in groups]
    assert done.refused.calls == refused
    assert done.too_long == ()


def test_a_known_window_saves_every_request_that_cannot_fit() -> None:
    done, asked = split([3, 3, 3, 3], 3, known=True)
    assert [chunk.items for chunk in done.chunks] == [(3,)] * 4
    assert done.refused.calls == 0
    assert len(asked) == 4


def test_an_item_too_long_alone_is_named_and_ends_the_work() -> None:
    done, asked = split([1, 99, 1, 1], 9)
    (chunk,) = done.too_long
    assert chunk.items == (99,)
    assert chunk.error is not None
    assert asked[-1] == [99]


def test_another_failure_passes_through_with_what_was_spent() -> None:
    async def ask(items: Sequence[int]) -> int:
        if len(items) > 1:
            raise ContextTooLong("too long", usage=ONE)
        raise ModelUnavailable("down", usage=ONE)

    with pytest.raises(ModelUnavailable) as caught:
        anyio.run(in_chunks, [1, 2], ask)
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 2
