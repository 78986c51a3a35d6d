"""A small graph, its questions, and a run over them with a model that follows a script."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aletheia import graph
from aletheia.generators.llm import LLMGenerator
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.llm.embedded import MiniLM
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.pipeline.answer import Options, Retriever, Stages
from aletheia.pipeline.setup import Setup
from aletheia.pipeline.support import count_support
from aletheia.ragas_bridge import EmbeddedSuite, MetricSuite
from aletheia.schema.model import Prompt
from aletheia.schema.question import Question, QuestionSet
from aletheia.testing import answer_reply

PORTS = ("Orle", "Vask", "Tarn", "Quell", "Mirren", "Dunmore", "Ashby", "Brack", "Corve", "Ember")
MINILM = MiniLM()


def port_graph(directory: Path) -> KnowledgeGraph:
    """Ten ports, each founded in another year."""
    nodes = [
        {"id": name.lower(), "name": name, "type": "Port", "founded": str(1801 + number)}
        for number, name in enumerate(PORTS)
    ]
    path = directory / "ports.json"
    path.write_text(json.dumps({"nodes": nodes, "links": []}), encoding="utf-8")
    return graph.load(str(path), search_dirs=())


def port_questions(number: int) -> QuestionSet:
    """Ask when the first `number` ports were founded."""
    made = tuple(
        Question(
            id=f"q{n}",
            question=f"When was {name} founded?",
            answer=str(1801 + n),
            type="temporal",
            supporting_facts=(f"{name.lower()}|founded",),
        )
        for n, name in enumerate(PORTS[:number])
    )
    return QuestionSet(name="ports", digest=f"sha256:{number}", questions=made)


def honest(prompt: Prompt) -> Line:
    """Answer with the unit that tells when the port of the question was founded."""
    port = port_of(prompt)
    for line in prompt.user.splitlines():
        if line.startswith("[E") and f"{port} was founded" in line:
            unit, _, text = line.partition("] ")
            return answer_reply(text.partition(": ")[2] or text, [unit.removeprefix("[")])
    return answer_reply("INSUFFICIENT_CONTEXT")


def port_of(prompt: Prompt) -> str:
    """Name the port that is asked about."""
    return prompt.user.partition("When was ")[2].partition(" founded?")[0]


def says(lines: dict[str, Line], otherwise: Callable[[Prompt], Line] = honest) -> ScriptedModel:
    """Say something else for some ports."""
    return ScriptedModel(lambda prompt: lines.get(port_of(prompt)) or otherwise(prompt))


class Clock:
    """A time of day that is a minute later at each look."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def setup(
    directory: Path,
    model: ScriptedModel,
    *,
    number: int = 4,
    options: Options | None = None,
    suite: MetricSuite | None = None,
    retriever: Retriever | None = None,
    stop_after: int = 5,
    concurrency: int = 2,
    now: Callable[[], datetime] | None = None,
) -> Setup:
    """Put a run together; `directory` gets the graph and, in `out`, the report."""
    loaded = port_graph(directory)
    return Setup(
        graph=loaded,
        questions=port_questions(number),
        stages=Stages(
            graph=retriever or loaded,
            generator=LLMGenerator(model),
            suite=suite or EmbeddedSuite(embedder=MINILM, support=count_support),
            embedder=None,
            clock=time.monotonic,
        ),
        options=options or Options(),
        output_dir=directory / "out",
        now=now or Clock(),
        concurrency=concurrency,
        stop_after=stop_after,
        prompt_digest="sha256:p",
    )


def timeless(dump: Sequence[object] | dict[str, object]) -> object:
    """Leave out of a report what may differ between two runs of one kind."""
    if isinstance(dump, dict):
        gone = {"timings_ms", "created_at", "resumed", "command"}
        return {key: timeless(value) for key, value in dump.items() if key not in gone}  # type: ignore[arg-type]
    if isinstance(dump, list):
        return [timeless(item) for item in dump]
    return dump
