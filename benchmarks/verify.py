"""Speed of verification: against other tools, by stage, over long inputs, and at start-up.

    python benchmarks/verify.py [--traces FILE] [--rounds K] [--records N ...] [--only PART ...]

Prints four tables: (peers) CPU milliseconds per record, ours and those of tools that are
installed, in interleaved rounds of one process, so that only ratios count; (stages) where our time
goes; (stream) records per second and peak memory of `aletheia verify` over generated records;
(start) wall time of importing the package and of its command line. Nothing is installed: for a
tool that is missing the command to install it is printed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from aletheia.grounding import verify as verification
from aletheia.grounding.case import Case, build_case
from aletheia.grounding.citations import find_markers
from aletheia.grounding.numbering import number
from aletheia.grounding.parse import parse_reply
from aletheia.grounding.refusal import is_abstention_literal, refusal
from aletheia.schema.answer import ParsedAnswer

TRACES = Path(__file__).parent.parent.parent / "shared" / "bench" / "traces.jsonl"
PARTS = ("peers", "stages", "stream", "start")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One question with its context, its answer, and the reply that carries the answer."""

    question: str
    context: tuple[str, ...]
    answer: str

    @property
    def reply(self) -> str:
        """The answer as a reply that cites every unit."""
        ids = [f"E{index}" for index in range(1, len(self.context) + 1)]
        return json.dumps({"answer": self.answer, "evidence_ids": ids, "reasoning": "as cited"})


def read_traces(path: Path) -> list[Trace]:
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Trace(
            question=record["query"],
            context=tuple(record["context"]),
            answer=record["response"],
        )
        for record in records
    ]


# --- peers ------------------------------------------------------------------------------------

Check = Callable[[Trace], object]


def ours(traces: Sequence[Trace]) -> Check:
    """From plain strings to the verdict, every check on."""
    replies = {trace: trace.reply for trace in traces}

    def check(trace: Trace) -> object:
        evidence = number(trace.context)
        return verification.verify_reply(evidence, replies[trace], question=trace.question)

    return check


def corroborate(module: ModuleType) -> Check:
    return lambda trace: module.check_answer(trace.question, list(trace.context), trace.answer)


def groundcheck(module: ModuleType) -> Check:
    checker = module.GroundCheck(backend="heuristic")
    return lambda trace: checker.check(source="\n".join(trace.context), answer=trace.answer)


def hallucination_check(module: ModuleType) -> Check:
    return lambda trace: module.check(trace.answer, list(trace.context))


def dokis(module: ModuleType) -> Check:
    def check(trace: Trace) -> object:
        chunks = [
            module.Chunk(content=text, source_url=f"https://example.org/{index}")
            for index, text in enumerate(trace.context)
        ]
        return module.audit(trace.question, chunks, trace.answer)

    return check


def contexttrace(module: ModuleType) -> Check:
    runner = importlib.import_module("contexttrace.verify.runner")

    def check(trace: Trace) -> object:
        contexts = [{"id": str(index), "text": text} for index, text in enumerate(trace.context)]
        captured = module.capture_rag_trace(
            query=trace.question, answer=trace.answer, contexts=contexts
        )
        return runner.verify_trace(captured)

    return check


PEERS: dict[str, tuple[str, Callable[[ModuleType], Check]]] = {
    "corroborate": ("corroborate", corroborate),
    "groundcheck": ("groundcheck-rag", groundcheck),
    "dokis": ("dokis", dokis),
    "hallucination_check": ("hallucination-check", hallucination_check),
    "contexttrace": ("contexttrace", contexttrace),
}
"""Tools that judge without a model, by the name they are imported under."""


