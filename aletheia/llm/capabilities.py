"""What each endpoint was found to accept, remembered for the life of the process.

A model object that is made later starts where the first one left off. What a call learns is what
it changed on its own way, so two first calls at once add up and neither undoes the other.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from aletheia.llm.openai_wire import LADDER, Shape, Structured, TokenParameter

Key = tuple[str, str]
"""Base URL and model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """How requests to one model go out, to be stored with a run.

    `structured` is the strongest constraint it is not known to refuse. `dropped` names what
    requests go out without. `schema_in_text` is True where the schema stands in the prompt as
    well. `confirmed` is False until a request was answered: then this is what will be tried.
    """

    structured: Structured
    dropped: tuple[str, ...]
    token_parameter: TokenParameter
    schema_in_text: bool
    confirmed: bool


def capabilities(shape: Shape, *, confirmed: bool) -> Capabilities:
    """Describe a shape."""
    lost_format = ("response_format",) * (shape.structured == "none")
    lost_temperature = ("temperature",) * (not shape.temperature)
    lost_role = ("system_role",) * (not shape.system_role)
    return Capabilities(
        structured=shape.structured,
        dropped=(*lost_format, *lost_temperature, *lost_role, *shape.without),
        token_parameter=shape.tokens,
        schema_in_text=shape.schema_in_text or shape.structured != "json_schema",
        confirmed=confirmed,
    )


@dataclass(slots=True)
class EndpointMemory:
    """Shapes by endpoint and model. Safe to use from threads and event loops."""

    _shapes: dict[Key, Shape] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Key) -> Shape | None:
        """Return what is known of a model, None before its first reply."""
        with self._lock:
            return self._shapes.get(key)

    def learn(self, key: Key, before: Shape, after: Shape) -> None:
        """Write down what one call changed between its first and its last request."""
        with self._lock:
            known = self._shapes.get(key, before)
            self._shapes[key] = merged(known, before, after)

    def known(self) -> Mapping[Key, Shape]:
        """Return a copy of all that is known."""
        with self._lock:
            return MappingProxyType(dict(self._shapes))

    def clear(self) -> None:
        """Forget everything, as after an endpoint was exchanged for another at the same URL."""
        with self._lock:
            self._shapes.clear()


def merged(known: Shape, before: Shape, after: Shape) -> Shape:
    """Return `known` with the changes from `before` to `after` made to it as well."""
    lower = max(known.structured, after.structured, key=LADDER.index)
    swapped = after.tokens != before.tokens
    return replace(
        known,
        structured=lower,
        tokens=after.tokens if swapped else known.tokens,
        tokens_tried=known.tokens_tried or after.tokens_tried,
        temperature=known.temperature and after.temperature,
        system_role=known.system_role and after.system_role,
        schema_in_text=known.schema_in_text or after.schema_in_text,
        without=known.without + tuple(n for n in after.without if n not in known.without),
    )


MEMORY: Final = EndpointMemory()
"""The memory of this process. Tests clear it."""
