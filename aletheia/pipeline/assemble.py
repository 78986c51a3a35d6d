"""Which generator, metrics, embedder and judges a run uses, and how that is said."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from aletheia.config import Settings
from aletheia.errors import ConfigError, UsageError
from aletheia.generators.base import Generator
from aletheia.llm.build import ModelServices, build_embedder, build_model, describe
from aletheia.llm.embedded import MiniLM
from aletheia.pipeline.judge_setup import embedded_judges, llm_judges
from aletheia.pipeline.observe import CapabilityLog, ObservedModel
from aletheia.pipeline.row_diagnosis import Diagnoser
from aletheia.pipeline.support import count_support
from aletheia.ragas_bridge import EmbeddedSuite, MetricSuite, RagasLLMSuite
from aletheia.schema.model import ChatModel, Embedder

if TYPE_CHECKING:
    from aletheia.graph.knowledge import KnowledgeGraph
    from aletheia.pipeline.answer import Stages

GeneratorChoice = Literal["auto", "llm", "extractive"]
MetricsChoice = Literal["auto", "ragas", "embedded"]
DiagnosisChoice = Literal["auto", "embedded", "llm", "none"]
"""`auto` is `embedded`, also where an endpoint is set: five more calls for each answer are asked
for by name only."""

_NO_VARIABLES = "neither `OPENAI_API_KEY` nor `OPENAI_BASE_URL` is set"
NO_ENDPOINT = (
    f"{_NO_VARIABLES}: answers are taken from the evidence "
    "and scored offline, no language model is involved"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is asked for: who answers, scores and diagnoses.

    `model` and `judge_model` win over the settings.
    """

    generator: GeneratorChoice = "auto"
    metrics: MetricsChoice = "auto"
    judge: DiagnosisChoice = "auto"
    model: str | None = None
    judge_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be used. Nothing is loaded and nothing is called yet.

    `similarity` is the embedder of `answer_similarity`. `diagnosis` says who puts rows into cells:
    with `llm` that is `cell_model`, and `decomposer_model` cuts. `note` says in one sentence that
    no model is involved, where that is so. None stands for what is not used.
    """

    generator: Literal["llm", "extractive"]
    metrics: Literal["ragas", "embedded"]
    endpoint: str | None
    model: str | None
    judge_model: str | None
    similarity: Literal["embedded", "endpoint"]
    embed_model: str | None = None
    diagnosis: Literal["embedded", "llm", "none"] = "none"
    cell_model: str | None = None
    decomposer_model: str | None = None
    note: str | None = None

    def lines(self) -> tuple[tuple[str, str], ...]:
        """Name and value of everything, for a person."""
        answers = f"llm, `{self.model}`" if self.model else "extractive, without a model"
        metrics = f"ragas, judged by `{self.judge_model}`" if self.judge_model else "embedded"
        similarity = f"`{self.embed_model}`" if self.embed_model else f"embedded `{MiniLM().name}`"
        return (
            ("answers", answers),
            ("metrics", metrics),
            ("answer_similarity", similarity),
            ("diagnosis", self._judges()),
            ("endpoint", self.endpoint or "none"),
        )

    def _judges(self) -> str:
        if self.cell_model is None:
            return self.diagnosis
        return f"llm, judged by `{self.cell_model}`, cut by `{self.decomposer_model}`"

    @property
    def asks(self) -> tuple[str, ...]:
        """Names of the chat models that will be asked, each once."""
        names = (self.model, self.judge_model, self.cell_model, self.decomposer_model)
        return tuple(dict.fromkeys(name for name in names if name))

    def identity(self) -> Mapping[str, str]:
        """Name what makes two runs different and stands nowhere else."""
        return {"endpoint": self.endpoint or "none"}


def plan(settings: Settings, choice: Choice) -> Plan:
    """Decide. Raises `UsageError` where a model is named and none would be asked."""
    generator: Literal["llm", "extractive"] = "extractive"
    metrics: Literal["ragas", "embedded"] = "embedded"
    if choice.generator == "llm" or (choice.generator == "auto" and settings.has_endpoint):
        generator = "llm"
    if choice.metrics == "ragas" or (choice.metrics == "auto" and settings.has_endpoint):
        metrics = "ragas"
    diagnosis = "embedded" if choice.judge == "auto" else choice.judge
    asks, scores, judges = generator == "llm", metrics == "ragas", diagnosis == "llm"
    _reject_unused(choice, asks=asks, judges=scores or judges)
    anyone = asks or scores or judges
    if anyone and not settings.has_endpoint:
        raise _no_endpoint(asks=asks, scores=scores)
    model = choice.model or settings.model
    far = scores and _endpoint_embeds(settings)
    return Plan(
        generator=generator,
        metrics=metrics,
        endpoint=describe(settings).base_url if anyone else None,
        model=model if asks else None,
        judge_model=_judge(settings, choice, model) if scores else None,
        similarity="endpoint" if far else "embedded",
        embed_model=settings.embed_model if far else None,
        diagnosis=diagnosis,
        cell_model=_judge(settings, choice, model) if judges else None,
        decomposer_model=_decomposer(settings, model) if judges else None,
        note=None if settings.has_endpoint or anyone else NO_ENDPOINT,
    )


def _no_endpoint(*, asks: bool, scores: bool) -> ConfigError:
    option, other = ("--judge", "embedded")
    if asks or scores:
        option, other = ("--generator", "extractive") if asks else ("--metrics", "embedded")
    return ConfigError(
        f"`{option}` asks for a model, and {_NO_VARIABLES}",
        hint=f"set one of them, or use `{option} {other}`, which needs none",
    )


def _reject_unused(choice: Choice, *, asks: bool, judges: bool) -> None:
    for option, value, used in (
        ("--model", choice.model, asks or judges),
        ("--judge-model", choice.judge_model, judges),
    ):
        if value is not None and not used:
            raise UsageError(
                f"`{option} {value}` has no effect: no model would be asked",
                hint="set `OPENAI_API_KEY` or `OPENAI_BASE_URL`, or leave the option out",
            )


def _judge(settings: Settings, choice: Choice, model: str) -> str:
    """Choose the judge; a server of one's own hardly has the default one, so its model judges."""
    if choice.judge_model is not None:
        return choice.judge_model
    own_server = settings.openai_base_url is not None
    if own_server and "judge_model" not in settings.model_fields_set:
        return model
    return settings.judge_model


