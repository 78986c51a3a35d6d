"""The worker: what it sweeps, when it rests, what it gives up, and how often it warns."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from stub_server import Step, StubServer

from aletheia.config import Settings
from aletheia.pipeline.stored import store_for
from aletheia.schema.stored import NewTrace, TraceFilter, TraceStatus
from aletheia.schema.trace import ContextChunk
from aletheia.sdk.worker import Job, Worker
from aletheia.sdk.worker_host import WorkerHost
from aletheia.sdk.worker_jobs import Pace, Work, do_work
from aletheia.sdk.worker_sweep import Sweeps, at_once, together
from aletheia.sdk.worker_warnings import EVERY_S, RareWarnings


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with a store of their own and no endpoint."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Settings(db_path=tmp_path / "a.db")


def new(n: int = 0, project: str = "default", **values: Any) -> NewTrace:
    text = f"The mill {n} opened in 1911."
    return NewTrace(
        query=f"When did the mill {n} open?",
        chunks=(ContextChunk(text=text, rank=0),),
        response=text,
        project=project,
        **values,
    )


def counts(settings: Settings) -> dict[str, int]:
    return {str(status): n for status, n in store_for(settings).count().items() if n}


# --- sweeps -----------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_project_is_swept_when_it_is_first_known_and_then_in_rounds(alone: Settings) -> None:
    """Until a sweep finds less than it asked for; other projects are left alone."""
    clock = Clock()
    sweeps = Sweeps(Pace(sweep_s=60.0), clock)
    assert (sweeps.next(only_own=False), sweeps.due_in) == (None, None)

    sweeps.know(alone, "a", overflowed=False)
    work = sweeps.next(only_own=False)
    assert work is not None
    assert (work.project, work.ids, work.limit) == ("a", (), 5)
    sweeps.swept(work, 5)
    assert sweeps.next(only_own=False) == work
    sweeps.swept(work, 4)
    assert sweeps.next(only_own=False) is None
    assert sweeps.due_in == 60.0
    clock.now = 61.0
    again = sweeps.next(only_own=False)
    assert again is not None
    assert again.until is not None
    assert again.until < datetime.now(UTC) - timedelta(seconds=30)


def test_what_did_not_fit_is_swept_first_and_also_at_the_end(alone: Settings) -> None:
    sweeps = Sweeps(Pace())
    sweeps.know(alone, "a", overflowed=False)
    sweeps.know(alone, "b", overflowed=True)

    work = sweeps.next(only_own=True)
    assert work is not None
    assert (work.project, work.until) == ("b", None)
    assert sweeps.overflowed
    sweeps.swept(work, 0)
    assert not sweeps.overflowed
    assert sweeps.next(only_own=True) is None


def test_embedded_judges_share_a_transaction_and_a_core_and_a_model_neither() -> None:
    embedded = Settings(batch_size=7, worker_concurrency=3)
    model = Settings(batch_size=7, worker_concurrency=3, openai_api_key="k")

    assert (at_once(embedded), together(embedded)) == (1, 7)
    assert (at_once(model), together(model)) == (3, 1)


# --- work -------------------------------------------------------------------------------------


def test_what_others_left_is_evaluated_and_what_stands_in_a_queue_is_not(alone: Settings) -> None:
    """A worker begins with what is older than itself, in the projects that it logs to."""
    store = store_for(alone)
    left = store.add([new(1), new(2), new(3, "other")])
    worker = Worker()
    (mine,) = store.add([new(4)])
    worker.submit(Job(mine, "default", alone))
    deadline = time.monotonic() + 60
    while counts(alone).get("evaluated", 0) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    worker.close(within_s=0.0)

    done = store.summaries(TraceFilter(statuses=(TraceStatus.EVALUATED,)))
    assert {item.id for item in done} == {mine, *left[:2]}


def test_a_trace_that_kills_its_evaluation_is_given_up(alone: Settings) -> None:
    store = store_for(alone)
    (poison,) = store.add([new()])
    for _ in range(3):
        store.claim(1, owner="a process that died", lease_s=0.0)
    work = Work(settings=alone, project="default")
    done = anyio.run(do_work, work, Pace(most_attempts=3), "me")

    assert (done.claimed, done.failed, done.evaluated) == (1, 1, 0)
    kept = store.get(poison)
    assert kept is not None
    assert kept.error == "begun 3 times, and never came to its end"


def test_a_trace_that_costs_too_much_has_failed_and_nothing_is_called(alone: Settings) -> None:
    with StubServer() as server:
        costly = alone.model_copy(
            update={"openai_base_url": server.base_url, "per_trace_budget_usd": 0.0}
        )
        costly = costly.model_copy(update={"unknown_price": "block"})
        (made,) = store_for(costly).add([new()])
        done = anyio.run(do_work, Work(settings=costly, project=None), Pace(), "me")

    assert (done.failed, server.chats) == (1, [])
    assert "budget of this trace" in done.errors[made]


def test_at_the_end_of_a_program_a_provider_out_of_reach_fails_nothing(alone: Settings) -> None:
    """It may be the program that cannot connect any more."""
    with StubServer([Step(status=400, message="no", times=None)]) as server:
        ending = alone.model_copy(update={"openai_base_url": server.base_url, "max_retries": 0})
        store_for(ending).add([new()])

        async def run() -> Any:
            return await do_work(
                Work(settings=ending, project=None), Pace(), "me", ending=lambda: True
            )

        done = anyio.run(run)

    assert (done.failed, done.left) == (0, 1)
    assert counts(ending) == {"pending": 1}


def test_after_failures_of_a_provider_the_worker_rests(
    alone: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Traces stay pending meanwhile, and nobody waits for them."""
    with StubServer([Step(status=400, message="no", times=None)]) as server:
        broken = alone.model_copy(
            update={"openai_base_url": server.base_url, "max_retries": 0, "worker_concurrency": 1}
        )
        ids = store_for(broken).add([new(n) for n in range(8)])
        worker = Worker(Pace(stop_after=3))
        for trace_id in ids:
            worker.submit(Job(trace_id, "default", broken))
        assert not worker.flush(60)
        worker.close(within_s=None)

    assert counts(broken) == {"failed": 3, "pending": 5}
    assert "evaluation rests for 60 seconds" in caplog.text


