"""Models that are never asked: they answer from the schema of a prompt, and measure both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from anyio.lowlevel import checkpoint

from aletheia.llm.prompt_size import least_tokens
from aletheia.pipeline.answer import Options, Stages, answer_question
from aletheia.pipeline.measure_judges import fitting
from aletheia.schema.model import ChatModel, Embedder, Prompt, Reply, Usage
from aletheia.schema.question import Question

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


EMBED: Final = "embed"
"""Purpose of the calls that embed."""

_PASSES: Final = 8
"""Passes of the event loop within which calls begin together: tasks may start further tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How long a reply is: words in a string, items in a list."""

    words: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How many replies of chat models a question waits for one after another, and how many vectors."""

    turns: int
    embeds: int = 0


@dataclass(slots=True)
class Sums:
    """Calls of one purpose to one model, sizes in bytes and in the fewest tokens."""

    calls: int = 0
    prompt_bytes: int = 0
    prompt_least: int = 0
    completion_bytes: int = 0
    completion_least: int = 0

    def count(self, prompt: str, completion: str) -> None:
        """Count one call."""
        self.calls += 1
        self.prompt_bytes += _bytes(prompt)
        self.prompt_least += least_tokens(prompt)
        self.completion_bytes += _bytes(completion)
        self.completion_least += least_tokens(completion)


@dataclass(slots=True, kw_only=True)
class Meter:
    """Makes models that measure, and sums what they saw.

    `sums` are by purpose and model, `rows` the waits of each question in order, and `failed` says
    why a question could not be gone through.
    """

    size: Size
    embed_model: str
    sums: dict[tuple[str, str], Sums] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    _turns: int = 0
    _embeds: int = 0

    def chat(self, model: str | None) -> ChatModel:
        """Return a model that answers from the schema of the prompt."""
        return _MeasuringModel(model or "model", self)

    def embedder(self) -> Embedder:
        """Return an embedder for which all texts are alike."""
        return _MeasuringEmbedder(self.embed_model, self)

    def note(self, purpose: str, model: str, prompt: str, completion: str) -> None:
        """Count one call."""
        self.sums.setdefault((purpose, model), Sums()).count(prompt, completion)

    def note_vectors(self, texts: Sequence[str]) -> None:
        """Count one call that embeds."""
        self._embeds += 1
        self.note(EMBED, self.embed_model, "\n".join(texts), "")

    async def take_turn(self) -> None:
        """Take the time of one call: calls that begin together end together."""
        begun = self._turns
        for _ in range(_PASSES):
            await checkpoint()
        self._turns = max(self._turns, begun + 1)

    async def measure(
        self, questions: Sequence[Question], stages: Stages, options: Options
    ) -> None:
        """Go through the questions one after another, without a limit of time or money.

        Judges are asked about every answer; those that ask no model are left out.
        """
        options = replace(options, row_timeout_s=float("inf"), budget_usd=None)
        for question in questions:
            self._turns, self._embeds = 0, 0
            made = await answer_question(question, stages, options)
            self.rows.append(Row(turns=self._turns, embeds=self._embeds))
            if made.row.error is not None:
                self.failed.append(f"question `{question.id}`: {made.row.error}")


@dataclass(frozen=True, slots=True)
class _MeasuringModel:
    name: str
    meter: Meter

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer from the schema, and count both ways."""
        await self.meter.take_turn()
        schema = prompt.schema or {"type": "string"}
        made = reply_for(schema, self.meter.size.words, self.meter.size.items)
        text = json.dumps(fitting(prompt, made))
        sent = "\n".join((prompt.system, prompt.user, json.dumps(prompt.schema or "")))
        self.meter.note(prompt.purpose, self.name, sent, text)
        usage = Usage(prompt_tokens=0, completion_tokens=0, calls=0)
        return Reply(text=text, model=self.name, finish_reason="stop", usage=usage)


@dataclass(frozen=True, slots=True)
class _MeasuringEmbedder:
    name: str
    meter: Meter

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of shape (len(texts), 1), all the same."""
        import numpy as np

        self.meter.note_vectors(texts)
        return np.ones((len(texts), 1), dtype=np.float32)


def reply_for(schema: Mapping[str, Any], words: int, items: int) -> object:
    """Return a value that follows a JSON schema, with so many words a string and items a list."""
    return _value(schema, schema, words, items)


def _value(schema: Mapping[str, Any], root: Mapping[str, Any], words: int, items: int) -> object:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _value(root["$defs"][name], root, words, items)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _value(schema[several][0], root, words, items)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {name: _value(item, root, words, items) for name, item in fields.items()}
        case "array":
            return [_value(schema["items"], root, words, items)] * _count(schema, items)
        case "string":
            # A pattern stands for an id of evidence, and the first unit is always there.
            return "E1" if "pattern" in schema else " ".join(["word"] * words)
        case kind:
            return {"boolean": False, "integer": 0, "number": 0}.get(str(kind))


def _count(schema: Mapping[str, Any], items: int) -> int:
    return max(int(schema.get("minItems", 0)), min(items, int(schema.get("maxItems", items))))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
