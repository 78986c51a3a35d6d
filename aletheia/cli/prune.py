"""`aletheia prune`: remove old traces from the store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from aletheia.cli import output
from aletheia.cli.times import age_of
from aletheia.cli.trace_filters import DbOption, ProjectFilter, opened_store

__all__ = ["prune"]


def prune(
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than", metavar="AGE", help="Remove what is older: `30d`, `12h`, `2w`."
        ),
    ],
    project: ProjectFilter = None,
    db: DbOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many there are.")
    ] = False,
) -> None:
    """Remove traces that were logged before an age, with all that belongs to them.

    Those that are still to be evaluated go too. What is removed cannot be brought back. Replies
    of models are kept apart: `aletheia cache clear` removes them.
    """
    moment = datetime.now(UTC) - age_of(older_than, "--older-than")
    with opened_store(db, read_only=dry_run) as store:
        if store is None:
            return
        removed = store.prune(until=moment, project=project, dry_run=dry_run)
        left = sum(store.count().values())
    what = f"{removed:,} {'trace' if removed == 1 else 'traces'}"
    if dry_run:
        output.text(f"{what} would be removed, of {left:,}")
    else:
        output.text(f"{what} removed, {left:,} left")
