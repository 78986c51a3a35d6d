"""Who evaluates what: claims with a lease, and the ways back to pending."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, case, or_, select, update

from aletheia.errors import StoreError
from aletheia.schema.stored import TraceStatus
from aletheia.store.saving import remove_results
from aletheia.store.selecting import Condition, among
from aletheia.store.tables import RESULT_COLUMNS, TRACES

_T: Final = TRACES.c
_PENDING: Final = _T.status == TraceStatus.PENDING.value


def claim_ids(
    connection: Connection,
    wanted: Condition,
    *,
    limit: int,
    owner: str,
    now: datetime,
    lease_s: float,
) -> list[int]:
    """Claim the oldest pending traces that nobody holds, and return their ids in that order.

    In PostgreSQL rows that another claimer looks at are skipped; in SQLite there is one writer.
    """
    free = select(_T.id).where(_PENDING, or_(_T.lease_until.is_(None), _T.lease_until <= now))
    chosen = free.where(wanted).order_by(_T.id).limit(limit).with_for_update(skip_locked=True)
    ids = list(connection.execute(chosen).scalars())
    if ids:
        connection.execute(
            update(TRACES)
            .where(among(_T.id, ids, connection.dialect.name))
            .values(
                attempts=_T.attempts + 1,
                owner=owner,
                lease_until=now + timedelta(seconds=lease_s),
            )
        )
    return ids


def release(connection: Connection, ids: Sequence[int]) -> None:
    """Give claims back, as if they had not been made."""
    connection.execute(
        update(TRACES)
        .where(among(_T.id, ids, connection.dialect.name), _PENDING, _T.owner.is_not(None))
        .values(
            attempts=case((_T.attempts > 0, _T.attempts - 1), else_=0),
            owner=None,
            lease_until=None,
        )
    )


def fail(connection: Connection, trace_id: int, error: str) -> None:
    """Mark a trace as failed, unless it has a result. Raises `StoreError` where there is none."""
    done = connection.execute(
        update(TRACES)
        .where(_T.id == trace_id, _T.status != TraceStatus.EVALUATED.value)
        .values(status=TraceStatus.FAILED.value, error=error, owner=None, lease_until=None)
    )
    if not done.rowcount:
        there = connection.execute(select(_T.id).where(_T.id == trace_id)).first()
        if there is None:
            raise StoreError(f"there is no trace {trace_id}")


def reopen(connection: Connection, wanted: Condition) -> int:
    """Make evaluated and failed traces pending, without result and error; return how many."""
    done = select(_T.id).where(wanted, _T.status != TraceStatus.PENDING.value)
    ids = list(connection.execute(done.order_by(_T.id).with_for_update()).scalars())
    remove_results(connection, ids)
    if ids:
        emptied = ("error", "owner", "lease_until", *RESULT_COLUMNS)
        connection.execute(
            update(TRACES)
            .where(among(_T.id, ids, connection.dialect.name))
            .values({"status": TraceStatus.PENDING.value, "attempts": 0, **dict.fromkeys(emptied)})
        )
    return len(ids)
