"""What ragas costs: its import, and the offline metrics over 100 rows. Prints a table.

Run: python benchmarks/ragas_import.py
"""

from __future__ import annotations

import sys
import time

import anyio

from aletheia.llm.embedded import MiniLM
from aletheia.ragas_bridge import EmbeddedSuite, MetricSample, Support
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit

ROWS = 100
UNITS = 12


def rows(*, facts: bool) -> list[MetricSample]:
    towns = [f"Town{n}" for n in range(UNITS)]
    units = tuple(
        EvidenceUnit(
            id=f"E{n}",
            text=f"The port of {town} opened in {1900 + n} and exports tea, salt and tin.",
            key=str(n),
            position=n - 1,
            facts=(f"f{n}",) if facts else (),
        )
        for n, town in enumerate(towns, 1)
    )
    return [
        MetricSample(
            question=f"Which port opened in year {n}?",
            answer=f"The port of {towns[n % UNITS]} opened then, {n} years ago.",
            gold_answer=towns[n % UNITS],
            gold_aliases=(f"Port {n}",),
            evidence=EvidenceSet(units=units),
            supporting_facts=("f2", "f5") if facts else (),
        )
        for n in range(ROWS)
    ]


async def main() -> None:
    suite = EmbeddedSuite(embedder=MiniLM(), support=lambda *_: Support(1, 2, 0))
    assert "ragas" not in sys.modules
    start = time.perf_counter()
    await suite.prepare()
    print(f"{'import of ragas':<44}{time.perf_counter() - start:8.2f} s")
    await suite.score(rows(facts=True)[0])
    for name, facts in (("supporting facts", True), ("gold answer words", False)):
        samples = rows(facts=facts)
        start = time.perf_counter()
        await suite.score_many(samples)
        print(f"{f'{ROWS} rows in one batch, {name}':<44}{time.perf_counter() - start:8.2f} s")
        start = time.perf_counter()
        for sample in samples:
            await suite.score(sample)
        print(f"{f'{ROWS} rows one by one, {name}':<44}{time.perf_counter() - start:8.2f} s")


if __name__ == "__main__":
    anyio.run(main)
