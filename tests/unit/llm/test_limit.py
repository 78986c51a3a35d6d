"""How many requests are under way: slower where the endpoint says so, then faster again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import anyio
import pytest

from aletheia.errors import ModelError, ModelRefused, ModelUnavailable
from aletheia.llm.limit import AdaptiveLimiter, LimitedModel
from aletheia.llm.retry import Retrier, RetryPolicy
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.schema.model import Prompt, Reply

PROMPT = Prompt(system="", user="?")


@dataclass
class Time:
    """A clock that moves only when somebody sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()


@dataclass
class Busy:
    """A chat model that counts how many are inside at once."""

    fails: Callable[[int], ModelError | None] = lambda _n: None
    name: str = "busy"
    inside: int = 0
    most: int = 0
    calls: int = 0

    async def complete(self, _prompt: Prompt) -> Reply:
        number, self.calls = self.calls, self.calls + 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
            error = self.fails(number)
            if error is not None:
                raise error
            return Reply(text="ok", model=self.name)
        finally:
            self.inside -= 1


def limiter(most: int, per_minute: int | None = None, **options: object) -> AdaptiveLimiter:
    time = options.pop("time", None) or Time()
    assert isinstance(time, Time)
    return AdaptiveLimiter(most, per_minute, sleep=time.sleep, clock=time, **options)  # type: ignore[arg-type]


def many(model: LimitedModel, count: int) -> list[Reply | ModelError]:
    """Ask that many times at once."""
    outcomes: list[Reply | ModelError] = []

    async def one() -> None:
        try:
            outcomes.append(await model.complete(PROMPT))
        except ModelError as error:
            outcomes.append(error)

    async def all_of_them() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(one)

    anyio.run(all_of_them)
    return outcomes


def one_after_the_other(model: LimitedModel, count: int) -> None:
    async def run() -> None:
        for _ in range(count):
            await model.complete(PROMPT)

    anyio.run(run)


@pytest.mark.parametrize("most", [1, 3, 8])
def test_no_more_than_the_limit_are_under_way_and_all_of_it_is_used(most: int) -> None:
    busy = Busy()
    assert len(many(LimitedModel(busy, limiter(most)), 20)) == 20
    assert busy.most == most


@pytest.mark.parametrize(
    ("error", "limit"),
    [
        (ModelUnavailable("x", status=429), 4),
        (ModelUnavailable("x", status=503), 4),
        (ModelUnavailable("x", status=529), 4),
        (ModelUnavailable("x", status=500, retry_after_s=0.0), 4),
        (ModelUnavailable("x", status=500), 8),
        (ModelUnavailable("no answer"), 8),
        (ModelRefused("x", status=400), 8),
    ],
)
def test_only_an_endpoint_that_is_overloaded_slows_down(error: Line, limit: int) -> None:
    bound = limiter(8)
    many(LimitedModel(ScriptedModel([error]), bound), 1)
    assert (bound.stats.current, bound.stats.lowest) == (limit, limit)


def test_a_burst_of_refusals_halves_once_and_later_ones_again() -> None:
    """What was under way at the time was sent too early to say more."""
    time = Time()
    bound = limiter(8, time=time)
    refused = Busy(fails=lambda _n: ModelUnavailable("x", status=429))
    time.now = 1.0
    many(LimitedModel(refused, bound), 1)
    assert bound.stats.lowest == 4
    for expected in (2, 1, 1):
        time.now += 1.0
        many(LimitedModel(refused, bound), 1)
        assert bound.stats.lowest == expected
    assert bound.stats.slowed == 4


def test_eight_at_once_that_are_refused_count_once() -> None:
    class Ticking(Time):
        def __call__(self) -> float:
            self.now += 0.001
            return self.now

    bound = limiter(8, time=Ticking())
    many(LimitedModel(Busy(fails=lambda _n: ModelUnavailable("x", status=429)), bound), 8)
    assert bound.stats.lowest == 4


def test_successes_bring_the_limit_back_and_not_above() -> None:
    bound = limiter(4)
    many(LimitedModel(ScriptedModel([ModelUnavailable("x", status=429)]), bound), 1)
    assert bound.stats.current == 2
    one_after_the_other(LimitedModel(Busy(), bound), 3)
    assert 3 < bound.stats.current < 4
    one_after_the_other(LimitedModel(Busy(), bound), 30)
    assert bound.stats.current == 4
    assert bound.stats.lowest == 2


