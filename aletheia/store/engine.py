"""Connections: how SQLite and PostgreSQL are set up before anything is asked of them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from aletheia.errors import StoreError
from aletheia.store.address import Address
from aletheia.store.failures import is_busy

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

_log = logging.getLogger(__name__)

LOWER: Final = "aletheia_lower"
"""Function of a SQLite connection: Python's `str.lower`, as SQLite's own knows ASCII only."""

ICU: Final = "und-x-icu"
"""Collation of a PostgreSQL server that was built with ICU."""

_WRITES: Final = "aletheia_writes"
_LOG_PAGES: Final = 4000
"""So much is written before the log is copied into the file, which makes one writer wait."""

_RETRY_S: Final = 0.01


def make_engine(address: Address, *, read_only: bool, busy_timeout_s: float) -> Engine:
    """Return an engine that connects when it is used. Raises `ModuleNotFoundError`, `StoreError`."""
    if address.path is None:
        return _postgres(address, busy_timeout_s)
    return _sqlite(address, read_only=read_only, busy_timeout_s=busy_timeout_s)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One snapshot: what others write meanwhile is not seen."""
    with engine.connect() as connection:
        if engine.dialect.name != "sqlite":
            connection.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction, committed at the end. In SQLite it is the only writer from its start."""
    with engine.connect().execution_options(**{_WRITES: True}) as connection, connection.begin():
        yield connection


def shrink(engine: Engine) -> None:
    """Give the space of rows that were removed from a SQLite file back, if nobody else uses it."""
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except engine.dialect.loaded_dbapi.OperationalError as error:
        _log.debug("the file keeps its size: %s", error)
    finally:
        connection.close()


def has_icu(engine: Engine) -> bool:
    """Whether a PostgreSQL server knows the rules of all scripts, beside its own locale.

    Raises `StoreError` for a database that does not hold all text.
    """
    if engine.dialect.name == "sqlite":
        return False
    with engine.connect() as connection:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise StoreError(
                f"the database is encoded in `{encoding}`, and cannot hold every text",
                hint="make one with `createdb --encoding=UTF8 --template=template0`",
            )
        known = "SELECT 1 FROM pg_collation WHERE collname = %s"
        return connection.exec_driver_sql(known, (ICU,)).first() is not None


@contextmanager
def driver_cursor(connection: Connection, statement: str) -> Iterator[Any]:
    """A cursor of the driver itself, whose errors are raised as the library raises them."""
    cursor = connection.connection.cursor()
    try:
        yield cursor
    except connection.dialect.loaded_dbapi.Error as error:
        raise DBAPIError(statement, None, error) from error
    finally:
        cursor.close()


def _sqlite(address: Address, *, read_only: bool, busy_timeout_s: float) -> Engine:
    immutable = read_only and _cannot_share(address)
    engine = create_engine(
        address.read_only_url(immutable=immutable) if read_only else address.url,
        connect_args={"timeout": busy_timeout_s, "check_same_thread": False},
        hide_parameters=True,
        # A reader never waits for another one.
        max_overflow=-1,
    )

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _entry: ConnectionPoolEntry) -> None:  # noqa: ANN401 - sqlite3's own
        # The library sends BEGIN itself, below.
        connection.isolation_level = None
        connection.create_function(LOWER, 1, _lower, deterministic=True)
        if not read_only:
            _use_write_ahead_log(connection, busy_timeout_s)
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        # A crash of the machine may cost the last traces, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        # What is removed leaves no trace in the file.
        connection.execute("PRAGMA secure_delete = ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A reader that turns writer would find the file changed under it.
        writes = connection.get_execution_options().get(_WRITES, False)
        statement = "BEGIN IMMEDIATE" if writes else "BEGIN"
        with driver_cursor(connection, statement) as cursor:
            cursor.execute(statement)

    return engine


def _cannot_share(address: Address) -> bool:
    """Whether SQLite could not make the files it needs beside a database with a log."""
    path = address.path
    if path is None or os.access(path.parent, os.W_OK):
        return False
    return not path.with_name(f"{path.name}-shm").exists()


def _use_write_ahead_log(connection: Any, busy_timeout_s: float) -> None:  # noqa: ANN401
    """Readers never wait for writers. Two that switch at once get an error without waiting."""
    deadline = time.monotonic() + busy_timeout_s
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except Exception as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            if mode != "wal":
                raise StoreError(f"the file system allows no write-ahead log, only `{mode}`")
            return


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _postgres(address: Address, busy_timeout_s: float) -> Engine:
    engine = create_engine(
        address.url,
        connect_args={"connect_timeout": max(2, round(busy_timeout_s))},
        hide_parameters=True,
        # A server that was started again, or a firewall, may have cut what lies in the pool.
        pool_pre_ping=True,
    )

    @event.listens_for(engine, "connect")
    def _set_up(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute(f"SET lock_timeout = {int(busy_timeout_s * 1000)}")
        cursor.close()
        connection.commit()

    return engine
