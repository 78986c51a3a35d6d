"""Do not ask an endpoint twice: which replies are kept, under which key, and the wrapper.

What was not a good reply is never kept: errors, refusals, texts that were cut or are empty, and
texts without the object that was asked for. So a fault of one day cannot become the answer of
every other day.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.lowlevel import RunVar

from aletheia.errors import StoreError
from aletheia.grounding.numbering import is_blank
from aletheia.grounding.parse import parse_reply
from aletheia.grounding.relaxed_json import Pairs, strict_loads
from aletheia.grounding.reply_object import field_of
from aletheia.grounding.reply_scan import scan
from aletheia.llm.base import EndpointIdentity, digest_prompt
from aletheia.llm.cache_file import SCHEMA_VERSION
from aletheia.llm.cache_store import (
    CacheGroup,
    CacheStats,
    DamagedRow,
    ReplyCache,
    StoredReply,
    as_cached,
)
from aletheia.llm.record import CallLedger, cached_call
from aletheia.llm.tracking import record_call
from aletheia.llm.written import to_json
from aletheia.schema.answer import ParsedAnswer
from aletheia.schema.model import ChatModel, Prompt, Reply

__all__ = [
    "CacheGroup",
    "CacheStats",
    "CachingModel",
    "DamagedRow",
    "ReplyCache",
    "StoredReply",
    "cache_key",
    "why_not_kept",
]

_log = logging.getLogger(__name__)

_DEEPEST: Final = 4
_FINISHED: Final = (None, "stop")
_DEFINITIONS: Final = frozenset(("properties", "$defs", "definitions"))


def cache_key(identity: EndpointIdentity, prompt: Prompt) -> str:
    """Return `sha256:<hex>` over everything that decides the reply, the table's version included.

    The random token of the call and its purpose are left out; `repeat` is in, so that a prompt
    asked several times on purpose is asked several times.
    """
    parts = {
        "version": SCHEMA_VERSION,
        "provider": identity.provider,
        "base_url": identity.base_url.rstrip("/"),
        "model": identity.model,
        "parameters": sorted(identity.parameters),
        "prompt": digest_prompt(prompt),
        "output_ceiling": prompt.output_ceiling,
        "repeat": prompt.repeat,
    }
    return f"sha256:{hashlib.sha256(to_json(parts).encode('ascii')).hexdigest()}"


def why_not_kept(prompt: Prompt, reply: Reply) -> str | None:
    """Say why a reply must not answer the next call too, None where it may."""
    if reply.finish_reason not in _FINISHED:
        return f"it ended with `{reply.finish_reason}`"
    if is_blank(reply.text):
        return "its text is empty"
    if prompt.schema is not None and not _answers(reply.text, prompt.schema.get("required")):
        return "it holds no object with the fields that were asked for"
    return None


def _answers(text: str, required: object) -> bool:
    """Whether `text` holds an object with the required keys, read as leniently as replies are."""
    names = frozenset(map(str, required)) if isinstance(required, list | tuple) else frozenset()
    if {"answer", "evidence_ids"} <= names and not isinstance(parse_reply(text), ParsedAnswer):
        return False
    return any(names <= _keys(found) for value in _values(text) for found in _objects(value))


def _values(text: str) -> list[object]:
    """The JSON values of a reply; an object that was cut is none."""
    try:
        return [strict_loads(text)]
    except (ValueError, RecursionError):
        return [item.value for item in scan(text).objects if not item.unclosed]


def _objects(value: object, depth: int = 0) -> Iterator[Pairs]:
    """`value` and the objects inside it, those left out that only describe one: a schema echo."""
    if depth > _DEEPEST or not isinstance(value, Pairs | list):
        return
    if isinstance(value, Pairs):
        yield value
        inner: Iterable[object] = (item for key, item in value if key not in _DEFINITIONS)
    else:
        inner = value
    for item in inner:
        yield from _objects(item, depth + 1)


def _keys(pairs: Pairs) -> frozenset[str]:
    """The keys as they are written, and the fields of an answer that they mean."""
    written = [key for key, _ in pairs]
    return frozenset(written) | {name for key in written if (name := field_of(key)[0]) is not None}


@dataclass(slots=True)
class _Flight:
    """A call under way. `reply` is what the others get whose reply could not be written."""

    landed: anyio.Event = field(default_factory=anyio.Event)
    reply: Reply | None = None


class CachingModel:
    """A chat model that asks `model` only what `cache` does not hold, as a chat model.

    `identity` says where `model` leads to. A hit is counted as a cached call, in `ledgers` too.
    Of equal prompts that are asked at once in one event loop one goes out; the others wait for
    its reply, or try in turn where it brought none that may be kept. Raises `StoreError` where
    the cache cannot be read, as the call may be one that was paid for; a reply that cannot be
    written is returned, and the log says so.
    """

    def __init__(
        self,
        model: ChatModel,
        cache: ReplyCache,
        identity: EndpointIdentity,
        *,
        ledgers: Iterable[CallLedger] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.inner: Final = model
        self.cache: Final = cache
        self.identity: Final = identity
        self._ledgers = tuple(ledgers)
        self._clock = clock
        self._flights: RunVar[dict[str, _Flight]] = RunVar("calls under way")

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt. `Reply.source` says where the reply came from."""
        key = cache_key(self.identity, prompt)
        flights = self._of_this_loop()
        started = self._clock()
        flight: _Flight | None = None
        while True:
            reply = self.cache.get(key)
            if reply is None and flight is not None:
                reply = flight.reply
            if reply is not None:
                return self._counted(prompt, reply, started)
            flight = flights.get(key)
            if flight is None:
                return await self._ask(key, prompt, flights)
            await flight.landed.wait()

    async def _ask(self, key: str, prompt: Prompt, flights: dict[str, _Flight]) -> Reply:
        flight = flights[key] = _Flight()
        try:
            reply = await self.inner.complete(prompt)
            if self._keep(key, prompt, reply):
                flight.reply = as_cached(reply)
        finally:
            del flights[key]
            flight.landed.set()
        return reply

    def _keep(self, key: str, prompt: Prompt, reply: Reply) -> bool:
        reason = why_not_kept(prompt, reply)
        if reason is not None:
            _log.debug("a reply of `%s` is not cached: %s", self.name, reason)
            return False
        try:
            self.cache.put(key, self.identity, prompt, reply)
        except StoreError as error:
            _log.warning("a reply of `%s` was not cached: %s", self.name, error)
        return True

    def _counted(self, prompt: Prompt, reply: Reply, started: float) -> Reply:
        record = cached_call(
            self.name,
            purpose=prompt.purpose,
            structured=reply.structured,
            base_url=self.identity.base_url,
            seconds=self._clock() - started,
        )
        record_call(record, *self._ledgers)
        return reply

    def _of_this_loop(self) -> dict[str, _Flight]:
        flights = self._flights.get(None)
        if flights is None:
            flights = {}
            self._flights.set(flights)
        return flights
