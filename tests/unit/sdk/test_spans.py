"""Files of spans become traces: every encoding, nothing dropped without a word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aletheia.errors import DataError
from aletheia.schema.stored import NewTrace
from aletheia.sdk.spans import SpanProblem, SpanReading, read_spans

DATA = Path(__file__).parents[2] / "data" / "spans"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
EMPTY = "0af7651916cd43dd8448eb211c80319c"
PUMP, MILL = "The pump runs at 40 Hz.", "The mill stands still."
QUERY, ANSWER = "How fast does the pump run?", "It runs at 40 Hz."
PASSAGES = [f"Passage {at}." for at in range(11)]

Chunk = tuple[str, str | None, float | None]


def traces(reading: SpanReading) -> list[NewTrace]:
    return [item for item in reading if isinstance(item, NewTrace)]


def problems(reading: SpanReading) -> list[SpanProblem]:
    return [item for item in reading if isinstance(item, SpanProblem)]


def chunks(trace: NewTrace) -> list[Chunk]:
    return [(chunk.text, chunk.source, chunk.score) for chunk in trace.chunks]


# --- files as exporters write them ------------------------------------------------------------

FILES: dict[str, list[Chunk]] = {
    "console.txt": [(PUMP, "pump.md", 0.5), (MILL, None, None)],
    "lines.jsonl": [(PUMP, "pump.md", 0.5), (MILL, None, None)],
    "phoenix.json": [(PUMP, "pump.md", 0.5), (MILL, None, 0.25)],
    "phoenix_frame.jsonl": [(PUMP, None, 0.5), (MILL, None, 0.25)],
    "genai.jsonl": [(PUMP, "doc_0", 0.5), (MILL, "doc_1", 0.25)],
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_each_exporter_is_read(name: str) -> None:
    (trace,) = (item for item in traces(read_spans(DATA / name)) if item.external_id == TRACE)

    assert (trace.query, trace.response) == (QUERY, ANSWER)
    assert chunks(trace) == FILES[name]
    assert (trace.source, trace.project) == ("import", "default")
    assert trace.created_at is not None
    assert trace.created_at.date() == datetime(2025, 11, 30, tzinfo=UTC).date()


def test_otlp_documents_are_in_the_order_of_numbers_and_retrievers_in_that_of_time() -> None:
    """`documents.10` comes after `documents.9`, and a span that stands first may have come last."""
    (trace,) = traces(read_spans(DATA / "otlp.json", project="pumps"))

    assert [text for text, _, _ in chunks(trace)] == [*PASSAGES, MILL]
    assert chunks(trace)[:2] == [("Passage 0.", "pump.md", 1.0), ("Passage 1.", "d1", 0.95)]
    assert [chunk.rank for chunk in trace.chunks] == list(range(12))
    assert (trace.external_id, trace.project) == (TRACE, "pumps")
    assert trace.created_at == datetime(2025, 11, 30, 10, 53, 20, tzinfo=UTC)


def test_zero_documents_are_said_and_counted() -> None:
    reading = read_spans(DATA / "lines.jsonl")
    found = {trace.external_id: trace for trace in traces(reading)}

    assert found[EMPTY].chunks == ()
    assert found[EMPTY].notes == {"retrieval": "nothing was retrieved"}
    assert found[TRACE].notes == {}
    assert reading.counts.as_dict() == {
        "spans": 4,
        "unread": 0,
        "double_spans": 0,
        "traces": 2,
        "without_query": 0,
        "without_retriever": 0,
        "without_documents": 1,
        "not_traces": 0,
    }


def test_a_model_inside_a_retrieval_answers_nobody() -> None:
    """Nor does one that calls a tool; the retriever's own query is not the question."""
    (trace,) = traces(read_spans(DATA / "genai.jsonl"))

    assert trace.notes == {
        "query": "of the llm span `chat model`",
        "response": "of the llm span `chat model`",
    }


def test_a_retriever_inside_a_retriever_is_a_step_of_it() -> None:
    (trace,) = traces(read_spans(DATA / "phoenix.json"))

    assert trace.notes == {"nested_retrievers": "1"}


# --- spans made for one rule ------------------------------------------------------------------


def span(
    span_id: str = "a1", kind: str | None = "CHAIN", parent: str | None = None, **more: Any
) -> dict[str, Any]:
    """A span in the flat form; `more` are attributes, with `__` for a dot."""
    attributes = {key.replace("__", "."): value for key, value in more.items()}
    if kind is not None:
        attributes["openinference.span.kind"] = kind
    return {
        "name": f"{kind} {span_id}",
        "context": {"trace_id": "0xabc1", "span_id": span_id},
        "parent_id": parent,
        "start_time": f"2026-01-01T00:00:00.{int(span_id, 16):06d}Z",
        "attributes": attributes,
    }


