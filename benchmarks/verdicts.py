"""How right the embedded judges are on human-labelled records.

    python benchmarks/verdicts.py [--only faithfulness|sufficiency|edits] [--write]

Reads `../shared/data/verdicts/dev.jsonl.gz`, on which nothing is fitted, and the project's own
minimal edits (`tests/data/edits*.jsonl`). Prints one line a source and the mean over sources.
`--write` keeps the figures that results quote beside the model they were measured with.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import numpy.typing as npt

from aletheia.grounding.numbering import number
from aletheia.judges.base import Judged, TraceCase
from aletheia.judges.embedded import EmbeddedFaithfulnessJudge, EmbeddedSufficiencyJudge
from aletheia.judges.embedded.measured import FILE as MEASURED
from aletheia.judges.embedded.trees import model
from aletheia.judges.rules import WholeDecomposer
from aletheia.schema.trace import Claim, SubQuestion

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared/data/verdicts/dev.jsonl.gz"
EDITS = ROOT / "tests/data/edits.jsonl"
UNSEEN = ROOT / "tests/data/edits_unseen.jsonl"
GENERATED = ROOT / "tests/data/edits_generated.jsonl"
PUBLISHED = {"ragtruth_qa": "HHEM-2.1 74.3, GPT-4 74.1", "ragtruth_summary": "HHEM-2.1 64.4, GPT-4 62.6",
             "wice_claim": "MiniCheck-7B 81.9, gpt-4o 78.5", "ab_expertqa": "MiniCheck-7B 58.8, gpt-4o 59.6",
             "factcheck_bench": "MiniCheck-7B 77.0, gpt-4o 77.5", "ab_lfqa": "MiniCheck-7B 87.9, gpt-4o 83.6",
             "faithbench": "GPT-4o 54.7, HHEM-2.1 54.2", "summedits": "GPT-4 82.1"}  # fmt: skip
"""Balanced accuracies others published on the full official sets; these are samples of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One judged record."""

    source: str
    label: bool
    score: float
    yes: bool
    sure: bool


def auroc(results: Sequence[Result]) -> float:
    """Chance that a record with a true label scores above one without; ties count half."""
    ones = [r.score for r in results if r.label]
    zeros = [r.score for r in results if not r.label]
    above = sum((a > b) + (a == b) / 2 for a in ones for b in zeros)
    return above / (len(ones) * len(zeros))


def balanced_accuracy(results: Sequence[Result]) -> float:
    """Mean of the shares got right in both classes."""
    ones = [r.yes for r in results if r.label]
    zeros = [not r.yes for r in results if not r.label]
    return (sum(ones) / len(ones) + sum(zeros) / len(zeros)) / 2


async def faithfulness(record: dict[str, Any]) -> tuple[Result, tuple[tuple[int, int], ...]]:
    case = TraceCase(
        query=record["query"], evidence=number(record["context"]), response=record["response"]
    )
    pieces = await WholeDecomposer().decompose_response(case)
    assert isinstance(pieces, Judged)
    outcome = await EmbeddedFaithfulnessJudge().judge_faithfulness(case, pieces.value.claims)
    assert isinstance(outcome, Judged), outcome
    found = outcome.value[0]
    result = Result(
        source=record["source"], label=bool(record["grounded"]), score=found.score or 0.0,
        yes=found.verdict == "Y", sure=found.confidence == "high",
    )  # fmt: skip
    return result, found.unsupported


async def sufficiency(record: dict[str, Any]) -> Result:
    case = TraceCase(query=record["query"], evidence=number(record["context"]), response="")
    questions = (SubQuestion(id=0, text=record["query"]),)
    outcome = await EmbeddedSufficiencyJudge().judge_sufficiency(case, questions)
    assert isinstance(outcome, Judged), outcome
    found = outcome.value[0]
    return Result(
        source=record["source"], label=bool(record["sufficient"]), score=found.score or 0.0,
        yes=found.verdict == "Y", sure=found.confidence == "high",
    )  # fmt: skip


def by_source(results: Sequence[Result]) -> dict[str, list[Result]]:
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.source].append(result)
    return groups


def print_table(title: str, results: Sequence[Result]) -> None:
    groups = by_source(results)
    print(f"\n{title}\n{'source':26}{'n':>5}{'AUROC':>8}{'BAcc':>8}  published balanced accuracy")
    rows = []
    for source, found in sorted(groups.items()):
        if len({r.label for r in found}) < 2:
            print(f"{source:26}{len(found):5}       -       -  one class only")
            continue
        rows.append((auroc(found), balanced_accuracy(found)))
        print(
            f"{source:26}{len(found):5}{rows[-1][0]:8.3f}{rows[-1][1]:8.3f}  {PUBLISHED.get(source, '')}"
        )
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    print(f"{'mean over sources':26}{len(rows):5}{means[0]:8.3f}{means[1]:8.3f}")
    low, high = zip(*interval(results), strict=True)
    print(f"{'95 % from':26}{'':5}{low[0]:8.3f}{low[1]:8.3f}")
    print(f"{'95 % to':26}{'':5}{high[0]:8.3f}{high[1]:8.3f}")


def interval(results: Sequence[Result], *, times: int = 1000) -> list[tuple[float, float]]:
    """95 % intervals of the means over sources (AUROC, balanced accuracy).

    Records are drawn again within each source and class, so that no draw lacks a class.
    """
    draw = np.random.default_rng(0)
    groups: dict[str, dict[bool, list[Result]]] = defaultdict(lambda: {True: [], False: []})
    for result in results:
        groups[result.source][result.label].append(result)
    usable = [group for group in groups.values() if group[True] and group[False]]
    means = np.mean([_resampled(group, draw, times) for group in usable], axis=0)
    return [(float(low), float(high)) for low, high in np.percentile(means, [2.5, 97.5], axis=0).T]


def _resampled(
    group: dict[bool, list[Result]], draw: np.random.Generator, times: int
) -> npt.NDArray[np.float64]:
    """AUROC and balanced accuracy of one source, drawn `times` times: shape (times, 2)."""
    score = {label: np.array([r.score for r in found]) for label, found in group.items()}
    right = {label: np.array([r.yes is label for r in found]) for label, found in group.items()}
    above = (score[True][:, None] > score[False]) + 0.5 * (score[True][:, None] == score[False])
    out = np.zeros((times, 2))
    for i in range(times):
        a = draw.integers(len(score[True]), size=len(score[True]))
        b = draw.integers(len(score[False]), size=len(score[False]))
        out[i] = above[np.ix_(a, b)].mean(), (right[True][a].mean() + right[False][b].mean()) / 2
    return out


def print_bands(results: Sequence[Result]) -> None:
    print("\nverdicts                   right  share of all")
    for sure in (True, False):
        for yes, name in ((True, "supported"), (False, "unsupported")):
            found = [r for r in results if r.sure is sure and r.yes is yes]
            right = f"{sum(r.label is yes for r in found) / len(found):6.3f}" if found else "     -"
            title = f"{name}, {'high' if sure else 'low'}"
            print(f"{title:26}{right}{len(found) / len(results):10.3f}")


def write(results: Sequence[Result]) -> None:
    """Keep the figures that results quote, with the version of the model they belong to."""
    rows = [group for group in by_source(results).values() if len({r.label for r in group}) == 2]
    right = {
        (sure, yes): [r.label is yes for r in results if r.sure is sure and r.yes is yes]
        for sure in (True, False)
        for yes in (True, False)
    }
    low = [*right[False, True], *right[False, False]]
    figures = {
        "model": model().version,
        "records": len(results),
        "command": "python benchmarks/verdicts.py --only faithfulness",
        "balanced_accuracy": round(sum(map(balanced_accuracy, rows)) / len(rows), 3),
        "auroc": round(sum(map(auroc, rows)) / len(rows), 3),
        "low_confidence_right": round(sum(low) / len(low), 2),
        "supported_high_confidence_right": round(
            sum(right[True, True]) / len(right[True, True]), 2
        ),
        "unsupported_high_confidence_right": round(
            sum(right[True, False]) / len(right[True, False]), 2
        ),
    }
    MEASURED.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def print_spans(pairs: Sequence[tuple[dict[str, Any], tuple[tuple[int, int], ...]]]) -> None:
    """Characters marked in unsupported responses against those people marked."""
    both = marked = wanted = 0
    for record, spans in pairs:
        mine = {i for start, end in spans for i in range(start, end)}
        theirs = {i for start, end in record["unsupported_spans"] for i in range(start, end)}
        both, marked, wanted = both + len(mine & theirs), marked + len(mine), wanted + len(theirs)
    print(
        f"\nspans, by character, {len(pairs)} records: precision {both / max(1, marked):.3f}, recall {both / max(1, wanted):.3f}"
    )


def half(line: str) -> int:
    """0 for the edits the rules were written with, 1 for those that were kept away."""
    return zlib.crc32(str(json.loads(line)["id"]).encode()) % 2


async def edits(title: str, lines: Sequence[str]) -> None:
    """The project's own minimal edits and paraphrases."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for line in lines:
        record = json.loads(line)
        claim = record["claim"]
        case = TraceCase(query=None, evidence=number([record["evidence"]]), response=claim)
        claims = (Claim(id=0, text=claim, start=0, end=len(claim)),)
        outcome = await EmbeddedFaithfulnessJudge().judge_faithfulness(case, claims)
        assert isinstance(outcome, Judged)
        total[record["kind"]] += 1
        right[record["kind"]] += (outcome.value[0].verdict == "Y") is record["supported"]
    print(f"\n{title:22}{'n':>6}{'right':>8}")
    for kind in sorted(total):
        print(f"{kind:22}{total[kind]:6}{right[kind] / total[kind]:8.3f}")
    changed = [k for k in total if k != "paraphrase"]
    share = sum(right[k] for k in changed) / sum(total[k] for k in changed)
    print(f"{'all edits':22}{sum(total[k] for k in changed):6}{share:8.3f}")
    print(
        f"{'everything':22}{sum(total.values()):6}{sum(right.values()) / sum(total.values()):8.3f}"
    )


