"""Rows of a file with the values that were written into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aletheia.errors import DataError
from aletheia.tabular.base import Format
from aletheia.tabular.cells import decode_cell
from aletheia.tabular.opening import open_table


def read_rows(
    path: str | Path, *, kind: Format | None = None, split: str | None = None
) -> Iterator[dict[str, object]]:
    """Yield the rows of a file as `write_rows` was given them, one at a time.

    A cell of a CSV file is read as a number, a list or the like where it is written as one, and
    as text otherwise. Raises `DataError` with file and line at the first row that cannot be read,
    `OSError` where there is no such file.
    """
    with open_table(path, kind=kind, split=split) as table:
        for row in table.rows():
            if row.record is None:
                error = row.error or DataError("it cannot be read")
                placed = DataError(error.message, file=path, line=row.line, hint=error.hint)
                raise placed
            if table.text_cells:
                yield {name: decode_cell(str(cell)) for name, cell in row.record.items()}
            else:
                yield dict(row.record)
