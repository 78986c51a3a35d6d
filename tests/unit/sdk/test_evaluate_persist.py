"""`evaluate` with a store: kept, calibrated by project and judge, evaluated again, never lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from contract.test_judges_wire import working
from stub_server import StubServer
from unit.judges.scripts import good_reply, isolated, scripted

from aletheia.config import settings
from aletheia.errors import BudgetExceeded, DataError, ModelUnavailable, UsageError
from aletheia.judges.llm import LLMFusedJudge
from aletheia.pipeline.redact import Mask
from aletheia.pipeline.stored import store_for
from aletheia.schema.diagnosis import LATENCY_KEYS, EvaluationResult
from aletheia.schema.stored import StoredTrace, TraceStatus
from aletheia.sdk.api import verify
from aletheia.sdk.evaluate import aevaluate, evaluate
from aletheia.sdk.portal import shutdown
from aletheia.store import TraceStore
from aletheia.testing import ScriptedModel

TRACE = ("When did the mill open?", ["The mill opened in 1911."], "The mill opened in 1911.")


@pytest.fixture(autouse=True)
def _no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def store() -> TraceStore:
    return store_for(settings.current())


def found(trace_id: int | None) -> StoredTrace:
    assert trace_id is not None
    kept = store().get(trace_id)
    assert kept is not None
    return kept


def count() -> int:
    return sum(store().count().values())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_result_is_kept_as_it_is_returned(asynchronous: bool) -> None:
    async def call() -> EvaluationResult:
        return await aevaluate(*TRACE, project="manuals")

    result = anyio.run(call) if asynchronous else evaluate(*TRACE, project="manuals")

    assert found(result.trace_id).result == result
    assert (found(result.trace_id).project, found(result.trace_id).source) == (
        "manuals",
        "evaluate",
    )
    assert result.making["persisted"] == "manuals"
    assert result.errors == {}


def test_every_step_has_its_time_and_those_of_the_store_are_measured() -> None:
    kept, unkept = evaluate(*TRACE), evaluate(*TRACE, persist=False)

    assert tuple(kept.latency_ms) == LATENCY_KEYS
    assert kept.latency_ms["persist_trace"] > 0
    assert kept.latency_ms["calibration"] > 0
    assert unkept.latency_ms["persist_trace"] == 0


# --- again ------------------------------------------------------------------------------------


def test_an_earlier_trace_is_evaluated_again_and_its_result_replaced() -> None:
    first = evaluate(*TRACE, project="a")
    again = evaluate(*TRACE, trace_id=first.trace_id, decompose=False)

    assert (again.trace_id, count()) == (first.trace_id, 1)
    assert found(first.trace_id).result == again
    assert again.making["persisted"] == "a"


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (("When else?", *TRACE[1:]), "another `query`"),
        ((TRACE[0], ["Other."], TRACE[2]), "another `context`"),
        ((*TRACE[:2], "In May."), "another `response`"),
    ],
)
def test_a_trace_of_other_texts_is_not_that_trace(trace: Any, said: str) -> None:
    first = evaluate(*TRACE)
    with pytest.raises(DataError, match=said):
        evaluate(*trace, trace_id=first.trace_id)
    assert found(first.trace_id).result == first


def test_a_trace_there_is_not_is_refused() -> None:
    with pytest.raises(DataError, match="there is no trace 7"):
        evaluate(*TRACE, trace_id=7)


# --- refused before anything is kept ----------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"coverage": "all"}, UsageError),
        ({"repeat": 0}, UsageError),
        ({"judge": "oracle"}, UsageError),
        ({"judge": LLMFusedJudge(isolated(scripted(good_reply)).sufficiency._asker), "decompose": False}, UsageError),  # type: ignore[attr-defined]
        ({"judge": "llm", "settings": "costly"}, BudgetExceeded),
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_is_not_kept(
    options: dict[str, Any], error: type[Exception]
) -> None:
    given = dict(options)
    with settings.override(openai_api_key="k", per_trace_budget_usd=0.0) as costly:
        if "settings" in given:
            given["settings"] = costly
    with pytest.raises(error):
        evaluate(*TRACE, **given)
    assert count() == 0


# --- failures ---------------------------------------------------------------------------------


def test_a_store_that_fails_costs_no_diagnosis(tmp_path: Path) -> None:
    with settings.override(db_path=tmp_path / "none" / "a.db"):
        result = evaluate(*TRACE)

    assert result.failure_cell == "complete_grounded"
    assert (result.trace_id, result.making["persisted"]) == (None, "failed")
    assert "there is no directory" in result.errors["persist_trace"]
    assert result.diagnosis.threshold_source == "fallback_memory"


def test_a_trace_that_is_removed_while_it_is_judged_costs_no_diagnosis() -> None:
    def removing(prompt: Any) -> Any:
        from datetime import UTC, datetime, timedelta

        store().prune(until=datetime.now(UTC) + timedelta(days=1))
        return good_reply(prompt)

    result = evaluate(*TRACE, judge=ScriptedModel(removing))

    assert result.failure_cell is not None
    assert "persist_trace" in result.errors


def test_a_trace_that_no_judge_could_judge_is_kept_as_failed() -> None:
    down = ScriptedModel(lambda prompt: ModelUnavailable("the endpoint is down"))
    result = evaluate(*TRACE, judge=down)

    assert found(result.trace_id).status is TraceStatus.FAILED
    assert found(result.trace_id).error == "the endpoint is down"
    assert evaluate(*TRACE, trace_id=result.trace_id).errors == {}
    assert found(result.trace_id).status is TraceStatus.EVALUATED


def test_a_redaction_holds_for_the_result_the_store_and_the_prompt() -> None:
    with StubServer(answer=working) as server:
        with settings.override(openai_base_url=server.base_url, redact="mask"):
            result = evaluate("Who is jane@example.org?", ["jane@example.org is Jane."], "Jane.")
        shutdown()

    assert result.query == found(result.trace_id).query == "Who is [EMAIL-1]?"
    assert found(result.trace_id).notes == {"redacted": "email 1"}
    assert server.chats
    assert not any("jane@" in str(item.body) for item in server.chats)


@pytest.mark.parametrize(
    ("context", "response", "verdict"),
    [
        ("Write to jane@example.org.", "Write to jane@example.org.", "Y"),
        ("Write to jane@example.org.", "Write to bob@example.org.", "N"),
        ("Call +44 20 7946 0958.", "Call +442079460958.", "Y"),
        ("Call +44 20 7946 0958.", "Call +44 20 7946 0957.", "N"),
        ("Pay to DE89 3704 0044 0532 0130 00.", "Pay to GB29NWBK60161331926819.", "N"),
    ],
)
def test_an_answer_is_checked_by_its_marks(context: str, response: str, verdict: str) -> None:
    """What was equal is supported, and what was made up is not: by a judge and by verification."""
    result = evaluate("How can I reach them?", [context], response, redact="mask", persist=False)
    mask = Mask()
    reply = {"answer": mask(response), "evidence_ids": ["E1"], "reasoning": ""}

    assert [item.verdict for item in result.faithfulness] == [verdict]
    assert verify([mask(context)], reply).passed is (verdict == "Y")


# --- calibration ------------------------------------------------------------------------------


def source(result: EvaluationResult) -> tuple[str | None, float | None]:
    return result.diagnosis.threshold_source, result.diagnosis.threshold


def test_a_project_is_calibrated_when_it_has_enough_healthy_traces() -> None:
    """Each project and each judge by itself."""
    with settings.override(calibration_min_traces=3):
        first = [evaluate(*TRACE, project="a") for _ in range(3)]
        assert [source(item)[0] for item in first] == ["fallback_project"] * 3
        assert source(evaluate(*TRACE, project="a"))[0] == "calibrated"
        assert source(evaluate(*TRACE, project="b"))[0] == "fallback_project"
        model = ScriptedModel(good_reply, name="other")
        assert source(evaluate(*TRACE, project="a", judge=model))[0] == "fallback_project"


def test_the_fallbacks_are_settings() -> None:
    with settings.override(fallback_threshold_project=0.6, fallback_threshold_memory=0.7):
        assert source(evaluate(*TRACE)) == ("fallback_project", 0.6)
        assert source(evaluate(*TRACE, persist=False)) == ("fallback_memory", 0.7)
