"""Speed and memory of `aletheia eval` with the embedded judges: processes, store, length.

Traces are made from those of the folder beside the checkout, each with names and numbers of its
own, so that no two are alike. Every run is a process of its own; memory is that of the whole tree
of processes, sampled. On a shared machine only ratios within one run count, and not much then:
the load is printed, and the processor time beside the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parents[2] / "shared" / "bench" / "traces.jsonl"
NAMES = ("Quill", "Strand", "Brindle", "Harbor", "Ellery", "Norway", "Station", "Marta", "Owen")
JUDGED_EVERY = 100
"""One in so many short traces has a response: the others are decided by rule, so that a hundred
thousand of them take minutes."""
PAGE = os.sysconf("SC_PAGE_SIZE")


def varied(record: dict[str, Any], copy: int, *, small: bool) -> dict[str, Any]:
    """Return a trace like `record` with other numbers and names, the same ones all through it."""

    def text(value: str) -> str:
        value = re.sub(r"\d+", lambda match: str(int(match[0]) + copy), value)
        for name in NAMES:
            value = value.replace(name, f"{name}{_word(copy)}")
        return value

    context, response = record["context"], record["response"]
    if small:
        context, response = [context[0][:200]], response.partition(". ")[0] + "."
        if copy % JUDGED_EVERY:
            context, response = [], ""
    return {
        "id": f"{record['id']}-{copy}",
        "query": text(record["query"]),
        "context": [text(chunk) for chunk in context],
        "response": text(response),
    }


def _word(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number, 26)
        letters += chr(97 + rest)
    return letters


def make(path: Path, count: int, *, small: bool = False) -> Path:
    """Write `count` traces to a file."""
    records = [json.loads(line) for line in BENCH.read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8") as handle:
        for number in range(count):
            copy, which = divmod(number, len(records))
            handle.write(json.dumps(varied(records[which], copy, small=small)) + "\n")
    return path


@dataclass
class Run:
    """What one run took: seconds by the clock and of processors, and memory as it went on."""

    wall: float
    cpu: float
    summary: dict[str, Any]
    memory: list[tuple[int, float]] = field(default_factory=list)
    times: list[tuple[int, float]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Traces a second from the first that was told of to the last: without the start."""
        (first, begun), (last, ended) = self.times[0], self.times[-1]
        return (last - first) / (ended - begun)


def evaluate(path: Path, *options: str, marks: Iterable[int] = ()) -> Run:
    """Run the command once in a directory of its own."""
    with tempfile.TemporaryDirectory() as directory:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "aletheia", "eval", str(path), "--judge", "embedded"),
                *("--json", "--progress", "json", *options),
            ],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "ALETHEIA"))},
        )
        memory: list[tuple[int, float]] = []
        times: list[tuple[int, float]] = []
        # Read in a thread of its own, so that the pipe never fills.
        follower = threading.Thread(target=_follow, args=(process, memory, times, list(marks)))
        follower.start()
        assert process.stdout is not None
        text = process.stdout.read()
        process.wait()
        follower.join()
        wall = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall=wall, cpu=cpu, summary=json.loads(text), memory=memory, times=times)


def _follow(
    process: subprocess.Popen[bytes],
    memory: list[tuple[int, float]],
    times: list[tuple[int, float]],
    marks: list[int],
) -> None:
    """Note when rows were done, as they are told of in batches, and the memory then.

    What it is at the `marks` is printed at once: a long run may be stopped.
    """
    assert process.stderr is not None
    done = last = 0.0
    for line in process.stderr:
        if b'"row"' not in line:
            continue
        done, now = json.loads(line)["done"], time.monotonic()
        if now - last < 0.1 and times:
            times[-1] = (done, times[-1][1])
            continue
        last = now
        times.append((done, now))
        memory.append((done, _tree_mb(process.pid)))
        if marks and done >= marks[0]:
            print(f"{done:>9} traces {memory[-1][1]:>8.0f} MB", flush=True)
            marks[:] = [mark for mark in marks if mark > done]


def _tree_mb(pid: int) -> float:
    """Resident memory of a process and all below it; pages that are shared count in each."""
    return sum(_resident_mb(one) for one in _below(pid))


def _below(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _below(int(child))


def _resident_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6
    except OSError:
        return 0.0


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


def throughput(directory: Path, count: int, rounds: int, *, kept_too: bool) -> None:
    """Compare one process with two, and a run with the store with one without."""
    path = make(directory / "traces.jsonl", count)
    make_small = make(directory / "one.jsonl", 1)
    plans = {
        "1 process": ("-c", "1", "--no-persist"),
        "2 processes": ("-c", "2", "--no-persist"),
    }
    if kept_too:
        plans["1 process, store"] = ("-c", "1")
        plans["2 processes, store and output"] = ("-c", "2", "--output", "rows.jsonl")
    print(f"{count} traces; {'run':<31}{'seconds':>9}{'CPU s':>9}{'traces/s':>10}{'keeping':>9}")
    start = {name: evaluate(make_small, *plan) for name, plan in plans.items()}
    best: dict[str, float] = {}
    least: dict[str, float] = {}
    for number in range(rounds):
        for name, plan in plans.items():
            run = evaluate(path, *plan)
            kept = run.summary["keeping_seconds"] / run.summary["seconds"]
            best[name] = max(run.rate, best.get(name, 0.0))
            least[name] = min(run.cpu, least.get(name, run.cpu))
            print(
                f"round {number + 1}: {name:<33}{run.wall:>9.1f}{run.cpu:>9.1f}"
                f"{run.rate:>10.1f}{kept:>9.1%}  {_load()}",
                flush=True,
            )
    one, two = "1 process", "2 processes"
    print(f"start-up and one trace, CPU: {', '.join(f'{v.cpu:.1f} s' for v in start.values())}")
    print(f"second core, best rates of {rounds} rounds: {best[two] / best[one]:.2f} x")
    print(f"processor time, least of {rounds} rounds: {least[two] / least[one]:.2f} x")


def memory(directory: Path, count: int, processes: int) -> None:
    """Follow the memory of one long run over short traces."""
    path = make(directory / "many.jsonl", count, small=True)
    print(
        f"{count} short traces, one in {JUDGED_EVERY} with a response, {processes} processes, "
        f"with store and output; {_load()}",
        flush=True,
    )
    marks = [int(share * count) for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)]
    run = evaluate(path, "-c", str(processes), "--output", "rows.jsonl", marks=marks)
    speed = count / run.summary["seconds"]
    kept = run.summary["keeping_seconds"] / run.summary["seconds"]
    print(f"{speed:.1f} traces/s, {kept:.1%} of the time in store and output")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("throughput", "memory"))
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--no-store", action="store_true", help="only runs without the store")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--long", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if not BENCH.exists():
        raise SystemExit(f"{BENCH} is not there: this benchmark needs it")
    with tempfile.TemporaryDirectory() as directory:
        if options.only != "memory":
            throughput(
                Path(directory), options.traces, options.rounds, kept_too=not options.no_store
            )
        if options.only != "throughput":
            memory(Path(directory), options.long, options.processes)


if __name__ == "__main__":
    main()