def _decomposer(settings: Settings, model: str) -> str:
    """Choose what cuts, by the same rule."""
    own_server = settings.openai_base_url is not None
    if own_server and "decomposer_model" not in settings.model_fields_set:
        return model
    return settings.decomposer_model


def _endpoint_embeds(settings: Settings) -> bool:
    """Tell whether to ask the endpoint for vectors; many servers of chat models have none."""
    return settings.openai_base_url is None or "embed_model" in settings.model_fields_set


def load(
    settings: Settings,
    chosen: Plan,
    graph: KnowledgeGraph,
    *,
    services: ModelServices | None = None,
    models: ModelMaker | None = None,
) -> Stages:
    """Build what the plan names. `models` makes other models than those of the endpoint.

    Raises `ConfigError` (no endpoint) or `StoreError` (a file).
    """
    from aletheia.pipeline.answer import Stages

    embedder = MiniLM()
    embedder.embed(["warm"])
    observed = CapabilityLog()
    make = _Observed(models or EndpointModels(settings, services), observed)
    return Stages(
        graph=graph,
        generator=_generator(settings, chosen, embedder, make),
        suite=_suite(settings, chosen, embedder, make),
        embedder=embedder,
        clock=time.monotonic,
        diagnoser=_diagnoser(settings, chosen, make),
        observed=observed,
    )


class ModelMaker(Protocol):
    """Makes the models that a run asks."""

    def chat(self, model: str | None) -> ChatModel:
        """Return the model of this name."""
        ...

    def embedder(self) -> Embedder:
        """Return what the endpoint embeds with."""
        ...


@dataclass(frozen=True, slots=True)
class EndpointModels:
    """The models of the endpoint that the settings name."""

    settings: Settings
    services: ModelServices | None

    def chat(self, model: str | None) -> ChatModel:
        """Return the model of this name. Raises `ConfigError` (no endpoint)."""
        return build_model(self.settings, model=model, services=self.services)

    def embedder(self) -> Embedder:
        """Return what the endpoint embeds with. Raises `ConfigError` (no endpoint)."""
        return build_embedder(self.settings, services=self.services)


@dataclass(frozen=True, slots=True)
class _Observed:
    """Models of another maker, each of whose replies is noted in the log of the run."""

    maker: ModelMaker
    log: CapabilityLog

    def chat(self, model: str | None) -> ChatModel:
        return ObservedModel(self.maker.chat(model), self.log)

    def embedder(self) -> Embedder:
        return self.maker.embedder()


def prompt_digest(chosen: Plan) -> str | None:
    """Return the digest of the prompt, None where no prompt is made."""
    from aletheia.grounding.prompt import prompt_digest as digest

    return digest() if chosen.generator == "llm" else None


def _generator(settings: Settings, chosen: Plan, embedder: Embedder, make: ModelMaker) -> Generator:
    if chosen.generator == "llm":
        from aletheia.generators.llm import OUTPUT_CEILING, LLMGenerator

        most = settings.max_output_tokens
        return LLMGenerator(
            make.chat(chosen.model),
            max_output_tokens=most,
            output_ceiling=OUTPUT_CEILING if most is None else None,
            context_window=settings.context_window,
        )
    from aletheia.generators.extractive import ExtractiveGenerator

    return ExtractiveGenerator(embedder)


def _suite(settings: Settings, chosen: Plan, embedder: Embedder, make: ModelMaker) -> MetricSuite:
    if chosen.metrics == "embedded":
        return EmbeddedSuite(embedder=embedder, support=count_support)
    vectors = embedder if chosen.similarity == "embedded" else make.embedder()
    return RagasLLMSuite(
        model=make.chat(chosen.judge_model),
        embedder=vectors,
        max_output_tokens=settings.max_output_tokens,
    )


def _diagnoser(settings: Settings, chosen: Plan, make: ModelMaker) -> Diagnoser | None:
    match chosen.diagnosis:
        case "none":
            return None
        case "embedded":
            return Diagnoser(judges=embedded_judges())
        case "llm":
            judges = llm_judges(
                make.chat(chosen.cell_model),
                make.chat(chosen.decomposer_model),
                max_output_tokens=settings.max_output_tokens,
            )
            return Diagnoser(judges=judges)