def test_a_setting_that_leads_to_no_judge_leaves_traces_pending(
    alone: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = alone.model_copy(update={"openai_base_url": "http://127.0.0.1:9/v1"})
    wrong = wrong.model_copy(update={"price_input_usd": 1.0})
    (made,) = store_for(wrong).add([new()])
    worker = Worker()
    worker.submit(Job(made, "default", wrong))
    assert not worker.flush(60)
    worker.close(within_s=None)

    assert counts(wrong) == {"pending": 1}
    assert "logged traces stay pending" in caplog.text


def test_a_host_that_was_closed_takes_nothing(alone: Settings) -> None:
    host = WorkerHost()
    host.close(within_s=None)

    assert host.submit(Job(1, "default", alone)) == "closed"
    assert host.flush(0)
    host.renew()
    assert host.submit(Job(1, "default", alone)) == "queued"
    host.close(within_s=0.0)


# --- warnings ---------------------------------------------------------------------------------


def test_a_kind_of_warning_is_told_once_and_then_with_its_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    warnings = RareWarnings(logging.getLogger("aletheia.test"), clock=clock)
    for _ in range(3):
        warnings.warn("store", "it is away")
    warnings.warn("budget", "it is used up")
    clock.now = EVERY_S + 1
    warnings.warn("store", "it is away")

    assert [record.getMessage() for record in caplog.records] == [
        "it is away",
        "it is used up",
        "it is away (2 more like it were not told)",
    ]
