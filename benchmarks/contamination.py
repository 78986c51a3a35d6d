"""Whether probes find out where answers came from, over generators whose answers are known.

    python benchmarks/contamination.py [--repetitions 200] [--rates 0.1,0.3,0.5] [--quick]

Four generators are made so that the truth is known: one reads the evidence and nothing else, one
answers from a table of gold answers and nothing else, one does either, by a coin of a set rate for
each question, and one answers from the table and cites units at random. None of them is a model.
They run over the invented region and over the real organisations, through the real retrieval,
verification, renaming and attribution.

Prints how many questions are attributed rightly, and in how many seeded repetitions the set rate
lies within the 95 % interval of the run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio

from aletheia import graph
from aletheia.generators.base import Generation
from aletheia.graph.rename import Renaming, rename
from aletheia.graph.search import Retrieval
from aletheia.graph.text import fold
from aletheia.pipeline import locate
from aletheia.pipeline.answer import Options
from aletheia.pipeline.probe_conditions import Counterfacts
from aletheia.pipeline.probe_question import ProbeStages, probe_question
from aletheia.pipeline.probes import question_texts
from aletheia.pipeline.questions import load_questions
from aletheia.reports.attribution_tally import contamination
from aletheia.schema.answer import ABSTENTION
from aletheia.schema.attribution import PROBES, Attribution, ProbeRate, QuestionProbe
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.model import Embedder
from aletheia.schema.question import Question
from aletheia.schema.verification import Mode

WORLDS = ("aldermoor", "terrorist_orgs")


def drawn(*parts: object) -> float:
    """Draw a number from 0 to 1, the same for the same parts."""
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64


def reply(answer: str, cited: Iterable[str] = ()) -> Generation:
    """Write an answer as a generator does."""
    body = {"answer": answer, "evidence_ids": list(cited), "reasoning": ""}
    return Generation(reply=json.dumps(body), model="made")


class Cached:
    """A graph that retrieves once for each question: conditions are what is measured here."""

    def __init__(self, found: graph.KnowledgeGraph) -> None:
        self._graph = found
        self._kept: dict[str, Retrieval] = {}

    def retrieve(
        self,
        question: str,
        *,
        hops: int,
        max_units: int,
        embedder: Embedder | None,
        community: bool,
    ) -> Retrieval:
        """Evidence by walking the graph."""
        if question not in self._kept:
            self._kept[question] = self._graph.retrieve(
                question, hops=hops, max_units=max_units, embedder=embedder, community=community
            )
        return self._kept[question]

    def similarity_only(
        self, question: str, *, max_units: int, embedder: Embedder | None
    ) -> Retrieval:
        """Evidence by similarity alone."""
        return self._graph.similarity_only(question, max_units=max_units, embedder=embedder)


@dataclass(frozen=True, kw_only=True)
class World:
    """A graph with its questions, and the renaming that probes will use."""

    name: str
    graph: Cached
    questions: tuple[Question, ...]
    renaming: Renaming


def world(name: str) -> World:
    """Load a world that came with the package."""
    found = graph.load(name, search_dirs=locate.graph_dirs())
    path = locate.question_file(name, locate.question_dirs())
    questions = load_questions(path).questions
    _, renaming = rename(found, 0, texts=question_texts(questions))
    return World(name=name, graph=Cached(found), questions=questions, renaming=renaming)


class Memory:
    """Knows the gold answer of every question by heart, and of no renamed one."""

    name, model = "memory", "made"

    def __init__(self, questions: Sequence[Question], *, cites: bool = True) -> None:
        self._known = {fold(q.question): q.answer for q in questions if q.answerable}
        self._cites = cites

    async def generate(self, question: str, evidence: EvidenceSet, *, mode: Mode) -> Generation:
        """Answer from the table; what is shown makes no difference to the answer."""
        del mode
        answer = self._known.get(fold(question), ABSTENTION)
        cited = self._decoration(question, evidence) if answer != ABSTENTION else ()
        return reply(answer, cited)

    def _decoration(self, question: str, evidence: EvidenceSet) -> tuple[str, ...]:
        if not evidence or not self._cites:
            return ()
        ids = sorted(evidence.ids, key=lambda unit: drawn("cite", question, unit))
        return tuple(ids[:2])


class Reader:
    """Reads the units that state what is asked, and knows nothing else.

    It knows which facts a question asks for, also where the question is renamed; what they say it
    takes from the text that is shown.
    """

    name, model = "reader", "made"

    def __init__(self, questions: Sequence[Question], renaming: Renaming) -> None:
        self._asked = {
            fold(text): q.supporting_facts
            for q in questions
            for text in (renaming.question(q).question, q.question)
        }

    async def generate(self, question: str, evidence: EvidenceSet, *, mode: Mode) -> Generation:
        """Answer with the units that state the facts."""
        del mode
        wanted = set(self._asked.get(fold(question), ()))
        held = {fact for unit in evidence for fact in unit.facts}
        units = [unit for unit in evidence if wanted.intersection(unit.facts)]
        if not wanted or not wanted <= held:
            return reply(ABSTENTION)
        text = " ".join(f"{unit.source or ''} {unit.text}".strip() for unit in units)
        return reply(text, (unit.id for unit in units))


class Mixed:
    """Answers from memory by a coin of a set rate, thrown once for each question."""

    name, model = "mixed", "made"

    def __init__(self, place: World, rate: float, seed: int) -> None:
        self._memory, self._reader = (
            Memory(place.questions),
            Reader(place.questions, place.renaming),
        )
        self._from_memory = {
            fold(text)
            for q in place.questions
            if drawn("coin", seed, q.id) < rate
            for text in (q.question, place.renaming.question(q).question)
        }

    async def generate(self, question: str, evidence: EvidenceSet, *, mode: Mode) -> Generation:
        """Answer by one of the two."""
        remembers = fold(question) in self._from_memory
        who: Memory | Reader = self._memory if remembers else self._reader
        return await who.generate(question, evidence, mode=mode)


@dataclass(frozen=True)
class WithoutEvidence:
    """Asks a made generator without evidence: the closed book."""

    inner: Memory | Reader | Mixed

    async def generate(self, question: str) -> Generation:
        """Answer without evidence."""
        return await self.inner.generate(question, EvidenceSet(), mode=Mode.STRICT)


def probe_all(place: World, generator: Memory | Reader | Mixed) -> list[QuestionProbe]:
    """Probe every question of a world."""
    stages = ProbeStages(
        graph=place.graph,
        generator=generator,
        closed_book=WithoutEvidence(generator),
        counterfacts=Counterfacts(place.renaming),
        embedder=None,
        probes=frozenset(PROBES),
    )

    async def every() -> list[QuestionProbe]:
        return [(await probe_question(q, stages, Options())).probe for q in place.questions]

    return anyio.run(every)


def expected(probe: QuestionProbe, source: Attribution) -> Attribution:
    """Return the truth: an abstention came from nowhere."""
    return "neither" if probe.condition("base").abstained else source


@dataclass(kw_only=True)
class Score:
    """How many questions were attributed rightly; `wrong` lists the others."""

    right: int = 0
    total: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, probe: QuestionProbe, truth: Attribution) -> None:
        """Count one question."""
        self.total += 1
        self.right += probe.attribution == truth
        if probe.attribution != truth:
            self.wrong.append(f"{probe.id}: {probe.attribution}, not {truth}; {probe.because}")


def scored(probes: Iterable[QuestionProbe], source: Attribution) -> Score:
    """Compare attributions with the truth."""
    score = Score()
    for item in probes:
        score.add(item, expected(item, source))
    return score


def contamination_of(
    memory: Mapping[str, QuestionProbe], read: Mapping[str, QuestionProbe], rate: float, seed: int
) -> ProbeRate:
    """Return the contamination rate of a run in which a coin chose the source of each answer.

    A question is probed by its own replies alone, so its record in the mixed run is its record in
    the run of the generator that the coin chose (the tests run some of them in full).
    """
    chosen = [(memory if drawn("coin", seed, name) < rate else read)[name] for name in memory]
    return contamination(chosen)


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """In how many repetitions the set rate lies within the interval."""

    rate: float
    within: int
    repetitions: int
    mean: float


def coverage(
    memory: Sequence[QuestionProbe], read: Sequence[QuestionProbe], rate: float, repetitions: int
) -> Coverage:
    """Throw the coins anew in each repetition. Questions that nobody answers are left out."""
    known = {p.id: p for p in memory if not p.condition("base").abstained}
    seen = {p.id: p for p in read if not p.condition("base").abstained}
    both = sorted(known.keys() & seen.keys())
    rates = [
        contamination_of({n: known[n] for n in both}, {n: seen[n] for n in both}, rate, seed).rate
        for seed in range(repetitions)
    ]
    values = [r for r in rates if r.low is not None and r.high is not None]
    within = sum((r.low or 0) <= rate <= (r.high or 0) for r in values)
    mean = sum(r.value or 0.0 for r in values) / len(values)
    return Coverage(rate=rate, within=within, repetitions=repetitions, mean=mean)


def repeated(questions: Sequence[Question], number: int) -> tuple[Question, ...]:
    """Take the questions again and again, under ids of their own."""
    return tuple(
        questions[n % len(questions)].model_copy(update={"id": f"{n:04d}"}) for n in range(number)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--rates", default="0.1,0.3,0.5,0.8")
    parser.add_argument("--quick", action="store_true", help="without the run of 500 questions")
    options = parser.parse_args()
    runs: dict[str, tuple[list[QuestionProbe], list[QuestionProbe]]] = {}
    print(f"{'world':<16}{'generator':<22}{'rightly attributed':>20}{'seconds':>10}")
    for name in WORLDS:
        place = world(name)
        memory, reader = Memory(place.questions), Reader(place.questions, place.renaming)
        made: tuple[tuple[str, Memory | Reader, Attribution], ...] = (
            ("evidence only", reader, "from_evidence"),
            ("memory, no citations", Memory(place.questions, cites=False), "from_memory"),
            ("memory, decorative", memory, "from_memory"),
        )
        runs[name] = ([], [])
        for label, generator, source in made:
            started = time.perf_counter()
            probes = probe_all(place, generator)
            score = scored(probes, source)
            took = time.perf_counter() - started
            share = f"{score.right} of {score.total} ({score.right / score.total:.1%})"
            print(f"{name:<16}{label:<22}{share:>20}{took:>10.1f}")
            for line in score.wrong:
                print(f"    {line}")
            if generator is memory:
                runs[name][0].extend(probes)
            elif generator is reader:
                runs[name][1].extend(probes)
    runs["both"] = tuple([probe for run in runs.values() for probe in run[n]] for n in (0, 1))
    print(f"\n{'world':<16}{'set rate':>9}{'mean found':>12}{'within its interval':>24}")
    for name, (remembered, read) in runs.items():
        for rate in map(float, options.rates.split(",")):
            found = coverage(remembered, read, rate, options.repetitions)
            within = f"{found.within} of {found.repetitions}"
            print(f"{name:<16}{rate:>9}{found.mean:>12.3f}{within:>24}")
    if not options.quick:
        _many(500)


def _many(number: int) -> None:
    """Time 500 questions under all conditions, with the generator that quotes the evidence.

    Every base answer gets its metrics, and every reply its cell.
    """
    from aletheia.generators.closed_book import NoMemory
    from aletheia.generators.extractive import ExtractiveGenerator
    from aletheia.llm.embedded import MiniLM
    from aletheia.pipeline.judge_setup import embedded_judges
    from aletheia.pipeline.probe_judging import ProbeJudging
    from aletheia.pipeline.row_diagnosis import Diagnoser
    from aletheia.pipeline.support import count_support
    from aletheia.ragas_bridge import EmbeddedSuite

    place = world("aldermoor")
    embedder = MiniLM()
    stages = ProbeStages(
        graph=replace(place, questions=()).graph,
        generator=ExtractiveGenerator(embedder),
        closed_book=NoMemory(),
        counterfacts=Counterfacts(place.renaming),
        embedder=embedder,
        probes=frozenset(PROBES),
        judging=ProbeJudging(
            suite=EmbeddedSuite(embedder=embedder, support=count_support),
            diagnoser=Diagnoser(judges=embedded_judges()),
        ),
    )

    async def every() -> int:
        asked = 0
        for question in repeated(place.questions, number):
            made = await probe_question(question, stages, Options())
            asked += sum(item.status == "measured" for item in made.probe.conditions)
        return asked

    wall, cpu = time.perf_counter(), time.process_time()
    asked = anyio.run(every)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"\n{number} questions, {asked} replies, extractive: {wall:.0f} s, {cpu:.0f} s of CPU")


if __name__ == "__main__":
    main()
