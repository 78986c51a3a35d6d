"""Writing a graph as node-link JSON, in the form that the loader reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from aletheia.errors import StoreError, UsageError
from aletheia.graph.formats.node_link import ALIAS_KEYS
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.store import Edge, Node, Pairs

_NODE_KEYS: Final = frozenset({"id", "name", "type", *ALIAS_KEYS})
_EDGE_KEYS: Final = frozenset({"id", "source", "target", "relation", "key"})


def node_link_text(graph: KnowledgeGraph, about: Mapping[str, str] | None = None) -> str:
    """Write a graph as node-link JSON, one node or link a line; `about` stands in `graph`.

    An attribute whose key means something else to the loader gets a `_` after it. Attributes with
    several values are lists. A node without a type has no `type`.
    """
    head = {"name": graph.name, **(about or {})}
    return "".join(
        (
            '{\n"directed": true,\n"multigraph": true,\n',
            f'"graph": {_json(head)},\n"nodes": [\n',
            _lines(map(_node, graph.nodes())),
            '],\n"links": [\n',
            _lines(map(_edge, graph.edges())),
            "]\n}\n",
        )
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _lines(records: Iterator[dict[str, object]]) -> str:
    text = ",\n".join(f"  {_json(record)}" for record in records)
    return f"{text}\n" if text else ""


def _node(node: Node) -> dict[str, object]:
    record: dict[str, object] = {"id": node.id, "name": node.name}
    if node.type is not None:
        record["type"] = node.type
    if node.aliases:
        record["aliases"] = list(node.aliases)
    return record | _attributes(node.attributes, _NODE_KEYS)


def _edge(edge: Edge) -> dict[str, object]:
    record: dict[str, object] = {
        "source": edge.source,
        "target": edge.target,
        "relation": edge.predicate,
    }
    if edge.id is not None:
        record["id"] = edge.id
    return record | _attributes(edge.attributes, _EDGE_KEYS)


def _attributes(pairs: Pairs, taken: frozenset[str]) -> dict[str, object]:
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(f"{key}_" if key in taken else key, []).append(value)
    return {key: found[0] if len(found) == 1 else found for key, found in values.items()}


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write a file whole or not at all.

    Raises `UsageError` if it is there already and `force` is not set, or if its directory is not
    there, and `StoreError` if it cannot be written.
    """
    check_target(path, force=force)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def check_target(path: Path, *, force: bool = False) -> None:
    """See that a file may be written; raises `UsageError` if not."""
    if path.is_dir():
        raise UsageError(f"`{path}` is a directory", hint="name a file")
    if not path.parent.is_dir():
        raise UsageError(f"`{path}`: there is no directory `{path.parent}`")
    if path.exists() and not force:
        raise UsageError(f"`{path}` is there already", hint="`--force` replaces it")
