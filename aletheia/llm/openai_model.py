"""A chat model behind any endpoint that speaks the OpenAI chat-completions protocol."""

from __future__ import annotations

from dataclasses import replace

from aletheia.errors import ModelError, ModelRefused
from aletheia.llm.base import add_usage, requests_only
from aletheia.llm.failures import BadRequest
from aletheia.llm.openai_client import OFFICIAL_URL, OpenAIConnection
from aletheia.llm.openai_wire import (
    Shape,
    Structured,
    adapt,
    read_completion,
    request_body,
    require_text,
)
from aletheia.schema.model import Prompt, Reply, Usage


class OpenAIChatModel:
    """`ChatModel` over `chat.completions`, without retries of its own for failures in transit.

    What the endpoint refuses (a JSON schema, `temperature`, the name of the token limit, the
    system role) is left out or exchanged, and what worked is remembered by this object.
    `Reply.structured` and `Reply.dropped` say how the request finally went out.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 120.0,
    ) -> None:
        self._model = model
        self._connection = OpenAIConnection(api_key=api_key, base_url=base_url, timeout_s=timeout_s)
        official = self._connection.base_url.rstrip("/") == OFFICIAL_URL
        # Older servers ignore the newer name in silence; the official endpoint refuses the older.
        self._shape = Shape(tokens="max_completion_tokens" if official else "max_tokens")

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self._model!r}, {self._connection!r})"

    @property
    def name(self) -> str:
        """Model id as asked for."""
        return self._model

    @property
    def base_url(self) -> str:
        """URL of the endpoint."""
        return self._connection.base_url

    @property
    def structured(self) -> Structured:
        """The strongest constraint the endpoint is not known to refuse."""
        return self._shape.structured

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt.

        A reply that was cut is asked for once more where the prompt has a larger
        `output_ceiling`; if that is refused, the cut reply stands. Raises `ModelUnavailable`,
        `ModelRefused`, or `ModelBadReply`, the last also for an empty text.
        """
        reply = await self._adapted(prompt)
        if reply.finish_reason == "length":
            reply = await self._with_more_room(prompt, reply)
        return require_text(reply)

    async def list_models(self) -> tuple[str, ...]:
        """Ids of all models the endpoint offers. Raises `ModelError`."""
        body = await self._connection.models()
        listed = body.get("data") if isinstance(body, dict) else None
        items = listed if isinstance(listed, list) else []
        return tuple(str(item["id"]) for item in items if isinstance(item, dict) and "id" in item)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._connection.aclose()

    async def _with_more_room(self, prompt: Prompt, cut: Reply) -> Reply:
        limit, ceiling = prompt.max_output_tokens, prompt.output_ceiling
        if ceiling is None or (limit is not None and limit >= ceiling):
            return cut
        try:
            longer = await self._adapted(replace(prompt, max_output_tokens=ceiling))
        except ModelRefused as error:
            return _costing(cut, error.usage)
        except ModelError as error:
            error.usage = add_usage(error.usage or requests_only(1), cut.usage)
            raise
        return _costing(longer, cut.usage)

    async def _adapted(self, prompt: Prompt) -> Reply:
        """Send the prompt in the shape known to work, and in others while one is refused."""
        shape, refused = self._shape, 0
        while True:
            try:
                reply = await self._once(prompt, shape)
            except BadRequest as error:
                following = adapt(shape, prompt, error.status or 400, error.complaint)
                refused += 1
                if following is None:
                    raise ModelRefused(
                        error.message, status=error.status, usage=requests_only(refused)
                    ) from None
                shape = following
            except ModelError as error:
                error.usage = add_usage(error.usage or requests_only(1), requests_only(refused))
                raise
            else:
                # Only what was seen to work is remembered.
                self._shape = shape
                return _costing(reply, requests_only(refused))

    async def _once(self, prompt: Prompt, shape: Shape) -> Reply:
        body = request_body(self._model, prompt, shape)
        answer = await self._connection.chat(body)
        return read_completion(answer, model=self._model, shape=shape, prompt=prompt)


def _costing(reply: Reply, more: Usage | None) -> Reply:
    return replace(reply, usage=add_usage(reply.usage, more or requests_only(1)))
