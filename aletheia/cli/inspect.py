"""`aletheia inspect`: one stored trace with its evidence and its diagnosis."""

from __future__ import annotations

import json as json_library
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aletheia.cli import output
from aletheia.cli.trace_filters import DbOption, ProjectFilter, opened_store

if TYPE_CHECKING:
    from aletheia.schema.stored import StoredTrace
    from aletheia.store import TraceStore

__all__ = ["inspect_trace"]

UNKNOWN: Final = 1


def inspect_trace(
    trace_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="Id in the store, or with `--project` the id it had."),
    ],
    project: ProjectFilter = None,
    full: Annotated[bool, typer.Option("--full", help="Show long evidence whole.")] = False,
    db: DbOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show one trace: what was asked, said and retrieved, and what carries which claim.

    Exit codes: 0; 1 there is no such trace.
    """
    with opened_store(db) as store:
        found = None if store is None else _found(store, trace_id, project)
    if found is None:
        hint = "`aletheia list` shows the ids"
        if not _is_id(trace_id) and project is None:
            hint = f"{hint}; with `--project` the id it had where it came from is found too"
        output.error(f"there is no trace `{trace_id}`", hint)
        raise typer.Exit(UNKNOWN)
    _show(found, as_json=json, full=full)


def _found(store: TraceStore, name: str, project: str | None) -> StoredTrace | None:
    if project is not None:
        known = store.find(project, name)
        if known is not None:
            return store.get(known)
    found = store.get(int(name)) if _is_id(name) else None
    return found if found is None or project in (None, found.project) else None


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) <= 18


def _show(trace: StoredTrace, *, as_json: bool, full: bool) -> None:
    from aletheia.reports.trace_list import render_stored, stored_row

    if as_json:
        body = json_library.dumps(stored_row(trace), ensure_ascii=False, indent=2)
        output.data(body + "\n")
        return
    output.block(render_stored(trace, full=full, style=output.styled).rstrip("\n"))
