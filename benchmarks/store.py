"""What the store of traces costs: one trace, many writers, a reader, memory.

    python benchmarks/store.py [--only one|threads|stress|evaluations|read] [--postgresql]

A trace has four chunks of 500 characters, its result two sub-questions and five claims with all
their judgements. With `--postgresql` a server is started in a temporary directory, as the tests
start it, without `fsync`; otherwise the store is a SQLite file in a temporary directory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from aletheia.schema.diagnosis import Diagnosis, EvaluationResult, FailureCell
from aletheia.schema.judgement import (
    Alignment,
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.stored import NewTrace
from aletheia.schema.trace import Claim, ContextChunk, SubQuestion
from aletheia.store import TraceStore, open_store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

FORK = multiprocessing.get_context("fork")
Place = Callable[[], str | Path]

TRACE = NewTrace(
    query="What is the rated power of the pump, and at which frequency does it run?",
    chunks=tuple(ContextChunk(text="text " * 100, rank=n, score=0.5) for n in range(4)),
    response="The pump runs at 40 Hz. " * 5,
)
RESULT = EvaluationResult(
    query=TRACE.query,
    response=TRACE.response,
    sub_questions=tuple(SubQuestion(id=n, text="What is its rated power?") for n in range(2)),
    claims=tuple(
        Claim(id=n, text="The pump runs at 40 Hz.", start=24 * n, end=24 * n + 23) for n in range(5)
    ),
    sufficiency=tuple(
        SufficiencyJudgment(
            sub_question_id=n, verdict="Y", evidence_ids=("E1",), reasoning="it says so"
        )
        for n in range(2)
    ),
    faithfulness=tuple(
        FaithfulnessJudgment(claim_id=n, verdict="Y", evidence_ids=("E1", "E2"), score=0.9)
        for n in range(5)
    ),
    completeness=CompletenessJudgment(
        alignments=tuple(Alignment(sub_question_id=n, claim_ids=(0, n + 1)) for n in range(2)),
        extras=(4,),
    ),
    diagnosis=Diagnosis(failure_cell=FailureCell.COMPLETE_GROUNDED, sufficiency_fraction=1.0),
    created_at=datetime.now(UTC),
    making={"judge": "embedded"},
)


def shares(seconds: list[float]) -> str:
    """Median and 99th percentile, in microseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    return f"p50 {cuts[49] * 1e6:,.0f} us, p99 {cuts[98] * 1e6:,.0f} us"


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def one(place: Place) -> None:
    """Calls that follow one another."""
    with open_store(place()) as store:
        for _ in range(100):
            store.add([TRACE])
        print(
            f"{'add of one trace':<44}{shares([timed(lambda: store.add([TRACE])) for _ in range(2000)])}"
        )
        first = store.summaries(limit=1)[0].id
        saves = [timed(lambda n=n: store.save([(first - n, RESULT)])) for n in range(1000)]
        print(f"{'save of one result':<44}{shares(saves)}")
        gets = [timed(lambda n=n: store.get(first - n)) for n in range(500)]
        print(f"{'get of one trace with its result':<44}{shares(gets)}")
        seconds = timed(lambda: [store.add([TRACE] * 100) for _ in range(20)])
        print(f"{'add of 100 at once, each':<44}{seconds / 2000 * 1e6:,.0f} us")


def threads(place: Place) -> None:
    """As many callers at once, 2,000 traces together."""
    for count in (1, 4, 16, 64):
        with open_store(place()) as store, ThreadPoolExecutor(count) as pool:
            started = time.perf_counter()
            calls = [pool.submit(timed, partial(store.add, [TRACE])) for _ in range(2000)]
            took = [call.result() for call in calls]
            seconds = time.perf_counter() - started
        print(f"{f'add from {count} threads':<44}{2000 / seconds:,.0f} a second, {shares(took)}")


def _write(where: str | Path, each: int, took: object) -> None:
    with open_store(where) as store, ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(timed, lambda: store.add([TRACE])) for _ in range(8 * each)]
        took.put([call.result() for call in calls])


def stress(place: Place) -> None:
    """10,000 traces from 8 threads in each of 2 processes, and a reader that polls."""
    where, took = place(), FORK.Queue()
    started = time.perf_counter()
    writers = [FORK.Process(target=_write, args=(where, 625, took)) for _ in range(2)]
    for writer in writers:
        writer.start()
    with open_store(where) as store:
        polls, ended = [], []
        while len(ended) < 2:
            polls.append(timed(store.count))
            while not took.empty():
                ended.append(took.get())
        seconds = time.perf_counter() - started
        for writer in writers:
            writer.join()
        there = sum(store.count().values())
    lost = 10_000 - there
    print(
        f"{'10,000 traces, 2 processes x 8 threads':<44}{seconds:.1f} s, {lost} lost, {shares([t for times in ended for t in times])}"
    )
    print(f"{'  polls of the reader meanwhile':<44}{len(polls)}, {shares(polls)}")


def _evaluate(store: TraceStore, _: int) -> None:
    store.add([TRACE])
    (claimed,) = store.claim(1, owner="worker")
    store.save([(claimed.id, RESULT)])


def evaluations(place: Place) -> None:
    """300 traces in, claimed, and their results saved one by one, as a worker does it."""
    for count in (1, 4, 16):
        with open_store(place()) as store, ThreadPoolExecutor(count) as pool:
            work = partial(_evaluate, store)
            processor = time.process_time()
            seconds = timed(lambda: list(pool.map(work, range(300))))  # noqa: B023
            processor = time.process_time() - processor
        name = f"300 stored, claimed, saved: {count} threads"
        print(f"{name:<44}{seconds:.2f} s, of them {processor:.2f} s on a processor")


def read(place: Place) -> None:
    """All of 100,000 traces, read one after the other."""
    with open_store(place()) as store:
        for total in (10_000, 100_000):
            missing = total - sum(store.count().values())
            for _ in range(missing // 1000):
                ids = store.add([TRACE] * 1000)
                store.save([(trace_id, RESULT) for trace_id in ids])
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            seconds = timed(lambda: sum(1 for _ in store.traces()))
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"{f'{total:,} traces read with results':<44}{total / seconds:,.0f} a second, peak {before} MB before, {after} MB after"
            )
            for name, ask in (
                ("count", store.count),
                ("diagnoses", store.diagnoses),
                ("summaries", store.summaries),
            ):
                print(f"{f'  {name}':<44}{min(timed(ask) for _ in range(5)) * 1e3:.1f} ms")


PARTS = {part.__name__: part for part in (one, threads, stress, evaluations, read)}


@contextmanager
def places(*, postgresql: bool) -> Iterator[Place]:
    """Makes empty places for stores."""
    if postgresql:
        import postgres

        with postgres.server() as server:
            yield server.create
    else:
        with tempfile.TemporaryDirectory() as directory:
            numbers = iter(range(1000))
            yield lambda: Path(directory) / f"{next(numbers)}.db"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with places(postgresql=options.postgresql) as place:
        for name, part in PARTS.items():
            if options.only in (None, name):
                part(place)


if __name__ == "__main__":
    main()
