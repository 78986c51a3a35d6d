"""The store of traces: what is written, claimed, read and removed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self, TypeVar

from sqlalchemy import Connection, Engine, Select, delete, func, select

from aletheia.errors import StoreError
from aletheia.schema.cost import Cost
from aletheia.schema.diagnosis import Diagnosis, EvaluationResult
from aletheia.schema.stored import NewTrace, StoredTrace, TraceFilter, TraceStatus, TraceSummary
from aletheia.store import claiming, counting
from aletheia.store.adding import Adder, rows_of
from aletheia.store.address import Address, check_place
from aletheia.store.engine import has_icu, make_engine, reading, shrink
from aletheia.store.failures import mapped
from aletheia.store.fetching import Fetcher
from aletheia.store.forking import Gate
from aletheia.store.migrate import prepare
from aletheia.store.rows import external_key
from aletheia.store.saving import Saver, as_error
from aletheia.store.selecting import Condition, Lower, conditions, lower_in
from aletheia.store.tables import SUMMARY_COLUMNS, TRACES
from aletheia.store.writer import Writer

T = TypeVar("T")

_ALL: Final = TraceFilter()
_PAGE: Final = 64
"""So many traces are in memory at once while all are read."""

_REMOVED_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """What one process holds open."""

    engine: Engine
    writer: Writer
    adder: Adder
    saver: Saver
    fetcher: Fetcher
    lower: Lower


class TraceStore:
    """Traces and their results, in a SQLite file or a PostgreSQL database.

    May be used from many threads and processes at once, and after a fork. Calls block. Writing
    calls of one process share transactions; each returns when its own is committed.

    Ids grow in the order in which traces were stored, and are never given twice. A result is
    there if and only if the status is `evaluated`.

    Raises `StoreError` for what the database reports, for writes to a store that was opened for
    reading only, and after `close`; `UsageError` for times without a zone.
    """

    def __init__(self, address: Address, *, read_only: bool, busy_timeout_s: float) -> None:
        self.url: Final = address.shown
        self._address = address
        self._read_only = read_only
        self._busy_timeout_s = busy_timeout_s
        self._closed = False
        # By process id, for a fork that Python is not told of: what is inherited is left alone.
        self._open: dict[int, _Open] = {}
        self._gate = Gate(self._disconnect)
        check_place(address, read_only=read_only)
        try:
            with self._gate.passed(), mapped(address):
                prepare(self._here().engine, address, read_only=read_only)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, traces: Sequence[NewTrace]) -> tuple[int, ...]:
        """Store traces, to be evaluated, in one transaction; return their ids in the same order.

        They are kept when this returns. One whose external id is known in its project replaces
        that trace under the same id, and is pending again.
        """
        rows = rows_of(traces, datetime.now(UTC))
        if not rows:
            return ()
        return self._write(lambda connection: self._here().adder.add(connection, rows))

    def save(self, results: Sequence[tuple[int, EvaluationResult]]) -> None:
        """Store results in the place of earlier ones, in one transaction.

        `trace_id` of each becomes the id it is stored under. A trace that was removed, or replaced
        by one of another query or response, has no place for its result: all others are kept, and
        `StoreError` is raised.
        """
        if not results:
            return
        refused = self._write(lambda connection: self._here().saver.save(connection, results))
        if refused:
            raise as_error(refused, len(results))

    def fail(self, trace_id: int, error: str) -> None:
        """Say why there is no result; a trace that has one keeps it.

        Raises `StoreError` where there is no such trace.
        """
        self._write(lambda connection: claiming.fail(connection, trace_id, error))

    def claim(
        self, limit: int, *, owner: str, lease_s: float = 900.0, where: TraceFilter = _ALL
    ) -> tuple[StoredTrace, ...]:
        """Claim up to `limit` pending traces, the oldest first, for `lease_s` seconds.

        No two claimers get the same trace while the lease lasts. `attempts` counts the claim.
        """
        wanted = self._wanted(where)

        def work(connection: Connection) -> tuple[StoredTrace, ...]:
            now = datetime.now(UTC)
            ids = claiming.claim_ids(
                connection, wanted, limit=limit, owner=owner, now=now, lease_s=lease_s
            )
            return self._of_ids(connection, ids)

        return self._write(work)

    def release(self, trace_ids: Sequence[int]) -> None:
        """Give claims back before their lease ends, as if they had not been made."""
        ids = list(trace_ids)
        self._write(lambda connection: claiming.release(connection, ids))

    def reopen(self, where: TraceFilter) -> int:
        """Make evaluated and failed traces pending again; return how many.

        Their results and errors are removed, and `attempts` begins anew.
        """
        wanted = self._wanted(where)
        return self._write(lambda connection: claiming.reopen(connection, wanted))

    def get(self, trace_id: int) -> StoredTrace | None:
        """Return a trace with its chunks and its result, None where there is none."""
        found = self._read(lambda connection: self._of_ids(connection, [trace_id]))
        return next(iter(found), None)

    def find(self, project: str, external_id: str) -> int | None:
        """Return the id of the trace that had `external_id` where it came from, None for none."""
        wanted = TRACES.c.external_key == external_key(project, external_id)
        found = select(TRACES.c.id).where(wanted)
        return self._read(lambda connection: connection.execute(found).scalar_one_or_none())

    def summaries(
        self, where: TraceFilter = _ALL, *, limit: int = 50, before: int | None = None
    ) -> tuple[TraceSummary, ...]:
        """Return what lists show of traces, those stored last first.

        `before` is the id of the last one that was shown: only older ones are returned.
        """
        older = [] if before is None else [TRACES.c.id < before]
        found = select(*SUMMARY_COLUMNS).where(self._wanted(where), *older)
        rows = self._read(lambda connection: _mappings(connection, found, limit))
        return tuple(TraceSummary.model_validate(row) for row in rows)

    def traces(self, where: TraceFilter = _ALL) -> Iterator[StoredTrace]:
        """Yield traces with chunks and results, those stored first first, a page at a time.

        Between pages nothing is held open: what is stored meanwhile is seen at the end.
        """
        wanted, after = self._wanted(where), 0
        while page := self._page(wanted, after):
            yield from page
            after = page[-1].id

    def count(self, where: TraceFilter = _ALL) -> Mapping[TraceStatus, int]:
        """Return how many traces have each status; all of them are there."""
        wanted = self._wanted(where)
        return self._read(lambda connection: counting.statuses(connection, wanted))

    def diagnoses(self, where: TraceFilter = _ALL) -> Mapping[Diagnosis, int]:
        """Return the diagnoses of evaluated traces, and how often each was made.

        They are reduced to what rates look at: cell, completeness, flags, level of sufficiency,
        abstention, whether they are tentative, and whether the response was empty.
        """
        wanted = self._wanted(where)
        return self._read(lambda connection: counting.diagnoses(connection, wanted))

    def healthy_fractions(self, project: str, *, judge: str | None = None) -> Mapping[float, int]:
        """Return the sufficiency fractions of healthy traces, and how often each occurred.

        Zero is left out. `judge` is what `making` calls it.
        """
        return self._read(lambda connection: counting.healthy_fractions(connection, project, judge))

    def cost(self, where: TraceFilter = _ALL) -> Cost:
        """Return what the results there are cost together."""
        wanted = self._wanted(where)
        return self._read(lambda connection: counting.cost(connection, wanted))

    def projects(self) -> Mapping[str, int]:
        """Return the projects by name, with the number of their traces."""
        return self._read(counting.projects)

    def judges(self, where: TraceFilter = _ALL) -> Mapping[tuple[str, str | None], int]:
        """Return pairs of a project and a judge, with the number of their traces.

        The judge is what `making` calls it, and None for traces that were not judged.
        """
        wanted = self._wanted(where)
        return self._read(lambda connection: counting.judges(connection, wanted))

    def prune(self, *, until: datetime, project: str | None = None, dry_run: bool = False) -> int:
        """Remove all traces that were created before `until`, and return how many.

        Those that wait for their evaluation are removed too. With `dry_run` they are only counted.
        """
        wanted = self._wanted(TraceFilter(project=project, until=until))
        if dry_run:
            return self._read(lambda connection: _count(connection, wanted))
        removed = 0
        while some := self._write(lambda connection: _remove(connection, wanted)):
            removed += some
        if removed:
            self._shrink()
        return removed

    def close(self) -> None:
        """Close what this process holds open. May be called again."""
        self._closed = True
        with self._gate.passed(), mapped(self._address):
            self._disconnect()
            self._open.pop(os.getpid(), None)

    def _disconnect(self) -> None:
        opened = self._open.get(os.getpid())
        if opened is not None:
            opened.engine.dispose()

    def _here(self) -> _Open:
        opened = self._open.get(os.getpid())
        if opened is None:
            if self._closed:
                raise StoreError(f"the store in `{self._address.name}` is closed")
            made = self._connect()
            # Of two threads that open at once, one gets what the other made.
            opened = self._open.setdefault(os.getpid(), made)
            if opened is not made:
                made.engine.dispose()
        return opened

    def _connect(self) -> _Open:
        with mapped(self._address):
            engine = make_engine(
                self._address, read_only=self._read_only, busy_timeout_s=self._busy_timeout_s
            )
            try:
                return _opened(engine)
            except BaseException:
                engine.dispose()
                raise

    def _read(self, work: Callable[[Connection], T]) -> T:
        with (
            self._gate.passed(),
            mapped(self._address),
            reading(self._here().engine) as connection,
        ):
            return work(connection)

    def _write(self, work: Callable[[Connection], T]) -> T:
        if self._read_only:
            raise StoreError(f"the store in `{self._address.name}` was opened for reading only")
        with self._gate.passed(), mapped(self._address):
            return self._here().writer.run(work)

    def _wanted(self, where: TraceFilter) -> Condition:
        with self._gate.passed():
            opened = self._here()
        return conditions(where, opened.engine.dialect.name, opened.lower)

    def _of_ids(self, connection: Connection, ids: Sequence[int]) -> tuple[StoredTrace, ...]:
        return self._here().fetcher.of_ids(connection, ids, self._address.name)

    def _page(self, wanted: Condition, after: int) -> tuple[StoredTrace, ...]:
        later = select(TRACES).where(wanted, TRACES.c.id > after).order_by(TRACES.c.id)
        name = self._address.name
        return self._read(
            lambda connection: self._here().fetcher.found(connection, later.limit(_PAGE), name)
        )

    def _shrink(self) -> None:
        """Give the space of removed rows back, unless somebody else is using the file."""
        if self._address.path is not None:
            with self._gate.passed(), mapped(self._address):
                shrink(self._here().engine)


def _opened(engine: Engine) -> _Open:
    return _Open(
        engine=engine,
        lower=lower_in(engine.dialect.name, has_icu=has_icu(engine)),
        writer=Writer(engine),
        adder=Adder(engine.dialect),
        saver=Saver(engine.dialect),
        fetcher=Fetcher(engine.dialect),
    )


def _mappings(connection: Connection, found: Select[Any], limit: int) -> list[dict[str, object]]:
    rows = connection.execute(found.order_by(TRACES.c.id.desc()).limit(limit)).mappings()
    # It is not known before the evaluation, and then not tentative.
    return [{**row, "tentative": bool(row["tentative"])} for row in rows]


def _count(connection: Connection, wanted: Condition) -> int:
    return connection.execute(select(func.count()).select_from(TRACES).where(wanted)).scalar_one()


def _remove(connection: Connection, wanted: Condition) -> int:
    some = select(TRACES.c.id).where(wanted).order_by(TRACES.c.id).limit(_REMOVED_AT_ONCE)
    return connection.execute(delete(TRACES).where(TRACES.c.id.in_(some))).rowcount
