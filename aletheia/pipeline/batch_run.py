"""A benchmark whose prompts go through the Batch API: the ordinary run, rehearsed in rounds.

The rounds collect prompts and bring replies. When a round asks nothing new, the ordinary run is made
once, with models that answer from what came, and writes the ordinary report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aletheia.config import Settings
from aletheia.errors import ConfigError, UsageError
from aletheia.llm.budget import Budget, budget_scope
from aletheia.llm.build import (
    WindowedModel,
    build_adapter,
    build_batch_client,
    build_embedder,
)
from aletheia.llm.cache import CachingModel
from aletheia.llm.pricing import Pricer
from aletheia.pipeline import assemble, events
from aletheia.pipeline.answer import Outcome, Stages, answer_question
from aletheia.pipeline.batch_rounds import BatchRounds, Complete, CutShort, Waiting
from aletheia.pipeline.batch_state import BatchState
from aletheia.pipeline.benchmark import Finished, run_benchmark, unfinished
from aletheia.pipeline.runner import run_bounded
from aletheia.pipeline.setup import Setup
from aletheia.schema.model import ChatModel, Embedder
from aletheia.schema.question import Question

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NOTHING_TO_ASK: Final = "`--batch` has no effect: no model would be asked"


def require_models(settings: Settings, plan: assemble.Plan) -> None:
    """Raise `ConfigError` (no endpoint) or `UsageError` where a batch would hold nothing."""
    if plan.asks:
        return
    if not settings.has_endpoint:
        raise ConfigError(
            "`--batch` needs an endpoint: neither `OPENAI_API_KEY` nor `OPENAI_BASE_URL` is set",
            hint="set one of them, or leave the option out",
        )
    raise UsageError(
        NOTHING_TO_ASK,
        hint="leave it out, or ask a model with `--generator`, `--metrics` or `--judge`",
    )


async def run_in_batches(
    settings: Settings,
    setup: Setup,
    plan: assemble.Plan,
    *,
    resume: bool = False,
    wait: bool = False,
    listener: events.Listener = events.ignore,
) -> Finished | Waiting | CutShort:
    """Go on with the batches of a run as far as possible; with every reply there, make the report.

    `resume` goes on with the run that was begun, `wait` stays until its batches have ended. Raises
    what `BatchState.open`, `BatchRounds.advance` and `run_benchmark` raise; what was paid for is
    kept. The caller closes the setup.
    """
    with BatchState.open(setup.output_dir, setup.fingerprint(), resume=resume) as state:
        rounds = BatchRounds(
            state=state,
            client=build_batch_client(settings),
            pricer=Pricer(settings),
            say=lambda text: listener(events.Remark(text=text)),
        )
        asked = plan if plan.diagnosis == "llm" else replace(plan, diagnosis="none")
        rehearsal = _Rehearsal(setup, _stages(settings, setup, asked, rounds, embeds=False))
        with budget_scope(_budget(setup)):
            reached = await rounds.advance(rehearsal, wait=wait)
        if not isinstance(reached, Complete):
            return reached
        # Every question was asked already: there is nothing that stopping early could save.
        last = replace(
            setup, stages=_stages(settings, setup, plan, rounds, embeds=True), stop_after=0
        )
        finished = await run_benchmark(
            last,
            resume=resume and unfinished(last) is not None,
            listener=listener,
            batched=reached.cost,
        )
        rounds.conclude(complete=finished.complete)
        return finished


def _budget(setup: Setup) -> Budget | None:
    if setup.budget_usd is None:
        return None
    return Budget(setup.budget_usd, scope="run", unknown_price=setup.options.unknown_price)


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    """One pass over all questions, whose rows are thrown away."""

    setup: Setup
    stages: Stages

    async def __call__(self) -> None:
        await self.stages.suite.prepare()
        questions = self.setup.questions.questions
        await run_bounded(questions, self._ask, limit=self.setup.concurrency, commit=_go_on)

    async def _ask(self, question: Question) -> Outcome:
        return await answer_question(question, self.stages, self.setup.options)


async def _go_on(question: Question, made: Outcome) -> bool:
    del question, made
    return True


def _stages(
    settings: Settings, setup: Setup, plan: assemble.Plan, rounds: BatchRounds, *, embeds: bool
) -> Stages:
    models = _BatchModels(settings, setup, rounds, embeds)
    return assemble.load(settings, plan, setup.graph, models=models)


@dataclass(frozen=True, slots=True)
class _BatchModels:
    """Models that answer from the batches of a run. Without `embeds` no vector is asked for."""

    settings: Settings
    setup: Setup
    rounds: BatchRounds
    embeds: bool

    def chat(self, model: str | None) -> ChatModel:
        """Return the model of this name, wrapped as one that is asked at once."""
        identity = build_adapter(self.settings, model=model).identity
        made: ChatModel = self.rounds.model(identity)
        if self.settings.context_window is not None:
            made = WindowedModel(made, self.settings.context_window)
        services = self.setup.services
        if services is None or services.cache is None:
            return made
        return CachingModel(made, services.cache, identity)

    def embedder(self) -> Embedder:
        """Return what the endpoint embeds with; in a rehearsal all texts are alike."""
        if not self.embeds:
            return _AllAlike(self.settings.embed_model)
        return build_embedder(self.settings, services=self.setup.services)


@dataclass(frozen=True, slots=True)
class _AllAlike:
    """Embeds without a call: no prompt depends on the vectors of answers."""

    name: str

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of shape (len(texts), 1), all the same."""
        import numpy as np

        return np.ones((len(texts), 1), dtype=np.float32)
