"""The LlamaIndex adapter, against the real package: engines of theirs, mock models of theirs."""

from __future__ import annotations

import gc
import inspect
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.base.response.schema import Response, StreamingResponse
from llama_index.core.chat_engine import (
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.indices.postprocessor import SimilarityPostprocessor
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import (
    CustomQueryEngine,
    RetrieverQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen.types import SubQuestion
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool

from aletheia.sdk import llamaindex
from aletheia.store import open_store

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ANSWER = "It runs at 40 Hz."
PUMP, MILL = "The pump runs at 40 Hz.", "The mill stands still."


class Fixed(MockLLM):
    """Says `ANSWER`."""

    def complete(self, prompt: str, formatted: bool = False, **_kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=ANSWER)

    def stream_complete(self, prompt: str, formatted: bool = False, **_kwargs: Any) -> Any:
        said = ""
        for word in ANSWER.split(" "):
            delta = word if not said else f" {word}"
            said += delta
            yield CompletionResponse(text=said, delta=delta)


class Found(BaseRetriever):
    """A retriever that finds fixed texts."""

    def __init__(self, *texts: str, broken: bool = False) -> None:
        super().__init__()
        self.texts, self.broken = texts, broken

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self.broken:
            raise ConnectionError("the index is away")
        return [
            NodeWithScore(
                node=TextNode(text=text, id_=f"n{at}", metadata={"file_name": f"{at}.md"}),
                score=0.9 - at / 2,
            )
            for at, text in enumerate(self.texts)
        ]


@dataclass
class Traces:
    kept: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, query: Any, context: Any, response: Any, **more: Any) -> None:
        self.kept.append({"query": query, "chunks": context, "response": response, **more})

    @property
    def only(self) -> dict[str, Any]:
        assert len(self.kept) == 1, self.kept
        return self.kept[0]

    @property
    def texts(self) -> list[str]:
        return [chunk.text for chunk in self.only["chunks"]]


@pytest.fixture
def traces() -> Iterator[Traces]:
    found = Traces()
    llamaindex.install(record=found)
    yield found
    assert _held() == 0
    llamaindex.uninstall()


def _held() -> int:
    """Spans that the adapter holds on to."""
    from llama_index.core.instrumentation import root_dispatcher

    ours = [item for item in root_dispatcher.span_handlers if "Aletheia" in item.class_name()]
    return sum(len(item._watch.book) + len(item._watch._writing) for item in ours)  # type: ignore[attr-defined]


def engine(retriever: BaseRetriever | None = None, **more: Any) -> RetrieverQueryEngine:
    synthesizer = get_response_synthesizer(llm=Fixed(), streaming=more.pop("streaming", False))
    return RetrieverQueryEngine(retriever or Found(PUMP, MILL), synthesizer, **more)


def chat(kind: str) -> Any:
    memory = ChatMemoryBuffer.from_defaults(token_limit=10_000, tokenizer_fn=str.split)
    if kind == "context":
        return ContextChatEngine.from_defaults(Found(PUMP, MILL), llm=Fixed(), memory=memory)
    return CondenseQuestionChatEngine.from_defaults(engine(), llm=Fixed(), memory=memory)


async def _stream(asked: Any) -> str:
    response = await engine(streaming=True).aquery(asked)
    return "".join([token async for token in response.async_response_gen()])  # type: ignore[union-attr]


async def _stream_chat(kind: str) -> str:
    response = await chat(kind).astream_chat("How fast?")
    return "".join([token async for token in response.async_response_gen()])


WAYS: dict[str, Callable[[], object]] = {
    "query": lambda: engine().query("How fast?"),
    "bundle": lambda: engine().query(QueryBundle("How fast?")),
    "aquery": lambda: anyio.run(engine().aquery, "How fast?"),
    "stream": lambda: "".join(engine(streaming=True).query("How fast?").response_gen),  # type: ignore[union-attr]
    "stream as text": lambda: str(engine(streaming=True).query("How fast?")),
    "astream": lambda: anyio.run(_stream, "How fast?"),
    "chat": lambda: chat("context").chat("How fast?"),
    "achat": lambda: anyio.run(chat("context").achat, "How fast?"),
    "stream_chat": lambda: "".join(chat("context").stream_chat("How fast?").response_gen),
    "astream_chat": lambda: anyio.run(_stream_chat, "context"),
    "condensed chat": lambda: chat("condense").chat("How fast?"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_query_is_one_trace_whichever_way_it_runs(way: str, traces: Traces) -> None:
    assert str(WAYS[way]()) == ANSWER

    trace = traces.only
    assert (trace["query"], trace["response"]) == ("How fast?", ANSWER)
    assert traces.texts == [PUMP, MILL]
    assert [chunk.source for chunk in trace["chunks"]] == ["0.md", "1.md"]
    assert [chunk.score for chunk in trace["chunks"]] == [0.9, 0.4]
    assert (trace["source"], trace["notes"]) == ("llamaindex", {})


@pytest.mark.parametrize("streaming", [False, True])
def test_what_a_caller_gets_is_what_it_was(streaming: bool, traces: Traces) -> None:
    watched: Any = engine(streaming=streaming).query("How fast?")
    llamaindex.uninstall()
    alone: Any = engine(streaming=streaming).query("How fast?")

    assert type(watched) is type(alone)
    if streaming:
        assert isinstance(watched, StreamingResponse)
        assert inspect.isgenerator(watched.response_gen) == inspect.isgenerator(alone.response_gen)
        assert list(watched.response_gen) == list(alone.response_gen)
    assert str(watched.source_nodes) == str(alone.source_nodes)


def test_queries_at_once_do_not_mix(traces: Traces) -> None:
    class Echo(Found):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(text=f"about {query_bundle.query_str}"))]

    asked = engine(Echo())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(asked.query, [f"question {at}" for at in range(16)]))

    pairs = {(trace["query"], trace["chunks"][0].text) for trace in traces.kept}
    assert pairs == {(f"question {at}", f"about question {at}") for at in range(16)}
    assert len({trace["external_id"] for trace in traces.kept}) == 16


