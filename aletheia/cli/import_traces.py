"""`aletheia import-traces`: store the traces in a file of OpenTelemetry spans."""

from __future__ import annotations

import json as json_library
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aletheia.cli import output
from aletheia.cli.trace_filters import DbOption, place

if TYPE_CHECKING:
    from aletheia.config import Settings
    from aletheia.schema.stored import NewTrace
    from aletheia.sdk.spans import SpanProblem, SpanReading

__all__ = ["import_traces"]

NOTHING: Final = 1
UNREAD: Final = 2
_TOGETHER: Final = 200
_NAMED: Final = 10
"""So many trace ids that are no trace are named; the others are counted."""


def import_traces(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Spans as JSON or JSON Lines.")],
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="Project instead of `ALETHEIA_PROJECT`."),
    ] = None,
    db: DbOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and count; store nothing.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Store the traces in a file of OpenTelemetry or OpenInference spans, to be evaluated.

    A trace id with a response is a trace; one that was imported before is replaced.
    `aletheia eval --pending` evaluates what was stored.

    Exit codes: 0; 1 no file or no trace in it; 2 something in the file could not be read, or bad
    usage.
    """
    from aletheia.config import settings
    from aletheia.errors import DataError
    from aletheia.sdk.spans import read_spans

    now = settings.current()
    reading = read_spans(file, project=project or now.project)
    run = _Import(reading=reading, settings=now)
    try:
        stored = run.count() if dry_run else run.store(place(db, now))
    except DataError as error:
        output.error(error.message, error.hint)
        raise typer.Exit(NOTHING) from None
    _show(run, stored, dry_run=dry_run, as_json=json)
    counts = reading.counts
    raise typer.Exit(UNREAD if counts.unread else 0 if counts.traces else NOTHING)


@dataclass(slots=True, kw_only=True)
class _Import:
    """One reading of a file: traces go on, problems are told."""

    reading: SpanReading
    settings: Settings
    told: int = field(default=0, init=False)

    def count(self) -> int:
        """Read to the end and store nothing."""
        return sum(1 for _ in self._traces())

    def store(self, where: str | Path) -> int:
        """Store all traces, and return how many."""
        from aletheia.store import open_store

        stored, traces = 0, self._traces()
        # Opened with the first trace: a file without one makes no database.
        first = next(traces, None)
        if first is None:
            return 0
        left = chain([first], traces)
        with open_store(where) as store:
            while some := list(islice(left, _TOGETHER)):
                stored += len(store.add(some))
        return stored

    def _traces(self) -> Iterator[NewTrace]:
        from aletheia.pipeline.stored import capture
        from aletheia.sdk.spans import SpanProblem

        for found in self.reading:
            if isinstance(found, SpanProblem):
                self._tell(found)
                continue
            # Redaction, where it is set, comes before the store.
            kept = capture(
                found.query,
                found.chunks,
                found.response,
                self.settings,
                project=found.project,
                external_id=found.external_id,
                source=found.source,
                notes=found.notes,
            )
            yield kept.model_copy(update={"created_at": found.created_at})

    def _tell(self, problem: SpanProblem) -> None:
        if problem.line is None:
            self.told += 1
            if self.told > _NAMED:
                return
        output.note(f"{self.reading.path}: {problem}")


def _show(run: _Import, stored: int, *, dry_run: bool, as_json: bool) -> None:
    counts = run.reading.counts
    if as_json:
        body = {"stored": 0 if dry_run else stored, **counts.as_dict()}
        output.data(json_library.dumps(body, indent=2) + "\n")
        return
    done = "would be stored" if dry_run else "stored"
    traces = f"{stored:,} {'trace' if stored == 1 else 'traces'} {done}"
    output.text(f"{traces}, from {counts.spans:,} spans")
    remarks = (
        (counts.unread, "values that are no span, named above"),
        (counts.double_spans, "spans that stood twice"),
        (counts.not_traces, "trace ids without a response, which are no traces"),
        (counts.without_query, "traces without a query: only faithfulness is judged"),
        (counts.without_retriever, "traces without a retriever: their evidence is not known"),
        (counts.without_documents, "traces whose retrievers found nothing"),
    )
    for number, what in remarks:
        if number:
            output.text(f"{what}: {number:,}")
    if stored and not dry_run:
        output.note("`aletheia eval --pending` evaluates them")
