"""Read the fields of a decoded reply: wrappers, schema echoes, key forms and types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final, Literal

from aletheia.grounding.cited_ids import BadElement, read_cited
from aletheia.grounding.numbering import is_blank
from aletheia.grounding.relaxed_json import NumberText, Pairs, strict_loads
from aletheia.schema.answer import ParsedAnswer, ParsedReply, ParseProblem, ProblemCode

DEEPEST_WRAPPER: Final = 4
"""How many objects or lists may stand around the object with the answer."""

_Field = Literal["answer", "evidence_ids", "reasoning"]

_EXACT: Final[dict[str, _Field]] = {
    "answer": "answer",
    "evidence_ids": "evidence_ids",
    "reasoning": "reasoning",
}
_FOLDED: Final[dict[str, _Field]] = {
    "answer": "answer",
    "evidenceids": "evidence_ids",
    "reasoning": "reasoning",
}
_ALIASES: Final[frozenset[str]] = frozenset(
    ("citations", "citation", "citationids", "citedids", "evidenceid")
)
_TYPE_WORDS: Final = frozenset(("string", "str", "array", "object", "list", "text"))
_LONGEST_TYPE_WORD: Final = 40
_KEY_SIGNS: Final = re.compile(r"[\s_-]+")
_LONGEST_MESSAGE: Final = 60


def read_value(value: object, repairs: list[str]) -> ParsedReply:
    """Read the answer in a decoded value; `repairs` are those made so far."""
    found = _unwrap(value, repairs, 0)
    if isinstance(found, ParseProblem):
        return found
    return _read_object(found, repairs)


def _unwrap(value: object, repairs: list[str], depth: int) -> Pairs | ParseProblem:
    """Return the object with the answer, out of single lists and wrapping objects around it."""
    if isinstance(value, Pairs):
        if _holds_text(value):
            return value
        if _is_schema(value):
            return problem("schema_echo", _SCHEMA_ECHO, repairs)
        if any(field_of(key)[0] == "answer" for key, _ in value):
            return value
    inner = _inner_objects(value) if depth < DEEPEST_WRAPPER else []
    opened = [_unwrap(item, [], depth + 1) for item in inner]
    answers = [item for item in opened if isinstance(item, Pairs)]
    if answers and all(_read_object(item, []) == _read_object(answers[0], []) for item in answers):
        repairs.append("wrapper")
        return answers[0]
    if answers:
        return problem("ambiguous", "the reply holds several objects with answers", repairs)
    for item in opened:
        if isinstance(item, ParseProblem) and item.code in ("schema_echo", "ambiguous"):
            return item
    if isinstance(value, Pairs):
        return problem("missing_answer", f"the object has no field `answer`{_keys(value)}", repairs)
    return problem("no_object", "the reply is JSON, but not an object", repairs)


_SCHEMA_ECHO: Final = (
    "the reply is the JSON schema itself; the model does not follow structured output"
)


def _holds_text(pairs: Pairs) -> bool:
    """Whether `answer` is text that is longer than the name of a type: the usual reply."""
    return any(
        key == "answer" and isinstance(value, str) and len(value) > _LONGEST_TYPE_WORD
        for key, value in pairs
    )


def _inner_objects(value: object) -> list[object]:
    if isinstance(value, Pairs):
        return [inner for _, item in value if (inner := _as_container(item)) is not None]
    if isinstance(value, list):
        return [inner for item in value if (inner := _as_container(item)) is not None]
    return []


def _as_container(item: object) -> Pairs | list[object] | None:
    """Return an object or list, also where a tool call wrote it into a string."""
    if isinstance(item, Pairs | list):
        return item
    if isinstance(item, str) and item.lstrip()[:1] == "{":
        try:
            value = strict_loads(item)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, Pairs) else None
    return None


def objects_in(value: object) -> Iterable[Pairs]:
    """Yield the object `value` and every object in it."""
    if isinstance(value, Pairs):
        yield value
    for inner in _inner_objects(value):
        yield from objects_in(inner)


def _is_schema(pairs: Pairs) -> bool:
    """Tell a schema, or an object that holds type names where the values should be."""
    values = dict(pairs)
    if _names_types(pairs):
        return True
    if isinstance(values.get("answer"), str):
        return False
    properties = values.get("properties")
    if isinstance(properties, Pairs):
        return not isinstance(dict(properties).get("answer"), str) or _names_types(properties)
    answer = values.get("answer")
    if isinstance(answer, Pairs):
        return any(key in ("type", "description", "$ref") for key, _ in answer)
    return "$schema" in values


def _names_types(pairs: Pairs) -> bool:
    """`{"answer": "string", "evidence_ids": ["string"]}`: the fields are names of types."""
    values = {name: value for key, value in pairs if (name := field_of(key)[0]) is not None}
    ids = values.get("evidence_ids")
    first = ids[0] if isinstance(ids, list) and ids else ids
    return _is_type_word(values.get("answer")) and _is_type_word(first)


def _is_type_word(value: object) -> bool:
    return isinstance(value, str) and value.strip(" <>").casefold().split(" ")[0] in _TYPE_WORDS


def field_of(key: str) -> tuple[_Field | None, str | None]:
    """Return the field a key means, and the repair needed to read it so."""
    exact = _EXACT.get(key)
    if exact is not None:
        return exact, None
    folded = _KEY_SIGNS.sub("", key.strip().casefold())
    if folded in _FOLDED:
        return _FOLDED[folded], "key_form"
    if folded in _ALIASES:
        return "evidence_ids", "key_alias"
    return None, None


def _read_object(pairs: Pairs, repairs: list[str]) -> ParsedReply:
    """Fields to an answer. Each problem says which field it is about."""
    repairs = list(repairs)
    values: dict[_Field, object] = {}
    for key, value in pairs:
        name, repair = field_of(key)
        if name is None:
            continue
        if name in values and not _same(name, values[name], value):
            return problem("duplicate_key", f"`{name}` stands twice, with different values")
        if repair is not None and repair not in repairs:
            repairs.append(repair)
        values[name] = value if values.get(name) is None else values[name]
    answer = _answer_text(values.get("answer"), repairs)
    if isinstance(answer, ParseProblem):
        return answer
    cited = read_cited(values.get("evidence_ids"), repairs)
    if isinstance(cited, BadElement):
        message = f"`evidence_ids` holds {_kind(cited.value)}, not an id"
        return problem("wrong_type", message, repairs, answer=answer)
    return ParsedAnswer(
        answer=answer,
        evidence_ids=tuple(dict.fromkeys(unit_id for _, ids in cited for unit_id in ids)),
        reasoning=_reasoning(values.get("reasoning"), repairs),
        normalised=tuple(
            dict.fromkeys(
                (form, unit_id) for form, ids in cited for unit_id in ids if form != unit_id
            )
        ),
        repairs=tuple(repairs),
    )


def _same(name: _Field, first: object, second: object) -> bool:
    if first == second:
        return True
    if name != "evidence_ids":
        return False
    if first is None or second is None:
        return True
    read = [read_cited(value, []) for value in (first, second)]
    ids = [
        None if isinstance(cited, BadElement) else [unit for _, part in cited for unit in part]
        for cited in read
    ]
    return ids[0] is not None and ids[0] == ids[1]


def _answer_text(value: object, repairs: list[str]) -> str | ParseProblem:
    if isinstance(value, NumberText):
        if not math.isfinite(_as_float(value)):
            return problem("wrong_type", "`answer` is a number without a finite value", repairs)
        repairs.append("number_as_text")
        return str(value)
    if not isinstance(value, str):
        message = f"`answer` is {_kind(value)}, not a string"
        return problem("wrong_type", message, repairs)
    if is_blank(value):
        return problem("empty_answer", "`answer` is blank", repairs, answer=value)
    return value


def _as_float(text: str) -> float:
    """Infinite for `1e999`; an integer of any length counts as finite."""
    return 0.0 if text.lstrip("-").isdecimal() else float(text)


def _reasoning(value: object, repairs: list[str]) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        repairs.append("reasoning_joined")
        return "\n".join(str(item) for item in value)
    repairs.append("reasoning_not_text")
    return None


def _kind(value: object) -> str:
    match value:
        case None:
            return "`null`"
        case bool():
            return "a boolean"
        case Pairs():
            return "an object"
        case list():
            return "a list"
        case str():
            return "a string"
        case _:
            return "a value that is no JSON"


def _keys(pairs: Pairs) -> str:
    names = ", ".join(f"`{key}`" for key, _ in pairs)
    if not names:
        return ""
    short = names if len(names) <= _LONGEST_MESSAGE else f"{names[:_LONGEST_MESSAGE]}…"
    return f", only {short}"


def problem(
    code: ProblemCode,
    message: str,
    repairs: Iterable[str] = (),
    *,
    answer: str | None = None,
) -> ParseProblem:
    """Make a problem; `answer` is what was read of it, if anything."""
    return ParseProblem(code=code, message=message, answer=answer, repairs=tuple(repairs))
