"""What a traced function returns, and which of it is response and context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from aletheia.errors import DataError

__all__ = ["Captured", "Pieces", "TraceReturn", "captured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReturn:
    """What a traced function returns, or yields last: the caller gets `response` alone.

    `context` is as `log` takes it. `query` wins over the argument of the function. `response`
    None = the pieces of text that a generator yielded, joined.
    """

    context: Any
    response: str | None = None
    query: str | None = None


_NO_CONTEXT: Final = (bytes, bytearray, Mapping, AbstractSet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A returned value taken apart. `value` is what the caller gets.

    `problem` says why there is no trace in it; then `value` is the returned value itself, unless
    it was clear which part of it is the response.
    """

    value: Any
    context: Any = None
    query: str | None = None
    problem: DataError | None = None

    @property
    def response(self) -> str:
        """The response, where there is no problem."""
        return str(self.value)


def captured(returned: object, *, joined: str | None = None) -> Captured:
    """Take apart what a function returned: `TraceReturn`, or a pair of response and context.

    `joined` is what a generator yielded; it is the response of a `TraceReturn` without one.
    """
    if isinstance(returned, TraceReturn):
        said = joined if returned.response is None else returned.response
        if not isinstance(said, str):
            return Captured(value=said, problem=_no_trace(said, "its response"))
        if returned.context is None:
            return Captured(value=said, problem=_no_context())
        return Captured(value=said, context=returned.context, query=returned.query)
    if not isinstance(returned, tuple) or len(returned) != 2 or not isinstance(returned[0], str):
        return Captured(value=returned, problem=_no_trace(returned, "it"))
    response, context = returned
    if context is None:
        return Captured(value=response, problem=_no_context())
    if not isinstance(context, Iterable) or isinstance(context, _NO_CONTEXT):
        return Captured(value=returned, problem=_no_trace(context, "the second of its pair"))
    return Captured(value=response, context=context)


class Pieces:
    """What a generator yielded so far: pieces of text, and a `TraceReturn` that is not handed on."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._other: str | None = None
        self._final: TraceReturn | None = None

    def keep(self, item: object) -> bool:
        """Take note of an item, and say whether the consumer gets it."""
        if isinstance(item, TraceReturn):
            self._final = item
            return False
        if isinstance(item, str):
            self._texts.append(item)
        else:
            self._other = type(item).__name__
        return True

    def captured(self, returned: object = None) -> Captured:
        """Take apart all of it; `returned` is what the generator itself returned."""
        joined = None if self._other else "".join(self._texts)
        if self._final is not None:
            return captured(self._final, joined=joined)
        if returned is None:
            problem = DataError("it yielded no `TraceReturn`", hint="yield it last, with `context`")
            return Captured(value=None, problem=problem)
        return captured(returned, joined=joined)


def _no_trace(found: object, what: str) -> DataError:
    hint = "return `(response, context)` or `TraceReturn(response=..., context=...)`"
    return DataError(f"{what} is a `{type(found).__name__}`", hint=hint)


def _no_context() -> DataError:
    return DataError("its context is `None`", hint="return `[]` where nothing was retrieved")
