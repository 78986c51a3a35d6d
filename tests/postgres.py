"""A PostgreSQL server of the tests' own: made in a temporary directory, gone at their end.

It listens on a Unix socket in that directory only. Without its programs (Debian: `postgresql`) the
tests that need it are skipped, and fail where `CI` is set.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest

_OPTIONS = (
    *("listen_addresses=", "fsync=off", "full_page_writes=off", "synchronous_commit=off"),
    *("max_connections=100", "shared_buffers=32MB"),
)
_READY_S = 60.0


@dataclass(frozen=True)
class Server:
    """A running server."""

    directory: Path
    _numbers: Iterator[int] = field(default_factory=count)

    def url(self, database: str) -> str:
        host = quote(str(self.directory), safe="")
        return f"postgresql+psycopg://postgres@/{database}?host={host}"

    def create(self, *, template: str = "template0", more: str = "") -> str:
        """Make a database, and return its URL."""
        name = f"test_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template} {more}")
        return self.url(name)

    def run(self, statement: str, database: str = "postgres") -> None:
        import psycopg

        where = {"host": str(self.directory), "user": "postgres", "dbname": database}
        with psycopg.connect(**where, autocommit=True) as connection:
            connection.execute(statement.encode())


def programs() -> Path | None:
    """The directory of `initdb` and `postgres`, the newest where there are several."""
    on_path = shutil.which("initdb")
    if on_path is not None and (Path(on_path).parent / "postgres").exists():
        return Path(on_path).parent
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(found, key=lambda path: float(path.parent.name), default=None)


@contextmanager
def server() -> Iterator[Server]:
    """Run a server inside the block, or skip the test."""
    where = programs()
    if where is None:
        why = "no PostgreSQL programs: `initdb` is neither on the PATH nor in /usr/lib/postgresql"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    directory = Path(tempfile.mkdtemp(prefix="aletheia-pg-"))
    who = _who()
    if "user" in who:
        os.chown(directory, who["user"], who["group"])
    try:
        data = directory / "data"
        _initialise(where, data, who)
        log = (directory / "log").open("wb")
        settings = [part for option in _OPTIONS for part in ("-c", option)]
        command = [where / "postgres", "-D", data, "-k", directory, *settings]
        with log, subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **who) as process:
            try:
                made = Server(directory)
                _wait(made, process)
                yield made
            finally:
                # At once, without writing what nobody reads again.
                process.send_signal(signal.SIGQUIT)
                process.wait(30)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _who() -> dict[str, object]:
    """The server refuses to run as root."""
    if os.getuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _initialise(where: Path, data: Path, who: dict[str, object]) -> None:
    options = ("-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
    made = subprocess.run(
        [where / "initdb", "-D", data, *options], capture_output=True, text=True, cwd="/", **who
    )
    assert made.returncode == 0, made.stderr


def _wait(made: Server, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    deadline = time.monotonic() + _READY_S
    while True:
        try:
            made.run("SELECT 1")
        except psycopg.OperationalError:
            said = (made.directory / "log").read_text(errors="replace")
            assert process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.05)
        else:
            return
