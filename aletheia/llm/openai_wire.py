"""The chat-completions wire format: requests as this endpoint takes them, replies read sceptically.

Nothing here touches the network. Endpoints differ in what they accept, so a request has a
`Shape`, and `adapt` answers a refusal with the next shape to try.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from aletheia.errors import ModelBadReply, ModelRefused
from aletheia.llm.base import wire_text
from aletheia.llm.failures import Complaint, redacted
from aletheia.schema.model import Prompt, Reply, Usage

Structured = Literal["json_schema", "json_object", "none"]
TokenParameter = Literal["max_completion_tokens", "max_tokens"]

_LOWER: Final[dict[Structured, Structured]] = {"json_schema": "json_object", "json_object": "none"}
_OTHER: Final[dict[TokenParameter, TokenParameter]] = {
    "max_completion_tokens": "max_tokens",
    "max_tokens": "max_completion_tokens",
}
_SAYS_FORMAT = re.compile(
    r"response[_ ]format|json[_ ]?(schema|object|mode)|structured[_ ]output|guided|grammar",
    re.IGNORECASE,
)
_SAYS_UNKNOWN = re.compile(
    r"support|unrecogni[sz]ed|unknown|unexpected|not (permitted|allowed)|use .?max_|extra",
    re.IGNORECASE,
)
_SAYS_ROLE = re.compile(r"system.{0,20}role|role.{0,40}system|system message", re.IGNORECASE)
_SAYS_TOO_LONG = re.compile(r"context.{0,3}(length|window)|too many tokens", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What this endpoint is known to accept. `tokens_tried` stops a second change of its name."""

    structured: Structured = "json_schema"
    tokens: TokenParameter = "max_completion_tokens"
    tokens_tried: bool = False
    temperature: bool = True
    system_role: bool = True

    def dropped(self, prompt: Prompt) -> tuple[str, ...]:
        """Names of what the prompt asks for and this shape leaves out."""
        lost_temperature = prompt.temperature is not None and not self.temperature
        lost_role = bool(prompt.system) and not self.system_role
        return ("temperature",) * lost_temperature + ("system_role",) * lost_role

    def constraint(self, prompt: Prompt) -> Structured:
        """How a reply to this prompt is constrained."""
        return "none" if prompt.schema is None else self.structured


def request_body(model: str, prompt: Prompt, shape: Shape) -> dict[str, Any]:
    """Return the arguments of `chat.completions.create`. The prompt's own text is never changed."""
    body: dict[str, Any] = {"model": model, "messages": _messages(prompt, shape)}
    if prompt.temperature is not None and shape.temperature:
        body["temperature"] = prompt.temperature
    if prompt.max_output_tokens is not None:
        body[shape.tokens] = prompt.max_output_tokens
    response_format = _response_format(prompt, shape.constraint(prompt))
    if response_format is not None:
        body["response_format"] = response_format
    return body


def adapt(shape: Shape, prompt: Prompt, status: int, said: Complaint) -> Shape | None:
    """Return the shape to try after a 400 or 422, or None where no parameter was refused.

    One thing changes at a time and never back, so at most six requests are made.
    """
    words, named = said.words, said.param or ""
    if _SAYS_TOO_LONG.search(words):
        return None
    structured = shape.constraint(prompt)
    if structured != "none" and _SAYS_FORMAT.search(f"{named} {words}"):
        return replace(shape, structured=_LOWER[structured])
    if prompt.temperature is not None and shape.temperature and "temperature" in named + words:
        return replace(shape, temperature=False)
    if prompt.max_output_tokens is not None and _refuses_tokens(shape, named, words):
        return replace(shape, tokens=_OTHER[shape.tokens], tokens_tried=True)
    if prompt.system and shape.system_role and _SAYS_ROLE.search(words):
        return replace(shape, system_role=False)
    if structured != "none" and status == 422:
        return replace(shape, structured=_LOWER[structured])
    return None


