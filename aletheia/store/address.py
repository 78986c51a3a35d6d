"""Where a store lies: a SQLite file, or a PostgreSQL database by its URL."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from aletheia.errors import NoStore, StoreError

_POSTGRES: Final = ("postgres", "postgresql")
_SECRET_OPTIONS: Final = frozenset({"password", "sslpassword", "passfile"})
_EXAMPLE: Final = "`postgresql+psycopg://user@host/name` or `sqlite:///traces.db`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """`path` is the file of a SQLite database, and None for a server.

    `shown` is what messages and `TraceStore.url` may say: it holds no password.
    """

    url: URL
    path: Path | None = None

    @property
    def shown(self) -> str:
        """The URL without what is secret."""
        options = {
            name: value for name, value in self.url.query.items() if name not in _SECRET_OPTIONS
        }
        url = self.url
        bare = URL.create(
            url.drivername, url.username, None, url.host, url.port, url.database, options
        )
        return bare.render_as_string(hide_password=False)

    @property
    def name(self) -> str:
        """How messages call it."""
        return str(self.path) if self.path is not None else self.shown

    @property
    def hint(self) -> str:
        """What to do where it cannot be used."""
        if self.path is not None:
            return "set `ALETHEIA_DB_PATH` to another file"
        return "look at `ALETHEIA_DB_URL` and at the server"

    def read_only_url(self, *, immutable: bool) -> URL:
        """The URL of a SQLite file that is opened for reading only.

        An `immutable` one is read without the files that SQLite keeps beside it.
        """
        if self.path is None:
            return self.url
        options = {"mode": "ro", "uri": "true", **({"immutable": "1"} if immutable else {})}
        located = f"file:{quote(str(self.path.absolute()))}"
        return URL.create("sqlite", database=located, query=options)


def check_place(address: Address, *, read_only: bool) -> None:
    """Raise `StoreError` where a file cannot be a store, before SQLite makes it or asks for it."""
    path = address.path
    if path is None:
        return
    if path.is_dir():
        raise StoreError(f"`{path}` is a directory, not a database", hint=address.hint)
    if not path.parent.is_dir():
        raise StoreError(
            f"`{path}`: there is no directory `{path.parent}`", hint="make it, or name another"
        )
    if read_only and not path.exists():
        raise no_store(address)
    if not read_only and path.exists() and not os.access(path, os.W_OK):
        raise StoreError(f"the traces in `{path}` cannot be written", hint=address.hint)


def no_store(address: Address) -> NoStore:
    """Return what is raised where nothing was stored yet."""
    return NoStore(
        f"`{address.name}` holds no traces", hint="they are made when the first one is stored"
    )


def address_of(where: str | Path) -> Address:
    """Read a path or a URL. Raises `StoreError` where it names no store, without its password."""
    if isinstance(where, Path) or "://" not in where:
        return _file(Path(where))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise StoreError("the URL of the store cannot be read", hint=f"try {_EXAMPLE}") from None
    backend = url.drivername.partition("+")[0]
    if backend == "sqlite":
        return _sqlite(url)
    if backend in _POSTGRES:
        named = "+" in url.drivername
        return Address(url=url if named else url.set(drivername="postgresql+psycopg"))
    raise StoreError(
        f"a store cannot lie in `{backend}`", hint=f"SQLite and PostgreSQL can: {_EXAMPLE}"
    )


def _sqlite(url: URL) -> Address:
    if not url.database or url.database == ":memory:" or url.query:
        raise StoreError(
            f"`{url.render_as_string()}` is not a file", hint="give a path, or `sqlite:///FILE`"
        )
    return _file(Path(url.database))


def _file(path: Path) -> Address:
    if not path.name or str(path) == ":memory:":
        raise StoreError(f"`{path}` is not a file", hint="give the path of a file")
    return Address(url=URL.create("sqlite", database=str(path)), path=path)
