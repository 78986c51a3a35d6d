"""Who judges: the embedded judges, or a model; and what makes one judge the same as another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from aletheia.config import Settings
from aletheia.diagnosis.calibrate import CalibrationOptions, Threshold, fallback
from aletheia.diagnosis.classify import ClassifyOptions, classify
from aletheia.diagnosis.flags import Coverage
from aletheia.diagnosis.suggest import suggest
from aletheia.errors import ConfigError, StoreError, UsageError
from aletheia.judges.base import FusedJudge, Judges
from aletheia.judges.rules import WholeDecomposer
from aletheia.pipeline.diagnose import DiagnoseOptions

if TYPE_CHECKING:
    from aletheia.schema.diagnosis import Diagnosis
    from aletheia.schema.model import ChatModel

JudgeChoice = Literal["auto", "embedded", "llm"]
"""`auto` asks a model where an endpoint is set, and the embedded judges where none is."""

JudgeKind = Literal["embedded", "llm"]

JUDGE_CHOICES: Final[tuple[JudgeChoice, ...]] = get_args(JudgeChoice)
COVERAGES: Final[tuple[Coverage, ...]] = get_args(Coverage)


def judge_kind(settings: Settings, choice: str = "auto") -> JudgeKind:
    """Say who judges. Raises `UsageError` (no such choice) or `ConfigError` (no endpoint)."""
    match choice:
        case "auto":
            return "llm" if settings.has_endpoint else "embedded"
        case "embedded":
            return "embedded"
        case "llm":
            if not settings.has_endpoint:
                raise ConfigError(
                    "no model can judge: neither `OPENAI_API_KEY` nor `OPENAI_BASE_URL` is set",
                    hint="set one of them, or use the embedded judges, which need none",
                )
            return "llm"
        case _:
            listed = ", ".join(f"`{name}`" for name in JUDGE_CHOICES)
            raise UsageError(f"{choice!r} is no judge; there are {listed}")


def llm_judges(
    judge: ChatModel,
    decomposer: ChatModel | None = None,
    *,
    max_output_tokens: int | None = None,
    decompose: bool = True,
) -> Judges:
    """Return the three isolated judges over `judge`; `decomposer` cuts, `judge` where it is None.

    `max_output_tokens` goes out with every request exactly, so that a reply cut there is not asked
    for with more room. Without `decompose` the query is one sub-question and the response one claim.
    """
    from aletheia.judges.asking import OUTPUT_CEILING, Asker
    from aletheia.judges.llm import LLMDecomposer, LLMJudge

    ceiling = OUTPUT_CEILING if max_output_tokens is None else None
    asker = Asker(model=judge, max_output_tokens=max_output_tokens, output_ceiling=ceiling)
    cutter = LLMDecomposer(replace(asker, model=decomposer or judge))
    three = LLMJudge(asker)
    return _cut(
        Judges(decomposer=cutter, sufficiency=three, faithfulness=three, completeness=three),
        decompose=decompose,
    )


def embedded_judges(*, decompose: bool = True) -> Judges:
    """Return the judges that need neither model nor network; they are loaded once."""
    return _cut(_embedded(), decompose=decompose)


@cache
def _embedded() -> Judges:
    from aletheia.judges.embedded.completeness import EmbeddedCompletenessJudge
    from aletheia.judges.embedded.decompose import EmbeddedDecomposer
    from aletheia.judges.embedded.faithfulness import EmbeddedFaithfulnessJudge
    from aletheia.judges.embedded.sufficiency import EmbeddedSufficiencyJudge

    return Judges(
        decomposer=EmbeddedDecomposer(),
        sufficiency=EmbeddedSufficiencyJudge(),
        faithfulness=EmbeddedFaithfulnessJudge(),
        completeness=EmbeddedCompletenessJudge(),
    )


def whole(judges: Judges | FusedJudge, *, decompose: bool) -> Judges | FusedJudge:
    """Let judges of the caller work on the whole response. Raises `UsageError` for a fused one."""
    if isinstance(judges, Judges):
        return _cut(judges, decompose=decompose)
    if not decompose:
        raise UsageError("a fused judge cuts and judges together: `decompose` cannot be left out")
    return judges


def _cut(judges: Judges, *, decompose: bool) -> Judges:
    return judges if decompose else replace(judges, decomposer=WholeDecomposer())


@contextmanager
def open_judges(
    settings: Settings, kind: JudgeKind, *, concurrency: int | None = None, decompose: bool = True
) -> Iterator[Judges]:
    """Give the judges of a run to a block; models share turns, prices and the reply cache.

    Raises `ConfigError` (no endpoint, half a price) or `StoreError` (the cache cannot be used).
    """
    if kind == "embedded":
        yield embedded_judges(decompose=decompose)
        return
    from aletheia.llm.build import build_model, open_services

    with open_services(settings, concurrency=concurrency) as services:
        build = partial(build_model, settings, services=services)
        yield llm_judges(
            build(model=settings.judging_model),
            build(model=settings.decomposing_model),
            max_output_tokens=settings.max_output_tokens,
            decompose=decompose,
        )


def diagnose_options(
    *, coverage: str = "grounded", repeat: int = 1, threshold: Threshold | None = None
) -> DiagnoseOptions:
    """Return how traces are diagnosed that no store keeps: its fallback decides what is `high`.

    Raises `UsageError` for an unknown `coverage` or a `repeat` below 1.
    """
    options = _classify_options(coverage, threshold or fallback(persisted=False))
    return DiagnoseOptions(
        classify=partial(classify, options=options), suggest=suggest, repeat=repeat
    )


def calibration_options(settings: Settings) -> CalibrationOptions:
    """Return from how many healthy traces a threshold is learned, and what holds before that."""
    return CalibrationOptions(
        traces=settings.calibration_min_traces,
        project=settings.fallback_threshold_project,
        memory=settings.fallback_threshold_memory,
    )


@dataclass(slots=True, kw_only=True)
class Calibration:
    """The threshold of one trace, asked for when its verdicts are there.

    `look_up` reads it from a store; where that fails `otherwise` holds. Afterwards `ms` is how
    long it took, and `problem` says what failed.
    """

    look_up: Callable[[], Threshold]
    otherwise: Threshold
    ms: float = 0.0
    problem: str | None = None

    def options(self, *, coverage: str = "grounded", repeat: int = 1) -> DiagnoseOptions:
        """Return how that trace is diagnosed. Raises `UsageError` as `diagnose_options` does."""
        options = _classify_options(coverage, self.otherwise)

        def classified(**measured: Any) -> Diagnosis:  # noqa: ANN401 - as `Classify` has them
            return classify(**measured, options=replace(options, threshold=self._threshold()))

        return DiagnoseOptions(classify=classified, suggest=suggest, repeat=repeat)

    def _threshold(self) -> Threshold:
        started = time.perf_counter()
        try:
            return self.look_up()
        except StoreError as error:
            self.problem = str(error)
            return self.otherwise
        finally:
            self.ms = (time.perf_counter() - started) * 1000


def _classify_options(coverage: str, threshold: Threshold) -> ClassifyOptions:
    known = next((name for name in COVERAGES if name == coverage), None)
    if known is None:
        listed = ", ".join(f"`{name}`" for name in COVERAGES)
        raise UsageError(f"{coverage!r} is no coverage; there are {listed}")
    return ClassifyOptions(threshold=threshold, coverage=known)


def judge_id(making: Mapping[str, str]) -> str:
    """Name the judge by whom traces are calibrated together: its kind, and its model or version."""
    kind = making.get("judge") or making.get("sufficiency_judge") or "unnamed"
    model = making.get("judge_model") or making.get("embedded_model")
    return kind if model is None or kind.endswith(f" {model}") else f"{kind} {model}"


def identity(judges: Judges | FusedJudge) -> dict[str, str]:
    """Return what makes a judge this judge: models, prompt digests, version of the weights."""
    return dict(judges.making)


def spoken_identity(judge: Mapping[str, str]) -> str:
    """Name a judge for people; the digests of its prompts are left to the JSON."""
    left_out = ("prompt_", "judge_error")
    named = {name: value for name, value in judge.items() if not name.startswith(left_out)}
    return ", ".join(f"{name} {value}" for name, value in named.items())


def identity_differences(earlier: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Say in what two judges differ, one phrase for each entry; keys of only one side count."""
    names = {**earlier, **now}
    return tuple(
        f"`{name}` was {_shown(earlier.get(name))}, is {_shown(now.get(name))}"
        for name in names
        if earlier.get(name) != now.get(name)
    )


def _shown(value: str | None) -> str:
    return "not there" if value is None else f"`{value if len(value) <= 24 else value[:23] + '…'}`"
