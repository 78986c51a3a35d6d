"""Scopes count their own calls, under threads and tasks, and nobody else's."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from stub_server import Step, StubServer

from aletheia.llm.budget import Budget, budget_scope, open_budgets
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.pricing import Pricer
from aletheia.llm.record import CallRecord, RecordingModel
from aletheia.llm.tracking import CostScope, Tracker, get_tracker, record_call
from aletheia.schema.model import Prompt, Usage

THREADS, CALLS, TASKS = 16, 50, 200


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    """The tracker of the process, at zero before and after."""
    found = get_tracker()
    found.reset()
    yield found
    found.reset()


def pay(usd: float | None = 1.0, *, model: str = "m") -> None:
    usage = Usage(prompt_tokens=3, completion_tokens=4)
    record_call(CallRecord(model=model, usage=usage, seconds=0.0, usd=usd))


def test_a_scope_says_what_its_calls_cost() -> None:
    pay()
    with CostScope() as scope:
        pay(2.0, model="a")
        pay(model="b")
    pay()
    assert (scope.usd, scope.tokens, scope.calls, scope.unpriced) == (3.0, 14, 2, 0)
    assert {name: cost.usd for name, cost in scope.by_model().items()} == {"a": 2.0, "b": 1.0}


@pytest.mark.parametrize(
    ("prices", "usd", "unpriced"),
    [([], 0.0, 0), ([None], None, 1), ([None, 1.0], 1.0, 1), ([0.0], 0.0, 0)],
)
def test_an_unknown_price_is_never_nothing(
    prices: list[float | None], usd: float | None, unpriced: int
) -> None:
    with CostScope() as scope:
        for price in prices:
            pay(price)
    assert (scope.usd, scope.unpriced) == (usd, unpriced)


def test_nested_scopes_both_count() -> None:
    with CostScope() as outer:
        pay()
        with CostScope() as inner:
            pay()
        pay()
    assert (outer.calls, inner.calls) == (3, 1)


def test_a_scope_that_is_entered_again_goes_on_and_counts_once() -> None:
    scope = CostScope()
    with scope:
        pay()
    with scope, scope:
        pay()
    pay()
    assert scope.calls == 2


def test_a_scope_ends_with_an_error() -> None:
    scope = CostScope()
    with pytest.raises(ZeroDivisionError), scope:
        pay(1 / 0)
    pay()
    assert scope.calls == 0


def test_a_scope_may_be_left_in_another_context() -> None:
    """As happens to a generator that a test framework drives."""
    scope = CostScope()
    contextvars.copy_context().run(scope.__enter__)
    scope.__exit__(None, None, None)
    pay()
    assert scope.calls == 0


class TestTasks:
    """Tasks inherit the scopes of the task that starts them."""

    def test_tasks_started_inside_count_and_scopes_of_others_do_not(self, tracker: Tracker) -> None:
        async def one(index: int, seen: dict[int, CostScope]) -> None:
            async with CostScope() as seen[index], anyio.create_task_group() as group:
                for _ in range(index % 4):
                    group.start_soon(self.later)
                await anyio.lowlevel.checkpoint()
                pay()

        async def all_of_them() -> tuple[CostScope, dict[int, CostScope]]:
            seen: dict[int, CostScope] = {}
            with CostScope() as outer:
                async with anyio.create_task_group() as group:
                    for index in range(TASKS):
                        group.start_soon(one, index, seen)
            return outer, seen

        outer, seen = anyio.run(all_of_them)
        assert {index: scope.calls for index, scope in seen.items()} == {
            index: index % 4 + 1 for index in range(TASKS)
        }
        expected = sum(index % 4 + 1 for index in range(TASKS))
        assert (outer.calls, outer.usd, tracker.calls) == (expected, float(expected), expected)

    @staticmethod
    async def later() -> None:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        pay()

    def test_asyncio_gather_and_threads_of_the_loop(self) -> None:
        async def work() -> CostScope:
            async with CostScope() as scope:
                await asyncio.gather(*(self.later() for _ in range(5)))
                await asyncio.to_thread(pay)
                await anyio.to_thread.run_sync(pay)
            return scope

        assert asyncio.run(work()).calls == 7

    def test_a_task_that_outlives_the_block_still_belongs_to_it(self) -> None:
        async def work() -> CostScope:
            with CostScope() as scope:
                task = asyncio.create_task(self.later())
            await task
            return scope

        assert asyncio.run(work()).calls == 1


class TestThreads:
    """A plain thread starts with no scope; `bind` gives it one."""

    def run_in_threads(self, work: object) -> None:
        threads = [threading.Thread(target=work) for _ in range(THREADS)]  # type: ignore[arg-type]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_scopes_of_threads_do_not_see_each_other(self, tracker: Tracker) -> None:
        scopes: list[CostScope] = []

        def work() -> None:
            with CostScope() as scope:
                scopes.append(scope)
                for _ in range(CALLS):
                    pay(0.1)

        self.run_in_threads(work)
        assert [scope.calls for scope in scopes] == [CALLS] * THREADS
        assert {scope.usd for scope in scopes} == {CALLS / 10}
        assert (tracker.calls, tracker.usd) == (THREADS * CALLS, THREADS * CALLS / 10)

    def test_bound_functions_count_and_others_do_not(self, tracker: Tracker) -> None:
        def work() -> None:
            for _ in range(CALLS):
                pay()

        with CostScope() as outer, CostScope() as scope:
            self.run_in_threads(scope.bind(work))
            self.run_in_threads(work)
        assert (scope.calls, outer.calls) == (THREADS * CALLS, THREADS * CALLS)
        assert tracker.calls == 2 * THREADS * CALLS

    def test_bound_in_a_pool_with_arguments_and_a_result(self) -> None:
        def work(usd: float, *, model: str) -> str:
            pay(usd, model=model)
            return model

        with CostScope() as scope, ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(scope.bind(work), 0.5, model=str(n)) for n in range(8)]
            assert [future.result() for future in futures] == [str(n) for n in range(8)]
        assert (scope.calls, scope.usd) == (8, 4.0)

    def test_a_scope_opened_in_the_thread_counts_what_is_bound_to_another(self) -> None:
        with CostScope() as scope:
            bound = scope.bind(pay)
        inner: list[CostScope] = []

        def work() -> None:
            with CostScope() as own:
                bound()
            inner.append(own)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert (scope.calls, inner[0].calls) == (1, 1)

    def test_bound_coroutine_functions(self) -> None:
        async def work(count: int) -> int:
            for _ in range(count):
                await anyio.lowlevel.checkpoint()
                pay()
            return count

        with CostScope() as scope, ThreadPoolExecutor(4) as pool:
            bound = scope.bind(work)
            results = list(pool.map(lambda count: anyio.run(bound, count), range(5)))
        assert (results, scope.calls) == ([0, 1, 2, 3, 4], 10)

    def test_bind_takes_budgets_along(self) -> None:
        budget = Budget(1.0)
        with budget_scope(budget), CostScope() as scope:
            bound = scope.bind(open_budgets)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(bound).result() == (budget,)
            assert pool.submit(open_budgets).result() == ()


class TestOverHttp:
    """The same over real connections, with prices of the list."""

    PROMPT = Prompt(system="", user="hello", max_output_tokens=10)
    USD = (11 * 0.15 + 7 * 0.6) / 1e6
    """What the stub's 11 prompt and 7 completion tokens cost with `gpt-4o-mini`."""

    def model(self, url: str) -> RecordingModel:
        inner = OpenAIChatModel("gpt-4o-mini", base_url=url)
        return RecordingModel(inner, None, Pricer(), base_url=url)

    def test_threads(self, tracker: Tracker) -> None:
        async def ask(url: str) -> None:
            model = self.model(url)
            for _ in range(CALLS // 5):
                async with anyio.create_task_group() as group:
                    for _ in range(5):
                        group.start_soon(model.complete, self.PROMPT)

        def work() -> CostScope:
            with CostScope() as scope:
                anyio.run(ask, server.base_url)
            return scope

        with StubServer([Step(text="x", times=None)]) as server:
            with ThreadPoolExecutor(THREADS) as pool:
                futures = [pool.submit(work) for _ in range(THREADS)]
                scopes = [future.result() for future in futures]
            assert len(server.chats) == THREADS * CALLS
        assert [scope.calls for scope in scopes] == [CALLS] * THREADS
        assert {scope.tokens for scope in scopes} == {18 * CALLS}
        assert [scope.usd for scope in scopes] == pytest.approx([CALLS * self.USD] * THREADS)
        assert tracker.usd == pytest.approx(THREADS * CALLS * self.USD)

    def test_a_model_without_a_price_is_not_free(self) -> None:
        with StubServer(["x"]) as server, CostScope() as scope:
            model = RecordingModel(
                OpenAIChatModel("stub", base_url=server.base_url), None, Pricer()
            )
            anyio.run(model.complete, self.PROMPT)
        assert (scope.usd, scope.unpriced, scope.tokens) == (None, 1, 18)


def test_the_tracker_is_one_and_starts_again(tracker: Tracker) -> None:
    pay(model="a")
    pay(None, model="b")
    assert get_tracker() is tracker
    assert (tracker.usd, tracker.calls, tracker.tokens, tracker.unpriced) == (1.0, 2, 14, 1)
    assert list(tracker.by_model()) == ["a", "b"]
    tracker.reset()
    assert (tracker.usd, tracker.calls, tracker.cost.requests) == (0.0, 0, 0)


def test_a_scope_that_is_over_is_forgotten() -> None:
    """Nothing global holds on to it."""
    import weakref

    with CostScope() as scope:
        pay()
    gone = weakref.ref(scope)
    del scope
    gc.collect()
    assert gone() is None
