"""A chat model behind any endpoint that speaks the OpenAI chat-completions protocol."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from aletheia.errors import ConfigError, ModelBadReply, ModelError, ModelRefused
from aletheia.llm.base import EndpointIdentity, add_usage, requests_only
from aletheia.llm.capabilities import MEMORY, Capabilities, EndpointMemory, capabilities
from aletheia.llm.failures import BadRequest
from aletheia.llm.openai_client import OFFICIAL_URL, OpenAIConnection
from aletheia.llm.openai_wire import (
    Parameters,
    Shape,
    Structured,
    adapt,
    read_completion,
    request_body,
    require_text,
)
from aletheia.llm.prompt_size import PromptSizes
from aletheia.llm.schema_text import holds_object, is_echo
from aletheia.schema.model import Prompt, Reply, Usage


class OpenAIChatModel:
    """`ChatModel` over `chat.completions`, without retries of its own for failures in transit.

    What the endpoint refuses (a JSON schema, `temperature`, the name of the token limit, the
    system role, one of `parameters`) is left out or exchanged, and what worked is remembered in
    `memory`, by default for every model object of the process. `Reply.structured` and
    `Reply.dropped` say how the request finally went out.

    `api_version` makes requests go out as Azure wants them, with `model` as the deployment.
    `parameters` are sent with every request, such as `seed` or `reasoning_effort`.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 120.0,
        api_version: str | None = None,
        parameters: Parameters | None = None,
        memory: EndpointMemory = MEMORY,
    ) -> None:
        if api_version and not re.fullmatch(r"[\w.-]+", model):
            raise ConfigError(
                f"`{model}` cannot be the name of a deployment",
                hint="on Azure the model is named as its deployment",
            )
        self._model = model
        self._connection = OpenAIConnection(
            api_key=api_key, base_url=base_url, timeout_s=timeout_s, api_version=api_version
        )
        self._parameters: Final = dict(parameters or {})
        self._memory = memory
        self._sizes = PromptSizes()

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

    @property
    def identity(self) -> EndpointIdentity:
        """Which model at which endpoint this is."""
        version = self._connection.api_version
        fixed = {name: repr(value) for name, value in self._parameters.items()}
        if version is not None:
            fixed["api_version"] = version
        return EndpointIdentity(
            provider="openai" if version is None else "azure",
            base_url=self.base_url,
            model=self._model,
            parameters=tuple(sorted(fixed.items())),
        )

    @property
    def capabilities(self) -> Capabilities:
        """How requests go out, as far as it was found out."""
        return capabilities(self._shape, confirmed=self._memory.get(self._key) is not None)

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt.

        A reply that was cut is asked for once more where the prompt has a larger
        `output_ceiling`; if that is refused, the cut reply stands, with finish reason `length`.
        A reply that repeats the schema is asked for once more with a weaker constraint and an
        example. Raises `ModelUnavailable`, `ModelRefused`, or `ModelBadReply`: the last also for
        an empty text, a second echo, and a prompt that the endpoint read only a part of.
        """
        reply = await self._adapted(prompt, self._shape)
        if reply.finish_reason == "length":
            reply = await self._with_more_room(prompt, reply)
        if prompt.schema is not None:
            reply = await self._following(prompt, reply)
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

    @property
    def _key(self) -> tuple[str, str]:
        return self.base_url.rstrip("/"), self._model

    @property
    def _shape(self) -> Shape:
        return self._memory.get(self._key) or self._first_shape()

    def _first_shape(self) -> Shape:
        official = self.base_url.rstrip("/") == OFFICIAL_URL
        newer = official or self._connection.api_version is not None
        # Older servers ignore the newer name in silence; these two refuse what they do not know.
        return Shape(tokens="max_completion_tokens" if newer else "max_tokens")

    async def _with_more_room(self, prompt: Prompt, cut: Reply) -> Reply:
        limit, ceiling = prompt.max_output_tokens, prompt.output_ceiling
        if ceiling is None or (limit is not None and limit >= ceiling):
            return cut
        try:
            longer = await self._adapted(replace(prompt, max_output_tokens=ceiling), self._shape)
        except ModelRefused as error:
            return _costing(cut, error.usage)
        except ModelError as error:
            raise _dearer(error, cut.usage) from None
        return _costing(longer, cut.usage)

    async def _following(self, prompt: Prompt, reply: Reply) -> Reply:
        """Return the reply, or one more where it only repeats the schema it was shown."""
        if prompt.schema is None or not reply.text.strip():
            return reply
        if not is_echo(reply.text, prompt.schema):
            whole = reply.finish_reason != "length"
            if whole and reply.structured == "json_schema" and not holds_object(reply.text):
                # Taken and not followed. From now on the schema stands in the text as well.
                shape = self._shape
                self._memory.learn(self._key, shape, replace(shape, schema_in_text=True))
            return reply
        return await self._after_echo(prompt, reply)

    async def _after_echo(self, prompt: Prompt, echo: Reply) -> Reply:
        shape = self._shape
        if shape.lower() == shape:
            raise _echoed(echo)
        try:
            second = await self._adapted(prompt, shape.lower())
        except ModelError as error:
            raise _dearer(error, echo.usage) from None
        second = _costing(second, echo.usage)
        if prompt.schema is not None and is_echo(second.text, prompt.schema):
            raise _echoed(second)
        return second

    async def _adapted(self, prompt: Prompt, shape: Shape) -> Reply:
        """Send the prompt in this shape, and in others while one is refused."""
        first, refused = self._shape, 0
        while True:
            try:
                reply = await self.send_once(prompt, shape)
            except BadRequest as error:
                status = error.status or 400
                following = adapt(shape, prompt, status, error.complaint, self._parameters)
                refused += 1
                if following is None:
                    raise ModelRefused(
                        error.message, status=error.status, usage=requests_only(refused)
                    ) from None
                shape = following
            except ModelError as error:
                raise _dearer(error, requests_only(refused)) from None
            else:
                # Only what was seen to work is remembered.
                self._memory.learn(self._key, first, shape)
                return _costing(reply, requests_only(refused))

    async def send_once(self, prompt: Prompt, shape: Shape) -> Reply:
        """Send one request in this shape. A runner that sends otherwise overrides this alone."""
        body = request_body(self._model, prompt, shape, self._parameters)
        answer = await self._connection.chat(body)
        reply = read_completion(answer, model=self._model, shape=shape, prompt=prompt)
        self._sizes.check("\n".join(item["content"] for item in body["messages"]), reply.usage)
        return reply


def _costing(reply: Reply, more: Usage | None) -> Reply:
    return replace(reply, usage=add_usage(reply.usage, more or requests_only(1)))


def _dearer(error: ModelError, more: Usage) -> ModelError:
    error.usage = add_usage(error.usage or requests_only(1), more)
    return error


def _echoed(reply: Reply) -> ModelBadReply:
    return ModelBadReply(
        "the model returned the schema instead of an object that follows it",
        hint="it does not follow structured output; choose another model",
        usage=reply.usage,
        text=reply.text,
    )
