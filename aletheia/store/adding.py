"""Traces into their tables: new ones, and those that replace one of the same external id."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Insert, delete, func, insert, null, select
from sqlalchemy.dialects import postgresql, sqlite

from aletheia.schema.stored import NewTrace
from aletheia.store.prepared import Prepared
from aletheia.store.rows import CHUNK_COLUMNS, TRACE_COLUMNS, Row, chunk_rows, trace_row
from aletheia.store.tables import CONTEXT_CHUNKS, RESULT_COLUMNS, RESULT_TABLES, TRACES

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

_REPLACED: Final = ("status", "attempts", "source", "created_at", "query", "response", "notes")
_EMPTIED: Final = ("owner", "lease_until", "error", *RESULT_COLUMNS)

_ONE_AT_A_TIME: Final = select(func.pg_advisory_xact_lock(0x74726163657300))

TraceRows = Sequence[tuple[Row, list[Row]]]
"""The row of each trace, and those of its chunks without the id of the trace."""


def rows_of(traces: Sequence[NewTrace], now: datetime) -> TraceRows:
    """Return what is written for traces. Raises `UsageError` for what cannot be stored."""
    return [(trace_row(trace, now), chunk_rows(trace.chunks)) for trace in traces]


class Adder:
    """Writes traces into one kind of database."""

    def __init__(self, dialect: Dialect) -> None:
        self._traces = Prepared(_upsert(dialect.name), TRACE_COLUMNS, dialect)
        chunk_columns = ("trace_id", *CHUNK_COLUMNS)
        self._chunks = Prepared(insert(CONTEXT_CHUNKS), chunk_columns, dialect)

    def add(self, connection: Connection, rows: TraceRows) -> tuple[int, ...]:
        """Write traces and chunks; return the ids in the same order."""
        if connection.dialect.name == "postgresql" and any(row["external_key"] for row, _ in rows):
            # Two that replace the same traces in another order would wait for each other.
            connection.execute(_ONE_AT_A_TIME)
        ids: list[int] = []
        chunks: dict[int, list[Row]] = {}
        for row, pieces in rows:
            trace_id, revision = self._traces.one(connection, row)
            if revision:
                _remove_parts(connection, trace_id)
            ids.append(trace_id)
            # Of two with one external id in one call the later one holds.
            chunks[trace_id] = pieces
        flat = [{**row, "trace_id": trace_id} for trace_id in chunks for row in chunks[trace_id]]
        self._chunks.many(connection, flat)
        return tuple(ids)


def _upsert(dialect: str) -> Insert:
    statement = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(TRACES)
    return statement.on_conflict_do_update(
        index_elements=[TRACES.c.external_key],
        set_={
            "revision": TRACES.c.revision + 1,
            **{name: statement.excluded[name] for name in _REPLACED},
            **dict.fromkeys(_EMPTIED, null()),
        },
    ).returning(TRACES.c.id, TRACES.c.revision)


def _remove_parts(connection: Connection, trace_id: int) -> None:
    """Remove the chunks and the result of a trace, and leave the trace."""
    for table in (CONTEXT_CHUNKS, *RESULT_TABLES):
        connection.execute(delete(table).where(table.c.trace_id == trace_id))
