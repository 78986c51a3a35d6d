"""What every kind of file of rows looks like to its reader."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from aletheia.errors import DataError


class Format(StrEnum):
    """The kinds of files of rows; `dataset` is a Hugging Face dataset in a folder."""

    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    DATASET = "dataset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: its `record`, or the `error` that says why there is none.

    `index` counts the rows from 1, `line` says where it stands: the line on which it begins in a
    text of lines, else its index. Blank lines are no rows.
    """

    index: int
    line: int
    record: Mapping[str, object] | None = None
    error: DataError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What one look at a whole file found: the digest of its content, and how many rows it has."""

    digest: str
    rows: int


class Table(Protocol):
    """An open file of rows; it can be read several times, one row at a time.

    `columns` are those that all rows share, known before the first row; None where each row has
    keys of its own. A nested column stands there with its path too (`metadata.contexts`).
    `text_cells` says that values are the texts of cells, whatever they mean. `blank` counts the
    blank lines of the last reading.
    """

    @property
    def format(self) -> Format:
        """Which kind of file it is."""
        ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, with repeats as they stand."""
        ...

    @property
    def text_cells(self) -> bool:
        """Whether all values are texts of cells."""
        ...

    @property
    def blank(self) -> int:
        """How many blank lines the last reading passed over."""
        ...

    def scan(self) -> Scan:
        """Look at the whole file once. Raises `DataError` where it cannot be read."""
        ...

    def rows(self, only: Collection[str] | None = None) -> Iterator[Row]:
        """Read the rows from the first on; of a columnar file `only` these columns, if given."""
        ...
