"""Prompts for a batch: written down instead of asked, and answered from what batches brought.

The pipeline runs as it always does. Where it would ask, a `CollectingModel` answers from what
earlier batches brought, or writes the prompt down and raises `Deferred`. Nothing here touches the
network.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Protocol

from aletheia.errors import DataError, ModelError
from aletheia.llm.base import EndpointIdentity, requests_only
from aletheia.llm.batch_results import ItemFailure
from aletheia.llm.cache import cache_key
from aletheia.llm.capabilities import EndpointMemory
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.openai_wire import Parameters, Shape, read_completion, request_body
from aletheia.llm.prompt_size import PromptSizes
from aletheia.schema.model import Prompt, Reply

ENDPOINT: Final = "/v1/chat/completions"

MAX_REQUESTS: Final = 50_000
"""Requests in one input file (https://platform.openai.com/docs/api-reference/batch/create)."""

MAX_BYTES: Final = 200_000_000
"""Bytes of one input file, 200 MB by the same page."""


class Deferred(ModelError):
    """The prompt was written down for the next batch: there is no reply yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A completion as the endpoint wrote it, and the shape of the request it answers."""

    body: Any
    shape: Shape


class AnswerBook(Protocol):
    """What earlier batches of a run brought, by item id."""

    def held(self, item: str) -> Held | None:
        """Return the completion of an item, if there is one."""
        ...

    def failed(self, item: str) -> ItemFailure | None:
        """Return why an item has no completion, if that is known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A prompt that waits for the next batch."""

    item: str
    model: str
    prompt: Prompt
    shape: Shape
    parameters: Parameters

    def request(self) -> BatchRequest:
        """Return the request as it goes out."""
        body = request_body(self.model, self.prompt, self.shape, self.parameters)
        return BatchRequest(custom_id=self.item, body=body)

    def text(self) -> str:
        """Return all that the model reads."""
        return "\n".join(message["content"] for message in self.request().body["messages"])


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """One line of the input file of a batch."""

    custom_id: str
    body: Mapping[str, Any]

    def line(self) -> bytes:
        """Return the line with its end."""
        fields = {"method": "POST", "url": ENDPOINT, "body": self.body}
        line = {"custom_id": self.custom_id, **fields}
        return json.dumps(line, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


@dataclass(slots=True)
class Collector:
    """The prompts of one round, each once, and what endpoints were found to accept.

    Shared by the models of a run. `failed` holds the items of the round that ended in an error.
    """

    wanted: dict[str, Wanted] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    memory: EndpointMemory = field(default_factory=EndpointMemory)

    def add(self, wanted: Wanted) -> None:
        """Write a prompt down; one that is there already stays as it is."""
        self.wanted.setdefault(wanted.item, wanted)

    def begin(self) -> None:
        """Begin a round."""
        self.wanted.clear()
        self.failed.clear()


class CollectingModel:
    """`ChatModel` that asks nobody: it answers from the book, or collects and raises `Deferred`.

    Everything but the sending is done by the adapter of single calls, so a batch adapts to what an
    endpoint refuses, asks again for a reply that was cut, and fails as single calls do; only that
    each further request waits for the next batch. It goes inside the reply cache and needs no
    retries. `parameters` are those of the adapter, as they stand in `identity`.
    """

    def __init__(
        self,
        identity: EndpointIdentity,
        book: AnswerBook,
        collector: Collector,
        *,
        parameters: Parameters | None = None,
    ) -> None:
        self.identity: Final = identity
        self.parameters: Final = dict(parameters or {})
        self.book: Final = book
        self.collector: Final = collector
        self.sizes: Final = PromptSizes()

    @property
    def name(self) -> str:
        """Model id as asked for."""
        return self.identity.model

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt, without waiting. Raises `Deferred`, or what the batch brought."""
        item = item_id(cache_key(self.identity, prompt))
        call = _Call(self, item)
        try:
            reply = await call.complete(prompt)
        except Deferred:
            raise
        except ModelError:
            self.collector.failed.add(item)
            raise
        self.collector.memory.learn(self.key, call.first, call.shape)
        return replace(reply, source="batch")

    @property
    def key(self) -> tuple[str, str]:
        """Under what the memory knows the model."""
        return self.identity.base_url, self.identity.model


class _Call(OpenAIChatModel):
    """One call of the adapter, with the sending replaced by a look into the book.

    Its memory is its own and begins with the shape in which the prompt went out first: what other
    calls learn meanwhile must not change what this one asked.
    """

    def __init__(self, model: CollectingModel, item: str) -> None:
        identity = model.identity
        memory = EndpointMemory()
        super().__init__(
            identity.model,
            base_url=identity.base_url,
            api_version=dict(identity.parameters).get("api_version"),
            parameters=model.parameters,
            memory=memory,
        )
        self._of = model
        self._item: str | None = item
        known = model.book.held(item) or model.book.failed(item)
        start = known.shape if known is not None else model.collector.memory.get(model.key)
        if start is not None:
            memory.learn(model.key, start, start)
        self.first: Final = self._shape

    @property
    def shape(self) -> Shape:
        """The shape this call found to work."""
        return self._shape

    async def send_once(self, prompt: Prompt, shape: Shape) -> Reply:
        item, self._item = self._item, None
        wanted = Wanted(
            item=item or self._further(prompt, shape),
            model=self.name,
            prompt=prompt,
            shape=shape,
            parameters=self._of.parameters,
        )
        held = self._of.book.held(wanted.item)
        if held is None:
            raise self._error(wanted)
        reply = read_completion(held.body, model=self.name, shape=shape, prompt=prompt)
        self._of.sizes.check(wanted.text(), reply.usage)
        return reply

    def _error(self, wanted: Wanted) -> ModelError:
        failed = self._of.book.failed(wanted.item)
        if failed is not None:
            return failed.error(self.base_url)
        self._of.collector.add(wanted)
        return Deferred("the prompt waits for the next batch", usage=requests_only(0))

    def _further(self, prompt: Prompt, shape: Shape) -> str:
        """Return the id of a request after the first: it depends on how it goes out."""
        form = json.dumps(asdict(shape), sort_keys=True)
        text = f"{cache_key(self._of.identity, prompt)} {form}"
        return hashlib.sha256(text.encode()).hexdigest()


def item_id(key: str) -> str:
    """Return the id of a cache key in a batch: its 64 hexadecimal digits.

    Services differ in how long a `custom_id` may be and whether it may hold a colon; none is
    known to refuse this.
    """
    return key.rpartition(":")[2]


def chunks(
    wanted: Iterable[Wanted], *, max_requests: int = MAX_REQUESTS, max_bytes: int = MAX_BYTES
) -> Iterator[tuple[Wanted, ...]]:
    """Part prompts into batches: one model and one shape in each, within the limits of a file.

    Raises `DataError` for a prompt that is too large alone.
    """
    for group in _groups(wanted):
        chunk: list[Wanted] = []
        size = 0
        for item in group:
            length = len(item.request().line())
            if length > max_bytes:
                raise DataError(f"a prompt is a line of {length} bytes, a batch takes {max_bytes}")
            if chunk and (len(chunk) == max_requests or size + length > max_bytes):
                yield tuple(chunk)
                chunk, size = [], 0
            chunk.append(item)
            size += length
        yield tuple(chunk)


def _groups(wanted: Iterable[Wanted]) -> Iterable[list[Wanted]]:
    groups: dict[tuple[str, Shape], list[Wanted]] = {}
    for item in wanted:
        groups.setdefault((item.model, item.shape), []).append(item)
    return groups.values()