# --- retrieval --------------------------------------------------------------------------------


def test_an_empty_retrieval_says_so(traces: Traces) -> None:
    engine(Found()).query("How fast?")

    assert traces.only["chunks"] == ()
    assert traces.only["notes"] == {"retrieval": "nothing was retrieved"}


def test_a_chat_without_retrieval_says_so(traces: Traces) -> None:
    SimpleChatEngine.from_defaults(
        llm=Fixed(), memory=ChatMemoryBuffer.from_defaults(token_limit=99, tokenizer_fn=str.split)
    ).chat("How fast?")

    assert traces.only["notes"] == {"retrieval": "no retriever event"}


def test_nodes_that_a_postprocessor_took_away_were_not_shown(traces: Traces) -> None:
    cutoff = SimilarityPostprocessor(similarity_cutoff=0.5)
    engine(node_postprocessors=[cutoff]).query("How fast?")

    assert traces.texts == [PUMP]


def test_a_retriever_over_retrievers_counts_once(traces: Traces) -> None:
    both = QueryFusionRetriever(
        [Found(PUMP), Found(PUMP, MILL)], llm=Fixed(), num_queries=1, use_async=False
    )
    engine(both).query("How fast?")

    assert sorted(traces.texts) == sorted([PUMP, MILL])


@pytest.mark.parametrize("use_async", [False, True])
def test_queries_inside_a_query_give_their_nodes_and_not_their_answers(
    use_async: bool, traces: Traces
) -> None:
    """One trace for the question that was asked, not one for each part of it."""

    class Split:
        def generate(self, tools: Any, query: Any) -> list[SubQuestion]:
            return [
                SubQuestion(sub_question=f"{tool.name}?", tool_name=tool.name) for tool in tools
            ]

        async def agenerate(self, tools: Any, query: Any) -> list[SubQuestion]:
            return self.generate(tools, query)

    tools = [
        QueryEngineTool.from_defaults(engine(Found(text)), name=name, description=name)
        for name, text in (("pump", PUMP), ("mill", MILL))
    ]
    asked = SubQuestionQueryEngine(
        question_gen=Split(),  # type: ignore[arg-type]
        response_synthesizer=get_response_synthesizer(llm=Fixed()),
        query_engine_tools=tools,
        verbose=False,
        use_async=use_async,
    )
    asked.query("How fast, and where?")

    assert traces.only["query"] == "How fast, and where?"
    assert sorted(traces.texts) == sorted([PUMP, MILL])


