"""A JSON schema as words in the prompt, for endpoints that take none, and its echo recognised.

The example shows a form and no answer: a model that copies it has said nothing, and no verdict is
suggested by standing in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_DEEPEST: Final = 8


def schema_text(schema: Mapping[str, Any]) -> str:
    """Return the sentences that ask for an object of this schema, with the form of one."""
    shown = json.dumps(schema, ensure_ascii=False)
    form = json.dumps(form_of(schema), ensure_ascii=False)
    return (
        f"Reply with one JSON object that follows this JSON schema:\n{shown}\n"
        f"Do not repeat the schema. Fill in this form, all of it in your own words:\n{form}"
    )


def form_of(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Return a value of the schema's shape, with what to fill in between angle brackets."""
    return _form(schema, schema, 0)


def is_echo(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a reply is the schema, or the form, instead of an object that follows it."""
    if '"properties"' not in text and "<" not in text:
        return False
    value = _object_in(text)
    return value is not None and (value == form_of(schema) or _is_schema(value, schema))


def holds_object(text: str) -> bool:
    """Whether there is anything in the reply that could be a JSON object."""
    return "{" in text


def _is_schema(value: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    asked = set(schema.get("properties", {}))
    inner = [value, value.get("schema"), value.get("json_schema")]
    return "properties" not in asked and any(
        isinstance(item, Mapping)
        and isinstance(item.get("properties"), Mapping)
        and not asked & set(item)
        for item in inner
    )


def _object_in(text: str) -> Mapping[str, Any] | None:
    start, end = text.find("{"), text.rfind("}")
    try:
        value = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _form(schema: object, root: Mapping[str, Any], depth: int) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "<value>"
    if "$ref" in schema:
        return _form(_resolved(str(schema["$ref"]), root), root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return f"<one of: {', '.join(map(str, schema['enum']))}>"
    for several in ("anyOf", "oneOf", "allOf"):
        if schema.get(several):
            return _form(schema[several][0], root, depth + 1)
    return _by_type(schema, root, depth)


def _by_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:  # noqa: ANN401 - JSON
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" or "properties" in schema:
        fields = schema.get("properties", {})
        return {name: _form(item, root, depth + 1) for name, item in fields.items()}
    if kind == "array":
        return [_form(schema.get("items", {}), root, depth + 1)]
    return f"<{kind}>" if isinstance(kind, str) else "<value>"


def _resolved(reference: str, root: Mapping[str, Any]) -> object:
    found: object = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
