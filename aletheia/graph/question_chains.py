"""Questions that need two facts: the thing in the middle is described and not named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from aletheia.graph import question_words as english
from aletheia.graph.question_dates import ask_date
from aletheia.graph.question_single import ask_attribute, ask_object, ask_subject
from aletheia.graph.question_world import Draft, World, date_aliases


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A node described by one link: `phrase` fits it alone, `edge` is the link."""

    node: int
    start: int
    phrase: str
    edge: int


def bridges(world: World) -> Iterator[Bridge]:
    """Every node that a link from one other node singles out."""
    for edge in range(world.store.n_edges):
        source, predicate, target = world.ends(edge)
        verb = world.edge_verb(edge)
        if verb is None or not world.usable_edge(edge):
            continue
        kind = world.store.type_of(target)
        if len(world.ahead(source, predicate)) == 1 and kind is not None:
            phrase = english.object_phrase(kind, verb, world.named(source))
            yield Bridge(node=target, start=source, phrase=phrase, edge=edge)
        kind = world.store.type_of(source)
        if len(world.behind(target, predicate)) == 1 and kind is not None:
            phrase = english.subject_phrase(kind, verb, world.named(target))
            yield Bridge(node=source, start=target, phrase=phrase, edge=edge)


def chains(world: World) -> Iterator[Draft]:
    """A second fact about each node that a link singles out."""
    for bridge in bridges(world):
        yield from _attributes(world, bridge)
        yield from _links(world, bridge)


def _attributes(world: World, bridge: Bridge) -> Iterator[Draft]:
    for key, value in world.attributes[bridge.node].items():
        question = ask_about(key, value, bridge.phrase)
        if question is not None:
            fact = f"{world.store.ids[bridge.node]}|{key}"
            yield _draft(world, bridge, question, value, date_aliases(value), fact, key)


def ask_about(key: str, value: str, phrase: str) -> str | None:
    """Ask for an attribute of what a phrase describes."""
    if english.is_date(value) or english.tells_time(value):
        return ask_date(key, value, phrase)
    return ask_attribute(key, value, phrase)


def _links(world: World, bridge: Bridge) -> Iterator[Draft]:
    store, node = world.store, bridge.node
    for edge in [*store.outgoing.of(node).tolist(), *store.incoming.of(node).tolist()]:
        source, predicate, target = world.ends(edge)
        end = target if source == node else source
        if edge == bridge.edge or end == bridge.start or not world.usable_edge(edge):
            continue
        if source == node:
            alike = list(world.ahead(node, predicate))
            question = ask_object(world, [edge], bridge.phrase)
        else:
            alike = list(world.behind(node, predicate))
            question = ask_subject(world, [edge], bridge.phrase)
        if question is None or len(alike) > 1 or predicate == world.ends(bridge.edge)[1]:
            world.skip("multi_hop", "more than one answer, or no wording")
            continue
        if _repeats(question):
            world.skip("multi_hop", "the wording repeats itself")
            continue
        about = store.predicates[predicate]
        fact = world.edge_fact(edge)
        yield _draft(world, bridge, question, store.names[end], world.names(end)[1:], fact, about)


def _repeats(question: str) -> bool:
    """Whether a question says `of which town` twice, or one verb right after itself."""
    asked = re.findall(r"\b\w+ which \w+|\bwhich \w+", question.lower())
    said = question.lower().rstrip("?").split(" ")
    return len(set(asked)) < len(asked) or any(a == b for a, b in pairwise(said))


def _draft(
    world: World,
    bridge: Bridge,
    question: str,
    answer: str,
    aliases: tuple[str, ...],
    fact: str,
    about: str,
) -> Draft:
    first = world.store.predicates[world.ends(bridge.edge)[1]]
    return Draft(
        type="multi_hop",
        question=question,
        answer=answer,
        aliases=aliases,
        facts=(world.edge_fact(bridge.edge), fact),
        about=f"{first} + {about}",
        bridge=world.names(bridge.node),
    )
