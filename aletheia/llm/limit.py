"""Send as much at once as the endpoint takes: slower where it says so, faster while it does not.

One limiter stands before all models of one endpoint. Sockets, and those who wait for a turn,
belong to an event loop, so each loop has its own turns; a pause that the endpoint asked for and
the requests of the last minute hold for all of them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.lowlevel import RunVar

from aletheia.errors import ModelUnavailable
from aletheia.llm.base import requests_only
from aletheia.schema.model import ChatModel, Prompt, Reply

_OVERLOADED: Final = frozenset({429, 503, 529})
_MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LimiterStats:
    """How many requests may be under way: now, and at the narrowest; and how often all waited."""

    current: float
    lowest: float
    slowed: int
    pauses: int


@dataclass(slots=True)
class _Turns:
    """Who is under way in one event loop, and who waits, in the order in which they came."""

    active: int = 0
    waiting: deque[anyio.Event] = field(default_factory=deque)

    async def take(self, limit: Callable[[], float]) -> None:
        if self.active < int(limit()) and not self.waiting:
            self.active += 1
            return
        turn = anyio.Event()
        self.waiting.append(turn)
        try:
            await turn.wait()
        except BaseException:
            # Cancelled: out of the line, or on with a turn that was just given.
            if turn.is_set():
                self.give_back(limit)
            else:
                self.waiting.remove(turn)
            raise

    def give_back(self, limit: Callable[[], float]) -> None:
        self.active -= 1
        while self.waiting and self.active < int(limit()):
            self.active += 1
            self.waiting.popleft().set()


@dataclass(slots=True)
class _Window:
    """What holds for all loops: the limit, the pause, the last minute. Guarded by the lock."""

    most: float
    per_minute: int | None
    limit: float
    lowest: float
    paused_until: float = float("-inf")
    slowed_at: float = float("-inf")
    slowed: int = 0
    pauses: int = 0
    sent: deque[float] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def succeeded(self) -> None:
        with self.lock:
            self.limit = min(self.most, self.limit + 1 / self.limit)

    def overloaded(self, started: float, now: float, retry_after_s: float | None) -> None:
        with self.lock:
            if retry_after_s and now + retry_after_s > self.paused_until:
                # Further requests of the same burst make the same pause longer, no new one.
                self.pauses += self.paused_until <= now
                self.paused_until = now + retry_after_s
            # What was under way when it slowed down was sent too early to tell more.
            if started >= self.slowed_at:
                self.slowed_at = now
                self.slowed += 1
                self.limit = max(1.0, self.limit / 2)
                self.lowest = min(self.lowest, self.limit)

    def reserve(self, now: float) -> float:
        """Return when the next request may go out, and count it as sent then."""
        with self.lock:
            if self.per_minute is None:
                return now
            full = len(self.sent) >= self.per_minute
            moment = max(now, self.sent.popleft() + _MINUTE) if full else now
            self.sent.append(moment)
            return moment


class AdaptiveLimiter:
    """Bounds the requests under way to one endpoint, in each event loop.

    It begins with `max_concurrency`. An answer 429, 503 or 529, or one with `Retry-After`, halves
    the limit, once for all that were under way; every success adds a little, about one for each
    round. `Retry-After` holds back every request that goes through this limiter until then; one
    longer than `longest_pause_s` makes them fail at once instead. At most `requests_per_minute`
    requests begin within any 60 seconds. `sleep` and `clock` are those of the process unless a
    test gives others.
    """

    def __init__(
        self,
        max_concurrency: int,
        requests_per_minute: int | None = None,
        *,
        longest_pause_s: float = 120.0,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._window = _Window(
            most=float(max_concurrency),
            per_minute=requests_per_minute,
            limit=float(max_concurrency),
            lowest=float(max_concurrency),
        )
        self._longest_pause_s = longest_pause_s
        self._sleep = sleep
        self._clock = clock
        self._turns: RunVar[_Turns | None] = RunVar("aletheia turns", default=None)

    @property
    def stats(self) -> LimiterStats:
        """Where the limit stands, and what it went through."""
        window = self._window
        with window.lock:
            return LimiterStats(
                current=window.limit,
                lowest=window.lowest,
                slowed=window.slowed,
                pauses=window.pauses,
            )

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait for a turn and hold it; what the block raises or does not moves the limit.

        Raises `ModelUnavailable` where the endpoint wants to be left alone for too long.
        """
        turns = self._loop_turns()
        await self._begin(turns)
        started = self._clock()
        try:
            yield
        except ModelUnavailable as error:
            if error.status in _OVERLOADED or error.retry_after_s is not None:
                self._window.overloaded(started, self._clock(), error.retry_after_s)
            raise
        else:
            self._window.succeeded()
        finally:
            turns.give_back(self._limit)

    async def _begin(self, turns: _Turns) -> None:
        """Take a turn outside every pause. A turn is not held while waiting for a pause to end."""
        while True:
            await self._pause_over()
            await turns.take(self._limit)
            if self._pause_left() <= 0:
                break
            turns.give_back(self._limit)
        try:
            now = self._clock()
            await self._wait(self._window.reserve(now) - now)
        except BaseException:
            turns.give_back(self._limit)
            raise

    async def _pause_over(self) -> None:
        while (left := self._pause_left()) > 0:
            if left > self._longest_pause_s:
                raise ModelUnavailable(
                    f"not sent: the endpoint asked to be left alone for {left:.0f} s more",
                    usage=requests_only(0),
                    retry_after_s=left,
                )
            await self._wait(left)

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            await self._sleep(seconds)

    def _pause_left(self) -> float:
        with self._window.lock:
            return self._window.paused_until - self._clock()

    def _limit(self) -> float:
        with self._window.lock:
            return self._window.limit

    def _loop_turns(self) -> _Turns:
        turns = self._turns.get()
        if turns is None:
            turns = _Turns()
            self._turns.set(turns)
        return turns


class LimitedModel:
    """A chat model whose requests wait for their turn, with the interface of a chat model."""

    def __init__(self, model: ChatModel, limiter: AdaptiveLimiter) -> None:
        self.inner: Final = model
        self.limiter: Final = limiter

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt when it is its turn. Raises what the model inside raises."""
        async with self.limiter.turn():
            return await self.inner.complete(prompt)
