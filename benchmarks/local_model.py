"""What probes find with a small real model, on organisations it may know and on a made-up twin.

    python benchmarks/local_model.py [--questions 14] [--minutes 20] [--keep DIR]

Serves the bundled model (SmolLM2, 135 million parameters, extra `local`) on the loopback address.
A model of this size repeats itself until it is cut: without a bound 12 of 13 answers over the real
graph were no answer. So the schema of each request bounds its lists and texts here.

Makes the fictional twin of `terrorist_orgs`: the same graph and questions under other names, dates
and numbers. Then probes the same questions over both, a question of each kind in turn. When the
minutes are over, no further question is asked; both worlds have the same questions at the end.

With `--keep DIR` what was found stays there, a line a question: the same command goes on where it
stopped, and prints its table again without a call.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import anyio

from aletheia.config import Settings, settings
from aletheia.llm.build import ModelServices, open_services
from aletheia.llm.local_model import LocalModelServer
from aletheia.pipeline import locate
from aletheia.pipeline.answer import Options
from aletheia.pipeline.assemble import Choice, EndpointModels
from aletheia.pipeline.fictionalise import FictionaliseRequest, fictionalise
from aletheia.pipeline.probe_question import ProbeStages, probe_question
from aletheia.pipeline.probe_setup import load_world, plan_probes, probe_stages
from aletheia.pipeline.request import Request
from aletheia.reports.attribution_tally import summarise
from aletheia.reports.attribution_text import ranged_text, rate_text
from aletheia.schema.attribution import ConditionCount, Probe, ProbeSummary, QuestionProbe
from aletheia.schema.model import ChatModel, Embedder, Prompt, Reply
from aletheia.schema.question import Question

REAL = "terrorist_orgs"
MAX_OUTPUT = 120
UNITS = 4
ITEMS, TEXT = 2, 60
"""Most cited units, and most characters of a text."""
ASKED: frozenset[Probe] = frozenset({"closed-book", "counterfactual"})
"""What decides most questions; removing and shuffling would take twice the time."""


@dataclass(frozen=True)
class Bounded:
    """A model whose replies are bounded by their schema: no list and no text without an end."""

    inner: ChatModel

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt."""
        return await self.inner.complete(replace(prompt, schema=bounded(prompt.schema)))


