"""Join a pure pair with a model: one call, one more about what is open, smaller parts if need be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from aletheia.errors import (
    AletheiaError,
    BudgetExceeded,
    ContextTooLong,
    ModelBadReply,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from aletheia.judges.base import Failed
from aletheia.judges.case import OBEYED, JudgeCase, Reading
from aletheia.judges.prompts import PromptSet, told
from aletheia.judges.roster import invented_name
from aletheia.judges.together import together
from aletheia.judges.verdicts import CANARY, Task, ask, nothing_read, read
from aletheia.llm.base import requests_only
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.model import ChatModel, Prompt, Reply

_CODES: Final[tuple[tuple[type[AletheiaError], str], ...]] = (
    (ContextTooLong, "context_too_long"),
    (ModelRefused, "model_refused"),
    (ModelUnavailable, "model_unavailable"),
    (ModelBadReply, "bad_reply"),
    (BudgetExceeded, "budget_exceeded"),
)
"""The first class that fits names the failure."""

OUTPUT_CEILING: Final = 8192
CLAIMS_A_CALL: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A reading, and what went wrong on the way to it, for people."""

    reading: Reading
    messages: tuple[str, ...] = ()
    failed: tuple[Failed, ...] = ()

    @property
    def message(self) -> str | None:
        """All messages in one line."""
        return "; ".join(dict.fromkeys(self.messages)) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """How a model is asked: prompts, strictness and limits.

    `delimiter` makes the random token of a call; tokens of one length keep prompts of the same
    content the same for a cache. `max_output_tokens` None leaves the limit to the endpoint; a
    reply cut there is asked for once more with `output_ceiling`.
    """

    model: ChatModel
    prompts: PromptSet = field(default_factory=PromptSet)
    strict: bool = True
    delimiter: Callable[[], str] = invented_name
    max_output_tokens: int | None = None
    output_ceiling: int | None = OUTPUT_CEILING
    claims_a_call: int = CLAIMS_A_CALL

    async def reply(self, prompt: Prompt) -> Reply | Failed:
        """Ask once. A reply that the adapter could not use is a reply if it has a text."""
        limited = replace(
            prompt, max_output_tokens=self.max_output_tokens, output_ceiling=self.output_ceiling
        )
        try:
            return await self.model.complete(limited)
        except ModelBadReply as error:
            if error.text is None:
                return _failed(error)
            usage = error.usage or requests_only(1)
            return Reply(text=error.text, model=self.model.name, usage=usage)
        except (ModelError, BudgetExceeded) as error:
            return _failed(error)

    async def judge(self, task: Task, case: JudgeCase) -> Read:
        """Judge all items of `case`; an item without a verdict has its problem in the reading."""
        parts = _parts(task, case, self.claims_a_call)
        return _joined(await together([partial(self._fitted, task, part) for part in parts]))

    async def _fitted(self, task: Task, case: JudgeCase) -> Read:
        """Judge over all units at once; where they do not fit into one call, over halves."""
        done = await self._twice(task, case)
        too_long = any(item.code == "context_too_long" for item in done.failed)
        units = case.trace.evidence.units
        if not too_long or not task.evidence or len(units) < 2:
            return done
        middle = len(units) // 2
        first, second = [
            await self._fitted(task, case.over(EvidenceSet(units=part)))
            for part in (units[:middle], units[middle:])
        ]
        return Read(
            reading=first.reading.beside(second.reading),
            messages=first.messages + second.messages,
            failed=first.failed + second.failed,
        )

    async def _twice(self, task: Task, case: JudgeCase) -> Read:
        """Ask, and ask once more about the items that have no verdict."""
        first = await self._once(task, case, ())
        reading = first.reading
        open_items = reading.open_questions | reading.open_claims
        if not open_items or first.failed or OBEYED in reading.findings:
            return first
        rest = case.only(reading.open_questions, reading.open_claims)
        second = await self._once(task, rest, reading.problems)
        if second.failed:
            # What the first reply lacks stays lacking, for the reason it had.
            return replace(first, messages=second.messages)
        return replace(second, reading=reading.completed_by(second.reading))

    async def _once(self, task: Task, case: JudgeCase, problems: Sequence[str]) -> Read:
        prompt = ask(task, case, self.delimiter(), self.prompts)
        if problems:
            prompt = replace(prompt, user=told(prompt, problems))
        reply = await self.reply(prompt)
        if isinstance(reply, Failed):
            reading = nothing_read(task, case, reply.code)
            return Read(reading=reading, messages=(reply.message,), failed=(reply,))
        reading = read(task, case, reply, strict=self.strict)
        obeyed = CANARY in reading.problems
        return Read(reading=reading, messages=(_OBEYED_MESSAGE,) if obeyed else ())


_OBEYED_MESSAGE: Final = (
    "the judge found support for an item that nothing supports: its reply does not count"
)


def _parts(task: Task, case: JudgeCase, size: int) -> list[JudgeCase]:
    """Cut a long list of claims into calls, unless they have to be seen together."""
    if task.alignment or len(case.claims) <= size:
        return [case]
    return [
        replace(case, claims=case.claims[at : at + size]) for at in range(0, len(case.claims), size)
    ]


def _joined(reads: Sequence[Read]) -> Read:
    joined = reads[0]
    for item in reads[1:]:
        joined = Read(
            reading=joined.reading.joined(item.reading),
            messages=joined.messages + item.messages,
            failed=joined.failed + item.failed,
        )
    return joined


def _failed(error: AletheiaError) -> Failed:
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "model_error")
    return Failed(code=code, message=str(error))


def making(role: str, model: ChatModel, prompts: PromptSet, *names: str) -> Mapping[str, str]:
    """What a result keeps: the model and the digest of each prompt that was used."""
    digests = prompts.digests()
    return {f"{role}_model": model.name, **{f"prompt_{name}": digests[name] for name in names}}
