"""How prompts, replies and errors are written down as JSON, and read again as what they were.

In ASCII, so that any text can be written, even one with half of a UTF-16 pair.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from aletheia.errors import (
    BudgetExceeded,
    ContextTooLong,
    ModelBadReply,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from aletheia.schema.model import Prompt, Reply, Usage

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

Recordable = ModelError | BudgetExceeded
"""Errors that are an outcome of the call; any other one is a fault of the program around it."""

_ERRORS: Final[Mapping[str, type[ModelError]]] = {
    kind.__name__: kind
    for kind in (ModelError, ModelUnavailable, ModelRefused, ContextTooLong, ModelBadReply)
}


def to_json(value: object) -> str:
    """Write a value as one line of ASCII, which can carry any text."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def read_reply(fields: object) -> Reply:
    """Read a reply that was written with `asdict`. Raises `TypeError` or `ValueError`."""
    return _read(Reply, fields)


def read_prompt(fields: object) -> Prompt:
    """Read a prompt that was written with `asdict`. Raises `TypeError` or `ValueError`."""
    return _read(Prompt, fields)


def error_fields(error: Recordable) -> dict[str, object]:
    """Return what makes an error: its class, message and facts. Unknown subclasses lose theirs."""
    names = (item.__name__ for item in type(error).__mro__)
    fields: dict[str, object] = {"message": error.message, "hint": error.hint}
    match error:
        case BudgetExceeded():
            kept = ("estimated_usd", "budget_usd", "scope", "model")
            return {"class": "BudgetExceeded", **fields} | {k: getattr(error, k) for k in kept}
        case _:
            fields |= {"class": next(name for name in names if name in _ERRORS)}
            fields |= {"status": error.status, "usage": error.usage and asdict(error.usage)}
    if isinstance(error, ModelUnavailable):
        fields["retry_after_s"] = error.retry_after_s
    if isinstance(error, ModelBadReply):
        fields["text"] = error.text
    return fields


def read_error(fields: object) -> Recordable:
    """Read what `error_fields` gave. Raises `TypeError`, `KeyError` or `ValueError`."""
    if not isinstance(fields, dict):
        raise TypeError("`error` is not an object")
    known: dict[str, Any] = dict(fields)
    kind, message = known.pop("class"), known.pop("message")
    if kind == "BudgetExceeded":
        return BudgetExceeded(known.pop("estimated_usd"), known.pop("budget_usd"), **known)
    if kind not in _ERRORS:
        raise ValueError(f"{kind!r} is not an error of a model")
    if known.get("usage") is not None:
        known["usage"] = _read(Usage, known["usage"])
    return _ERRORS[kind](message, **known)


def _read(kind: type[T], fields: object) -> T:
    if not isinstance(fields, dict):
        raise TypeError(f"a {kind.__name__.lower()} is not an object")
    try:
        # From values and not from JSON: that way lone surrogates are let through.
        value: T = _adapters()[kind].validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"`{where}` of the {kind.__name__.lower()}: {first['msg']}") from None
    return value


@cache
def _adapters() -> Mapping[type, TypeAdapter[Any]]:
    from pydantic import TypeAdapter

    return {kind: TypeAdapter(kind) for kind in (Prompt, Reply, Usage)}
