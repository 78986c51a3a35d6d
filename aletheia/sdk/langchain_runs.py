"""The runs of LangChain as they come and go, gathered by their root.

A run is known by its id and its parent's. A run whose parent is not known is a root: it has none,
or its parent runs without us. What belongs to a root is let go when the root ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import RLock
from typing import Final, Literal
from uuid import UUID

from aletheia.schema.stored import NO_RETRIEVER_EVENT, NOTHING_RETRIEVED, RETRIEVAL
from aletheia.schema.trace import ContextChunk
from aletheia.sdk.adapters import renumbered
from aletheia.sdk.langchain_documents import chunks_of, context_texts, documents_in

__all__ = ["EndedRoot", "RunBook", "RunKind"]

RunKind = Literal["chain", "retriever", "tool", "model"]

MOST_OPEN: Final = 10_000
"""Roots that are held at once; one that nobody ends (a stream left unread) goes first."""

_REMEMBERED: Final = 20_000
"""Ids of ended runs that are remembered, so that a late child makes no root of its own."""

_COMBINED: Final = "input_documents"
"""Where the classic chains hand over the documents that the model is shown."""


@dataclass(slots=True, kw_only=True)
class _Run:
    kind: RunKind
    name: str
    parent: UUID | None
    open: bool = True
    failed: bool = False
    documents: tuple[ContextChunk, ...] | None = None
    """Of a retriever or tool: what it returned. Of a chain: what it was given to answer from."""

    @property
    def counts(self) -> bool:
        """Whether it gave documents, or was a retrieval that failed."""
        return self.failed == (self.documents is None) and (
            self.kind == "retriever" or not self.failed
        )


@dataclass(slots=True, kw_only=True)
class _Root:
    """A root and all below it, in the order in which they started; the root is the first."""

    inputs: object
    runs: dict[UUID, _Run] = field(default_factory=dict)
    interrupted: bool = False
    retrieves: bool = False
    seen: tuple[str, tuple[ContextChunk, ...]] | None = None
    texts: tuple[str, tuple[ContextChunk, ...]] | None = None

    def look(self, name: str, value: object) -> None:
        """Remember documents that pass by, the last ones; they count where no retriever spoke."""
        if self.retrieves:
            return
        if found := documents_in(value):
            self.seen = (name, found)
        elif written := context_texts(value):
            self.texts = (name, written)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRoot:
    """A root that ended well.

    `cut` says that something below it was still running, `interrupted` that a graph waits for
    somebody: what its state holds is not the answer yet.
    """

    run_id: UUID
    kind: RunKind
    inputs: object
    outputs: object
    chunks: tuple[ContextChunk, ...]
    notes: dict[str, str]
    cut: bool
    interrupted: bool


class RunBook:
    """Keeps account of runs. Safe from threads; holds nothing of a root that has ended."""

    def __init__(self) -> None:
        # A stream that is collected as garbage may end in the middle of our own work.
        self._lock = RLock()
        self._roots: dict[UUID, _Root] = {}
        self._root_of: dict[UUID, UUID] = {}
        self._late: set[UUID] = set()
        self._order: deque[UUID] = deque()

    def __len__(self) -> int:
        """How many runs are held."""
        return len(self._root_of)

    def start(
        self, run_id: UUID, parent: UUID | None, kind: RunKind, name: str, inputs: object = None
    ) -> int:
        """Note that a run began. Return how many roots had to be let go for it."""
        with self._lock:
            if parent in self._late:
                return 0
            root_id = self._root_of.get(parent, run_id) if parent is not None else run_id
            root = self._roots.setdefault(root_id, _Root(inputs=inputs))
            run = root.runs[run_id] = _Run(kind=kind, name=name, parent=parent)
            self._root_of[run_id] = root_id
            root.retrieves |= kind == "retriever"
            if kind == "chain":
                run.documents = _combined(inputs)
                root.look(name, inputs)
            return self._let_go_of_the_oldest()

    def retrieved(self, run_id: UUID, documents: object) -> None:
        """Note what a retriever returned."""
        with self._lock:
            root = self._roots.get(self._root_of.get(run_id, run_id))
            if root is not None and isinstance(documents, list | tuple):
                root.runs[run_id].documents = chunks_of(documents)

    def end(self, run_id: UUID, outputs: object = None, inputs: object = None) -> EndedRoot | None:
        """Note that a run ended well; return what there is to know where it was a root.

        `inputs`, where given, replace those that were known at the start: a stream begins before
        its input is there.
        """
        with self._lock:
            root_id = self._root_of.get(run_id)
            if root_id is None:
                return None
            root = self._roots[root_id]
            run = root.runs[run_id]
            run.open = False
            if run_id == root_id:
                self._forget(root_id)
            if run.kind == "tool":
                run.documents = documents_in(outputs) or None
            elif run.kind == "chain":
                if inputs is not None:
                    run.documents = run.documents or _combined(inputs)
                    root.look(run.name, inputs)
                root.look(run.name, outputs)
            if run_id != root_id:
                return None
        chunks, notes = _evidence(root)
        return EndedRoot(
            run_id=run_id,
            kind=run.kind,
            inputs=root.inputs if inputs is None else inputs,
            outputs=outputs,
            chunks=chunks,
            notes=notes,
            cut=any(item.open for item in root.runs.values()),
            interrupted=root.interrupted,
        )

    def fail(self, run_id: UUID, *, interrupt: bool = False) -> bool:
        """Note that a run failed, or interrupted its graph; return whether it was a root."""
        with self._lock:
            root_id = self._root_of.get(run_id)
            if root_id is None:
                return False
            run = self._roots[root_id].runs[run_id]
            run.open, run.failed = False, True
            self._roots[root_id].interrupted |= interrupt
            if run_id == root_id:
                self._forget(root_id)
            return run_id == root_id

    def _let_go_of_the_oldest(self) -> int:
        count = 0
        while len(self._roots) > MOST_OPEN:
            self._forget(next(iter(self._roots)))
            count += 1
        return count

    def _forget(self, root_id: UUID) -> None:
        for run_id in self._roots.pop(root_id).runs:
            del self._root_of[run_id]
            self._late.add(run_id)
            self._order.append(run_id)
        while len(self._order) > _REMEMBERED:
            self._late.discard(self._order.popleft())


def _combined(inputs: object) -> tuple[ContextChunk, ...] | None:
    given = inputs.get(_COMBINED) if isinstance(inputs, dict) else None
    return chunks_of(given) if isinstance(given, list | tuple) else None


# --- what the answer was made from ------------------------------------------------------------


def _evidence(root: _Root) -> tuple[tuple[ContextChunk, ...], dict[str, str]]:
    """Chunks in the order in which retrievals began, and what has to be said about them.

    What a classic chain hands to the model comes first: it may be less than was retrieved. Then
    the retrievers, and then documents that passed by without one.
    """
    shown = _outermost(root, "chain")
    if shown:
        return _said([run.documents or () for run in shown])
    retrievers = _outermost(root, "retriever")
    if retrievers:
        chunks, notes = _said([run.documents or () for run in retrievers])
        failed = sum(run.failed for run in retrievers)
        return chunks, notes | ({"failed_retrievals": str(failed)} if failed else {})
    tools = _outermost(root, "tool")
    if tools:
        names = ", ".join(dict.fromkeys(f"`{run.name}`" for run in tools))
        chunks = renumbered([run.documents or () for run in tools])
        return chunks, _passed_by(names)
    for found in (root.seen, root.texts):
        if found is not None:
            name, chunks = found
            return chunks, _passed_by(f"`{name}`")
    return (), {RETRIEVAL: NO_RETRIEVER_EVENT}


def _passed_by(names: str) -> dict[str, str]:
    return {RETRIEVAL: f"documents of {names}, {NO_RETRIEVER_EVENT}"}


def _said(
    parts: list[tuple[ContextChunk, ...]],
) -> tuple[tuple[ContextChunk, ...], dict[str, str]]:
    chunks = renumbered(parts)
    return chunks, {} if chunks else {RETRIEVAL: NOTHING_RETRIEVED}


def _outermost(root: _Root, kind: RunKind) -> list[_Run]:
    """Runs of a kind that have documents, or failed to, and count.

    A retriever inside another (a reranker's, an ensemble's) is a step of it. One inside a chain
    that failed belongs to an attempt that was made again.
    """
    return [
        run
        for run in root.runs.values()
        if run.kind == kind
        and run.counts
        and not any(
            above.failed or (above.kind == kind and above.documents is not None)
            for above in _above(root, run)
        )
    ]


def _above(root: _Root, run: _Run) -> Iterator[_Run]:
    while run.parent is not None and run.parent in root.runs:
        run = root.runs[run.parent]
        yield run
