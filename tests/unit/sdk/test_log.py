"""`log`: kept when it returns, evaluated in the background, and never in the way of the caller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.test_judges_wire import working
from stub_server import Step, StubServer

from aletheia.config import Settings, settings
from aletheia.errors import BudgetExceeded, ConfigError, DataError, StoreError
from aletheia.pipeline.stored import store_for
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.stored import StoredTrace, TraceStatus
from aletheia.sdk import log as calls
from aletheia.sdk.evaluate_pending import evaluate_pending
from aletheia.sdk.log import alog, flush, log, shutdown
from aletheia.store import TraceStore

TRACE = ("When did the mill open?", ["The mill opened in 1911."], "The mill opened in 1911.")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no endpoint, and nothing told yet."""
    calls._WARNINGS.forget()
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(answer=working) as running:
        with settings.override(openai_base_url=running.base_url, openai_api_key="k", max_retries=0):
            yield running
        shutdown(wait=False)


def store() -> TraceStore:
    return store_for(settings.current())


def logged(*trace: Any, **options: Any) -> int:
    made = log(*(trace or TRACE), **options)
    assert isinstance(made, int)
    return made


def found(trace_id: int) -> StoredTrace:
    kept = store().get(trace_id)
    assert kept is not None
    return kept


def counts() -> dict[str, int]:
    return {str(status): count for status, count in store().count().items() if count}


# --- kept -------------------------------------------------------------------------------------


def test_a_trace_is_in_the_store_when_log_returns() -> None:
    made = logged(
        "When?",
        [{"text": "In 1911.", "source": "a.txt", "score": 0.5}, "", "In May."],
        "In 1911.",
        project="support",
        external_id="req-7",
        source="langchain",
        notes={"run": "9"},
    )

    kept = found(made)
    assert (kept.query, kept.response) == ("When?", "In 1911.")
    assert [(item.text, item.source) for item in kept.chunks] == [
        ("In 1911.", "a.txt"),
        ("In May.", None),
    ]
    assert (kept.project, kept.external_id, kept.source) == ("support", "req-7", "langchain")
    assert kept.notes == {"blank_chunks": "1", "run": "9"}


def test_the_project_is_a_setting_and_an_external_id_replaces() -> None:
    with settings.override(project="manuals"):
        first = logged(external_id="a")
        again = logged("What else?", [], "Nothing.", external_id="a")

    assert again == first
    assert (found(first).project, found(first).response) == ("manuals", "Nothing.")


def test_alog_is_the_same_in_a_running_loop() -> None:
    made = asyncio.run(alog(*TRACE, source="web"))

    assert isinstance(made, int)
    assert found(made).source == "web"
    assert flush(60)
    assert found(made).status is TraceStatus.EVALUATED


@pytest.mark.parametrize(
    "call", [log, lambda *trace, **options: asyncio.run(alog(*trace, **options))]
)
def test_in_sync_the_result_comes_back_and_is_what_the_store_holds(call: Any) -> None:
    result = call(*TRACE, sync=True, project="support")

    assert isinstance(result, EvaluationResult)
    assert result.trace_id is not None
    assert found(result.trace_id).result == result
    assert result.making["persisted"] == "support"
    assert result.diagnosis.threshold_source == "fallback_project"


def test_sync_is_a_setting_that_the_call_wins_over() -> None:
    with settings.override(default_sync=True):
        assert isinstance(log(*TRACE), EvaluationResult)
        assert isinstance(log(*TRACE, sync=False), int)


