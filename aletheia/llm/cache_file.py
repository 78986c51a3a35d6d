"""The SQLite file under the reply cache: one connection a process, the table brought up to date.

`reply_cache_meta` holds the version of the table, so that other tables of the same file may have
versions of their own.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aletheia.errors import StoreError

if TYPE_CHECKING:
    import sqlite3

_log = logging.getLogger(__name__)

SCHEMA_VERSION: Final = 1
"""Of the table and of the key; part of every key."""

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS reply_cache_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS model_replies (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        provider TEXT NOT NULL,
        base_url TEXT NOT NULL,
        model TEXT NOT NULL,
        parameters TEXT NOT NULL,
        prompt TEXT NOT NULL,
        reply TEXT NOT NULL,
        tokens INTEGER,
        hits INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL
    )""",
)
_STAMP: Final = "INSERT OR REPLACE INTO reply_cache_meta VALUES ('schema_version', ?)"
_NOT_USABLE: Final = "set `ALETHEIA_DB_PATH` to another file, or `ALETHEIA_CACHE_ENABLED=false`"


@dataclass(slots=True)
class _Held:
    """The connection of one process. A lock and not one connection a thread: calls are short."""

    pid: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    connection: sqlite3.Connection | None = None


class Database:
    """A SQLite file in write-ahead mode, with the tables of the cache in it.

    `connected` gives the connection to one thread at a time. Readers never wait for writers;
    a writer waits `busy_timeout_s` for another. Raises `StoreError` for whatever SQLite reports.
    """

    def __init__(self, path: Path, *, busy_timeout_s: float) -> None:
        self.path: Final = path
        self._busy_timeout_s = busy_timeout_s
        self._held = _Held(os.getpid())
        # A forked child must neither use nor close the connection of its parent.
        self._inherited: list[_Held] = []

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """The open connection, opened or opened again where needed."""
        held = self._of_this_process()
        with held.lock, _mapped(self.path):
            if held.connection is None:
                held.connection = _open(self.path, self._busy_timeout_s)
            yield held.connection

    @contextmanager
    def not_waiting(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Inside, a write that would have to wait for another writer fails at once."""
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(self._busy_timeout_s * 1000)}")

    def close(self, last: Callable[[sqlite3.Connection], None]) -> None:
        """Close the file after one `last` action, if it is open in this process."""
        held = self._of_this_process()
        with held.lock, _mapped(self.path):
            connection, held.connection = held.connection, None
            if connection is not None:
                with closing(connection):
                    last(connection)

    @property
    def size_bytes(self) -> int:
        """Size of the file and of the files that SQLite keeps beside it."""
        files = (self.path.with_name(f"{self.path.name}{end}") for end in ("", "-wal", "-shm"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _of_this_process(self) -> _Held:
        if self._held.pid != os.getpid():
            self._inherited.append(self._held)
            self._held = _Held(os.getpid())
        return self._held


def has_cache(path: Path) -> bool:
    """Whether a cache was ever made in this file; makes none. Raises `StoreError`."""
    import sqlite3

    with _mapped(path):
        if not path.exists():
            return False
        _reject_directory(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            return _version(connection) is not None


def shrink(connection: sqlite3.Connection) -> None:
    """Give the space of removed rows back, unless somebody else is using the file."""
    import sqlite3

    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        _log.debug("the file keeps its size: %s", error)


def _open(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    """Connect and bring the table up to date. Raises `StoreError` or `sqlite3.Error`."""
    import sqlite3

    _reject_directory(path)
    if not path.parent.is_dir():
        raise StoreError(f"`{path}`: there is no directory `{path.parent}`", hint=_NOT_USABLE)
    connection = sqlite3.connect(
        path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A crash of the machine may cost the last replies, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        if _version(connection) != SCHEMA_VERSION:
            _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _reject_directory(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"`{path}` is a directory, not a database", hint=_NOT_USABLE)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Make the table in one transaction; one of an older version is emptied: its keys are others.

    Looks again once it may write, as another process may have been first.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version is not None and version > SCHEMA_VERSION:
            raise StoreError(
                f"the reply cache in `{path}` has version {version}, and this program reads up to "
                f"{SCHEMA_VERSION}",
                hint="update `aletheia-rag`, or set `ALETHEIA_DB_PATH` to another file",
            )
        if version is not None and version < SCHEMA_VERSION:
            _drop(connection, path, version)
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(_STAMP, (str(SCHEMA_VERSION),))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _drop(connection: sqlite3.Connection, path: Path, version: int) -> None:
    (rows,) = connection.execute("SELECT COUNT(*) FROM model_replies").fetchone()
    connection.execute("DROP TABLE model_replies")
    _log.warning(
        "the reply cache in `%s` was of the older version %d: its %d replies were removed",
        *(path, version, rows),
    )


def _version(connection: sqlite3.Connection) -> int | None:
    """Version of the table there is; None without one, 0 where no version was written."""
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE name IN ('model_replies', 'reply_cache_meta')"
    )
    names = {name for (name,) in found}
    if "model_replies" not in names:
        return None
    if "reply_cache_meta" not in names:
        return 0
    row = connection.execute(
        "SELECT value FROM reply_cache_meta WHERE key = 'schema_version'"
    ).fetchone()
    return int(row[0]) if row is not None and str(row[0]).isdecimal() else 0


@contextmanager
def _mapped(path: Path) -> Iterator[None]:
    import sqlite3

    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _store_error(path, error) from None
    except OSError as error:
        raise StoreError(f"`{path}` cannot be used: {error.strerror}", hint=_NOT_USABLE) from None


def _store_error(path: Path, error: Exception) -> StoreError:
    code = getattr(error, "sqlite_errorname", None) or ""
    if code.startswith("SQLITE_NOTADB"):
        return StoreError(f"`{path}` is not a SQLite database", hint=_NOT_USABLE)
    if code.startswith("SQLITE_CORRUPT"):
        return StoreError(
            f"`{path}` is damaged: {error}", hint="move the file away; a new one is made"
        )
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StoreError(
            f"the reply cache in `{path}` cannot be written: {error}", hint=_NOT_USABLE
        )
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError(
            f"`{path}` is in use by another program: {error}", hint="try again when it is done"
        )
    return StoreError(f"the reply cache in `{path}` cannot be used: {error}", hint=_NOT_USABLE)
