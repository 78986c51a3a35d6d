"""Where calls are counted: the ledger of the run, every open `CostScope`, the process tracker.

Scopes stand on a stack in a context variable. Tasks inherit it from the task that starts them,
`anyio.to_thread` and `asyncio.to_thread` carry it along; a plain thread starts without it, which
is what `CostScope.bind` is for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import wraps
from types import TracebackType
from typing import Any, Final, ParamSpec, Self, TypeVar

from aletheia.llm.ledger import CallLedger, CallRecord
from aletheia.schema.cost import Cost

__all__ = ["CostScope", "Tracker", "get_tracker", "record_call"]

P = ParamSpec("P")
R = TypeVar("R")

_Stack = tuple[CallLedger, ...]
_open: ContextVar[_Stack] = ContextVar("open_cost_scopes", default=())


class _Counter:
    """Read access to the sums of one ledger."""

    def __init__(self) -> None:
        self._ledger = CallLedger()

    @property
    def cost(self) -> Cost:
        """All sums so far."""
        return self._ledger.totals()

    @property
    def usd(self) -> float | None:
        """US dollars; a floor where `unpriced` is above 0, None where nothing has a price."""
        return self.cost.usd

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens that were reported."""
        return self.cost.tokens

    @property
    def calls(self) -> int:
        """Calls, cached and failed ones included."""
        return self.cost.calls

    @property
    def unpriced(self) -> int:
        """Calls whose price is not known; they are not in `usd`."""
        return self.cost.unpriced

    def by_model(self) -> dict[str, Cost]:
        """Sums for each model."""
        return self._ledger.by_model()

    def by_purpose(self) -> dict[str, Cost]:
        """Sums for each purpose."""
        return self._ledger.by_purpose()


class Tracker(_Counter):
    """Sums over all calls of the process. Safe to use from threads."""

    def add(self, record: CallRecord) -> None:
        """Count one call."""
        self._ledger.add(record)

    def reset(self) -> None:
        """Start again from zero."""
        self._ledger.reset()


_TRACKER: Final = Tracker()


def get_tracker() -> Tracker:
    """Return the one tracker of the process."""
    return _TRACKER


class CostScope(_Counter):
    """Counts the calls made inside its block, and no others.

    `with CostScope() as scope:` or `async with`. Calls of tasks started inside count, also those
    that end after the block. Two scopes in two threads or tasks do not see each other's calls; of
    nested scopes each counts. A scope that is entered again goes on counting.
    """

    def __enter__(self) -> Self:
        _open.set((*_open.get(), self._ledger))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Not `reset`: a block may be left in another context than it was entered in.
        _open.set(_without_last(_open.get(), self._ledger))

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, trace)

    def bind(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return `function` so that its calls count here in whatever thread it runs.

        For `threading.Thread` and `ThreadPoolExecutor`. A plain function runs in a copy of the
        context in which it was bound, with everything else that stands there: outer scopes,
        budgets, overridden settings. A coroutine function stays in the context of its task and
        takes the scopes along.
        """
        bound = _joined(_open.get(), (self._ledger,))
        if inspect.iscoroutinefunction(function):
            return self._bind_coroutine(function, bound)
        context = copy_context()

        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            stack = _joined(bound, _open.get())
            # A context runs once at a time, its copies run at once.
            return context.copy().run(_with_stack, stack, function, *args, **kwargs)

        return run

    @staticmethod
    def _bind_coroutine(function: Callable[P, Any], bound: _Stack) -> Callable[P, Any]:
        @wraps(function)
        async def run(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the caller's own
            with _stacked(_joined(bound, _open.get())):
                return await function(*args, **kwargs)

        return run


def record_call(record: CallRecord, *ledgers: CallLedger) -> None:
    """Count one call: in `ledgers`, in every open scope and in the tracker, once in each."""
    for ledger in _joined(ledgers, _open.get()):
        ledger.add(record)
    _TRACKER.add(record)


@contextmanager
def _stacked(stack: _Stack) -> Iterator[None]:
    token = _open.set(stack)
    try:
        yield
    finally:
        _open.reset(token)


def _with_stack(stack: _Stack, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    _open.set(stack)
    return function(*args, **kwargs)


def _joined(first: _Stack, second: _Stack) -> _Stack:
    """Each ledger once: a scope entered twice counts a call once."""
    return tuple({id(ledger): ledger for ledger in (*first, *second)}.values())


def _without_last(stack: _Stack, ledger: CallLedger) -> _Stack:
    for index in reversed(range(len(stack))):
        if stack[index] is ledger:
            return stack[:index] + stack[index + 1 :]
    return stack
