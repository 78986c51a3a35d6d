"""The generator that asks a chat model."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aletheia.errors import ContextTooLong, ModelBadReply, ModelError
from aletheia.generators.base import Attempt, Generation
from aletheia.generators.chunks import Said, cited_units, deciding, span
from aletheia.grounding.parse import parse_reply
from aletheia.grounding.prompt import answer_prompt
from aletheia.llm.base import add_usage, digest_prompt, requests_only
from aletheia.llm.chunks import NO_USAGE, Chunked, in_chunks
from aletheia.llm.prompt_size import least_tokens
from aletheia.schema.answer import ABSTENTION, ParsedReply, ParseProblem, ProblemCode
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage
from aletheia.schema.verification import Mode

OUTPUT_CEILING: Final = 8192
"""Output tokens of the second try of a reply that was cut, where nothing else is said."""

_STAGES: Final = ("generate", "repair")
_CUT: Final = ParseProblem(
    code="truncated", message="it was cut at the limit of output tokens; use fewer words"
)
_CLOSED_FOR_IT: Final = frozenset({"missing_brace", "missing_bracket"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Try:
    """One call that came back with a text, readable or not."""

    reply: Reply
    parsed: ParsedReply
    seconds: float

    @property
    def problem(self) -> ParseProblem | None:
        return self.parsed if isinstance(self.parsed, ParseProblem) else None

    @property
    def cut(self) -> bool:
        return self.parsed is _CUT

    def attempt(self) -> Attempt:
        return Attempt(
            reply=self.reply.text,
            problem=self.problem.message if self.problem else None,
            finish_reason=self.reply.finish_reason,
            seconds=self.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What was said about some units, with the tries it took. The last try counts."""

    units: tuple[EvidenceUnit, ...]
    tries: tuple[_Try, ...]
    usage: Usage
    digest: str
    notes: tuple[str, ...] = ()

    def said(self) -> Said:
        return Said(units=self.units, parsed=self.tries[-1].parsed)