# --- refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trace", "options", "error"),
    [
        (("When?", None, "x"), {}, DataError),
        (("When?", [7], "x"), {}, DataError),
        (("When?", [], None), {}, DataError),
        (TRACE, {"redact": lambda text: None}, DataError),
        (TRACE, {"redact": "nowhere:f"}, ConfigError),
        (TRACE, {"settings": Settings(db_path=Path("/nowhere/at/all.db"))}, StoreError),
    ],
)
def test_what_cannot_be_kept_is_an_error_of_the_caller(
    trace: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        log(*trace, **options)
    assert counts() == {}


@pytest.mark.parametrize("sync", [True, False])
def test_the_budget_is_asked_before_anything_is_written_or_called(
    server: StubServer, sync: bool
) -> None:
    with settings.override(per_trace_budget_usd=0.0), pytest.raises(BudgetExceeded) as caught:
        log(*TRACE, sync=sync, redact=lambda text: pytest.fail("it was redacted"))
    assert caught.value.produced == TRACE[2]
    assert (counts(), server.chats) == ({}, [])


# --- evaluated --------------------------------------------------------------------------------


def test_the_worker_evaluates_what_was_logged_in_every_project() -> None:
    made = [logged(project=name) for name in ("a", "b", "a")]
    assert flush(60)

    for trace_id in made:
        result = found(trace_id).result
        assert result is not None
        assert (result.trace_id, result.failure_cell) == (trace_id, "complete_grounded")
        assert result.making["persisted"] == found(trace_id).project


def test_a_model_judges_in_the_background(server: StubServer) -> None:
    made = [logged() for _ in range(3)]
    assert flush(60)

    assert counts() == {"evaluated": 3}
    result = found(made[0]).result
    assert result is not None
    assert result.making["judge"] == f"llm {settings.judging_model}"
    assert len({item.prompt for item in server.chats}) == 5  # the same trace, from the reply cache


def test_the_settings_of_the_call_are_those_of_its_evaluation(server: StubServer) -> None:
    with settings.override(judge_model="strict-judge"):
        first = logged()
    second = logged("What else?", [], "Nothing.")
    assert flush(60)

    results = [found(made).result for made in (first, second)]
    assert [result and result.making["judge_model"] for result in results] == [
        "strict-judge",
        "gpt-4o-mini",
    ]


def test_a_trace_that_no_judge_could_judge_has_failed_and_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (
        StubServer([Step(status=400, message="no such model", times=None)]) as broken,
        settings.override(openai_base_url=broken.base_url, max_retries=0),
    ):
        made = logged()
        assert flush(60)
        kept = found(made)
        shutdown(wait=False)

    assert kept.status is TraceStatus.FAILED
    assert kept.error is not None
    assert "no such model" in kept.error
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert f"trace {made} was not evaluated" in caplog.text


def test_what_was_taken_out_is_in_no_store_and_no_prompt(
    server: StubServer, tmp_path: Path
) -> None:
    with settings.override(redact="mask", db_path=tmp_path / "private.db"):
        made = logged("Who is jane@example.org?", ["jane@example.org is Jane."], "She is Jane.")
        assert flush(60)
        kept = found(made)
        shutdown()

    assert kept.query == "Who is [EMAIL-1]?"
    assert server.chats
    assert not any("jane@example.org" in str(item.body) for item in server.chats)
    files = [item for item in tmp_path.iterdir() if item.name.startswith("private.db")]
    assert files
    assert not any(b"jane@example.org" in item.read_bytes() for item in files)


# --- a full queue, and the end ----------------------------------------------------------------


def test_a_full_queue_drops_an_evaluation_and_never_a_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What did not fit is swept up when there is time."""
    with settings.override(queue_size=1, batch_size=1):
        made = [logged(f"When did mill {n} open?", [], "In 1911.") for n in range(30)]
        assert sum(counts().values()) == 30
        assert flush(60)
    assert counts() == {"evaluated": 30}
    assert {found(trace_id).attempts for trace_id in made} == {1}
    assert "the queue is full" in caplog.text


def test_shutdown_evaluates_what_was_logged_and_nothing_runs_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = [logged() for _ in range(12)]
    shutdown()
    late = logged()

    assert counts() == {"evaluated": 12, "pending": 1}
    assert found(late).status is TraceStatus.PENDING
    assert found(made[-1]).status is TraceStatus.EVALUATED
    assert f"trace {late} stays pending" in caplog.text
    assert flush(0)


def test_shutdown_without_waiting_leaves_the_rest_pending_and_unclaimed() -> None:
    made = [logged() for _ in range(40)]
    shutdown(wait=False)

    pending = [kept for kept in map(found, made) if kept.status is TraceStatus.PENDING]
    assert pending
    assert {kept.attempts for kept in pending} == {0}
    assert evaluate_pending().evaluated == len(pending)
    assert counts() == {"evaluated": 40}


def test_shutdown_may_be_called_twice_and_before_anything_was_logged() -> None:
    shutdown()
    shutdown(wait=False)
    logged()
    shutdown()
    assert counts() == {"pending": 1}


# --- what is pending --------------------------------------------------------------------------


def test_pending_traces_are_evaluated_on_demand_up_to_a_limit_and_by_project() -> None:
    shutdown()
    for project in ("a", "b", "a", "a"):
        logged(project=project)

    first = evaluate_pending(project="a", limit=2)
    assert (first.evaluated, first.failed) == (2, 0)
    assert counts() == {"evaluated": 2, "pending": 2}
    assert evaluate_pending(project="a").evaluated == 1
    assert evaluate_pending().evaluated == 1
    assert evaluate_pending().evaluated == 0


def test_pending_traces_stop_at_a_provider_that_fails(server: StubServer) -> None:
    """After some failures in a row the rest is left for another time."""
    shutdown()
    for n in range(12):
        logged(f"When did mill {n} open?", ["In 1911."], "In 1911.")
    with (
        StubServer([Step(status=400, message="no such model", times=None)]) as broken,
        settings.override(openai_base_url=broken.base_url, worker_concurrency=1),
    ):
        done = evaluate_pending()

    assert (done.evaluated, done.failed) == (0, 5)
    assert done.stopped is not None
    assert "no such model" in done.stopped
    assert counts() == {"failed": 5, "pending": 7}
