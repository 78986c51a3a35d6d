"""Every test of the contract runs on SQLite and on a PostgreSQL server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import postgres
import pytest

from aletheia.store import TraceStore, open_store

BACKENDS = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Server]:
    with postgres.server() as running:
        yield running


@pytest.fixture(scope="session")
def _migrated(server: postgres.Server) -> str:
    """A database with tables and no rows: copies of it are made faster than tables are."""
    url = server.create()
    open_store(url).close()
    return url.rpartition("/")[2].partition("?")[0]


@pytest.fixture(scope="session")
def _migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "empty.db"
    open_store(path).close()
    return path


@pytest.fixture(scope="session", params=BACKENDS)
def new_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], str | Path]:
    """Makes places of stores that are empty."""
    if request.param == "postgresql":
        server = request.getfixturevalue("server")
        template = request.getfixturevalue("_migrated")
        return lambda: server.create(template=template)
    empty, numbers = request.getfixturevalue("_migrated_file"), count()
    directory = tmp_path_factory.mktemp("stores")
    return lambda: Path(shutil.copy(empty, directory / f"{next(numbers)}.db"))


@pytest.fixture(scope="session")
def _emptied(
    new_place: Callable[[], str | Path], request: pytest.FixtureRequest
) -> Callable[[], str | Path]:
    """Empties one database again and again: to make many takes the server long."""
    first = new_place()
    if isinstance(first, Path):
        return new_place

    def empty() -> str:
        server: postgres.Server = request.getfixturevalue("server")
        name = first.rpartition("/")[2].partition("?")[0]
        server.run("TRUNCATE traces RESTART IDENTITY CASCADE", name)
        return first

    return empty


@pytest.fixture
def place(_emptied: Callable[[], str | Path]) -> str | Path:
    """The place of an empty store; its tables have to stay as they are."""
    return _emptied()


@pytest.fixture
def own_place(new_place: Callable[[], str | Path]) -> str | Path:
    """The place of an empty store whose tables may be changed."""
    return new_place()


@pytest.fixture
def store(place: str | Path) -> Iterator[TraceStore]:
    with open_store(place) as opened:
        yield opened
