"""Sums over many traces, made by the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, func, select

from aletheia.schema.cost import Cost, known_sum
from aletheia.schema.diagnosis import Diagnosis, FailureCell, Flags
from aletheia.schema.stored import TraceStatus
from aletheia.store.selecting import Condition
from aletheia.store.tables import COST_PREFIX, FLAG_PREFIX, TRACES

_TIMES: Final = func.count().label("times")
_FLAGS: Final = {name: TRACES.c[f"{FLAG_PREFIX}{name}"] for name in Flags.model_fields}
_REDUCED: Final = {
    "failure_cell": TRACES.c.failure_cell,
    "completeness": TRACES.c.overall_verdict,
    "sufficiency_level": TRACES.c.sufficiency_level,
    "abstention": TRACES.c.abstention,
    "tentative": TRACES.c.tentative,
    "level_tentative": TRACES.c.level_tentative,
    "empty_response": TRACES.c.empty_response,
}
"""Field of a diagnosis -> its column; what rates look at, beside the flags."""


def statuses(connection: Connection, wanted: Condition) -> dict[TraceStatus, int]:
    """Return how many traces have each status; all three are there."""
    rows = connection.execute(
        select(TRACES.c.status, _TIMES).where(wanted).group_by(TRACES.c.status)
    )
    found = {row.status: row.times for row in rows}
    return {status: found.get(status.value, 0) for status in TraceStatus}


def diagnoses(connection: Connection, wanted: Condition) -> dict[Diagnosis, int]:
    """Return the diagnoses of evaluated traces, reduced to what rates look at."""
    columns = (*_REDUCED.values(), *_FLAGS.values())
    rows = connection.execute(
        select(*columns, _TIMES)
        .where(wanted, TRACES.c.status == TraceStatus.EVALUATED.value)
        .group_by(*columns)
    )
    found = {}
    for row in rows.mappings():
        flags = Flags(**{name: row[column] for name, column in _FLAGS.items()})
        reduced = {name: row[column] for name, column in _REDUCED.items()}
        found[Diagnosis.model_validate({**reduced, "flags": flags})] = row["times"]
    return found


def healthy_fractions(connection: Connection, project: str, judge: str | None) -> dict[float, int]:
    """Return the sufficiency of healthy traces, and how many have it."""
    traces = TRACES.c
    of_judge = [] if judge is None else [traces.judge == judge]
    rows = connection.execute(
        select(traces.sufficiency_fraction, _TIMES)
        .where(traces.project == project, *of_judge)
        .where(traces.failure_cell == FailureCell.COMPLETE_GROUNDED.value)
        .where(traces.sufficiency_fraction > 0)
        .group_by(traces.sufficiency_fraction)
    )
    return {row.sufficiency_fraction: row.times for row in rows}


def cost(connection: Connection, wanted: Condition) -> Cost:
    """Return what the evaluations cost together."""
    names = [name for name in Cost.model_fields if name != "usd"]
    usd = func.coalesce(func.sum(TRACES.c[f"{COST_PREFIX}usd"]), 0.0)
    sums = [func.coalesce(func.sum(TRACES.c[f"{COST_PREFIX}{name}"]), 0) for name in names]
    *counts, spent = connection.execute(select(*sums, usd).where(wanted)).one()
    named: Mapping[str, int] = {name: int(n) for name, n in zip(names, counts, strict=True)}
    kinds = {name: named[name] for name in ("calls", "cached", "unpriced")}
    return Cost(**named, usd=known_sum(float(spent), **kinds))


def projects(connection: Connection) -> dict[str, int]:
    """Return the projects by name, and how many traces each has."""
    rows = connection.execute(
        select(TRACES.c.project, _TIMES).group_by(TRACES.c.project).order_by(TRACES.c.project)
    )
    return {row.project: row.times for row in rows}


def judges(connection: Connection, wanted: Condition) -> dict[tuple[str, str | None], int]:
    """Return projects with the judges of their traces, None where no judge was asked yet."""
    columns = (TRACES.c.project, TRACES.c.judge)
    rows = connection.execute(
        select(*columns, _TIMES).where(wanted).group_by(*columns).order_by(*columns)
    )
    return {(row.project, row.judge): row.times for row in rows}
