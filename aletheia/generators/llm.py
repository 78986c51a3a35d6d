"""The generator that asks a chat model."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from aletheia.errors import ModelBadReply, ModelError
from aletheia.generators.base import Attempt, Generation
from aletheia.grounding.parse import parse_reply
from aletheia.grounding.prompt import answer_prompt
from aletheia.llm.base import add_usage, digest_prompt, requests_only
from aletheia.schema.answer import ABSTENTION, ParseProblem
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage
from aletheia.schema.verification import Mode

_FIXED_DELIMITER: Final = "0" * 16
_OUTPUT_CEILING: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class _Try:
    """One call that came back with a text, readable or not."""

    reply: Reply
    problem: ParseProblem | None
    seconds: float

    def attempt(self) -> Attempt:
        return Attempt(
            reply=self.reply.text,
            problem=self.problem.message if self.problem else None,
            finish_reason=self.reply.finish_reason,
            seconds=self.seconds,
        )


class LLMGenerator:
    """`Generator` over a chat model.

    A reply that cannot be read is asked for once more, with the problem told; the second reply
    counts, whatever it is. Without evidence no call is made and the reply is the abstention.
    `max_output_tokens` None leaves the limit to the endpoint; a reply cut there is asked for once
    more with `output_ceiling`. `delimiter` makes the random mark around evidence, one per call.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        max_output_tokens: int | None = None,
        output_ceiling: int | None = _OUTPUT_CEILING,
        delimiter: Callable[[], str] = lambda: secrets.token_hex(8),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._max_output_tokens = max_output_tokens
        self._output_ceiling = output_ceiling
        self._delimiter = delimiter
        self._clock = clock

    @property
    def name(self) -> str:
        """Which kind of generator this is."""
        return "llm"

    @property
    def model(self) -> str:
        """Id of the chat model."""
        return self._model.name

    async def generate(self, question: str, evidence: EvidenceSet, *, mode: Mode) -> Generation:
        """Ask the model, at most twice.

        Raises `ModelError` where the first call fails; where only the second does, the first
        reply stands and a note says so.
        """
        if not evidence:
            return _abstention(self.model)
        prompt = self._prompt(question, evidence, mode, self._delimiter())
        digest = digest_prompt(self._prompt(question, evidence, mode, _FIXED_DELIMITER))
        first = await self._ask(prompt)
        tries, cost = [first], first.reply.usage
        notes: tuple[str, ...] = ()
        if first.problem is not None:
            try:
                tries.append(await self._ask(_repair_prompt(prompt, first.problem)))
                cost = add_usage(cost, tries[-1].reply.usage)
            except ModelError as error:
                notes = (f"the call to repair the reply failed: {error}",)
                cost = add_usage(cost, error.usage or requests_only(1))
        return _generation(self.model, tries, cost, digest, notes)

    def _prompt(self, question: str, evidence: EvidenceSet, mode: Mode, delimiter: str) -> Prompt:
        prompt = answer_prompt(question, evidence, mode=mode, delimiter=delimiter)
        limit = self._max_output_tokens or prompt.max_output_tokens
        return replace(prompt, max_output_tokens=limit, output_ceiling=self._output_ceiling)

    async def _ask(self, prompt: Prompt) -> _Try:
        started = self._clock()
        reply = await self._complete(prompt)
        seconds = self._clock() - started
        parsed = parse_reply(reply.text)
        problem = parsed if isinstance(parsed, ParseProblem) else None
        return _Try(reply=reply, problem=problem, seconds=seconds)

    async def _complete(self, prompt: Prompt) -> Reply:
        """Answer the prompt; a reply without text is the model's fault, not the connection's."""
        try:
            return await self._model.complete(prompt)
        except ModelBadReply as error:
            if error.text is None:
                raise
            usage = error.usage or requests_only(1)
            return Reply(text=error.text, model=self._model.name, usage=usage)


def _generation(
    model: str, tries: list[_Try], cost: Usage, digest: str, notes: tuple[str, ...]
) -> Generation:
    last = tries[-1]
    names = ("generate", "repair")
    return Generation(
        reply=last.reply.text,
        model=model,
        usage=cost,
        structured=last.reply.structured,
        dropped=last.reply.dropped,
        finish_reason=last.reply.finish_reason,
        timings_ms={name: item.seconds * 1000 for name, item in zip(names, tries, strict=False)},
        prompt_digest=digest,
        attempts=tuple(item.attempt() for item in tries),
        notes=notes,
    )


def _abstention(model: str) -> Generation:
    reply = {"answer": ABSTENTION, "evidence_ids": [], "reasoning": "No evidence was retrieved."}
    return Generation(
        reply=json.dumps(reply),
        model=model,
        notes=("no evidence: abstained without asking the model",),
    )


def _repair_prompt(prompt: Prompt, problem: ParseProblem) -> Prompt:
    # The unreadable reply is not shown again: it is untrusted text, and it may be what is wrong.
    told = (
        f"Your previous reply could not be read: {problem.message}\n"
        "Reply again, with the one JSON object asked for and nothing around it."
    )
    return replace(prompt, user=f"{prompt.user}\n\n{told}")
