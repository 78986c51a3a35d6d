"""`@trace`: log what a function answers, and let its caller see nothing of it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, Literal, ParamSpec, TypeVar, get_args, overload

from aletheia.config import Settings
from aletheia.errors import AletheiaError, UsageError
from aletheia.pipeline.redact import RedactLike
from aletheia.sdk.log import alog, log
from aletheia.sdk.trace_query import QueryFinder
from aletheia.sdk.trace_return import Captured, TraceReturn, captured
from aletheia.sdk.trace_stream import Arguments, async_generator, generator
from aletheia.sdk.worker_warnings import RareWarnings

__all__ = ["TraceReturn", "Tracer", "trace"]

P = ParamSpec("P")
R = TypeVar("R")

OnError = Literal["warn", "silent"]

_WARNINGS: Final = RareWarnings(logging.getLogger(__name__))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracer:
    """Logs what a function returns: `@trace`, or `@trace(query_arg="text", project="support")`.

    The function returns `(response, context)` or `TraceReturn`; its caller gets the response
    alone. It may be synchronous or asynchronous, a method, or a generator that yields pieces of
    text and a `TraceReturn` last, which the consumer does not get. `query_arg` names the argument
    with the query; without it the usual names are tried, then the first text. `sync`, `project`,
    `redact` and `settings` are those of `log`.

    What the function raises passes untouched. What cannot be logged is no error of the caller: a
    value without response and context is passed on as it is, and a warning goes to the log, once
    for each kind of problem (`on_error="silent"`: none). An argument that there is not raises
    `UsageError` where the function is decorated.
    """

    query_arg: str | None = None
    sync: bool | None = None
    on_error: OnError = "warn"
    project: str | None = None
    redact: RedactLike | None = None
    settings: Settings | None = None

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, TraceReturn]], /
    ) -> Callable[P, Coroutine[Any, Any, str]]: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, tuple[R, Any]]], /
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[P, TraceReturn], /) -> Callable[P, str]: ...
    @overload
    def __call__(self, function: Callable[P, tuple[R, Any]], /) -> Callable[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def __call__(
        self,
        function: None = None,
        /,
        *,
        query_arg: str | None = None,
        sync: bool | None = None,
        on_error: OnError = "warn",
        project: str | None = None,
        redact: RedactLike | None = None,
        settings: Settings | None = None,
    ) -> Tracer: ...
    def __call__(
        self,
        function: Any = None,
        /,
        *,
        query_arg: str | None = None,
        sync: bool | None = None,
        on_error: OnError = "warn",
        project: str | None = None,
        redact: RedactLike | None = None,
        settings: Settings | None = None,
    ) -> Any:
        """Trace a function, or return a tracer with these options."""
        if function is not None:
            return _traced(function, self)
        return Tracer(
            query_arg=query_arg,
            sync=sync,
            on_error=on_error,
            project=project,
            redact=redact,
            settings=settings,
        )

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            listed = ", ".join(f"`{name}`" for name in get_args(OnError))
            raise UsageError(f"`on_error` is {self.on_error!r}", hint=f"one of {listed}")


trace: Final = Tracer()
"""`@trace`, see `Tracer`."""


def _traced(function: Any, tracer: Tracer) -> Any:  # noqa: ANN401 - any callable
    if isinstance(function, classmethod | staticmethod):
        return type(function)(_traced(function.__func__, tracer))
    if not callable(function):
        raise UsageError(
            f"a `{type(function).__name__}` cannot be traced", hint="it is no function"
        )
    call = _Call(
        name=getattr(function, "__qualname__", type(function).__name__),
        finder=QueryFinder.of(function, tracer.query_arg),
        tracer=tracer,
    )
    return wraps(function)(_wrapper(function, call))


def _wrapper(function: Callable[..., Any], call: _Call) -> Callable[..., Any]:
    """Return a function of the same kind: frameworks look at the kind."""
    code = function if inspect.isroutine(function) else type(function).__call__
    made = next((made for is_kind, made in _KINDS if is_kind(function) or is_kind(code)), _plain)
    return made(function, call)


def _plain(function: Callable[..., Any], call: _Call) -> Callable[..., Any]:
    def plain(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the caller's own
        returned = function(*args, **kwargs)
        # A function may hand on what another one makes.
        for is_kind, made in _MADE:
            if is_kind(returned):
                return made(lambda *_, **__: returned, call)(*args, **kwargs)
        return call.logged(captured(returned), (args, kwargs))

    return plain


def _coroutine(function: Callable[..., Any], call: _Call) -> Callable[..., Any]:
    async def coroutine(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the caller's own
        return await call.alogged(captured(await function(*args, **kwargs)), (args, kwargs))

    return coroutine


def _generator(function: Callable[..., Any], call: _Call) -> Callable[..., Any]:
    return generator(function, call.logged)


def _async_generator(function: Callable[..., Any], call: _Call) -> Callable[..., Any]:
    return async_generator(function, call.alogged)


_Maker = Callable[[Callable[..., Any], "_Call"], Callable[..., Any]]
_Kinds = tuple[tuple[Callable[[Any], bool], _Maker], ...]

_KINDS: Final[_Kinds] = (
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isasyncgenfunction, _async_generator),
    (inspect.isgeneratorfunction, _generator),
)
_MADE: Final[_Kinds] = (
    (inspect.iscoroutine, _coroutine),
    (inspect.isasyncgen, _async_generator),
    (inspect.isgenerator, _generator),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A traced function: how its query is found, and how what it returned is logged."""

    name: str
    finder: QueryFinder
    tracer: Tracer

    def logged(self, found: Captured, arguments: Arguments) -> Any:  # noqa: ANN401 - the caller's
        """Log what was captured, and return what the caller gets."""
        try:
            log(**self._trace(found, arguments))
        except Exception as error:  # noqa: BLE001 - the border to the function of the user
            self._warn(error)
        return found.value

    async def alogged(self, found: Captured, arguments: Arguments) -> Any:  # noqa: ANN401
        """Do the same in the running event loop, without holding it up."""
        try:
            await alog(**self._trace(found, arguments))
        except Exception as error:  # noqa: BLE001 - the border to the function of the user
            self._warn(error)
        return found.value

    def _trace(self, found: Captured, arguments: Arguments) -> dict[str, Any]:
        """Return the arguments of `log`. Raises what keeps the value from being a trace."""
        if found.problem is not None:
            raise found.problem
        query, how = found.query, "given by `TraceReturn`"
        if query is None:
            query, how = self.finder.find(*arguments)
        if query is None:
            self._tell("no_query", f"the query was not found ({how}): only faithfulness is judged")
        return {
            "query": query,
            "context": found.context,
            "response": found.response,
            "sync": self.tracer.sync,
            "project": self.tracer.project,
            "redact": self.tracer.redact,
            "settings": self.tracer.settings,
            "source": "trace",
            "notes": {"query_from": how, "function": self.name},
        }

    def _warn(self, error: Exception) -> None:
        said = str(error) if isinstance(error, AletheiaError) else repr(error)
        self._tell(type(error).__name__, f"not logged: {said}")

    def _tell(self, kind: str, message: str) -> None:
        if self.tracer.on_error == "warn":
            _WARNINGS.warn(f"{self.name} {kind}", f"`{self.name}`: {message}")
