"""Collects nodes and edges from a reader and turns them into a `GraphStore`."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from aletheia.graph.store import Adjacency, GraphStore, GraphWarning, Pairs

_EXAMPLES = 5


class Interner:
    """Gives equal strings one small number, in order of first use."""

    __slots__ = ("codes",)

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The number of `text`."""
        return self.codes.setdefault(text, len(self.codes))

    @property
    def names(self) -> tuple[str, ...]:
        """All strings in the order of their numbers."""
        return tuple(self.codes)


@dataclass(slots=True)
class _Tally:
    message: str
    line: int | None
    count: int = 0
    examples: list[str] = field(default_factory=list)


class Builder:
    """Grows a graph. A node may be referred to before it is declared.

    `node` declares, `reference` only points; `undeclared` are those never declared.
    """

    def __init__(self) -> None:
        self._ids = Interner()
        self._names: list[str | None] = []
        self._declared = bytearray()
        self._types = array("i")
        self._type_names = Interner()
        self._aliases: dict[int, tuple[str, ...]] = {}
        self._attr_keys = Interner()
        self._attr_node = array("i")
        self._attr_key = array("i")
        self._attr_value = array("i")
        self._values = Interner()
        self._predicates = Interner()
        self._source = array("i")
        self._target = array("i")
        self._predicate = array("i")
        self._edge_attributes: dict[int, Pairs] = {}
        self._shared: dict[Pairs, Pairs] = {}
        self._edge_ids: dict[int, str] = {}
        self._warnings: dict[str, _Tally] = {}

    @property
    def n_nodes(self) -> int:
        """Nodes so far, declared or referred to."""
        return len(self._names)

    @property
    def n_edges(self) -> int:
        """Edges so far."""
        return len(self._source)

    def declared(self, node_id: str) -> bool:
        """Tell whether this node has been declared."""
        index = self._ids.codes.get(node_id)
        return index is not None and bool(self._declared[index])

    @property
    def any_declared(self) -> bool:
        """Has any node been declared? A list of triples declares none."""
        return any(self._declared)

    def undeclared(self) -> tuple[str, ...]:
        """Ids that edges refer to and no node declares."""
        names = self._ids.names
        return tuple(names[i] for i, flag in enumerate(self._declared) if not flag)

    def reference(self, node_id: str) -> int:
        """Index of a node that an edge refers to; a new one is named by its id."""
        index = self._ids.code(node_id)
        if index == len(self._names):
            self._names.append(None)
            self._declared.append(0)
            self._types.append(-1)
        return index

    def node(
        self,
        node_id: str,
        *,
        name: str | None = None,
        type: str | None = None,  # noqa: A002  the field's own word
        aliases: Iterable[str] = (),
        attributes: Iterable[tuple[str, str]] = (),
    ) -> int:
        """Declare a node, or add to one: names beyond the first become aliases."""
        index = self.reference(node_id)
        self._declared[index] = 1
        if type is not None:
            self._types[index] = self._type_names.code(type)
        extra = list(aliases)
        if name is not None:
            if self._names[index] is None:
                self._names[index] = name
            else:
                extra.insert(0, name)
        if extra:
            self.alias(index, extra)
        for key, value in attributes:
            self.attribute(index, key, value)
        return index

    def ids(self) -> tuple[str, ...]:
        """All node ids so far, in order of first use."""
        return self._ids.names

    def add_type(self, index: int, kind: str) -> None:
        """Set the type of a node; a second, different one becomes an attribute `type`."""
        code = self._type_names.code(kind)
        if self._types[index] in (-1, code):
            self._types[index] = code
        else:
            self.attribute(index, "type", kind)

    def rename(self, node_id: str, name: str, *, aliases: Iterable[str] = ()) -> None:
        """Set the name of a node that came without one."""
        index = self.reference(node_id)
        self._names[index] = name
        self.alias(index, aliases)

    def alias(self, index: int, aliases: Iterable[str]) -> None:
        """Add other names; the name itself and repeats are left out."""
        known = dict.fromkeys(self._aliases.get(index, ()))
        known.update(dict.fromkeys(a for a in aliases if a != self._names[index]))
        if known:
            self._aliases[index] = tuple(known)

    def attribute(self, index: int, key: str, value: str) -> None:
        """Add one value of one attribute."""
        self._attr_node.append(index)
        self._attr_key.append(self._attr_keys.code(key))
        self._attr_value.append(self._values.code(value))

    def edge(
        self,
        source: str,
        predicate: str,
        target: str,
        attributes: Pairs = (),
        edge_id: str | None = None,
    ) -> int:
        """Add an edge between two nodes, declared or not; gives its index."""
        edge = len(self._source)
        self._source.append(self.reference(source))
        self._target.append(self.reference(target))
        self._predicate.append(self._predicates.code(predicate))
        if attributes:
            self._edge_attributes[edge] = self._shared.setdefault(attributes, attributes)
        if edge_id is not None:
            self._edge_ids[edge] = edge_id
        return edge

    def warn(self, kind: str, message: str, example: str, line: int | None = None) -> None:
        """Note something odd; repeats of a kind are counted, the first five kept as examples."""
        tally = self._warnings.setdefault(kind, _Tally(message, line))
        tally.count += 1
        if len(tally.examples) < _EXAMPLES:
            tally.examples.append(example)

    def warnings(self) -> tuple[GraphWarning, ...]:
        """What was noted, one entry per kind."""
        return tuple(
            GraphWarning(
                kind=kind,
                message=tally.message,
                count=tally.count,
                line=tally.line,
                examples=tuple(tally.examples),
            )
            for kind, tally in self._warnings.items()
        )

    def build(self) -> GraphStore:
        """The finished columns."""
        n_nodes = len(self._names)
        ids = self._ids.names
        source = np.array(self._source, dtype=np.int32)
        target = np.array(self._target, dtype=np.int32)
        attr_node = np.array(self._attr_node, dtype=np.int32)
        return GraphStore(
            ids=ids,
            index=self._ids.codes,
            names=tuple(n if n is not None else i for n, i in zip(self._names, ids, strict=True)),
            types=np.array(self._types, dtype=np.int32),
            type_names=self._type_names.names,
            aliases=self._aliases,
            attr_keys=self._attr_keys.names,
            attr_node=attr_node,
            attr_key=np.array(self._attr_key, dtype=np.int32),
            attr_value=np.array(self._attr_value, dtype=np.int32),
            values=self._values.names,
            predicates=self._predicates.names,
            source=source,
            target=target,
            predicate=np.array(self._predicate, dtype=np.int32),
            edge_attributes=self._edge_attributes,
            edge_ids=self._edge_ids,
            attributes_by_node=Adjacency.group(attr_node, n_nodes),
            outgoing=Adjacency.group(source, n_nodes),
            incoming=Adjacency.group(target, n_nodes),
        )
