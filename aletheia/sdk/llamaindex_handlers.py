"""The handlers that LlamaIndex calls: for its spans, and for its retrieval events."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any, Final

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import (
    AgentChatResponse,
    BaseChatEngine,
    StreamingAgentChatResponse,
)
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.response_synthesizers.base import BaseSynthesizer
from pydantic import PrivateAttr

from aletheia.sdk.adapters import NO_QUERY, NO_RESPONSE, FinishedRun, Record, Recorder
from aletheia.sdk.llamaindex_spans import EndedQuery, SpanBook, SpanKind

__all__ = ["attach", "attached", "detach"]

_SOURCE: Final = "llamaindex"
_CUT: Final = "its stream was not read to the end"
_FAILED: Final = "it failed"

_QUERIES: Final[Mapping[type, frozenset[str]]] = {
    BaseQueryEngine: frozenset({"query", "aquery"}),
    BaseChatEngine: frozenset({"chat", "achat", "stream_chat", "astream_chat"}),
}
_SYNTHESES: Final = frozenset({"synthesize", "asynthesize"})
_WRITERS: Final = frozenset({"write_response_to_history", "awrite_response_to_history"})


def attach(record: Record | None) -> int:
    """Listen to LlamaIndex; return how many handlers were added."""
    if attached():
        return 0
    watch = _Watch(record)
    root = get_dispatcher()
    root.add_span_handler(_SpanHandler(watch))
    root.add_event_handler(_EventHandler(watch))
    return 2


def attached() -> bool:
    """Whether our handlers listen."""
    return any(isinstance(item, _SpanHandler) for item in get_dispatcher().span_handlers)


def detach() -> int:
    """Stop listening; return how many handlers were taken away."""
    root = get_dispatcher()
    spans = [item for item in root.span_handlers if not isinstance(item, _SpanHandler)]
    events = [item for item in root.event_handlers if not isinstance(item, _EventHandler)]
    count = len(root.span_handlers) - len(spans) + len(root.event_handlers) - len(events)
    root.span_handlers[:], root.event_handlers[:] = spans, events
    return count


class _Watch:
    """What both handlers know. The dispatcher drops what a handler raises."""

    def __init__(self, record: Record | None) -> None:
        self.recorder = Recorder(_SOURCE, record)
        self.book = SpanBook()
        # A stream that is collected as garbage may end in the middle of our own work.
        self._lock = RLock()
        self._writing: dict[int, tuple[StreamingAgentChatResponse, EndedQuery]] = {}

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Tell what goes wrong while we follow: the dispatcher drops it without a word."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the border to somebody's running pipeline
            self.recorder.skip("it could not be followed", f"{type(error).__name__}: {error}")

    def ended(self, query: EndedQuery, result: object) -> None:
        """A query came back: keep it now, or when its stream has been read."""
        match result:
            case Response(response=text) | AgentChatResponse(response=text):
                self.keep(query, text)
            case PydanticResponse(response=model):
                self.keep(query, None if model is None else model.model_dump_json())
            case StreamingResponse() | AsyncStreamingResponse() if result.response_txt is not None:
                self.keep(query, result.response_txt)
            case StreamingResponse() if result.response_gen is not None:
                result.response_gen = self._read(result.response_gen, query)
            case AsyncStreamingResponse() if result.response_gen is not None:
                result.response_gen = self._aread(result.response_gen, query)
            case StreamingAgentChatResponse():
                self._wait_for(result, query)
            case _:
                self.keep(query, result if isinstance(result, str) else None)

    def keep(self, query: EndedQuery, text: object) -> None:
        if not isinstance(text, str) or not text.strip():
            self.recorder.skip(NO_RESPONSE)
            return
        notes = query.notes if query.query is not None else {**query.notes, "query": NO_QUERY}
        self.recorder.keep(
            FinishedRun(
                query=query.query,
                chunks=query.chunks,
                response=text,
                external_id=query.span_id,
                notes=notes,
            )
        )

    def written(self, response: StreamingAgentChatResponse, *, failed: bool) -> None:
        """Note that the text of a streamed chat is whole, or will not come."""
        with self._lock:
            _, query = self._writing.pop(id(response), (None, None))
        if query is not None and failed:
            self.recorder.skip(_FAILED, expected=True)
        elif query is not None:
            self.keep(query, response.response)

    def _wait_for(self, response: StreamingAgentChatResponse, query: EndedQuery) -> None:
        """A thread or task of LlamaIndex writes the text; it may have ended already."""
        with self._lock:
            over = response.is_done or response.exception is not None
            if not over:
                self._writing[id(response)] = (response, query)
        if response.exception is not None and over:
            self.recorder.skip(_FAILED, expected=True)
        elif over:
            self.keep(query, response.response)

    def _read(self, tokens: Generator[Any, None, None], query: EndedQuery) -> Generator[Any]:
        """Pass the tokens on as they come, and keep their text at the end."""
        parts: list[str] = []
        try:
            for token in tokens:
                parts.append(str(token))
                yield token
        except GeneratorExit:
            self.recorder.skip(_CUT)
            raise
        except BaseException:
            self.recorder.skip(_FAILED, expected=True)
            raise
        self.keep(query, "".join(parts))

    async def _aread(self, tokens: AsyncGenerator[Any], query: EndedQuery) -> AsyncGenerator[Any]:
        parts: list[str] = []
        try:
            async for token in tokens:
                parts.append(str(token))
                yield token
        except GeneratorExit:
            self.recorder.skip(_CUT)
            raise
        except BaseException:
            self.recorder.skip(_FAILED, expected=True)
            raise
        self.keep(query, "".join(parts))


class _SpanHandler(BaseSpanHandler[BaseSpan]):
    """Follows the spans of queries; keeps none of them itself."""

    _watch: _Watch = PrivateAttr()

    def __init__(self, watch: _Watch) -> None:
        super().__init__(open_spans={}, completed_spans=[], dropped_spans=[], current_span_ids={})
        self._watch = watch

    @classmethod
    def class_name(cls) -> str:
        """Name in a dump of the dispatcher."""
        return "AletheiaSpanHandler"

    def span_enter(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: object = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,  # noqa: ARG002
        **_kwargs: object,
    ) -> None:
        """Note a span, and what it was asked or given."""
        kind = _kind(id_, instance)
        given = bound_args.arguments
        nodes = given.get("nodes") if kind == "synthesis" else None
        query = _asked(next(iter(given.values()), None)) if kind == "query" else None
        nodes = nodes if isinstance(nodes, list | tuple) else None
        with self._watch.guard():
            gone = self._watch.book.enter(id_, parent_id, kind, query=query, nodes=nodes)
            for _ in range(gone):
                self._watch.recorder.skip("it was never ended")

    def span_exit(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,  # noqa: ARG002 - the dispatcher passes it by name
        instance: object = None,
        result: object = None,
        **_kwargs: object,
    ) -> None:
        """Take the result where the span is the query itself."""
        if isinstance(instance, StreamingAgentChatResponse) and _method(id_) in _WRITERS:
            self._watch.written(instance, failed=False)
        with self._watch.guard():
            query = self._watch.book.exit(id_, getattr(result, "source_nodes", None) or ())
            if query is not None:
                self._watch.ended(query, result)

    def span_drop(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,  # noqa: ARG002
        instance: object = None,
        err: BaseException | None = None,
        **_kwargs: object,
    ) -> None:
        """Let a span go that failed."""
        if isinstance(instance, StreamingAgentChatResponse) and _method(id_) in _WRITERS:
            self._watch.written(instance, failed=True)
        if self._watch.book.fail(id_):
            # The application sees the error itself.
            self._watch.recorder.skip(_FAILED, type(err).__name__, expected=True)

    def new_span(self, *_args: object, **_kwargs: object) -> None:
        """Keep no span: `span_enter` does without."""

    def prepare_to_exit_span(self, *_args: object, **_kwargs: object) -> None:
        """Keep no span."""

    def prepare_to_drop_span(self, *_args: object, **_kwargs: object) -> None:
        """Keep no span."""


class _EventHandler(BaseEventHandler):
    """Takes what retrievers say they found."""

    _watch: _Watch = PrivateAttr()

    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self._watch = watch

    @classmethod
    def class_name(cls) -> str:
        """Name in a dump of the dispatcher."""
        return "AletheiaEventHandler"

    def handle(self, event: object, **_kwargs: object) -> None:
        """Note the nodes of a retrieval, also where there are none."""
        if isinstance(event, RetrievalEndEvent):
            with self._watch.guard():
                self._watch.book.retrieved(event.span_id, event.nodes)


def _method(span_id: str) -> str:
    """`RetrieverQueryEngine.query-<uuid>` is a span of `query`."""
    return span_id.partition("-")[0].rpartition(".")[2]


def _kind(span_id: str, instance: object) -> SpanKind:
    method = _method(span_id)
    if any(isinstance(instance, cls) and method in names for cls, names in _QUERIES.items()):
        return "query"
    if isinstance(instance, BaseSynthesizer) and method in _SYNTHESES:
        return "synthesis"
    return "other"


def _asked(value: object) -> str | None:
    """The text of a query, a query bundle or a message."""
    text = value if isinstance(value, str) else getattr(value, "query_str", None)
    return text if isinstance(text, str) and text.strip() else None
