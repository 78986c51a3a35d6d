"""Write rows so that reading them gives the same rows; a file appears whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from aletheia.errors import DataError, StoreError, UsageError
from aletheia.tabular.base import Format
from aletheia.tabular.cells import encode_cell
from aletheia.tabular.delimited import DELIMITERS
from aletheia.tabular.opening import SUFFIXES
from aletheia.tabular.values import decode_object, encode

Record = Mapping[str, object]

WRITTEN: Final = (Format.JSONL, Format.JSON, Format.CSV, Format.TSV, Format.PARQUET)
"""The formats that can be written."""


def output_format(path: str | Path) -> Format:
    """Say by its suffix what a file will hold; one without a suffix is JSON Lines.

    Raises `UsageError` for another suffix.
    """
    suffix = Path(path).suffix.lower()
    found = SUFFIXES.get(suffix) if suffix else Format.JSONL
    if found is None:
        hint = "the suffixes are `.jsonl`, `.json`, `.csv`, `.tsv` and `.parquet`"
        raise UsageError(f"`{path}`: nothing is known of `{suffix}` files", hint=hint)
    return found


def write_rows(
    path: str | Path,
    rows: Iterable[Record],
    *,
    kind: Format | None = None,
    columns: Sequence[str] | None = None,
) -> int:
    """Write `rows` to `path` and return how many there were; the suffix says in which format.

    Values are those of JSON. Nested ones stand as JSON text in the cells of CSV and Parquet, but
    lists of texts are real lists in Parquet. There every row has the same `columns` (those of all
    rows, in the order in which they first stand, where they are not given): a key that a row lacks
    is read again as null. Rows are taken one by one; they may be copied to a temporary file first.

    Raises `DataError` for a value that is no JSON or a key that is no column, `StoreError` where
    the file cannot be written, `UsageError` for a suffix that says nothing.
    """
    target = Path(path)
    write = _WRITERS[kind or output_format(target)]
    with replacing(target) as handle:
        return write(handle, rows, columns)


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Give a file beside `target` to write to, which takes its name when the block has ended.

    After an error nothing is left of it. Raises `StoreError` where it cannot be written.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(target)
    except OSError as error:
        raise StoreError(f"`{target}` cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _lines(handle: IO[bytes], rows: Iterable[Record], _columns: Sequence[str] | None) -> int:
    count = 0
    for row in rows:
        handle.write(encode(dict(row)).encode() + b"\n")
        count += 1
    return count


def _document(handle: IO[bytes], rows: Iterable[Record], _columns: Sequence[str] | None) -> int:
    """Write one array, with one row a line so that people can look at it."""
    count = 0
    for row in rows:
        handle.write((b",\n" if count else b"[\n") + encode(dict(row)).encode())
        count += 1
    handle.write(b"\n]\n" if count else b"[]\n")
    return count


def _delimited(
    delimiter: str,
) -> Callable[[IO[bytes], Iterable[Record], Sequence[str] | None], int]:
    def write(handle: IO[bytes], rows: Iterable[Record], columns: Sequence[str] | None) -> int:
        with _known_columns(rows, columns) as (names, kept):
            text = io.TextIOWrapper(handle, encoding="utf-8", newline="")
            try:
                return _cells(text, delimiter, names, kept)
            finally:
                text.detach()

    return write


def _cells(
    text: io.TextIOWrapper, delimiter: str, names: Sequence[str], rows: Iterable[Record]
) -> int:
    # RFC 4180 ends a row so, and a cell with either character alone is quoted then.
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    if names:
        # Names that would mislead a reader about the delimiter are quoted.
        risky = any(set(name) & {*DELIMITERS, "\ufeff", "="} for name in names)
        quoted = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        (quoted if risky else writer).writerow(names)
    count = 0
    for row in rows:
        _check_keys(row, names)
        writer.writerow([encode_cell(row.get(name)) for name in names])
        count += 1
    text.flush()
    return count


def _parquet(handle: IO[bytes], rows: Iterable[Record], columns: Sequence[str] | None) -> int:
    from aletheia.tabular.parquet_writing import kinds_of, write_parquet

    with _spooled(rows) as spool:
        names = list(columns) if columns is not None else _columns_of(_read(spool))
        kinds = kinds_of(_read(spool), names)
        return write_parquet(handle, _checked(_read(spool), names), kinds)


@contextmanager
def _known_columns(
    rows: Iterable[Record], columns: Sequence[str] | None
) -> Iterator[tuple[list[str], Iterable[Record]]]:
    """Give the columns and the rows; where they are not known, all rows are looked at first."""
    if columns is not None:
        yield list(columns), rows
        return
    with _spooled(rows) as spool:
        yield _columns_of(_read(spool)), _read(spool)


@contextmanager
def _spooled(rows: Iterable[Record]) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as spool:
        _lines(spool, rows, None)
        yield spool


def _read(spool: IO[bytes]) -> Iterator[dict[str, object]]:
    spool.seek(0)
    return map(decode_object, spool)


def _columns_of(rows: Iterable[Record]) -> list[str]:
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return list(names)


def _checked(rows: Iterable[Record], names: Sequence[str]) -> Iterator[Record]:
    for row in rows:
        _check_keys(row, names)
        yield row


def _check_keys(row: Record, names: Sequence[str]) -> None:
    strange = next((key for key in row if key not in names), None)
    if strange is not None:
        raise DataError(f"`{strange}` is no column", hint="name all columns, or none")


_WRITERS: Final = {
    Format.JSONL: _lines,
    Format.JSON: _document,
    Format.CSV: _delimited(","),
    Format.TSV: _delimited("\t"),
    Format.PARQUET: _parquet,
}
