"""A graph in columns: interned codes in arrays instead of one object per edge.

One million edges take about 32 bytes each here (three codes, two orders), where a dict per edge
takes several hundred. Edge attributes are kept only for edges that have some, shared if equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Codes = npt.NDArray[np.int32]

Pairs = tuple[tuple[str, str], ...]
"""Attributes as (key, value) pairs in file order; a key may repeat."""

DESCRIPTION = "description"
"""The attribute that is shown together with a node's name and aliases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphWarning:
    """Something in the file that was kept, but is probably not meant.

    `kind` is a fixed code, `count` how often it occurred, `line` (1-based) where first,
    `examples` up to five of the values.
    """

    kind: str
    message: str
    count: int
    line: int | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node as the file has it. `attributes` keep every value of a repeated key."""

    id: str
    name: str
    type: str | None = None
    aliases: tuple[str, ...] = ()
    attributes: Pairs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge as the file has it; `source` and `target` are node ids."""

    source: str
    predicate: str
    target: str
    attributes: Pairs = ()
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adjacency:
    """Edge (or attribute) rows grouped by node: node n has `rows[starts[n]:starts[n+1]]`."""

    rows: Codes
    starts: npt.NDArray[np.int64]

    @classmethod
    def group(cls, owners: Codes, n_nodes: int) -> Adjacency:
        """Group rows by their owner (one node index per row), keeping file order inside."""
        counts = np.bincount(owners, minlength=n_nodes)
        starts = np.zeros(n_nodes + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        return cls(rows=np.argsort(owners, kind="stable").astype(np.int32), starts=starts)

    def of(self, node: int) -> Codes:
        """The rows of one node."""
        return self.rows[self.starts[node] : self.starts[node + 1]]

    def degree(self, node: int) -> int:
        """How many rows a node has."""
        return int(self.starts[node + 1] - self.starts[node])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GraphStore:
    """Nodes, attributes and edges in columns. Index n is the n-th node of the file.

    `types[n]` indexes `type_names` (-1 = none). Attribute row r says: node `attr_node[r]` has
    `attr_keys[attr_key[r]]` = `values[attr_value[r]]`. Edge e goes from
    `source[e]` to `target[e]` with `predicates[predicate[e]]`; `edge_attributes` and `edge_ids`
    are sparse.
    """

    ids: Sequence[str]
    index: Mapping[str, int]
    names: Sequence[str]
    types: Codes
    type_names: Sequence[str]
    aliases: Mapping[int, tuple[str, ...]]
    attr_keys: Sequence[str]
    attr_node: Codes
    attr_key: Codes
    attr_value: Codes
    values: Sequence[str]
    predicates: Sequence[str]
    source: Codes
    target: Codes
    predicate: Codes
    edge_attributes: Mapping[int, Pairs]
    edge_ids: Mapping[int, str]
    attributes_by_node: Adjacency
    outgoing: Adjacency
    incoming: Adjacency

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.ids)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.source)

    def type_of(self, node: int) -> str | None:
        """The type of node `node`, or None."""
        code = int(self.types[node])
        return None if code < 0 else self.type_names[code]

    def attributes_of(self, node: int) -> Pairs:
        """All attributes of a node, in file order."""
        rows = self.attributes_by_node.of(node).tolist()
        return tuple(
            (self.attr_keys[self.attr_key[r]], self.values[self.attr_value[r]]) for r in rows
        )

    def node(self, node: int) -> Node:
        """The node at an index as a value."""
        return Node(
            id=self.ids[node],
            name=self.names[node],
            type=self.type_of(node),
            aliases=self.aliases.get(node, ()),
            attributes=self.attributes_of(node),
        )

    def edge(self, edge: int) -> Edge:
        """The edge at an index as a value."""
        return Edge(
            source=self.ids[self.source[edge]],
            predicate=self.predicates[self.predicate[edge]],
            target=self.ids[self.target[edge]],
            attributes=self.edge_attributes.get(edge, ()),
            id=self.edge_ids.get(edge),
        )
