"""The callback handler for runnables, graphs and chains of LangChain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from aletheia.sdk.adapter_texts import query_of, response_of
from aletheia.sdk.adapters import NO_QUERY, NO_RESPONSE, FinishedRun, Record, Recorder
from aletheia.sdk.langchain_runs import EndedRoot, RunBook, RunKind

__all__ = ["AletheiaCallbackHandler"]

_SOURCE: Final = "langchain"

# By name: LangGraph need not be installed.
_INTERRUPT: Final = "GraphInterrupt"

Extract = Callable[[Any], str | None]


class AletheiaCallbackHandler(BaseCallbackHandler):
    """Logs one trace for each root run that ends with an answer.

    Give it to a chain or graph: `chain.invoke(question, config={"callbacks": [handler]})`, or
    `chain.with_config(callbacks=[handler])`. One handler serves any number of runs, also at once,
    from threads and from async code. It raises nothing into the run.

    `record` keeps a trace in place of `aletheia.log`. `query` and `response` read the question
    from the root's input and the answer from its output, where the usual places are not right.
    """

    raise_error = False
    # Bookkeeping takes microseconds; a thread for each event, each token too, would cost more.
    run_inline = True

    def __init__(
        self,
        *,
        record: Record | None = None,
        query: Extract | None = None,
        response: Extract | None = None,
    ) -> None:
        super().__init__()
        self.enabled = True
        """Whether runs that begin now are followed."""
        self._recorder = Recorder(_SOURCE, record)
        self._runs = RunBook()
        self._query = query or query_of
        self._response = response or response_of

    @property
    def recorded(self) -> int:
        """How many traces were logged."""
        return self._recorder.recorded

    @property
    def skipped(self) -> Mapping[str, int]:
        """Why root runs are no traces, and how many each."""
        return self._recorder.skipped

    @property
    def open_runs(self) -> int:
        """How many runs are being followed; 0 when nothing runs."""
        return len(self._runs)

    @property
    def ignore_retry(self) -> bool:
        """Retries are seen as runs of their own."""
        return True

    @property
    def ignore_custom_event(self) -> bool:
        """Events of the application say nothing of retrieval."""
        return True

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,  # noqa: ANN401 - whatever the chain takes
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        """Follow a chain, a step of a runnable, or a node."""
        self._start("chain", serialized, run_id, parent_run_id, kwargs, inputs)

    def on_chain_end(
        self,
        outputs: Any,  # noqa: ANN401 - whatever the chain returns
        *,
        run_id: UUID,
        inputs: Any = None,  # noqa: ANN401
        **_kwargs: object,
    ) -> None:
        """Log the trace, where the chain is a root."""
        self._end(self._runs.end(run_id, outputs, inputs))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_kwargs: object) -> None:
        """Let a chain go that failed."""
        self._fail(error, run_id)

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        """Follow a retriever."""
        self._start("retriever", serialized, run_id, parent_run_id, kwargs, query)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **_kwargs: object) -> None:  # noqa: ANN401
        """Take the documents, also where there are none."""
        self._runs.retrieved(run_id, documents)
        self._end(self._runs.end(run_id))

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_kwargs: object) -> None:
        """Note a retrieval that failed: the chain may go on without it."""
        self._fail(error, run_id)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        """Follow a tool, in which a retriever may run."""
        self._start("tool", serialized, run_id, parent_run_id, kwargs, input_str)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_kwargs: object) -> None:  # noqa: ANN401
        """Look for documents among what the tool returned."""
        self._end(self._runs.end(run_id, output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_kwargs: object) -> None:
        """Let a tool go that failed."""
        self._fail(error, run_id)

    def on_llm_start(
        self,
        serialized: dict[str, Any] | None,
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        """Follow a model, to know whether its stream was read to the end."""
        if parent_run_id is not None:
            self._start("model", serialized, run_id, parent_run_id, kwargs, prompts)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: Any,  # noqa: ANN401 - lists of messages
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        """Follow a chat model."""
        self.on_llm_start(
            serialized, messages, run_id=run_id, parent_run_id=parent_run_id, **kwargs
        )

    def on_llm_end(self, response: Any, *, run_id: UUID, **_kwargs: object) -> None:  # noqa: ANN401
        """Let the model go."""
        self._runs.end(run_id, response)

    def on_llm_error(
        self,
        error: BaseException,  # noqa: ARG002 - the application sees it
        *,
        run_id: UUID,
        **_kwargs: object,
    ) -> None:
        """Let a model go that failed."""
        self._runs.fail(run_id)

    # --- one root ---------------------------------------------------------------------------

    def _start(
        self,
        kind: RunKind,
        serialized: dict[str, Any] | None,
        run_id: UUID,
        parent: UUID | None,
        more: dict[str, object],
        inputs: object,
    ) -> None:
        if not self.enabled:
            return
        name = str(more.get("name") or (serialized or {}).get("name") or kind)
        for _ in range(self._runs.start(run_id, parent, kind, name, inputs)):
            self._recorder.skip("it was never ended")

    def _fail(self, error: BaseException, run_id: UUID) -> None:
        interrupt = any(kind.__name__ == _INTERRUPT for kind in type(error).__mro__)
        if self._runs.fail(run_id, interrupt=interrupt):
            # The application sees the error itself.
            self._recorder.skip("it failed", type(error).__name__, expected=True)

    def _end(self, root: EndedRoot | None) -> None:
        if root is None:
            return
        if root.kind != "chain":
            self._recorder.skip(f"it is a {root.kind} by itself")
        elif root.interrupted:
            self._recorder.skip("its graph was interrupted", expected=True)
        elif root.cut:
            self._recorder.skip("its stream was not read to the end")
        elif response := self._response(root.outputs):
            self._keep(root, response)
        else:
            self._recorder.skip(NO_RESPONSE, f"(a `{type(root.outputs).__name__}`)")

    def _keep(self, root: EndedRoot, response: str) -> None:
        # A graph that goes on after an interrupt was asked before: the question is in its state.
        query = self._query(root.inputs) or self._query(root.outputs)
        self._recorder.keep(
            FinishedRun(
                query=query,
                chunks=root.chunks,
                response=response,
                external_id=str(root.run_id),
                notes=root.notes if query is not None else {**root.notes, "query": NO_QUERY},
            )
        )
