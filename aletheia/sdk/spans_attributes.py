"""Attributes of a span as one tree, whichever way they were written.

OTLP writes typed pairs, exporters to a console or file write `a.b.c` keys, and Phoenix writes
nested objects. Numbers in a key are places of a list, and in the order of numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

__all__ = ["Attributes", "listed", "parsed"]

_SELF: Final = ""
"""Key of a value that stands where others hang below it: `a` beside `a.b`."""


class Attributes:
    """Looks values up by their dotted name. Raises TypeError for what are no attributes."""

    __slots__ = ("_tree",)

    def __init__(self, *given: object) -> None:
        self._tree: dict[str, object] = {}
        for part in given:
            for key, value in _pairs(part):
                _grow(self._tree, key, value)

    def get(self, name: str) -> object:
        """Return the value or the tree of a name, None where there is neither."""
        node: object = self._tree
        for key in _path(name):
            # All inner nodes are dictionaries; asking for `Mapping` costs ten times as much.
            if not isinstance(node, dict) or key not in node:
                return None
            node = node[key]
        return node

    def leaf(self, name: str) -> object:
        """Return the value of a name that has a value of its own."""
        node = self.get(name)
        return node.get(_SELF) if isinstance(node, dict) else node

    def text(self, name: str) -> str | None:
        """Return the text of a name; None for a blank one and for what is no text."""
        value = self.leaf(name)
        return value if isinstance(value, str) and value.strip() else None


def listed(node: object) -> list[object] | None:
    """Return a list: as it is, from keys that are numbers, or from JSON; None for what is none."""
    node = parsed(node)
    if isinstance(node, Mapping):
        if isinstance(whole := parsed(node.get(_SELF)), list):
            return whole
        numbered = {int(key): value for key, value in node.items() if _is_number(key)}
        return [numbered[at] for at in sorted(numbered)] or None
    return node if isinstance(node, list) else None


def parsed(value: object) -> object:
    """Read JSON of an object or list that stands as a text; all else comes back as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return _tree(found)


@lru_cache(maxsize=1024)
def _path(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))


def _is_number(key: object) -> bool:
    return isinstance(key, str) and key.isascii() and key.isdigit()


def _pairs(given: object) -> Iterable[tuple[str, object]]:
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return [(str(key), _tree(value)) for key, value in given.items()]
    if isinstance(given, list) and all(_is_pair(item) for item in given):
        return [(str(item["key"]), _typed(item.get("value"))) for item in given]
    raise TypeError(f"attributes are a `{type(given).__name__}`")


def _is_pair(item: object) -> bool:
    return isinstance(item, Mapping) and "key" in item


def _tree(value: object) -> object:
    """Bring dotted keys inside of a value into the same form."""
    if isinstance(value, list):
        return [_tree(item) for item in value]
    if not isinstance(value, dict):
        return value
    tree: dict[str, object] = {}
    for key, item in value.items():
        _grow(tree, str(key), _tree(item))
    return tree


def _grow(tree: dict[str, object], name: str, value: object) -> None:
    *path, last = _path(name)
    for key in path:
        below = tree.get(key)
        if not isinstance(below, dict):
            below = tree[key] = {} if below is None else {_SELF: below}
        tree = below
    here = tree.get(last)
    if isinstance(here, dict) and isinstance(value, Mapping):
        for key, item in value.items():
            _grow(here, key, item)
    elif isinstance(here, dict):
        here[_SELF] = value
    else:
        tree[last] = value


def _typed(value: object) -> object:
    """Read a value of OTLP: `{"stringValue": "a"}`."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value if not isinstance(value, Mapping) else None
    (kind, inner), *_ = value.items()
    match str(kind).replace("_", "").lower():
        case "intvalue":
            return _whole(inner)
        case "arrayvalue":
            return [_typed(item) for item in _values(inner)]
        case "kvlistvalue":
            return _tree(dict(_pairs(_values(inner))))
        case _:
            return inner


def _values(node: object) -> list[object]:
    found = node.get("values") if isinstance(node, Mapping) else node
    return found if isinstance(found, list) else []


def _whole(value: object) -> object:
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError:
        return value
