"""Node-link JSON, as networkx writes it: `nodes` and `links` (or `edges`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

from aletheia.errors import DataError
from aletheia.graph.build import Builder
from aletheia.graph.formats.source import Json, line_of, read_text, stream
from aletheia.graph.formats.values import first, rest, strings
from aletheia.graph.store import DESCRIPTION

NAME_KEYS = ("name", "label", "title")
TYPE_KEYS = ("type", "kind", "category", "entity_type")
ALIAS_KEYS = ("aliases", "alias", "aka", "also_known_as", "alternative_names")
DESCRIPTION_KEYS = (DESCRIPTION, "summary", "abstract")
PREDICATE_KEYS = ("relation", "predicate", "label", "type", "key")
UNNAMED = "related to"
"""The predicate of an edge that names none."""

_ARRAYS = frozenset({"nodes", "links", "edges"})


def read(path: Path, builder: Builder) -> None:
    """Read a node-link file into `builder`. Raises `DataError` with the line."""
    text = read_text(path)
    counts = dict.fromkeys(_ARRAYS, 0)
    seen: set[str] = set()
    for key, offset, value in stream(text, path, _ARRAYS):
        seen.add(key)
        if key not in _ARRAYS:
            continue
        where = Place(path, text, offset, f"{key}[{counts[key]}]")
        counts[key] += 1
        if not isinstance(value, dict):
            raise where.error(f"expected an object, found `{json.dumps(value):.40}`")
        if key == "nodes":
            add_node(builder, value, where)
        else:
            add_edge(builder, value, where)
    if not counts["nodes"] and not counts["links"] and not counts["edges"]:
        wanted = "expected `nodes` and `links` (or `edges`)"
        found = ", ".join(f"`{k}`" for k in sorted(seen)) or "nothing"
        raise DataError(f"no nodes and no edges; {wanted}, found {found}", file=path)


class Where(Protocol):
    """The place of a record in its file."""

    @property
    def line(self) -> int:
        """The line the record begins on, from 1."""
        ...

    def error(self, message: str, member: str | None = None) -> DataError:
        """Make an error about the record, or about one member of it."""
        ...


class Place:
    """A place in a text; the line is counted only if it is asked for."""

    __slots__ = ("_field", "_offset", "_path", "_text")

    def __init__(self, path: Path, text: str, offset: int, field: str) -> None:
        self._path, self._text, self._offset, self._field = path, text, offset, field

    @property
    def line(self) -> int:
        """The line the record begins on, from 1."""
        return line_of(self._text, self._offset)

    def error(self, message: str, member: str | None = None) -> DataError:
        """Make an error about the record, or about one member of it."""
        field = self._field if member is None else f"{self._field}.{member}"
        return DataError(message, file=self._path, line=self.line, field=field)


def add_node(builder: Builder, record: dict[str, Json], where: Where) -> None:
    """One entry of `nodes`."""
    _, node_id = first(record, ("id",))
    if node_id is None:
        raise where.error("a node needs an `id`", "id")
    if builder.declared(node_id):
        raise where.error(f"the node id `{node_id}` stands twice", "id")
    name_key, name = first(record, NAME_KEYS)
    type_key, kind = first(record, TYPE_KEYS)
    used: set[str | None] = {"id", name_key, type_key, *ALIAS_KEYS}
    description_key, description = first(record, DESCRIPTION_KEYS)
    attributes = list(rest(record, used | {description_key}))
    if description is not None:
        attributes.append((DESCRIPTION, description))
    aliases = [a for key in ALIAS_KEYS for a in strings(record.get(key))]
    builder.node(node_id, name=name, type=kind, aliases=aliases, attributes=attributes)


def add_edge(builder: Builder, record: dict[str, Json], where: Where) -> None:
    """One entry of `links` or `edges`."""
    ends = []
    for member in ("source", "target"):
        _, end = first(record, (member,))
        if end is None:
            raise where.error(f"an edge needs a `{member}`", member)
        ends.append(end)
    data = {key: value for key, value in record.items() if key not in ("source", "target")}
    connect(builder, ends[0], ends[1], data, where)


def connect(
    builder: Builder, source: str, target: str, data: dict[str, Json], where: Where
) -> None:
    """Add an edge whose predicate, id and attributes are in `data`."""
    key, predicate = _predicate(data)
    if predicate is None:
        message = f"edges without a predicate; they read `{UNNAMED}`"
        builder.warn("unnamed_edge", message, f"{source} -> {target}", where.line)
    _, edge_id = first(data, ("id",))
    used: set[str | None] = {"id", key}
    if _is_parallel_number(data.get("key")):
        used.add("key")
    builder.edge(source, predicate or UNNAMED, target, tuple(rest(data, used)), edge_id)


def _is_parallel_number(key: Json) -> bool:
    """Tell whether `key` only parts parallel edges, as networkx writes it."""
    return isinstance(key, str) and key.isdecimal()


def _predicate(record: dict[str, Json]) -> tuple[str | None, str | None]:
    """The predicate and the key it stands under."""
    key, text = first(record, PREDICATE_KEYS)
    if key == "key" and _is_parallel_number(text):
        return None, None
    return key, text
