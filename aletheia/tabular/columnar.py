"""Parquet files, and Hugging Face datasets that were saved to a folder."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from aletheia.errors import DataError, UsageError
from aletheia.tabular.base import Format, Row, Scan
from aletheia.tabular.values import DECODER

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

BATCH: Final = 256
"""Rows that are held at once."""
JSON_FLAG: Final = b"aletheia"
"""Key of a Parquet column's metadata; `json` there says that its texts are JSON."""
_PIECE: Final = 1 << 20


class ParquetTable:
    """A Parquet file. Raises `DataError` for one that cannot be read."""

    format: Final = Format.PARQUET
    text_cells: Final = False
    blank: Final = 0

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self._file = _parquet(handle)
        schema = self._file.schema_arrow
        self._json = _json_columns(schema)
        self.columns: Final = _paths(schema)

    def scan(self) -> Scan:
        """Digest the file; the number of rows stands in it."""
        digest = hashlib.sha256()
        self._handle.seek(0)
        while piece := self._handle.read(_PIECE):
            digest.update(piece)
        return Scan(digest=digest.hexdigest(), rows=self._file.metadata.num_rows)

    def rows(self, only: Collection[str] | None = None) -> Iterator[Row]:
        """Read some rows at a time, of the columns asked for."""
        names = [name for name in self._file.schema_arrow.names if only is None or name in only]
        index = 0
        for batch in self._file.iter_batches(batch_size=BATCH, columns=names):
            for record in batch.to_pylist():
                index += 1
                yield _row(record, index, self._json)


class FolderTable:
    """A dataset that `save_to_disk` wrote. Raises `DataError`, and `UsageError` about `split`."""

    format: Final = Format.DATASET
    text_cells: Final = False
    blank: Final = 0

    def __init__(self, path: Path, split: str | None = None) -> None:
        self._path = path
        self._split = split
        self._data = _chosen(_loaded(path), path, split)
        self.columns: Final = _paths(self._data.features.arrow_schema)

    def scan(self) -> Scan:
        """Digest the files of the folder and the name of the split."""
        digest = hashlib.sha256((self._split or "").encode())
        for path in sorted(item for item in self._path.rglob("*") if item.is_file()):
            digest.update(f"\n{path.relative_to(self._path)}\n".encode())
            with path.open("rb") as handle:
                while piece := handle.read(_PIECE):
                    digest.update(piece)
        return Scan(digest=digest.hexdigest(), rows=len(self._data))

    def rows(self, only: Collection[str] | None = None) -> Iterator[Row]:
        """Read some rows at a time, of the columns asked for."""
        names = [name for name in self._data.column_names if only is None or name in only]
        data = self._data.select_columns(names).with_format(None)
        index = 0
        for batch in data.iter(batch_size=BATCH):
            for values in zip(*(batch[name] for name in names), strict=True):
                index += 1
                yield _row(dict(zip(names, values, strict=True)), index, frozenset())


def _row(record: Mapping[str, object], index: int, as_json: Collection[str]) -> Row:
    found: dict[str, object] = {}
    for name, value in record.items():
        try:
            found[name] = _decoded(value) if name in as_json else _plain(value)
        except DataError as error:
            error = DataError(error.message, field=name, hint=error.hint)
            return Row(index=index, line=index, error=error)
    return Row(index=index, line=index, record=found)


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return DECODER.decode(value)
    except (ValueError, RecursionError):
        raise DataError("the cell should hold JSON and does not") from None


def _plain(value: object) -> object:
    """Turn values that JSON does not have into texts; a NaN is a missing value."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if math.isinf(value):
                raise DataError("it is infinite")
            return None if math.isnan(value) else value
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise DataError("it holds bytes that are no UTF-8 text") from None
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case Sequence():
            return [_plain(item) for item in value]
    # Dates and decimal numbers: their own notation loses nothing.
    return str(value)


def _parquet(handle: IO[bytes]) -> ParquetFile:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(handle)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"it is no Parquet file: {_first_line(error)}") from None


def _json_columns(schema: pa.Schema) -> frozenset[str]:
    return frozenset(
        field.name for field in schema if (field.metadata or {}).get(JSON_FLAG) == b"json"
    )


def _paths(schema: pa.Schema) -> tuple[str, ...]:
    """Names of the columns, and behind them the paths of what is nested in them."""
    import pyarrow as pa

    nested = (
        f"{field.name}.{inner.name}"
        for field in schema
        if pa.types.is_struct(field.type)
        for inner in field.type
    )
    return (*schema.names, *nested)


def _loaded(path: Path) -> Any:  # noqa: ANN401 - the library is not typed
    if not any((path / name).is_file() for name in ("dataset_info.json", "dataset_dict.json")):
        raise DataError("the folder holds no Hugging Face dataset", hint="name a file in it")
    from datasets import load_from_disk

    try:
        return load_from_disk(str(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"the dataset cannot be read: {_first_line(error)}") from None


def _chosen(data: Any, path: Path, split: str | None) -> Any:  # noqa: ANN401
    if not isinstance(data, dict):
        if split is not None and str(data.split) != split:
            raise UsageError(f"`--split {split}`: `{path}` is one dataset, `{data.split}`")
        return data
    if split in data:
        return data[split]
    if split is None and len(data) == 1:
        return next(iter(data.values()))
    listed = ", ".join(f"`{name}`" for name in data)
    said = f"there is no split `{split}`" if split else "it has several splits"
    raise UsageError(f"`{path}`: {said}", hint=f"`--split` takes one of {listed}")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
