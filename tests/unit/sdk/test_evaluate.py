"""One trace through the Python API: what it takes, who judges, what it costs, what is told."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from contract.test_judges_wire import prompt_of, working
from stub_server import Recorded, Step, StubServer
from unit.judges.scripts import Entry, as_json, asker, good_reply, isolated, items, scripted

from aletheia.config import settings
from aletheia.errors import BudgetExceeded, ConfigError, DataError, UsageError
from aletheia.judges.llm import LLMFusedJudge
from aletheia.schema.diagnosis import EvaluationResult, FailureCell
from aletheia.schema.model import Prompt
from aletheia.schema.trace import ContextChunk
from aletheia.sdk.evaluate import aevaluate, evaluate
from aletheia.sdk.portal import shutdown
from aletheia.sdk.trace_input import read_trace

QUERY = "The mill opened when?"
CONTEXT = ["The mill opened in 1911.", "The mill has a red roof."]
RESPONSE = "The mill opened in 1911."

PE_QUERY = "What is the P/E ratio, and what was Apple's P/E ratio in 2023?"
PE_CONTEXT = ["The price-to-earnings (P/E) ratio is a company's share price divided by its earnings per share."]  # fmt: skip
PE_RESPONSE = (
    "The P/E ratio is the share price divided by the earnings per share. "
    "Apple's P/E ratio in 2023 was 42.7."
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a directory without a cache or a `.env`, and with no endpoint."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(answer=working) as running:
        with settings.override(openai_base_url=running.base_url, openai_api_key="k", max_retries=0):
            yield running
        shutdown()


def embedded(*trace: Any, **options: Any) -> EvaluationResult:
    return evaluate(*trace, judge="embedded", **options)


def model_of(result: EvaluationResult) -> tuple[FailureCell | None, str | None]:
    return result.failure_cell, result.suggestion.title if result.suggestion else None


# --- the contract's example -------------------------------------------------------------------


def pe_judge(prompt: Prompt) -> str:
    """A judge that cuts the query in two and knows that 42.7 stands nowhere."""
    if prompt.purpose == "decompose":
        said = re.search(r"^RESPONSE: ", prompt.user, re.MULTILINE)
        if not said:
            asked = ["What is the P/E ratio?", "What was Apple's P/E ratio in 2023?"]
            return json.dumps({"sub_questions": asked})
        cut = PE_RESPONSE.partition(". ")
        quotes = [cut[0] + ".", cut[2]]
        claims = [{"quote": text, "text": text, "kind": "answer"} for text in quotes]
        return json.dumps({"claims": claims})
    shown = items(prompt)
    asked = [key for key, _, text in shown if key[0] == "Q" and "P/E" in text]
    return as_json([pe_entry(asked, *item) for item in shown])


def pe_entry(asked: list[str], key: str, check: str, text: str) -> Entry:
    """What such a judge says of one item; one without `P/E` is the canary."""
    canary, apple = "P/E" not in text, "Apple" in text
    good = not canary and not apple
    return {
        "id": key,
        "check": check,
        "verdict": "Y" if good else "N",
        "evidence_ids": ["E1"] if good else [],
        "answers": [] if canary else asked[1:2] if apple else asked[:1],
        "off_topic": "Y" if canary else "N",
    }


@pytest.mark.parametrize("judge", ["embedded", scripted(pe_judge)], ids=["embedded", "llm"])
def test_the_two_part_question_with_an_invented_figure_is_the_worst_case(judge: Any) -> None:
    """REFERENCE 5.1: a sub-question covered by an ungrounded claim alone is not covered."""
    result = evaluate(PE_QUERY, PE_CONTEXT, PE_RESPONSE, persist=False, judge=judge)

    assert model_of(result) == (FailureCell.INCOMPLETE_UNGROUNDED, "Worst-case failure")
    assert (result.diagnosis.n_sub_questions, result.diagnosis.n_uncovered_sub_questions) == (2, 1)
    assert result.errors == {}


def test_topical_coverage_is_a_setting() -> None:
    result = embedded(PE_QUERY, PE_CONTEXT, PE_RESPONSE, coverage="topical")

    assert result.diagnosis.n_uncovered_sub_questions == 0
    assert result.failure_cell is FailureCell.COMPLETE_UNGROUNDED
    assert result.making["coverage"] == "topical"


# --- what a trace may look like ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "texts"),
    [
        ("one text", ["one text"]),
        (["a", "b"], ["a", "b"]),
        (("a", "b"), ["a", "b"]),
        ([{"text": "a", "source": "s", "score": 0.5}, "b"], ["a", "b"]),
        ([ContextChunk(text="a", rank=1), ContextChunk(text="b", rank=0)], ["b", "a"]),
        ([{"text": "a", "rank": 2}, {"text": "b", "rank": 1}], ["b", "a"]),
        ([{"text": "a", "rank": 0}, {"text": "b", "rank": 0}], ["a", "b"]),
        (["a", " ", "b"], ["a", "b"]),
        ([], []),
        ("", []),
        ((text for text in ["a", "b"]), ["a", "b"]),
    ],
)
def test_chunks_are_numbered_by_rank_without_gaps(context: Any, texts: list[str]) -> None:
    """Rank 0 is E1, whatever the ranks were that came."""
    trace = read_trace("q", context, "r")

    assert [(chunk.rank, chunk.text) for chunk in trace.chunks] == list(enumerate(texts))
    assert [unit.text for unit in trace.case.evidence] == texts


@pytest.mark.parametrize(
    ("context", "notes"),
    [
        (["a", "b"], {}),
        (["a", "", "b"], {"blank_chunks": "1"}),
        ([{"text": "a", "rank": 1}, {"text": "b", "rank": 1}], {"ranks": "renumbered"}),
        (["half \ud83d"], {"replaced_characters": "1"}),
    ],
)
def test_what_was_changed_on_the_way_is_told(context: Any, notes: dict[str, str]) -> None:
    assert dict(read_trace("q", context, "r").notes) == notes


@pytest.mark.parametrize(
    ("query", "context", "response", "place"),
    [
        (QUERY, None, RESPONSE, "context"),
        (QUERY, 7, RESPONSE, "context"),
        (QUERY, {"text": "a"}, RESPONSE, "context"),
        (QUERY, {"a", "b"}, RESPONSE, "context"),
        (QUERY, ["a", 7], RESPONSE, "context[1]"),
        (QUERY, ["a", None], RESPONSE, "context[1]"),
        (QUERY, [{"page_content": "a"}], RESPONSE, "context[0]"),
        (QUERY, [{"text": "a", "soruce": "b"}], RESPONSE, "context[0]"),
        (QUERY, [{"text": "a", "rank": -1}], RESPONSE, "context[0].rank"),
        (QUERY, [{"text": "a", "rank": True}], RESPONSE, "context[0].rank"),
        (QUERY, [{"text": "a", "score": float("nan")}], RESPONSE, "context[0].score"),
        (QUERY, [{"text": 1}], RESPONSE, "context[0].text"),
        (7, ["a"], RESPONSE, "query"),
        (QUERY, ["a"], None, "response"),
    ],
)
def test_what_is_no_trace_is_one_error_that_names_the_item(
    query: Any, context: Any, response: Any, place: str
) -> None:
    with pytest.raises(DataError) as caught:
        embedded(query, context, response)

    assert caught.value.field == place


@pytest.mark.parametrize(
    ("query", "context", "response", "cell", "abstention", "empty"),
    [
        (QUERY, [], "It opened in 1911.", FailureCell.INCOMPLETE_UNGROUNDED, None, False),
        (QUERY, [], "INSUFFICIENT_CONTEXT", FailureCell.INCOMPLETE_GROUNDED, "honest", False),
        (QUERY, CONTEXT, "  \n", None, None, True),
        (None, CONTEXT, RESPONSE, None, None, False),
    ],
)
def test_rules_decide_before_any_judge(
    query: str | None, context: list[str], response: str, cell: Any, abstention: Any, empty: bool
) -> None:
    """Without evidence nothing is supported; an empty response is no abstention."""
    result = embedded(query, context, response)

    assert result.failure_cell is cell
    assert result.diagnosis.abstention == abstention
    assert result.diagnosis.empty_response is empty


def test_without_a_query_only_faithfulness_is_judged() -> None:
    result = embedded(None, CONTEXT, RESPONSE)

    assert [item.verdict for item in result.faithfulness] == ["Y"]
    assert (result.sufficiency, result.completeness, result.errors) == ((), None, {})


def test_without_decomposition_the_response_is_one_claim() -> None:
    response = " The mill opened in 1911. The mill has a red roof. "
    result = embedded(QUERY, CONTEXT, response, decompose=False)

    assert [(item.start, item.end) for item in result.claims] == [(1, len(response) - 1)]
    assert [item.text for item in result.sub_questions] == [QUERY]


# --- what the result says of itself -----------------------------------------------------------


def test_without_persisting_no_store_is_touched(tmp_path: Path) -> None:
    """Not even one that could not be used."""
    with settings.override(db_path=tmp_path / "none" / "a.db"):
        result = embedded(QUERY, CONTEXT, RESPONSE, persist=False)

    assert (result.trace_id, result.making["persisted"], result.errors) == (None, "no", {})
    assert result.diagnosis.threshold == 0.8
    assert result.diagnosis.threshold_source == "fallback_memory"


def test_an_id_of_the_caller_is_stamped_on_the_result() -> None:
    assert embedded(QUERY, CONTEXT, RESPONSE, trace_id=7, persist=False).trace_id == 7


def test_embedded_judges_cost_nothing_and_say_who_they_are() -> None:
    result = embedded(QUERY, CONTEXT, RESPONSE)

    assert (result.cost.calls, result.cost.usd) == (0, 0.0)
    assert result.making["faithfulness_judge"] == "embedded"
    assert set(result.latency_ms) >= {"decompose_query", "judge_faithfulness"}


# --- who judges -------------------------------------------------------------------------------


@pytest.mark.parametrize("judge", [None, "auto", "llm"])
def test_the_models_of_the_settings_judge_and_cut(server: StubServer, judge: str | None) -> None:
    with settings.override(judge_model="gpt-4.1", decomposer_model="gpt-4.1-mini"):
        result = evaluate(QUERY, CONTEXT, RESPONSE, judge=judge)

    models = [request.body["model"] for request in server.requests]
    assert sorted(models) == ["gpt-4.1"] * 3 + ["gpt-4.1-mini"] * 2
    assert (result.cost.calls, result.cost.unpriced) == (5, 0)
    assert (result.making["judge_model"], result.making["decomposer_model"]) == (
        "gpt-4.1",
        "gpt-4.1-mini",
    )


def test_embedded_judges_call_no_endpoint_that_is_there(server: StubServer) -> None:
    embedded(QUERY, CONTEXT, RESPONSE)
    assert server.requests == []


def test_without_an_endpoint_auto_is_embedded() -> None:
    assert evaluate(QUERY, CONTEXT, RESPONSE).making["faithfulness_judge"] == "embedded"


def test_settings_given_win_over_those_in_force(server: StubServer) -> None:
    with settings.override(judge_model="gpt-4o") as now:
        chosen = now
    with settings.override(judge_model="gpt-4.1"):
        evaluate(QUERY, CONTEXT, RESPONSE, settings=chosen)

    assert "gpt-4o" in {request.body["model"] for request in server.requests}
    assert "gpt-4.1" not in {request.body["model"] for request in server.requests}


@pytest.mark.parametrize(
    ("judge", "error"),
    [("llm", ConfigError), ("gpt-4o", UsageError), ("", UsageError), (7, UsageError)],
)
def test_a_judge_there_is_not_is_refused(judge: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        evaluate(QUERY, CONTEXT, RESPONSE, judge=judge)


@pytest.mark.parametrize("options", [{"coverage": "none"}, {"repeat": 0}])
def test_options_there_are_not_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        embedded(QUERY, CONTEXT, RESPONSE, **options)


def test_judges_of_your_own_judge() -> None:
    result = evaluate(QUERY, CONTEXT, RESPONSE, judge=isolated(scripted(good_reply)))
    assert result.making["judge"] == "llm scripted"


def test_a_fused_judge_judges_what_it_cut_itself() -> None:
    fused = LLMFusedJudge(asker(scripted(good_reply)))
    assert evaluate(QUERY, CONTEXT, RESPONSE, judge=fused).making["judge"] == "llm_fused scripted"
    with pytest.raises(UsageError):
        evaluate(QUERY, CONTEXT, RESPONSE, judge=fused, decompose=False)


def test_repeats_are_a_majority_with_its_share(server: StubServer) -> None:
    result = evaluate(QUERY, CONTEXT, RESPONSE, repeat=3)

    assert [item.agreement for item in result.faithfulness] == [1.0]
    assert (len(server.requests), result.making["repeat"]) == (2 + 3 * 3, "3")


# --- money and failures -----------------------------------------------------------------------


def test_nothing_is_called_that_could_cost_too_much(server: StubServer, tmp_path: Path) -> None:
    with settings.override(per_trace_budget_usd=0.0001), pytest.raises(BudgetExceeded):
        evaluate(QUERY, CONTEXT, RESPONSE)

    assert server.requests == []
    assert list(tmp_path.iterdir()) == []


def failing(metric: str) -> Callable[[Recorded], str | Step]:
    """Answer every call but those of one judge."""

    def answer(request: Recorded) -> str | Step:
        if prompt_of(request).schema_name == metric:
            return Step(status=500)
        return working(request)

    return answer


@pytest.mark.parametrize("metric", ["sufficiency", "faithfulness", "completeness"])
def test_a_judge_that_fails_leaves_a_message_and_the_rest_stands(metric: str) -> None:
    with StubServer(answer=failing(metric)) as server:
        with settings.override(openai_base_url=server.base_url, max_retries=0):
            result = evaluate(QUERY, CONTEXT, RESPONSE)
        shutdown()

    assert set(result.errors) == {metric}
    assert result.failure_cell is None
    assert result.suggestion is None
    verdicts = {
        "sufficiency": [item.verdict for item in result.sufficiency],
        "faithfulness": [item.verdict for item in result.faithfulness],
    }
    assert verdicts == {name: [None if name == metric else "Y"] for name in verdicts}


# --- loops and threads ------------------------------------------------------------------------


def test_it_runs_inside_a_loop_and_from_two_threads() -> None:
    """Field case 151: several times in a running loop, then from threads."""
    found: list[FailureCell | None] = []

    async def inside() -> None:
        found.extend(embedded(QUERY, CONTEXT, RESPONSE).failure_cell for _ in range(3))
        found.append((await aevaluate(QUERY, CONTEXT, RESPONSE, judge="embedded")).failure_cell)

    anyio.run(inside)
    threads = [
        threading.Thread(
            target=lambda: found.append(embedded(QUERY, CONTEXT, RESPONSE).failure_cell)
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [FailureCell.COMPLETE_GROUNDED] * 6
