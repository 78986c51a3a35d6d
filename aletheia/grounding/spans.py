"""Spans of a text, asked whether they cover a place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

Span = tuple[int, int]


class Spans:
    """A union of spans `[start, end)`, kept sorted and without overlaps.

    `add` and `cover` take logarithmic time (and one move of memory), so that many spans in a long
    text stay cheap.
    """

    __slots__ = ("_ends", "_starts")

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in spans:
            self.add(start, end)

    def __iter__(self) -> Iterator[Span]:
        return zip(self._starts, self._ends, strict=True)

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: int, end: int) -> None:
        """Add `[start, end)`; an empty span covers nothing and is left out."""
        if start >= end:
            return
        low = bisect_left(self._ends, start)
        high = bisect_right(self._starts, end)
        if low < high:
            start = min(start, self._starts[low])
            end = max(end, self._ends[high - 1])
        self._starts[low:high] = [start]
        self._ends[low:high] = [end]

    def cover(self, position: int) -> bool:
        """Whether one of the spans holds `position`."""
        index = bisect_right(self._starts, position) - 1
        return index >= 0 and position < self._ends[index]

    def overlap(self, start: int, end: int) -> bool:
        """Whether one of the spans shares a place with `[start, end)`."""
        index = bisect_left(self._starts, end) - 1
        return index >= 0 and start < self._ends[index]
