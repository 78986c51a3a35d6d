"""Opening a store: made once, migrated, shared with the reply cache, or refused in one sentence."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from made_traces import result_of, trace
from sqlalchemy import create_engine, text

from aletheia.errors import MissingExtra, NoStore, StoreError
from aletheia.llm.cache import ReplyCache
from aletheia.store import address_of, open_store
from aletheia.store.engine import make_engine, writing
from aletheia.store.migrate import HEAD, SCRIPTS, config, prepare
from aletheia.store.tables import METADATA, VERSION_TABLE

TABLES = {
    *("traces", "context_chunks", "sub_questions", "claims", "sufficiency", "faithfulness"),
    *("grounding", "completeness", "completeness_mappings", "completeness_extras"),
}


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in found}


# --- made on first use ------------------------------------------------------------------------


def test_the_tables_are_those_of_the_contract():
    assert set(METADATA.tables) == TABLES


def test_a_fresh_file_has_every_table_and_is_in_write_ahead_mode(tmp_path):
    path = tmp_path / "new.db"
    open_store(path).close()

    assert tables(path) == TABLES | {VERSION_TABLE, "sqlite_sequence"}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_scripts_make_what_the_tables_say(place):
    """Alembic finds nothing to change, on either database."""
    engine = create_engine(place if isinstance(place, str) else f"sqlite:///{place}")
    options = {
        "compare_type": True,
        "include_name": lambda name, kind, _: kind != "table" or name in TABLES,
    }
    with engine.connect() as connection:
        changes = compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)
    engine.dispose()

    assert changes == []


def test_the_revision_of_the_program_is_that_of_the_newest_script():
    assert ScriptDirectory.from_config(config()).get_current_head() == HEAD


def opened_once(where: str | Path, barrier: object, said: object) -> None:
    try:
        barrier.wait(30)
        with open_store(where) as store:
            store.add([trace()])
        said.put("done")
    except BaseException as error:
        said.put(repr(error))


def fresh(request: pytest.FixtureRequest, backend: str, tmp_path: Path) -> str | Path:
    if backend == "sqlite":
        return tmp_path / "new.db"
    return request.getfixturevalue("server").create()


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_four_processes_that_start_at_once_make_one_store(request, backend, tmp_path):
    where = fresh(request, backend, tmp_path)
    made = multiprocessing.get_context("fork")
    barrier, said = made.Barrier(4), made.Queue()
    workers = [made.Process(target=opened_once, args=(where, barrier, said)) for _ in range(4)]
    for worker in workers:
        worker.start()
    assert [said.get(timeout=60) for _ in workers] == ["done"] * 4
    for worker in workers:
        worker.join()

    with open_store(where) as store:
        assert sum(store.count().values()) == 4


# --- beside others ----------------------------------------------------------------------------


@pytest.mark.parametrize("cache_first", [True, False])
def test_the_reply_cache_lives_in_the_same_file(tmp_path, cache_first):
    path = tmp_path / "both.db"
    if not cache_first:
        open_store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (a)")
    with closing(ReplyCache(path)) as cache:
        cache.stats()
        with open_store(path) as store:
            store.add([trace()])
    if "model_replies" not in tables(path):
        pytest.skip("the cache made no table")

    assert {"model_replies", "reply_cache_meta", "mine"} < tables(path)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_a_table_of_another_program_is_neither_used_nor_changed(request, backend, tmp_path):
    where = fresh(request, backend, tmp_path)
    engine = create_engine(where if isinstance(where, str) else f"sqlite:///{where}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE claims (number INTEGER)"))

    with pytest.raises(StoreError, match="holds a table `claims` that is not ours"):
        open_store(where)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT number FROM claims")).all() == []
    engine.dispose()


# --- other revisions --------------------------------------------------------------------------

SECOND = """
from alembic import op
from sqlalchemy import Column, Text

revision, down_revision = "0002", "0001"


def upgrade():
    op.add_column("traces", Column("label", Text))
    op.execute("UPDATE traces SET label = project")
    {more}