ROOT = span(input__value=QUERY, output__value=ANSWER)


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Write values as JSON Lines (or a text as it is) and read them."""

    def read(*values: object) -> SpanReading:
        path = tmp_path / "spans.jsonl"
        lines = [item if isinstance(item, str) else json.dumps(item) for item in values]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return read_spans(path)

    return read


DOCUMENTS: dict[str, tuple[Mapping[str, Any], list[Chunk]]] = {
    "as texts": ({"retrieval.documents": [PUMP]}, [(PUMP, None, None)]),
    "as JSON of texts": ({"retrieval.documents": json.dumps([PUMP])}, [(PUMP, None, None)]),
    "each as JSON": (
        {"retrieval.documents": [json.dumps({"document.content": PUMP, "document.id": 7})]},
        [(PUMP, "7", None)],
    ),
    "metadata as JSON": (
        {"retrieval.documents": [{"document": {"content": PUMP, "metadata": '{"source": "p"}'}}]},
        [(PUMP, "p", None)],
    ),
    "a score that is no number": (
        {"retrieval.documents": [{"content": PUMP, "score": "NaN"}]},
        [(PUMP, None, None)],
    ),
    "a gap in the numbers": (
        {
            "retrieval.documents.12.document.content": MILL,
            "retrieval.documents.9.document.content": PUMP,
        },
        [(PUMP, None, None), (MILL, None, None)],
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_read_in_every_encoding(name: str, read: Any) -> None:
    attributes, expected = DOCUMENTS[name]
    retriever = span("b2", "RETRIEVER", "a1") | {
        "attributes": {"openinference.span.kind": "RETRIEVER", **attributes}
    }
    (trace,) = traces(read(ROOT, retriever))

    assert chunks(trace) == expected


def test_documents_without_text_leave_the_context_unknown(read: Any) -> None:
    retriever = span(
        "b2", "RETRIEVER", "a1", gen_ai__retrieval__documents='[{"id": "d", "score": 1}]'
    )
    (trace,) = traces(read(ROOT, retriever))

    assert trace.notes == {"documents_without_text": "1", "retrieval": "no text of documents"}
    assert trace.context_unknown == "no text of documents"


def test_a_trace_without_a_retriever_says_so(read: Any) -> None:
    reading = read(ROOT)
    (trace,) = traces(reading)

    assert trace.notes == {"retrieval": "no retriever event"}
    assert trace.context_unknown is not None
    assert reading.counts.without_retriever == 1


QUERIES: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"input.value": QUERY}, QUERY),
    "text in brackets": ({"input.value": "[1] says what?"}, "[1] says what?"),
    "JSON that is text": ({"input.value": "[1]", "input.mime_type": "text/plain"}, "[1]"),
    "object": ({"input.value": json.dumps({"question": QUERY, "k": 3})}, QUERY),
    "only text of an object": ({"input.value": json.dumps({"ask": QUERY})}, QUERY),
    "messages": (
        {"input.value": json.dumps({"messages": [{"type": "human", "content": QUERY}]})},
        QUERY,
    ),
    "messages of a graph": (
        {"input.value": json.dumps({"messages": [["user", "Hello"], {"role": "user", "content": QUERY}]})},
        QUERY,
    ),
    "serialised message": (
        {
            "input.value": json.dumps(
                {"messages": [{"id": ["langchain", "HumanMessage"], "kwargs": {"content": QUERY}}]}
            )
        },
        QUERY,
    ),
    "Traceloop": ({"traceloop.entity.input": json.dumps({"inputs": {"query": QUERY}})}, QUERY),
    "old GenAI": (
        {"gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be brief.",
         "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": QUERY},
        QUERY,
    ),
    "blocks": (
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.type": "text",
            "llm.input_messages.0.message.contents.0.message_content.text": QUERY,
        },
        QUERY,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_the_question_is_read_in_every_encoding(name: str, read: Any) -> None:
    attributes, expected = QUERIES[name]
    root = span(output__value=ANSWER)
    root["attributes"] |= attributes
    (trace,) = traces(read(root))

    assert trace.query == expected


RESPONSES: dict[str, dict[str, Any]] = {
    "object": {"output.value": json.dumps({"answer": ANSWER, "context": []})},
    "state": {
        "output.value": json.dumps(
            {"messages": [{"type": "human", "content": QUERY}, {"type": "ai", "content": ANSWER}]}
        )
    },
    "messages": {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": ANSWER,
    },
    "GenAI": {
        "gen_ai.output.messages": [
            {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}
        ]
    },
    "old GenAI": {"gen_ai.completion.0.content": ANSWER},
    "Traceloop": {"traceloop.entity.output": json.dumps({"outputs": {"output": ANSWER}})},
}


@pytest.mark.parametrize("name", RESPONSES)
def test_the_answer_is_read_in_every_encoding(name: str, read: Any) -> None:
    root = span(input__value=QUERY)
    root["attributes"] |= RESPONSES[name]
    (trace,) = traces(read(root))

    assert trace.response == ANSWER


def test_events_of_a_genai_span_are_read(read: Any) -> None:
    root = span(kind=None, gen_ai__operation__name="chat")
    root["events"] = [
        {"name": "gen_ai.user.message", "attributes": {"content": QUERY}},
        {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": ANSWER})}},
    ]
    (trace,) = traces(read(root))

    assert (trace.query, trace.response) == (QUERY, ANSWER)


def test_a_root_of_the_web_server_leads_to_the_chain_below_it(read: Any) -> None:
    web = span(kind=None)
    chain = span("b2", "CHAIN", "a1", input__value=QUERY, output__value=ANSWER)
    title = span("c3", "LLM", "b2", output__value="A title")
    (trace,) = traces(read(web, chain, title))

    assert (trace.query, trace.response) == (QUERY, ANSWER)
    assert trace.notes["response"] == "of the chain span `CHAIN b2`"


def test_the_last_model_answers_where_the_root_does_not(read: Any) -> None:
    root = span(input__value=QUERY)
    first = span("b2", "LLM", "a1", output__value="Let me see.")
    last = span("c3", "LLM", "a1", output__value=ANSWER)
    broken = span("d4", "LLM", "a1", output__value="half") | {"status": {"status_code": "ERROR"}}
    (trace,) = traces(read(broken, last, first, root))

    assert trace.response == ANSWER


def test_attributes_may_stand_beside_the_fields_or_be_json(read: Any) -> None:
    flat = {
        "trace_id": "abc1",
        "span_id": "a1",
        "openinference.span.kind": "CHAIN",
        "input.value": QUERY,
        "attributes": json.dumps({"output": {"value": ANSWER}}),
    }
    (trace,) = traces(read(flat))

    assert (trace.query, trace.response) == (QUERY, ANSWER)


TIMES = {
    "ns as text": ("1764500000000000000", 0),
    "ns": (1764500000000000000, 0),
    "microseconds": (1764500000000000, 0),
    "milliseconds": (1764500000000, 0),
    "seconds": (1764500000.5, 500_000),
    "ISO with nanoseconds": ("2025-11-30T10:53:20.000001999Z", 1),
    "ISO with an offset": ("2025-11-30T11:53:20+01:00", 0),
    "ISO without one": ("2025-11-30 10:53:20", 0),
}


@pytest.mark.parametrize("name", TIMES)
def test_times_are_read_in_every_unit(name: str, read: Any) -> None:
    value, microseconds = TIMES[name]
    (trace,) = traces(read(ROOT | {"start_time": value}))

    assert trace.created_at == datetime(2025, 11, 30, 10, 53, 20, microseconds, tzinfo=UTC)


IDS = {
    "hexadecimal": TRACE,
    "upper case": TRACE.upper(),
    "with a prefix": f"0x{TRACE}",
    "base64": "S/kvNXezTaajzpKdDg5HNg==",
}


@pytest.mark.parametrize("name", IDS)
def test_an_id_is_one_however_it_is_written(name: str, read: Any) -> None:
    (trace,) = traces(read(ROOT | {"context": {"trace_id": IDS[name], "span_id": "a1"}}))

    assert trace.external_id == TRACE


# --- trouble ----------------------------------------------------------------------------------

GOOD = json.dumps(ROOT)
BAD: dict[str, tuple[str, int, str | None, str]] = {
    "not JSON": (f"{GOOD}\noops", 2, None, "the value is not JSON: expecting value at character 1"),
    "cut": (f"{GOOD[:80]}\n{GOOD}", 1, None, "the JSON value does not end"),
    "cut at the end": (f"{GOOD}\n{GOOD[:80]}", 2, None, "the JSON value does not end"),
    "no object": (f"{GOOD}\n17", 2, None, "a `int` stands where a span is expected"),
    "no trace id": (f'{GOOD}\n{{"name": "x"}}', 2, "trace_id", "it is missing or no id"),
    "no span id": (f'{GOOD}\n{{"trace_id": "abc1"}}', 2, "span_id", "it is missing or no id"),
    "attributes of a wrong type": (
        f'{GOOD}\n{{"trace_id": "abc1", "span_id": "b2", "attributes": 3}}',
        2,
        "attributes",
        "attributes are a `int`",
    ),
    "a time that is none": (
        f'{GOOD}\n{{"trace_id": "abc1", "span_id": "b2", "start_time": "soon"}}',
        2,
        "start_time",
        "'soon' is not a time",
    ),
    "a time before 1970": (
        f'{GOOD}\n{{"trace_id": "abc1", "span_id": "b2", "end_time": "0001-01-01T00:00:00+14:00"}}',
        2,
        "end_time",
        "'0001-01-01T00:00:00+14:00' is no time since 1970",
    ),
    "deep": (f"{GOOD}\n{'[' * 200_000}{']' * 200_000}", 2, None, "the value is nested too deeply or holds a number too long"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_listed_and_costs_only_itself(name: str, read: Any) -> None:
    text, line, field, message = BAD[name]
    reading = read(text)
    (problem,) = problems(reading)

    assert (problem.line, problem.field, problem.message) == (line, field, message)
    assert str(problem).startswith(f"line {line}: ")
    assert len(traces(reading)) == 1
    assert reading.counts.unread == 1


def test_a_trace_says_that_spans_of_it_could_not_be_read(read: Any) -> None:
    """One of them may have been the retriever."""
    broken = {"trace_id": "abc1", "span_id": "b2", "attributes": 3}
    (trace,) = traces(read(ROOT, broken))

    assert trace.notes["unread_spans"] == "1"


def test_a_line_that_is_not_utf8_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_bytes(b'{"name": "\xff"}\n' + GOOD.encode())
    reading = read_spans(path)

    assert [problem.line for problem in problems(reading)] == [1]
    assert len(traces(reading)) == 1


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot be read"), (b"\xff\xfe{\x00", "UTF-16")]
)
def test_a_file_that_cannot_be_read_is_an_error(
    content: bytes | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "spans.jsonl"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(DataError, match=message):
        list(read_spans(path))


def test_a_trace_without_an_answer_is_listed_and_counted(read: Any) -> None:
    reading = read(
        span(input__value=QUERY),
        span(kind=None) | {"trace_id": "def2", "context": {"span_id": "9"}},
    )

    assert [(item.line, item.trace_id, item.message) for item in problems(reading)] == [
        (None, "abc1", "not a trace: it has no response"),
        (None, "def2", "not a trace: no span of a model, a retriever or a chain is in it"),
    ]
    assert reading.counts.not_traces == 2


def test_a_trace_without_a_question_is_kept_and_says_so(read: Any) -> None:
    reading = read(span(output__value=ANSWER))
    (trace,) = traces(reading)

    assert trace.query is None
    assert trace.notes["query"] == "not found in the input"
    assert reading.counts.without_query == 1


def test_of_spans_with_one_id_the_one_that_ends_last_counts(read: Any) -> None:
    late = ROOT | {"end_time": "2026-01-01T00:00:09Z"}
    early = span(input__value=QUERY, output__value="so far") | {"end_time": "2026-01-01T00:00:01Z"}
    reading = read(late, early)
    (trace,) = traces(reading)

    assert trace.response == ANSWER
    assert trace.notes["double_spans"] == "1"
    assert (reading.counts.spans, reading.counts.double_spans) == (2, 1)


def test_spans_that_are_each_others_parents_end(read: Any) -> None:
    (trace,) = traces(read(ROOT | {"parent_id": "b2"}, span("b2", "CHAIN", "a1")))

    assert trace.response == ANSWER


def test_halves_of_utf16_pairs_are_replaced_and_said(read: Any) -> None:
    (trace,) = traces(read(span(input__value=QUERY, output__value=f"{ANSWER} \ud83d")))

    assert trace.response == f"{ANSWER} �"
    assert trace.notes["replaced_characters"] == "1"


def test_a_failed_retrieval_and_a_reranker_are_said(read: Any) -> None:
    away = span("b2", "RETRIEVER", "a1") | {"status": {"code": 2}}
    rerank = span("c3", "RERANKER", "a1", reranker__output_documents="[]")
    (trace,) = traces(read(ROOT, away, rerank))

    assert trace.notes == {
        "failed_retrievals": "1",
        "rerankers_not_read": "1",
        "retrieval": "nothing was retrieved",
    }


def test_spans_of_many_traces_may_be_mixed(read: Any) -> None:
    """The order is that in which traces begin in the file, and reading again begins anew."""
    values = []
    for part in ("a1", "b2"):
        for at in range(50):
            attributes = (
                {"input__value": f"q{at}", "output__value": f"r{at}"} if part == "a1" else {}
            )
            one = span(
                part,
                "CHAIN" if part == "a1" else "RETRIEVER",
                None if part == "a1" else "a1",
                **attributes,
            )
            values.append(one | {"context": {"trace_id": f"{at + 1:032x}", "span_id": part}})
    reading = read(*values)

    assert [trace.query for trace in traces(reading)] == [f"q{at}" for at in range(50)]
    assert len(traces(reading)) == 50
    assert reading.counts.traces == 50
