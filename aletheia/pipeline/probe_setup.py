"""A request for a probe run, and what is built from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from aletheia import graph
from aletheia.config import Settings
from aletheia.errors import UsageError
from aletheia.generators.closed_book import (
    ClosedBook,
    ClosedBookGenerator,
    NoMemory,
    closed_book_digest,
)
from aletheia.llm.build import make_services
from aletheia.pipeline import assemble, files, locate
from aletheia.pipeline.answer import Stages
from aletheia.pipeline.probe_conditions import Counterfacts
from aletheia.pipeline.probe_judging import ProbeJudging
from aletheia.pipeline.probe_question import ProbeStages
from aletheia.pipeline.probes import ProbeSetup, question_texts
from aletheia.pipeline.request import Request, budgeted, load_set, local_now
from aletheia.schema.attribution import PROBES, Probe
from aletheia.schema.model import ChatModel, Embedder, Prompt, Reply
from aletheia.schema.question import QuestionSet

if TYPE_CHECKING:
    from aletheia.graph.knowledge import KnowledgeGraph

PURPOSE = "probe"
"""What the calls of probes are for, as it is shown in costs."""


def chosen_probes(names: str) -> frozenset[Probe]:
    """Read a list such as `closed-book,shuffle`. Raises `UsageError` for an unknown name."""
    wanted = [part.strip() for part in names.split(",") if part.strip()]
    known: dict[str, Probe] = {name: name for name in PROBES}
    for name in wanted:
        if name not in known:
            listed = ", ".join(f"`{item}`" for item in PROBES)
            raise UsageError(f"there is no probe `{name}`", hint=f"there are {listed}")
    if not wanted:
        raise UsageError("`--probes` names no probe", hint="leave it out for all of them")
    return frozenset(known[name] for name in wanted)


@dataclass(frozen=True, slots=True)
class PurposeModel:
    """A chat model whose calls are counted under one purpose."""

    inner: ChatModel
    purpose: str

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt."""
        return await self.inner.complete(replace(prompt, purpose=self.purpose))


@dataclass(frozen=True, slots=True)
class ProbeModels:
    """Models of another maker, whose calls count as probes."""

    maker: assemble.ModelMaker
    purpose: str = PURPOSE

    def chat(self, model: str | None) -> ChatModel:
        """Return the model of this name."""
        return PurposeModel(self.maker.chat(model), self.purpose)

    def embedder(self) -> Embedder:
        """Return what the endpoint embeds with."""
        return self.maker.embedder()


def plan_probes(settings: Settings, request: Request) -> assemble.Plan:
    """Decide who answers and who puts answers into cells. Raises what `plan` raises.

    Metrics and judges are the embedded ones, so that only the probes themselves ask a model.
    """
    judge: assemble.DiagnosisChoice = "none" if request.choice.judge == "none" else "embedded"
    choice = replace(request.choice, metrics="embedded", judge=judge, judge_model=None)
    return assemble.plan(settings, choice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The graph and the questions of a request, and the renaming of both."""

    graph: KnowledgeGraph
    questions: QuestionSet
    counterfacts: Counterfacts = field(repr=False)


def load_world(settings: Settings, request: Request) -> Loaded:
    """Read graph and questions. Raises `UsageError` or `DataError`."""
    from aletheia.graph.rename import rename

    questions = load_set(request)
    directories = locate.graph_dirs(settings.graph_path)
    loaded = graph.load(request.knowledge_graph, search_dirs=directories)
    _, renaming = rename(loaded, request.seed, texts=question_texts(questions.questions))
    return Loaded(graph=loaded, questions=questions, counterfacts=Counterfacts(renaming))


def probe_stages(
    settings: Settings,
    plan: assemble.Plan,
    world: Loaded,
    models: assemble.ModelMaker,
    *,
    probes: frozenset[Probe],
    seed: int,
) -> ProbeStages:
    """Build what probes work with from models of this maker."""
    stages = assemble.load(settings, plan, world.graph, models=ProbeModels(models))
    return ProbeStages(
        graph=world.graph,
        generator=stages.generator,
        closed_book=_closed_book(settings, plan, models, stages),
        counterfacts=world.counterfacts,
        embedder=stages.embedder,
        probes=probes,
        seed=seed,
        judging=ProbeJudging(suite=stages.suite, diagnoser=stages.diagnoser),
    )


def _closed_book(
    settings: Settings, plan: assemble.Plan, models: assemble.ModelMaker, stages: Stages
) -> ClosedBook:
    if plan.generator == "extractive":
        return NoMemory()
    model = ProbeModels(models).chat(stages.generator.model)
    return ClosedBookGenerator(model, max_output_tokens=settings.max_output_tokens)


def prepare_probes(
    settings: Settings,
    request: Request,
    *,
    probes: frozenset[Probe],
    now: Callable[[], datetime] = local_now,
) -> ProbeSetup:
    """Read and load everything; the caller closes the setup at the end.

    Raises `UsageError`, `ConfigError`, `DataError` or `StoreError` for what is wrong.
    """
    plan = plan_probes(settings, request)
    files.check_directory(request.output_dir)
    world = load_world(settings, request)
    concurrency = request.concurrency or settings.concurrency
    services = make_services(settings, concurrency=concurrency) if plan.asks else None
    models = assemble.EndpointModels(settings, services)
    return ProbeSetup(
        graph=world.graph,
        questions=world.questions,
        stages=probe_stages(settings, plan, world, models, probes=probes, seed=request.seed),
        options=budgeted(settings, request.options),
        output_dir=request.output_dir,
        now=now,
        concurrency=concurrency,
        stop_after=request.stop_after,
        note=plan.note,
        command=request.command,
        settings=settings.non_default(),
        prompt_digests=_digests(plan),
        budget_usd=settings.run_budget_usd,
        services=services,
    )


def _digests(plan: assemble.Plan) -> dict[str, str]:
    answer = assemble.prompt_digest(plan)
    if answer is None:
        return {}
    return {"answer": answer, "closed_book": closed_book_digest()}
