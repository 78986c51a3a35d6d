"""Small things that every model adapter and wrapper shares.

The ports themselves, `ChatModel` and `Embedder`, are in `aletheia.schema.model`. A wrapper takes
a `ChatModel` and is one: cache, budget and rate limit go between the retries and the adapter, or
around both, without either knowing.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from aletheia.schema.model import Prompt, Usage

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@runtime_checkable
class ModelLister(Protocol):
    """A model that can say which model ids its endpoint offers."""

    async def list_models(self) -> tuple[str, ...]:
        """Ids of all models offered. Raises `ModelError`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointIdentity:
    """Which model at which endpoint, set how: what tells two sources of replies apart.

    `provider` is the protocol spoken, `openai` or `azure`. `parameters` are names and values
    that are set for every request and do not stand in the prompt, such as an API version,
    sorted by name. Holds no secret.
    """

    provider: str
    base_url: str
    model: str
    parameters: tuple[tuple[str, str], ...] = ()


def digest_prompt(prompt: Prompt) -> str:
    """Return `sha256:<hex>` over everything of the prompt that decides the reply.

    The random token of the call counts as zeros of its length, so that the digest is the same in
    every run. The number of a repetition counts; what the call is for does not.
    """
    parts = [
        _without_token(prompt.system, prompt.delimiter),
        _without_token(prompt.user, prompt.delimiter),
        prompt.schema,
        prompt.schema_name,
        prompt.temperature,
        prompt.max_output_tokens,
        prompt.repeat,
    ]
    # The ASCII form can carry a lone surrogate, UTF-8 cannot.
    text = json.dumps(parts, ensure_ascii=True, sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def add_usage(first: Usage, second: Usage) -> Usage:
    """Sum two usages. A count that one of them lacks is unknown in the sum as well."""
    return Usage(
        prompt_tokens=_plus(first.prompt_tokens, second.prompt_tokens),
        completion_tokens=_plus(first.completion_tokens, second.completion_tokens),
        calls=first.calls + second.calls,
        cached_prompt_tokens=_plus(first.cached_prompt_tokens, second.cached_prompt_tokens),
    )


def requests_only(count: int) -> Usage:
    """Return the usage of `count` requests that produced no tokens."""
    return Usage(prompt_tokens=0, completion_tokens=0, calls=count, cached_prompt_tokens=0)


def wire_text(text: str) -> str:
    """Return the text as it can be sent: half of a UTF-16 pair becomes U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def _without_token(text: str, token: str | None) -> str:
    return text.replace(token, "0" * len(token)) if token else text


def _plus(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
