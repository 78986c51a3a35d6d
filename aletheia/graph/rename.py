"""Counterfactual graphs: every name, date and number replaced by another of the same kind.

A name is replaced word by word, so that `Upper Quennock` and `Quennock Dairy Union` still share a
word, a surname alone still fits its person, and a possessive keeps its ending. Words of kind
(`Guild`, `River`, `University`) and small words stay. A new word is in no text of the graph, is no
English word, and stands for one old word only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, get_args

from aletheia.errors import UsageError
from aletheia.graph.build import Builder
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.rename_find import number_names
from aletheia.graph.rename_keys import new_keys
from aletheia.graph.rename_lexis import Token, place_key, tokens
from aletheia.graph.rename_numbers import Change, NumberRule, make_rule
from aletheia.graph.rename_plan import Plan, make_plan
from aletheia.graph.store import GraphStore, Pairs
from aletheia.graph.text import STOPWORDS, fold
from aletheia.schema.answer import ABSTENTION
from aletheia.schema.question import Question

Replaced = Literal["names", "dates", "numbers"]
ALL_KINDS: Final[frozenset[Replaced]] = frozenset(get_args(Replaced))

_OPAQUE: Final = re.compile(r"_:.*|[A-Za-z]{0,3}[-_:]?\d+|[0-9a-fA-F-]{12,}")
_NO_SLUG: Final = re.compile(r"[\W_]+")
_OPENING: Final = re.compile(r"(?:^|[.!?:;\n])[\s\"'(]*$")


class Direction:
    """One way of a renaming: the words to replace, and the names they stand in."""

    def __init__(self, plan: Plan) -> None:
        self._words = plan.words
        self._exact = plan.exact
        self._loose = frozenset(plan.loose)
        self._capital = frozenset(plan.capital)
        self._phrases = frozenset(plan.phrases)
        self._longest = max(map(len, plan.phrases), default=0)
        self._plain = _plain_spellings(plan.words)

    def changes(self, text: str) -> Iterator[Change]:
        """Replace the words of names in a text: whole names first, the longest first."""
        found = tokens(text)
        inside = self._inside(found, text)
        for at, token in enumerate(found):
            new = self._new(token, inside=at in inside)
            if new is not None:
                yield Change(token.start, token.end, new)

    def _inside(self, found: Sequence[Token], text: str) -> set[int]:
        """Indexes of the words that stand in a whole name."""
        inside: set[int] = set()
        at = 0
        while at < len(found):
            for last in range(min(len(found), at + self._longest), at, -1):
                keys = tuple(place_key(self._key(token)) for token in found[at:last])
                if keys in self._phrases and _is_name(found[at:last], text):
                    inside.update(range(at, last))
                    at = last - 1
                    break
            at += 1
        return inside

    def _key(self, token: Token) -> str:
        if token.key in self._words:
            return token.key
        return self._plain.get(token.key, token.key)

    def _new(self, token: Token, *, inside: bool) -> str | None:
        if token.core in self._exact:
            return self._exact[token.core] if inside or len(token.core) > 3 else None
        key = self._key(token)
        new = self._words.get(key)
        if new is None:
            return None
        if inside or key in self._loose or (key in self._capital and token.core.isupper()):
            return _like(token.core, new)
        return None


def _plain_spellings(words: Mapping[str, str]) -> dict[str, str]:
    """Keys by their spelling without accents, where no other key is spelled so."""
    return {folded: key for key in words if (folded := fold(key)) != key and folded not in words}


def _is_name(found: Sequence[Token], text: str) -> bool:
    """Whether words with the letters of a name are written as one."""
    if any(c.isupper() or not c.isascii() for t in found for c in t.core):
        opens = _OPENING.search(text[: found[0].start]) is not None
        return not (len(found) == 1 and opens and found[0].key in STOPWORDS)
    whole = found[0].start == 0 and found[-1].end == len(text)
    return len(found) > 1 and (whole or any(len(t.core) > 3 for t in found))


def _like(old: str, new: str) -> str:
    """Write a new word as the old one: small, in capitals, with dots, or with a capital."""
    if "." in old:
        return "".join(f"{c}." for c in (new.upper() if old.isupper() else new))
    if old.isupper() and (len(old) > 1 or len(new) == 1):
        return new.upper()
    if old.islower() or not old[:1].isupper():
        return new
    return new[:1].upper() + new[1:]


@dataclass(frozen=True, kw_only=True)
class Renaming:
    """The replacements of one graph, to be applied to texts and questions, and undone.

    `apply` replaces whole words in one pass, the longest name first; what it wrote it does not
    read again. It is not idempotent for numbers: twice moves them twice. `revert` undoes `apply`
    on texts that hold no new name beforehand; it gives the graph's own spelling, accents included.
    `ids` maps old node ids to new ones, `keys` the keys, relations and types that hold a name.
    """

    plan: Plan
    numbers: NumberRule
    ids: Mapping[str, str]
    keys: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _forward(self) -> Direction:
        return Direction(self.plan)

    @cached_property
    def _backward(self) -> Direction:
        return Direction(_inverted(self.plan))

    @cached_property
    def old_ids(self) -> dict[str, str]:
        """New node ids with the old ones."""
        return {new: old for old, new in self.ids.items()}

    @cached_property
    def old_keys(self) -> dict[str, str]:
        """New keys, relations and types with the old ones."""
        return {new: old for old, new in self.keys.items()}

    def apply(self, text: str) -> str:
        """Replace every old name, date and number in a text."""
        return _spliced(text, self._forward.changes(text), self.numbers.changes(text))

    def revert(self, text: str) -> str:
        """Put the old names, dates and numbers back."""
        return _spliced(text, self._backward.changes(text), self.numbers.changes(text, back=True))

    def question(self, question: Question, *, back: bool = False) -> Question:
        """Rename a question with its gold answer, aliases, facts and whatever else is text.

        Its id and type stay, and so do `Yes`, `No` and the abstention.
        """
        change = self.revert if back else self.apply
        extra = {
            key: change(value)
            for key, value in (question.model_extra or {}).items()
            if isinstance(value, str) and key != "missing"
        }
        missing = (question.model_extra or {}).get("missing")
        if isinstance(missing, str):
            extra["missing"] = self.fact(missing, back=back)
        return question.model_copy(
            update={
                "question": change(question.question),
                "answer": question.answer
                if question.answer == ABSTENTION
                else change(question.answer),
                "answer_aliases": tuple(map(change, question.answer_aliases)),
                "supporting_facts": tuple(
                    self.fact(fact, back=back) for fact in question.supporting_facts
                ),
                **extra,
            }
        )

    def fact(self, fact: str, *, back: bool = False) -> str:
        """Rename the id of a fact: its node ids, its key and its value. Without a `|` it is a name."""
        change, ids = (self.revert, self.old_ids) if back else (self.apply, self.ids)
        keys = self.old_keys if back else self.keys
        parts = fact.split("|")
        if len(parts) == 1:
            return change(fact)
        parts[0] = ids.get(parts[0], parts[0])
        parts[1] = keys.get(parts[1], parts[1])
        if len(parts) > 2:
            end, mark, number = parts[2].partition("#")
            known = parts[2] if parts[2] in ids else end
            tail = "" if parts[2] in ids else f"{mark}{number}"
            if known in ids:
                parts[2] = f"{ids[known]}{tail}"
            elif parts[1] == "type":
                parts[2] = keys.get(parts[2], parts[2])
            else:
                parts[2] = change(parts[2])
        return "|".join(parts)


def _inverted(plan: Plan) -> Plan:
    """Turn a plan round. A new word is in no old text, so nearly all may be replaced anywhere."""
    words = {new: old for old, new in plan.words.items()}
    words |= {new.lower(): old for old, new in plan.exact.items()}
    exact = {old.lower(): new.lower() for old, new in plan.exact.items()}
    short = {new for old, new in plan.words.items() if old in plan.capital or len(new) < 4}
    return Plan(
        words=words,
        exact={},
        loose=set(words) - short,
        capital={plan.words[key] for key in plan.capital},
        phrases={tuple(plan.words.get(k, exact.get(k, k)) for k in p) for p in plan.phrases},
    )


def _spliced(text: str, words: Iterable[Change], numbers: Iterable[Change]) -> str:
    """Write all changes into a text; where two overlap, the one for a word counts."""
    changes = sorted([*words, *numbers], key=lambda c: (c.start, -c.end))
    out: list[str] = []
    at = 0
    for change in changes:
        if change.start >= at:
            out += [text[at : change.start], change.new]
            at = change.end
    return "".join(out) + text[at:]


def rename(
    graph: KnowledgeGraph,
    seed: int = 0,
    *,
    kinds: Iterable[str] = ALL_KINDS,
    texts: Sequence[str] = (),
) -> tuple[KnowledgeGraph, Renaming]:
    """Make a graph of the same shape in which every name, date and number is another.

    `kinds` are of `names`, `dates`, `numbers`. `texts`, such as questions, are read too: no new
    name occurs in them, and names that only they have get a new one as well. The same graph,
    texts and seed give the same result. Raises `UsageError` for an unknown kind.
    """
    wanted = _checked(kinds)
    own = list(graph_texts(graph.store))
    plan = make_plan(graph.store, own, texts, seed=seed) if "names" in wanted else Plan()
    numbers = make_rule(
        [*graph.store.names, *own, *texts],
        seed=seed,
        dates="dates" in wanted,
        numbers="numbers" in wanted,
        avoid=number_names(graph.store),
    )
    unnamed = Renaming(plan=plan, numbers=numbers, ids={})
    ids = _new_ids(graph.store, unnamed) if "names" in wanted else {i: i for i in graph.store.ids}
    keys = new_keys(graph.store, unnamed.apply) if "names" in wanted else {}
    renaming = Renaming(plan=plan, numbers=numbers, ids=ids, keys=keys)
    return KnowledgeGraph(_rebuilt(graph.store, renaming), name=f"{graph.name}_fictional"), renaming


def _checked(kinds: Iterable[str]) -> frozenset[str]:
    wanted = frozenset(kinds)
    unknown = sorted(wanted - ALL_KINDS)
    if unknown or not wanted:
        named = ", ".join(f"`{kind}`" for kind in sorted(ALL_KINDS))
        what = f"there is no kind `{unknown[0]}`" if unknown else "no kind of thing is named"
        raise UsageError(what, hint=f"the kinds are {named}")
    return wanted


def graph_texts(store: GraphStore) -> Iterator[str]:
    """Names, values and edge values of a graph: every text that renaming may change."""
    for aliases in store.aliases.values():
        yield from aliases
    yield from store.values
    for pairs in dict.fromkeys(store.edge_attributes.values()):
        yield from (value for _, value in pairs)


def _new_ids(store: GraphStore, renaming: Renaming) -> dict[str, str]:
    """Give ids that carry names new ones; ids without meaning stay."""
    opaque = {
        i for i, n in zip(store.ids, store.names, strict=True) if _OPAQUE.fullmatch(i) and i != n
    }
    ids: dict[str, str] = {}
    used = set(opaque)
    for node, old in enumerate(store.ids):
        new = old if old in opaque else _new_id(old, renaming.apply(store.names[node]))
        base, number = new, 1
        while new in used and old not in opaque:
            number += 1
            new = f"{base}-{number}"
        used.add(new)
        ids[old] = new
    return ids


def _new_id(old: str, name: str) -> str:
    """Make an id from the new name, in the form of the old one."""
    if "://" in old:
        at = max(old.rstrip("/#").rfind("/"), old.rstrip("/#").rfind("#")) + 1
        return old[:at] + _NO_SLUG.sub("_", name).strip("_")
    if old == old.lower():
        return _NO_SLUG.sub("_" if "_" in old else "-", name.lower()).strip("-_") or name
    return name


def _rebuilt(store: GraphStore, renaming: Renaming) -> GraphStore:
    builder = Builder()
    for index in range(store.n_nodes):
        node = store.node(index)
        builder.node(
            renaming.ids[node.id],
            name=renaming.apply(node.name),
            type=node.type and renaming.keys.get(node.type, node.type),
            aliases=map(renaming.apply, node.aliases),
            attributes=_pairs(node.attributes, renaming),
        )
    for index in range(store.n_edges):
        edge = store.edge(index)
        builder.edge(
            renaming.ids[edge.source],
            renaming.keys.get(edge.predicate, edge.predicate),
            renaming.ids[edge.target],
            _pairs(edge.attributes, renaming),
            edge.id if edge.id is None else renaming.apply(edge.id),
        )
    return builder.build()


def _pairs(pairs: Pairs, renaming: Renaming) -> Pairs:
    return tuple((renaming.keys.get(key, key), renaming.apply(value)) for key, value in pairs)


__all__ = ["ALL_KINDS", "Renaming", "Replaced", "graph_texts", "rename"]
