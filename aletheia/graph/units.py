"""Evidence units: facts grouped so that a citation stays precise and a cap is not wasted.

A unit holds what one node says with one predicate (`Hamas was designated by A, B and C.`), or what
reaches one node by one predicate (`Based in Lebanon: A, B and C.`), at most 20 facts; or one
attribute of a node; or the node itself: type, aliases, description.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from aletheia.graph import wording
from aletheia.graph.facts import edge_id, literal_id, node_facts
from aletheia.graph.store import DESCRIPTION, Adjacency, GraphStore
from aletheia.graph.text import STOPWORDS, fold, name_word, stem, stems
from aletheia.schema.evidence import EvidenceText

GROUP = 20
"""Facts in one unit at most."""

_CACHE = 50_000


class UnitKey(NamedTuple):
    """Names a unit before it is made; keys sort by kind, owner, code and part.

    `node`: owner. `attribute`: owner, code of the attribute key. `out` / `in`: owner, code of the
    predicate. `value`: code of the value, code of the attribute key. `part` counts the groups.
    """

    kind: Literal["node", "attribute", "out", "in", "value"]
    owner: int
    code: int = 0
    part: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit with what the ranking needs; `Units.evidence` makes the rest.

    `search_text` adds the types of its nodes, `words` are its search words. `members` are all its nodes,
    `reaches` those that are not its owner. `rows` number its facts: an edge, the number of edges
    plus an attribute row, or minus 1 minus the node for what a node is.
    """

    key: UnitKey
    text: str
    title: str
    search_text: str
    words: tuple[str, ...]
    members: tuple[int, ...]
    reaches: tuple[int, ...]
    rows: tuple[int, ...]


