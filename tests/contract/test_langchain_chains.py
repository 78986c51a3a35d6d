"""The classic retrieval chains, watched by a patch that changes nothing they give back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from langchain_classic.chains import (
    ConversationalRetrievalChain,
    RetrievalQA,
    RetrievalQAWithSourcesChain,
)
from langchain_core.documents import Document
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever

from aletheia.sdk import langchain

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

DOCS = [
    Document(page_content="The pump runs at 40 Hz.", metadata={"source": "pump.md"}),
    Document(page_content="The mill stands still.", metadata={"source": "mill.md"}),
]
ANSWER = "It runs at 40 Hz."


class Found(BaseRetriever):
    docs: list[Document] = DOCS

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return list(self.docs)


@dataclass
class Traces:
    kept: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, query: Any, context: Any, response: Any, **more: Any) -> None:
        self.kept.append({"query": query, "chunks": context, "response": response, **more})


@pytest.fixture
def traces() -> Iterator[Traces]:
    found = Traces()
    langchain.install(record=found)
    yield found
    langchain.uninstall()


class Counting(FakeListLLM):
    """Counts words: the default would fetch a tokenizer."""

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())


def model() -> FakeListLLM:
    return Counting(responses=[ANSWER])


def qa(**more: Any) -> Any:
    return RetrievalQA.from_chain_type(model(), retriever=Found(), **more)


def talk(**more: Any) -> Any:
    return ConversationalRetrievalChain.from_llm(model(), Found(), **more)


def sources(**more: Any) -> Any:
    return RetrievalQAWithSourcesChain.from_chain_type(model(), retriever=Found(), **more)


def map_reduce(**more: Any) -> Any:
    return qa(chain_type="map_reduce", **more)


CHAINS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "qa": (qa, {"query": "How fast?"}),
    "conversation": (talk, {"question": "How fast?", "chat_history": []}),
    "sources": (sources, {"question": "How fast?"}),
    "map_reduce": (map_reduce, {"query": "How fast?"}),
}

WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "invoke": lambda chain, asked: chain.invoke(asked),
    "call": lambda chain, asked: chain(asked),
    "only outputs": lambda chain, asked: chain(asked, return_only_outputs=True),
    "batch": lambda chain, asked: chain.batch([asked]),
    "ainvoke": lambda chain, asked: anyio.run(chain.ainvoke, asked),
    "acall": lambda chain, asked: anyio.run(chain.acall, asked),
}


@pytest.mark.parametrize("documents", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CHAINS)
def test_a_call_is_one_trace_and_gives_back_what_it_gave(
    name: str, way: str, documents: bool, traces: Traces
) -> None:
    """With and without `return_source_documents`."""
    make, asked = CHAINS[name]
    watched = WAYS[way](make(return_source_documents=documents), asked)
    langchain.uninstall()
    alone = WAYS[way](make(return_source_documents=documents), asked)

    assert watched == alone
    assert len(traces.kept) == 1
    trace = traces.kept[0]
    assert (trace["query"], trace["response"]) == ("How fast?", ANSWER)
    assert [chunk.text for chunk in trace["chunks"]] == [item.page_content for item in DOCS]
    assert [chunk.source for chunk in trace["chunks"]] == ["pump.md", "mill.md"]
    assert (trace["source"], trace["notes"]) == ("langchain", {})


def test_run_is_watched_too(traces: Traces) -> None:
    assert qa().run("How fast?") == ANSWER
    assert len(traces.kept) == 1


def test_install_counts_and_is_idempotent() -> None:
    assert not langchain.is_installed()
    before = RetrievalQA.invoke, RetrievalQA.ainvoke

    assert langchain.install(record=Traces()) == 3
    assert langchain.install(record=Traces()) == 0
    assert langchain.is_installed()
    assert langchain.uninstall() == 3
    assert langchain.uninstall() == 0

    assert not langchain.is_installed()
    assert (RetrievalQA.invoke, RetrievalQA.ainvoke) == before


def test_what_the_model_was_shown_counts_not_what_was_found(traces: Traces) -> None:
    """`max_tokens_limit` leaves documents out on the way to the model."""
    chain = talk(max_tokens_limit=7)
    shown = chain._get_docs("q", {}, run_manager=_NoManager())
    chain.invoke({"question": "How fast?", "chat_history": []})

    assert len(shown) < len(DOCS)
    assert [chunk.text for chunk in traces.kept[0]["chunks"]] == [
        item.page_content for item in shown
    ]


class _NoManager:
    def get_child(self) -> None:
        return None


def test_a_retrieval_of_nothing_says_so(traces: Traces) -> None:
    RetrievalQA.from_chain_type(model(), retriever=Found(docs=[])).invoke("How fast?")

    assert traces.kept[0]["chunks"] == ()
    assert traces.kept[0]["notes"] == {"retrieval": "nothing was retrieved"}


def test_an_error_of_the_chain_stays_its_own(traces: Traces) -> None:
    class Broken(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
            raise ConnectionError("the index is away")

    with pytest.raises(ConnectionError, match="the index is away"):
        RetrievalQA.from_chain_type(model(), retriever=Broken()).invoke("How fast?")

    assert traces.kept == []


def test_a_chain_with_a_handler_of_ours_is_logged_once(traces: Traces) -> None:
    own = Traces()
    handler = langchain.AletheiaCallbackHandler(record=own)
    qa().invoke("How fast?", {"callbacks": [handler]})
    qa(callbacks=[handler]).invoke("How fast?")

    assert (len(traces.kept), len(own.kept)) == (0, 2)


def test_other_callbacks_are_kept(traces: Traces) -> None:
    other = langchain.AletheiaCallbackHandler.__mro__[1]
    seen: list[str] = []

    class Mine(other):  # type: ignore[misc, valid-type]
        def on_chain_start(self, *_args: Any, **_more: Any) -> None:
            seen.append("start")

    qa().invoke("How fast?", {"callbacks": [Mine()]})

    assert seen
    assert len(traces.kept) == 1


def test_a_chain_of_create_retrieval_chain_is_watched_while_installed(traces: Traces) -> None:
    from langchain_classic.chains import create_retrieval_chain
    from langchain_classic.chains.combine_documents import create_stuff_documents_chain

    answer = create_stuff_documents_chain(
        model(), PromptTemplate.from_template("{context} {input}")
    )
    chain = create_retrieval_chain(Found(), answer)
    watched = chain.invoke({"input": "How fast?"})
    langchain.uninstall()

    assert chain.invoke({"input": "How fast?"}) == watched
    assert [trace["response"] for trace in traces.kept] == [ANSWER]
    assert len(traces.kept[0]["chunks"]) == 2


def test_the_modules_import_nothing_of_langchain_and_name_the_extra() -> None:
    """A process in which LangChain cannot be found."""
    code = """
import sys
class Away:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("langchain_core", "langchain_classic", "llama_index"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Away())
from aletheia.errors import MissingExtra
from aletheia.sdk import langchain, llamaindex
assert not langchain.is_installed() and not llamaindex.is_installed()
assert langchain.uninstall() == 0 and not llamaindex.uninstall()
for use, extra in (
    (langchain.install, "langchain"),
    (lambda: langchain.AletheiaCallbackHandler, "langchain"),
    (llamaindex.install, "llamaindex"),
):
    try:
        use()
    except MissingExtra as error:
        assert f"pip install 'aletheia-rag[{extra}]'" in str(error), error
    else:
        raise AssertionError(use)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
