"""A graph at a glance, for people: counts, hubs, aliases, communities, warnings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.store import GraphWarning

HUBS = 10
"""Hubs listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """A well-connected node and how many edges touch it."""

    node_id: str
    name: str
    degree: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSummary:
    """What is in a graph.

    `node_types` (`None` = no type) and `predicates` count nodes and edges, most frequent first.
    `facts` counts types, aliases, attributes and edges. `communities` is None if not asked for.
    """

    name: str
    path: str | None
    digest: str | None
    nodes: int
    edges: int
    facts: int
    aliases: int
    attributes: int
    node_types: tuple[tuple[str | None, int], ...]
    predicates: tuple[tuple[str, int], ...]
    hubs: tuple[Hub, ...]
    communities: int | None
    warnings: tuple[GraphWarning, ...]


def summary(graph: KnowledgeGraph, *, communities: bool = True) -> GraphSummary:
    """Sum a graph up. Communities cost most of the time; leave them out for large graphs."""
    store = graph.store
    types = Counter(store.types.tolist())
    aliases = sum(map(len, store.aliases.values()))
    typed = store.n_nodes - types.get(-1, 0)
    return GraphSummary(
        name=graph.name,
        path=None if graph.path is None else str(graph.path),
        digest=graph.digest,
        nodes=store.n_nodes,
        edges=store.n_edges,
        facts=store.n_edges + len(store.attr_node) + aliases + typed,
        aliases=aliases,
        attributes=len(store.attr_node),
        node_types=tuple(
            (None if code < 0 else store.type_names[code], count)
            for code, count in types.most_common()
        ),
        predicates=tuple(
            (store.predicates[code], count)
            for code, count in Counter(store.predicate.tolist()).most_common()
        ),
        hubs=_hubs(graph),
        communities=len(graph.communities()) if communities else None,
        warnings=graph.warnings,
    )


def _hubs(graph: KnowledgeGraph) -> tuple[Hub, ...]:
    store = graph.store
    degrees = np.diff(store.outgoing.starts) + np.diff(store.incoming.starts)
    top = np.argsort(-degrees, kind="stable")[:HUBS].tolist()
    return tuple(
        Hub(node_id=store.ids[n], name=store.names[n], degree=int(degrees[n]))
        for n in top
        if degrees[n] > 0
    )
