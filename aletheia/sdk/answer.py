"""Answer one question from evidence, and say what the evidence carries of the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any, Self

from aletheia.config import Settings, settings
from aletheia.errors import DataError, UsageError
from aletheia.generators.base import Attempt, Generation, Generator
from aletheia.grounding.numbering import is_blank
from aletheia.llm.budget import Budget, budget_scope
from aletheia.llm.embedded import MiniLM
from aletheia.schema.model import ChatModel, Usage
from aletheia.schema.verification import Mode
from aletheia.sdk.api import parse_mode, verify
from aletheia.sdk.evidence import EvidenceLike, read_evidence, text_of
from aletheia.sdk.models import leased_model
from aletheia.sdk.portal import run_sync
from aletheia.sdk.result import VerifyResult

__all__ = ["AnswerResult", "aanswer", "answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerResult:
    """An answer, its verification, and how it was made; false where it did not pass.

    `answer` is the text that the mode lets through, `INSUFFICIENT_CONTEXT` for an abstention, and
    None for an answer that was rejected: what was rejected is in `verification.answer`. `passed`
    and `verification` are as `verify` gives them. `generator` is `llm` or `extractive`, `model`
    the id of what answered. `usage` covers all attempts, `cached` says that no call was made as
    every reply came from the reply cache, `attempts` are the replies on the way, `notes` are
    sentences for a person.
    """

    answer: str | None
    passed: bool
    verification: VerifyResult
    generator: str
    model: str
    usage: Usage
    cached: bool
    attempts: tuple[Attempt, ...]
    notes: tuple[str, ...]

    def __bool__(self) -> bool:
        # An object is true by default, which would let `if answer(...)` pass everything.
        return self.passed

    @classmethod
    def of(cls, generator: str, made: Generation, verification: VerifyResult) -> Self:
        """Join a generation with what verification says about its reply."""
        return cls(
            answer=verification.answer if verification.passed else None,
            passed=verification.passed,
            verification=verification,
            generator=generator,
            model=made.model,
            usage=made.usage,
            cached=bool(made.attempts) and made.usage.calls == 0,
            attempts=made.attempts,
            notes=made.notes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON, keys in the order of the fields."""
        return {
            "answer": self.answer,
            "passed": self.passed,
            "verification": self.verification.to_dict(),
            "generator": self.generator,
            "model": self.model,
            "usage": asdict(self.usage),
            "cached": self.cached,
            "attempts": [asdict(attempt) for attempt in self.attempts],
            "notes": list(self.notes),
        }


def answer(
    question: str,
    evidence: EvidenceLike | None,
    *,
    mode: Mode | str = Mode.STRICT,
    model: str | ChatModel | None = None,
) -> AnswerResult:
    """Answer `question` from `evidence` and verify the answer; works inside a running loop too.

    `evidence` and `mode` are as in `verify`. `model` is the id of a model at the configured
    endpoint, or any chat model; without it the endpoint's `settings.model` answers, and where no
    endpoint is set, sentences of the evidence do. What the endpoint may cost is bounded by
    `settings.per_trace_budget_usd`.

    Raises `ModelError` where there is no reply, `BudgetExceeded` where one would cost too much,
    `ConfigError` where a model is named and no endpoint is set, `DataError` for a question or
    evidence that cannot be read, `UsageError` for an unknown mode.
    """
    return run_sync(partial(aanswer, question, evidence, mode=mode, model=model))


async def aanswer(
    question: str,
    evidence: EvidenceLike | None,
    *,
    mode: Mode | str = Mode.STRICT,
    model: str | ChatModel | None = None,
) -> AnswerResult:
    """Do what `answer` does in the running event loop."""
    chosen = parse_mode(mode)
    units = read_evidence(evidence)
    if is_blank(text_of(question, "question")):
        raise DataError("it is blank", field="question")
    async with _generator(model) as generator:
        made = await generator.generate(question, units, mode=chosen)
    return AnswerResult.of(generator.name, made, verify(units, made.reply, question, chosen))


@asynccontextmanager
async def _generator(model: str | ChatModel | None) -> AsyncIterator[Generator]:
    if isinstance(model, ChatModel):
        yield _asking(model, settings.current())
        return
    if model is not None and not isinstance(model, str):
        raise UsageError(
            f"`model` is a `{type(model).__name__}`", hint="give the id of a model, or a chat model"
        )
    current = settings.current()
    if model is None and not current.has_endpoint:
        yield _extractive()
        return
    budget = Budget(
        current.per_trace_budget_usd, scope="trace", unknown_price=current.unknown_price
    )
    async with leased_model(current, model) as leased:
        with budget_scope(budget):
            yield _asking(leased, current)


def _asking(model: ChatModel, current: Settings) -> Generator:
    from aletheia.generators.llm import OUTPUT_CEILING, LLMGenerator

    most = current.max_output_tokens
    ceiling = OUTPUT_CEILING if most is None else None
    return LLMGenerator(
        model,
        max_output_tokens=most,
        output_ceiling=ceiling,
        context_window=current.context_window,
    )


@cache
def _extractive() -> Generator:
    """Make the generator without a model once: its embedder takes a third of a second to load."""
    from aletheia.generators.extractive import ExtractiveGenerator

    return ExtractiveGenerator(MiniLM())