"""


@contextmanager
def of_revision(directory: Path, more: str = "") -> Iterator[Path]:
    """Scripts with a second revision."""
    scripts = directory / "migrations"
    shutil.copytree(SCRIPTS, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (scripts / "versions" / "r0002_label.py").write_text(SECOND.format(more=more))
    yield scripts


def migrate(where: str | Path, scripts: Path, *, read_only: bool = False) -> None:
    address = address_of(where)
    engine = make_engine(address, read_only=read_only, busy_timeout_s=5)
    try:
        prepare(engine, address, read_only=read_only, scripts=scripts)
    finally:
        engine.dispose()


def test_an_older_store_is_brought_up_to_date_with_its_rows(own_place, tmp_path):
    with open_store(own_place) as store:
        (trace_id,) = store.add([trace(project="kept")])
        store.save([(trace_id, result_of(trace()))])
        before = store.get(trace_id)
    with of_revision(tmp_path) as scripts:
        migrate(own_place, scripts)
        migrate(own_place, scripts)
    engine = create_engine(own_place if isinstance(own_place, str) else f"sqlite:///{own_place}")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT label FROM traces")).scalars().all() == ["kept"]
        connection.rollback()
        with writing(engine) as same:
            made = config(SCRIPTS)
            made.attributes["connection"] = same
            same.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0001'"))
            same.execute(text("ALTER TABLE traces DROP COLUMN label"))
    engine.dispose()

    with open_store(own_place) as store:
        assert store.get(trace_id) == before


def test_a_migration_that_fails_changes_nothing(own_place, tmp_path):
    with (
        of_revision(tmp_path, 'op.execute("UPDATE nothing SET a = 1")') as scripts,
        pytest.raises(Exception, match="nothing"),
    ):
        migrate(own_place, scripts)

    with open_store(own_place) as store:
        assert store.add([trace()]) == (1,)


def test_a_store_of_a_newer_program_is_refused(own_place, tmp_path):
    with of_revision(tmp_path) as scripts:
        migrate(own_place, scripts)

    for read_only in (False, True):
        with pytest.raises(StoreError, match="revision `0002`, which this program does not know"):
            open_store(own_place, read_only=read_only)


def test_an_older_store_is_not_migrated_by_a_reader(own_place, tmp_path):
    with (
        of_revision(tmp_path) as scripts,
        pytest.raises(StoreError, match="older than this program's"),
    ):
        migrate(own_place, scripts, read_only=True)


def test_alembic_itself_can_go_back_to_nothing_of_ours(tmp_path):
    """`alembic stamp` and comparisons run on the connection they are given."""
    engine = create_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with engine.begin() as connection:
        made = config()
        made.attributes["connection"] = connection
        command.stamp(made, "head")
        assert connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() == HEAD
    engine.dispose()


# --- refused ----------------------------------------------------------------------------------


def no_database(directory: Path) -> Path:
    path = directory / "notes.txt"
    path.write_text("these are notes, and far more than a hundred bytes of them " * 4)
    return path


def damaged(directory: Path) -> Path:
    path = directory / "damaged.db"
    with open_store(path) as store:
        store.add([trace()] * 50)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (lambda d: d / "no" / "where.db", "there is no directory"),
        (lambda d: d, "is a directory, not a database"),
        (no_database, "is not a SQLite database"),
        (lambda _: ":memory:", "is not a file"),
        (lambda _: "", "is not a file"),
        (lambda _: "sqlite://", "is not a file"),
        (lambda _: "sqlite:///x.db?mode=memory&uri=true", "is not a file"),
        (lambda _: "mysql://me:secret@host/name", "cannot lie in `mysql`"),
        (lambda _: "postgresql+nothing://me:secret@host/name", "there is no driver for"),
        (lambda _: "postgresql+asyncpg://me:secret@host/name", "there is no driver for|asyncpg"),
        (lambda _: "postgresql://me:secret@host:port/name", "cannot be read"),
        (lambda _: "postgresql://me:secret@127.0.0.1:1/name?password=secret", "cannot be reached"),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_no_store_is_told_in_one_sentence(tmp_path, where, says, read_only):
    with pytest.raises((StoreError, MissingExtra), match=says) as caught:
        open_store(where(tmp_path), read_only=read_only, busy_timeout_s=2)

    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_a_damaged_file_is_told(tmp_path):
    with pytest.raises(StoreError, match="is damaged"), open_store(damaged(tmp_path)) as store:
        list(store.traces())


@pytest.mark.parametrize("exists", [True, False])
def test_a_reader_makes_no_store(tmp_path, exists):
    path = tmp_path / "none.db"
    if exists:
        path.touch()

    with pytest.raises(NoStore, match="holds no traces"):
        open_store(path, read_only=True)
    assert path.exists() is exists
    assert not exists or path.stat().st_size == 0


def test_a_locked_database_is_told_after_the_time_it_is_waited_for(tmp_path):
    path = tmp_path / "locked.db"
    with open_store(path, busy_timeout_s=0.05) as store, closing(sqlite3.connect(path)) as other:
        store.add([trace()])
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is in use by another program"):
            store.add([trace()])
        other.rollback()

        assert store.add([trace()]) == (2,)


def test_a_row_that_something_else_changed_is_told(place):
    with open_store(place) as store:
        (trace_id,) = store.add([trace()])
        store.save([(trace_id, result_of(trace()))])
        engine = create_engine(place if isinstance(place, str) else f"sqlite:///{place}")
        with engine.begin() as connection:
            connection.execute(text("UPDATE sufficiency SET verdict = 'X'"))
        engine.dispose()

        with pytest.raises(StoreError, match=r"trace 1 in .* cannot be read: .*verdict"):
            store.get(trace_id)


# --- places that may only be read -------------------------------------------------------------


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A directory for a child process without rights, which root would have."""
    directory = Path(tempfile.mkdtemp(prefix="aletheia-store-"))
    try:
        directory.chmod(0o755)
        yield directory
    finally:
        directory.chmod(0o755)
        shutil.rmtree(directory)


