"""All spans of one trace, put together to a question, its context and its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from aletheia.schema.stored import (
    NO_DOCUMENT_TEXT,
    NO_RETRIEVER_EVENT,
    NOTHING_RETRIEVED,
    RETRIEVAL,
    NewTrace,
)
from aletheia.schema.trace import ContextChunk
from aletheia.sdk.adapters import NO_QUERY
from aletheia.sdk.spans_file import SpanProblem
from aletheia.sdk.spans_record import Span
from aletheia.sdk.trace_input import read_trace

__all__ = ["assemble", "without_doubles"]

SOURCE: Final = "import"


def without_doubles(spans: Iterable[Span]) -> tuple[list[Span], int]:
    """Keep one span of each id, the one that ends last; say how many were left out."""
    kept: dict[str, Span] = {}
    count = 0
    for span in spans:
        other = kept.get(span.span_id)
        count += other is not None
        if other is None or (span.end_ns or 0) >= (other.end_ns or 0):
            kept[span.span_id] = span
    return list(kept.values()), count


def assemble(spans: Sequence[Span], *, project: str) -> NewTrace | SpanProblem:
    """Make the trace of spans that have one trace id; a problem where there is no answer.

    The question is that of the root, else of the first span below it that has one. The answer is
    that of the root, else of the last model call, or of the last chain.
    """
    tree = _Tree(spans)
    root = tree.roots[0]
    if all(span.kind == "other" and span.response is None for span in spans):
        return _no_trace(tree, "no span of a model, a retriever or a chain is in it")
    response, answered = tree.response()
    if response is None:
        return _no_trace(tree, "it has no response")
    query, asked = tree.query()
    chunks, notes = _context(tree)
    trace = read_trace(query, chunks, response)
    replaced = sum(span.replaced for span in spans)
    return NewTrace(
        query=trace.query,
        chunks=trace.chunks,
        response=trace.response,
        project=project,
        external_id=root.trace_id,
        source=SOURCE,
        notes={
            **notes,
            **trace.notes,
            **({"query": NO_QUERY} if asked is None else _from("query", asked, root)),
            **(_from("response", answered, root) if answered is not None else {}),
            **({"replaced_characters": str(replaced)} if replaced else {}),
            **({"root": "failed"} if root.failed else {}),
            **({"roots": str(len(tree.roots))} if len(tree.roots) > 1 else {}),
        },
        created_at=_created(tree),
    )


def _no_trace(tree: _Tree, why: str) -> SpanProblem:
    return SpanProblem(message=f"not a trace: {why}", trace_id=tree.roots[0].trace_id)


def _from(what: str, span: Span, root: Span) -> dict[str, str]:
    return {} if span is root else {what: f"of the {span.kind} span `{span.name}`"}


def _created(tree: _Tree) -> datetime | None:
    starts = [span.start_ns for span in tree.spans if span.start_ns is not None]
    if not starts:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=min(starts) // 1000)


class _Tree:
    """Spans in the order of their start, and who is above whom.

    A root has no parent, or one that is not in the file.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        # What has no time stands last, in the order of the file.
        self.spans = sorted(spans, key=lambda span: (span.start_ns is None, span.start_ns or 0))
        self._by_id = {span.span_id: span for span in spans}
        known = [span for span in self.spans if span.parent_id not in self._by_id]
        # Spans that are each other's parents have no root; the first then stands for one.
        self.roots = known or self.spans[:1]

    def above(self, span: Span) -> Iterator[Span]:
        seen = {span.span_id}
        while span.parent_id in self._by_id and span.parent_id not in seen:
            seen.add(span.parent_id)
            span = self._by_id[span.parent_id]
            yield span

    def within(self, span: Span, kind: str) -> bool:
        return any(item.kind == kind for item in self.above(span))

    def _led(self, span: Span) -> bool:
        return any(item.kind != "other" for item in self.above(span))

    def query(self) -> tuple[str | None, Span | None]:
        """What the root was asked; else the first chain, model call or retriever."""
        chains = [span for span in self.spans if span.kind == "chain"]
        others = [span for span in self.spans if span.kind in ("llm", "retriever")]
        return _first((*self.roots, *chains, *others), lambda span: span.query)

    def response(self) -> tuple[str | None, Span | None]:
        """What the root answered, or the one chain below it; else the last model call or chain.

        A model that a retriever calls, to put the question in other words, answers nobody.
        """
        tops = [span for span in self.spans if span.kind != "other" and not self._led(span)]
        heads = [self.roots[0], *(tops if len(tops) == 1 and tops[0].kind == "chain" else [])]
        outside = [span for span in self.spans if not self.within(span, "retriever")]
        calls = [span for span in reversed(outside) if span.kind == "llm" and not span.failed]
        chains = [span for span in reversed(outside) if span.kind == "chain"]
        return _first((*heads, *calls, *chains), lambda span: span.response)


def _first(
    spans: Iterable[Span], read: Callable[[Span], str | None]
) -> tuple[str | None, Span | None]:
    found = ((text, span) for span in spans if (text := read(span)) is not None)
    return next(found, (None, None))


# --- the context ------------------------------------------------------------------------------


def _context(tree: _Tree) -> tuple[list[ContextChunk], dict[str, str]]:
    """Documents of all retrievers in the order of their start, and what has to be said.

    A retriever inside another that tells its documents is a step of it.
    """
    every = [span for span in tree.spans if span.kind == "retriever"]
    outer = [span for span in every if not any(item.documents for item in tree.above(span))]
    documents = [item for span in outer for item in span.documents]
    texts = [item for item in documents if item.text is not None]
    chunks = [
        ContextChunk(text=item.text or "", rank=rank, source=item.source, score=item.score)
        for rank, item in enumerate(texts)
    ]
    counts = {
        "failed_retrievals": sum(span.failed for span in outer),
        "nested_retrievers": len(every) - len(outer),
        "documents_without_text": len(documents) - len(texts),
        "rerankers_not_read": sum(span.kind == "reranker" for span in tree.spans),
    }
    notes = {name: str(count) for name, count in counts.items() if count}
    if not outer:
        notes[RETRIEVAL] = NO_RETRIEVER_EVENT
    elif not documents:
        notes[RETRIEVAL] = NOTHING_RETRIEVED
    elif not texts:
        notes[RETRIEVAL] = NO_DOCUMENT_TEXT
    return chunks, notes
