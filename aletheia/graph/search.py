"""Retrieval: walk from the nodes a question names, rank the facts on the way, keep a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from aletheia.graph.link import LinkedNode, LinkedValue, Linker, Links
from aletheia.graph.pool import (
    Candidate,
    Pool,
    Query,
    adjacent,
    detours,
    fits,
    inherited,
    is_named,
    select,
)
from aletheia.graph.rank import LEXICAL_WEIGHT, LexicalIndex, combine
from aletheia.graph.store import GraphStore
from aletheia.graph.text import stems
from aletheia.graph.units import Unit, UnitKey, Units
from aletheia.schema.evidence import EvidenceText

if TYPE_CHECKING:
    from aletheia.graph.rank import Scores

MAX_UNITS_OF_NODE = 60
"""Units looked at per node; a hub has more, and then the result says so."""
MAX_FRONTIER = 100
"""Nodes entered per hop, in a small graph."""
MAX_FRONTIER_LARGE = 50
"""Nodes entered per hop, in a large graph."""
SMALL = 20_000
"""Nodes and edges up to which embeddings also choose the way, and not only the result."""
MAX_EMBEDDED = 200
"""Candidates that get an embedding, chosen by words and hop."""
MAX_EMBEDDED_LARGE = 48
"""The same in a graph that is not small; an embedding costs about 4 ms."""
MAX_UNITS_EMBEDDED = 2_000
"""Units of a graph up to which similarity alone looks at the embeddings of all of them."""
_EMBEDDED_TEXT = 400
DECAY = 0.5
"""How much of its parent's score a unit of the next hop inherits."""
HOP_COST = 0.05
"""Taken off for each hop after the first."""
UNASKED = 0.85
"""Share of its own score that a unit keeps for each fact before it that shares no word with the
question: far off, one matching word is likely an accident."""
CUE_BONUS = 0.1
"""Added to a unit that holds what the question word asks for: a number, or another entity."""
PATH_BONUS = 0.3
"""Added to a unit that joins two nodes the question names, directly or over one node."""
NAMED_BONUS = 0.2
"""Added to the units of a named node itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Evidence for one question, best first.

    `scores` and `how` are aligned with `units`; `how` says where a unit comes from: `hop 1`,
    `hop 2`, `path`, `similarity` or `community`. `bounded` names what was not looked at in full.
    """

    units: tuple[EvidenceText, ...] = ()
    scores: tuple[float, ...] = ()
    how: tuple[str, ...] = ()
    linked: tuple[LinkedNode, ...] = ()
    linked_values: tuple[LinkedValue, ...] = ()
    bounded: tuple[str, ...] = ()


