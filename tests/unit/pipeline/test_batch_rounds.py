"""A small pipeline of two dependent calls a row, through the Batch API of a real loopback server.

Every test drives what the command line drives: each `advance` is one command, with the state read
from the disk anew.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from stub_batch import BatchPlan
from stub_server import Fault, Recorded, Rule, Step, StubServer

from aletheia.errors import (
    BudgetExceeded,
    ConfigError,
    DataError,
    ModelBadReply,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    StoreError,
    UsageError,
)
from aletheia.llm.base import EndpointIdentity
from aletheia.llm.batch import Deferred
from aletheia.llm.budget import Budget, budget_scope
from aletheia.llm.cache import CachingModel, ReplyCache
from aletheia.llm.ledger import CallLedger
from aletheia.llm.openai_batch import BatchClient
from aletheia.llm.openai_client import OpenAIConnection
from aletheia.llm.pricing import Pricer
from aletheia.llm.retry import RetryPolicy
from aletheia.llm.tracking import CostScope
from aletheia.pipeline.batch_rounds import (
    CUT_SHORT,
    PENDING,
    BatchRounds,
    Complete,
    CutShort,
    Outcome,
    Waiting,
)
from aletheia.pipeline.batch_state import BatchState, read_state, state_name
from aletheia.schema.model import ChatModel, Prompt

FINGERPRINT = {"questions": "sha256:abc", "model": "stub"}
QUICK = RetryPolicy(max_retries=3, first_wait_s=0.01, max_wait_s=0.02, jitter_s=0.0)
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is reached directly, whatever the machine is set to."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@dataclass(frozen=True, kw_only=True)
class Prices:
    price_input_usd: float | None = 2.0
    price_output_usd: float | None = 4.0


def echo(request: Recorded) -> str:
    """Say what was asked."""
    return f"said {request.body['messages'][-1]['content']}"


@dataclass(kw_only=True)
class World:
    """One output directory and one endpoint; each `command` is a process of its own."""

    directory: Path
    server: StubServer
    rows: int = 3
    ask: Callable[[ChatModel, int], Awaitable[str]] | None = None
    prices: Prices = field(default_factory=Prices)
    cached: bool = True
    results: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    ledger: CallLedger = field(default_factory=CallLedger)

    def command(self, *, resume: bool = False, wait: bool = False) -> Outcome:
        return anyio.run(self._advance, resume, wait)

    def until_complete(self, commands: int = 12) -> Complete:
        outcome = self.command()
        for _ in range(commands):
            if isinstance(outcome, Complete):
                return outcome
            outcome = self.command(resume=True)
        raise AssertionError(f"not complete: {outcome}")

    async def _advance(self, resume: bool, wait: bool) -> Outcome:
        cache = ReplyCache(self.directory / "aletheia.db")
        try:
            with BatchState.open(self.directory, FINGERPRINT, resume=resume) as state:
                rounds = self._rounds(state)
                model = self._model(rounds, cache)
                outcome = await rounds.advance(lambda: self._rows(model), wait=wait)
                if isinstance(outcome, Complete):
                    self.results = await self._rows(model)
                    rounds.conclude(complete=outcome.failed == 0)
                return outcome
        finally:
            cache.close()

    def _rounds(self, state: BatchState) -> BatchRounds:
        async def sleep(_seconds: float) -> None:
            await anyio.lowlevel.checkpoint()

        connection = OpenAIConnection(base_url=self.server.base_url, timeout_s=10.0)
        return BatchRounds(
            state=state,
            client=BatchClient(connection, QUICK),
            pricer=Pricer(self.prices),
            say=self.said.append,
            ledgers=(self.ledger,),
            sleep=sleep,
            max_rounds=5,
        )

    def _model(self, rounds: BatchRounds, cache: ReplyCache) -> ChatModel:
        identity = EndpointIdentity(provider="openai", base_url=self.server.base_url, model="stub")
        inner = rounds.model(identity)
        return CachingModel(inner, cache, identity) if self.cached else inner

    async def _rows(self, model: ChatModel) -> list[str]:
        return [await self._row(model, index) for index in range(self.rows)]

    async def _row(self, model: ChatModel, index: int) -> str:
        try:
            return await (self.ask or two_calls)(model, index)
        except ModelError as error:
            return f"{type(error).__name__}: {error}"


async def two_calls(model: ChatModel, index: int) -> str:
    """The second prompt holds the reply to the first."""
    first = await model.complete(Prompt(system="Be brief.", user=f"row {index}", purpose="first"))
    second = await model.complete(Prompt(system="", user=f"more on {first.text}", purpose="second"))
    return second.text


async def one_call(model: ChatModel, index: int) -> str:
    return (await model.complete(Prompt(system="", user=f"row {index}"))).text


def plain(tmp_path: Path, *plans: BatchPlan, **arguments: object) -> StubServer:
    return StubServer(answer=echo, batches=plans, **arguments)  # type: ignore[arg-type]


def test_two_dependent_calls_take_two_batches_and_no_chat_request(tmp_path: Path) -> None:
    """Collected, submitted, polled, fetched; the last round asks nothing and has every reply."""
    with plain(tmp_path, BatchPlan(polls=2)) as server:
        world = World(directory=tmp_path, server=server)
        first = world.command()
        looked = world.command(resume=True)
        second = world.command(resume=True)
        last = world.command(resume=True)

        assert isinstance(first, Waiting)
        assert (first.submitted, first.exit_code) == (True, PENDING)
        assert "batch `batch_0001` is validating, 0 of 3 requests done" in first.lines()
        assert isinstance(looked, Waiting)
        assert not looked.submitted
        assert "batch `batch_0001` is in_progress, 0 of 3 requests done" in looked.lines()
        assert isinstance(second, Waiting)
        assert second.batches[0].id == "batch_0002"
        assert isinstance(last, Complete)
        assert (last.rounds, last.failed) == (2, 0)
        assert world.results == [f"said more on said row {index}" for index in range(3)]
        assert server.chats == []
        assert len(server.batch.answered) == 6


def test_the_cost_of_a_batch_is_half_and_counted_once_in_state_ledger_and_scope(
    tmp_path: Path,
) -> None:
    """11 prompt and 7 completion tokens a call at 2 and 4 dollars a million, times one half."""
    with plain(tmp_path) as server, CostScope() as scope:
        world = World(directory=tmp_path, server=server)
        done = world.until_complete()

        assert (done.cost.total.calls, done.cost.total.batched, done.cost.total.requests) == (
            6,
            6,
            6,
        )
        assert (done.cost.total.prompt_tokens, done.cost.total.completion_tokens) == (66, 42)
        assert done.cost.total.usd == pytest.approx(6 * (11 * 2 + 7 * 4) / 1e6 / 2)
        assert world.ledger.totals() == done.cost.total == done.cost.batches
        assert world.ledger.totals(purpose="first").calls == 3
        assert scope.cost.batched == 6
        assert scope.usd == pytest.approx(done.cost.total.usd)


def test_nothing_to_ask_makes_no_request_and_no_file(tmp_path: Path) -> None:
    with plain(tmp_path) as server:
        done = World(directory=tmp_path, server=server, rows=0).command()

        assert isinstance(done, Complete)
        assert server.requests == []
    assert list(tmp_path.glob("batch_*")) == []


def test_a_second_identical_run_makes_no_request(tmp_path: Path) -> None:
    with plain(tmp_path) as server:
        world = World(directory=tmp_path, server=server)
        world.until_complete()
        before = len(server.requests)

        assert isinstance(world.command(), Complete)
        assert len(server.requests) == before


def test_without_a_cache_the_state_holds_every_reply(tmp_path: Path) -> None:
    with plain(tmp_path) as server:
        world = World(directory=tmp_path, server=server, cached=False)
        world.until_complete()

        assert world.results == [f"said more on said row {index}" for index in range(3)]
        assert len(server.batch.answered) == 6


def test_equal_prompts_are_asked_once(tmp_path: Path) -> None:
    async def same(model: ChatModel, index: int) -> str:
        return (await model.complete(Prompt(system="", user="the same"))).text

    with plain(tmp_path) as server:
        done = World(directory=tmp_path, server=server, ask=same).until_complete()

        assert done.cost.total.calls == 1
        assert len(server.batch.answered) == 1


def test_waiting_goes_through_all_rounds_in_one_command(tmp_path: Path) -> None:
    with plain(tmp_path, BatchPlan(polls=3), BatchPlan(polls=2)) as server:
        world = World(directory=tmp_path, server=server)

        assert isinstance(world.command(wait=True), Complete)
        assert "batch `batch_0001` is in_progress, 0 of 3 requests done" in world.said


# --- items that fail ----------------------------------------------------------------------------


FAILING_LINES = {
    "500": (Step(status=500, message="overloaded"), ModelUnavailable, "answered 500: overloaded"),
    "refused": (Step(text=None, refusal="No."), ModelRefused, "the model refused: No."),
    "filter": (
        Step(text="", finish_reason="content_filter"),
        ModelRefused,
        "the content filter",
    ),
    "empty": (Step(text="  "), ModelBadReply, "the reply is empty"),
    "no completion": (Step(body={"id": "x"}), ModelBadReply, "no choice"),
    "error in a success": (
        Step(body={"error": {"message": "upstream down", "code": 503}}),
        ModelUnavailable,
        "answered 503: upstream down",
    ),
    "not JSON": (Step(raw="<html>"), ModelBadReply, "no JSON object"),
}


@pytest.mark.parametrize("case", FAILING_LINES)
def test_one_failing_item_is_the_error_of_a_single_call_and_of_that_item_alone(
    tmp_path: Path, case: str
) -> None:
    step, kind, words = FAILING_LINES[case]
    with plain(tmp_path, rules=[Rule(contains="row 1", steps=[step])]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        world.until_complete()
        results = world.results

        assert results[0] == "said row 0"
        assert results[2] == "said row 2"
        assert results[1].startswith(f"{kind.__name__}: ")
        assert words in results[1]
        assert len(server.batch.answered) == 3


def test_a_failed_item_is_not_asked_again_until_a_finished_run_is_resumed(tmp_path: Path) -> None:
    rule = Rule(contains="row 1", steps=[Step(status=500)])
    with plain(tmp_path, rules=[rule]) as server:
        world = World(directory=tmp_path, server=server)
        done = world.until_complete()
        assert (done.failed, len(server.batch.answered)) == (1, 5)

        again = world.command(resume=True)
        assert isinstance(again, Waiting)
        assert again.batches[0].total == 1
        while not isinstance(again, Complete):
            again = world.command(resume=True)
        assert again.failed == 0
        assert world.results[1] == "said more on said row 1"
        assert len(server.batch.answered) == 7


def test_what_was_adapted_and_answered_is_not_paid_again_when_a_finished_run_is_resumed(
    tmp_path: Path,
) -> None:
    """Also without a cache: of three rows, refused once each, only the failed one goes out again."""
    rule = Rule(contains="row 1", steps=[Step(status=500)])
    with plain(tmp_path, rules=[rule], refuses=["temperature"]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call, cached=False)
        assert world.until_complete().failed == 1
        before = len(server.batch.answered)
        while not isinstance(world.command(resume=True), Complete):
            pass

        assert world.results == [f"said row {index}" for index in range(3)]
        assert len(server.batch.answered) == before + 1


def without(lines: list[str], number: int) -> list[str]:
    return [line for index, line in enumerate(lines) if index != number]


TAMPERED = {
    "malformed": (
        lambda lines: [lines[0], lines[1][:40], lines[2]],
        "no line for it",
        "line 2: it cannot be read",
    ),
    "missing": (lambda lines: without(lines, 1), "no line for it", None),
    "twice": (lambda lines: [*lines, lines[1]], "holds 2 lines for it", None),
    "no response": (
        lambda lines: [
            lines[0],
            json.dumps({"custom_id": json.loads(lines[1])["custom_id"]}),
            lines[2],
        ],
        "neither response nor error",
        None,
    ),
    "not a number": (
        lambda lines: [lines[0], lines[1].replace('"created": 0', '"created": 1e999'), lines[2]],
        "no line for it",
        "line 2: it cannot be read",
    ),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_line_that_does_not_fit_is_a_problem_of_its_item_alone(tmp_path: Path, case: str) -> None:
    tamper, words, remark = TAMPERED[case]
    with plain(tmp_path, BatchPlan(tamper=tamper)) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        done = world.until_complete()
        results = world.results

        assert done.failed == 1
        assert (results[0], results[2]) == ("said row 0", "said row 2")
        assert words in results[1]
        assert remark is None or any(remark in text for text in world.said)


def test_order_unknown_ids_and_blank_lines_change_nothing(tmp_path: Path) -> None:
    def shuffled(lines: list[str]) -> list[str]:
        stray = json.dumps({**json.loads(lines[0]), "custom_id": "somebody else's"})
        return [lines[2], "", stray, lines[0], lines[1]]

    with plain(tmp_path, BatchPlan(tamper=shuffled)) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)

        assert world.until_complete().failed == 0
        assert world.results == [f"said row {index}" for index in range(3)]
        assert any("`somebody else's`, which was not asked" in text for text in world.said)


def test_texts_with_other_line_separators_and_half_pairs_come_back_whole(tmp_path: Path) -> None:
    text = "a\u2028b\u0085c \ud83d d"
    with plain(tmp_path, rules=[Rule(contains="row", steps=[Step(text=text)])]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call, rows=1)
        world.until_complete()

        assert world.results == [text]


def test_a_cut_reply_is_asked_for_with_more_room_in_the_next_round(tmp_path: Path) -> None:
    """And one that is cut again stands, is kept by the state, and is not asked a third time."""

    async def long(model: ChatModel, index: int) -> str:
        prompt = Prompt(system="", user="tell", max_output_tokens=10, output_ceiling=90)
        reply = await model.complete(prompt)
        return f"{reply.text} {reply.finish_reason} {reply.source} {reply.usage.prompt_tokens}"

    steps = [Step(text="abc", finish_reason="length"), Step(text="abcdef", finish_reason="length")]
    with StubServer(steps) as server:
        world = World(directory=tmp_path, server=server, ask=long, rows=1)
        done = world.until_complete()

        assert [body["max_tokens"] for body in server.batch.answered] == [10, 90]
        assert done.rounds == 2
        assert world.results == ["abcdef length batch 22"]


def test_a_refused_parameter_is_left_out_in_the_next_round_and_from_then_on(
    tmp_path: Path,
) -> None:
    """The second call of each row goes out in the shape that the first one taught."""

    async def structured(model: ChatModel, index: int) -> str:
        first = Prompt(system="", user=f"row {index}", schema=SCHEMA)
        reply = await model.complete(first)
        later = await model.complete(Prompt(system="", user=f"2nd {index}", schema=SCHEMA))
        return f"{reply.structured} {later.structured} {later.dropped}"

    answer = '{"answer": "x"}'
    with StubServer(
        answer=lambda _request: answer, refuses=["json_schema", "temperature"]
    ) as server:
        world = World(directory=tmp_path, server=server, ask=structured, rows=2)
        done = world.until_complete()

        assert done.failed == 0
        assert done.rounds == 4
        assert world.results == ["json_object json_object ('temperature',)"] * 2
        assert len(server.batch.answered) == 4 + 4  # of these, four were refused


def test_what_one_stage_taught_holds_for_the_next_ones_in_later_processes(tmp_path: Path) -> None:
    """Three dependent calls take three rounds, and one more for the first refusal."""

    async def chain(model: ChatModel, index: int) -> str:
        text = f"row {index}"
        for _ in range(3):
            text = (await model.complete(Prompt(system="", user=f"more on {text}"))).text
        return text

    with plain(tmp_path, refuses=["temperature"]) as server:
        world = World(directory=tmp_path, server=server, ask=chain, rows=1)
        done = world.until_complete()

        assert (done.rounds, done.failed) == (4, 0)
        assert [("temperature" in body) for body in server.batch.answered] == [True] + [False] * 3


# --- batches that end badly ---------------------------------------------------------------------


ENDS = {
    "expired": BatchPlan(end="expired", answered=1),
    "cancelled": BatchPlan(end="cancelled", answered=1),
    "expired without left-over lines": BatchPlan(
        end="expired", answered=1, error_lines=lambda _lines: []
    ),
    "failed": BatchPlan(
        errors=[{"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}]
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_batch_that_ends_early_keeps_what_it_answered_and_stops_until_resumed(
    tmp_path: Path, case: str
) -> None:
    with plain(tmp_path, ENDS[case]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        world.command()
        cut = world.command(resume=True)
        answered = len(server.batch.answered)

        assert isinstance(cut, CutShort)
        assert cut.exit_code == CUT_SHORT
        assert case.split()[0] in cut.lines()[0]
        assert "--resume" in cut.lines()[-1]
        assert len(server.batch.batches) == 1

        again = world.command(resume=True)
        assert isinstance(again, Waiting)
        assert again.batches[0].total == 3 - answered
        assert isinstance(world.command(resume=True), Complete)
        assert world.results == [f"said row {index}" for index in range(3)]
        assert len(server.batch.answered) == 3


def test_a_failed_batch_says_why(tmp_path: Path) -> None:
    with plain(tmp_path, ENDS["failed"]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        world.command()
        cut = world.command(resume=True)

        assert "Enqueued token limit reached. (`token_limit_exceeded`)" in cut.lines()[0]


def test_waiting_too_stops_at_a_batch_that_ended_early(tmp_path: Path) -> None:
    """It is the user who decides whether to pay again."""
    with plain(tmp_path, ENDS["expired"]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)

        assert isinstance(world.command(wait=True), CutShort)
        assert isinstance(world.command(resume=True, wait=True), Complete)


# --- the endpoint -------------------------------------------------------------------------------


def test_an_endpoint_without_a_batch_api_is_a_setting_that_is_wrong(tmp_path: Path) -> None:
    with plain(tmp_path, batch_api=False) as server:
        world = World(directory=tmp_path, server=server)
        with pytest.raises(ConfigError, match="has no Batch API: it answered 404") as caught:
            world.command()
        assert "--batch" in (caught.value.hint or "")
        assert len(server.requests) == 1
    assert list(tmp_path.glob("batch_*")) == []


def test_polls_wait_out_retry_after_and_server_errors(tmp_path: Path) -> None:
    steps = [
        Step(status=429, headers={"Retry-After": "0"}),
        Step(status=503),
        Step(hang_up=True),
    ]
    faults = [Fault(path="/v1/batches/", steps=steps)]
    with plain(tmp_path, faults=faults) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        world.command()

        assert isinstance(world.command(resume=True), Complete)


def test_a_poll_that_never_passes_loses_nothing(tmp_path: Path) -> None:
    faults = [Fault(path="/v1/batches/", steps=[Step(status=503, times=4)])]
    with plain(tmp_path, faults=faults) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        world.command()
        with pytest.raises(ModelUnavailable):
            world.command(resume=True)

        assert isinstance(world.command(resume=True), Complete)
        assert len(server.batch.batches) == 1


LOST = {
    "connection cut": Step(hang_up=True),
    "500": Step(status=500),
    "504": Step(status=504),
}


@pytest.mark.parametrize("case", LOST)
def test_a_batch_whose_making_was_not_answered_is_found_and_not_made_twice(
    tmp_path: Path, case: str
) -> None:
    fault = Fault(path="/v1/batches", method="POST", steps=[LOST[case]], carried_out=True)
    with plain(tmp_path, faults=[fault]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        outcome = world.command()

        assert isinstance(outcome, Waiting)
        assert len(server.batch.batches) == 1
        assert isinstance(world.command(resume=True), Complete)


def test_a_batch_that_was_not_made_after_all_is_made_once(tmp_path: Path) -> None:
    fault = Fault(path="/v1/batches", method="POST", steps=[Step(status=500)])
    with plain(tmp_path, faults=[fault]) as server:
        World(directory=tmp_path, server=server, ask=one_call).command()

        assert len(server.batch.batches) == 1
        assert len(server.to("/files")) == 1


def test_a_refused_batch_leaves_neither_file_nor_state(tmp_path: Path) -> None:
    fault = Fault(path="/v1/batches", method="POST", steps=[Step(status=403, message="no")])
    with plain(tmp_path, faults=[fault]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        with pytest.raises(ModelRefused):
            world.command()
        assert server.batch.files == {}
    assert list(tmp_path.glob("batch_*")) == []


# --- the state ----------------------------------------------------------------------------------


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_batch_rounds import World, one_call
class Server:
    base_url = sys.argv[1]
World(directory=Path(sys.argv[2]), server=Server(), ask=one_call).command()
"""