def bounded(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Bound every list and every text of a schema of one level."""
    if schema is None:
        return None
    properties = {
        name: {
            **one,
            **({"maxItems": ITEMS} if one.get("type") == "array" else {"maxLength": TEXT}),
        }
        for name, one in schema["properties"].items()
    }
    return {**schema, "properties": properties}


@dataclass(frozen=True)
class BoundedModels:
    """The models of the endpoint, bounded."""

    maker: EndpointModels

    def chat(self, model: str | None) -> ChatModel:
        """Return the model of this name."""
        return Bounded(self.maker.chat(model))

    def embedder(self) -> Embedder:
        """Return what the endpoint embeds with."""
        return self.maker.embedder()


@dataclass(kw_only=True)
class Place:
    """A world with what probes it, and what was found in it so far."""

    name: str
    stages: ProbeStages
    questions: Sequence[Question]
    kept: Path
    found: dict[str, QuestionProbe] = field(default_factory=dict)

    def add(self, probe: QuestionProbe) -> None:
        """Keep what was found of one question."""
        self.found[probe.id] = probe
        with self.kept.open("a", encoding="utf-8") as handle:
            handle.write(probe.model_dump_json() + "\n")

    @property
    def by_id(self) -> dict[str, Question]:
        """The questions of this world."""
        return {q.id: q for q in self.questions}


def in_turn(questions: Sequence[Question], number: int) -> list[str]:
    """Take a question of each type in turn, those that have an answer."""
    kinds: dict[str, list[str]] = {}
    for q in questions:
        if q.answerable:
            kinds.setdefault(q.type or "", []).append(q.id)
    rounds = zip_longest(*kinds.values())
    return [name for one in rounds for name in one if name is not None][:number]


def twin(directory: Path) -> tuple[Path, Path]:
    """Write the fictional graph and its questions, unless they are there."""
    graph, asked = directory / "twin.json", directory / "twin_questions.json"
    request = FictionaliseRequest(
        knowledge_graph=REAL,
        output=graph,
        questions=REAL,
        questions_output=asked,
        force=True,
        graph_dirs=locate.graph_dirs(),
    )
    if not (graph.exists() and asked.exists()):
        fictionalise(request)
    return graph, asked


def place(
    now: Settings, services: ModelServices, name: str, graph: str, questions: str, directory: Path
) -> Place:
    """Set a world up for all probes."""
    request = Request(
        knowledge_graph=graph,
        questions=questions,
        output_dir=directory,
        options=Options(max_units=UNITS),
        choice=Choice(generator="llm", judge="none"),
        concurrency=1,
    )
    kept = directory / f"{name}.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    found = [QuestionProbe.model_validate_json(line) for line in lines]
    world = load_world(now, request)
    models = BoundedModels(EndpointModels(now, services))
    stages = probe_stages(now, plan_probes(now, request), world, models, probes=ASKED, seed=0)
    return Place(
        name=name,
        stages=stages,
        questions=world.questions.questions,
        kept=kept,
        found={item.id: item for item in found},
    )


async def ask(places: Sequence[Place], ids: Sequence[str], until: float) -> None:
    """Ask each question in every world, as long as there is time."""
    for name in ids:
        lacking = [world for world in places if name not in world.found]
        if lacking and time.monotonic() > until:
            return
        for world in lacking:
            started = time.monotonic()
            options = Options(max_units=UNITS)
            made = await probe_question(world.by_id[name], world.stages, options)
            world.add(made.probe)
            took = time.monotonic() - started
            print(f"{world.name:<10}{name:<24}{took:>6.0f} s", file=sys.stderr, flush=True)


Cell = Callable[[ProbeSummary], str]


def outcomes(name: str) -> Cell:
    """Show how often each outcome of a condition was seen."""

    def cell(summary: ProbeSummary) -> str:
        found = condition(summary, name)
        seen = [f"{word} {count}" for word, count in sorted(found.outcomes.items())]
        rest = (("no answer", found.unmeasured), ("cannot be asked", found.not_applicable))
        return ", ".join([*seen, *(f"{word} {n}" for word, n in rest if n)]) or "not asked"

    return cell


def condition(summary: ProbeSummary, name: str) -> ConditionCount:
    """Return the count of one condition."""
    return next(item for item in summary.conditions if item.condition == name)


def unmeasured(summary: ProbeSummary) -> str:
    """Say how many replies that were asked for could not be used."""
    lost = sum(item.unmeasured for item in summary.conditions)
    asked = lost + sum(sum(item.outcomes.values()) for item in summary.conditions)
    return f"{lost} of {asked}"


def attributions(summary: ProbeSummary) -> str:
    """Show where answers came from."""
    named = {**summary.attributions, "undecided": summary.undecided}
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in named.items() if count)


LINES: tuple[tuple[str, Cell], ...] = (
    ("questions, all with an answer", lambda s: str(s.questions)),
    ("with evidence", outcomes("base")),
    ("without evidence", outcomes("closed_book")),
    ("other names, dates, numbers", outcomes("counterfactual")),
    ("replies without a readable answer", unmeasured),
    ("right with evidence", lambda s: ranged_text(s.accuracy)),
    ("right without evidence", lambda s: ranged_text(s.known_beforehand)),
    ("attribution", attributions),
    ("contamination", lambda s: ranged_text(s.contamination)),
    ("corrected accuracy", lambda s: rate_text(s.corrected)),
)


def table(places: Sequence[Place]) -> Iterator[str]:
    """Write the table as Markdown, over the questions that all worlds have."""
    both = frozenset.intersection(*(frozenset(world.found) for world in places))
    summaries = [
        summarise([probe for name, probe in world.found.items() if name in both])
        for world in places
    ]
    yield f"| | {' | '.join(world.name for world in places)} |"
    yield "|---" * (len(places) + 1) + "|"
    for label, cell in LINES:
        yield f"| {label} | {' | '.join(cell(summary) for summary in summaries)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=14)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--keep", type=Path, default=None)
    options = parser.parse_args()
    with ExitStack() as stack:
        directory = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        directory.mkdir(parents=True, exist_ok=True)
        graph, asked = twin(directory)
        server = stack.enter_context(LocalModelServer())
        now = stack.enter_context(
            settings.override(
                openai_base_url=server.base_url,
                model=server.model,
                max_output_tokens=MAX_OUTPUT,
                timeout_s=600,
                total_timeout_s=600,
                cache_enabled=False,
            )
        )
        services = stack.enter_context(open_services(now, concurrency=1))
        places = [
            place(now, services, "real", REAL, REAL, directory),
            place(
                now, services, "fictional", str(graph.resolve()), str(asked.resolve()), directory
            ),
        ]
        ids = in_turn(places[0].questions, options.questions)
        until = time.monotonic() + 60 * options.minutes
        anyio.run(ask, places, ids, until)
        print("\n".join(table(places)))


if __name__ == "__main__":
    main()
