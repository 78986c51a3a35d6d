"""Which generator, which metrics and which embedder a run uses, and how that is said."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from aletheia.config import Settings
from aletheia.errors import ConfigError, UsageError
from aletheia.generators.base import Generator
from aletheia.llm.build import build_embedder, build_model, describe
from aletheia.llm.embedded import MiniLM
from aletheia.pipeline.support import count_support
from aletheia.ragas_bridge import EmbeddedSuite, MetricSuite, RagasLLMSuite
from aletheia.schema.model import Embedder

if TYPE_CHECKING:
    from aletheia.graph.knowledge import KnowledgeGraph
    from aletheia.pipeline.answer import Stages

GeneratorChoice = Literal["auto", "llm", "extractive"]
MetricsChoice = Literal["auto", "ragas", "embedded"]

_NO_VARIABLES = "neither `OPENAI_API_KEY` nor `OPENAI_BASE_URL` is set"
NO_ENDPOINT = (
    f"{_NO_VARIABLES}: answers are taken from the evidence "
    "and scored offline, no language model is involved"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is asked for. `model` and `judge_model` win over the settings."""

    generator: GeneratorChoice = "auto"
    metrics: MetricsChoice = "auto"
    model: str | None = None
    judge_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be used. Nothing is loaded and nothing is called yet.

    `similarity` is the embedder of `answer_similarity`. `note` says in one sentence that no model
    is involved, where that is so. None stands for what is not used.
    """

    generator: Literal["llm", "extractive"]
    metrics: Literal["ragas", "embedded"]
    endpoint: str | None
    model: str | None
    judge_model: str | None
    similarity: Literal["embedded", "endpoint"]
    embed_model: str | None = None
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
            ("endpoint", self.endpoint or "none"),
        )

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
    asks, judges = generator == "llm", metrics == "ragas"
    _reject_unused(choice, asks=asks, judges=judges)
    if (asks or judges) and not settings.has_endpoint:
        raise _no_endpoint(asks=asks)
    model = choice.model or settings.model
    endpoint = describe(settings).base_url if asks or judges else None
    far = judges and _endpoint_embeds(settings)
    return Plan(
        generator=generator,
        metrics=metrics,
        endpoint=endpoint,
        model=model if asks else None,
        judge_model=_judge(settings, choice, model) if judges else None,
        similarity="endpoint" if far else "embedded",
        embed_model=settings.embed_model if far else None,
        note=None if settings.has_endpoint or asks or judges else NO_ENDPOINT,
    )


def _no_endpoint(*, asks: bool) -> ConfigError:
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


def _endpoint_embeds(settings: Settings) -> bool:
    """Tell whether to ask the endpoint for vectors; many servers of chat models have none."""
    return settings.openai_base_url is None or "embed_model" in settings.model_fields_set


def load(settings: Settings, chosen: Plan, graph: KnowledgeGraph) -> Stages:
    """Build what the plan names. Raises `ConfigError` (no endpoint) or `StoreError` (a file)."""
    from aletheia.pipeline.answer import Stages

    embedder = MiniLM()
    embedder.embed(["warm"])
    return Stages(
        graph=graph,
        generator=_generator(settings, chosen, embedder),
        suite=_suite(settings, chosen, embedder),
        embedder=embedder,
        clock=time.monotonic,
    )


def prompt_digest(chosen: Plan) -> str | None:
    """Return the digest of the prompt, None where no prompt is made."""
    from aletheia.grounding.prompt import prompt_digest as digest

    return digest() if chosen.generator == "llm" else None


def _generator(settings: Settings, chosen: Plan, embedder: Embedder) -> Generator:
    if chosen.generator == "llm":
        from aletheia.generators.llm import LLMGenerator

        return LLMGenerator(build_model(settings, model=chosen.model))
    from aletheia.generators.extractive import ExtractiveGenerator

    return ExtractiveGenerator(embedder)


def _suite(settings: Settings, chosen: Plan, embedder: Embedder) -> MetricSuite:
    if chosen.metrics == "embedded":
        return EmbeddedSuite(embedder=embedder, support=count_support)
    vectors = embedder if chosen.similarity == "embedded" else build_embedder(settings)
    return RagasLLMSuite(model=build_model(settings, model=chosen.judge_model), embedder=vectors)
