"""What a generator is: a question and its evidence in, the raw text of a reply out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.model import Usage
from aletheia.schema.verification import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One reply on the way to a generation, kept whether it counted or not.

    `problem` says why the reply could not be read (None = it could). `seconds` is the time the
    call took, retries included.
    """

    reply: str
    problem: str | None = None
    finish_reason: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The raw reply of a generator to one question, nothing verified yet.

    `reply` is the text that counts, byte for byte. `usage` covers all attempts. `structured` and
    `dropped` are those of the reply that counts (see `Reply`). `timings_ms` names the stages in
    milliseconds. `prompt_digest` is `sha256:<hex>` of the prompt without its random delimiter,
    None where no prompt was made. `notes` are sentences for a person.
    """

    reply: str
    model: str
    usage: Usage = field(
        default_factory=lambda: Usage(prompt_tokens=0, completion_tokens=0, calls=0)
    )
    structured: str = "none"
    dropped: tuple[str, ...] = ()
    finish_reason: str | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    prompt_digest: str | None = None
    attempts: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()


@runtime_checkable
class Generator(Protocol):
    """Answers one question from its evidence. Raises `ModelError` when there is no reply."""

    @property
    def name(self) -> str:
        """Which kind ran: `llm` or `extractive`."""
        ...

    @property
    def model(self) -> str:
        """Id of the model behind it, as recorded in results."""
        ...

    async def generate(self, question: str, evidence: EvidenceSet, *, mode: Mode) -> Generation:
        """Return the raw reply to `question` over `evidence`."""
        ...
