"""Traces from files of OpenTelemetry spans: OpenInference and GenAI conventions.

Read are OTLP in JSON, JSON Lines of spans as exporters to a console or file write them, and what
Phoenix exports. Spans of one trace may stand anywhere in the file. Texts wait for the rest of
their trace in a temporary file, so that memory grows with the number of spans, by some hundred
bytes each, and not with what they hold; a file that is one JSON value is held while it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from aletheia.schema.stored import (
    DEFAULT_PROJECT,
    NO_RETRIEVER_EVENT,
    NOTHING_RETRIEVED,
    RETRIEVAL,
    NewTrace,
)
from aletheia.sdk.spans_file import SpanProblem, raw_spans
from aletheia.sdk.spans_record import Span, read_span
from aletheia.sdk.spans_trace import assemble, without_doubles

__all__ = ["SpanCounts", "SpanProblem", "SpanReading", "read_spans"]

_IN_MEMORY: Final = 16 * 2**20


@dataclass(slots=True, kw_only=True)
class SpanCounts:
    """What a file held; complete when it was read to its end.

    `spans` were read, `unread` are values that are no span, `double_spans` had the id of another.
    `traces` are what was yielded; `without_query`, `without_retriever` and `without_documents`
    are among them. `not_traces` are trace ids that have no response.
    """

    spans: int = 0
    unread: int = 0
    double_spans: int = 0
    traces: int = 0
    without_query: int = 0
    without_retriever: int = 0
    without_documents: int = 0
    not_traces: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return all counts by name, zeros too."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def read_spans(path: str | Path, *, project: str = DEFAULT_PROJECT) -> SpanReading:
    """Read the traces in a file of spans.

    Iterating yields a `NewTrace` for each trace id that has a response, in the order in which
    they begin in the file, and a `SpanProblem` for each value that could not be read and each
    trace id that is no trace. `external_id` is the trace id, `created_at` the start of its first
    span. Raises DataError where there is no such file or it is not UTF-8 text.
    """
    return SpanReading(path=Path(path), project=project)


@dataclass(slots=True, kw_only=True)
class SpanReading:
    """A file of spans while it is read. Each iteration reads it from the start."""

    path: Path
    project: str = DEFAULT_PROJECT
    counts: SpanCounts = field(default_factory=SpanCounts)

    def __iter__(self) -> Iterator[NewTrace | SpanProblem]:
        """Yield traces and problems; problems of single spans come first."""
        self.counts = SpanCounts()
        with SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:  # type: IO[bytes]
            waiting = _Waiting(spool)
            yield from self._gather(waiting)
            for trace_id in waiting.trace_ids:
                yield self._trace(waiting, trace_id)

    def _gather(self, waiting: _Waiting) -> Iterator[SpanProblem]:
        for raw in raw_spans(self.path):
            span = raw if isinstance(raw, SpanProblem) else read_span(raw)
            if isinstance(span, SpanProblem):
                self.counts.unread += 1
                if span.trace_id is not None:
                    waiting.broken[span.trace_id] = waiting.broken.get(span.trace_id, 0) + 1
                yield span
            else:
                self.counts.spans += 1
                waiting.add(span)

    def _trace(self, waiting: _Waiting, trace_id: str) -> NewTrace | SpanProblem:
        spans, doubles = without_doubles(waiting.spans(trace_id))
        self.counts.double_spans += doubles
        found = assemble(spans, project=self.project)
        if isinstance(found, SpanProblem):
            self.counts.not_traces += 1
            return found
        counted = {
            "double_spans": doubles,
            # What could not be read may have been a retriever: the context may be less than it was.
            "unread_spans": waiting.broken.get(trace_id, 0),
        }
        self._count(found)
        notes = {name: str(count) for name, count in counted.items() if count}
        return found.model_copy(update={"notes": {**found.notes, **notes}}) if notes else found

    def _count(self, trace: NewTrace) -> None:
        retrieval = trace.notes.get(RETRIEVAL)
        self.counts.traces += 1
        self.counts.without_query += trace.query is None
        self.counts.without_retriever += retrieval == NO_RETRIEVER_EVENT
        self.counts.without_documents += retrieval == NOTHING_RETRIEVED


class _Waiting:
    """Spans in a temporary file, and where those of each trace lie."""

    def __init__(self, spool: IO[bytes]) -> None:
        self._spool = spool
        self._places: dict[str, list[int]] = {}
        self.broken: dict[str, int] = {}

    @property
    def trace_ids(self) -> Iterator[str]:
        """Trace ids in the order in which they begin."""
        return iter(self._places)

    def add(self, span: Span) -> None:
        self._places.setdefault(span.trace_id, []).append(self._spool.tell())
        self._spool.write(span.model_dump_json(exclude_defaults=True).encode() + b"\n")

    def spans(self, trace_id: str) -> Iterator[Span]:
        for place in self._places[trace_id]:
            self._spool.seek(place)
            yield Span.model_validate_json(self._spool.readline())
