"""A limit on money that holds while calls are under way: each reserves the most it may cost.

The most a prompt may have in tokens is counted in bytes. A tokenizer that starts from bytes, as
those of GPT, Llama 3, Qwen and Mistral do, makes at most one token of a byte of UTF-8, whatever
the script; one that starts from characters and falls back to bytes, as those of Llama 2 and Gemma
do, makes at most one more for the whole text. No vocabulary is needed, and none would do for all
models. The bound is reached by digits. With the tokenizer of SmolLM2 it is 3 to 5 times too high for
English and code and about twice for Chinese, Russian and Hindi; a larger vocabulary makes fewer
tokens. What a call really cost replaces it as soon as the reply is there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Final, Literal

import anyio

from aletheia.errors import AletheiaError, BudgetExceeded, ConfigError, ModelError
from aletheia.llm.ledger import from_picodollars, picodollars
from aletheia.llm.pricing import Pricer
from aletheia.llm.schema_text import schema_text
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage

__all__ = [
    "DEFAULT_OUTPUT_TOKENS",
    "Budget",
    "BudgetScope",
    "BudgetedModel",
    "Reservation",
    "UnknownPrice",
    "budget_scope",
    "highest_usage",
    "open_budgets",
    "reserve",
    "token_bound",
]

BudgetScope = Literal["trace", "run"]
UnknownPrice = Literal["warn", "block"]

DEFAULT_OUTPUT_TOKENS: Final = 4096
"""Tokens a reply is taken to have at most where the prompt sets no limit. The price list does not
say how much a model can write; a prompt with a limit has a bound that holds."""

_FRAME_TOKENS: Final = 64
"""What a chat template may put around two messages: roles, marks, a date."""

_POLL_S: Final = 0.02
"""Seconds between two looks for room. Calls may end in another thread or loop, so that there is
no event to wait for."""

_log = logging.getLogger(__name__)


class Reservation:
    """A part of a budget that one call holds. It ends once: settled, or released."""

    __slots__ = ("_book", "_lock", "_open", "_pico")

    def __init__(self, pico: int, book: Callable[[int], None]) -> None:
        self._pico = pico
        self._book = book
        self._open = True
        self._lock = threading.Lock()

    @property
    def usd(self) -> float:
        """What is held."""
        return from_picodollars(self._pico)

    def settle(self, actual_usd: float | None) -> None:
        """Book what the call cost. None = not known, which is booked as what was reserved."""
        self._end(self._pico if actual_usd is None else picodollars(actual_usd))

    def release(self) -> None:
        """Give everything back: the call was not made. Does nothing once it is settled."""
        self._end(0)

    def _end(self, spent: int) -> None:
        with self._lock:
            was_open, self._open = self._open, False
        if was_open:
            self._book(spent)


class Budget:
    """At most `limit_usd` US dollars for one trace or one run. Safe to use from threads and tasks.

    `unknown_price` says what becomes of a call without a known price: `block` refuses it, `warn`
    lets it pass, logs that once for each model and process, and counts it in `unpriced`.
    """

    def __init__(
        self,
        limit_usd: float,
        *,
        scope: BudgetScope = "trace",
        unknown_price: UnknownPrice = "warn",
    ) -> None:
        if not 0 <= limit_usd < float("inf"):
            raise ConfigError(f"a budget is {limit_usd!r} US dollars", hint="0 or more")
        self.limit_usd: Final = limit_usd
        self.scope: Final = scope
        self.unknown_price: Final = unknown_price
        self._limit = picodollars(limit_usd)
        self._spent = 0
        self._reserved = 0
        self._passing = 0
        self._unpriced = 0
        self._lock = threading.Lock()

    @property
    def spent_usd(self) -> float:
        """What ended calls cost."""
        return from_picodollars(self._spent)

    @property
    def reserved_usd(self) -> float:
        """The most that the calls under way may cost."""
        return from_picodollars(self._reserved)

    @property
    def unpriced(self) -> int:
        """Calls that passed without a known price; they are in neither sum."""
        return self._unpriced

    def reserve(
        self, estimated_usd: float | None, *, model: str | None = None, passing: bool = False
    ) -> Reservation:
        """Hold what a call may cost at most (None = not known).

        `passing` says that the call ends by itself, so that others may wait for what it does not
        use. Raises `BudgetExceeded` where the sum, what is held and what is spent are more than
        the limit, or where the price is not known and that is set to block.
        """
        if estimated_usd is None:
            return self._without_price(model)
        pico = picodollars(estimated_usd)
        with self._lock:
            together = self._spent + self._reserved + pico
            if together > self._limit:
                raise self._exceeded(from_picodollars(together), model)
            self._reserved += pico
            self._passing += pico if passing else 0
        return Reservation(pico, partial(self._book, pico, passing))

    def may_have_room(self, estimated_usd: float | None) -> bool:
        """Whether there would be room if the calls under way cost nothing."""
        if estimated_usd is None:
            return False
        with self._lock:
            kept = self._spent + self._reserved - self._passing
        return kept + picodollars(estimated_usd) <= self._limit

    def _book(self, reserved: int, passing: bool, spent: int) -> None:
        with self._lock:
            self._reserved -= reserved
            self._passing -= reserved if passing else 0
            self._spent += spent

    def _without_price(self, model: str | None) -> Reservation:
        if self.unknown_price == "block":
            raise self._exceeded(None, model)
        with self._lock:
            self._unpriced += 1
        _warn_once(model)
        return Reservation(0, partial(self._book, 0, False))

    def _exceeded(self, estimated_usd: float | None, model: str | None) -> BudgetExceeded:
        hint = (
            "set `price_input_usd` and `price_output_usd`, or `unknown_price` to `warn`"
            if estimated_usd is None
            else f"`{_SETTING[self.scope]}` sets the limit"
        )
        return BudgetExceeded(
            estimated_usd, self.limit_usd, scope=self.scope, model=model, hint=hint
        )


@lru_cache(maxsize=256)
def _warn_once(model: str | None) -> None:
    named = "a model" if model is None else f"`{model}`"
    _log.warning("the price of %s is not known: no budget counts its calls", named)


_SETTING: Final[dict[BudgetScope, str]] = {
    "trace": "per_trace_budget_usd",
    "run": "run_budget_usd",
}

_open: ContextVar[tuple[Budget, ...]] = ContextVar("open_budgets", default=())


@contextmanager
def budget_scope(budget: Budget | None) -> Iterator[Budget | None]:
    """Hold all calls inside the block, and in tasks it starts, to `budget` and to outer ones.

    None changes nothing.
    """
    with _budgets(_open.get() if budget is None else (*_open.get(), budget)):
        yield budget


def open_budgets() -> tuple[Budget, ...]:
    """The budgets that hold here, the outermost first."""
    return _open.get()


def reserve(
    estimated_usd: float | None, *, model: str | None = None, passing: bool = False
) -> tuple[Reservation, ...]:
    """Hold a sum in every open budget, or in none. Raises `BudgetExceeded`."""
    with ExitStack() as undo:
        held = []
        for budget in _open.get():
            reservation = budget.reserve(estimated_usd, model=model, passing=passing)
            undo.callback(reservation.release)
            held.append(reservation)
        undo.pop_all()
    return tuple(held)


def token_bound(text: str) -> int:
    """The most tokens a text may have: one for each byte of UTF-8, and one for its start."""
    return len(text.encode("utf-8", "surrogatepass")) + 1 if text else 0


def highest_usage(prompt: Prompt) -> Usage:
    """The most tokens a prompt may cost.

    With the second request after a reply that was cut, and the one after a reply that only
    repeats the schema. Requests that fail are not in it: an error is not charged.
    """
    schema = "" if prompt.schema is None else prompt.schema_name + schema_text(prompt.schema)
    texts = (prompt.system, prompt.user, schema)
    sent = _FRAME_TOKENS + sum(token_bound(text) for text in texts)
    limit, ceiling = prompt.max_output_tokens, prompt.output_ceiling
    written = [DEFAULT_OUTPUT_TOKENS if limit is None else limit]
    if prompt.schema is not None:
        written.append(written[0])
    if ceiling is not None and (limit is None or limit < ceiling):
        written.append(ceiling)
    calls = len(written)
    return Usage(prompt_tokens=calls * sent, completion_tokens=sum(written), calls=calls)


class BudgetedModel:
    """A chat model held to the open budgets, with the interface of a chat model.

    Before a call goes out it reserves the most it may cost in every budget of `budget_scope`;
    afterwards it books what it cost, or what was reserved where that is not known. Where calls
    under way hold the room that it needs, it waits for what they leave. Outside every scope it
    changes nothing. Raises `BudgetExceeded` before anything is sent.
    """

    def __init__(self, model: ChatModel, pricer: Pricer, base_url: str | None = None) -> None:
        self.inner: Final = model
        self._pricer = pricer
        self._base_url = base_url

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt within the budgets."""
        if not open_budgets():
            return await self.inner.complete(prompt)
        held = await self._room(self._usd(highest_usage(prompt)))
        actual: float | None = None
        try:
            # The call is paid for: a second wrapper inside must not charge it again.
            with _budgets(()):
                reply = await self.inner.complete(prompt)
            actual = self._usd(reply.usage, reply.model)
        except ModelError as error:
            actual = None if error.usage is None else self._usd(error.usage)
            raise
        except AletheiaError:
            actual = 0.0  # nothing was sent
            raise
        finally:
            # A call that was cancelled had been sent: it is booked as what it may have cost.
            for reservation in held:
                reservation.settle(actual)
        return reply

    async def _room(self, estimated_usd: float | None) -> tuple[Reservation, ...]:
        while True:
            try:
                return reserve(estimated_usd, model=self.name, passing=True)
            except BudgetExceeded:
                if not all(budget.may_have_room(estimated_usd) for budget in open_budgets()):
                    raise
            await anyio.sleep(_POLL_S)

    def _usd(self, usage: Usage, answered_by: str | None = None) -> float | None:
        price = self._pricer.price(self.name, self._base_url, usage, answered_by=answered_by)
        return None if price is None else price.usd


@contextmanager
def _budgets(budgets: tuple[Budget, ...]) -> Iterator[None]:
    before = _open.get()
    _open.set(budgets)
    try:
        yield
    finally:
        _open.set(before)
