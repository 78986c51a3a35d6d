"""Finds the question and the answer in what pipelines hand around.

Messages are known by what they have (a role or type, and content): objects of LangChain, their
JSON, the messages of chat APIs and those of OpenTelemetry. No library is imported for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

__all__ = ["fields_of", "query_of", "response_of"]

QUERY_KEYS: Final = ("input", "question", "query", "user_input", "prompt", "messages")
RESPONSE_KEYS: Final = (
    *("answer", "output", "result", "response", "output_text", "generation", "final_answer"),
    *("completion", "messages", "structured_response", "parsed", "raw"),
)
_ASIDES: Final = (
    *("context", "contexts", "documents", "chat_history", "history", "source", "sources"),
    *("session_id", "thread_id", "user_id", "language", "system"),
)
"""Fields that hold texts of another kind: the only text that is left beside them may be meant."""

_HUMAN: Final = ("human", "user", "HumanMessageChunk")
_AI: Final = ("ai", "assistant", "AIMessageChunk", "model")
_OTHERS: Final = ("system", "tool", "function", "developer", "chat")
_DEEPEST: Final = 4

Reader = Callable[[object, int], str | None]


def query_of(value: object) -> str | None:
    """What was asked: a text, the last human message, or a field with a name for it."""
    return _query(value, _DEEPEST)


def response_of(value: object) -> str | None:
    """What was answered: a text, the last message where a model wrote it, or a named field.

    A message that calls tools is no answer.
    """
    return _response(value, _DEEPEST)


def _query(value: object, depth: int) -> str | None:
    if isinstance(value, str):
        return _text(value)
    if _is_message(value):
        return _content(value) if _role(value) in _HUMAN else None
    if isinstance(value, list | tuple):
        asked = (_content(item) for item in reversed(value) if _role(item) in _HUMAN)
        return next((text for text in asked if text), None)
    if callable(messages := getattr(value, "to_messages", None)):
        return _query(messages(), depth - 1)
    return _named(value, QUERY_KEYS, RESPONSE_KEYS, _query, depth)


def _response(value: object, depth: int) -> str | None:
    if isinstance(value, str):
        return _text(value)
    if _is_message(value) or isinstance(value, tuple):
        return _said(value)
    if isinstance(value, list):
        return _said(value[-1]) if value else None
    return _named(value, RESPONSE_KEYS, QUERY_KEYS, _response, depth)


def _named(
    value: object, keys: Sequence[str], others: Sequence[str], read: Reader, depth: int
) -> str | None:
    """Read the first of `keys` that holds a text; else the only text that is nothing else."""
    fields = fields_of(value)
    if fields is None or depth == 0:
        return None
    found = (read(fields[key], depth - 1) for key in keys if key in fields)
    text = next((text for text in found if text), None)
    if text is not None or any(key in fields for key in keys):
        return text
    taken = (*others, *_ASIDES)
    texts = [item for key, item in fields.items() if key not in taken and isinstance(item, str)]
    return _text(texts[0]) if len(texts) == 1 else None


def fields_of(value: object) -> Mapping[object, object] | None:
    """Return the fields of a mapping, a dataclass or a model, not those of just any object."""
    if isinstance(value, Mapping):
        return value
    kind = type(value)
    names = getattr(kind, "model_fields", None) or getattr(kind, "__dataclass_fields__", None)
    if not isinstance(names, Mapping):
        return None
    return {name: getattr(value, name, None) for name in names}


# --- messages ---------------------------------------------------------------------------------


def _is_message(value: object) -> bool:
    if isinstance(value, Mapping):
        return _role(value) is not None and _body(value) is not None
    return isinstance(getattr(value, "type", None), str) and hasattr(value, "content")


def _role(value: object) -> str | None:
    """Who speaks: of a message, of `{"role": ..., "content": ...}`, of `("user", ...)`."""
    if isinstance(value, tuple) and len(value) == 2:
        role: object = value[0]
    elif isinstance(value, Mapping):
        plain = _unwrapped(value)
        kind = plain.get("type")
        role = plain.get("role") or (kind if kind in (*_HUMAN, *_AI, *_OTHERS) else None)
    else:
        role = getattr(value, "type", None)
    return role if isinstance(role, str) else None


def _unwrapped(value: Mapping[object, object]) -> Mapping[object, object]:
    """A message of LangChain as its serialiser writes it: the class in `id`, fields in `kwargs`."""
    inner, name = value.get("kwargs"), value.get("id")
    if not isinstance(inner, Mapping) or not isinstance(name, list) or not name:
        return value
    known = {"HumanMessage": "human", "AIMessage": "ai", "AIMessageChunk": "ai"}
    return {"type": known.get(str(name[-1]), "system"), **inner}


def _body(value: Mapping[object, object]) -> object:
    """What a message says: in `content`, or in the `parts` of OpenTelemetry."""
    plain = _unwrapped(value)
    return plain.get("content") or plain.get("parts")


def _content(value: object) -> str | None:
    if isinstance(value, tuple):
        content: object = value[1]
    elif isinstance(value, Mapping):
        content = _body(value)
    else:
        content = getattr(value, "content", None)
    if isinstance(content, str):
        return _text(content)
    if isinstance(content, list | tuple):
        return _text("".join(map(_block, content)))
    return None


def _block(block: object) -> str:
    """The text of a content block; images, reasoning and tool calls have none."""
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and block.get("type") in ("text", "output_text", "input_text"):
        text = block.get("text", block.get("content"))
        return text if isinstance(text, str) else ""
    return ""


def _said(value: object) -> str | None:
    return _content(value) if _role(value) in _AI and not _calls_tools(value) else None


def _calls_tools(value: object) -> bool:
    if not isinstance(value, Mapping):
        return bool(getattr(value, "tool_calls", None))
    plain = _unwrapped(value)
    parts = plain.get("parts")
    called = isinstance(parts, list) and any(
        isinstance(part, Mapping) and part.get("type") == "tool_call" for part in parts
    )
    return called or bool(plain.get("tool_calls"))


def _text(value: str) -> str | None:
    # `str()` of a subclass keeps the characters and drops the class.
    return str(value) if value.strip() else None
