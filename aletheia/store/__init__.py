"""The store of traces: `open_store` gives one, in a SQLite file or a PostgreSQL database.

The only importer of SQLAlchemy and Alembic; both load with this package.
"""

from __future__ import annotations

from pathlib import Path

from aletheia.store.address import address_of
from aletheia.store.store import TraceStore

__all__ = ["TraceStore", "address_of", "open_store"]


def open_store(
    where: str | Path, *, read_only: bool = False, busy_timeout_s: float = 30.0
) -> TraceStore:
    """Open a store; its tables are made or brought up to date where that is due.

    `where` is the path of a SQLite file, or a URL such as `postgresql+psycopg://user@host/name`.
    A writer waits `busy_timeout_s` for others. With `read_only` nothing is made or changed, and
    writing raises.

    Raises `StoreError` where there is no such directory, file or server, where it may not be
    written, is no database of ours or is of a newer program, and `MissingExtra` without the
    driver of PostgreSQL.
    """
    return TraceStore(address_of(where), read_only=read_only, busy_timeout_s=busy_timeout_s)
