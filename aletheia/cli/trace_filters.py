"""Which stored traces a command is about: the options all such commands share, and the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aletheia.cli import output
from aletheia.cli.times import moment_of
from aletheia.errors import NoStore, UsageError
from aletheia.schema.stored import TraceFilter, TraceStatus

if TYPE_CHECKING:
    from aletheia.config import Settings
    from aletheia.store import TraceStore

__all__ = [
    "CellFilter",
    "DbOption",
    "ProjectFilter",
    "SinceFilter",
    "StatusFilter",
    "TextFilter",
    "UntilFilter",
    "filter_of",
    "opened_store",
]

CellFilter = Annotated[
    list[str] | None,
    typer.Option(
        "--cell",
        metavar="NAME",
        help="Only this cell: an id, a plain name, `hallucination`, or `none` for no cell.",
    ),
]
StatusFilter = Annotated[
    list[str] | None,
    typer.Option("--status", metavar="STATUS", help="Only `pending`, `evaluated` or `failed`."),
]
SinceFilter = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Only from then on: a date, a time, or `7d`."),
]
UntilFilter = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Only before then.")
]
ProjectFilter = Annotated[
    str | None, typer.Option("--project", metavar="NAME", help="Only this project.")
]
TextFilter = Annotated[
    str | None,
    typer.Option("--text", metavar="TEXT", help="Only where query or response holds TEXT."),
]
DbOption = Annotated[
    str | None,
    typer.Option("--db", metavar="PATH|URL", help="Store instead of `ALETHEIA_DB_PATH`."),
]


def filter_of(
    *,
    cells: Sequence[str] | None = None,
    statuses: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    project: str | None = None,
    text: str | None = None,
) -> TraceFilter:
    """Read the options. Raises UsageError that names the option."""
    from aletheia.diagnosis.cell_names import cells_named

    names = [name for name in cells or () if name.casefold() != "none"]
    undiagnosed = len(names) < len(cells or ())
    if undiagnosed and names:
        raise UsageError("`--cell none` means traces without a cell", hint="give it alone")
    meant = {cell: None for name in names for cell in cells_named(name)}
    return TraceFilter(
        project=project,
        cells=tuple(meant),
        statuses=tuple(_status(name) for name in statuses or ()),
        since=None if since is None else moment_of(since, "--since"),
        until=None if until is None else moment_of(until, "--until"),
        text=text,
        undiagnosed=undiagnosed,
    )


def _status(name: str) -> TraceStatus:
    try:
        return TraceStatus(name.lower())
    except ValueError:
        listed = ", ".join(f"`{status}`" for status in TraceStatus)
        raise UsageError(f"`--status {name}` is no status", hint=f"there are {listed}") from None


@contextmanager
def opened_store(
    db: str | None, *, read_only: bool = True, said: bool = True
) -> Iterator[TraceStore | None]:
    """Give the store to a block, and close it; None, which is `said`, where there is none yet."""
    from aletheia.config import settings

    store = _existing(place(db, settings.current()), read_only=read_only, said=said)
    try:
        yield store
    finally:
        if store is not None:
            store.close()


def _existing(where: str | Path, *, read_only: bool, said: bool) -> TraceStore | None:
    """Open the store there is: a command that looks makes none."""
    from aletheia.store import address_of, open_store

    address = address_of(where)
    try:
        if address.path is None or address.path.exists():
            # Opened for reading first: opened for writing, one would be made.
            store = open_store(where, read_only=True)
            if read_only:
                return store
            store.close()
            return open_store(where)
    except NoStore:
        pass
    if said:
        output.note(f"there are no traces in `{address.name}` yet")
    return None


def place(db: str | None, settings: Settings) -> str | Path:
    """Say where the store is: the option, or the settings."""
    if db is None:
        return settings.store_at
    return db if "://" in db else Path(db)
