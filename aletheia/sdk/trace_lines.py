"""Traces over JSON Lines: one record a line, each a trace or an error with its place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import Any, Final

from aletheia.errors import DataError, UsageError
from aletheia.sdk.records import UTF16_MARKS
from aletheia.sdk.trace_input import TraceInput, read_trace

__all__ = [
    "TRACE_KEYS",
    "RecordId",
    "TraceLine",
    "decode_object",
    "parse_map",
    "read_trace_line",
    "read_trace_record",
]

RecordId = str | int | float

TRACE_KEYS: Final = ("query", "context", "response")
"""The keys of a record beside `id`; without `query` only faithfulness is judged."""

OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "query": ("question", "user_input", "input", "prompt"),
    "context": (
        *("contexts", "retrieved_contexts", "retrieval_context", "chunks", "documents"),
        *("passages", "evidence"),
    ),
    "response": ("answer", "output", "actual_output", "completion", "prediction", "reply"),
}
"""What other tools call a field; such a key is read where the one of the contract is missing."""

_LONGEST_ID: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """What stands in line `number`: a `trace`, or the `error` that says why there is none.

    `renamed` are pairs of a field and the key it was read from, `unread` keys that nothing read.
    """

    number: int
    id: RecordId | None
    trace: TraceInput | None = None
    error: DataError | None = None
    renamed: tuple[tuple[str, str], ...] = ()
    unread: tuple[str, ...] = ()


def read_trace_line(
    raw: bytes, number: int, *, file: str, names: Mapping[str, str] | None = None
) -> TraceLine:
    """Read the record in line `number` (from 1) of `file`. Never raises for any line.

    `names` says which key holds a field, where it is not the one of the contract.
    """
    found: RecordId | None = None
    try:
        record = decode_object(raw)
        found = _id_in(record)
        trace, keys = read_trace_record(record, names=names)
    except DataError as error:
        placed = DataError(error.message, file=file, line=number, hint=error.hint)
        return TraceLine(number=number, id=found, error=placed)
    return TraceLine(
        number=number,
        id=found,
        trace=trace,
        renamed=tuple((name, key) for name, key in keys.items() if name != key),
        unread=tuple(key for key in record if key not in ("id", *keys.values())),
    )


def read_trace_record(
    record: Mapping[str, object], *, names: Mapping[str, str] | None = None
) -> tuple[TraceInput, dict[str, str]]:
    """Read the trace in an object, and say which key each field was read from.

    Raises DataError that names all fields that are missing.
    """
    keys = {name: _key_of(name, record, names or {}) for name in TRACE_KEYS}
    missing = [name for name in ("context", "response") if keys[name] is None]
    if missing:
        others = "".join(f", and so is `{name}`" for name in missing[1:])
        near = [hint for name in missing if (hint := _near(name, record))]
        hint = "; ".join(near) or "`context` may be `[]`, and it has to be there"
        raise DataError(f"it is missing{others}", field=missing[0], hint=hint)
    found = {name: key for name, key in keys.items() if key is not None}
    query = record[found["query"]] if "query" in found else None
    return read_trace(query, record[found["context"]], record[found["response"]]), found


def parse_map(pairs: Iterable[str]) -> dict[str, str]:
    """Read `field=KEY`. Raises UsageError for what is no such pair."""
    names: dict[str, str] = {}
    for pair in pairs:
        name, sign, key = pair.partition("=")
        if not sign or not key or name not in TRACE_KEYS:
            listed = ", ".join(f"`{field}=KEY`" for field in TRACE_KEYS)
            raise UsageError(f"`--map {pair}` names no field", hint=f"write {listed}")
        names[name] = key
    return names


def _key_of(name: str, record: Mapping[str, object], names: Mapping[str, str]) -> str | None:
    if name in names:
        return names[name] if names[name] in record else None
    if name in record:
        return name
    others = [key for key in OTHER_NAMES[name] if key in record and key not in names.values()]
    if len(others) > 1:
        listed = " and ".join(f"`{key}`" for key in others)
        raise DataError(
            f"it is missing, and {listed} could each be meant",
            field=name,
            hint=f"`--map {name}={others[0]}` decides",
        )
    return others[0] if others else None


def _near(name: str, record: Mapping[str, object]) -> str | None:
    close = get_close_matches(name, [str(key) for key in record], n=1, cutoff=0.6)
    return f"`--map {name}={close[0]}` reads `{close[0]}` as `{name}`" if close else None


def decode_object(raw: bytes) -> dict[str, Any]:
    """Read one line as a JSON object. Raises DataError for everything that is none.

    NaN, infinities, numbers too large for a float and a key with two values are errors.
    """
    if raw.startswith(UTF16_MARKS):
        raise DataError("the text is UTF-16, not UTF-8", hint="convert the file to UTF-8")
    try:
        value = json.loads(
            raw.decode("utf-8-sig"),
            object_pairs_hook=_unique,
            parse_float=_finite,
            parse_constant=_refuse,
        )
    except UnicodeDecodeError as error:
        byte = f"0x{raw[error.start]:02X}"
        message = f"the text is not UTF-8: byte {byte} at position {error.start + 1}"
        raise DataError(message, hint="convert the file to UTF-8") from None
    except json.JSONDecodeError as error:
        message = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise DataError(
            f"the line is not JSON: {message} at character {error.pos + 1}",
            hint="write one record a line",
        ) from None
    except (RecursionError, ValueError):
        # Too many digits for an integer, or too many brackets.
        raise DataError("the line is nested too deeply or holds a number too long") from None
    if not isinstance(value, dict):
        raise DataError("the line holds no JSON object", hint="write one record a line")
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next((key for key, value in pairs if found[key] != value), None)
        if twice is not None:
            raise DataError(f"key {json.dumps(twice)[:60]} stands twice with different values")
    return found


def _finite(written: str) -> float:
    value = float(written)
    if not isfinite(value):
        raise DataError(f"`{written[:40]}` is too large a number")
    return value


def _refuse(name: str) -> object:
    raise DataError(f"`{name}` is not JSON", hint="write null for a missing value")


def _id_in(record: Mapping[str, object]) -> RecordId | None:
    """Read the id as it was given; None where there is none."""
    value = record.get("id")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        said = json.dumps(value, default=str)[:_LONGEST_ID]
        raise DataError(f"it is {said}", field="id", hint="give a text or a number")
    return value
