"""Which argument of a call is the query."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from aletheia.errors import UsageError

__all__ = ["QUERY_NAMES", "QueryFinder"]

QUERY_NAMES: Final = (
    *("query", "question", "user_query", "user_question", "user_input", "prompt", "input"),
    *("message", "q"),
)
"""Names of arguments that hold a query, the likeliest first."""


@dataclass(frozen=True, slots=True)
class QueryFinder:
    """Finds the query among the arguments of a function: by `name`, or by the usual names.

    Where no argument has such a name it is the first that is a text.
    """

    signature: inspect.Signature | None
    name: str | None = None

    @classmethod
    def of(cls, function: Callable[..., object], name: str | None) -> QueryFinder:
        """Look at a function. Raises `UsageError` where it has no argument `name`."""
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return cls(None, name)
        known = signature.parameters
        open_ended = any(item.kind is item.VAR_KEYWORD for item in known.values())
        if name is not None and name not in known and not open_ended:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"it has {', '.join(known) or 'none'}"
            raise UsageError(f"`query_arg`: there is no argument `{name}`", hint=hint)
        return cls(signature, name)

    def find(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str | None, str]:
        """Return the query and how it was found; None where no argument is a text."""
        given = dict(self._bound(args, kwargs))
        names = QUERY_NAMES if self.name is None else (self.name,)
        for name in names:
            value = given.get(name)
            if isinstance(value, str) and value.strip():
                return value, f"argument `{name}`"
        if self.name is not None:
            return None, f"argument `{self.name}` is no text"
        for name, value in given.items():
            if isinstance(value, str) and value.strip():
                return value, f"first text, argument `{name}`"
        return None, "no argument is a text"

    def _bound(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Iterator[tuple[str, object]]:
        if self.signature is None:
            yield from ((str(at), value) for at, value in enumerate(args))
            yield from kwargs.items()
            return
        bound = self.signature.bind_partial(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            kind = self.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                yield from value.items()
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                yield from ((f"{name}[{at}]", item) for at, item in enumerate(value))
            else:
                yield name, value