def in_child(work: Callable[[], object]) -> str:
    """What `work` says, run without the rights of root."""
    made = multiprocessing.get_context("fork")
    here, there = made.Pipe()

    def run() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        try:
            there.send(str(work()))
        except StoreError as error:
            there.send(str(error))

    process = made.Process(target=run)
    process.start()
    said = here.recv() if here.poll(30) else "nothing"
    process.join()
    return said


def counted(path: Path, *, read_only: bool = True) -> int:
    with open_store(path, read_only=read_only) as store:
        return sum(store.count().values())


def written(path: Path) -> object:
    with open_store(path) as store:
        return store.add([trace()])


def test_a_file_that_may_only_be_read(tmp_path):
    with as_nobody() as directory:
        path = directory / "traces.db"
        with open_store(path) as store:
            store.add([trace()])
        path.chmod(0o444)
        directory.chmod(0o555)

        assert in_child(lambda: counted(path)) == "1"
        said = in_child(lambda: written(path))
        assert f"the traces in `{path}` cannot be written" in said
        assert "ALETHEIA_DB_PATH" in said


def test_a_directory_that_may_only_be_read(tmp_path):
    with as_nobody() as directory:
        path = directory / "new.db"
        directory.chmod(0o555)
        assert f"the traces in `{path}` cannot be written" in in_child(lambda: written(path))

        directory.chmod(0o755)
        with open_store(path) as store:
            store.add([trace()])
            directory.chmod(0o555)
            assert "cannot be written" in in_child(lambda: written(path))
        directory.chmod(0o555)
        assert "cannot be written" in in_child(lambda: written(path))
        assert in_child(lambda: counted(path)) == "1"


def test_a_reader_works_while_a_writer_is_in_the_middle(tmp_path):
    path = tmp_path / "busy.db"
    with open_store(path) as store:
        store.add([trace()])
        with closing(sqlite3.connect(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert counted(path) == 1
            other.rollback()


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "what?.db", "#1.db", "é😀.db", "a%20b.db"])
def test_any_name_of_a_file_will_do(tmp_path, name):
    path = tmp_path / name
    with open_store(path) as store:
        store.add([trace()])
    with open_store(f"sqlite:///{path}" if name.isalnum() else path, read_only=True) as store:
        assert sum(store.count().values()) == 1
    assert path.exists()


@pytest.mark.parametrize(
    ("where", "url"),
    [
        ("traces.db", "sqlite:///traces.db"),
        (Path("/a/traces.db"), "sqlite:////a/traces.db"),
        ("sqlite:///traces.db", "sqlite:///traces.db"),
        ("postgres://me:secret@host/name", "postgresql+psycopg://me@host/name"),
        (
            "postgresql://me@host/name?password=secret&sslmode=require",
            "postgresql+psycopg://me@host/name?sslmode=require",
        ),
    ],
)
def test_the_url_says_where_without_the_password(where, url):
    assert address_of(where).shown == url


def test_a_database_that_does_not_hold_every_text_is_refused(server):
    url = server.create(more="ENCODING 'LATIN1'")

    with pytest.raises(StoreError, match="encoded in `LATIN1`"):
        open_store(url)
