"""From a filter to conditions of a query. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ColumnElement,
    and_,
    bindparam,
    collate,
    column,
    func,
    or_,
    select,
)

from aletheia.schema.stored import TraceFilter, TraceStatus
from aletheia.store.engine import ICU, LOWER
from aletheia.store.tables import TRACES
from aletheia.store.types import Json, escape, utc

Lower = Callable[[ColumnElement[str]], ColumnElement[str]]
"""How a database makes a text lower case, in all scripts."""

Condition = ColumnElement[bool]

IDS: Final = "ids"


def lower_in(dialect: str, *, has_icu: bool) -> Lower:
    """Return how this database lowers text. PostgreSQL without ICU goes by the locale it has."""
    if dialect == "sqlite":
        return lambda text: getattr(func, LOWER)(text)
    if has_icu:
        return lambda text: func.lower(collate(text, ICU))
    return func.lower


def conditions(where: TraceFilter, dialect: str, lower: Lower) -> Condition:
    """Return what rows of `traces` have to fulfil."""
    return and_(True, *_conditions(where, dialect, lower))


def among(wanted: Column[int], ids: Sequence[int], dialect: str) -> Condition:
    """Return whether a column is one of `ids`, of which there may be any number."""
    return _among(wanted, dialect, {"value": list(ids), "unique": True})


def among_given(wanted: Column[int], dialect: str) -> Condition:
    """Return whether a column is one of the ids that come as the parameter `IDS`, as a list."""
    return _among(wanted, dialect, {})


def _among(wanted: Column[int], dialect: str, more: Mapping[str, Any]) -> Condition:
    if dialect == "sqlite":
        given = func.json_each(bindparam(IDS, type_=Json, **more))
        return wanted.in_(select(given.table_valued(column("value", BigInteger)).c.value))
    return wanted == func.any(bindparam(IDS, type_=ARRAY(BigInteger), **more))


def _conditions(where: TraceFilter, dialect: str, lower: Lower) -> Iterator[Condition]:
    traces = TRACES.c
    if where.project is not None:
        yield traces.project == where.project
    if where.ids:
        yield among(traces.id, where.ids, dialect)
    if where.cells:
        yield traces.failure_cell.in_([cell.value for cell in where.cells])
    if where.statuses:
        yield traces.status.in_([status.value for status in where.statuses])
    if where.undiagnosed:
        yield traces.status == TraceStatus.EVALUATED.value
        yield traces.failure_cell.is_(None)
    if where.since is not None:
        yield traces.created_at >= utc(where.since)
    if where.until is not None:
        yield traces.created_at < utc(where.until)
    if where.text is not None:
        yield _holds(where.text, dialect, lower)


def _holds(text: str, dialect: str, lower: Lower) -> Condition:
    place = func.instr if dialect == "sqlite" else func.strpos
    wanted = escape(text).lower()
    return or_(*(place(lower(part), wanted) > 0 for part in (TRACES.c.query, TRACES.c.response)))