def compare(traces: Sequence[Trace], rounds: int) -> None:
    """Print CPU time per record of every installed tool and its ratio to ours."""
    checks: dict[str, Check] = {"aletheia": ours(traces)}
    missing: list[str] = []
    for name, (distribution, adapter) in PEERS.items():
        try:
            checks[distribution] = adapter(importlib.import_module(name))
        except ImportError:
            missing.append(distribution)
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds + 1):
        for name, check in checks.items():
            times[name].append(cpu_seconds(check, traces))
    own = statistics.median(times["aletheia"][1:])
    print(f"{'tool':22}{'ms/record':>10}{'best':>8}{'ratio':>8}   CPU, {rounds} rounds")
    for name, values in times.items():
        kept = values[1:]  # the first round warms up
        middle = statistics.median(kept)
        scale = 1e3 / len(traces)
        print(f"{name:22}{middle * scale:10.3f}{min(kept) * scale:8.3f}{middle / own:8.2f}")
    for distribution in missing:
        print(f"{distribution:22}{'-':>10}   not installed: pip install {distribution}")


def cpu_seconds(check: Check, traces: Sequence[Trace]) -> float:
    start = time.process_time()
    for trace in traces:
        check(trace)
    return time.process_time() - start


# --- stages -----------------------------------------------------------------------------------


class Stopwatch:
    """The shortest time of each stage of each record; other load only makes times longer."""

    def __init__(self) -> None:
        self._best: dict[tuple[str, int], float] = {}
        self._since = 0.0

    def start(self) -> None:
        """Begin the first stage of a record."""
        self._since = time.perf_counter()

    def stage(self, name: str, record: int) -> None:
        """End the stage that began with `start` or with the stage before."""
        passed = time.perf_counter() - self._since
        key = (name, record)
        self._best[key] = min(passed, self._best.get(key, passed))
        self._since = time.perf_counter()

    def means(self) -> dict[str, float]:
        """Microseconds per record, by stage."""
        sums: dict[str, list[float]] = defaultdict(list)
        for (name, _), seconds in self._best.items():
            sums[name].append(seconds)
        return {name: statistics.fmean(values) * 1e6 for name, values in sums.items()}


def stages(traces: Sequence[Trace], rounds: int) -> None:
    """Print microseconds per record of each stage, in the order in which they run."""
    watch = Stopwatch()
    for _ in range(rounds):
        for index, trace in enumerate(traces):
            time_stages(trace, index, watch)
    means = watch.means()
    total = sum(means.values())
    print(f"{'stage':24}{'µs/record':>10}{'share':>8}")
    for name, mean in means.items():
        print(f"{name:24}{mean:10.1f}{mean / total:8.1%}")
    print(f"{'sum':24}{total:10.1f}")


def time_stages(trace: Trace, index: int, watch: Stopwatch) -> None:
    reply = trace.reply
    watch.start()
    evidence = number(trace.context)
    watch.stage("number the evidence", index)
    parsed = parse_reply(reply)
    watch.stage("parse the reply", index)
    if not isinstance(parsed, ParsedAnswer):
        return
    markers = find_markers(parsed.answer, len(evidence), lenient=False)
    watch.stage("markers", index)
    if is_abstention_literal(parsed.answer) or refusal(parsed.answer) is not None:
        return
    watch.stage("refusal", index)
    case = build_case(parsed.answer, markers, evidence, parsed.evidence_ids, trace.question)
    watch.stage("fold and cut", index)
    time_indexes(case, index, watch)
    for check in verification.CHECKS:
        for _ in check(case):
            pass
        watch.stage(check.__name__.removeprefix("check_"), index)


def time_indexes(case: Case, index: int, watch: Stopwatch) -> None:
    """What is made when a check first asks for it, and would be counted with that check."""
    for name, made in (
        ("searchable evidence", lambda: case.cited.lower),
        ("words of the evidence", lambda: case.cited.vocabulary),
        ("numbers of the evidence", lambda: case.cited.numeric),
        ("numbers of the answer", lambda: case.numeric),
    ):
        made()
        watch.stage(name, index)


# --- long inputs ------------------------------------------------------------------------------

_CAPITALISED = re.compile(r"\b[A-Z][a-z]{3,}\b")
_DIGITS = re.compile(r"\d+")
_SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "ze")


