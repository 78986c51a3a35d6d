"""Questions that the graph does not answer: a fact it lacks about a thing, or a thing it lacks.

A fact counts as missing only if nothing else in the graph may answer the question: no attribute or
relation of the same words, no other link to a thing of the kind asked for, no date of another kind
that never stands beside the one asked for, no word of it in the description.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator

from aletheia.graph import question_words as english
from aletheia.graph import wording
from aletheia.graph.question_chains import ask_about, bridges
from aletheia.graph.question_dates import ask_date, ask_edge_date
from aletheia.graph.question_single import ask_attribute, what_is
from aletheia.graph.question_world import Draft, World
from aletheia.graph.rename import graph_texts
from aletheia.graph.rename_lexis import stays, tokens
from aletheia.graph.rename_words import WordMaker, kind_of
from aletheia.graph.text import fold, stems
from aletheia.schema.answer import ABSTENTION
from aletheia.schema.question import QuestionType

_COMMON = 2
_SHARE = 0.25
"""How many nodes of a type must have what one of them lacks, and what share of them."""


def _draft(kind: QuestionType, question: str, missing: str, about: str) -> Draft:
    return Draft(
        type=kind, question=question, answer=ABSTENTION, facts=(), about=about, missing=missing
    )


class Gaps:
    """Finds what nodes of a type usually have and one of them lacks."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._examples: dict[tuple[str, str], str] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._beside: dict[str, set[str]] = defaultdict(set)
        for kind, nodes in world.by_type.items():
            for node in nodes:
                own = world.attributes[node]
                for key, value in own.items():
                    self._counts[kind, key] += 1
                    self._examples.setdefault((kind, key), value)
                    self._beside[key].update(own)

    def keys(self, node: int) -> Iterator[tuple[str, str]]:
        """Attributes that a node lacks, with a value that another of its type has."""
        kind = self._world.store.type_of(node)
        least = max(_COMMON, _SHARE * len(self._world.by_type.get(kind or "", ())))
        for (other, key), count in self._counts.items():
            if other == kind and count >= least and self._lacks(node, key):
                yield key, self._examples[other, key]

    def _lacks(self, node: int, key: str) -> bool:
        world = self._world
        words = set(stems(wording.words_of(key)))
        store = world.store
        rows = [*store.outgoing.of(node).tolist(), *store.incoming.of(node).tolist()]
        said = [k for k, _ in store.attributes_of(node)]
        said += [store.predicates[store.predicate[row]] for row in rows]
        if key in said or words & {s for k in said for s in stems(wording.words_of(k))}:
            return False
        if words & set(stems(world.description(node) or "")):
            return False
        dated = {k for k, v in world.attributes[node].items() if english.is_date(v)}
        is_date = english.is_date(self._examples.get((store.type_of(node) or "", key), ""))
        return not is_date or dated <= self._beside[key]


def lacking(world: World) -> Iterator[Draft]:
    """Ask things for attributes, dates and aliases that others of their type have."""
    gaps = Gaps(world)
    with_alias = Counter(world.store.type_of(n) for n in world.store.aliases)
    for kind, nodes in world.by_type.items():
        for node in nodes:
            node_id = world.store.ids[node]
            for key, value in gaps.keys(node):
                is_time = english.is_date(value) or english.tells_time(value)
                ask = ask_date if is_time else ask_attribute
                question = ask(key, value, world.named(node))
                if question is not None:
                    name: QuestionType = "temporal" if is_time else "attribute_filter"
                    yield _draft(name, question, f"{node_id}|{key}", key)
            if node not in world.store.aliases and with_alias[kind] >= _COMMON:
                question = f"What is another name for {world.named(node)}?"
                yield _draft("alias_lookup", question, f"{node_id}|aliases", kind)
    yield from _chained(world, gaps)
    yield from _unlinked(world)
    yield from _undated(world)


def _chained(world: World, gaps: Gaps) -> Iterator[Draft]:
    for bridge in bridges(world):
        for key, value in gaps.keys(bridge.node):
            question = ask_about(key, value, bridge.phrase)
            if question is not None:
                missing = f"{world.store.ids[bridge.node]}|{key}"
                yield _draft("multi_hop", question, missing, key)


