"""Communities: clusters of nodes with many edges among them, and a unit that sums each up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aletheia.graph import wording
from aletheia.graph.store import GraphStore
from aletheia.graph.units import UnitKey, Units
from aletheia.schema.evidence import EvidenceText

if TYPE_CHECKING:
    import networkx as nx

MAX_LOUVAIN_EDGES = 200_000
"""Above it, label propagation replaces Louvain, which would take minutes."""
MAX_NAMED = 20
"""Members named in a unit, best connected first."""
MAX_FACTS = 5
"""Sentences in a unit."""

_SEED = 0


class Communities:
    """The communities of a graph, largest first; computed when made, with a fixed seed.

    Nodes without a neighbour belong to none.
    """

    def __init__(self, store: GraphStore, units: Units) -> None:
        self._store = store
        self._units = units
        self.members: tuple[tuple[int, ...], ...] = _detect(store)
        self._of = {n: i for i, members in enumerate(self.members) for n in members}

    def __len__(self) -> int:
        return len(self.members)

    def of(self, nodes: Sequence[int]) -> tuple[int, ...]:
        """Give the communities of these nodes, in their order, without repeats."""
        return tuple(dict.fromkeys(self._of[n] for n in nodes if n in self._of))

    def evidence(self, community: int) -> EvidenceText:
        """Make the unit of a community: members and main facts; the first one is number 1."""
        store, members = self._store, set(self.members[community])
        ranked = sorted(members, key=lambda n: (-_degree(store, n), n))
        named = ranked[:MAX_NAMED]
        names = [store.names[n] for n in named]
        more = f", and {len(ranked) - len(named)} more" if len(ranked) > len(named) else ""
        listing = f"{wording.join(names)}{more}"
        main = [self._units.get(key) for key in self._main(ranked, members)]
        text = f"Community {community + 1} has {len(ranked)} members: {wording.stop(listing)}"
        shown = dict.fromkeys([*named, *(n for unit in main for n in unit.members)])
        facts = (fact for unit in main for fact in self._units.evidence(unit).facts)
        return EvidenceText(
            text=" ".join([text, *(unit.text for unit in main)]),
            source=f"community {community + 1}",
            aliases=tuple(dict.fromkeys(a for n in shown for a in store.aliases.get(n, ()))),
            facts=tuple(dict.fromkeys(facts)),
        )

    def _main(self, ranked: Sequence[int], members: set[int]) -> list[UnitKey]:
        """Pick sentences about the best connected members that stay inside the community."""
        keys: list[UnitKey] = []
        for node in ranked:
            for key in self._units.keys_of(node):
                inside = key.kind == "out" and members.issuperset(self._units.get(key).reaches)
                if inside and len(keys) < MAX_FACTS:
                    keys.append(key)
            if len(keys) >= MAX_FACTS:
                break
        return keys


def _degree(store: GraphStore, node: int) -> int:
    return store.outgoing.degree(node) + store.incoming.degree(node)


def _undirected(store: GraphStore) -> nx.Graph[int]:
    """Make the simple graph below the multigraph; parallel edges add up to a weight."""
    import networkx as nx

    low = np.minimum(store.source, store.target).astype(np.int64)
    high = np.maximum(store.source, store.target).astype(np.int64)
    codes, counts = np.unique(low * store.n_nodes + high, return_counts=True)
    graph: nx.Graph[int] = nx.Graph()
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        one, other = divmod(code, store.n_nodes)
        if one != other:
            graph.add_edge(one, other, weight=count)
    return graph


def _detect(store: GraphStore) -> tuple[tuple[int, ...], ...]:
    import networkx as nx

    graph = _undirected(store)
    if store.n_edges <= MAX_LOUVAIN_EDGES:
        found = nx.community.louvain_communities(graph, seed=_SEED)
    else:
        found = nx.community.fast_label_propagation_communities(graph, seed=_SEED)
    members = (tuple(sorted(community)) for community in found)
    return tuple(sorted(members, key=lambda c: (-len(c), c)))