def varied(trace: Trace, index: int) -> Trace:
    """The trace with names and numbers of its own, so that no cache knows them already."""
    tail, rest = "", index
    while rest:
        rest, digit = divmod(rest, len(_SYLLABLES))
        tail += _SYLLABLES[digit]
    firsts = {word.split()[0] for word in (*trace.context, trace.answer, trace.question)}

    def renamed(text: str) -> str:
        text = _DIGITS.sub(lambda match: str(int(match.group()) + index), text)
        return _CAPITALISED.sub(
            lambda match: match.group() if match.group() in firsts else match.group() + tail, text
        )

    return Trace(
        question=renamed(trace.question),
        context=tuple(map(renamed, trace.context)),
        answer=renamed(trace.answer),
    )


def lines(traces: Sequence[Trace], count: int) -> Iterator[bytes]:
    """`count` records as lines of the input of `aletheia verify`."""
    for index in range(count):
        trace = varied(traces[index % len(traces)], index // len(traces))
        record = {
            "id": str(index),
            "question": trace.question,
            "evidence": trace.context,
            "reply": trace.reply,
        }
        yield json.dumps(record).encode() + b"\n"


def stream(traces: Sequence[Trace], counts: Sequence[int]) -> None:
    """Print records per second and peak memory of the command line, by number of records."""
    print(f"{'records':>8}{'seconds':>9}{'records/s':>11}{'peak MB':>9}")
    for count in counts:
        seconds, peak = run_stream(traces, count)
        print(f"{count:8}{seconds:9.1f}{count / seconds:11.0f}{peak:9.0f}")


def run_stream(traces: Sequence[Trace], count: int) -> tuple[float, float]:
    """CPU seconds and peak resident megabytes of `aletheia verify` over `count` records."""
    command = [sys.executable, "-m", "aletheia", "verify", "-", "--output", os.devnull]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if process.stdin is None:
        raise RuntimeError("the process has no standard input")
    with process.stdin as pipe:
        pipe.writelines(lines(traces, count))
    _, status, usage = os.wait4(process.pid, 0)
    # 3: some records were rejected, as they should be.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise RuntimeError(f"`{' '.join(command)}` ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6


# --- start-up ---------------------------------------------------------------------------------


def start_up(traces: Sequence[Trace], rounds: int) -> None:
    """Print the wall time of fresh processes."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.jsonl"
        record.write_bytes(b"".join(lines(traces, 1)))
        commands = {
            "python -c pass": ["-c", "pass"],
            "import aletheia": ["-c", "import aletheia"],
            "aletheia --help": ["-m", "aletheia", "--help"],
            "aletheia verify, 1 record": ["-m", "aletheia", "verify", str(record)],
        }
        times: dict[str, list[float]] = defaultdict(list)
        for _ in range(rounds):
            for name, arguments in commands.items():
                times[name].append(wall_seconds([sys.executable, *arguments]))
    print(f"{'process':28}{'ms':>7}{'best':>7}   wall, {rounds} rounds")
    for name, values in times.items():
        print(f"{name:28}{statistics.median(values) * 1e3:7.0f}{min(values) * 1e3:7.0f}")


def wall_seconds(command: Sequence[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"`{' '.join(command)}` ended with {done.returncode}")
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--records", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    arguments = parser.parse_args()
    if not arguments.traces.exists():
        print(f"skipped: `{arguments.traces}` is not there; name a file with --traces")
        return
    traces = read_traces(arguments.traces)
    parts: dict[str, Callable[[], None]] = {
        "peers": lambda: compare(traces, arguments.rounds),
        "stages": lambda: stages(traces, arguments.rounds * 4),
        "stream": lambda: stream(traces, arguments.records),
        "start": lambda: start_up(traces, arguments.rounds),
    }
    for name in arguments.only:
        print(f"== {name}")
        parts[name]()
        print()


if __name__ == "__main__":
    main()
