"""The callback handler, against the real LangChain and LangGraph (field case 148)."""

from __future__ import annotations

import gc
import operator
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import anyio
import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableConfig,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langchain_core.tools import tool
from pydantic import BaseModel

from aletheia.schema.trace import ContextChunk
from aletheia.sdk.langchain import AletheiaCallbackHandler
from aletheia.sdk.langchain_runs import MOST_OPEN
from aletheia.store import open_store

PUMP = Document(page_content="The pump runs at 40 Hz.", metadata={"source": "pump.md"})
MILL = Document(page_content="The mill stands still.", metadata={"score": 0.25})
ANSWER = "It runs at 40 Hz."


@dataclass
class Traces:
    """Keeps what the handler hands over."""

    kept: list[dict[str, Any]] = field(default_factory=list)

    def __call__(
        self, query: str | None, context: tuple[ContextChunk, ...], response: str, **more: Any
    ) -> None:
        self.kept.append({"query": query, "chunks": context, "response": response, **more})

    @property
    def only(self) -> dict[str, Any]:
        assert len(self.kept) == 1
        return self.kept[0]

    @property
    def texts(self) -> list[str]:
        return [chunk.text for chunk in self.only["chunks"]]


class Found(BaseRetriever):
    """A retriever that finds `docs`, or fails."""

    docs: tuple[Document, ...] = ()
    broken: bool = False

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        if self.broken:
            raise ConnectionError("the index is away")
        return list(self.docs)


@pytest.fixture
def traces() -> Traces:
    return Traces()


@pytest.fixture
def handler(traces: Traces) -> AletheiaCallbackHandler:
    return AletheiaCallbackHandler(record=traces)


@pytest.fixture
def config(handler: AletheiaCallbackHandler) -> RunnableConfig:
    return {"callbacks": [handler]}


def joined(documents: list[Document]) -> str:
    return "\n".join(item.page_content for item in documents)


def rag(retriever: Runnable[Any, Any] | None = None, *, parser: bool = True) -> Runnable[Any, Any]:
    """`retriever | format_docs | prompt | model`, the chain of the guides."""
    found = retriever or Found(docs=(PUMP, MILL)) | joined
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    model = FakeListChatModel(responses=[ANSWER])
    chain = {"context": found, "question": RunnablePassthrough()} | prompt | model
    return chain | StrOutputParser() if parser else chain


async def _astream(chain: Runnable[Any, Any], asked: Any, config: RunnableConfig) -> list[Any]:
    return [chunk async for chunk in chain.astream(asked, config)]


async def _events(chain: Runnable[Any, Any], asked: Any, config: RunnableConfig) -> list[Any]:
    return [event async for event in chain.astream_events(asked, config, version="v2")]


WAYS = {
    "invoke": lambda chain, asked, config: chain.invoke(asked, config),
    "stream": lambda chain, asked, config: list(chain.stream(asked, config)),
    "batch": lambda chain, asked, config: chain.batch([asked], config),
    "ainvoke": lambda chain, asked, config: anyio.run(chain.ainvoke, asked, config),
    "abatch": lambda chain, asked, config: anyio.run(chain.abatch, [asked], config),
    "astream": lambda chain, asked, config: anyio.run(_astream, chain, asked, config),
    "astream_events": lambda chain, asked, config: anyio.run(_events, chain, asked, config),
}


# --- every way to run a chain -----------------------------------------------------------------


