"""Questions about dates: of a thing, and of a link between two."""

from __future__ import annotations

from collections.abc import Iterator

from aletheia.graph import question_words as english
from aletheia.graph import wording
from aletheia.graph.question_single import ask_attribute
from aletheia.graph.question_world import Draft, World, date_aliases
from aletheia.schema.question import QuestionType


def dates(world: World) -> Iterator[Draft]:
    """`In which year was X founded?`, `When did X acquire Y?`."""
    for node in range(world.store.n_nodes):
        for key, value in world.attributes[node].items():
            if not (english.is_date(value) or english.tells_time(value)):
                continue
            question = ask_date(key, value, world.named(node)) if world.usable[node] else None
            if question is None:
                world.skip("temporal", "no wording, or the name is shared")
                continue
            yield _dated(question, value, f"{world.store.ids[node]}|{key}", key)
    for edge in range(world.store.n_edges):
        yield from _edge_dates(world, edge)


def _dated(question: str, value: str, fact: str, about: str) -> Draft:
    kind: QuestionType = "temporal"
    return Draft(type=kind, question=question, answer=value, aliases=date_aliases(value),
                 facts=(fact,), about=about)  # fmt: skip


def ask_date(key: str, value: str, subject: str) -> str | None:
    """Ask for a date among the attributes of a thing."""
    verb = english.attribute_verb(key, value)
    if verb is None:
        return ask_attribute(key, value, subject)
    if verb.rest.endswith(" since"):
        return english.asked("Since when", english.Verb(aux=verb.aux, rest=verb.rest[:-6]), subject)
    word = english.when(value)
    if word == "When" and not english.is_date(value) and "day" in key:
        word = "On which day"
    return english.asked(word, english.without_preposition(verb), subject)


def _edge_dates(world: World, edge: int) -> Iterator[Draft]:
    source, predicate, target = world.ends(edge)
    pairs = world.store.edge_attributes.get(edge, ())
    same = [e for e in world.ahead(source, predicate) if world.ends(e)[2] == target]
    for key, value in pairs:
        if not english.is_date(value) or wording.is_provenance(key):
            continue
        question = ask_edge_date(world, edge, key, value) if world.usable_edge(edge) else None
        if question is None or len(same) > 1 or sum(k == key for k, _ in pairs) > 1:
            world.skip("temporal", "no wording, or the name is shared")
            continue
        about = f"{world.store.predicates[predicate]} {key}"
        yield _dated(question, value, world.edge_fact(edge), about)


def ask_edge_date(world: World, edge: int, key: str, value: str) -> str | None:
    """Ask when something was so: at, since, from or until a date."""
    source, _, target = world.ends(edge)
    verb, subject = world.edge_verb(edge), world.named(source)
    if verb is None:
        return None
    verb = english.Verb(aux=verb.aux, rest=f"{verb.rest} {world.named(target)}")
    slug = english.noun(key)
    if slug in ("date", "on", "year", "when"):
        return english.asked(english.when(value), verb, subject)
    if slug in ("from", "since", "until") and verb.aux in ("is", "has") and slug == "since":
        been = verb.rest if verb.aux == "has" else f"been {verb.rest}"
        return f"Since when has {subject} {been}?"
    if slug == "since" and verb.aux is None:
        return _since(verb, subject)
    if slug in ("from", "since", "until"):
        word = "Until when" if slug == "until" else "From when"
        ended = wording.has_ended(world.store.edge_attributes.get(edge, ()))
        return english.asked(word, verb, subject, past=ended)
    return None


def _since(verb: english.Verb, subject: str) -> str | None:
    """`Since when has X operated Y?`; in the past `From when did X operate Y?`."""
    first, _, rest = verb.rest.partition(" ")
    form = english.base(first)
    past = None if form is None or first.endswith("ed") else english.participle(form)
    if past is None:
        return english.asked("From when", verb, subject)
    return f"Since when has {subject} {past} {rest}?"
