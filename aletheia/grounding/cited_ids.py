"""Read the list of cited ids, in whatever form a model wrote it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from aletheia.grounding.citations import expand, read_items
from aletheia.grounding.relaxed_json import NumberText, Pairs

_NO_IDS: Final = frozenset(("", "none", "null", "nil", "n/a", "na", "-", "[]", "()"))
_ID_KEYS: Final = frozenset(("id", "evidence_id", "evidenceid", "evidence id"))
_CANONICAL: Final = re.compile(r"E[1-9][0-9]{0,8}", re.ASCII)
_BRACKET_GROUPS: Final = re.compile(
    r"[\[(【［（〔{<⟦](?P<inner>[^\[\]()【】［］（）]{1,200})[\])】］）〕}>⟧]"
)
_GAP: Final = re.compile(r"[\s,;、，；.&]*(?:and)?[\s,;]*")
_LINE_OF_PROMPT: Final = re.compile(r"\[(?P<id>E[1-9][0-9]{0,8})\]\s+\S", re.ASCII)
_ANY_MARK: Final = re.compile(r"\bE\d", re.IGNORECASE)
_QUOTES: Final = "\"'`“”‘’*_"
_LONGEST_RANGE: Final = 50
_LONGEST_FORM: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class BadElement:
    """An element of the list that has no id in it, such as a boolean."""

    value: object


def normalise_id(raw: object) -> tuple[str, ...] | None:
    """Canonical ids (`E<n>`) of one element of the citation list, None when it is not understood.

    Strings, whole numbers and `{"id": ...}` objects are read; a string may hold several ids. A
    range longer than 50, or an inverted one, is not understood.
    """
    if isinstance(raw, Pairs):
        return normalise_id(raw[0][1]) if _is_id_object(raw) else None
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int | float):
        raw = NumberText(number_text(raw))
    if not isinstance(raw, str):
        return None
    if _CANONICAL.fullmatch(raw):
        return (raw,)
    return _ids_of_number(raw) if isinstance(raw, NumberText) else _ids_of_text(raw)


def read_cited(value: object, repairs: list[str]) -> list[tuple[str, tuple[str, ...]]] | BadElement:
    """Pairs of each form as written and the ids it stands for; not understood = verbatim.

    `value` is the field as decoded. What was overlooked is added to `repairs`.
    """
    if value is None:
        return []
    if type(value) is list:
        plain = [item for item in value if type(item) is str and _CANONICAL.fullmatch(item)]
        if len(plain) == len(value):
            return [(item, (item,)) for item in plain]
    if isinstance(value, str) and value.strip().casefold() in _NO_IDS:
        repairs.append("no_ids_word")
        return []
    if not isinstance(value, list) or isinstance(value, Pairs):
        repairs.append("ids_not_listed")
        value = [value]
    items = [inner for item in value for inner in _flat(item)]
    if len(items) > len(value):
        repairs.append("nested_ids")
    if len(items) == 1 and isinstance(items[0], str) and items[0].strip().casefold() in _NO_IDS:
        repairs.append("no_ids_word")
        return []
    cited: list[tuple[str, tuple[str, ...]]] = []
    for item in items:
        form = _form(item)
        if form is None:
            return BadElement(value=item)
        cited.append((form, normalise_id(item) or (form,)))
    return cited


def _flat(item: object) -> list[object]:
    return item if isinstance(item, list) and not isinstance(item, Pairs) else [item]


def _form(item: object) -> str | None:
    """Return an element of the citation list as it was written."""
    if isinstance(item, str):
        return str(item)
    if isinstance(item, Pairs) and _is_id_object(item) and isinstance(item[0][1], str):
        return str(item[0][1])
    return None


def _is_id_object(pairs: Pairs) -> bool:
    return bool(pairs) and pairs[0][0].strip().casefold() in _ID_KEYS


def _ids_of_number(text: str) -> tuple[str, ...] | None:
    """`1` and `1.0` are E1; `1.5` and `-1` are no id."""
    whole, _, rest = text.partition(".")
    if not whole.isdecimal() or rest.strip("0"):
        return None
    return (f"E{whole.lstrip('0') or '0'}",)


def _ids_of_text(raw: str) -> tuple[str, ...] | None:
    text = raw.strip().strip(_QUOTES).rstrip(".:,;").strip()
    if not text or len(text) > _LONGEST_FORM:
        return None
    groups = _groups(text)
    if groups is None:
        line = _LINE_OF_PROMPT.match(text)
        if line is not None and _ANY_MARK.search(text, line.end()) is None:
            return (line["id"],)
        return None
    ids: list[str] = []
    for inner in groups:
        for item in read_items(inner.strip(_QUOTES + " ")) or (None,):
            expanded = expand(item, _LONGEST_RANGE) if item is not None else None
            if expanded is None:
                return None
            ids.extend(expanded)
    return tuple(dict.fromkeys(ids))


def _groups(text: str) -> list[str] | None:
    """Return the insides of `[E1][E2]` or `(E1), (E2)`, or the text when it has no brackets."""
    if not _BRACKET_GROUPS.match(text):
        return [text]
    inner: list[str] = []
    position = 0
    while position < len(text):
        match = _BRACKET_GROUPS.match(text, position)
        if match is None:
            return None
        inner.append(match["inner"])
        gap = _GAP.match(text, match.end())
        position = gap.end() if gap else match.end()
    return inner


def number_text(value: float) -> str:
    """Write a number as text, whatever its size."""
    try:
        return str(value)
    except ValueError:  # more digits than Python writes out
        return hex(int(value))
