"""What probes would cost, without one call: the real prompts, answered by models that measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from pydantic import SecretStr

from aletheia.config import Settings
from aletheia.errors import AletheiaError
from aletheia.llm.build import describe
from aletheia.llm.pricing import Pricer
from aletheia.pipeline import assemble
from aletheia.pipeline import probe_conditions as conditions
from aletheia.pipeline.answer import Options
from aletheia.pipeline.dry_run import Estimate, Line, Span
from aletheia.pipeline.measure import Meter, Size, Sums
from aletheia.pipeline.probe_conditions import Shown
from aletheia.pipeline.probe_question import ProbeStages, evidence_for
from aletheia.pipeline.probe_setup import Loaded, load_world, plan_probes, probe_stages
from aletheia.pipeline.request import Request
from aletheia.schema.attribution import PROBES, Probe
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.model import Usage
from aletheia.schema.question import Question
from aletheia.schema.verification import Mode

_BYTES_A_TOKEN: Final = (5, 3)
_REPAIRED: Final = 2
_SIZES: Final = (Size(words=1, items=1), Size(words=40, items=8))

ASSUMPTIONS: Final = (
    "Low: replies are as short as can be, and none is asked for again.",
    "High: 40 words a field, and every reply repaired once.",
    "A token is 3 to 5 bytes of the prompt, its schema included; no tokenizer is asked.",
    "Every question is answered and cites its first unit; an abstention takes fewer calls.",
    "Low: no answer outlives its citations, and no unit is irrelevant. High: all of them.",
    "Nothing comes from the reply cache; the base answers of an earlier run would.",
)


async def rehearse_probes(
    settings: Settings, request: Request, *, probes: frozenset[Probe]
) -> Estimate:
    """Make the prompts of every probe and price them. Writes nothing, needs no key and no network.

    One line for the base answers and one for each probe. Raises what `prepare_probes` raises,
    except for the output directory, which is not looked at.
    """
    settings = _with_endpoint(settings, request)
    plan = plan_probes(settings, request)
    world = load_world(settings, request)
    lines: list[Line] = []
    failed: list[str] = []
    if plan.asks:
        for name in ("base", *(item for item in PROBES if item in probes)):
            meters = [
                await _measured(settings, plan, world, request.options, name, size=size)
                for size in _SIZES
            ]
            lines += _lines(settings, name, *meters)
            failed += [text for meter in meters for text in meter.failed]
    return Estimate(
        questions=len(world.questions.questions),
        concurrency=request.concurrency or settings.concurrency,
        lines=tuple(lines),
        durations=(),
        failed=tuple(dict.fromkeys(failed)),
        note=plan.note,
        assumptions=ASSUMPTIONS,
    )


def _with_endpoint(settings: Settings, request: Request) -> Settings:
    """Take the official endpoint where a model is asked for and none is set: nothing is sent."""
    wanted = request.choice.model or request.choice.generator == "llm"
    if settings.has_endpoint or not wanted:
        return settings
    return settings.model_copy(update={"openai_api_key": SecretStr("none")})


async def _measured(
    settings: Settings,
    plan: assemble.Plan,
    world: Loaded,
    options: Options,
    name: str,
    *,
    size: Size,
) -> Meter:
    meter = Meter(size=size, embed_model=settings.embed_model)
    stages = probe_stages(settings, plan, world, meter, probes=frozenset(), seed=0)
    for question in world.questions.questions:
        try:
            await _ask(name, question, stages, options, most=size is _SIZES[1])
        except AletheiaError as error:
            meter.failed.append(f"question `{question.id}`: {error}")
    return meter


async def _ask(
    name: str, question: Question, stages: ProbeStages, options: Options, *, most: bool
) -> None:
    if name == "closed-book":
        await stages.closed_book.generate(question.question)
        return
    evidence = await evidence_for(question, stages, options)
    for shown in _shown(name, question, evidence, stages, most=most):
        await stages.generator.generate(shown.question.question, shown.evidence, mode=Mode.STRICT)


def _shown(
    name: str, question: Question, evidence: EvidenceSet, stages: ProbeStages, *, most: bool
) -> Iterator[Shown]:
    """Yield what would be shown: all that could be for the most, else what has to be."""
    made: list[Shown | str] = []
    match name:
        case "counterfactual":
            forms = (question.answer, *question.answer_aliases)
            found = stages.counterfacts.make(question, evidence, forms, right=question.answerable)
            made.append(found if isinstance(found, str) else found.shown)
        case "shuffle":
            made.append(conditions.shuffled(question, evidence, stages.seed))
        case "ablation":
            first = evidence.ids[:1]
            rest = conditions.without(question, evidence, first)
            made += [rest, rest, rest] if most else [rest]
        case _:
            made.append(conditions.as_it_is(question, evidence))
    yield from (item for item in made if not isinstance(item, str))


def _lines(settings: Settings, name: str, low: Meter, high: Meter) -> Iterator[Line]:
    for purpose, model in sorted({**low.sums, **high.sums}):
        least, most = (meter.sums.get((purpose, model), Sums()) for meter in (low, high))
        prompts = _tokens(least.prompt_bytes, least.prompt_least, most.prompt_bytes)
        replies = _tokens(least.completion_bytes, least.completion_least, most.completion_bytes)
        line = Line(
            purpose=f"{purpose}: {name}",
            model=model,
            calls=Span(low=least.calls, high=_REPAIRED * most.calls),
            prompt_tokens=prompts,
            completion_tokens=replies,
            usd=None,
        )
        yield replace(line, usd=_usd(settings, line))


def _tokens(least_bytes: int, least_words: int, most_bytes: int) -> Span:
    low = max(-(-least_bytes // _BYTES_A_TOKEN[0]), least_words)
    return Span(low=low, high=_REPAIRED * max(-(-most_bytes // _BYTES_A_TOKEN[1]), low))


def _usd(settings: Settings, line: Line) -> tuple[float, float] | None:
    pricer, base_url = Pricer(settings), describe(settings).base_url
    ends: Sequence[tuple[int, int, int]] = (
        (line.prompt_tokens.low, line.completion_tokens.low, line.calls.low),
        (line.prompt_tokens.high, line.completion_tokens.high, line.calls.high),
    )
    prices = [
        pricer.price(
            line.model,
            base_url,
            Usage(prompt_tokens=prompts, completion_tokens=replies, calls=calls),
        )
        for prompts, replies, calls in ends
    ]
    low, high = prices
    return None if low is None or high is None else (low.usd, high.usd)