def read_completion(body: object, *, model: str, shape: Shape, prompt: Prompt) -> Reply:
    """Read a chat completion. `model` stands in where the endpoint does not name one.

    The text may be empty. Raises `ModelRefused` for a refusal or the content filter,
    `ModelBadReply` for a body that is no completion.
    """
    if not isinstance(body, Mapping):
        raise ModelBadReply(f"the reply is no JSON object but `{type(body).__name__}`")
    usage = _usage(body.get("usage"))
    choice = _first_choice(body.get("choices"), usage)
    finish = choice.get("finish_reason")
    finish_reason = finish if isinstance(finish, str) else None
    text = _text(choice.get("message"), finish_reason, usage)
    named = body.get("model")
    return Reply(
        text=text,
        model=named if isinstance(named, str) and named else model,
        finish_reason=finish_reason,
        usage=usage,
        structured=shape.constraint(prompt),
        dropped=shape.dropped(prompt),
    )


def require_text(reply: Reply) -> Reply:
    """Return the reply. Raises `ModelBadReply` where its text is empty or only white space."""
    if reply.text.strip():
        return reply
    why = f" (finish_reason `{reply.finish_reason}`)" if reply.finish_reason else ""
    hint = "give it more output tokens" if reply.finish_reason == "length" else None
    raise ModelBadReply(f"the reply is empty{why}", hint=hint, usage=reply.usage, text=reply.text)


def _messages(prompt: Prompt, shape: Shape) -> list[dict[str, str]]:
    system, user = wire_text(prompt.system), wire_text(prompt.user)
    if not system:
        return [{"role": "user", "content": user}]
    if not shape.system_role:
        return [{"role": "user", "content": f"{system}\n\n{user}"}]
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _response_format(prompt: Prompt, structured: Structured) -> dict[str, Any] | None:
    if structured == "json_object":
        return {"type": "json_object"}
    if structured == "none" or prompt.schema is None:
        return None
    named = {"name": prompt.schema_name, "schema": prompt.schema, "strict": _strict(prompt.schema)}
    return {"type": "json_schema", "json_schema": named}


def _strict(schema: object) -> bool:
    """Whether every object in the schema is closed and requires all it names, as strict asks."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            closed = schema.get("additionalProperties") is False
            if not closed or set(schema.get("required", ())) != set(properties):
                return False
        return all(_strict(value) for value in schema.values())
    if isinstance(schema, Sequence) and not isinstance(schema, str):
        return all(_strict(value) for value in schema)
    return True


def _refuses_tokens(shape: Shape, named: str, words: str) -> bool:
    # A limit that is too high is no reason to try the other name.
    says_so = shape.tokens in named or (shape.tokens in words and _SAYS_UNKNOWN.search(words))
    return not shape.tokens_tried and bool(says_so)


def _first_choice(choices: object, usage: Usage) -> Mapping[str, object]:
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    raise ModelBadReply("the reply holds no choice", usage=usage)


def _text(message: object, finish_reason: str | None, usage: Usage) -> str:
    fields = message if isinstance(message, Mapping) else {}
    refusal = fields.get("refusal")
    if isinstance(refusal, str) and refusal:
        raise ModelRefused(f"the model refused: {redacted(refusal, None)}", usage=usage)
    if finish_reason == "content_filter":
        raise ModelRefused("the content filter of the endpoint cut the reply", usage=usage)
    return _content(fields.get("content"), usage)


def _content(content: object, usage: Usage) -> str:
    """Text of a message: a string, or a list of parts of which those of type `text` count."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, Mapping)]
        texts = [part.get("text") for part in parts if part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    raise ModelBadReply(f"the reply's content is `{type(content).__name__}`, no text", usage=usage)


def _usage(reported: object) -> Usage:
    fields = reported if isinstance(reported, Mapping) else {}
    return Usage(
        prompt_tokens=_count(fields.get("prompt_tokens")),
        completion_tokens=_count(fields.get("completion_tokens")),
    )


def _count(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count and isinstance(value, int) else None
