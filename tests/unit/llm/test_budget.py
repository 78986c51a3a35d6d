"""Budgets hold before a call goes out, also for calls that are under way."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stub_server import Step, StubServer

from aletheia.errors import (
    AletheiaError,
    BudgetExceeded,
    ConfigError,
    ModelRefused,
    ModelUnavailable,
)
from aletheia.llm.budget import (
    DEFAULT_OUTPUT_TOKENS,
    Budget,
    BudgetedModel,
    budget_scope,
    highest_usage,
    open_budgets,
    reserve,
    token_bound,
)
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.pricing import Pricer
from aletheia.llm.record import CallLedger, RecordingModel
from aletheia.llm.retry import RetryingModel, RetryPolicy
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage

PLAIN = Prompt(system="", user="hello", max_output_tokens=10)


@dataclass(frozen=True)
class Own:
    """Prices that make the sums easy: a cent for each token."""

    price_input_usd: float | None = 1e4
    price_output_usd: float | None = 1e4


CENTS = Pricer(Own())
UNPRICED = Pricer()


def most(prompt: Prompt = PLAIN) -> float:
    """What a prompt may cost at a cent for each token."""
    usage = highest_usage(prompt)
    return ((usage.prompt_tokens or 0) + (usage.completion_tokens or 0)) / 100


def reply(prompt: int | None = 3, completion: int | None = 2) -> Reply:
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
    return Reply(text="x", model="m", usage=usage)


class TestBudget:
    """What is spent, what is held and what is asked for never exceed the limit."""

    def test_it_is_full_at_the_limit_and_not_before(self) -> None:
        budget = Budget(0.3)
        for _ in range(3):
            budget.reserve(0.1).settle(0.1)
        assert (budget.spent_usd, budget.reserved_usd) == (0.3, 0.0)
        budget.reserve(0.0)
        with pytest.raises(BudgetExceeded) as caught:
            budget.reserve(1e-9, model="m")
        error = caught.value
        assert error.estimated_usd == pytest.approx(0.300000001)
        assert (error.budget_usd, error.scope, error.model) == (0.3, "trace", "m")
        assert "per_trace_budget_usd" in str(error)

    def test_what_is_held_counts(self) -> None:
        budget = Budget(1.0, scope="run")
        held = budget.reserve(0.8)
        with pytest.raises(BudgetExceeded, match=r"up to \$1\.1 .* budget of this run is \$1 "):
            budget.reserve(0.3)
        held.settle(0.5)
        assert budget.reserve(0.3).usd == 0.3
        assert (budget.spent_usd, budget.reserved_usd) == (0.5, 0.3)

    def test_a_reservation_ends_once(self) -> None:
        budget = Budget(1.0)
        first = budget.reserve(0.5)
        first.settle(0.2)
        first.settle(0.9)
        first.release()
        budget.reserve(0.5).release()
        assert (budget.spent_usd, budget.reserved_usd) == (0.2, 0.0)

    def test_a_cost_that_is_not_known_is_what_was_reserved(self) -> None:
        budget = Budget(1.0)
        budget.reserve(0.4).settle(None)
        assert budget.spent_usd == 0.4

    @pytest.mark.parametrize("limit", [-0.01, float("nan"), float("inf")])
    def test_a_limit_is_a_sum_of_money(self, limit: float) -> None:
        with pytest.raises(ConfigError, match="US dollars"):
            Budget(limit)

    def test_block_refuses_what_has_no_price(self) -> None:
        with pytest.raises(BudgetExceeded, match="the price of `m` is not known") as caught:
            Budget(1.0, unknown_price="block").reserve(None, model="m")
        assert caught.value.estimated_usd is None

    def test_warn_says_it_once_for_each_model_and_counts_it(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            for name in ("warned-a", "warned-b", "warned-a"):
                budget = Budget(0.0)
                budget.reserve(None, model=name).settle(None)
                assert (budget.unpriced, budget.spent_usd) == (1, 0.0)
        assert [name for name in ("warned-a", "warned-b") if f"`{name}`" in caplog.text]
        assert len(caplog.records) == 2

    def test_threads_cannot_overshoot(self) -> None:
        budget = Budget(10.0)
        refused: list[BudgetExceeded] = []

        def work() -> None:
            for _ in range(50):
                try:
                    held = budget.reserve(0.1)
                except BudgetExceeded as error:
                    refused.append(error)
                else:
                    held.settle(0.1)

        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (budget.spent_usd, budget.reserved_usd) == (10.0, 0.0)
        assert len(refused) == 16 * 50 - 100


class TestScopes:
    """Open budgets stand on a stack of the context."""

    def test_all_open_budgets_hold_or_none_does(self) -> None:
        run, trace = Budget(1.0, scope="run"), Budget(0.1)
        with budget_scope(run):
            with budget_scope(trace), pytest.raises(BudgetExceeded) as caught:
                reserve(0.5)
            assert (caught.value.scope, run.reserved_usd) == ("trace", 0.0)
            (held,) = reserve(0.5)
            assert run.reserved_usd == 0.5
            held.release()
        assert open_budgets() == ()

    def test_none_opens_nothing(self) -> None:
        with budget_scope(None) as opened:
            assert (opened, open_budgets()) == (None, ())

    def test_tasks_and_threads_of_a_loop_inherit_them(self) -> None:
        seen: list[tuple[Budget, ...]] = []

        async def look() -> None:
            seen.append(open_budgets())

        async def work() -> None:
            with budget_scope(Budget(1.0)):
                async with anyio.create_task_group() as group:
                    group.start_soon(look)
                seen.append(await anyio.to_thread.run_sync(open_budgets))

        anyio.run(work)
        assert [len(budgets) for budgets in seen] == [1, 1]


class TestTokenBound:
    """No tokenizer is at hand offline, so the bound is reasoned about, not measured.

    A byte-level tokenizer has the 256 bytes as tokens and only ever merges: one token a byte is
    the most. One with byte fallback writes what it does not know as its bytes.
    """

    @pytest.mark.parametrize(
        ("text", "bound"),
        [
            ("", 0),
            ("hello", 6),
            ("東京", 7),
            ("👩‍👩‍👧", 19),
            ("\ud800", 4),
            ("def f(x):\n\treturn x", 20),
            ("\x00\xff", 4),
        ],
    )
    def test_it_is_a_token_for_each_byte(self, text: str, bound: int) -> None:
        assert token_bound(text) == bound

    @given(st.text())
    def test_it_is_never_below_the_bytes_that_are_sent(self, text: str) -> None:
        sent = text.encode("utf-8", "replace")
        assert token_bound(text) >= len(sent)

    def test_byte_pair_merges_only_ever_make_fewer(self) -> None:
        """The bundled tokenizers library, with a vocabulary of bytes and no merge: the worst."""
        from tokenizers import Tokenizer, models, pre_tokenizers

        alphabet = pre_tokenizers.ByteLevel.alphabet()
        tokenizer = Tokenizer(
            models.BPE(vocab={char: n for n, char in enumerate(sorted(alphabet))}, merges=[])
        )
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        for text in ("plain words", "東京は晴れ", "👩‍👩‍👧 naïve", "x = {'a': [1, 2]}\n", "é" * 50):
            assert len(tokenizer.encode(text).ids) <= token_bound(text)


@pytest.mark.parametrize(
    ("changed", "calls", "completion"),
    [
        ({}, 1, 10),
        ({"max_output_tokens": None}, 1, DEFAULT_OUTPUT_TOKENS),
        ({"output_ceiling": 100}, 2, 110),
        ({"output_ceiling": 10}, 1, 10),
        ({"max_output_tokens": None, "output_ceiling": 100}, 2, DEFAULT_OUTPUT_TOKENS + 100),
        ({"schema": {"type": "object"}}, 2, 20),
        ({"schema": {"type": "object"}, "output_ceiling": 100}, 3, 120),
    ],
)
def test_the_most_a_prompt_may_cost(
    changed: dict[str, object], calls: int, completion: int
) -> None:
    """A second request after a cut reply, or after an echo of the schema, is paid for too."""
    prompt = replace(PLAIN, **changed)  # type: ignore[arg-type]
    usage = highest_usage(prompt)
    assert (usage.calls, usage.completion_tokens) == (calls, completion)
    sent = len(prompt.system + prompt.user)
    if prompt.schema is not None:
        sent += len(json.dumps(prompt.schema))
    assert (usage.prompt_tokens or 0) >= calls * sent


class TestBudgetedModel:
    """It reserves before, books afterwards, and sends nothing that may cost too much."""

    def spend(
        self,
        line: Line,
        *,
        limit: float = 1000.0,
        pricer: Pricer = CENTS,
        prompt: Prompt = PLAIN,
        expected: type[AletheiaError] | None = None,
    ) -> tuple[Budget, ScriptedModel]:
        budget, inner = Budget(limit), ScriptedModel([line])
        model = BudgetedModel(inner, pricer)

        async def ask() -> None:
            with budget_scope(budget):
                await model.complete(prompt)

        if expected is None:
            anyio.run(ask)
        else:
            with pytest.raises(expected):
                anyio.run(ask)
        assert budget.reserved_usd == 0.0
        return budget, inner

    def test_the_real_cost_is_booked(self) -> None:
        assert self.spend(reply(3, 2))[0].spent_usd == 0.05

    @pytest.mark.parametrize("given", [reply(None, None), reply(3, None)])
    def test_tokens_that_were_not_reported_cost_what_was_reserved(self, given: Reply) -> None:
        assert self.spend(given)[0].spent_usd == pytest.approx(most())

    def test_a_failed_call_costs_what_it_says(self) -> None:
        error = ModelRefused("no", usage=Usage(prompt_tokens=7, completion_tokens=0))
        assert self.spend(error, expected=ModelRefused)[0].spent_usd == 0.07

    def test_a_failed_call_that_says_nothing_costs_what_was_reserved(self) -> None:
        budget, _ = self.spend(ModelUnavailable("down"), expected=ModelUnavailable)
        assert budget.spent_usd == pytest.approx(most())

    def test_a_call_that_was_never_sent_costs_nothing(self) -> None:
        assert self.spend(ConfigError("no"), expected=ConfigError)[0].spent_usd == 0.0

    def test_nothing_is_sent_above_the_limit(self) -> None:
        budget, inner = self.spend("x", limit=most() - 0.01, expected=BudgetExceeded)
        assert (inner.history, budget.spent_usd) == ([], 0.0)
        self.spend(reply(), limit=most())

    def test_an_unknown_price_is_counted_apart(self) -> None:
        budget, _ = self.spend(reply(), limit=0.0, pricer=UNPRICED)
        assert (budget.unpriced, budget.spent_usd) == (1, 0.0)

    def test_outside_every_scope_nothing_changes(self) -> None:
        model = BudgetedModel(ScriptedModel(["x"], name="m"), CENTS)
        assert (anyio.run(model.complete, PLAIN).text, model.name) == ("x", "m")
        assert isinstance(model, ChatModel)

    def test_nobody_waits_for_what_is_held_without_an_end(self) -> None:
        """A sum that somebody put aside is no call that will end."""
        budget = Budget(most() * 1.5)
        inner = ScriptedModel([reply()])

        async def ask() -> None:
            with budget_scope(budget), anyio.fail_after(10):
                (aside,) = reserve(most())
                with pytest.raises(BudgetExceeded):
                    await BudgetedModel(inner, CENTS).complete(PLAIN)
                aside.release()
                await BudgetedModel(inner, CENTS).complete(PLAIN)

        anyio.run(ask)
        assert (len(inner.history), budget.spent_usd) == (1, 0.05)

    def test_a_wrapper_inside_a_wrapper_pays_once(self) -> None:
        budget = Budget(most())
        model = BudgetedModel(BudgetedModel(ScriptedModel([reply(3, 2)]), CENTS), CENTS)

        async def ask() -> None:
            with budget_scope(budget), anyio.fail_after(10):
                await model.complete(PLAIN)

        anyio.run(ask)
        assert budget.spent_usd == 0.05

    def test_a_cancelled_call_costs_what_was_reserved(self) -> None:
        budget = Budget(1000.0)

        class Slow:
            name = "slow"

            async def complete(self, _prompt: Prompt) -> Reply:
                await anyio.sleep_forever()
                raise AssertionError

        async def ask() -> None:
            with budget_scope(budget), anyio.move_on_after(0.05):
                await BudgetedModel(Slow(), CENTS).complete(PLAIN)

        anyio.run(ask)
        assert (budget.spent_usd, budget.reserved_usd) == (pytest.approx(most()), 0.0)


class TestManyAtOnce:
    """The cost of calls under way is reserved."""

    def ask(self, server: StubServer, budget: Budget, count: int) -> tuple[CallLedger, list[str]]:
        """Ask in parallel; return the ledger and what became of each call."""
        ledger, ended = CallLedger(), list[str]()
        url = server.base_url
        recording = RecordingModel(OpenAIChatModel("stub", base_url=url), ledger, CENTS)
        quick = RetryPolicy(max_retries=2, first_wait_s=0.01, jitter_s=0.0)
        model = BudgetedModel(RetryingModel(recording, quick), CENTS, url)

        async def one() -> None:
            try:
                await model.complete(PLAIN)
                ended.append("reply")
            except AletheiaError as error:
                ended.append(type(error).__name__)

        async def everybody() -> None:
            with budget_scope(budget):
                async with anyio.create_task_group() as group:
                    for _ in range(count):
                        group.start_soon(one)

        anyio.run(everybody)
        return ledger, ended

    @pytest.mark.parametrize("room_for", [1, 3, 10])
    def test_64_calls_that_cost_the_most_cannot_overshoot(self, room_for: int) -> None:
        """An endpoint that reports nothing: each is booked as the most it may cost."""
        budget = Budget(most() * room_for + most() / 2, scope="run")
        with StubServer([Step(text="x", usage=None, delay=0.05, times=None)]) as server:
            _, ended = self.ask(server, budget, 64)
            assert len(server.chats) == room_for
        assert (ended.count("reply"), ended.count("BudgetExceeded")) == (room_for, 64 - room_for)
        assert budget.spent_usd == pytest.approx(most() * room_for)

    def test_calls_that_cost_less_leave_their_room_to_those_that_wait(self) -> None:
        """What is refused does not depend on how many are asked at once."""
        budget = Budget(most() * 2 + 64 * 0.18, scope="run")
        with StubServer([Step(text="x", times=None)]) as server:
            ledger, ended = self.ask(server, budget, 64)
        assert ended == ["reply"] * 64
        assert ledger.totals().usd == pytest.approx(64 * 0.18)
        assert budget.spent_usd == pytest.approx(64 * 0.18)

    def test_tries_that_fail_are_in_the_ledger_and_cost_nothing(self) -> None:
        budget = Budget(most() * 4, scope="run")
        steps = [Step(status=500), Step(text="x", times=None)]
        with StubServer(steps) as server:
            ledger, ended = self.ask(server, budget, 3)
        cost = ledger.totals()
        assert ended == ["reply"] * 3
        assert (cost.calls, cost.failed, cost.usd) == (4, 1, pytest.approx(3 * 0.18))
        assert budget.spent_usd == pytest.approx(3 * 0.18)
