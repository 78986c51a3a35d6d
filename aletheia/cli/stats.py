"""`aletheia stats`: how many traces there are, in which cells, and how many are healthy."""

from __future__ import annotations

import json as json_library
from typing import Annotated

import typer

from aletheia.cli import output
from aletheia.cli.trace_filters import (
    DbOption,
    ProjectFilter,
    SinceFilter,
    TextFilter,
    UntilFilter,
    filter_of,
    opened_store,
)

__all__ = ["stats"]


def stats(
    since: SinceFilter = None,
    until: UntilFilter = None,
    project: ProjectFilter = None,
    text: TextFilter = None,
    confident_only: Annotated[
        bool, typer.Option("--confident-only", help="Count a tentative cell as none.")
    ] = False,
    db: DbOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Count the stored traces: cells, rates with intervals, what is pending and what failed.

    Pending and failed traces are in no rate. Exit codes: 0, also where there is none.
    """
    from aletheia.config import settings
    from aletheia.pipeline.stored_stats import stats_json, stats_lines, stats_of

    where = filter_of(since=since, until=until, project=project, text=text)
    with opened_store(db, said=not json) as store:
        found = None
        if store is not None:
            found = stats_of(store, settings.current(), where, confident_only=confident_only)
    if json:
        body = {} if found is None else stats_json(found)
        output.data(json_library.dumps(body, ensure_ascii=False, indent=2) + "\n")
        return
    if found is not None:
        for line in stats_lines(found):
            output.text(line)
