"""Facts: the single statements of a graph, each with a stable id and a sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from aletheia.graph import wording
from aletheia.graph.store import GraphStore, Pairs

_MAX_READABLE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One statement about `subject` (a node id).

    `object` is a node id for an edge, else the literal. `id` is the edge's own id if the file
    gives one, else `subject|predicate|object`, with `#n` for the n-th equal edge; a literal over
    80 characters stands there as `sha256:` and 12 hex digits. Ids do not depend on file order,
    except between equal edges.
    """

    id: str
    kind: Literal["edge", "attribute", "alias", "type"]
    subject: str
    predicate: str
    object: str
    attributes: Pairs = ()


def _part(text: str) -> str:
    if len(text) > _MAX_READABLE:
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return text.replace("%", "%25").replace("|", "%7C") if "|" in text or "%" in text else text


def literal_id(store: GraphStore, node: int, predicate: str, value: str) -> str:
    """Id of an attribute, alias or type fact."""
    return "|".join(map(_part, (store.ids[node], predicate, value)))


def edge_id(store: GraphStore, edge: int) -> str:
    """Id of an edge fact."""
    own = store.edge_ids.get(edge)
    if own is not None:
        return own
    source, target = int(store.source[edge]), int(store.target[edge])
    names = (store.ids[source], store.predicates[store.predicate[edge]], store.ids[target])
    number = _parallel_number(store, edge, source, target)
    return "|".join(map(_part, names)) + (f"#{number}" if number > 1 else "")


def _parallel_number(store: GraphStore, edge: int, source: int, target: int) -> int:
    """Which one it is among the edges with the same ends and predicate, from 1."""
    rows = store.outgoing.of(source)
    if store.incoming.degree(target) < len(rows):
        rows = store.incoming.of(target)
    if len(rows) == 1:
        return 1
    same = (
        (store.source[rows] == source)
        & (store.target[rows] == target)
        & (store.predicate[rows] == store.predicate[edge])
    )
    return int(np.count_nonzero(rows[same] <= edge))


def edge_fact(store: GraphStore, edge: int) -> Fact:
    """The fact of one edge."""
    value = store.edge(edge)
    return Fact(
        id=edge_id(store, edge),
        kind="edge",
        subject=value.source,
        predicate=value.predicate,
        object=value.target,
        attributes=value.attributes,
    )


def node_facts(store: GraphStore, node: int) -> Iterator[Fact]:
    """Type, aliases and attributes of one node."""
    literals: list[tuple[Literal["type", "alias", "attribute"], str, str]] = []
    kind = store.type_of(node)
    if kind is not None:
        literals.append(("type", "type", kind))
    literals.extend(("alias", "aliases", a) for a in store.aliases.get(node, ()))
    literals.extend(("attribute", k, v) for k, v in store.attributes_of(node))
    for fact_kind, predicate, value in literals:
        yield Fact(
            id=literal_id(store, node, predicate, value),
            kind=fact_kind,
            subject=store.ids[node],
            predicate=predicate,
            object=value,
        )


def all_facts(store: GraphStore) -> Iterator[Fact]:
    """Every fact: node by node, then edge by edge, in file order."""
    for node in range(store.n_nodes):
        yield from node_facts(store, node)
    for edge in range(store.n_edges):
        yield edge_fact(store, edge)


def fact_text(store: GraphStore, fact: Fact) -> str:
    """The fact as one sentence, names and values verbatim."""
    subject = store.names[store.index[fact.subject]]
    match fact.kind:
        case "edge":
            target = wording.qualify(store.names[store.index[fact.object]], fact.attributes)
            ended = wording.has_ended(fact.attributes)
            return wording.relation(subject, fact.predicate, [target], ended=ended)
        case "alias":
            return wording.stop(f"{subject} is also known as {fact.object}")
        case "type":
            return wording.introduction(subject, fact.object, (), ())
        case "attribute":
            return wording.attribute(subject, fact.predicate, [fact.object])
