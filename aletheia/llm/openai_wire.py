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
from aletheia.llm.failures import Complaint, is_too_long, redacted
from aletheia.llm.schema_text import schema_text
from aletheia.schema.model import Prompt, Reply, Usage

Structured = Literal["json_schema", "json_object", "none"]
TokenParameter = Literal["max_completion_tokens", "max_tokens"]

Parameters = Mapping[str, str | int | float | bool]
"""Further arguments of `chat.completions.create` by name, such as `seed`."""

LADDER: Final[tuple[Structured, ...]] = ("json_schema", "json_object", "none")
"""Constraints from the strongest down."""

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
_CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTERED: Final = frozenset(
    {"content_filter", "content_filtered", "safety", "prohibited_content", "blocklist", "spii"}
    | {"recitation", "refusal", "sensitive", "guardrail_intervened"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What this endpoint is known to accept. `tokens_tried` stops a second change of its name.

    `schema_in_text` is True where a schema was accepted and not followed: it then stands in the
    prompt as well. `without` names further parameters that are left out.
    """

    structured: Structured = "json_schema"
    tokens: TokenParameter = "max_completion_tokens"
    tokens_tried: bool = False
    temperature: bool = True
    system_role: bool = True
    schema_in_text: bool = False
    without: tuple[str, ...] = ()

    def dropped(self, prompt: Prompt) -> tuple[str, ...]:
        """Names of what is asked for and this shape leaves out; the constraint is told apart."""
        lost_temperature = prompt.temperature is not None and not self.temperature
        lost_role = bool(prompt.system) and not self.system_role
        named = ("temperature",) * lost_temperature + ("system_role",) * lost_role
        return named + self.without

    def constraint(self, prompt: Prompt) -> Structured:
        """How a reply to this prompt is constrained."""
        return "none" if prompt.schema is None else self.structured

    def lower(self) -> Shape:
        """One step down the ladder, as far as there is one, and the schema in the text."""
        step = min(LADDER.index(self.structured) + 1, len(LADDER) - 1)
        return replace(self, structured=LADDER[step], schema_in_text=True)


def request_body(
    model: str, prompt: Prompt, shape: Shape, parameters: Parameters | None = None
) -> dict[str, Any]:
    """Return the arguments of `chat.completions.create`.

    The prompt's own text is never changed. Where the endpoint takes no schema, the schema follows
    the system text in words: a model that was not shown it cannot know it.
    """
    body: dict[str, Any] = {"model": model, "messages": _messages(prompt, shape)}
    further = (parameters or {}).items()
    body |= {name: value for name, value in further if name not in shape.without}
    if prompt.temperature is not None and shape.temperature:
        body["temperature"] = prompt.temperature
    if prompt.max_output_tokens is not None:
        body[shape.tokens] = prompt.max_output_tokens
    response_format = _response_format(prompt, shape.constraint(prompt))
    if response_format is not None:
        body["response_format"] = response_format
    return body


def adapt(
    shape: Shape,
    prompt: Prompt,
    status: int,
    said: Complaint,
    parameters: Parameters | None = None,
) -> Shape | None:
    """Return the shape to try after a 400 or 422, or None where no parameter was refused.

    One thing changes at a time and never back, so at most six requests are made, and one for each
    further parameter.
    """
    words, named = said.words, said.param or ""
    if is_too_long(words):
        return None
    refused = _refused_parameter(shape, parameters or {}, named, words)
    if refused is not None:
        return replace(shape, without=(*shape.without, refused))
    structured = shape.constraint(prompt)
    if structured != "none" and _SAYS_FORMAT.search(f"{named} {words}"):
        return replace(shape, structured=_below(structured))
    if prompt.temperature is not None and shape.temperature and "temperature" in named + words:
        return replace(shape, temperature=False)
    if prompt.max_output_tokens is not None and _refuses_tokens(shape, named, words):
        return replace(shape, tokens=_OTHER[shape.tokens], tokens_tried=True)
    if prompt.system and shape.system_role and _SAYS_ROLE.search(words):
        return replace(shape, system_role=False)
    if structured != "none" and status == 422:
        return replace(shape, structured=_below(structured))
    return None


def read_completion(body: object, *, model: str, shape: Shape, prompt: Prompt) -> Reply:
    """Read a chat completion. `model` stands in where the endpoint does not name one.

    The text may be empty. Raises `ModelRefused` for a refusal or the content filter,
    `ModelBadReply` for a body that is no completion.
    """
    if not isinstance(body, Mapping):
        raise ModelBadReply(f"the reply is no JSON object but `{type(body).__name__}`")
    usage = _usage(body.get("usage"))
    choice = _first_choice(body, usage)
    finish_reason = _finish_reason(choice.get("finish_reason"))
    if finish_reason == "content_filter" or _filtered(choice.get("content_filter_results")):
        raise ModelRefused("the content filter of the endpoint cut the reply", usage=usage)
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
    """Return the reply. Raises `ModelBadReply` where its text is empty or only white space.

    The error carries the text, unless the limit cut it off: then the room went into reasoning,
    and asking again in other words would not help.
    """
    if reply.text.strip():
        return reply
    cut = reply.finish_reason == "length"
    why = f" (finish_reason `{reply.finish_reason}`)" if reply.finish_reason else ""
    raise ModelBadReply(
        f"the reply is empty{why}",
        hint="give it more output tokens" if cut else None,
        usage=reply.usage,
        text=None if cut else reply.text,
    )


def _messages(prompt: Prompt, shape: Shape) -> list[dict[str, str]]:
    system, user = wire_text(_system(prompt, shape)), wire_text(prompt.user)
    if not system:
        return [{"role": "user", "content": user}]
    if not shape.system_role:
        return [{"role": "user", "content": f"{system}\n\n{user}"}]
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _system(prompt: Prompt, shape: Shape) -> str:
    constraint = shape.constraint(prompt)
    if prompt.schema is None or (constraint == "json_schema" and not shape.schema_in_text):
        return prompt.system
    return f"{prompt.system}\n\n{schema_text(prompt.schema)}".lstrip("\n")


def _below(structured: Structured) -> Structured:
    return LADDER[LADDER.index(structured) + 1]


def _refused_parameter(shape: Shape, parameters: Parameters, named: str, words: str) -> str | None:
    """Name of the further parameter that is complained about, None where there is none."""
    sent = [name for name in parameters if name not in shape.without]
    quoted = (name for name in sent if re.search(rf"\b{re.escape(name)}\b", words))
    return named if named in sent else next(quoted, None)


def _response_format(prompt: Prompt, structured: Structured) -> dict[str, Any] | None:
    if structured == "json_object":
        return {"type": "json_object"}
    if structured == "none" or prompt.schema is None:
        return None
    named = {"name": prompt.schema_name, "schema": prompt.schema, "strict": _strict(prompt.schema)}
    return {"type": "json_schema", "json_schema": named}


def _strict(schema: object) -> bool:
    """Whether every object in the schema is closed and requires all it names, as strict asks."""
    # The usual types first: a look at an abstract class takes longer than all the rest.
    if isinstance(schema, (str, bool)):
        return True
    if isinstance(schema, (dict, Mapping)):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            closed = schema.get("additionalProperties") is False
            if not closed or set(schema.get("required", ())) != set(properties):
                return False
        return all(map(_strict, schema.values()))
    if isinstance(schema, (list, Sequence)):
        return all(map(_strict, schema))
    return True


def _refuses_tokens(shape: Shape, named: str, words: str) -> bool:
    # A limit that is too high is no reason to try the other name.
    says_so = shape.tokens in named or (shape.tokens in words and _SAYS_UNKNOWN.search(words))
    return not shape.tokens_tried and bool(says_so)


def _first_choice(body: Mapping[str, object], usage: Usage) -> Mapping[str, object]:
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    if _filtered(body.get("prompt_filter_results")):
        raise ModelRefused("the content filter of the endpoint refused the prompt", usage=usage)
    raise ModelBadReply("the reply holds no choice", usage=usage)


def _finish_reason(given: object) -> str | None:
    """Words of other protocols that gateways pass on become the ones of this protocol."""
    if not isinstance(given, str):
        return None
    word = given.lower()
    if word in _CUT:
        return "length"
    return "content_filter" if word in _FILTERED else given


def _filtered(results: object) -> bool:
    """Whether a filter report, nested as Azure nests it, says that something was cut out."""
    if isinstance(results, Mapping):
        return results.get("filtered") is True or any(map(_filtered, results.values()))
    return isinstance(results, list) and any(map(_filtered, results))


def _text(message: object, finish_reason: str | None, usage: Usage) -> str:
    fields = message if isinstance(message, Mapping) else {}
    refusal = fields.get("refusal")
    if isinstance(refusal, str) and refusal:
        raise ModelRefused(f"the model refused: {redacted(refusal, None)}", usage=usage)
    text = _content(fields.get("content"), usage)
    thought = fields.get("reasoning_content") or fields.get("reasoning")
    if thought and not text.strip() and finish_reason != "length":
        # What a model thinks on the way is not what it says in the end.
        raise ModelBadReply(
            "the reply is empty, all of its text is reasoning",
            hint="check how the server tells reasoning and reply apart",
            usage=usage,
            text=text,
        )
    return text


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
        cached_prompt_tokens=_cached(fields),
    )


def _cached(fields: Mapping[str, object]) -> int | None:
    details = fields.get("prompt_tokens_details")
    told = details.get("cached_tokens") if isinstance(details, Mapping) else None
    # The second is the name that DeepSeek gives it.
    return _count(told if told is not None else fields.get("prompt_cache_hit_tokens"))


def _count(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count and isinstance(value, int) else None
