"""Traces from rows of files: each row a trace, or an error with its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final

from aletheia.errors import DataError
from aletheia.sdk.trace_input import TraceInput, read_trace
from aletheia.sdk.trace_names import (
    OTHER_NAMES,
    TRACE_KEYS,
    Found,
    find_fields,
    find_keys,
    is_trace,
    parse_map,
    value_at,
)
from aletheia.tabular.base import Row, Table
from aletheia.tabular.cells import list_in, text_in
from aletheia.tabular.values import decode_object

__all__ = [
    "OTHER_NAMES",
    "TRACE_KEYS",
    "RecordId",
    "TraceLine",
    "decode_object",
    "is_trace",
    "parse_map",
    "read_trace_line",
    "read_trace_record",
    "read_traces",
]

RecordId = str | int | float

_LONGEST_ID: Final = 200
PYTHON_LIST: Final = "python_list"
"""Note of a trace whose context was written as Python shows a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """What stands in row `number`: a `trace`, or the `error` that says why there is none.

    `number` is the line on which the row begins, or its place in a file without lines; `index`
    counts the rows. `renamed` are pairs of a field and the key it was read from, `unread` keys
    that nothing read.
    """

    number: int
    id: RecordId | None
    index: int = 0
    trace: TraceInput | None = None
    error: DataError | None = None
    renamed: tuple[tuple[str, str], ...] = ()
    unread: tuple[str, ...] = ()


def read_traces(
    table: Table, *, file: str, names: Mapping[str, str] | None = None
) -> Iterator[TraceLine]:
    """Read the traces of a table one by one; none of its rows raises.

    `names` says which key or column holds a field, where it is not the one of the contract. Of a
    table with columns they are found once. Raises `DataError` where it lacks some.
    """
    mapped = names or {}
    if table.columns is None:
        return (
            _read(row, file, lambda record: find_fields(record, mapped)) for row in table.rows()
        )
    return _columnar(table, find_columns(table, file=file, names=mapped), file)


def find_columns(
    table: Table, *, file: str, names: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Say which column of a table holds each field. Raises one `DataError` about all it lacks."""
    columns = table.columns or ()
    keys = find_keys(columns, names or {}, file=file)
    twice = next((key for key in keys.values() if columns.count(key) > 1), None)
    if twice is not None:
        raise DataError(f"two columns are called `{twice}`", file=file, hint="rename one of them")
    return keys


def _columnar(table: Table, keys: Mapping[str, str], file: str) -> Iterator[TraceLine]:
    columns = table.columns or ()
    read = set(keys.values())
    unread = tuple(key for key in columns if "." not in key and not _is_read(key, read))

    def fields(record: Mapping[str, object]) -> dict[str, Found]:
        return {
            name: _cell(name, Found(key, value_at(record, key)), texts=table.text_cells)
            for name, key in keys.items()
        }

    # A nested column is read with the one that it stands in.
    tops = {key[:at] for key in read for at, sign in enumerate(f"{key}.") if sign == "."}
    for row in table.rows(tops):
        yield replace(_read(row, file, fields), unread=unread)


def _cell(name: str, found: Found, *, texts: bool) -> Found:
    """Turn the text of a cell into the value it stands for."""
    value = found.value
    if not isinstance(value, str):
        return found
    if name == "context":
        try:
            value, listed = list_in(value)
        except DataError as error:
            raise DataError(error.message, field=name, hint=error.hint) from None
        return replace(found, value=value, listed=listed)
    if not texts:
        return found
    # Nothing stands in an empty cell; an empty response is one all the same.
    return replace(found, value=text_in(value) or ("" if name == "response" else None))


def read_trace_line(
    raw: bytes, number: int, *, file: str, names: Mapping[str, str] | None = None
) -> TraceLine:
    """Read the record in line `number` (from 1) of `file`. Never raises for any line."""
    try:
        row = Row(index=number, line=number, record=decode_object(raw))
    except DataError as error:
        row = Row(index=number, line=number, error=error)
    return _read(row, file, lambda record: find_fields(record, names or {}))


def read_trace_record(
    record: Mapping[str, object], *, names: Mapping[str, str] | None = None
) -> tuple[TraceInput, dict[str, str]]:
    """Read the trace in an object, and say which key each field was read from.

    Raises `DataError` that names all fields that are missing.
    """
    found = {name: item for name, item in find_fields(record, names or {}).items() if name != "id"}
    return _trace(found), {name: item.key for name, item in found.items()}


def _read(
    row: Row, file: str, fields: Callable[[Mapping[str, object]], dict[str, Found]]
) -> TraceLine:
    found_id: RecordId | None = None
    try:
        if row.record is None:
            raise row.error or DataError("it holds no record")
        found_id = _id(row.record.get("id"))
        found = fields(row.record)
        if "id" in found:
            found_id = _id(found["id"].value)
        trace = _trace(found)
    except DataError as error:
        placed = DataError(error.message, file=file, line=row.line, hint=error.hint)
        placed.field = error.field
        return TraceLine(number=row.line, index=row.index, id=found_id, error=placed)
    keys = {item.key for item in found.values()}
    return TraceLine(
        number=row.line,
        index=row.index,
        id=found_id,
        trace=trace,
        renamed=tuple((name, item.key) for name, item in found.items() if name != item.key),
        unread=tuple(key for key in row.record if key != "id" and not _is_read(key, keys)),
    )


def _is_read(key: str, keys: set[str]) -> bool:
    return any(key == read or read.startswith(f"{key}.") for read in keys)


def _trace(found: Mapping[str, Found]) -> TraceInput:
    context = found["context"]
    query = found["query"].value if "query" in found else None
    trace = read_trace(query, _chunks(context.value), found["response"].value)
    if context.listed:
        return replace(trace, notes={**trace.notes, PYTHON_LIST: "context"})
    return trace


def _chunks(context: object) -> object:
    """Let documents of a span (`document.content`) have their text where chunks have it."""
    if not isinstance(context, list):
        return context
    return [_chunk(item) if isinstance(item, Mapping) else item for item in context]


def _chunk(item: Mapping[str, object]) -> Mapping[str, object]:
    text = value_at(item, "document.content")
    if "text" in item or not isinstance(text, str):
        return item
    return {"text": text, "score": value_at(item, "document.score")}


def _id(value: object) -> RecordId | None:
    """Read the id as it was given; None where there is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        said = json.dumps(value, default=str)[:_LONGEST_ID]
        raise DataError(f"it is {said}", field="id", hint="give a text or a number")
    if isinstance(value, float) and not isfinite(value):
        raise DataError("it is no finite number", field="id", hint="give a text or a number")
    return value