@pytest.mark.parametrize("parser", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_a_run_is_one_trace_whichever_way_it_runs(
    way: str, parser: bool, traces: Traces, config: RunnableConfig, handler: AletheiaCallbackHandler
) -> None:
    WAYS[way](rag(parser=parser), "How fast?", config)

    trace = traces.only
    assert (trace["query"], trace["response"]) == ("How fast?", ANSWER)
    assert traces.texts == [PUMP.page_content, MILL.page_content]
    assert [chunk.source for chunk in trace["chunks"]] == ["pump.md", None]
    assert [chunk.score for chunk in trace["chunks"]] == [None, 0.25]
    assert (trace["source"], trace["notes"]) == ("langchain", {})
    assert handler.open_runs == 0


def test_runs_at_once_do_not_mix(traces: Traces, handler: AletheiaCallbackHandler) -> None:
    """One handler, many threads: each trace has its own question and its own document."""
    echo = RunnableLambda(lambda asked: [Document(page_content=f"about {asked}")])

    class Echo(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
            return echo.func(query)  # type: ignore[no-any-return]

    chain = rag(Echo() | joined).with_config(callbacks=[handler])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(chain.invoke, [f"question {at}" for at in range(64)]))

    pairs = {(trace["query"], trace["chunks"][0].text) for trace in traces.kept}
    assert pairs == {(f"question {at}", f"about question {at}") for at in range(64)}
    assert len({trace["external_id"] for trace in traces.kept}) == 64
    assert handler.open_runs == 0


def test_nothing_is_held_of_runs_that_ended(handler: AletheiaCallbackHandler) -> None:
    """What a run leaves behind is a bounded list of ids."""
    chain = rag().with_config(callbacks=[handler])
    for _ in range(3):
        chain.invoke("How fast?")
    gc.collect()
    before = sum(isinstance(item, ContextChunk) for item in gc.get_objects())
    handler._recorder._record = lambda *_args, **_more: None
    for _ in range(50):
        chain.invoke("How fast?")
    gc.collect()

    assert sum(isinstance(item, ContextChunk) for item in gc.get_objects()) <= before
    assert handler.open_runs == 0


# --- retrieval --------------------------------------------------------------------------------


def test_an_empty_retrieval_says_so(traces: Traces, config: RunnableConfig) -> None:
    rag(Found() | joined).invoke("How fast?", config)

    assert traces.only["chunks"] == ()
    assert traces.only["notes"] == {"retrieval": "nothing was retrieved"}


def test_without_a_retriever_event_the_trace_says_so(
    traces: Traces, config: RunnableConfig
) -> None:
    """An empty context that nobody measured must not look like one that was."""
    chain = ChatPromptTemplate.from_template("{question}") | FakeListChatModel(responses=[ANSWER])
    chain.invoke({"question": "How fast?"}, config)

    assert traces.only["chunks"] == ()
    assert traces.only["notes"] == {"retrieval": "no retriever event"}


def _search(_asked: str) -> list[Document]:
    return [PUMP, MILL]


UNSEEN = {
    "documents of a function": RunnableLambda(_search) | joined,
    "pairs of document and score": RunnableLambda(lambda _: [(PUMP, 0.9), (MILL, 0.1)])
    | RunnableLambda(lambda pairs: joined([item for item, _ in pairs])),
}


@pytest.mark.parametrize("retriever", UNSEEN.values(), ids=list(UNSEEN))
def test_documents_that_pass_by_stand_in_for_the_event(
    retriever: Runnable[Any, Any], traces: Traces, config: RunnableConfig
) -> None:
    rag(retriever).invoke("How fast?", config)

    assert traces.texts == [PUMP.page_content, MILL.page_content]
    assert traces.only["notes"]["retrieval"].endswith("no retriever event")


def test_a_context_that_was_only_text_stands_in_for_the_event(
    traces: Traces, config: RunnableConfig
) -> None:
    rag(RunnableLambda(lambda _: "The pump runs at 40 Hz.")).invoke("How fast?", config)

    assert traces.texts == ["The pump runs at 40 Hz."]
    assert traces.only["notes"]["retrieval"].endswith("no retriever event")


def test_several_retrievers_in_threads_stand_in_the_order_they_began(
    traces: Traces, config: RunnableConfig
) -> None:
    both = RunnableParallel(one=Found(docs=(PUMP,)), two=Found(docs=(MILL,)))
    rag(both | (lambda found: joined(found["one"] + found["two"]))).invoke("How fast?", config)

    assert sorted(traces.texts) == sorted([PUMP.page_content, MILL.page_content])
    assert [chunk.rank for chunk in traces.only["chunks"]] == [0, 1]


def test_a_retriever_inside_a_retriever_is_a_step_of_it(
    traces: Traces, config: RunnableConfig
) -> None:
    """What a reranker threw away was not shown to the model."""

    class Rerank(BaseRetriever):
        base: BaseRetriever

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return self.base.invoke(query, {"callbacks": run_manager.get_child()})[:1]

    rag(Rerank(base=Found(docs=(PUMP, MILL))) | joined).invoke("How fast?", config)

    assert traces.texts == [PUMP.page_content]


def test_the_retrieval_of_an_attempt_that_failed_does_not_count_twice(
    traces: Traces, config: RunnableConfig
) -> None:
    tries: list[str] = []

    def unsteady(text: str) -> str:
        tries.append(text)
        if len(tries) == 1:
            raise TimeoutError
        return text

    attempt = (Found(docs=(PUMP,)) | joined | unsteady).with_retry(
        stop_after_attempt=2, wait_exponential_jitter=False
    )
    rag(attempt).invoke("How fast?", config)

    assert traces.texts == [PUMP.page_content]


def test_a_retrieval_that_failed_is_said(traces: Traces, config: RunnableConfig) -> None:
    fallback = Found(broken=True).with_fallbacks([RunnableLambda(lambda _: [])])
    rag(fallback | joined).invoke("How fast?", config)

    assert traces.only["notes"] == {
        "retrieval": "nothing was retrieved",
        "failed_retrievals": "1",
    }


# --- what is no trace -------------------------------------------------------------------------


def _close_early(chain: Runnable[Any, Any], config: RunnableConfig) -> None:
    stream = chain.stream("How fast?", config)
    next(stream)
    stream.close()


def _failing(chain: Runnable[Any, Any], config: RunnableConfig) -> None:
    with pytest.raises(ZeroDivisionError):
        (chain | (lambda _: 1 // 0)).invoke("How fast?", config)


NO_TRACE = {
    "it failed": _failing,
    "its stream was not read to the end": _close_early,
    "it is a retriever by itself": lambda _, config: Found(docs=(PUMP,)).invoke("How?", config),
    "no response found in the output": lambda chain, config: (chain | (lambda _: 42)).invoke(
        "How fast?", config
    ),
}


@pytest.mark.parametrize("parser", [True, False])
@pytest.mark.parametrize("reason", NO_TRACE)
def test_what_is_no_trace_is_counted_and_let_go(
    reason: str,
    parser: bool,
    traces: Traces,
    config: RunnableConfig,
    handler: AletheiaCallbackHandler,
) -> None:
    NO_TRACE[reason](rag(parser=parser), config)
    gc.collect()

    assert traces.kept == []
    assert handler.skipped == {reason: 1}
    assert handler.open_runs == 0


def test_roots_that_nobody_ends_are_let_go(handler: AletheiaCallbackHandler) -> None:
    """An open stream whose generator somebody keeps is not held for ever."""
    for _ in range(MOST_OPEN + 3):
        handler.on_chain_start({}, "How fast?", run_id=uuid4())

    assert handler.open_runs == MOST_OPEN
    assert handler.skipped == {"it was never ended": 3}


def test_a_step_that_begins_after_its_root_ended_is_no_root(
    traces: Traces, handler: AletheiaCallbackHandler
) -> None:
    root, late = uuid4(), uuid4()
    handler.on_chain_start({}, "How fast?", run_id=root)
    handler.on_chain_end(ANSWER, run_id=root)
    handler.on_chain_start({}, "late", run_id=late, parent_run_id=root)
    handler.on_chain_end("late", run_id=late)

    assert traces.only["response"] == ANSWER
    assert handler.open_runs == 0


def test_a_log_that_fails_never_reaches_the_chain() -> None:
    def broken(*_args: object, **_more: object) -> None:
        raise OSError("disk full")

    handler = AletheiaCallbackHandler(record=broken)

    assert rag().invoke("How fast?", {"callbacks": [handler]}) == ANSWER
    assert (handler.recorded, handler.skipped) == (0, {"it could not be logged": 1})


def test_a_chain_inside_a_chain_belongs_to_its_root(traces: Traces, config: RunnableConfig) -> None:
    inner = rag()
    (RunnableLambda(lambda asked: inner.invoke(asked)) | str.upper).invoke("How fast?", config)

    assert traces.only["response"] == ANSWER.upper()
    assert traces.texts == [PUMP.page_content, MILL.page_content]


def test_a_handler_deep_inside_sees_a_root_of_its_own(
    traces: Traces, handler: AletheiaCallbackHandler
) -> None:
    inner = rag().with_config(callbacks=[handler])
    (RunnableLambda(lambda asked: asked.strip()) | inner).invoke("  How fast? ")

    assert traces.only["query"] == "How fast?"


def test_places_of_question_and_answer_can_be_given(traces: Traces) -> None:
    handler = AletheiaCallbackHandler(
        record=traces, query=lambda given: given["ask"]["de"], response=lambda out: out["say"][0]
    )
    chain = RunnableLambda(lambda _: {"say": [ANSWER], "n": 1})
    chain.invoke({"ask": {"de": "Wie schnell?"}}, {"callbacks": [handler]})

    assert (traces.only["query"], traces.only["response"]) == ("Wie schnell?", ANSWER)


def test_by_default_the_trace_is_in_the_store() -> None:
    """Without `record`: `aletheia.log`, from sync and async code, and the run id is its own id."""
    handler = AletheiaCallbackHandler()
    rag().invoke("How fast?", {"callbacks": [handler]})
    anyio.run(rag(Found() | joined).ainvoke, "Why?", {"callbacks": [handler]})

    with open_store(Path(os.environ["ALETHEIA_DB_PATH"])) as store:
        kept = list(store.traces())
    assert [(trace.query, trace.response) for trace in kept] == [
        ("How fast?", ANSWER),
        ("Why?", ANSWER),
    ]
    assert [len(trace.chunks) for trace in kept] == [2, 0]
    assert [trace.notes.get("retrieval") for trace in kept] == [None, "nothing was retrieved"]
    assert {trace.source for trace in kept} == {"langchain"}
    assert len({trace.external_id for trace in kept}) == 2


# --- graphs and agents ------------------------------------------------------------------------


class State(TypedDict, total=False):
    question: str
    documents: list[Document]
    answer: str


def _graph() -> Any:
    from langgraph.graph import END, START, StateGraph

    def retrieve(state: State) -> State:
        return {"documents": Found(docs=(PUMP, MILL)).invoke(state["question"])}

    def generate(state: State) -> State:
        said = FakeListChatModel(responses=[ANSWER]).invoke(joined(state["documents"]))
        return {"answer": str(said.content)}

    graph = StateGraph(State)
    graph.add_node("retrieve", retrieve)
    graph.add_node("generate", generate)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("generate", END)
    return graph.compile()


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream"])
def test_nodes_of_a_graph_are_one_trace(
    way: str, traces: Traces, config: RunnableConfig, handler: AletheiaCallbackHandler
) -> None:
    WAYS[way](_graph(), {"question": "How fast?"}, config)

    trace = traces.only
    assert (trace["query"], trace["response"], trace["notes"]) == ("How fast?", ANSWER, {})
    assert traces.texts == [PUMP.page_content, MILL.page_content]
    assert handler.open_runs == 0


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]


def _agent(answer: Any = ANSWER) -> Any:
    """A model that calls a tool which retrieves, and then answers."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.prebuilt import ToolNode

    @tool
    def look_up(topic: str) -> str:
        """Look something up."""
        return joined(Found(docs=(PUMP,)).invoke(topic))

    call = {"name": "look_up", "args": {"topic": "pump"}, "id": "1", "type": "tool_call"}
    model = GenericFakeChatModel(
        messages=iter([AIMessage(content="", tool_calls=[call]), AIMessage(content=answer)])
    )
    graph = StateGraph(Talk)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].tool_calls else END
    )
    graph.add_edge("tools", "model")
    return graph.compile()


BLOCKS = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": ANSWER}]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ([HumanMessage("How fast?")], ANSWER),
        ([HumanMessage("Hello"), AIMessage("Hi"), HumanMessage("How fast?")], BLOCKS),
    ],
)
def test_an_agent_that_calls_tools_is_one_trace(
    asked: list[AnyMessage], answer: Any, traces: Traces, config: RunnableConfig
) -> None:
    _agent(answer).invoke({"messages": asked}, config)

    assert (traces.only["query"], traces.only["response"]) == ("How fast?", ANSWER)
    assert traces.texts == [PUMP.page_content]


def test_documents_in_the_artifact_of_a_tool_stand_in_for_the_event(
    traces: Traces, config: RunnableConfig
) -> None:
    @tool(response_format="content_and_artifact")
    def look_up(topic: str) -> tuple[str, list[Document]]:
        """Look something up."""
        return "found", [PUMP]

    call = {"name": "look_up", "args": {"topic": "pump"}, "id": "1", "type": "tool_call"}
    chain = RunnableLambda(lambda asked: (look_up.invoke(call), asked) and ANSWER)
    chain.invoke("How fast?", config)

    assert traces.texts == [PUMP.page_content]
    assert traces.only["notes"] == {"retrieval": "documents of `look_up`, no retriever event"}


def test_a_graph_that_waits_for_somebody_is_no_trace_until_it_goes_on(
    traces: Traces, handler: AletheiaCallbackHandler
) -> None:
    """Its state may hold the answer of the turn before."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command, interrupt

    def approve(state: State) -> State:
        return {"answer": interrupt("Is this right?")}

    graph = StateGraph(State)
    graph.add_node("approve", approve)
    graph.add_edge(START, "approve")
    graph.add_edge("approve", END)
    app = graph.compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"callbacks": [handler], "configurable": {"thread_id": "1"}}
    app.invoke({"question": "How fast?", "answer": "An old one."}, config)
    assert (traces.kept, handler.skipped) == ([], {"its graph was interrupted": 1})
    app.invoke(Command(resume=ANSWER), config)

    assert (traces.only["query"], traces.only["response"]) == ("How fast?", ANSWER)
    assert handler.open_runs == 0


def test_a_handler_that_is_given_twice_logs_once(
    traces: Traces, handler: AletheiaCallbackHandler
) -> None:
    rag().with_config(callbacks=[handler]).invoke("How fast?", {"callbacks": [handler]})

    assert traces.texts == [PUMP.page_content, MILL.page_content]
    assert handler.skipped == {}


def test_a_state_that_only_repeats_the_question_holds_no_answer(
    traces: Traces, config: RunnableConfig, handler: AletheiaCallbackHandler
) -> None:
    chain = RunnablePassthrough.assign(context=lambda _: PUMP.page_content)
    chain.invoke({"question": "How fast?"}, config)

    assert traces.kept == []
    assert handler.skipped == {"no response found in the output": 1}


def test_an_answer_in_a_model_of_pydantic_is_found(traces: Traces, config: RunnableConfig) -> None:
    class Cited(BaseModel):
        answer: str
        sources: list[str]

    chain = RunnableLambda(
        lambda _: {"raw": AIMessage(""), "parsed": Cited(answer=ANSWER, sources=["a"])}
    )
    chain.invoke("How fast?", config)

    assert traces.only["response"] == ANSWER


def test_an_async_graph_retrieves_in_its_own_task(
    traces: Traces, handler: AletheiaCallbackHandler
) -> None:
    graph = _graph().with_config(callbacks=[handler])

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            for asked in ("one?", "two?"):
                tasks.start_soon(partial(graph.ainvoke, {"question": asked}))

    anyio.run(both)

    assert sorted(trace["query"] for trace in traces.kept) == ["one?", "two?"]
    assert all(len(trace["chunks"]) == 2 for trace in traces.kept)