class Searcher:
    """Search over one graph. Indexes are built when first needed and kept."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._units = Units(store)
        self._linker: Linker | None = None
        self._small = store.n_nodes + store.n_edges <= SMALL
        self._every: tuple[list[UnitKey], LexicalIndex] | None = None

    @property
    def linker(self) -> Linker:
        """The name index."""
        if self._linker is None:
            self._linker = Linker(self._store)
        return self._linker

    @property
    def units(self) -> Units:
        """The unit maker."""
        return self._units

    def walk(self, query: Query, links: Links, *, hops: int, max_units: int) -> Retrieval:
        """Units within `hops` of the linked nodes, ranked; similarity if nothing is linked."""
        if not links.nodes and not links.values:
            return self.similar(query, max_units=max_units)
        pool = Pool()
        self._seed(pool, links, query)
        for hop in range(1, hops):
            self._score(pool, query, links, final=False)
            self._expand(pool, hop, query)
        self._mark_paths(pool, links)
        self._score(pool, query, links, final=True)
        return self._result(select(pool.candidates.values(), max_units), links, pool.bounded)

    def similar(self, query: Query, *, max_units: int) -> Retrieval:
        """The most similar units of the whole graph, without links and hops."""
        keys, index = self._all_units()
        lexical = index.scores(query.stems)
        limit = len(keys) if len(keys) <= MAX_UNITS_EMBEDDED else MAX_EMBEDDED
        top = np.argsort(-lexical, kind="stable")[: max(limit, max_units)]
        if query.vectors is None:
            top = top[lexical[top] > 0]
        units = [self._units.get(keys[i]) for i in top.tolist()]
        scores = self._combined(query, units, lexical[top])
        found = [
            Candidate(unit=unit, hop=0, own=score, score=score)
            for unit, score in zip(units, scores, strict=True)
        ]
        return self._result(select(found, max_units), Links(), [])

    def _result(
        self, chosen: Sequence[Candidate], links: Links, bounded: Sequence[str]
    ) -> Retrieval:
        return Retrieval(
            units=tuple(self._units.evidence(c.unit) for c in chosen),
            scores=tuple(round(c.score, 4) for c in chosen),
            how=tuple(c.how for c in chosen),
            linked=links.nodes,
            linked_values=links.values,
            bounded=tuple(dict.fromkeys(bounded)),
        )

    def _all_units(self) -> tuple[list[UnitKey], LexicalIndex]:
        if self._every is None:
            keys = list(self._units.every_key())
            index = LexicalIndex([self._units.make(key).words for key in keys])
            self._every = (keys, index)
        return self._every

    def _combined(self, query: Query, units: Sequence[Unit], lexical: np.ndarray) -> list[float]:
        if query.vectors is None or not units:
            cosines = None
        else:
            cosines = query.vectors.cosines(
                query.text, [unit.search_text[:_EMBEDDED_TEXT] for unit in units]
            )
        scores: list[float] = combine(lexical, cosines).tolist()
        return scores

    def _seed(self, pool: Pool, links: Links, query: Query) -> None:
        for node in links.node_indexes:
            self._enter(pool, node, 1, None, query)
        for code in links.value_codes:
            keys = list(self._units.keys_of_value(code))
            self._admit(pool, keys, 1, None, query, f"nodes with `{self._store.values[code]}`")

    def _enter(
        self, pool: Pool, node: int, hop: int, parent: Candidate | None, query: Query
    ) -> None:
        pool.entered.add(node)
        keys = list(self._units.keys_of(node))
        if hop > 1:
            keys = self._without_crowds(keys, query)
        self._admit(pool, keys, hop, parent, query, f"facts of `{self._store.names[node]}`")

    def _admit(
        self,
        pool: Pool,
        keys: list[UnitKey],
        hop: int,
        parent: Candidate | None,
        query: Query,
        what: str,
    ) -> None:
        if len(keys) > MAX_UNITS_OF_NODE:
            pool.bounded.append(f"{what}: {MAX_UNITS_OF_NODE} of {len(keys)} groups")
            keys = self._likeliest(keys, query)
        for unit in map(self._units.get, keys):
            # An edge seen from its other end is the same fact in the same words.
            if unit.key not in pool.candidates and unit.text not in pool.texts:
                pool.texts.add(unit.text)
                pool.candidates[unit.key] = Candidate(unit=unit, hop=hop, parent=parent)

    def _likeliest(self, keys: list[UnitKey], query: Query) -> list[UnitKey]:
        """First parts before later ones, predicates that share a word with the question first."""
        wanted = set(query.stems)

        def rank(key: UnitKey) -> tuple[int, bool, int]:
            if key.kind == "node":
                return (0, False, 0)
            table = self._store.predicates if key.kind in ("out", "in") else self._store.attr_keys
            return (1, not wanted.intersection(stems(table[key.code])), key.part)

        return sorted(keys, key=rank)[:MAX_UNITS_OF_NODE]

    def _without_crowds(self, keys: list[UnitKey], query: Query) -> list[UnitKey]:
        """Leave out lists longer than a unit that reach a node on the way, unless asked for.

        "X was designated by the US" does not make the other hundred designated ones relevant.
        """
        wanted = set(query.stems)
        crowds = {(key.kind, key.code) for key in keys if key.part}
        return [
            key
            for key in keys
            if (key.kind, key.code) not in crowds
            or not wanted.isdisjoint(stems(self._store.predicates[key.code]))
        ]

    def _expand(self, pool: Pool, hop: int, query: Query) -> None:
        """Enter the nodes reached by the units of this hop, best units first."""
        best: dict[int, Candidate] = {}
        found = [c for c in pool.candidates.values() if c.hop == hop]
        for candidate in sorted(found, key=lambda c: -c.score):
            for node in candidate.unit.reaches:
                if node not in pool.entered:
                    best.setdefault(node, candidate)
        limit = MAX_FRONTIER if self._small else MAX_FRONTIER_LARGE
        for node in list(best)[:limit]:
            self._enter(pool, node, hop + 1, best[node], query)
        if len(best) > limit:
            pool.bounded.append(f"hop {hop + 1}: {limit} of {len(best)} nodes")

    def _mark_paths(self, pool: Pool, links: Links) -> None:
        """Mark the units that join two differently named nodes, directly or over one node."""
        groups = {n: link.start for n, link in zip(links.node_indexes, links.nodes, strict=True)}
        if len(set(groups.values())) < 2:
            return
        near = adjacent(pool.candidates.values(), groups)
        named = set(links.node_indexes)
        between = {n for n, met in near.items() if len(met) > 1 and n not in named}
        for candidate in pool.candidates.values():
            owner, reaches = candidate.unit.key.owner, set(candidate.unit.reaches)
            direct = owner in named and any(
                groups.get(n, groups[owner]) != groups[owner] for n in reaches
            )
            over = (owner in named and reaches & between) or (owner in between and reaches & named)
            candidate.on_path = candidate.unit.key.kind in ("in", "out") and bool(direct or over)

    def _own_scores(
        self, candidates: Sequence[Candidate], query: Query, lexical: Scores
    ) -> list[float]:
        """Score each candidate by itself; those without an embedding by their words alone."""
        if query.vectors is None:
            return self._combined(query, [], lexical)
        near = self._nearest(candidates, lexical)
        own: list[float] = (LEXICAL_WEIGHT * lexical).tolist()
        units = [candidates[i].unit for i in near]
        for i, score in zip(near, self._combined(query, units, lexical[near]), strict=True):
            own[i] = score
        return own

    def _nearest(self, candidates: Sequence[Candidate], lexical: Scores) -> list[int]:
        """Choose the candidates worth an embedding: by words, and the first hop before others."""
        first_hop = np.array([c.hop == 1 for c in candidates], dtype=np.float32)
        limit = MAX_EMBEDDED if self._small else MAX_EMBEDDED_LARGE
        order: list[int] = np.argsort(-(lexical + NAMED_BONUS * first_hop), kind="stable").tolist()
        return order[:limit]

    def _score(self, pool: Pool, query: Query, links: Links, *, final: bool) -> None:
        """Score all candidates; parents come before children, so a chain adds up."""
        if not (final or self._small):
            query = replace(query, vectors=None)
        candidates = list(pool.candidates.values())
        lexical = LexicalIndex([c.unit.words for c in candidates]).scores(query.stems)
        own = self._own_scores(candidates, query, lexical)
        named, asked = set(links.node_indexes), set(query.stems)
        for i, candidate in enumerate(candidates):
            candidate.own = own[i] * UNASKED ** detours(candidate, asked)
            candidate.carried = candidate.own + DECAY * inherited(candidate, asked)
            candidate.score = candidate.carried - HOP_COST * (candidate.hop - 1)
            candidate.score += NAMED_BONUS if is_named(candidate, named) else 0.0
            candidate.score += CUE_BONUS if fits(candidate.unit, query.cue) else 0.0
            candidate.score += PATH_BONUS if candidate.on_path else 0.0
