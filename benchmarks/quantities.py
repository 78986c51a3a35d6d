"""Time of reading and matching numbers and dates, and how often they reject human verdicts.

    python benchmarks/quantities.py [--traces FILE] [--verdicts FILE]

Prints microseconds per text (best of 30 per text, so that other load on the machine counts less),
and for human-labelled records how many hold a number or date that no context unit carries.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from aletheia.grounding.quantities import (
    NumericMentions,
    check_date,
    check_quantity,
    numeric_mentions,
)
from aletheia.grounding.text import fold

DATA = Path(__file__).parent.parent.parent / "shared"
T = TypeVar("T")
_MARKER = re.compile(r"\[\d+\](?:\[\d+\])*")


def best(call: Callable[[T], object], items: Sequence[T], repeats: int = 30) -> float:
    """Mean over the items of the shortest of `repeats` times, in microseconds."""
    total = 0.0
    for item in items:
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            call(item)
            times.append(time.perf_counter() - start)
        total += min(times)
    return total / len(items) * 1e6


def count(mentions: Sequence[NumericMentions]) -> float:
    return sum(len(m.quantities) + len(m.dates) for m in mentions) / len(mentions)


def match_all(pair: tuple[NumericMentions, NumericMentions]) -> None:
    answer, evidence = pair
    for quantity in answer.quantities:
        check_quantity(quantity, evidence)
    for date in answer.dates:
        check_date(date, evidence)


def speed(path: Path) -> None:
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    evidence = [fold("\n".join(record["context"])).text for record in records]
    answers = [fold(record["response"]).text for record in records]
    known = [numeric_mentions(text) for text in evidence]
    claimed = [numeric_mentions(text) for text in answers]
    print(f"{'text':10} {'characters':>10} {'mentions':>9} {'µs':>7}")
    for name, texts, found in (("evidence", evidence, known), ("answer", answers, claimed)):
        size = sum(map(len, texts)) / len(texts)
        print(f"{name:10} {size:10.0f} {count(found):9.1f} {best(numeric_mentions, texts):7.1f}")
    pairs = list(zip(claimed, known, strict=True))
    print(f"one match: {best(match_all, pairs) / max(count(claimed), 1):.1f} µs")


def union(texts: Sequence[str]) -> NumericMentions:
    found = [numeric_mentions(fold(text).text) for text in texts]
    return NumericMentions(
        tuple(q for mentions in found for q in mentions.quantities),
        tuple(d for mentions in found for d in mentions.dates),
    )


def unsupported(answer: str, known: NumericMentions) -> Iterator[str]:
    claimed = numeric_mentions(answer)
    for quantity in claimed.quantities:
        found = check_quantity(quantity, known)
        if not (found.supported or found.soft or quantity.soft):
            yield quantity.text
    for date in claimed.dates:
        if not (date.soft or check_date(date, known).supported):
            yield date.text


def agreement(path: Path) -> None:
    total: Counter[bool] = Counter()
    flagged: Counter[bool] = Counter()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["task"] not in ("claim", "response") or not record["response"]:
                continue
            answer = fold(_MARKER.sub("", record["response"])).text
            total[record["grounded"]] += 1
            flagged[record["grounded"]] += any(unsupported(answer, union(record["context"])))
    for grounded in (True, False):
        name = "grounded" if grounded else "ungrounded"
        share = 100 * flagged[grounded] / total[grounded]
        print(f"{name:11} {flagged[grounded]:4} of {total[grounded]} flagged ({share:.1f} %)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=DATA / "bench" / "traces.jsonl")
    parser.add_argument(
        "--verdicts", type=Path, default=DATA / "data" / "verdicts" / "dev.jsonl.gz"
    )
    arguments = parser.parse_args()
    for path, step in ((arguments.traces, speed), (arguments.verdicts, agreement)):
        if path.exists():
            step(path)
        else:
            print(f"skipped: `{path}` is not there")


if __name__ == "__main__":
    main()
