"""A request for a run, as the command line or a program makes it, and what is built from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from aletheia import graph
from aletheia.config import Settings
from aletheia.errors import UsageError
from aletheia.llm.build import make_services
from aletheia.pipeline import assemble, files, locate
from aletheia.pipeline.answer import Options
from aletheia.pipeline.questions import load_questions
from aletheia.pipeline.setup import Setup
from aletheia.schema.question import QuestionSet


def local_now() -> datetime:
    """Return the time of day with its zone."""
    return datetime.now(UTC).astimezone()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a run is asked to do.

    `knowledge_graph` and `questions` are names or paths. `limit` takes the first questions only.
    `concurrency` None leaves it to the settings.
    """

    knowledge_graph: str
    questions: str
    output_dir: Path
    options: Options = field(default_factory=Options)
    choice: assemble.Choice = field(default_factory=assemble.Choice)
    limit: int | None = None
    concurrency: int | None = None
    stop_after: int = 5
    seed: int = 0
    command: tuple[str, ...] = ()


def prepare(
    settings: Settings, request: Request, *, now: Callable[[], datetime] = local_now
) -> tuple[Setup, assemble.Plan]:
    """Read and load everything; what costs least is tried first.

    Nothing is written but the file of the reply cache, where models are asked. The caller closes
    the setup at the end. Raises `UsageError`, `ConfigError`, `DataError` or `StoreError` for what
    is wrong.
    """
    plan = assemble.plan(settings, request.choice)
    files.check_directory(request.output_dir)
    questions = load_set(request)
    loaded = graph.load(request.knowledge_graph, search_dirs=locate.graph_dirs(settings.graph_path))
    concurrency = request.concurrency or settings.concurrency
    services = make_services(settings, concurrency=concurrency) if plan.asks else None
    setup = Setup(
        graph=loaded,
        questions=questions,
        stages=assemble.load(settings, plan, loaded, services=services),
        options=budgeted(settings, request.options),
        output_dir=request.output_dir,
        now=now,
        seed=request.seed,
        concurrency=concurrency,
        stop_after=request.stop_after,
        prompt_digest=assemble.prompt_digest(plan),
        generator_note=plan.note,
        command=request.command,
        settings=settings.non_default(),
        extra_identity={**plan.identity(), **_limit(settings)},
        budget_usd=settings.run_budget_usd,
        services=services,
    )
    return setup, plan


def _limit(settings: Settings) -> dict[str, str]:
    """Name the limit of output tokens, where one goes out with every request."""
    most = settings.max_output_tokens
    return {} if most is None else {"output tokens": str(most)}


def budgeted(settings: Settings, options: Options) -> Options:
    """Hold each question to the budget of a trace."""
    return replace(
        options, budget_usd=settings.per_trace_budget_usd, unknown_price=settings.unknown_price
    )


def load_set(request: Request) -> QuestionSet:
    """Read the questions that are to be asked. Raises `UsageError` or `DataError`."""
    path = locate.question_file(request.questions, locate.question_dirs())
    loaded = load_questions(path)
    if request.limit is None:
        return loaded
    if request.limit < 1:
        raise UsageError(f"`limit` is {request.limit}, at least 1 is needed")
    return loaded.model_copy(update={"questions": loaded.questions[: request.limit]})
