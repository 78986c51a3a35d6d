"""One span, read down to what a trace is made of."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from aletheia.schema.trace import TraceRecord
from aletheia.sdk.adapters import finite, source_of
from aletheia.sdk.spans_attributes import Attributes, listed, parsed
from aletheia.sdk.spans_file import RawSpan, SpanProblem
from aletheia.sdk.spans_messages import SpanKind, answer_in, of_events, question_in

__all__ = ["Span", "SpanDocument", "read_span"]


class SpanDocument(TraceRecord):
    """A document of a retriever span. `text` None = the span says its id or score only."""

    text: str | None
    source: str | None = None
    score: float | None = None


class Span(TraceRecord):
    """What a trace needs of a span.

    Times are nanoseconds since 1970, None where there is none to read. `documents` are those of
    a retriever, in the order of their numbers.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    line: int
    name: str
    kind: SpanKind
    start_ns: int | None = None
    end_ns: int | None = None
    failed: bool = False
    query: str | None = None
    response: str | None = None
    documents: tuple[SpanDocument, ...] = ()
    replaced: int = 0
    """How many halves of UTF-16 pairs were replaced in it."""


_KINDS: Final[Mapping[str, SpanKind]] = {
    "retriever": "retriever",
    "retrieval": "retriever",
    "reranker": "reranker",
    "llm": "llm",
    "chat": "llm",
    "text_completion": "llm",
    "completion": "llm",
    "generate_content": "llm",
    "chain": "chain",
    "agent": "chain",
    "workflow": "chain",
    "task": "chain",
    "invoke_agent": "chain",
    "invoke_workflow": "chain",
}
"""OpenInference, `gen_ai.operation.name` of OpenTelemetry, and `traceloop.span.kind`."""

_KIND_KEYS: Final = (
    "openinference.span.kind",
    "gen_ai.operation.name",
    "traceloop.span.kind",
    "llm.request.type",
)
_TRACE_IDS: Final = ("traceId", "trace_id", "context.trace_id", "context.traceId")
_SPAN_IDS: Final = ("spanId", "span_id", "context.span_id", "context.spanId")
_PARENT_IDS: Final = ("parentSpanId", "parent_span_id", "parent_id", "parentId")
_STARTS: Final = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
_ENDS: Final = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
_DOCUMENTS: Final = ("retrieval.documents", "gen_ai.retrieval.documents")
_TEXTS: Final = ("content", "page_content", "text", "body")
_ERRORS: Final = ("2", "error", "status_code_error")


def read_span(raw: RawSpan) -> Span | SpanProblem:
    """Read one span. Never raises for any record."""
    record = Attributes({key: raw.value[key] for key in raw.value if not _is_payload(key)})
    trace_id = _id(record, _TRACE_IDS)
    span_id = _id(record, _SPAN_IDS)
    if trace_id is None or span_id is None:
        field = "trace_id" if trace_id is None else "span_id"
        return SpanProblem(
            message="it is missing or no id", line=raw.line, field=field, trace_id=trace_id
        )
    field = "attributes"
    try:
        attributes = _attributes(raw.value)
        field = "start_time"
        start = _time(record, _STARTS)
        field = "end_time"
        end = _time(record, _ENDS)
    except (TypeError, ValueError, OverflowError) as error:
        return SpanProblem(message=str(error), line=raw.line, field=field, trace_id=trace_id)
    kind = _kind(record, attributes)
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=_id(record, _PARENT_IDS),
        line=raw.line,
        name=str(record.leaf("name") or ""),
        kind=kind,
        start_ns=start,
        end_ns=end,
        failed=_failed(record),
        query=question_in(attributes, kind),
        response=None if kind in ("retriever", "reranker") else answer_in(attributes, kind),
        documents=_documents(attributes) if kind == "retriever" else (),
        replaced=raw.replaced,
    )


def _is_payload(key: str) -> bool:
    return key.startswith(("attributes", "events", "links", "resource"))


# --- ids, times, kinds ------------------------------------------------------------------------


def _first(record: Attributes, names: tuple[str, ...]) -> object:
    found = (record.leaf(name) for name in names)
    return next((value for value in found if value not in (None, "")), None)


def _id(record: Attributes, names: tuple[str, ...]) -> str | None:
    """Return an id as lower-case hexadecimal digits, or as it is; the id of zeros is none."""
    value = _first(record, names)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip().removeprefix("0x").removeprefix("0X")
    if re.fullmatch(r"[0-9A-Fa-f-]+", text):
        return text.lower() if text.strip("0") else None
    return _from_base64(text) or text or None


def _from_base64(text: str) -> str | None:
    """Read an id of 16 or 8 bytes as JSON of protobuf writes it."""
    if len(text) not in (24, 12) or not text.endswith("="):
        return None
    try:
        return base64.b64decode(text, validate=True).hex()
    except (binascii.Error, ValueError):
        return None


def _time(record: Attributes, names: tuple[str, ...]) -> int | None:
    """Read a time; how large a number is says its unit. Raises ValueError for what is none."""
    value = _first(record, names)
    if value is None:
        return None
    if isinstance(value, str) and not re.fullmatch(r"\d+(\.\d+)?", value):
        return _from_iso(value)
    if isinstance(value, str):
        value = int(value) if value.isdigit() else float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e19:
        raise ValueError(f"{value!r} is not a time")
    # Years from 1973 on: seconds have 9 or 10 digits, milliseconds 12 or 13, and so on.
    for limit, factor in ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3)):
        if value < limit:
            return int(value * factor)
    return int(value)


def _from_iso(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a time") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    if since.days < 0:
        raise ValueError(f"{text[:40]!r} is no time since 1970")
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000


def _attributes(value: Mapping[str, object]) -> Attributes:
    """Gather attributes: of the span, of its columns, and of the events of a model."""
    columns = {
        key.removeprefix("attributes."): item
        for key, item in value.items()
        if key.startswith(_COLUMNS) and item is not None
    }
    return Attributes(of_events(value.get("events")), columns, parsed(value.get("attributes")))


def _kind(record: Attributes, attributes: Attributes) -> SpanKind:
    named = [attributes.leaf(key) for key in _KIND_KEYS]
    for value in (*named, record.leaf("span_kind"), record.leaf("spanKind")):
        if isinstance(value, str) and value.strip().lower() in _KINDS:
            return _KINDS[value.strip().lower()]
    return "other"


def _failed(record: Attributes) -> bool:
    codes = ("status.code", "status.status_code", "status_code", "statusCode", "status")
    return str(_first(record, codes) or "").strip().lower() in _ERRORS


# --- attributes and documents --------------------------------------------------------------

_COLUMNS: Final = (
    *("attributes.", "openinference.", "input.", "output.", "retrieval.", "llm."),
    *("gen_ai.", "traceloop."),
)
"""Keys of attributes that stand beside the fields of a span."""


def _documents(attributes: Attributes) -> tuple[SpanDocument, ...]:
    for name in _DOCUMENTS:
        items = listed(attributes.get(name))
        if items is not None:
            return tuple(_document(item) for item in items)
    return ()


def _document(item: object) -> SpanDocument:
    item = parsed(item)
    if isinstance(item, Mapping) and isinstance(inner := parsed(item.get("document")), Mapping):
        item = inner
    if not isinstance(item, Mapping):
        return SpanDocument(text=item if isinstance(item, str) else None)
    texts = (item.get(key) for key in (*_TEXTS, "document"))
    metadata = parsed(item.get("metadata"))
    return SpanDocument(
        text=next((text for text in texts if isinstance(text, str)), None),
        source=source_of(metadata, item.get("id")),
        score=finite(item.get("score")),
    )
