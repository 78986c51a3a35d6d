"""Columns of Parquet for rows of JSON values.

A column of texts, of lists of texts, of whole numbers, of other numbers or of booleans is one in
Parquet too, nulls among them or not. Any other column holds JSON text, and is flagged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Final, Literal

from aletheia.tabular.columnar import BATCH, JSON_FLAG
from aletheia.tabular.values import encode

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["text", "texts", "int", "float", "bool", "json"]

_INT64: Final = range(-(1 << 63), 1 << 63)


def kinds_of(rows: Iterable[Mapping[str, object]], names: Sequence[str]) -> dict[str, Kind]:
    """Say for each column what holds all of its values."""
    found: dict[str, set[Kind]] = {name: set() for name in names}
    for row in rows:
        for name in names:
            value = row.get(name)
            if value is not None:
                found[name].add(_kind(value))
    return {name: _common(kinds) for name, kinds in found.items()}


def _common(kinds: set[Kind]) -> Kind:
    if not kinds:
        return "text"
    return next(iter(kinds)) if len(kinds) == 1 else "json"


def _kind(value: object) -> Kind:
    match value:
        case bool():
            return "bool"
        case int():
            return "int" if value in _INT64 else "json"
        case float():
            return "float"
        case str():
            return "text" if _is_text(value) else "json"
        case list():
            return "texts" if all(isinstance(x, str) and _is_text(x) for x in value) else "json"
    return "json"


def _is_text(value: str) -> bool:
    """Tell whether UTF-8 can hold a text: half of a UTF-16 pair can stand in JSON only."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_parquet(
    handle: IO[bytes], rows: Iterable[Mapping[str, object]], kinds: Mapping[str, Kind]
) -> int:
    """Write rows whose columns are of these kinds, some at a time; return how many."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    schema = pa.schema([_field(name, kind) for name, kind in kinds.items()])
    count = 0
    with ParquetWriter(handle, schema) as writer:
        for part in _parts(rows):
            columns = [
                pa.array([_cell(row.get(name), kinds[name]) for row in part], type=field.type)
                for name, field in zip(kinds, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            count += len(part)
    return count


def _parts(rows: Iterable[Mapping[str, object]]) -> Iterator[list[Mapping[str, object]]]:
    left = iter(rows)
    while part := list(islice(left, BATCH * 16)):
        yield part


def _field(name: str, kind: Kind) -> pa.Field:
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "json": pa.string(),
    }
    metadata = {JSON_FLAG: b"json"} if kind == "json" else None
    return pa.field(name, types[kind], metadata=metadata)


def _cell(value: object, kind: Kind) -> object:
    return encode(value) if kind == "json" and value is not None else value
