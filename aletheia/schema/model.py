"""The narrow ports to models: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request to a chat model.

    `schema` is a JSON schema the reply should follow, `schema_name` its name on the wire.
    `temperature` None leaves the endpoint's default. `max_output_tokens` goes out exactly; a
    reply that is cut is asked for once more with `output_ceiling`, where that is set and larger.

    `delimiter` is the random token of this call that stands in `system` and `user`: two prompts
    that differ in nothing else are the same prompt. `repeat` numbers the times one prompt is
    asked on purpose, from 0; it is not sent. `purpose` says what the call is for, as it is shown
    in costs: `generate`, `judge`, `decompose`, `metric`.
    """

    system: str
    user: str
    schema: dict[str, Any] | None = None
    schema_name: str = "reply"
    temperature: float | None = 0.0
    max_output_tokens: int | None = None
    output_ceiling: int | None = None
    delimiter: str | None = None
    repeat: int = 0
    purpose: str = "generate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more calls, as the endpoint reported them (None = it did not).

    `calls` counts requests that were sent, those that failed or were refused included.
    `cached_prompt_tokens` are those of `prompt_tokens` that the endpoint had read before.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    calls: int = 1
    cached_prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a chat model said. `finish_reason` is the endpoint's own word."""

    text: str
    model: str
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    structured: str = "none"
    """How the reply was constrained: `json_schema`, `json_object` or `none`."""
    dropped: tuple[str, ...] = ()
    """Parameters of the prompt that the endpoint refuses and the request went out without."""
    source: Literal["endpoint", "cache", "batch"] = "endpoint"
    """Where the reply came from. `usage` of a reply from the cache counts no call and no token."""


@runtime_checkable
class ChatModel(Protocol):
    """Prompt in, reply out. Raises `ModelError` when there is no reply."""

    @property
    def name(self) -> str:
        """Model id as recorded in results."""
        ...

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Texts in, unit-length vectors out."""

    @property
    def name(self) -> str:
        """Model id as recorded in results."""
        ...

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension), float32, L2-normalised."""
        ...
