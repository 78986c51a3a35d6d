"""From rows to values: traces with their chunks and results, as they were stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError
from sqlalchemy import Column, Connection, Select, Table, select

from aletheia.errors import StoreError
from aletheia.schema.cost import Cost
from aletheia.schema.stored import StoredTrace, TraceStatus
from aletheia.store.prepared import Prepared
from aletheia.store.selecting import IDS, among_given
from aletheia.store.tables import (
    CLAIMS,
    COMPLETENESS,
    COMPLETENESS_EXTRAS,
    COMPLETENESS_MAPPINGS,
    CONTEXT_CHUNKS,
    COST_PREFIX,
    FAITHFULNESS,
    GROUNDING,
    RESULT_TABLES,
    SUB_QUESTIONS,
    SUFFICIENCY,
    TRACES,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

Row = Mapping[str, Any]
Rows = Sequence[Row]
Values = dict[str, Any]
"""What a model of ours is validated from."""

_OF_RESULT: Final = ("diagnosis", "suggestion", "errors", "findings", "latency_ms", "making")


class Fetcher:
    """Reads whole traces from one kind of database."""

    def __init__(self, dialect: Dialect) -> None:
        self._parts = {
            table: _by_ids(table, table.c.trace_id, dialect)
            for table in (CONTEXT_CHUNKS, *RESULT_TABLES)
        }
        self._traces = _by_ids(TRACES, TRACES.c.id, dialect)

    def of_ids(
        self, connection: Connection, ids: Sequence[int], name: str
    ) -> tuple[StoredTrace, ...]:
        """Return the traces there are of some ids, in the order of ids.

        `name` is how the store is called. Raises `StoreError` for what was not written by us.
        """
        return self._whole(connection, self._traces.all(connection, {IDS: list(ids)}), name)

    def found(
        self, connection: Connection, query: Select[Any], name: str
    ) -> tuple[StoredTrace, ...]:
        """Return the traces that a query over whole rows of `TRACES` finds, in its order."""
        rows = [dict(row) for row in connection.execute(query).mappings()]
        return self._whole(connection, rows, name)

    def _whole(self, connection: Connection, rows: Rows, name: str) -> tuple[StoredTrace, ...]:
        chunks = self._children(connection, CONTEXT_CHUNKS, [row["id"] for row in rows])
        evaluated = [row["id"] for row in rows if row["status"] == TraceStatus.EVALUATED]
        parts = {table: self._children(connection, table, evaluated) for table in RESULT_TABLES}
        return tuple(_trace(row, chunks, parts, name) for row in rows)

    def _children(
        self, connection: Connection, table: Table, ids: Sequence[int]
    ) -> Mapping[int, list[Row]]:
        found: dict[int, list[Row]] = defaultdict(list)
        if ids:
            for row in self._parts[table].all(connection, {IDS: list(ids)}):
                found[row["trace_id"]].append(row)
        return found


def _by_ids(table: Table, key: Column[int], dialect: Dialect) -> Prepared:
    wanted = select(table).where(among_given(key, dialect.name))
    return Prepared(wanted.order_by(*table.primary_key.columns), (IDS,), dialect)


def _trace(
    row: Row,
    chunks: Mapping[int, Rows],
    parts: Mapping[Table, Mapping[int, Rows]],
    name: str,
) -> StoredTrace:
    trace_id: int = row["id"]
    result = None
    if row["status"] == TraceStatus.EVALUATED:
        mine = {table: rows.get(trace_id, ()) for table, rows in parts.items()}
        result = _result(row, mine)
    try:
        return StoredTrace.model_validate(
            {**_plain(row), "chunks": _chunks(chunks.get(trace_id, ())), "result": result}
        )
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise StoreError(
            f"trace {trace_id} in `{name}` cannot be read: `{place}`: {fault['msg']}",
            hint="it was changed by something else than this program",
        ) from None


def _plain(row: Row) -> Values:
    names = ("id", "project", "external_id", "source", "query", "response", "notes", "status")
    more = ("attempts", "error", "created_at", "evaluated_at")
    return {name: row[name] for name in (*names, *more)}


def _chunks(rows: Rows) -> list[Values]:
    return [{name: row[name] for name in ("text", "rank", "source", "score")} for row in rows]


def _result(row: Row, parts: Mapping[Table, Rows]) -> Values:
    cited = _cited(parts[GROUNDING])
    return {
        **(row["more"] or {}),
        **{name: row[name] for name in _OF_RESULT},
        "trace_id": row["id"],
        "query": row["query"],
        "response": row["response"],
        "created_at": row["evaluated_at"],
        "cost": {name: row[f"{COST_PREFIX}{name}"] for name in Cost.model_fields},
        "sub_questions": [
            {"id": item["sub_question_id"], "text": item["text"]} for item in parts[SUB_QUESTIONS]
        ],
        "claims": [_claim(item) for item in parts[CLAIMS]],
        "sufficiency": [
            {
                **_judgement(item, cited.get((SUFFICIENCY.name, item["position"]), [])),
                "sub_question_id": item["sub_question_id"],
            }
            for item in parts[SUFFICIENCY]
        ],
        "faithfulness": [
            {
                **_judgement(item, cited.get((FAITHFULNESS.name, item["position"]), [])),
                "claim_id": item["claim_id"],
                "unsupported": item["unsupported"],
            }
            for item in parts[FAITHFULNESS]
        ],
        "completeness": next(iter(_completeness(parts)), None),
    }


def _claim(row: Row) -> Values:
    return {
        "id": row["claim_id"],
        "text": row["text"],
        "kind": row["kind"],
        "start": row["span_start"],
        "end": row["span_end"],
    }


def _cited(rows: Rows) -> Mapping[tuple[str, int], list[str]]:
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for row in rows:
        found[row["judgement"], row["judgement_position"]].append(row["evidence_id"])
    return found


def _judgement(row: Row, evidence_ids: list[str]) -> Values:
    names = ("verdict", "reasoning", "score", "confidence", "warnings", "problem", "agreement")
    return {**{name: row[name] for name in names}, "evidence_ids": evidence_ids}


def _completeness(parts: Mapping[Table, Rows]) -> Iterator[Values]:
    for whole in parts[COMPLETENESS]:
        names = ("reasoning", "confidence", "problem", "agreement")
        yield {
            **{name: whole[name] for name in names},
            "alignments": _alignments(parts[COMPLETENESS_MAPPINGS]),
            "extras": [row["claim_id"] for row in parts[COMPLETENESS_EXTRAS]],
        }


def _alignments(rows: Rows) -> list[Values]:
    found: dict[int, Values] = {}
    for row in rows:
        item = found.setdefault(
            row["position"], {"sub_question_id": row["sub_question_id"], "claim_ids": []}
        )
        if row["claim_id"] is not None:
            item["claim_ids"].append(row["claim_id"])
    return list(found.values())
