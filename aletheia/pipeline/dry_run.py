"""What a run would cost, without one call: the real pipeline over models that only measure.

Each prompt is made by the code that would make it in a run, and answered from its own schema. The
questions are gone through twice, with the shortest and with long replies, since replies decide
what is asked next: so the estimate cannot drift from the code.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from textwrap import wrap
from typing import Final

from pydantic import SecretStr

from aletheia import graph
from aletheia.config import Settings
from aletheia.llm.build import AT_ONCE, describe
from aletheia.llm.pricing import Pricer
from aletheia.pipeline import assemble, locate
from aletheia.pipeline.answer import Stages
from aletheia.pipeline.measure import EMBED, Meter, Size, Sums
from aletheia.pipeline.request import Request, load_set
from aletheia.reports import numbers
from aletheia.schema.model import Usage

SECONDS: Final = (1.0, 10.0)
"""Times of one call for which the time of the run is told."""

_BYTES_A_TOKEN: Final = (5, 3)
_REPAIRED: Final = 2
_LONG_WORDS: Final = 40
_LONG_ITEMS: Final = 8
_SIZES: Final = (Size(words=1, items=1), Size(words=_LONG_WORDS, items=_LONG_ITEMS))
_WIDTH: Final = 80

ASSUMPTIONS: Final = (
    "Low: every reply is as short as its schema allows, and none is asked for again.",
    f"High: {_LONG_WORDS} words a field, {_LONG_ITEMS} items a list, and every reply repaired once.",
    "A token is 3 to 5 bytes of the prompt, its schema included; no tokenizer is asked.",
    "Every question gets an answer; an abstention costs less. Nothing comes from the reply cache.",
    "Metrics and units of evidence of one question are asked about at once.",
    "Tries after a failure, and tokens that a model spends on reasoning, are not counted.",
)
"""What the figures rest on, for a person."""

JUDGED: Final = (
    "Every answer is diagnosed, five calls each; low: one sub-question and one claim, "
    f"high: {_LONG_ITEMS} of each."
)
"""What more the figures of a run rest on whose judges ask a model."""

BATCHES: Final = "Each round waits for the one before it, and may take up to 24 hours."
"""What more the figures of a run through batches rest on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The least and the most."""

    low: int
    high: int

    def __add__(self, other: Span) -> Span:
        return Span(low=self.low + other.low, high=self.high + other.high)


_NOTHING: Final = Span(low=0, high=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The calls of one purpose to one model. `usd` is the least and the most, None = no price."""

    purpose: str
    model: str
    calls: Span
    prompt_tokens: Span
    completion_tokens: Span
    usd: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """How long a run takes where each call takes `call_s`, in seconds."""

    call_s: float
    low_s: float
    high_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would cost. `failed` says why questions could not be gone through.

    `rounds` is how many batches follow one another, None where nothing goes through batches; a run
    through batches has no `durations`.
    """

    questions: int
    concurrency: int
    lines: tuple[Line, ...]
    durations: tuple[Duration, ...]
    failed: tuple[str, ...] = ()
    note: str | None = None
    rounds: Span | None = None
    assumptions: tuple[str, ...] = ASSUMPTIONS

    @property
    def calls(self) -> Span:
        """All calls."""
        return sum((line.calls for line in self.lines), _NOTHING)

    @property
    def prompt_tokens(self) -> Span:
        """All tokens that are sent."""
        return sum((line.prompt_tokens for line in self.lines), _NOTHING)

    @property
    def completion_tokens(self) -> Span:
        """All tokens that come back."""
        return sum((line.completion_tokens for line in self.lines), _NOTHING)

    @property
    def usd(self) -> tuple[float, float] | None:
        """The least and the most money, None where the price of any call is not known."""
        known = [line.usd for line in self.lines if line.usd is not None]
        if len(known) < len(self.lines):
            return None
        return sum(low for low, _ in known), sum(high for _, high in known)


async def rehearse(settings: Settings, request: Request, *, batch: bool = False) -> Estimate:
    """Go through all questions without a call. Writes nothing, and needs neither key nor network.

    Where no model would be asked there is nothing to go through. With `batch` all prompts go
    through batches, at their price.

    Raises what `prepare` raises, except for the output directory, which is not looked at.
    """
    settings = _with_endpoint(settings, request.choice)
    plan = assemble.plan(settings, request.choice)
    questions = load_set(request).questions
    concurrency = request.concurrency or settings.concurrency
    low, high = [Meter(size=size, embed_model=settings.embed_model) for size in _SIZES]
    if plan.asks:
        directories = locate.graph_dirs(settings.graph_path)
        loaded = graph.load(request.knowledge_graph, search_dirs=directories)
        # Embedded judges cost nothing, and say nothing of made-up replies.
        measured = plan if plan.diagnosis == "llm" else replace(plan, diagnosis="none")
        for meter in (low, high):
            stages = _rehearsed(assemble.load(settings, measured, loaded, models=meter))
            await meter.measure(questions, stages, request.options)
    return Estimate(
        questions=len(questions),
        concurrency=concurrency,
        lines=tuple(_lines(low, high, _Prices(settings, batch))),
        durations=() if batch else tuple(_durations(low, high, concurrency)),
        failed=tuple(dict.fromkeys((*low.failed, *high.failed))),
        note=plan.note,
        rounds=Span(low=_turns(low), high=_REPAIRED * _turns(high)) if batch else None,
        assumptions=tuple(_assumptions(plan, batch=batch)),
    )


def _assumptions(plan: assemble.Plan, *, batch: bool) -> Iterator[str]:
    yield from ASSUMPTIONS
    if plan.diagnosis == "llm":
        yield JUDGED
    if batch:
        yield BATCHES


def _rehearsed(stages: Stages) -> Stages:
    """Let every answer be judged: made-up answers are rejected, those of a run may not be."""
    if stages.diagnoser is None:
        return stages
    return replace(stages, diagnoser=replace(stages.diagnoser, rejected_too=True))


def _turns(meter: Meter) -> int:
    return max((row.turns for row in meter.rows), default=0)


def _with_endpoint(settings: Settings, choice: assemble.Choice) -> Settings:
    """Take the official endpoint where a model is asked for and none is set: nothing is sent."""
    named = choice.model or choice.judge_model
    wanted = named or "llm" in (choice.generator, choice.judge) or choice.metrics == "ragas"
    if settings.has_endpoint or not wanted:
        return settings
    return settings.model_copy(update={"openai_api_key": SecretStr("none")})


class _Prices:
    """Prices at the endpoint of the settings: those of single calls, or of batches."""

    def __init__(self, settings: Settings, batch: bool) -> None:
        self._pricer = Pricer(settings)
        self._base_url = describe(settings).base_url
        self._batch = batch

    def usd(self, line: Line, prompts: int, replies: int, calls: int) -> float | None:
        """Price so many tokens; vectors go through no batch."""
        usage = Usage(prompt_tokens=prompts, completion_tokens=replies, calls=calls)
        batch = self._batch and line.purpose != EMBED
        price = self._pricer.price(line.model, self._base_url, usage, batch=batch)
        return None if price is None else price.usd


def _lines(low: Meter, high: Meter, prices: _Prices) -> Iterator[Line]:
    for purpose, model in sorted({**low.sums, **high.sums}):
        least, most = (meter.sums.get((purpose, model), Sums()) for meter in (low, high))
        prompts = _tokens(
            (least.prompt_bytes, least.prompt_least), (most.prompt_bytes, most.prompt_least)
        )
        replies = _tokens(
            (least.completion_bytes, least.completion_least),
            (most.completion_bytes, most.completion_least),
        )
        again = 1 if purpose == EMBED else _REPAIRED
        line = Line(
            purpose=purpose,
            model=model,
            calls=Span(low=least.calls, high=again * most.calls),
            prompt_tokens=replace(prompts, high=again * prompts.high),
            completion_tokens=replace(replies, high=again * replies.high),
            usd=None,
        )
        yield replace(line, usd=_usd(line, prices))


def _tokens(least: tuple[int, int], most: tuple[int, int]) -> Span:
    """Tokens of so many bytes; never fewer than the text has words."""
    low = max(-(-least[0] // _BYTES_A_TOKEN[0]), least[1])
    return Span(low=low, high=max(-(-most[0] // _BYTES_A_TOKEN[1]), most[1], low))


def _usd(line: Line, prices: _Prices) -> tuple[float, float] | None:
    prompts, replies, calls = line.prompt_tokens, line.completion_tokens, line.calls
    low = prices.usd(line, prompts.low, replies.low, calls.low)
    high = prices.usd(line, prompts.high, replies.high, calls.high)
    return None if low is None or high is None else (low, high)


def _durations(low: Meter, high: Meter, concurrency: int) -> Iterator[Duration]:
    shortest, longest = _waits(low, concurrency), _REPAIRED * _waits(high, concurrency)
    for call_s in SECONDS:
        yield Duration(call_s=call_s, low_s=shortest * call_s, high_s=longest * call_s)


def _waits(meter: Meter, concurrency: int) -> int:
    """Calls that the run waits for one after another: of one question, or of a full endpoint."""
    calls = sum(sums.calls for sums in meter.sums.values())
    waits = makespan([row.turns + row.embeds for row in meter.rows], concurrency)
    return max(waits, -(-calls // (AT_ONCE * concurrency)))


def makespan(rows: Sequence[int], concurrency: int) -> int:
    """Waits of the worker that ends last, where questions are taken in order as workers come free.

    `rows` holds how many calls of each question follow one another.
    """
    ends = [0] * min(concurrency, len(rows))
    for calls in rows:
        heapq.heapreplace(ends, ends[0] + calls)
    return max(ends, default=0)


def estimate_json(estimate: Estimate) -> str:
    """Write an estimate as JSON."""
    whole = {
        "calls": asdict(estimate.calls),
        "prompt_tokens": asdict(estimate.prompt_tokens),
        "completion_tokens": asdict(estimate.completion_tokens),
        "usd": estimate.usd,
    }
    body = {**asdict(estimate), "total": whole}
    return json.dumps(body, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def estimate_lines(estimate: Estimate) -> Iterator[str]:
    """Write an estimate for a person, within 80 columns."""
    counted = numbers.plural(estimate.questions, "question")
    yield f"Dry run over {counted}: no call was made and nothing was written."
    if not estimate.lines and not estimate.failed:
        yield from wrap(f"0 calls: {estimate.note or 'no model would be asked'}", _WIDTH)
        return
    for line in estimate.lines:
        yield from ("", f"{line.purpose}, by `{line.model}`")
        yield from _figures(line.calls, line.prompt_tokens, line.completion_tokens, line.usd)
    yield from ("", "all calls")
    yield from _figures(
        estimate.calls, estimate.prompt_tokens, estimate.completion_tokens, estimate.usd
    )
    for item in estimate.durations:
        span = _span(numbers.duration(1000 * item.low_s), numbers.duration(1000 * item.high_s))
        yield f"  {f'time at {item.call_s:g} s a call':<20}{span}"
    if estimate.rounds is None:
        yield f"  {'questions at once':<20}{numbers.count(estimate.concurrency)}"
    else:
        yield f"  {'rounds of batches':<20}{_counts(estimate.rounds)}"
    yield from ("", "What this rests on")
    for text in (*estimate.assumptions, *estimate.failed):
        yield from wrap(text, _WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _figures(
    calls: Span, prompts: Span, replies: Span, usd: tuple[float, float] | None
) -> Iterator[str]:
    money = "price not known" if usd is None else _span(*map(numbers.money, usd))
    for name, text in (
        ("calls", _counts(calls)),
        ("prompt tokens", _counts(prompts)),
        ("completion tokens", _counts(replies)),
        ("cost", money),
    ):
        yield f"  {name:<20}{text}"


def _counts(span: Span) -> str:
    return _span(numbers.count(span.low), numbers.count(span.high))


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
