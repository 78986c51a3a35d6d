"""Loads a large synthetic graph and answers questions over it: CPU time and peak memory.

    python benchmarks/graph.py                  # 1,000,000 edges, JSON lines and node-link
    python benchmarks/graph.py --edges 100000
    python benchmarks/graph.py --full-index     # also the index of the similarity baseline

The graph has a fifth as many nodes as edges. A few of them are hubs: targets follow a power law.
A quarter of the edges carry a date. Each stage runs in a process of its own, so that its peak
memory is its own.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

QUESTIONS = 50
PREDICATES = (
    "founded_by", "based_in", "member_of", "owns", "supplies", "led_by", "allied_with",
    "successor_to", "funded_by", "operates_in",
)  # fmt: skip
ASKED = (
    "Who was {0} founded by?",
    "Where is {0} based?",
    "What does {0} own?",
    "Which companies are supplied by {0}?",
    "What is the link between {0} and {1}?",
    "Who leads the group that {0} is a member of?",
)


def syllables(number: int) -> str:
    """Spell a number as an invented word: different numbers give different words."""
    parts = ["ba", "ko", "ri", "ta", "lu", "me", "so", "vi", "na", "du", "fe", "gor", "hal"]
    word = ""
    while True:
        number, rest = divmod(number, len(parts))
        word += parts[rest]
        if not number:
            return word.capitalize()


def name(node: int) -> str:
    """Name node `node`."""
    return f"{syllables(node * 7 + 11)} {syllables(node // 50 + 170)}"


def edges(count: int) -> Iterator[tuple[int, str, int, str | None]]:
    """Make edges with a fixed seed: source, predicate, target, date or None."""
    draw = random.Random(7)
    nodes = max(10, count // 5)
    for _ in range(count):
        source = draw.randrange(nodes)
        target = int(nodes * draw.random() ** 4)
        date = f"{draw.randrange(1900, 2025)}-0{draw.randrange(1, 10)}-15"
        yield source, draw.choice(PREDICATES), target, date if draw.random() < 0.25 else None


def write_jsonl(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        for source, predicate, target, date in edges(count):
            row = {"subject": name(source), "predicate": predicate, "object": name(target)}
            out.write(json.dumps(row | ({"since": date} if date else {})) + "\n")


def write_node_link(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.write('{"directed": true, "multigraph": true, "graph": {}, "nodes": [\n')
        nodes = max(10, count // 5)
        rows = ({"id": f"n{i}", "name": name(i), "type": "Company"} for i in range(nodes))
        out.write(",\n".join(map(json.dumps, rows)) + '\n], "links": [\n')
        for number, (source, predicate, target, date) in enumerate(edges(count)):
            row = {"source": f"n{source}", "target": f"n{target}", "relation": predicate}
            out.write(
                (",\n" if number else "") + json.dumps(row | ({"since": date} if date else {}))
            )
        out.write("\n]}\n")


def peak() -> float:
    """Give the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def questions(count: int) -> list[str]:
    draw = random.Random(11)
    nodes = max(10, count // 5)

    def node() -> str:
        return name(int(nodes * draw.random() ** draw.choice((1, 4))))

    return [ASKED[i % len(ASKED)].format(node(), node()) for i in range(QUESTIONS)]


def measure(path: Path, count: int, *, full_index: bool) -> None:
    """Load one file and answer the questions, with a line per stage."""
    from aletheia.graph import load
    from aletheia.llm.embedded import MiniLM

    base = peak()
    start = time.process_time()
    graph = load(str(path), search_dirs=[])
    report(
        path,
        "load",
        time.process_time() - start,
        f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges",
        base,
    )
    start = time.process_time()
    graph.link("Who?")
    report(path, "name index", time.process_time() - start, "once", base)
    for label, embedder in (("words only", None), ("with embeddings", MiniLM())):
        if embedder is not None:
            embedder.embed(["warm"])
        times, empty, bounded = [], 0, 0
        for question in questions(count):
            start = time.process_time()
            found = graph.retrieve(question, embedder=embedder)
            times.append(time.process_time() - start)
            empty += not found.linked
            bounded += bool(found.bounded)
        times.sort()
        what = f"median {times[len(times) // 2] * 1000:.0f} ms, slowest {times[-1] * 1000:.0f} ms"
        detail = f"{what}; {empty} without a link, {bounded} bounded"
        report(path, f"{len(times)} questions, {label}", sum(times), detail, base)
    if full_index:
        start = time.process_time()
        graph.similarity_only("Who leads the group?")
        report(path, "similarity index", time.process_time() - start, "once, baseline only", base)


def report(path: Path, stage: str, seconds: float, detail: str, base: float) -> None:
    memory = f"{peak() - base:7,.0f} MB"
    print(f"{path.suffix[1:]:6} {stage:30} {seconds:7.1f} s {memory}  {detail}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--full-index", action="store_true")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        measure(options.file, options.edges, full_index=options.full_index)
        return
    print("format stage                           CPU time  peak over start")
    with tempfile.TemporaryDirectory() as directory:
        for write, file in ((write_jsonl, "graph.jsonl"), (write_node_link, "graph.json")):
            path = Path(directory, file)
            write(path, options.edges)
            command = [sys.executable, __file__, "--file", str(path), "--edges", str(options.edges)]
            full = ["--full-index"] if options.full_index else []
            subprocess.run([*command, *full], check=True)


if __name__ == "__main__":
    main()