class Units:
    """Makes the units of a graph on demand and keeps the last 50,000."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._made: OrderedDict[UnitKey, Unit] = OrderedDict()
        self._by_value: Adjacency | None = None

    def keys_of(self, node: int) -> Iterator[UnitKey]:
        """Keys of the units a node owns: itself, its attributes, its edges out and in."""
        store = self._store
        if self._has_introduction(node):
            yield UnitKey(kind="node", owner=node)
        keys = dict.fromkeys(store.attr_key[store.attributes_by_node.of(node)].tolist())
        for code in keys:
            name = store.attr_keys[code]
            if name != DESCRIPTION and not wording.is_provenance(name):
                yield UnitKey(kind="attribute", owner=node, code=code)
        yield from self._edge_keys("out", node, store.outgoing)
        yield from self._edge_keys("in", node, store.incoming)

    def _has_introduction(self, node: int) -> bool:
        """Tell whether there is anything to say about the node itself, or nothing else at all."""
        store = self._store
        if store.types[node] >= 0 or node in store.aliases:
            return True
        rows = store.attributes_by_node.of(node)
        if any(store.attr_keys[k] == DESCRIPTION for k in store.attr_key[rows].tolist()):
            return True
        return not (len(rows) or store.outgoing.degree(node) or store.incoming.degree(node))

    def _edge_keys(
        self, kind: Literal["out", "in"], node: int, adjacency: Adjacency
    ) -> Iterator[UnitKey]:
        codes, counts = np.unique(self._store.predicate[adjacency.of(node)], return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            for part in range(-(-count // GROUP)):
                yield UnitKey(kind=kind, owner=node, code=code, part=part)

    def keys_of_value(self, value: int) -> Iterator[UnitKey]:
        """Keys of the units that list the nodes sharing an attribute value."""
        rows = self._value_rows(value)
        codes, counts = np.unique(self._store.attr_key[rows], return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            for part in range(-(-count // GROUP)):
                yield UnitKey(kind="value", owner=value, code=code, part=part)

    def every_key(self) -> Iterator[UnitKey]:
        """Keys that together hold every fact once: nodes, attributes, edges out."""
        for node in range(self._store.n_nodes):
            yield from (key for key in self.keys_of(node) if key.kind != "in")

    def get(self, key: UnitKey) -> Unit:
        """The unit of a key."""
        unit = self._made.get(key)
        if unit is None:
            unit = self.make(key)
            self._made[key] = unit
            if len(self._made) > _CACHE:
                self._made.popitem(last=False)
        return unit

    def make(self, key: UnitKey) -> Unit:
        """The unit of a key, without keeping it."""
        match key.kind:
            case "node":
                return self._node(key)
            case "attribute":
                return self._attribute(key)
            case "value":
                return self._value(key)
            case "out":
                return self._out(key)
            case "in":
                return self._in(key)

    def _value_rows(self, value: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        if self._by_value is None:
            self._by_value = Adjacency.group(self._store.attr_value, len(self._store.values))
        return self._by_value.of(value)

    def evidence(self, unit: Unit) -> EvidenceText:
        """Make the evidence of a unit: its text, the aliases of its nodes, the ids of its facts."""
        store = self._store
        aliases = dict.fromkeys(a for n in unit.members for a in store.aliases.get(n, ()))
        facts = dict.fromkeys(fact for row in unit.rows for fact in self._fact_ids(row))
        return EvidenceText(
            text=unit.text, source=unit.title, aliases=tuple(aliases), facts=tuple(facts)
        )

    def _fact_ids(self, row: int) -> Iterator[str]:
        store = self._store
        if 0 <= row < store.n_edges:
            yield edge_id(store, row)
        elif row >= store.n_edges:
            row -= store.n_edges
            key, value = store.attr_keys[store.attr_key[row]], store.values[store.attr_value[row]]
            yield literal_id(store, int(store.attr_node[row]), key, value)
        else:
            for fact in node_facts(store, -1 - row):
                if fact.kind != "attribute" or fact.predicate == DESCRIPTION:
                    yield fact.id

    def _unit(
        self, key: UnitKey, text: str, title: str, nodes: Iterable[int], rows: Iterable[int]
    ) -> Unit:
        members = tuple(dict.fromkeys(nodes))
        codes = dict.fromkeys(self._store.types[list(members)].tolist())
        types = " ".join(wording.words_of(self._store.type_names[c]) for c in codes if c >= 0)
        search_text = f"{text} ({types})" if types else text
        return Unit(
            key=key,
            text=text,
            title=title,
            search_text=search_text,
            words=self._words(text, types, members),
            members=members,
            reaches=tuple(n for n in members if n != key.owner or key.kind == "value"),
            rows=tuple(rows),
        )

    def _words(self, text: str, types: str, members: Iterable[int]) -> tuple[str, ...]:
        """Search words: stems, but words of names and aliases as they are."""
        store = self._store
        names = {
            word
            for node in members
            for name in (store.names[node], *store.aliases.get(node, ()))
            for word in fold(name).split(" ")
        }
        plain = [w for w in fold(text).split(" ") if w and w not in STOPWORDS]
        found = (name_word(word) if word in names else stem(word) for word in plain)
        return (*found, *stems(types))

    def _node(self, key: UnitKey) -> Unit:
        store, node = self._store, key.owner
        name = store.names[node]
        texts = _unique(v for k, v in store.attributes_of(node) if k == DESCRIPTION)
        aliases = store.aliases.get(node, ())
        text = wording.introduction(name, store.type_of(node), aliases, texts)
        return self._unit(key, text, name, [node], [-1 - node])

    def _attribute(self, key: UnitKey) -> Unit:
        store, node = self._store, key.owner
        rows = store.attributes_by_node.of(node)
        rows = rows[store.attr_key[rows] == key.code]
        values = _unique(store.values[v] for v in store.attr_value[rows].tolist())
        text = wording.attribute(store.names[node], store.attr_keys[key.code], values)
        return self._unit(key, text, store.names[node], [node], self._numbers(rows.tolist()))

    def _value(self, key: UnitKey) -> Unit:
        store = self._store
        rows = self._value_rows(key.owner)
        rows = rows[store.attr_key[rows] == key.code][key.part * GROUP : (key.part + 1) * GROUP]
        nodes = store.attr_node[rows].tolist()
        attribute, value = store.attr_keys[key.code], store.values[key.owner]
        names = _unique(store.names[n] for n in nodes)
        if len(nodes) == 1:
            text, title = wording.attribute(names[0], attribute, [value]), names[0]
        else:
            text, title = wording.having(attribute, value, names), value
        return self._unit(key, text, title, nodes, self._numbers(rows.tolist()))

    def _numbers(self, attribute_rows: Iterable[int]) -> list[int]:
        return [self._store.n_edges + row for row in attribute_rows]

    def _group(self, key: UnitKey, adjacency: Adjacency) -> list[int]:
        rows = adjacency.of(key.owner)
        rows = rows[self._store.predicate[rows] == key.code]
        edges: list[int] = rows[key.part * GROUP : (key.part + 1) * GROUP].tolist()
        return edges

    def _out(self, key: UnitKey) -> Unit:
        store = self._store
        edges = self._group(key, store.outgoing)
        targets = store.target[edges].tolist()
        text = self._sentence(key.owner, key.code, edges, targets)
        return self._unit(key, text, store.names[key.owner], [key.owner, *targets], edges)

    def _in(self, key: UnitKey) -> Unit:
        store = self._store
        edges = self._group(key, store.incoming)
        sources = store.source[edges].tolist()
        if len(edges) == 1:
            title = store.names[sources[0]]
            text = self._sentence(sources[0], key.code, edges, [key.owner])
        else:
            title = store.names[key.owner]
            subjects = self._qualified(edges, sources)
            text = wording.inverse(title, store.predicates[key.code], subjects)
        return self._unit(key, text, title, [key.owner, *sources], edges)

    def _sentence(self, subject: int, predicate: int, edges: list[int], targets: list[int]) -> str:
        store = self._store
        return wording.relation(
            store.names[subject],
            store.predicates[predicate],
            self._qualified(edges, targets),
            ended=all(wording.has_ended(store.edge_attributes.get(e, ())) for e in edges),
        )

    def _qualified(self, edges: list[int], nodes: list[int]) -> list[str]:
        store = self._store
        return [
            wording.qualify(store.names[n], store.edge_attributes.get(e, ()))
            for e, n in zip(edges, nodes, strict=True)
        ]


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
