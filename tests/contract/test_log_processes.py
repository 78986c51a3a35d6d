"""Logging from real processes: many at once, killed, forked, at their end, and what they contact."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from contract.test_judges_wire import working
from stub_server import StubServer

from aletheia.config import Settings
from aletheia.pipeline.stored import store_for
from aletheia.schema.stored import TraceFilter, TraceStatus
from aletheia.sdk import log as calls
from aletheia.sdk.log import log
from aletheia.sdk.worker_host import WorkerHost
from aletheia.sdk.worker_jobs import Pace

SHARED = """
import os, sys, threading, time
import aletheia

def trace(n):
    year = 1900 + n % 100
    text = f"The mill {n} opened in {year}."
    return f"When did the mill {n} open?", [text, "It has a red roof."], text
"""


@contextmanager
def started(
    program: str, path: Path, *arguments: str, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """Run a program in a process of its own, with a store in `path`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SHARED + program, *arguments],
        env={**kept, "ALETHEIA_DB_PATH": str(path), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=path.parent,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out


def counts(path: Path) -> dict[str, int]:
    store = store_for(Settings(db_path=path))
    return {str(status): count for status, count in store.count().items() if count}


# --- many at once -----------------------------------------------------------------------------

MANY = """
from aletheia.sdk.log import log, shutdown

def write(first):
    for n in range(first, first + 12):
        made.append(log(*trace(n), external_id=f"{sys.argv[1]}-{n}"))

made = []
threads = [threading.Thread(target=write, args=(at * 12,)) for at in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
shutdown(wait=False)
print(len(set(made)))
"""


def test_eight_threads_in_two_processes_lose_nothing_while_a_reader_polls(tmp_path: Path) -> None:
    """Each trace is there once, evaluated or pending, and nobody finds the database locked."""
    path = tmp_path / "many.db"
    store, done = store_for(Settings(db_path=path)), threading.Event()
    seen: list[int] = []

    def poll() -> None:
        while not done.is_set():
            store.summaries(limit=20)
            seen.append(sum(store.count().values()))

    reader = threading.Thread(target=poll)
    reader.start()
    try:
        with started(MANY, path, "a") as first, started(MANY, path, "b") as second:
            assert [finished(process).strip() for process in (first, second)] == ["96", "96"]
    finally:
        done.set()
        reader.join()

    assert seen == sorted(seen)
    ids = {found.external_id for found in store.summaries(limit=1000)}
    assert ids == {f"{process}-{n}" for process in "ab" for n in range(96)}
    assert set(counts(path)) <= {"evaluated", "pending"}
    assert sum(counts(path).values()) == 192


# --- killed -----------------------------------------------------------------------------------

KILLED = """
from aletheia.config import settings
from aletheia.pipeline.stored import store_for
from aletheia.sdk import log as calls
from aletheia.sdk.worker_host import WorkerHost
from aletheia.sdk.worker_jobs import Pace

calls.HOST = WorkerHost(Pace(lease_embedded_s=4.0))
for n in range(80):
    calls.log(*trace(n))
store = store_for(settings.current())
while not store.count()["evaluated"]:
    time.sleep(0.001)
print("some", flush=True)
time.sleep(60)
"""


def test_what_a_killed_process_left_is_evaluated_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had claimed too, when the claim has run out."""
    path = tmp_path / "killed.db"
    with started(KILLED, path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "some\n", process.communicate()[1]
        process.kill()
        process.wait()
    assert counts(path)["pending"] > 0

    host = WorkerHost(Pace(lease_embedded_s=4.0, sweep_s=0.2, left_s=0.0))
    monkeypatch.setattr(calls, "HOST", host)
    mine = Settings(db_path=path, openai_api_key=None, openai_base_url=None)
    log("Who is next?", ["I am."], "I am.", settings=mine)
    deadline = time.monotonic() + 60
    while counts(path) != {"evaluated": 81} and time.monotonic() < deadline:
        time.sleep(0.05)
    host.close(within_s=0.0)

    assert counts(path) == {"evaluated": 81}


# --- forked, and at the end -------------------------------------------------------------------

FORKED = """
import warnings
from aletheia.sdk.log import flush, log

# Later versions of Python warn of every fork of a program with threads.
warnings.simplefilter("ignore", DeprecationWarning)

for n in range(20):
    log(*trace(n), project="parent")
child = os.fork()
for n in range(20, 30):
    log(*trace(n), project="child" if child == 0 else "parent")
if child == 0:
    # What it inherited is its parent's: it waits for its own alone.
    os._exit(0 if flush(60) else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_evaluates_its_own_and_the_end_waits_for_what_was_logged(
    tmp_path: Path,
) -> None:
    """The child is made while the worker of its parent is busy; nobody calls `shutdown`."""
    path = tmp_path / "forked.db"
    with started(FORKED, path) as process:
        assert finished(process) == "0\n"

    assert counts(path) == {"evaluated": 40}
    store = store_for(Settings(db_path=path))
    assert [
        store.count(TraceFilter(project=name))[TraceStatus.EVALUATED]
        for name in ("parent", "child")
    ] == [30, 10]


# --- what is contacted ------------------------------------------------------------------------

GUARDED = """
import json
contacted = set()

def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        contacted.add(repr(arguments[1]))
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        contacted.add(repr(arguments[0]))

sys.addaudithook(watch)
from aletheia import evaluate, log, shutdown
from aletheia.cli.app import run

evaluate(*trace(1), persist=False)
evaluate(*trace(2))
log(*trace(3))
with open("traces.jsonl", "w") as file:
    query, context, response = trace(4)
    file.write(json.dumps({"query": query, "context": context, "response": response}))
assert run(["eval", "traces.jsonl", "--no-persist", "-q"]) == 0
shutdown()
print(json.dumps(sorted(contacted)), file=sys.stderr)
"""


@pytest.mark.parametrize("with_model", [False, True])
def test_nothing_is_contacted_but_the_endpoint_that_is_set(
    tmp_path: Path, with_model: bool
) -> None:
    """Every connection and every look-up of a name of the process is watched."""
    with StubServer(answer=working) as server:
        endpoint = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k"}
        with started(GUARDED, tmp_path / "a.db", **(endpoint if with_model else {})) as process:
            _, err = process.communicate(timeout=120)

    assert process.returncode == 0, err
    allowed = [repr(("127.0.0.1", server.port))] if with_model else []
    assert json.loads(err.splitlines()[-1]) == allowed
    assert bool(server.chats) is with_model
