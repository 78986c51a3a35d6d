"""`KnowledgeGraph`: one loaded graph and everything that can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from aletheia.errors import UsageError
from aletheia.graph import facts
from aletheia.graph.communities import Communities
from aletheia.graph.facts import Fact
from aletheia.graph.link import LinkedNode, Links
from aletheia.graph.pool import Query, make_query
from aletheia.graph.search import Retrieval, Searcher
from aletheia.graph.store import Edge, GraphStore, GraphWarning, Node

if TYPE_CHECKING:
    import networkx as nx

    from aletheia.graph.rank import VectorCache
    from aletheia.schema.model import Embedder


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise UsageError(f"`{name}` is {value}, it must be at least 1")


MAX_COMMUNITIES = 2
"""Community units in one retrieval."""


class KnowledgeGraph:
    """A directed multigraph of named nodes with aliases, attributes and typed edges.

    `name` is the file's stem, `digest` `sha256:<hex>` of its bytes, `warnings` what was odd in it.
    Indexes are built on first use and kept; methods may be called from several threads.
    """

    def __init__(
        self,
        store: GraphStore,
        *,
        name: str,
        path: Path | None = None,
        digest: str | None = None,
        warnings: tuple[GraphWarning, ...] = (),
    ) -> None:
        self.name = name
        self.path = path
        self.digest = digest
        self.warnings = warnings
        self.store = store
        self._searcher = Searcher(store)
        self._communities: Communities | None = None
        self._vectors: VectorCache | None = None
        self._lock = RLock()

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.store.n_nodes

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return self.store.n_edges

    def nodes(self) -> Iterator[Node]:
        """All nodes in file order."""
        return (self.store.node(i) for i in range(self.store.n_nodes))

    def edges(self) -> Iterator[Edge]:
        """All edges in file order."""
        return (self.store.edge(i) for i in range(self.store.n_edges))

    def node(self, node_id: str) -> Node | None:
        """The node with this id, or None."""
        index = self.store.index.get(node_id)
        return None if index is None else self.store.node(index)

    def facts(self) -> Iterator[Fact]:
        """All facts: type, aliases and attributes node by node, then the edges."""
        return facts.all_facts(self.store)

    def fact_text(self, fact: Fact) -> str:
        """A fact as one sentence."""
        return facts.fact_text(self.store, fact)

    def link(self, question: str) -> tuple[LinkedNode, ...]:
        """The nodes a question names, in the order in which it names them."""
        return self.links(question).nodes

    def links(self, question: str) -> Links:
        """The nodes and attribute values a question names."""
        with self._lock:
            return self._searcher.linker.link(question)

    def retrieve(
        self,
        question: str,
        *,
        hops: int = 3,
        max_units: int = 12,
        embedder: Embedder | None = None,
        community: bool = False,
    ) -> Retrieval:
        """Evidence for a question: at most `max_units` units, best first.

        Walks `hops` (at least 1) edges out from the linked nodes; where nothing is linked, the
        most similar units of the whole graph. Without `embedder` only words count. `community`
        gives up to a quarter of the units to summaries of the communities the nodes belong to.
        Raises `UsageError` if `hops` or `max_units` is below 1.
        """
        _at_least_one("hops", hops)
        _at_least_one("max_units", max_units)
        with self._lock:
            links = self._searcher.linker.link(question)
            query = self._query(question, links, embedder)
            reserved = min(MAX_COMMUNITIES, max_units // 4) if community else 0
            found = self._searcher.walk(query, links, hops=hops, max_units=max_units - reserved)
            return self._with_communities(found, reserved) if reserved else found

    def communities(self) -> Communities:
        """Find the clusters of the graph, once; the result is kept."""
        with self._lock:
            if self._communities is None:
                self._communities = Communities(self.store, self._searcher.units)
            return self._communities

    def _with_communities(self, found: Retrieval, limit: int) -> Retrieval:
        """Add the communities of the linked nodes, or else of what was found."""
        nodes = [link.node_id for link in found.linked] or [
            fact.partition("|")[0] for unit in found.units for fact in unit.facts
        ]
        communities = self.communities()
        numbers = communities.of([self.store.index[n] for n in nodes if n in self.store.index])
        units = [communities.evidence(number) for number in numbers[:limit]]
        return replace(
            found,
            units=(*found.units, *units),
            scores=(*found.scores, *(0.0 for _ in units)),
            how=(*found.how, *("community" for _ in units)),
        )

    def similarity_only(
        self, question: str, *, max_units: int = 12, embedder: Embedder | None = None
    ) -> Retrieval:
        """Search by similarity over all units, without links or walk: the baseline."""
        _at_least_one("max_units", max_units)
        with self._lock:
            query = self._query(question, Links(), embedder)
            return self._searcher.similar(query, max_units=max_units)

    def _query(self, question: str, links: Links, embedder: Embedder | None) -> Query:
        query = make_query(question, links, embedder, self._vectors)
        if query.vectors is not None:
            self._vectors = query.vectors
        return query

    def to_networkx(self) -> nx.MultiDiGraph:
        """A copy as networkx has it; edge keys are the predicates' parallel numbers."""
        import networkx as nx

        graph = nx.MultiDiGraph(name=self.name)
        for node in self.nodes():
            attributes: dict[str, list[str]] = {}
            for key, value in node.attributes:
                attributes.setdefault(key, []).append(value)
            graph.add_node(
                node.id,
                name=node.name,
                type=node.type,
                aliases=list(node.aliases),
                attributes=attributes,
            )
        for edge in self.edges():
            graph.add_edge(
                edge.source, edge.target, predicate=edge.predicate, attributes=edge.attributes
            )
        return graph