def test_a_process_killed_between_making_and_noting_a_batch_loses_no_paid_batch(
    tmp_path: Path,
) -> None:
    """A kill -9 while the endpoint makes the batch: its id never reached the disk."""
    children: list[subprocess.Popen[bytes]] = []

    def kill(request: Recorded) -> None:
        if (request.method, request.path) == ("POST", "/v1/batches"):
            children[0].send_signal(signal.SIGKILL)
            children[0].wait()

    with plain(tmp_path, on_request=kill) as server:
        here = Path(__file__)
        tests = str(here.parents[2])
        environment = {**os.environ, "PYTHONPATH": tests}
        children.append(
            subprocess.Popen(
                [sys.executable, "-c", CHILD, server.base_url, str(tmp_path), str(here.parent)],
                env=environment,
            )
        )
        assert children[0].wait(timeout=60) == -signal.SIGKILL
        (intended,) = _state(tmp_path).sent
        assert (intended.state, intended.id) == ("intended", None)

        server.on_request = None
        world = World(directory=tmp_path, server=server, ask=one_call)
        assert isinstance(world.command(resume=True), Complete)
        assert len(server.batch.batches) == 1
        assert any("it is used" in text for text in world.said)


def test_an_intention_without_a_batch_is_dropped_and_collected_again(tmp_path: Path) -> None:
    fault = Fault(path="/v1/batches", method="POST", steps=[Step(status=500, times=4)])
    with plain(tmp_path, faults=[fault]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        with pytest.raises(ModelUnavailable, match="--resume"):
            world.command()
        outcome = world.command(resume=True)

        assert isinstance(outcome, Waiting)
        assert any("was not made before" in text for text in world.said)
        assert len(server.batch.batches) == 1


def test_a_batch_is_found_behind_many_others(tmp_path: Path) -> None:
    """The list comes in pages of at most a hundred."""
    fault = Fault(
        path="/v1/batches", method="POST", steps=[Step(hang_up=True, times=4)], carried_out=True
    )
    with plain(tmp_path, faults=[fault]) as server:
        world = World(directory=tmp_path, server=server, ask=one_call)
        world.command()
        made = next(iter(server.batch.batches.values()))
        for number in range(250):
            status, other = server.batch.respond(
                "POST",
                "/v1/batches",
                {},
                {
                    "input_file_id": made.input_file_id,
                    "endpoint": "/v1/chat/completions",
                    "completion_window": "24h",
                    "metadata": {"number": str(number)},
                },
            )
            assert status == 200
            assert other["id"]
        state = _state(tmp_path)
        document = state.model_copy(
            update={
                "sent": tuple(
                    batch.model_copy(update={"id": None, "state": "intended"})
                    for batch in state.sent
                )
            }
        )
        path = tmp_path / state_name(FINGERPRINT)
        path.write_text(json.dumps(document.model_dump()))

        assert isinstance(world.command(resume=True), Complete)


def _state(directory: Path):
    return read_state(directory / state_name(FINGERPRINT))


def test_a_run_is_not_begun_twice(tmp_path: Path) -> None:
    with plain(tmp_path) as server:
        world = World(directory=tmp_path, server=server)
        world.command()
        with pytest.raises(UsageError, match="--resume"):
            world.command()

        assert len(server.batch.batches) == 1


def test_two_processes_do_not_work_on_one_directory(tmp_path: Path) -> None:
    with (
        BatchState.open(tmp_path, FINGERPRINT, resume=False),
        pytest.raises(StoreError, match="another batch run"),
    ):
        BatchState.open(tmp_path, FINGERPRINT, resume=False)


def test_resuming_another_run_says_what_is_different(tmp_path: Path) -> None:
    with plain(tmp_path) as server:
        World(directory=tmp_path, server=server).command()
    with pytest.raises(DataError, match="model was `stub`, now `other`"):
        BatchState.open(tmp_path, {**FINGERPRINT, "model": "other"}, resume=True)


def test_there_is_nothing_to_resume_in_an_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no unfinished batch run"):
        BatchState.open(tmp_path, FINGERPRINT, resume=True)


DAMAGED = {
    "cut": ('{"kind": "aletheia batch', "no JSON"),
    "foreign": ("[1, 2]", "no state of a batch run"),
    "newer": ('{"kind": "aletheia batch run", "version": 9}', "version 9, this program reads 1"),
    "a field is wrong": (
        '{"kind": "aletheia batch run", "version": 1, "fingerprint": {}, "rounds": -1}',
        "`rounds`",
    ),
    "another name": (
        '{"kind": "aletheia batch run", "version": 1, "fingerprint": {"model": "other"}}',
        "fingerprint",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
@pytest.mark.parametrize("resume", [True, False])
def test_a_damaged_or_foreign_state_is_an_error_that_names_the_file(
    tmp_path: Path, case: str, resume: bool
) -> None:
    text, words = DAMAGED[case]
    path = tmp_path / state_name(FINGERPRINT)
    path.write_text(text)
    with pytest.raises(DataError, match=words) as caught:
        BatchState.open(tmp_path, FINGERPRINT, resume=resume)

    assert caught.value.file == str(path)
    assert path.read_text() == text


# --- money, and rounds without end --------------------------------------------------------------


def test_a_budget_that_a_round_may_exceed_stops_it_before_anything_is_sent(tmp_path: Path) -> None:
    with plain(tmp_path) as server, budget_scope(Budget(1e-9, scope="run")):
        world = World(directory=tmp_path, server=server)
        with pytest.raises(BudgetExceeded):
            world.command()

        assert server.requests == []
    assert list(tmp_path.glob("batch_*")) == []


def test_what_earlier_rounds_cost_counts_against_the_budget(tmp_path: Path) -> None:
    rule = Rule(contains="row", steps=[Step(text="x", usage=_usage(10**9), times=None)])
    with plain(tmp_path, rules=[rule]) as server:
        world = World(directory=tmp_path, server=server)
        with budget_scope(Budget(5.0, scope="run")):
            world.command()
        with budget_scope(Budget(5.0, scope="run")), pytest.raises(BudgetExceeded):
            world.command(resume=True)

        assert len(server.batch.batches) == 1


def _usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}


def test_an_unknown_price_is_blocked_where_that_is_set(tmp_path: Path) -> None:
    prices = Prices(price_input_usd=None, price_output_usd=None)
    with (
        plain(tmp_path) as server,
        budget_scope(Budget(5.0, scope="run", unknown_price="block")),
    ):
        world = World(directory=tmp_path, server=server, prices=prices)
        with pytest.raises(BudgetExceeded, match="not known"):
            world.command()

        assert server.requests == []


def test_a_pipeline_that_asks_something_new_every_time_is_stopped(tmp_path: Path) -> None:
    rounds: list[None] = []

    async def restless(model: ChatModel, index: int) -> str:
        rounds.append(None)
        return (await model.complete(Prompt(system="", user=f"new {len(rounds)}"))).text

    with plain(tmp_path) as server:
        world = World(directory=tmp_path, server=server, ask=restless, rows=1)
        with pytest.raises(DataError, match="still asks new questions"):
            world.command(wait=True)

        assert len(server.batch.batches) == 5


def test_collecting_is_no_failure_that_a_pipeline_may_take_for_an_answer() -> None:
    """It must pass every handler for replies that cannot be used."""
    assert issubclass(Deferred, ModelError)
    assert not issubclass(Deferred, ModelBadReply | ModelRefused | ModelUnavailable)
