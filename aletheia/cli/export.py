"""`aletheia export`: stored traces as rows of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aletheia.cli import output
from aletheia.cli.trace_filters import (
    CellFilter,
    DbOption,
    ProjectFilter,
    SinceFilter,
    StatusFilter,
    TextFilter,
    UntilFilter,
    filter_of,
    opened_store,
)

if TYPE_CHECKING:
    from aletheia.schema.stored import TraceFilter
    from aletheia.store import TraceStore

__all__ = ["export"]


def export(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="`.jsonl`, `.json`, `.csv`, `.tsv` or `.parquet`; `-` for stdout."
        ),
    ],
    cell: CellFilter = None,
    status: StatusFilter = None,
    since: SinceFilter = None,
    until: UntilFilter = None,
    project: ProjectFilter = None,
    text: TextFilter = None,
    db: DbOption = None,
) -> None:
    """Write stored traces, those stored first first: what was logged, and every verdict.

    `aletheia eval` reads such a file again. Standard output gets JSON Lines. The file appears
    whole or not at all. Exit codes: 0, also where no trace fits; 2 bad usage.
    """
    from aletheia.tabular import output_format

    where = filter_of(
        cells=cell, statuses=status, since=since, until=until, project=project, text=text
    )
    path = None if target == "-" else Path(target)
    if path is not None:
        output_format(path)
    with opened_store(db) as store:
        written = 0 if store is None else _write(store, where, path)
    output.note(f"{written:,} {'trace' if written == 1 else 'traces'} written")


def _write(store: TraceStore, where: TraceFilter, path: Path | None) -> int:
    from aletheia.reports.trace_list import STORED_KEYS
    from aletheia.tabular import write_rows

    if path is not None:
        return write_rows(path, _rows(store, where), columns=STORED_KEYS)
    from aletheia.sdk.records import to_line

    written = 0
    for row in _rows(store, where):
        output.data(to_line(dict(row)).decode())
        written += 1
    return written


def _rows(store: TraceStore, where: TraceFilter) -> Iterator[Mapping[str, Any]]:
    from aletheia.reports.trace_list import stored_row

    return (stored_row(trace) for trace in store.traces(where))
