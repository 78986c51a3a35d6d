"""Try again what may pass: network failures, timeouts, 429 and 5xx, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

import anyio
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from aletheia.errors import ModelUnavailable
from aletheia.llm.base import add_usage, requests_only
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When to stop. Times are in seconds.

    `max_retries` counts the tries after the first. The wait doubles from `first_wait_s` up to
    `max_wait_s`, plus up to `jitter_s`. A `Retry-After` is waited out in full; one longer than
    `retry_after_cap_s`, or one that ends after `total_s`, ends the call at once.
    """

    max_retries: int = 4
    first_wait_s: float = 0.5
    max_wait_s: float = 30.0
    jitter_s: float = 0.5
    retry_after_cap_s: float = 120.0
    total_s: float = 600.0


@dataclass(slots=True, kw_only=True)
class RetryStats:
    """Counts over the life of one wrapper. `attempts` = `calls` + `retries`."""

    calls: int = 0
    retries: int = 0
    gave_up: int = 0

    @property
    def attempts(self) -> int:
        """All tries, the first ones included."""
        return self.calls + self.retries


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(Generic[T]):
    """A value, and what the failed tries before it cost (None = there were none)."""

    value: T
    failed: Usage | None


@dataclass(slots=True)
class Retrier:
    """Runs one call until it passes or the policy says stop.

    `sleep` and `clock` are those of the process unless a test gives others.
    """

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    clock: Callable[[], float] = time.monotonic
    stats: RetryStats = field(default_factory=RetryStats)

    async def run(self, call: Callable[[], Awaitable[T]]) -> Retried[T]:
        """Call until there is a value.

        Raises `ModelUnavailable` that says how many tries there were; other errors pass through
        after the try that raised them.
        """
        self.stats.calls += 1
        run = _Run(retrier=self, deadline=self.clock() + self.policy.total_s)
        try:
            return Retried(value=await run.attempt(call), failed=None)
        except ModelUnavailable as error:
            # Most calls pass at once, and need no more than this.
            run.told = error
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(ModelUnavailable),
            wait=run.wait,
            stop=run.stop,
            sleep=self.sleep,
            before_sleep=run.before_sleep,
            retry_error_callback=run.give_up,
        )
        value: T = await retrying(run.further, call)
        return Retried(value=value, failed=run.failed)


@dataclass(slots=True)
class _Run:
    """One call on its way: the time it has left and what its failed tries cost."""

    retrier: Retrier
    deadline: float
    failed: Usage | None = None
    told: ModelUnavailable | None = None
    """What the first try ended with, while nobody has counted it."""

    @property
    def _left(self) -> float:
        return self.deadline - self.retrier.clock()

    async def attempt(self, call: Callable[[], Awaitable[T]]) -> T:
        try:
            with anyio.move_on_after(max(0.0, self._left)):
                return await call()
            raise ModelUnavailable("the time for the call ran out", usage=Usage())
        except ModelUnavailable as error:
            cost = error.usage or requests_only(1)
            self.failed = add_usage(self.failed, cost) if self.failed else cost
            raise

    async def further(self, call: Callable[[], Awaitable[T]]) -> T:
        """Try again; the first time there is the end of the first try to tell."""
        if self.told is not None:
            error, self.told = self.told, None
            raise error
        return await self.attempt(call)

    def wait(self, state: RetryCallState) -> float:
        policy = self.retrier.policy
        doubling = wait_exponential(multiplier=policy.first_wait_s, max=policy.max_wait_s)
        jitter = wait_random(0.0, policy.jitter_s)(state)
        # The jitter comes on top of what was asked for: everybody else was told the same time.
        return max(doubling(state), _asked(state) or 0.0) + jitter

    def stop(self, state: RetryCallState) -> bool:
        policy = self.retrier.policy
        enough = stop_after_attempt(policy.max_retries + 1)(state)
        too_long = (_asked(state) or 0.0) > policy.retry_after_cap_s
        return enough or too_long or state.upcoming_sleep >= self._left

    def before_sleep(self, _state: RetryCallState) -> None:
        self.retrier.stats.retries += 1

    def give_up(self, state: RetryCallState) -> None:
        self.retrier.stats.gave_up += 1
        last = _error(state)
        raise ModelUnavailable(
            f"{last.message} ({_why(state, self.retrier.policy)})",
            hint=last.hint,
            status=last.status,
            usage=self.failed,
            retry_after_s=last.retry_after_s,
        ) from None


class RetryingModel:
    """A chat model that tries again, with the interface of a chat model."""

    def __init__(
        self, model: ChatModel, policy: RetryPolicy | None = None, *, retrier: Retrier | None = None
    ) -> None:
        self.inner: Final = model
        self._retrier = retrier or Retrier(policy or RetryPolicy())

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    @property
    def stats(self) -> RetryStats:
        """How many calls, retries and surrenders there were so far."""
        return self._retrier.stats

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt. `Reply.usage.calls` counts the failed tries as well."""
        done = await self._retrier.run(lambda: self.inner.complete(prompt))
        if done.failed is None:
            return done.value
        return replace(done.value, usage=add_usage(done.value.usage, done.failed))


def _error(state: RetryCallState) -> ModelUnavailable:
    error = state.outcome.exception() if state.outcome is not None else None
    if not isinstance(error, ModelUnavailable):
        raise TypeError("a retry without a failed try")
    return error


def _asked(state: RetryCallState) -> float | None:
    return _error(state).retry_after_s


def _why(state: RetryCallState, policy: RetryPolicy) -> str:
    tries = f"{state.attempt_number} {'try' if state.attempt_number == 1 else 'tries'}"
    if state.attempt_number > policy.max_retries:
        return tries
    asked = _asked(state)
    if asked is not None and asked > policy.retry_after_cap_s:
        return f"{tries}; it asks to wait {asked:g} s, more than {policy.retry_after_cap_s:g} s"
    return f"{tries}; no time left of {policy.total_s:g} s"