class LLMGenerator:
    """`Generator` over a chat model.

    A reply that cannot be read is asked for once more, with the problem told; the second reply
    counts, whatever it is. Without evidence no call is made and the reply is the abstention.
    `max_output_tokens` None leaves the limit to the endpoint; a reply cut there is asked for once
    more with `output_ceiling`, and one that is cut again is no answer. `delimiter` makes the
    random mark around evidence, one per call.

    Evidence that does not fit the context window is asked about in groups of whole units, which
    keep their ids. `context_window`, in tokens, saves requests that cannot fit.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        max_output_tokens: int | None = None,
        output_ceiling: int | None = OUTPUT_CEILING,
        context_window: int | None = None,
        delimiter: Callable[[], str] = lambda: secrets.token_hex(8),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._max_output_tokens = max_output_tokens
        self._output_ceiling = output_ceiling
        self._context_window = context_window
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
        """Ask the model, at most twice where the evidence fits.

        Raises `ModelError` where the first call fails; where only the second does, the first
        reply stands and a note says so. Raises `ModelBadReply` for a reply that was cut, and
        `ContextTooLong` where a unit is too long alone.
        """
        if not evidence:
            return _abstention(self.model)
        parts, refused = list[_Part](), NO_USAGE

        async def ask(units: Sequence[EvidenceUnit]) -> None:
            parts.append(await self._part(question, units, mode))

        def fits(units: Sequence[EvidenceUnit]) -> bool:
            return self._fits(question, units, mode)

        try:
            asked = await in_chunks(evidence.units, ask, fits=fits)
            _none_too_long(asked)
            refused = asked.refused
            if len(parts) == 1:
                return _generation(self.model, parts, parts[0], refused=refused)
            chosen, notes = await self._joined(question, parts, mode)
        except ModelError as error:
            cost = add_usage(error.usage or requests_only(1), refused)
            error.usage = _spent(cost, parts)
            raise
        whole = digest_prompt(self._prompt(question, evidence.units, mode))
        everything = parts if chosen in parts else [*parts, chosen]
        return _generation(
            self.model, everything, replace(chosen, digest=whole), notes, refused=refused
        )

    async def _joined(
        self, question: str, parts: list[_Part], mode: Mode
    ) -> tuple[_Part, tuple[str, ...]]:
        """Return the part that counts, asking once more where several groups answer."""
        said = [part.said() for part in parts]
        groups = "; ".join(span(part.units) for part in parts)
        shown = f"the evidence did not fit the context window and was shown in groups: {groups}"
        index = deciding(said)
        if index is not None:
            return parts[index], (shown, _told(said, index))
        units = cited_units(said)
        ids = ", ".join(unit.id for unit in units)
        try:
            last = await self._part(question, units, mode)
        except ContextTooLong as error:
            raise ContextTooLong(
                f"several groups of the evidence answer, and the units they cite ({ids}) do not "
                f"fit together: {error.message}",
                hint=error.hint,
                status=error.status,
                usage=error.usage,
            ) from None
        return last, (shown, f"several groups answer; asked once more over what they cite: {ids}")

    async def _part(self, question: str, units: Sequence[EvidenceUnit], mode: Mode) -> _Part:
        """Ask about some units, at most twice."""
        prompt = self._prompt(question, units, mode)
        first = await self._ask(prompt)
        part = _Part(
            units=tuple(units),
            tries=(first,),
            usage=first.reply.usage,
            digest=digest_prompt(prompt),
        )
        # More than one request was made for it already, the last with all the room there is.
        if first.problem is not None and not (first.cut and first.reply.usage.calls > 1):
            part = await self._repaired(prompt, first.problem, part)
        if part.tries[-1].cut:
            raise _cut(part)
        return part

    async def _repaired(self, prompt: Prompt, problem: ParseProblem, part: _Part) -> _Part:
        try:
            second = await self._ask(_repair_prompt(prompt, problem))
        except ModelError as error:
            usage = add_usage(part.usage, error.usage or requests_only(1))
            note = f"the call to repair the reply failed: {error}"
            return replace(part, usage=usage, notes=(note,))
        usage = add_usage(part.usage, second.reply.usage)
        return replace(part, tries=(*part.tries, second), usage=usage)

    def _prompt(self, question: str, units: Sequence[EvidenceUnit], mode: Mode) -> Prompt:
        delimiter = self._delimiter()
        evidence = EvidenceSet(units=tuple(units))
        prompt = answer_prompt(question, evidence, mode=mode, delimiter=delimiter)
        limit = self._max_output_tokens or prompt.max_output_tokens
        return replace(
            prompt,
            max_output_tokens=limit,
            output_ceiling=self._output_ceiling,
            delimiter=delimiter,
        )

    def _fits(self, question: str, units: Sequence[EvidenceUnit], mode: Mode) -> bool:
        """Whether the units may fit; False only where no tokenizer could make them."""
        if self._context_window is None:
            return True
        prompt = self._prompt(question, units, mode)
        least = least_tokens(prompt.system) + least_tokens(prompt.user)
        return least + (prompt.max_output_tokens or 0) <= self._context_window

    async def _ask(self, prompt: Prompt) -> _Try:
        started = self._clock()
        reply = await self._complete(prompt)
        seconds = self._clock() - started
        return _Try(reply=reply, parsed=_read(reply), seconds=seconds)

    async def _complete(self, prompt: Prompt) -> Reply:
        """Answer the prompt; a reply without text is the model's fault, not the connection's."""
        try:
            return await self._model.complete(prompt)
        except ModelBadReply as error:
            if error.text is None:
                raise
            usage = error.usage or requests_only(1)
            return Reply(text=error.text, model=self._model.name, usage=usage)


def _read(reply: Reply) -> ParsedReply:
    """Read a reply. One that was cut is read only where its object ends before the cut."""
    parsed = parse_reply(reply.text)
    if reply.finish_reason == "length":
        whole = not isinstance(parsed, ParseProblem) and _CLOSED_FOR_IT.isdisjoint(parsed.repairs)
        return parsed if whole else _CUT
    return parsed


def _generation(
    model: str,
    parts: Sequence[_Part],
    chosen: _Part,
    notes: tuple[str, ...] = (),
    *,
    refused: Usage,
) -> Generation:
    last = chosen.tries[-1]
    return Generation(
        reply=last.reply.text,
        model=model,
        usage=_spent(refused, parts),
        structured=last.reply.structured,
        dropped=last.reply.dropped,
        finish_reason=last.reply.finish_reason,
        timings_ms=_timings(parts),
        prompt_digest=chosen.digest,
        attempts=tuple(item.attempt() for part in parts for item in part.tries),
        notes=(*notes, *(note for part in parts for note in part.notes)),
    )


def _timings(parts: Sequence[_Part]) -> dict[str, float]:
    """Milliseconds by stage, over all groups."""
    timings: dict[str, float] = {}
    for part in parts:
        for stage, item in zip(_STAGES, part.tries, strict=False):
            timings[stage] = timings.get(stage, 0.0) + item.seconds * 1000
    return timings


def _spent(first: Usage, parts: Sequence[_Part]) -> Usage:
    for part in parts:
        first = add_usage(first, part.usage)
    return first


def _none_too_long(asked: Chunked[EvidenceUnit, None]) -> None:
    """Raises `ContextTooLong` that names the unit which no request can hold."""
    for chunk in asked.too_long:
        if chunk.error is not None:
            raise ContextTooLong(
                f"unit `{chunk.items[0].id}` alone is too long for the model: "
                f"{chunk.error.message}",
                hint=chunk.error.hint,
                status=chunk.error.status,
                usage=asked.refused,
            )


def _told(said: Sequence[Said], index: int) -> str:
    if not said[index].readable:
        return f"the reply about {span(said[index].units)} cannot be read, and stands for all"
    if not said[index].answers:
        return "no group of the evidence held the answer"
    return f"only the group {span(said[index].units)} held an answer"


def _cut(part: _Part) -> ModelBadReply:
    return ModelBadReply(
        "the reply was cut at the limit of output tokens",
        hint="raise `max_output_tokens` or `output_ceiling`",
        usage=part.usage,
        text=part.tries[-1].reply.text,
    )


def _abstention(model: str) -> Generation:
    reply = {"answer": ABSTENTION, "evidence_ids": [], "reasoning": "No evidence was retrieved."}
    return Generation(
        reply=json.dumps(reply),
        model=model,
        notes=("no evidence: abstained without asking the model",),
    )


REPAIR_WORDS: Final[dict[ProblemCode, str]] = {
    "empty_reply": "it was empty",
    "no_object": "it held no JSON object",
    "ambiguous": "it held several different JSON objects",
    "truncated": "it was cut off",
    "schema_echo": "it was the schema itself, not an object that follows it",
    "missing_answer": "the field `answer` was missing",
    "wrong_type": "a field had the wrong type",
    "empty_answer": "the field `answer` was blank",
    "duplicate_key": "a key stood twice with different values",
}
"""What the second prompt says of the first reply."""


def _repair_prompt(prompt: Prompt, problem: ParseProblem) -> Prompt:
    # Nothing of the unreadable reply is shown again, also none of its keys: it may echo an order
    # that stands in the evidence, and here it would stand outside of the data.
    told = (
        f"Your previous reply could not be read: {REPAIR_WORDS[problem.code]}.\n"
        "Reply again, with the one JSON object asked for and nothing around it."
    )
    return replace(prompt, user=f"{prompt.user}\n\n{told}")
