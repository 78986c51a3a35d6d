"""What was asked and what was answered, in the attributes and events of one span."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from aletheia.sdk.adapter_texts import query_of, response_of
from aletheia.sdk.spans_attributes import Attributes, listed, parsed

__all__ = ["SpanKind", "answer_in", "of_events", "question_in"]

SpanKind = Literal["retriever", "reranker", "llm", "chain", "other"]

_INPUTS: Final = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt")
_OUTPUTS: Final = ("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")


def question_in(attributes: Attributes, kind: SpanKind) -> str | None:
    """Return the question: a model's messages say it best, of all else the input."""
    if kind == "retriever" and (text := attributes.text("gen_ai.retrieval.query.text")):
        return text
    values = (_plain(attributes, "input"), _plain(attributes, "traceloop.entity.input"))
    messages = (_messages(attributes.get(name), "user") for name in _INPUTS)
    found = map(query_of, (*messages, *values) if kind == "llm" else (*values, *messages))
    return next((text for text in found if text), None)


def answer_in(attributes: Attributes, kind: SpanKind) -> str | None:
    """Return the answer: a model's messages say it best, of all else the output."""
    values = [_plain(attributes, "output"), _plain(attributes, "traceloop.entity.output")]
    messages = [_messages(attributes.get(name), "assistant") for name in _OUTPUTS]
    if kind == "llm" and any(messages):
        # The raw output of a call for tools is JSON, and no answer.
        values = []
    found = map(response_of, (*messages, *values) if kind == "llm" else (*values, *messages))
    return next((text for text in found if text), None)


def _plain(attributes: Attributes, name: str) -> object:
    """A value that may be JSON of what went in or came out, unless it is said to be text."""
    told = attributes.text(f"{name}.mime_type")
    given = attributes.leaf(f"{name}.value") or attributes.leaf(name)
    value = given if told == "text/plain" else parsed(given)
    if not isinstance(value, Mapping):
        # A list that is not said to be JSON may be words in brackets: `[1] says so` is none, `[1]` is.
        return given if told is None and not _holds_messages(value) else value
    inner = next((value[key] for key in ("inputs", "outputs") if key in value), None)
    return value if inner is None else parsed(inner)


def _holds_messages(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)


def _messages(node: object, role: str) -> list[object]:
    """Messages of any convention as `{"role", "content" or "parts"}`; `role` where none is said."""
    items = listed(node)
    if items is None:
        text = node if isinstance(node, str) and node.strip() else None
        return [] if text is None else [{"role": role, "content": text}]
    return [_message(item, role) for item in items]


def _message(item: object, role: str) -> object:
    if not isinstance(item, Mapping):
        return {"role": role, "content": item}
    inner = item.get("message")
    message = dict(inner) if isinstance(inner, Mapping) else dict(item)
    message.setdefault("role", role)
    contents = listed(message.pop("contents", None))
    if contents is not None and not message.get("content"):
        message["content"] = [
            part.get("message_content", part) if isinstance(part, Mapping) else part
            for part in contents
        ]
    for key in ("content", "parts"):
        if isinstance(message.get(key), Mapping):
            message[key] = listed(message[key])
    return message


def of_events(events: object) -> dict[str, object]:
    """Return what the events of a GenAI span say, under the names that its attributes would have."""
    found: dict[str, object] = {}
    said: list[object] = []
    for event in listed(events) or ():
        if not isinstance(event, Mapping) or not isinstance(name := event.get("name"), str):
            continue
        if not name.startswith("gen_ai."):
            continue
        attributes = Attributes(event.get("attributes"))
        if name == "gen_ai.user.message":
            said.append({"role": "user", "content": attributes.leaf("content")})
        elif name == "gen_ai.choice":
            message = parsed(attributes.get("message"))
            inner = message.get("content") if isinstance(message, Mapping) else message
            content = inner or attributes.leaf("content")
            found["gen_ai.output.messages"] = [{"role": "assistant", "content": content}]
        else:
            for key in (*_INPUTS, *_OUTPUTS):
                if (value := attributes.get(key)) is not None:
                    found[key] = value
    return found | ({"gen_ai.input.messages": said} if said else {})
