"""What logging costs the program that logs, and whether anything is lost under load.

    python benchmarks/log.py                 all parts
    python benchmarks/log.py --only caller   time added by `log` and `@trace`
    python benchmarks/log.py --only load     8 threads in each of 2 processes, 10,000 traces, a reader

No model and no network: the embedded judges evaluate. `--traces N` makes the load smaller.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aletheia.config import Settings, settings
from aletheia.pipeline.stored import close_stores, store_for
from aletheia.sdk.evaluate_pending import evaluate_pending
from aletheia.sdk.log import flush, log, shutdown
from aletheia.sdk.trace import trace
from aletheia.sdk.worker_host import HOST

PARTS = ("caller", "load")
SENTENCE = "The ferry {n} leaves at ten in the morning from the east pier, every day but Sunday. "
THREADS = 8
PROCESSES = 2


def made(n: int) -> tuple[str, list[str], str]:
    """A trace of four chunks of some 400 characters."""
    text = SENTENCE.format(n=n)
    return f"When does the ferry {n} leave?", [text * 5] * 4, f"The ferry {n} leaves at ten."


@trace
def answer(query: str, n: int) -> tuple[str, list[str]]:  # noqa: ARG001 - it is what is traced
    _, context, response = made(n)
    return response, context


# --- the caller -------------------------------------------------------------------------------


def timed(call: Callable[[int], object], count: int, *, gap_s: float = 0.0) -> list[float]:
    """Wall seconds of each call; `gap_s` between two calls."""
    times = []
    for n in range(count):
        started = time.perf_counter()
        call(n)
        times.append(time.perf_counter() - started)
        if gap_s:
            time.sleep(gap_s)
    return times


def in_threads(call: Callable[[int], object], count: int) -> list[float]:
    """The same from eight threads at once."""
    found: list[list[float]] = [[] for _ in range(THREADS)]

    def run(at: int) -> None:
        found[at] = timed(call, count // THREADS)

    threads = [threading.Thread(target=run, args=(at,)) for at in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [seconds for times in found for seconds in times]


def show(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    at = {share: ordered[int(len(ordered) * share)] * 1e6 for share in (0.5, 0.9, 0.99)}
    print(f"{name:46}{at[0.5]:9.0f}{at[0.9]:9.0f}{at[0.99]:9.0f}")


def cpu(call: Callable[[int], object], count: int) -> float:
    """Microseconds of processor time of one call, the median: other programs do not count."""
    times = []
    for n in range(count):
        started = time.thread_time()
        call(n)
        times.append(time.thread_time() - started)
    return sorted(times)[count // 2] * 1e6


@contextmanager
def store_only() -> Iterator[None]:
    """Without a worker: what is logged stays pending."""
    shutdown(wait=False)
    yield
    HOST.renew()


def caller(count: int) -> None:
    """Print what a call adds, in microseconds."""
    given = Settings()
    calls: dict[str, Callable[[int], object]] = {
        "log, settings given": lambda n: log(*made(n), settings=given),
        "log": lambda n: log(*made(n)),
        "log, masked": lambda n: log(*made(n), settings=given, redact="mask"),
        "@trace": lambda n: answer("When does the ferry leave?", n),
    }
    log(*made(0))
    flush()
    print(f"{'microseconds added':46}{'p50':>9}{'p90':>9}{'p99':>9}")
    with store_only():
        for name, call in calls.items():
            show(f"{name}, no evaluation", timed(call, count))
        show(
            "8 threads, settings given, no evaluation",
            in_threads(calls["log, settings given"], count),
        )
        print(f"{'processor time of `log`, settings given':46}", end="")
        print(f"{cpu(calls['log, settings given'], count):9.0f}")
        print(f"{'processor time of `log`':46}{cpu(calls['log'], count):9.0f}")
    log(*made(0), settings=given)
    call = calls["log, settings given"]
    show("20 calls a second, evaluated meanwhile", timed(call, count // 20, gap_s=0.05))
    flush()
    show("one after the other, evaluated meanwhile", timed(call, count))
    show("8 threads, evaluated meanwhile", in_threads(call, count))
    shutdown(wait=False)


# --- load -------------------------------------------------------------------------------------

WRITER = """
import sys
sys.path.insert(0, {folder!r})
from log import write
write(int(sys.argv[1]), int(sys.argv[2]))
"""


def write(first: int, count: int) -> None:
    """Log `count` traces from eight threads, and end without waiting for their evaluation."""

    def run(at: int) -> None:
        for n in range(first + at, first + count, THREADS):
            log(*made(n), external_id=str(n))

    threads = [threading.Thread(target=run, args=(at,)) for at in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shutdown(wait=False)


def load(count: int) -> None:
    """Print what became of `count` traces that two processes log while a reader polls."""
    program = WRITER.format(folder=str(Path(__file__).parent))
    each = count // PROCESSES
    store, polls, started = store_for(settings.current()), 0, time.perf_counter()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(at * each), str(each)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for at in range(PROCESSES)
    ]
    while any(process.poll() is None for process in processes):
        store.summaries(limit=50)
        store.count()
        polls += 1
        time.sleep(0.02)
    logged_s = time.perf_counter() - started
    said = [process.communicate()[1] for process in processes]
    counts = {str(status): number for status, number in store.count().items()}
    kept = {found.external_id for found in store.summaries(limit=count + 1)}
    print(f"{each * PROCESSES} traces of {PROCESSES} x {THREADS} threads in {logged_s:.1f} s")
    print(f"polled {polls} times; kept {len(kept)}; {counts}")
    print(f"`database is locked`: {sum(text.count('locked') for text in said)}")
    for text in said:
        if text:
            print(text.strip()[-500:])
    started = time.perf_counter()
    done = evaluate_pending()
    print(f"the rest, {done.evaluated} traces, in {time.perf_counter() - started:.1f} s; ", end="")
    print({str(status): number for status, number in store.count().items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--traces", type=int, default=10_000)
    options = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "caller": lambda: caller(options.calls),
        "load": lambda: load(options.traces),
    }
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["ALETHEIA_DB_PATH"] = str(Path(folder) / "log.db")
            print(f"== {name}")
            parts[name]()
            HOST.renew()
            close_stores()


if __name__ == "__main__":
    main()
