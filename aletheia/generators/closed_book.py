"""The same model without evidence: what it knew beforehand."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any, Final, Protocol

from aletheia.errors import ModelBadReply
from aletheia.generators.base import Attempt, Generation
from aletheia.generators.llm import OUTPUT_CEILING, REPAIR_WORDS
from aletheia.grounding.data_region import data_region, neutralise
from aletheia.grounding.parse import parse_reply
from aletheia.llm.base import add_usage, digest_prompt
from aletheia.schema.answer import ABSTENTION, ParseProblem
from aletheia.schema.model import ChatModel, Prompt, Reply

_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "reasoning": {"type": "string"}},
    "required": ["answer", "reasoning"],
    "additionalProperties": False,
}


class ClosedBook(Protocol):
    """Answers a question without evidence. Raises `ModelError` when there is no reply."""

    async def generate(self, question: str) -> Generation:
        """Return the raw reply, an object with `answer`, or the abstention."""
        ...


def closed_book_prompt(question: str, *, delimiter: str) -> Prompt:
    """Ask for an answer from memory, or for the abstention.

    Raises UsageError for a delimiter that does not fit (see `data_region`).
    """
    parts = _template()
    data = data_region(delimiter, f"QUESTION: {neutralise(question)}")
    values = {"delimiter": delimiter, "data": data}
    return Prompt(
        system=_fill(parts["system"], values),
        user=_fill(parts["user"], values),
        schema={**_SCHEMA, "properties": {**_SCHEMA["properties"]}},
        schema_name="answer_from_memory",
        delimiter=delimiter,
    )


def closed_book_digest() -> str:
    """Return `sha256:<hex>` of the prompt file: it changes with every word of the prompt."""
    return f"sha256:{hashlib.sha256(_source().encode('utf-8')).hexdigest()}"


class ClosedBookGenerator:
    """`ClosedBook` over a chat model.

    A reply that cannot be read is asked for once more; the second reply counts, whatever it is.
    Raises `ModelBadReply` for a reply that was cut at the limit of output tokens.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        max_output_tokens: int | None = None,
        delimiter: Callable[[], str] = lambda: secrets.token_hex(8),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._max_output_tokens = max_output_tokens
        self._delimiter = delimiter
        self._clock = clock

    @property
    def model(self) -> str:
        """Id of the chat model."""
        return self._model.name

    async def generate(self, question: str) -> Generation:
        """Ask the model, at most twice."""
        most = self._max_output_tokens
        prompt = replace(
            closed_book_prompt(question, delimiter=self._delimiter()),
            max_output_tokens=most,
            output_ceiling=OUTPUT_CEILING if most is None else None,
        )
        started = self._clock()
        first = await self._model.complete(prompt)
        replies = [first]
        problem = _problem(first)
        if problem is not None:
            replies.append(await self._model.complete(_repair(prompt, problem)))
        return self._generation(prompt, replies, self._clock() - started)

    def _generation(self, prompt: Prompt, replies: list[Reply], seconds: float) -> Generation:
        last, usage = replies[-1], replies[0].usage
        for reply in replies[1:]:
            usage = add_usage(usage, reply.usage)
        if last.finish_reason == "length" and _problem(last) is not None:
            raise ModelBadReply(
                "the reply was cut at the limit of output tokens", usage=usage, text=last.text
            )
        return Generation(
            reply=last.text,
            model=self.model,
            usage=usage,
            structured=last.structured,
            dropped=last.dropped,
            finish_reason=last.finish_reason,
            timings_ms={"generate": seconds * 1000},
            prompt_digest=digest_prompt(prompt),
            attempts=tuple(_attempt(reply) for reply in replies),
        )


class NoMemory:
    """`ClosedBook` of a generator that quotes the evidence: without any it can only abstain."""

    async def generate(self, question: str) -> Generation:  # noqa: ARG002
        """Return the abstention. Nothing is asked."""
        reply = {"answer": ABSTENTION, "evidence_ids": [], "reasoning": "There is no evidence."}
        note = "it only quotes evidence: without any it abstains by construction"
        return Generation(reply=json.dumps(reply), model="extractive", notes=(note,))


def _attempt(reply: Reply) -> Attempt:
    problem = _problem(reply)
    return Attempt(
        reply=reply.text,
        problem=problem.message if problem else None,
        finish_reason=reply.finish_reason,
    )


def _problem(reply: Reply) -> ParseProblem | None:
    parsed = parse_reply(reply.text)
    return parsed if isinstance(parsed, ParseProblem) else None


def _repair(prompt: Prompt, problem: ParseProblem) -> Prompt:
    told = (
        f"Your previous reply could not be read: {REPAIR_WORDS[problem.code]}.\n"
        "Reply again, with the one JSON object asked for and nothing around it."
    )
    return replace(prompt, user=f"{prompt.user}\n\n{told}")


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Replace each placeholder once; what stands in a value is never looked at again."""
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], template)


def _source() -> str:
    folder = resources.files("aletheia.generators") / "prompts"
    return (folder / "closed_book.md").read_text(encoding="utf-8")


@cache
def _template() -> dict[str, str]:
    _, *sections = re.split(r"^# (\w+)\n", _source(), flags=re.MULTILINE)
    return {n: b.strip() for n, b in zip(sections[::2], sections[1::2], strict=True)}
