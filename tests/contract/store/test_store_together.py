"""Threads, processes and forks: nothing is lost, nothing is shared twice, nobody is locked out."""

from __future__ import annotations

import multiprocessing
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from made_traces import result_of, trace
from sqlalchemy import event

from aletheia.errors import StoreError
from aletheia.schema.stored import TraceFilter, TraceStatus
from aletheia.schema.trace import ContextChunk
from aletheia.store import TraceStore, open_store

FORK = multiprocessing.get_context("fork")


def processes(work: Callable[..., None], arguments: Iterable[tuple[object, ...]]) -> None:
    """Run `work` in a process for each of its arguments, and wait for them."""
    started = [FORK.Process(target=work, args=values) for values in arguments]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0] * len(started)


def write_all(where: object, name: str, each: int) -> None:
    with open_store(where) as store, ThreadPoolExecutor(8) as pool:
        names = [f"{name}:{n}" for n in range(8)]
        list(pool.map(lambda thread: [store.add([trace(query=f"{thread}:{n}")]) for n in range(each)], names))  # fmt: skip


def test_two_processes_of_eight_threads_write_while_a_reader_polls(place):
    """No trace is lost or doubled, and nobody is told that the database is locked."""
    each = 12
    writers = [FORK.Process(target=write_all, args=(place, f"p{n}", each)) for n in range(2)]
    for writer in writers:
        writer.start()
    seen = [0]
    with open_store(place) as store:
        while any(writer.is_alive() for writer in writers):
            seen.append(sum(store.count().values()))
            store.summaries(limit=10)
        for writer in writers:
            writer.join()
        found = Counter(item.query for item in store.traces())

    assert [writer.exitcode for writer in writers] == [0, 0]
    assert found == Counter(
        f"p{p}:{t}:{n}" for p in range(2) for t in range(8) for n in range(each)
    )
    assert seen == sorted(seen)


def test_calls_at_the_same_time_share_transactions(store: TraceStore):
    """While one transaction is held up, all that comes waits together and is written in one."""
    store.add([trace()])
    engine, begun = store._here().engine, []
    inside, go_on = threading.Event(), threading.Event()

    @event.listens_for(engine, "commit")
    def _committing(_connection: object) -> None:
        begun.append(1)
        inside.set()
        assert go_on.wait(30)

    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(store.add, [trace()])
        assert inside.wait(30)
        others = [pool.submit(store.add, [trace()]) for _ in range(19)]
        while len(store._here().writer._waiting) < 19:
            pass
        go_on.set()
        ids = {future.result()[0] for future in (first, *others)}

    assert len(ids) == 20
    assert len(begun) == 2


def test_work_that_fails_in_a_shared_transaction_fails_alone(store: TraceStore):
    bad = trace(chunks=(ContextChunk(text="x", rank=2**70),))

    def one(n: int) -> bool:
        if n % 5:
            return len(store.add([trace(query=str(n))])) == 1
        with pytest.raises(StoreError):
            store.add([bad])
        return True

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(one, range(60)))
    assert store.count()[TraceStatus.PENDING] == 48


def test_writers_of_the_same_external_ids_do_not_hold_each_other_up(place):
    """In PostgreSQL they would, and one of them is told to try again."""
    names = [f"e{n}" for n in range(6)]

    def write(order: int) -> None:
        with open_store(place) as store:
            for _ in range(8):
                store.add([trace(external_id=name) for name in names[::order]])

    processes(write, [(1,), (-1,)])

    with open_store(place) as store:
        assert sorted(item.external_id for item in store.summaries()) == names
        assert all(len(item.chunks) == 1 for item in store.traces())


def test_no_trace_is_claimed_by_two(place):
    with open_store(place) as store:
        added = store.add([trace() for _ in range(60)])
    said = FORK.SimpleQueue()

    def claim(owner: str) -> None:
        with open_store(place) as store, ThreadPoolExecutor(4) as pool:

            def until_none(thread: int) -> None:
                while got := store.claim(3, owner=f"{owner}{thread}"):
                    said.put([item.id for item in got])

            list(pool.map(until_none, range(4)))
        said.put(None)

    started = [FORK.Process(target=claim, args=(name,)) for name in "ab"]
    for process in started:
        process.start()
    claimed, ended = [], 0
    while ended < 2:
        got = said.get()
        ended += got is None
        claimed += got or []
    for process in started:
        process.join()

    assert sorted(claimed) == sorted(added)


def test_a_forked_child_uses_connections_of_its_own(store: TraceStore):
    """Also where the parent forks in the middle of a transaction, and while it goes on writing."""
    store.add([trace(query="before")])
    stop = threading.Event()

    def keep_writing() -> None:
        while not stop.is_set():
            store.add([trace(query="parent")])

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(keep_writing) for _ in range(2)]

        def child(n: int) -> None:
            with ThreadPoolExecutor(3) as mine:
                list(mine.map(lambda _: store.add([trace(query=f"child {n}")]), range(6)))
            assert store.count()[TraceStatus.PENDING] > 6
            store.close()

        try:
            processes(child, [(0,), (1,)])
        finally:
            stop.set()
        for future in futures:
            future.result()

    found = Counter(item.query for item in store.traces())
    assert (found["before"], found["child 0"], found["child 1"]) == (1, 6, 6)
    assert found["parent"] > 0


def test_files_do_not_stay_open(store: TraceStore):
    def use() -> None:
        store.add([trace()])
        store.save([(store.claim(1, owner="me")[0].id, result_of(trace()))])
        store.get(store.summaries(limit=1)[0].id)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: use(), range(8)))
        before = len(list(Path("/proc/self/fd").iterdir()))
        list(pool.map(lambda _: use(), range(24)))
        assert len(list(Path("/proc/self/fd").iterdir())) <= before + 12


def test_memory_is_flat_while_all_traces_are_read(store: TraceStore):
    """Five times as many traces take no more memory than a page of them."""
    big = trace(response="r" * 20_000)

    def peak() -> int:
        tracemalloc.start()
        assert sum(1 for _ in store.traces()) > 0
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    store.add([big] * 100)
    few = peak()
    store.add([big] * 400)

    assert peak() < few * 1.5


def test_a_filter_holds_while_results_are_saved(store: TraceStore):
    """Traces that leave the filter while they are read are not read twice, and none is left out."""
    added = store.add([trace() for _ in range(70)])
    seen = []
    for item in store.traces(TraceFilter(statuses=(TraceStatus.PENDING,))):
        seen.append(item.id)
        store.save([(item.id, result_of(trace()))])

    assert seen == list(added)
    assert store.count()[TraceStatus.EVALUATED] == 70
