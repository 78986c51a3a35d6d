"""`aletheia list`: the traces of the store, newest first."""

from __future__ import annotations

import json as json_library
from typing import Annotated

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

__all__ = ["list_traces"]


def list_traces(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most N traces.")] = 20,
    before: Annotated[
        int | None, typer.Option(metavar="ID", help="Only older ones than this id: the next page.")
    ] = None,
    cell: CellFilter = None,
    status: StatusFilter = None,
    since: SinceFilter = None,
    until: UntilFilter = None,
    project: ProjectFilter = None,
    text: TextFilter = None,
    db: DbOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line, texts whole.")
    ] = False,
) -> None:
    """List stored traces, newest first: where each stands, and what was asked.

    Exit codes: 0, also where there is none; 2 bad usage.
    """
    from aletheia.reports.trace_list import render_list, summary_row

    where = filter_of(
        cells=cell, statuses=status, since=since, until=until, project=project, text=text
    )
    with opened_store(db, said=not json) as store:
        if store is None:
            return
        # One more than is shown tells whether there are more.
        found = store.summaries(where, limit=limit + 1, before=before)
        several = project is None and len(store.projects()) > 1
    shown, more = found[:limit], len(found) > limit
    if json:
        rows = (json_library.dumps(summary_row(item), ensure_ascii=False) for item in shown)
        output.data("".join(f"{row}\n" for row in rows))
        return
    if not shown:
        output.note("no trace fits")
        return
    output.block(render_list(shown, style=output.styled, with_project=several).rstrip("\n"))
    if more:
        output.note(f"there are more: `--before {shown[-1].id}` shows the next ones")
