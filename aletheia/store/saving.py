"""Results into their tables, in the place of those that were there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Table, bindparam, delete, insert, null, select, update

from aletheia.errors import StoreError
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.stored import TraceStatus
from aletheia.store.prepared import Prepared
from aletheia.store.rows import Row, result_row, result_rows
from aletheia.store.selecting import IDS, among, among_given
from aletheia.store.tables import RESULT_COLUMNS, RESULT_TABLES, TRACES

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

Results = Sequence[tuple[int, EvaluationResult]]

_KEY: Final = "of_trace"
_UPDATE: Final = (
    update(TRACES)
    .where(TRACES.c.id == bindparam(_KEY))
    .values(
        {
            "status": TraceStatus.EVALUATED.value,
            **dict.fromkeys(("owner", "lease_until", "error"), null()),
            **{name: bindparam(name) for name in RESULT_COLUMNS},
        }
    )
)


class Saver:
    """Writes results into one kind of database."""

    def __init__(self, dialect: Dialect) -> None:
        self._update = Prepared(_UPDATE, (_KEY, *RESULT_COLUMNS), dialect)
        self._inserts = {
            table: Prepared(insert(table), table.columns.keys(), dialect) for table in RESULT_TABLES
        }
        # In the order of ids, so that no two writers wait for one another.
        there = select(TRACES.c.id, TRACES.c.status, TRACES.c.query, TRACES.c.response)
        wanted = there.where(among_given(TRACES.c.id, dialect.name)).order_by(TRACES.c.id)
        self._held = Prepared(wanted.with_for_update(), (IDS,), dialect)

    def save(self, connection: Connection, results: Results) -> list[str]:
        """Write results, the later of two of one trace; return why some could not be written.

        The result of a trace that was removed, or replaced by other text, belongs to nothing.
        """
        latest = dict(results)
        found = {row["id"]: row for row in self._held.all(connection, {IDS: list(latest)})}
        refused = {i: why for i, result in latest.items() if (why := _refusal(i, result, found))}
        kept = {i: result for i, result in latest.items() if i not in refused}
        remove_results(connection, [i for i in kept if found[i]["status"] == TraceStatus.EVALUATED])
        self._write(connection, kept)
        return list(refused.values())

    def _write(self, connection: Connection, results: Mapping[int, EvaluationResult]) -> None:
        updates = [{_KEY: trace_id, **result_row(result)} for trace_id, result in results.items()]
        self._update.many(connection, updates)
        rows: dict[Table, list[Row]] = {table: [] for table in RESULT_TABLES}
        for trace_id, result in results.items():
            for table, more in result_rows(trace_id, result).items():
                rows[table] += more
        for table, all_rows in rows.items():
            self._inserts[table].many(connection, all_rows)


def remove_results(connection: Connection, ids: Sequence[int]) -> None:
    """Remove what results wrote outside `traces`."""
    if ids:
        for table in RESULT_TABLES:
            wanted = among(table.c.trace_id, ids, connection.dialect.name)
            connection.execute(delete(table).where(wanted))


def _refusal(
    trace_id: int, result: EvaluationResult, found: Mapping[int, Mapping[str, object]]
) -> str | None:
    there = found.get(trace_id)
    if there is None:
        return f"there is no trace {trace_id}"
    if (there["query"], there["response"]) != (result.query, result.response):
        return f"trace {trace_id} has another query or response"
    return None


def as_error(refused: Sequence[str], total: int) -> StoreError:
    """Return the error about results that were not written."""
    return StoreError(
        f"{len(refused)} of {total} results were not kept: {'; '.join(refused)}",
        hint="the trace was removed or replaced while it was evaluated; the others are kept",
    )