async def all_edits() -> None:
    lines, unseen, generated = (
        path.read_text(encoding="utf-8").splitlines() for path in (EDITS, UNSEEN, GENERATED)
    )
    await edits("edits, first half", [line for line in lines if half(line) == 0])
    await edits("edits, second half", [line for line in lines if half(line) == 1])
    await edits("edits written later", unseen)
    last = '{"id": "last-'
    await edits("made from lists", [line for line in generated if not line.startswith(last)])
    await edits("unseen by any rule", [line for line in generated if line.startswith(last)])


async def run(only: str | None, limit: int | None, *, keep: bool) -> None:
    if only in (None, "edits"):
        await all_edits()
    if only == "edits":
        return
    if not DATA.exists():
        sys.exit(f"the labelled records are not at `{DATA}`; they are no part of the project")
    with gzip.open(DATA, "rt", encoding="utf-8") as packed:
        records = [json.loads(line) for line in packed][:limit]
    if only in (None, "sufficiency"):
        found = [await sufficiency(r) for r in records if r["task"] == "sufficiency"]
        print_table("sufficiency", found)
        print_bands(found)
    if only in (None, "faithfulness"):
        begun = time.process_time()
        judged = [(r, *(await faithfulness(r))) for r in records if r["task"] != "sufficiency"]
        took = time.process_time() - begun
        results = [result for _, result, _ in judged]
        print_table("faithfulness", results)
        print_bands(results)
        print_spans([(r, spans) for r, _, spans in judged if r["unsupported_spans"]])
        print(f"\n{len(judged) / took:.0f} responses a second of CPU")
        if keep:
            write(results)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--only", choices=["faithfulness", "sufficiency", "edits"])
    asked.add_argument("--limit", type=int)
    asked.add_argument("--write", action="store_true")
    options = asked.parse_args()
    anyio.run(partial(run, options.only, options.limit, keep=options.write))


if __name__ == "__main__":
    main()
