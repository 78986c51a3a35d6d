"""The bounded runner: never more than `limit` at once, in order, one commit at a time."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest

from aletheia.errors import ConfigError
from aletheia.pipeline.runner import run_bounded


class Watch:
    """Work that takes a moment and sees how many are under way."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.committed: list[int] = []
        self.now = 0
        self.most = 0
        self.committing = 0

    async def work(self, item: int) -> int:
        self.begun.append(item)
        self.now += 1
        self.most = max(self.most, self.now)
        await anyio.sleep(0.001 * (item % 3))
        self.now -= 1
        return item * 10

    async def commit(self, item: int, result: int) -> bool:
        assert result == item * 10
        self.committing += 1
        assert self.committing == 1
        await anyio.lowlevel.checkpoint()
        self.committing -= 1
        self.committed.append(item)
        return True


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
def test_every_item_is_done_once_and_begun_in_order(limit: int) -> None:
    watch = Watch()

    anyio.run(lambda: run_bounded(range(20), watch.work, limit=limit, commit=watch.commit))

    assert watch.begun == list(range(20))
    assert sorted(watch.committed) == list(range(20))
    assert watch.most == min(limit, 20)


def test_items_are_drawn_one_by_one() -> None:
    """A run over a stream holds no more than what is under way."""
    watch = Watch()
    drawn = 0

    def stream() -> Iterator[int]:
        nonlocal drawn
        for item in range(30):
            drawn += 1
            assert drawn - len(watch.committed) <= 4
            yield item

    anyio.run(lambda: run_bounded(stream(), watch.work, limit=3, commit=watch.commit))
    assert drawn == 30


def test_after_a_stop_nothing_is_begun_and_what_is_under_way_is_kept() -> None:
    watch = Watch()

    async def commit(item: int, result: int) -> bool:
        await watch.commit(item, result)
        return item != 4

    anyio.run(lambda: run_bounded(range(20), watch.work, limit=3, commit=commit))

    assert sorted(watch.committed) == sorted(watch.begun)
    assert max(watch.begun) <= 4 + 3


def test_an_error_ends_the_run_as_itself() -> None:
    async def work(item: int) -> int:
        await anyio.sleep(0.001)
        if item == 2:
            raise ConfigError("no ragas")
        await anyio.sleep(5)
        return item

    async def commit(item: int, result: int) -> bool:
        raise AssertionError

    with pytest.raises(ConfigError, match="no ragas"):
        anyio.run(lambda: run_bounded(range(5), work, limit=4, commit=commit))


def test_nothing_to_do_and_a_bad_limit() -> None:
    watch = Watch()
    anyio.run(lambda: run_bounded([], watch.work, limit=3, commit=watch.commit))
    assert watch.begun == []
    with pytest.raises(ValueError, match="`limit` is 0"):
        anyio.run(lambda: run_bounded([1], watch.work, limit=0, commit=watch.commit))
