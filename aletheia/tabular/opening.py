"""Open a file of rows, whatever kind it is: its content decides, then its suffix."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

from aletheia.errors import DataError, UsageError
from aletheia.tabular.base import Format, Table
from aletheia.tabular.columnar import FolderTable, ParquetTable
from aletheia.tabular.delimited import DelimitedTable
from aletheia.tabular.json_document import DocumentTable, IsRow
from aletheia.tabular.json_lines import LinesTable

SUFFIXES: Final = {
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSON,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
}
"""Suffix of a file -> what it is likely to hold."""

_PARQUET: Final = b"PAR1"
_PACKED: Final = {b"\x1f\x8b": "gunzip -c", b"BZh": "bunzip2 -c", b"\x28\xb5\x2f\xfd": "zstdcat"}
_SAMPLE: Final = 1 << 16


@contextmanager
def open_table(
    path: str | Path,
    *,
    kind: Format | None = None,
    split: str | None = None,
    delimiter: str | None = None,
    known: Collection[str] = (),
    is_row: IsRow | None = None,
) -> Iterator[Table]:
    """Open a file, or the folder of a saved dataset.

    `kind` overrides what content and suffix say. `split` chooses one of a dataset, `delimiter`
    divides the cells of a CSV file; without it the one that finds most `known` names in the first
    row is taken. `is_row` tells an object that is a row from one that holds rows.

    Raises `OSError` where the path cannot be opened, `DataError` (with the file) where its content
    is not of that kind, `UsageError` where an option does not fit.
    """
    place = Path(path)
    with ExitStack() as stack:
        if place.is_dir():
            table: Table = _folder(place, kind, split)
        else:
            handle = stack.enter_context(place.open("rb"))
            table = open_handle(
                handle,
                name=str(path),
                kind=kind,
                split=split,
                delimiter=delimiter,
                known=known,
                is_row=is_row,
            )
        yield table


def _folder(path: Path, kind: Format | None, split: str | None) -> FolderTable:
    if kind not in (None, Format.DATASET):
        raise UsageError(f"`{path}` is a folder, and no file of {kind}")
    try:
        return FolderTable(path, split)
    except DataError as error:
        raise DataError(error.message, file=path, hint=error.hint) from None


def open_handle(
    handle: IO[bytes],
    *,
    name: str,
    kind: Format | None = None,
    split: str | None = None,
    delimiter: str | None = None,
    known: Collection[str] = (),
    is_row: IsRow | None = None,
) -> Table:
    """Read an open binary file that can be rewound; `name` stands for it in messages."""
    if split is not None:
        raise UsageError(f"`--split {split}`: `{name}` is no folder of a dataset")
    try:
        found = kind or format_of(handle, name)
        if delimiter is not None and found not in (Format.CSV, Format.TSV):
            raise UsageError(f"`--delimiter`: `{name}` is {found.value}, and has no cells")
        match found:
            case Format.JSONL:
                return LinesTable(handle)
            case Format.JSON:
                return DocumentTable(handle, is_row)
            case Format.CSV | Format.TSV:
                return DelimitedTable(handle, found, delimiter=delimiter, known=known)
            case Format.PARQUET:
                return ParquetTable(handle)
            case Format.DATASET:
                raise UsageError(f"`{name}` is no folder of a dataset")
    except DataError as error:
        raise DataError(error.message, file=name, line=error.line, hint=error.hint) from None


def format_of(handle: IO[bytes], name: str) -> Format:
    """Say what a file holds. Raises `DataError` where neither content nor suffix tells."""
    handle.seek(0)
    start = handle.read(_SAMPLE)
    if start.startswith(_PARQUET):
        return Format.PARQUET
    for mark, command in _PACKED.items():
        if start.startswith(mark):
            hint = f"`{command} {name} | aletheia eval -` reads it"
            raise DataError("the file is packed", hint=hint)
    suffix = SUFFIXES.get(Path(name).suffix.lower())
    if suffix in (Format.CSV, Format.TSV, Format.PARQUET):
        return suffix
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text.startswith((b"{", b"[")):
        if suffix is None and text:
            listed = ", ".join(f"`{item.value}`" for item in Format)
            raise DataError("it cannot be told what the file holds", hint=f"`--format`: {listed}")
        return suffix or Format.JSONL
    return _json_form(handle, suffix)


def _json_form(handle: IO[bytes], suffix: Format | None) -> Format:
    """Tell one document from one object a line, by the first line that is not blank."""
    handle.seek(0)
    first = next(line for line in handle if line.strip(b"\xef\xbb\xbf \t\r\n"))
    if not _is_json(first):
        listed = first.lstrip(b"\xef\xbb\xbf \t").startswith(b"[")
        return Format.JSON if listed or suffix is not Format.JSONL else Format.JSONL
    alone = not any(line.strip() for line in handle)
    return Format.JSON if alone and suffix is not Format.JSONL else Format.JSONL


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return False
    return True