def test_nodes_of_a_response_stand_in_for_the_event(traces: Traces) -> None:
    class Own(CustomQueryEngine):
        def custom_query(self, query_str: str) -> Response:  # type: ignore[override]
            return Response(ANSWER, source_nodes=[NodeWithScore(node=TextNode(text=PUMP))])

    Own().query("How fast?")

    assert traces.texts == [PUMP]
    assert traces.only["notes"] == {"retrieval": "nodes of the response, no retriever event"}


def test_by_default_the_trace_is_in_the_store() -> None:
    """Without `record`: `aletheia.log`, also from the thread that writes a streamed chat."""
    llamaindex.install()
    try:
        engine().query("How fast?")
        "".join(chat("context").stream_chat("And why?").response_gen)
    finally:
        llamaindex.uninstall()

    with open_store(Path(os.environ["ALETHEIA_DB_PATH"])) as store:
        kept = [(trace.query, trace.source, len(trace.chunks)) for trace in store.traces()]
    assert kept == [("How fast?", "llamaindex", 2), ("And why?", "llamaindex", 2)]


# --- what is no trace -------------------------------------------------------------------------


def _skipped() -> dict[str, int]:
    from llama_index.core.instrumentation import root_dispatcher

    (ours,) = (item for item in root_dispatcher.span_handlers if "Aletheia" in item.class_name())
    return dict(ours._watch.recorder.skipped)  # type: ignore[attr-defined]


def _read_one() -> None:
    response: Any = engine(streaming=True).query("How fast?")
    next(response.response_gen)
    del response
    gc.collect()


def _fail() -> None:
    with pytest.raises(ConnectionError, match="the index is away"):
        engine(Found(broken=True)).query("How fast?")


def _say_nothing() -> None:
    class Silent(CustomQueryEngine):
        def custom_query(self, query_str: str) -> Response:  # type: ignore[override]
            return Response(None)

    Silent().query("How fast?")


NO_TRACE = {
    "it failed": _fail,
    "its stream was not read to the end": _read_one,
    "no response found in the output": _say_nothing,
}


@pytest.mark.parametrize("reason", NO_TRACE)
def test_what_is_no_trace_is_counted(reason: str, traces: Traces) -> None:
    NO_TRACE[reason]()

    assert traces.kept == []
    assert _skipped() == {reason: 1}


def test_what_cannot_be_followed_is_told(traces: Traces) -> None:
    """A node that cannot say its text: the engine works, and the trace is not made up."""

    class Odd(TextNode):
        def get_content(self, metadata_mode: Any = None) -> str:
            if metadata_mode is None:
                raise ValueError("no text without a mode")
            return PUMP

    class Odds(Found):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=Odd(text=PUMP))]

    assert str(engine(Odds()).query("How fast?")) == ANSWER
    assert _skipped()["it could not be followed"] >= 1


def test_a_log_that_fails_never_reaches_the_engine() -> None:
    def broken(*_args: object, **_more: object) -> None:
        raise OSError("disk full")

    llamaindex.install(record=broken)
    try:
        assert str(engine().query("How fast?")) == ANSWER
        assert _skipped() == {"it could not be logged": 1}
    finally:
        llamaindex.uninstall()


def test_a_retriever_alone_is_no_trace(traces: Traces) -> None:
    Found(PUMP).retrieve("How fast?")

    assert traces.kept == []


def test_install_is_idempotent_and_uninstall_ends_it() -> None:
    traces = Traces()

    assert not llamaindex.is_installed()
    assert (llamaindex.install(record=traces), llamaindex.install(record=traces)) == (2, 0)
    assert llamaindex.is_installed()
    engine().query("How fast?")
    assert (llamaindex.uninstall(), llamaindex.uninstall()) == (2, 0)
    engine().query("How fast?")

    assert not llamaindex.is_installed()
    assert len(traces.kept) == 1


def test_async_queries_at_once_do_not_mix(traces: Traces) -> None:
    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            for asked in ("one?", "two?"):
                tasks.start_soon(partial(engine().aquery, asked))

    anyio.run(both)

    assert sorted(trace["query"] for trace in traces.kept) == ["one?", "two?"]
    assert all(len(trace["chunks"]) == 2 for trace in traces.kept)
