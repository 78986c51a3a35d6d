"""The spans of LlamaIndex as they come and go, gathered by the query or chat that began them.

Nothing of LlamaIndex is imported here: what a span is was decided by who calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import RLock
from typing import Final, Literal

from aletheia.schema.stored import NO_RETRIEVER_EVENT, NOTHING_RETRIEVED, RETRIEVAL
from aletheia.schema.trace import ContextChunk
from aletheia.sdk.adapters import finite, renumbered, source_of

__all__ = ["EndedQuery", "SpanBook", "SpanKind", "chunks_of"]

SpanKind = Literal["query", "synthesis", "other"]

MOST_OPEN: Final = 10_000
"""Queries that are held at once; the oldest goes first."""


@dataclass(slots=True, kw_only=True)
class _Span:
    kind: SpanKind
    parent: str | None
    failed: bool = False
    retrieved: tuple[ContextChunk, ...] | None = None
    given: tuple[ContextChunk, ...] | None = None
    """Of a synthesis: the nodes it was to answer from."""


@dataclass(slots=True, kw_only=True)
class _Root:
    """A query and all below it, in the order in which they began; the query is the first."""

    query: str | None
    spans: dict[str, _Span] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedQuery:
    """A query that ended well: what was asked and what there was to answer from."""

    span_id: str
    query: str | None
    chunks: tuple[ContextChunk, ...]
    notes: dict[str, str]


class SpanBook:
    """Keeps account of spans. Safe from threads; holds nothing of a query that has ended."""

    def __init__(self) -> None:
        # A stream that is collected as garbage may end in the middle of our own work.
        self._lock = RLock()
        self._roots: dict[str, _Root] = {}
        self._root_of: dict[str, str] = {}

    def __len__(self) -> int:
        """How many spans are held."""
        return len(self._root_of)

    def enter(
        self,
        span_id: str,
        parent: str | None,
        kind: SpanKind,
        *,
        query: str | None = None,
        nodes: Iterable[object] | None = None,
    ) -> int:
        """Note that a span began; one outside of every query is not followed unless it is one.

        Return how many queries had to be let go for it.
        """
        with self._lock:
            root_id = self._root_of.get(parent) if parent is not None else None
            if root_id is None:
                if kind != "query":
                    return 0
                root_id = span_id
                self._roots[root_id] = _Root(query=query)
            given = None if nodes is None else chunks_of(nodes)
            self._roots[root_id].spans[span_id] = _Span(kind=kind, parent=parent, given=given)
            self._root_of[span_id] = root_id
            return self._let_go_of_the_oldest()

    def retrieved(self, span_id: str | None, nodes: Iterable[object]) -> None:
        """Note what a retriever returned in a span."""
        with self._lock:
            root_id = self._root_of.get(span_id) if span_id is not None else None
            if root_id is not None and span_id is not None:
                self._roots[root_id].spans[span_id].retrieved = chunks_of(nodes)

    def exit(self, span_id: str, nodes: Iterable[object] = ()) -> EndedQuery | None:
        """Note that a span ended well; return what there is to know where it was the query.

        `nodes` are those that the response names: they count where nothing else is known.
        """
        with self._lock:
            if span_id not in self._roots:
                return None
            root = self._forget(span_id)
        chunks, notes = _evidence(root, chunks_of(nodes))
        return EndedQuery(span_id=span_id, query=root.query, chunks=chunks, notes=notes)

    def fail(self, span_id: str) -> bool:
        """Note that a span failed; return whether it was the query itself."""
        with self._lock:
            root_id = self._root_of.get(span_id)
            if root_id is None:
                return False
            self._roots[root_id].spans[span_id].failed = True
            if span_id == root_id:
                self._forget(root_id)
            return span_id == root_id

    def _let_go_of_the_oldest(self) -> int:
        count = 0
        while len(self._roots) > MOST_OPEN:
            self._forget(next(iter(self._roots)))
            count += 1
        return count

    def _forget(self, root_id: str) -> _Root:
        root = self._roots.pop(root_id)
        for span_id in root.spans:
            del self._root_of[span_id]
        return root


def chunks_of(nodes: Iterable[object]) -> tuple[ContextChunk, ...]:
    """Nodes in their order as chunks, with score and source."""
    return tuple(_chunk(node, rank) for rank, node in enumerate(nodes))


def _chunk(scored: object, rank: int) -> ContextChunk:
    node = getattr(scored, "node", scored)
    content = getattr(node, "get_content", None)
    return ContextChunk(
        text=str(content()) if callable(content) else str(node),
        rank=rank,
        source=source_of(getattr(node, "metadata", None), getattr(node, "node_id", None)),
        score=finite(getattr(scored, "score", None)),
    )


# --- what the answer was made from ------------------------------------------------------------


def _evidence(
    root: _Root, named: tuple[ContextChunk, ...]
) -> tuple[tuple[ContextChunk, ...], dict[str, str]]:
    """Chunks in the order in which retrievals began, and what has to be said about them.

    A query inside the query answers for itself: what it was given counts, and its answer, which
    its caller may use like a node, does not.
    """
    parts = [part for frame in _frames(root) if (part := _of_frame(root, frame)) is not None]
    if parts:
        chunks = renumbered(parts)
        return chunks, {} if chunks else {RETRIEVAL: NOTHING_RETRIEVED}
    given = [
        span.given
        for span in root.spans.values()
        if span.given and not _inside(root, span, lambda above: bool(above.given))
    ]
    for known in (renumbered(given), named):
        if known:
            return known, {RETRIEVAL: f"nodes of the response, {NO_RETRIEVER_EVENT}"}
    return (), {RETRIEVAL: NO_RETRIEVER_EVENT}


def _frames(root: _Root) -> Iterator[_Span]:
    """Queries that count: not those of an attempt that failed, nor a retriever's own."""
    for span in root.spans.values():
        if span.kind == "query" and not _inside(
            root, span, lambda above: above.failed or above.retrieved is not None
        ):
            yield span


def _of_frame(root: _Root, frame: _Span) -> tuple[ContextChunk, ...] | None:
    """What one query had to answer from; None where it retrieved nothing by itself.

    The nodes handed to the synthesis are those that were found less what a postprocessor took
    away.
    """
    own = [span for span in root.spans.values() if _frame_of(root, span) is frame]
    found = [
        span.retrieved
        for span in own
        if span.retrieved is not None
        and not _inside(root, span, lambda above: above.failed or above.retrieved is not None)
    ]
    if not found:
        return None
    shown = [
        span.given
        for span in own
        if span.given is not None
        and not span.failed
        and not _inside(root, span, lambda above: above.failed or above.given is not None)
    ]
    return renumbered(shown or found)


def _frame_of(root: _Root, span: _Span) -> _Span | None:
    return next((above for above in _above(root, span) if above.kind == "query"), None)


def _inside(root: _Root, span: _Span, holds: Callable[[_Span], bool]) -> bool:
    return any(holds(above) for above in _above(root, span))


def _above(root: _Root, span: _Span) -> Iterator[_Span]:
    while span.parent is not None and span.parent in root.spans:
        span = root.spans[span.parent]
        yield span
