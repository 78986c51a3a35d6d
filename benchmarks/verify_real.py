"""How verification treats human-labelled answers.

    python benchmarks/verify_real.py [--data ../shared/data/verdicts/dev.jsonl.gz] [--list]

Every labelled response or claim is taken as a reply that cites all its units. Printed per source:
how many human-grounded ones strict rejects (false alarms) and how many ungrounded ones it catches,
then the same with names of the question exempt, then which findings did it. `--list` prints the
rejected grounded ones with their findings, to be read: each is a matching fault or a label fault.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aletheia.grounding.numbering import number
from aletheia.grounding.verify import VerifyOptions, verify_answer
from aletheia.schema.answer import ParsedAnswer
from aletheia.schema.verification import Verification

DEFAULT = Path(__file__).resolve().parents[1].parent / "shared/data/verdicts/dev.jsonl.gz"


@dataclass
class Counts:
    """Rejected and all, by human label."""

    rejected: Counter[bool] = field(default_factory=Counter)
    total: Counter[bool] = field(default_factory=Counter)

    def add(self, *, grounded: bool, rejected: bool) -> None:
        """Count one record."""
        self.total[grounded] += 1
        self.rejected[grounded] += rejected

    def rate(self, *, grounded: bool) -> float:
        """Share of rejected records among those with this label."""
        return self.rejected[grounded] / self.total[grounded] if self.total[grounded] else 0.0


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Labelled responses and claims of the file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["task"] != "sufficiency" and record["grounded"] is not None:
                yield record


def judge(record: dict[str, Any], options: VerifyOptions) -> Verification:
    """Verify one record as a reply that cites all its units."""
    evidence = number(record["context"])
    parsed = ParsedAnswer(answer=record["response"], evidence_ids=evidence.ids)
    return verify_answer(evidence, parsed, question=record["query"], options=options)


def table(title: str, by_source: dict[str, Counts]) -> None:
    """Print one row per source, the sum, and the mean over sources."""
    print(f"\n{title}")
    print(f"{'source':26s}{'false alarms':>16s}{'caught':>16s}")
    whole = Counts()
    for source, counts in sorted(by_source.items()):
        print(
            f"{source:26s}{_cell(counts, grounded=True):>16s}{_cell(counts, grounded=False):>16s}"
        )
        whole.rejected.update(counts.rejected)
        whole.total.update(counts.total)
    print(
        f"{'all records':26s}{_cell(whole, grounded=True):>16s}{_cell(whole, grounded=False):>16s}"
    )
    macro = [
        sum(c.rate(grounded=g) for c in by_source.values() if c.total[g])
        / sum(bool(c.total[g]) for c in by_source.values())
        for g in (True, False)
    ]
    print(f"{'mean over sources':26s}{macro[0]:16.1%}{macro[1]:16.1%}")


def _cell(counts: Counts, *, grounded: bool) -> str:
    n, of = counts.rejected[grounded], counts.total[grounded]
    return f"{n}/{of} {n / of:.1%}" if of else "-"


def main() -> int:
    """Run the benchmark; 2 when the data is absent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT)
    parser.add_argument("--list", action="store_true", help="print the rejected grounded records")
    arguments = parser.parse_args()
    if not arguments.data.exists():
        print(f"no labelled data at {arguments.data}", file=sys.stderr)
        return 2
    strict: dict[str, Counts] = defaultdict(Counts)
    exempt: dict[str, Counts] = defaultdict(Counts)
    kinds: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for record in records(arguments.data):
        grounded = bool(record["grounded"])
        found = judge(record, VerifyOptions())
        relaxed = judge(record, VerifyOptions(exempt_question_entities=True))
        strict[record["source"]].add(grounded=grounded, rejected=not found.verified)
        exempt[record["source"]].add(grounded=grounded, rejected=not relaxed.verified)
        for kind in {(item.kind, item.reason) for item in found.findings}:
            kinds[kind][grounded] += 1
        if arguments.list and grounded and not found.verified:
            print(record["id"], [(f.kind, f.reason, f.text, f.nearest) for f in found.findings])
    table("strict", strict)
    table("strict, names of the question exempt", exempt)
    print(f"\n{'finding':40s}{'on grounded':>12s}{'on ungrounded':>15s}")
    for (kind, reason), counts in sorted(kinds.items(), key=lambda item: -sum(item[1].values())):
        print(f"{kind + ' / ' + reason:40s}{counts[True]:12d}{counts[False]:15d}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