def test_after_slowing_down_fewer_are_under_way() -> None:
    bound = limiter(4)
    many(LimitedModel(ScriptedModel([ModelUnavailable("x", status=429)]), bound), 1)
    busy = Busy(fails=lambda _n: ModelUnavailable("x"))
    many(LimitedModel(busy, bound), 10)
    assert busy.most == 2


def test_retry_after_holds_back_every_model_of_the_endpoint() -> None:
    time = Time()
    bound = limiter(8, time=time)
    many(
        LimitedModel(ScriptedModel([ModelUnavailable("x", status=429, retry_after_s=7.0)]), bound),
        1,
    )
    started: list[float] = []

    def note(_prompt: Prompt) -> str:
        started.append(time.now)
        return "ok"

    many(LimitedModel(ScriptedModel(note, name="other"), bound), 3)
    assert min(started) >= 7.0
    assert bound.stats.pauses == 1


def test_a_pause_is_waited_out_once_and_not_again_by_the_retries() -> None:
    """The retries wait as long as the pause lasts; the limiter then adds nothing."""
    time = Time()
    bound = limiter(2, time=time)
    script: list[Line] = [ModelUnavailable("x", status=429, retry_after_s=5.0)] * 2
    model = LimitedModel(ScriptedModel([*script, "ok"]), bound)
    policy = RetryPolicy(first_wait_s=0.1, jitter_s=0.0)
    retrier = Retrier(policy, sleep=time.sleep, clock=time)

    async def run() -> None:
        done = await retrier.run(lambda: model.complete(PROMPT))
        assert done.value.text == "ok"

    anyio.run(run)
    assert time.slept == [5.0, 5.0]
    assert bound.stats.pauses == 2


def test_a_pause_that_is_too_long_fails_at_once_for_everybody() -> None:
    bound = limiter(2, longest_pause_s=60.0)
    error = ModelUnavailable("x", status=429, retry_after_s=3600.0)
    busy = Busy()
    many(LimitedModel(ScriptedModel([error]), bound), 1)
    outcomes = many(LimitedModel(busy, bound), 3)
    assert busy.calls == 0
    for outcome in outcomes:
        assert isinstance(outcome, ModelUnavailable)
        assert outcome.retry_after_s == 3600.0
        assert outcome.usage is not None
        assert outcome.usage.calls == 0


def test_no_sixty_seconds_hold_more_requests_than_a_minute_may() -> None:
    time = Time()
    started: list[float] = []

    def note(_prompt: Prompt) -> str:
        started.append(time.now)
        time.now += 1.0
        return "ok"

    one_after_the_other(LimitedModel(ScriptedModel(note), limiter(4, 10, time=time)), 35)
    for index in range(len(started) - 10):
        assert started[index + 10] - started[index] >= 60.0
    assert started[9] < 60.0


def test_a_cancelled_wait_gives_its_turn_to_the_next() -> None:
    bound = limiter(1)
    order: list[str] = []

    async def hold(name: str, event: anyio.Event) -> None:
        async with bound.turn():
            order.append(name)
            await event.wait()

    async def run() -> None:
        release, free = anyio.Event(), anyio.Event()
        free.set()
        async with anyio.create_task_group() as group:
            group.start_soon(hold, "first", release)
            await anyio.wait_all_tasks_blocked()
            async with anyio.create_task_group() as given_up:
                given_up.start_soon(hold, "cancelled", free)
                await anyio.wait_all_tasks_blocked()
                given_up.cancel_scope.cancel()
            group.start_soon(hold, "third", free)
            await anyio.wait_all_tasks_blocked()
            release.set()

    anyio.run(run)
    assert order == ["first", "third"]


def test_one_limiter_serves_several_event_loops_and_threads() -> None:
    """Field case 151: turns belong to a loop, so none waits on the loop of another."""
    model = LimitedModel(Busy(), AdaptiveLimiter(2))
    for _ in range(3):
        assert len(many(model, 5)) == 5
    with ThreadPoolExecutor(2) as pool:
        assert [len(done) for done in pool.map(lambda _n: many(model, 20), range(2))] == [20, 20]

    async def thrice() -> int:
        return len([await model.complete(PROMPT) for _ in range(3)])

    assert asyncio.run(thrice()) == 3
