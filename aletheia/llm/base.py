"""Small things that every model adapter and wrapper shares.

The ports themselves, `ChatModel` and `Embedder`, are in `aletheia.schema.model`. A wrapper takes
a `ChatModel` and is one: cache, budget and rate limit go between the retries and the adapter, or
around both, without either knowing.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Protocol, runtime_checkable

from aletheia.schema.model import Prompt, Usage

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@runtime_checkable
class ModelLister(Protocol):
    """A model that can say which model ids its endpoint offers."""

    async def list_models(self) -> tuple[str, ...]:
        """Ids of all models offered. Raises `ModelError`."""
        ...


def digest_prompt(prompt: Prompt) -> str:
    """Return `sha256:<hex>` over everything of the prompt that goes to the endpoint."""
    parts = [
        prompt.system,
        prompt.user,
        prompt.schema,
        prompt.schema_name,
        prompt.temperature,
        prompt.max_output_tokens,
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
    )


def requests_only(count: int) -> Usage:
    """Return the usage of `count` requests that produced no tokens."""
    return Usage(prompt_tokens=0, completion_tokens=0, calls=count)


def wire_text(text: str) -> str:
    """Return the text as it can be sent: half of a UTF-16 pair becomes U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def _plus(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
