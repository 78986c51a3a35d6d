"""Questions that one fact answers: names, descriptions, relations, attributes, dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from aletheia.graph import question_words as english
from aletheia.graph import wording
from aletheia.graph.question_world import Draft, World, occurs
from aletheia.graph.text import fold

_MOST_LISTED: Final = 3
_LONGEST_DESCRIPTION: Final = 160
_ACRONYM: Final = re.compile(r"[A-Z][A-Z&-]{1,7}")
_NUMBER_OF: Final = re.compile(r"number of (\w+)")


def aliases(world: World) -> Iterator[Draft]:
    """`What is another name for X?` and `Which town is also known as Y?`."""
    store = world.store
    for node, others in store.aliases.items():
        if not world.usable[node]:
            world.skip("alias_lookup", "the name is shared, or none")
            continue
        name, fact = store.names[node], (f"{store.ids[node]}|aliases",)
        for alias in others:
            if not world.is_alone(alias, node):
                world.skip("alias_lookup", "the alias is shared")
                continue
            rest = tuple(a for a in others if a != alias)
            if _ACRONYM.fullmatch(alias) and not name.isupper():
                question = f"What does the abbreviation {alias} stand for?"
            else:
                kind = english.which(store.type_of(node))
                question = f"{kind} is also known as {alias}?"
            kept = tuple(a for a in rest if not occurs(a, question))
            yield Draft(type="alias_lookup", question=question, answer=name, aliases=kept,
                        facts=fact, about="to name")  # fmt: skip
        question = f"What is another name for {world.named(node)}?"
        alone = [alias for alias in others if world.is_alone(alias, node)]
        if alone:
            kept = tuple(alias for alias in others if alias != alone[0])
            yield Draft(type="alias_lookup", question=question, answer=alone[0],
                        aliases=kept, facts=fact, about="to alias")  # fmt: skip


def existence(world: World) -> Iterator[Draft]:
    """`Is there a town called X?`."""
    forms = ("Is there {} called {}?", "Does {} named {} exist?", "Is there {} by the name of {}?")
    for kind, nodes in world.by_type.items():
        for node in nodes:
            name = world.store.names[node]
            form = forms[node % len(forms)]
            question = form.format(english.with_article(english.type_words(kind)), name)
            if occurs(kind, name):
                question = f"Does {world.named(node)} exist?"
            yield Draft(type="entity_existence", question=question, answer="Yes", aliases=(name,),
                        facts=(f"{world.store.ids[node]}|name",), about=kind)  # fmt: skip


def descriptions(world: World) -> Iterator[Draft]:
    """`What is X?`, answered by the description."""
    texts = Counter(fold(world.description(n) or "") for n in range(world.store.n_nodes))
    for node in range(world.store.n_nodes):
        text = world.description(node)
        if text is None or len(text) > _LONGEST_DESCRIPTION or "\n" in text:
            world.skip("entity_description", "no description, or a long one")
        elif not world.usable[node] or texts[fold(text)] > 1:
            world.skip("entity_description", "the name or the description is shared")
        else:
            yield Draft(type="entity_description", question=what_is(world, node),
                        answer=text.rstrip("."), facts=(f"{world.store.ids[node]}|description",),
                        about=world.store.type_of(node) or "")  # fmt: skip


def what_is(world: World, node: int) -> str:
    """Ask what a node is, or who."""
    if not world.is_person(node):
        return f"What is {world.named(node)}?"
    dead = any("death" in key or "died" in key for key in world.attributes[node])
    return f"Who {'was' if dead else 'is'} {world.named(node)}?"


# --- relations --------------------------------------------------------------------------------


def relations(world: World) -> Iterator[Draft]:
    """Ask for either end of a link that has no other like it; a few ends make a list."""
    for edge in range(world.store.n_edges):
        if not world.usable_edge(edge):
            world.skip("relationship", "a name is shared, or none")
            continue
        yield from _forward(world, edge)
        yield from _backward(world, edge)


def _forward(world: World, edge: int) -> Iterator[Draft]:
    source, predicate, _ = world.ends(edge)
    edges = list(world.ahead(source, predicate))
    if edges[0] == edge:
        question = ask_object(world, edges, world.named(source))
        yield from _ends(world, edges, [world.ends(e)[2] for e in edges], question)


def ask_object(world: World, edges: list[int], subject: str) -> str | None:
    """Ask for the targets of these edges, which share source and relation."""
    kinds = {world.store.type_of(world.ends(e)[2]) for e in edges}
    verb = world.edge_verb(edges[0])
    if len(kinds) > 1:
        return None
    (kind,) = kinds
    if verb is None:
        word = "Who" if kind is not None and english.type_words(kind) == "person" else "What"
        return (
            f"{word} is the {world.edge_noun(edges[0])} of {subject}?" if len(edges) == 1 else None
        )
    if len(edges) == 1:
        return english.asked(english.which(kind), verb, subject)
    if kind is None or english.type_words(kind) == "person":
        return english.asked("Who" if kind else "What", verb, subject)
    return english.asked(f"Which {english.plural_noun(english.type_words(kind))}", verb, subject)


def _backward(world: World, edge: int) -> Iterator[Draft]:
    _, predicate, target = world.ends(edge)
    edges = list(world.behind(target, predicate))
    if edges[0] != edge:
        return
    question = ask_subject(world, edges, world.named(target))
    yield from _ends(world, edges, [world.ends(e)[0] for e in edges], question)


def ask_subject(world: World, edges: list[int], object_: str) -> str | None:
    """Ask for the sources of these edges, which share target and relation."""
    kinds = {world.store.type_of(world.ends(e)[0]) for e in edges}
    verb = world.edge_verb(edges[0])
    if len(kinds) > 1:
        return None
    (kind,) = kinds
    if verb is None:
        has = f"has {object_} as its {world.edge_noun(edges[0])}?"
        return f"{english.which(kind)} {has}" if len(edges) == 1 else None
    if len(edges) == 1:
        return f"{english.which(kind)} {verb.words} {object_}?"
    many = english.plural(verb)
    if many is None or kind is None:
        return None
    return f"Which {english.plural_noun(english.type_words(kind))} {many} {object_}?"


def _ends(
    world: World, edges: list[int], nodes: list[int], question: str | None
) -> Iterator[Draft]:
    names = sorted(world.store.names[n] for n in nodes)
    if question is None:
        world.skip("relationship", "no wording")
    elif len(names) > _MOST_LISTED:
        world.skip("relationship", f"more than {_MOST_LISTED} answers")
    elif len(set(nodes)) < len(nodes) or not all(world.usable_edge(e) for e in edges):
        world.skip("relationship", "a name is shared, or none")
    elif len(names) > 1 and any("," in n or " and " in n for n in names):
        world.skip("relationship", "a list of names that hold `and` or a comma")
    else:
        yield Draft(
            type="relationship",
            question=question,
            answer=_listed(names),
            aliases=_free(world.names(nodes[0])[1:], question) if len(nodes) == 1 else (),
            facts=tuple(world.edge_fact(e) for e in edges),
            about=world.store.predicates[world.ends(edges[0])[1]],
        )


def _free(names: tuple[str, ...], question: str) -> tuple[str, ...]:
    return tuple(name for name in names if not occurs(name, question))


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- attributes -------------------------------------------------------------------------------


def filters(world: World) -> Iterator[Draft]:
    """`What is the population of X?`, `Which town has a population of N?`, `Which school is in Y?`."""
    for node in range(world.store.n_nodes):
        for key, value in world.attributes[node].items():
            if not world.usable[node]:
                world.skip("attribute_filter", "the name is shared, or none")
                continue
            yield from _lookup(world, node, key, value)
            yield from _having(world, node, key, value)
    yield from _of_kind(world)


def _lookup(world: World, node: int, key: str, value: str) -> Iterator[Draft]:
    if english.is_date(value) or english.tells_time(value):
        return
    question = ask_attribute(key, value, world.named(node))
    if question is None:
        world.skip("attribute_filter", "no wording")
        return
    yield Draft(type="attribute_filter", question=question, answer=value,
                facts=(f"{world.store.ids[node]}|{key}",), about=key)  # fmt: skip


def ask_attribute(key: str, value: str, subject: str) -> str | None:
    """Ask for an attribute that is no date."""
    if english.attribute_verb(key, value) is not None:
        return None
    phrase = english.noun(key)
    if phrase.split(" ")[-1] in ("in", "on", "at", "by", "since") or phrase.startswith(
        ("is ", "was ")
    ):
        return None
    counted = _NUMBER_OF.fullmatch(phrase)
    if counted is not None:
        return f"How many {counted[1]} does {subject} have?"
    many = wording.attribute("it", key, [value]).startswith(f"The {phrase} of it are")
    return f"What {'are' if many else 'is'} the {phrase} of {subject}?"


def _having(world: World, node: int, key: str, value: str) -> Iterator[Draft]:
    kind = world.store.type_of(node)
    if kind is None or world.holders[key, fold(value)] > 1:
        world.skip("attribute_filter", "several have that value, or have no type")
        return
    question = _ask_holder(key, value, kind)
    if question is None:
        world.skip("attribute_filter", "no wording")
        return
    yield Draft(
        type="attribute_filter",
        question=question,
        answer=world.store.names[node],
        aliases=_free(world.names(node)[1:], question),
        facts=(f"{world.store.ids[node]}|{key}",),
        about=f"by {key}",
    )


def _ask_holder(key: str, value: str, kind: str) -> str | None:
    who, phrase = english.which(kind), english.noun(key)
    if english.attribute_verb(key, value) is not None:
        return wording.attribute(who, key, [value]).removesuffix(".") + "?"
    if phrase.startswith(("is ", "was ", "has ")):
        return None
    if who == "Who":
        return f"Whose {phrase} is {value}?"
    counted = _NUMBER_OF.fullmatch(phrase)
    if counted is not None and value.replace(",", "").isdigit():
        return f"{who} has {value} {counted[1]}?"
    if value[:1].isdigit() and not english.is_date(value):
        return f"{who} has {english.with_article(phrase)} of {value}?"
    return f"{who} has {value} as its {phrase}?"


def _of_kind(world: World) -> Iterator[Draft]:
    """The only node of a type among several that a relation leads from: `Which school is in X?`."""
    for edge in range(world.store.n_edges):
        source, predicate, target = world.ends(edge)
        kind, verb = world.store.type_of(source), world.edge_verb(edge)
        others = [world.ends(e)[0] for e in world.behind(target, predicate)]
        alike = [n for n in others if world.store.type_of(n) == kind]
        if len(others) < 2 or len(alike) > 1 or kind is None or world.is_person(source):
            continue
        if verb is None or not world.usable_edge(edge):
            continue
        question = f"{english.which(kind)} {verb.words} {world.named(target)}?"
        yield Draft(
            type="attribute_filter",
            question=question,
            answer=world.store.names[source],
            aliases=_free(world.names(source)[1:], question),
            facts=(world.edge_fact(edge),),
            about=f"of kind {world.store.predicates[predicate]}",
        )
