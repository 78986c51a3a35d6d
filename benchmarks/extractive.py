"""How well the extractive generator does on the shipped question sets.

    python benchmarks/extractive.py [--no-embedder] [--units 12] [--hops 2]

Prints, for each set and question type, what was answered right and grounded, what was abstained,
and what retrieval had brought; then every wrong answer that passes verification. The even
positions of `aldermoor` are the half that the generator was developed on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aletheia.generators.extractive import ExtractiveGenerator
from aletheia.graph import load
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.text import fold
from aletheia.grounding.numbering import number
from aletheia.grounding.verify import verify_reply
from aletheia.llm.embedded import MiniLM
from aletheia.schema.answer import ABSTENTION
from aletheia.schema.model import Embedder
from aletheia.schema.question import Question
from aletheia.schema.verification import Mode

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question and what became of it."""

    question: Question
    answer: str
    abstained: bool
    right: bool
    grounded: bool
    rejection: str
    retrieved: bool
    seconds: float

    @property
    def wrong_and_passed(self) -> bool:
        """The worst kind: it passes verification and does not answer."""
        return self.grounded and not self.right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-embedder", action="store_true", help="words only, in both stages")
    parser.add_argument("--units", type=int, default=12, help="units retrieved per question")
    parser.add_argument("--hops", type=int, default=2)
    options = parser.parse_args()
    embedder = None if options.no_embedder else MiniLM()
    for name, half in (("aldermoor", 0), ("aldermoor", 1), ("terrorist_orgs", None)):
        rows = run(name, half, embedder, units=options.units, hops=options.hops)
        title = {0: "even positions (development)", 1: "odd positions", None: "all"}[half]
        show(f"{name}: {title}", rows)


def run(
    name: str, half: int | None, embedder: Embedder | None, *, units: int, hops: int
) -> list[Row]:
    graph = load(name, search_dirs=[ROOT / "graphs"])
    content = json.loads((ROOT / "questions" / f"{name}.json").read_text(encoding="utf-8"))
    questions = [Question.model_validate(item) for item in content["questions"]]
    chosen = [q for i, q in enumerate(questions) if half is None or i % 2 == half]
    generator = ExtractiveGenerator(embedder)
    return [ask(generator, graph, q, embedder, units=units, hops=hops) for q in chosen]


def ask(
    generator: ExtractiveGenerator,
    graph: KnowledgeGraph,
    question: Question,
    embedder: Embedder | None,
    *,
    units: int,
    hops: int,
) -> Row:
    found = graph.retrieve(question.question, hops=hops, max_units=units, embedder=embedder)
    evidence = number(list(found.units))
    started = time.perf_counter()
    generation = asyncio.run(generator.generate(question.question, evidence, mode=Mode.STRICT))
    seconds = time.perf_counter() - started
    verdict = verify_reply(evidence, generation.reply, question=question.question)
    answer = json.loads(generation.reply)["answer"]
    abstained = answer == ABSTENTION
    everything = "\n".join(unit.text for unit in evidence)
    return Row(
        question=question,
        answer=answer,
        abstained=abstained,
        right=question.answerable and not abstained and holds_gold(answer, question),
        grounded=verdict.verified and not abstained,
        rejection="" if verdict.verified else str([f.reason for f in verdict.findings]),
        retrieved=question.answerable and holds_gold(f"{everything} Yes", question),
        seconds=seconds,
    )


def holds_gold(text: str, question: Question) -> bool:
    """Whether the gold answer or an alias stands in `text`, whole words; of a list, all parts."""
    folded = f" {fold(text)} "
    return any(_holds(folded, gold) for gold in (question.answer, *question.answer_aliases))


def _holds(folded: str, gold: str) -> bool:
    if f" {fold(gold)} " in folded:
        return True
    parts = [p for item in gold.split(",") for p in item.split(" and ") if p.strip()]
    return len(parts) > 1 and all(f" {fold(part)} " in folded for part in parts)


def show(title: str, rows: Sequence[Row]) -> None:
    print(f"\n{title}")
    head = ("type", "n", "right", "grnd", "r+g", "refused", "n", "abst", "w+p", "retr")
    print("{:<20}{:>5}{:>7}{:>6}{:>6}{:>9} |{:>5}{:>6} |{:>5}{:>6}".format(*head))
    for kind in sorted({row.question.type or "" for row in rows}):
        print(_line(kind, [row for row in rows if row.question.type == kind]))
    print(_line("all", rows))
    seconds = sorted(row.seconds for row in rows)
    median, worst = seconds[len(seconds) // 2] * 1000, seconds[-1] * 1000
    print(f"{median:.1f} ms a question (median), {worst:.1f} ms at most")
    _list("wrong and passed", (row for row in rows if row.wrong_and_passed))
    _list("rejected", (row for row in rows if row.rejection))


def _line(label: str, rows: Sequence[Row]) -> str:
    answerable = [row for row in rows if row.question.answerable]
    others = [row for row in rows if not row.question.answerable]
    counts = (
        len(answerable),
        sum(row.right for row in answerable),
        sum(row.grounded for row in answerable),
        sum(row.right and row.grounded for row in answerable),
        sum(row.abstained for row in answerable),
        len(others),
        sum(row.abstained for row in others),
        sum(row.wrong_and_passed for row in rows),
        sum(row.retrieved for row in answerable),
    )
    return ("{:<20}{:>5}{:>7}{:>6}{:>6}{:>9} |{:>5}{:>6} |{:>5}{:>6}").format(label, *counts)


def _list(title: str, rows: Iterable[Row]) -> None:
    for row in rows:
        missing = "" if row.retrieved or not row.question.answerable else " [not retrieved]"
        print(f"  {title}: {row.question.id}{missing} {row.rejection}")
        print(f"    asked: {row.question.question}")
        print(f"    gold:  {row.question.answer}")
        print(f"    said:  {row.answer}")


if __name__ == "__main__":
    main()