def _unlinked(world: World) -> Iterator[Draft]:
    """Ask a thing for a link that others of its type have, and for which it has no substitute."""
    store = world.store
    sources: dict[tuple[str, int], set[int]] = defaultdict(set)
    targets: dict[tuple[str, int], set[str | None]] = defaultdict(set)
    edges: dict[tuple[str, int], int] = {}
    for edge in range(store.n_edges):
        source, predicate, target = world.ends(edge)
        kind = store.type_of(source)
        if kind is not None:
            sources[kind, predicate].add(source)
            targets[kind, predicate].add(store.type_of(target))
            edges.setdefault((kind, predicate), edge)
    for (kind, predicate), have in sources.items():
        wanted = targets[kind, predicate]
        if len(have) < _COMMON or len(wanted) > 1:
            continue
        for node in world.by_type.get(kind, ()):
            if node not in have and not _neighbours(world, node) & wanted:
                yield from _unlinked_draft(world, node, edges[kind, predicate])


def _neighbours(world: World, node: int) -> set[str | None]:
    store = world.store
    ahead = {store.type_of(int(store.target[e])) for e in store.outgoing.of(node).tolist()}
    return ahead | {store.type_of(int(store.source[e])) for e in store.incoming.of(node).tolist()}


def _unlinked_draft(world: World, node: int, like: int) -> Iterator[Draft]:
    _, code, target = world.ends(like)
    predicate, verb = world.store.predicates[code], world.edge_verb(like)
    said = set(stems(world.description(node) or ""))
    if verb is None or set(stems(wording.words_of(predicate))) & said:
        return
    kind = english.which(world.store.type_of(target))
    question = english.asked(kind, verb, world.named(node))
    if question is not None:
        yield _draft("relationship", question, f"{world.store.ids[node]}|{predicate}", predicate)


def _undated(world: World) -> Iterator[Draft]:
    """Ask for the date of a link that has no attribute, where others of its relation have one."""
    store = world.store
    dated: dict[int, tuple[str, str]] = {}
    for edge, pairs in store.edge_attributes.items():
        for key, value in pairs:
            if english.is_date(value):
                dated.setdefault(int(store.predicate[edge]), (key, value))
    for edge in range(store.n_edges):
        source, predicate, target = world.ends(edge)
        plain = [p for p in store.edge_attributes.get(edge, ()) if not wording.is_provenance(p[0])]
        if predicate not in dated or plain or not world.usable_edge(edge):
            continue
        key, value = dated[predicate]
        question = ask_edge_date(world, edge, key, value)
        if question is not None:
            name = store.predicates[predicate]
            missing = f"{store.ids[source]}|{name}|{store.ids[target]}|{key}"
            yield _draft("temporal", question, missing, name)


def strangers(world: World, seed: int) -> Iterator[Draft]:
    """Ask for things that are not in the graph, with invented names like those of their type."""
    store = world.store
    texts = [*store.names, *graph_texts(store), *store.type_names, *store.predicates]
    maker = WordMaker(seed, {word for text in texts for word in fold(text).split(" ")})
    chance = random.Random(f"{seed}:strangers")  # noqa: S311 - no secret
    for kind, nodes in world.by_type.items():
        for like in chance.sample(nodes, min(3, len(nodes))):
            name = _invented(store.names[like], kind, maker, world.kinds)
            if name is not None:
                yield from _about_stranger(world, like, kind, name)


def _invented(old: str, kind: str, maker: WordMaker, kinds: frozenset[str]) -> str | None:
    """A name of the same form in which every word of its own is another."""
    out, at, changed = [], 0, 0
    for token in tokens(old):
        if stays(token.core, kinds, frozenset()) or not token.core[:1].isupper():
            continue
        new = maker.word(token.key, kind_of(kind))
        out += [old[at : token.start], new[:1].upper() + new[1:]]
        at, changed = token.end, changed + 1
    return "".join(out) + old[at:] if changed else None


def _about_stranger(world: World, like: int, kind: str, name: str) -> Iterator[Draft]:
    article = english.with_article(english.type_words(kind))
    called = english.mention(name, kind)
    yield _draft("entity_existence", f"Is there {article} called {name}?", name, kind)
    question = what_is(world, like).replace(world.named(like), called)
    yield _draft("entity_description", question, name, kind)
    yield _draft("alias_lookup", f"What is another name for {called}?", name, kind)
    for key, value in world.attributes[like].items():
        is_time = english.is_date(value) or english.tells_time(value)
        asked = (ask_date if is_time else ask_attribute)(key, value, called)
        if asked is not None:
            type_: QuestionType = "temporal" if is_time else "attribute_filter"
            yield _draft(type_, asked, name, key)
            break
