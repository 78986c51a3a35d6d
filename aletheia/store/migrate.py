"""The revision of the tables: made on first use, brought up to date, or refused.

Alembic is loaded only where something has to be done.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Engine, Select, String, column, inspect, select, table, text

from aletheia.errors import StoreError
from aletheia.store.address import Address, no_store
from aletheia.store.engine import reading, writing
from aletheia.store.tables import METADATA, VERSION_TABLE

if TYPE_CHECKING:
    from alembic.config import Config

HEAD: Final = "0001"
"""The revision this program reads and writes: the newest of `migrations/versions`."""

SCRIPTS: Final = Path(__file__).with_name("migrations")

_VERSION: Final[Select[str]] = select(column("version_num", String)).select_from(
    table(VERSION_TABLE)
)

_LOCK: Final = 0x616C6574686569
"""Key of the advisory lock in PostgreSQL, so that one process migrates and the others wait."""


def prepare(engine: Engine, address: Address, *, read_only: bool, scripts: Path = SCRIPTS) -> None:
    """Make or migrate the tables where that is due, in one transaction.

    Raises `StoreError` for a database of a newer program, and where it is due and `read_only`.
    """
    head = HEAD if scripts is SCRIPTS else _head(scripts)
    with reading(engine) as connection:
        found = _revision(connection)
    if found == head:
        return
    if read_only:
        raise _cannot_migrate(address, found, scripts)
    with writing(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        # Another process may have been first.
        found = _revision(connection)
        if found != head:
            _upgrade(connection, address, found, scripts)


def config(scripts: Path = SCRIPTS) -> Config:
    """Return the settings of Alembic for these tables; `attributes["connection"]` has to be set."""
    from alembic.config import Config

    made = Config()
    made.set_main_option("script_location", str(scripts).replace("%", "%%"))
    return made


def _upgrade(connection: Connection, address: Address, found: str | None, scripts: Path) -> None:
    from alembic import command

    if found is not None and not _is_known(found, scripts):
        raise _newer(address, found)
    if found is None:
        _refuse_foreign(connection, address)
    made = config(scripts)
    made.attributes["connection"] = connection
    command.upgrade(made, "head")


def _refuse_foreign(connection: Connection, address: Address) -> None:
    """A table of the same name that is not ours must be neither used nor changed."""
    known = inspect(connection)
    foreign = next((name for name in METADATA.tables if known.has_table(name)), None)
    if foreign is not None:
        raise StoreError(
            f"`{address.name}` holds a table `{foreign}` that is not ours",
            hint="use a file, a database or a schema of its own",
        )


def _cannot_migrate(address: Address, found: str | None, scripts: Path) -> StoreError:
    if found is None:
        return no_store(address)
    if not _is_known(found, scripts):
        return _newer(address, found)
    return StoreError(
        f"the traces in `{address.name}` are of revision `{found}`, older than this program's",
        hint="open the store once where it may be written: it is brought up to date then",
    )


def _newer(address: Address, found: str) -> StoreError:
    return StoreError(
        f"the traces in `{address.name}` are of revision `{found}`, which this program does not "
        "know",
        hint="update `aletheia-rag`, or use another store",
    )


def _revision(connection: Connection) -> str | None:
    """Return the revision there is, None where there are no tables of ours."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(_VERSION).scalar()
    return None if found is None else str(found)


def _is_known(revision: str, scripts: Path) -> bool:
    from alembic.script import ScriptDirectory

    known = ScriptDirectory.from_config(config(scripts)).walk_revisions()
    return any(script.revision == revision for script in known)


def _head(scripts: Path) -> str | None:
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(config(scripts)).get_current_head()
