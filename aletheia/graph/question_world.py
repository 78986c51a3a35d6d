"""A graph as a maker of questions sees it: what may be named, and what is the only one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from aletheia.graph import facts, wording
from aletheia.graph.names import NameIndex
from aletheia.graph.question_words import Verb, mention, noun, spoken_date, type_words, verb
from aletheia.graph.store import DESCRIPTION, GraphStore, Pairs
from aletheia.graph.text import STOPWORDS, fold
from aletheia.grounding.lexicon import is_common
from aletheia.schema.question import QuestionType

_FACT: Final = re.compile(r"[^|]+\|[^|]+(?:\|[^|]+)?")
_LONGEST_NAME: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A question before it is checked and numbered.

    `about` is the relation or attribute it asks for: a set takes few of each. `missing` is what
    the graph lacks, None for a question that it answers. `bridge` are names on the way to the
    answer, which the question must not hold.
    """

    type: QuestionType
    question: str
    answer: str
    facts: tuple[str, ...]
    about: str
    aliases: tuple[str, ...] = ()
    missing: str | None = None
    bridge: tuple[str, ...] = ()


class World:
    """Looks a graph up by node, relation and value, and counts what no question was made of."""

    def __init__(self, store: GraphStore) -> None:
        self.store = store
        self.skipped: Counter[tuple[QuestionType, str]] = Counter()
        self._index = NameIndex(store)
        self._ahead: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._behind: dict[tuple[int, int], list[int]] = defaultdict(list)
        for edge in range(store.n_edges):
            source, target = int(store.source[edge]), int(store.target[edge])
            code = int(store.predicate[edge])
            self._ahead[source, code].append(edge)
            self._behind[target, code].append(edge)

    def skip(self, kind: QuestionType, reason: str) -> None:
        """Count something that no question could be made of."""
        self.skipped[kind, reason] += 1

    # --- names --------------------------------------------------------------------------------

    @cached_property
    def usable(self) -> tuple[bool, ...]:
        """For each node, whether its name is one, is short, and names no other node."""
        return tuple(self._is_usable(node) for node in range(self.store.n_nodes))

    def _is_usable(self, node: int) -> bool:
        name = self.store.names[node]
        folded = fold(name)
        is_name = any(c.isalpha() for c in folded) and folded not in STOPWORDS
        short = len(name) <= _LONGEST_NAME and "\n" not in name and "|" not in self.store.ids[node]
        return is_name and short and self._index.nodes(folded) == (node,)

    def is_alone(self, name: str, node: int) -> bool:
        """Whether a name or alias leads to this node only."""
        return self._index.nodes(fold(name)) == (node,)

    def named(self, node: int) -> str:
        """The name in running text."""
        return mention(self.store.names[node], self.store.type_of(node))

    def names(self, node: int) -> tuple[str, ...]:
        """Name and aliases."""
        return (self.store.names[node], *self.store.aliases.get(node, ()))

    # --- relations ----------------------------------------------------------------------------

    def ahead(self, node: int, predicate: int) -> Sequence[int]:
        """Edges of a relation that leave a node."""
        return self._ahead.get((node, predicate), ())

    def behind(self, node: int, predicate: int) -> Sequence[int]:
        """Edges of a relation that reach a node."""
        return self._behind.get((node, predicate), ())

    def ends(self, edge: int) -> tuple[int, int, int]:
        """Source, relation and target of an edge."""
        store = self.store
        return int(store.source[edge]), int(store.predicate[edge]), int(store.target[edge])

    def usable_edge(self, edge: int) -> bool:
        """Whether both ends may be named, and differ."""
        source, _, target = self.ends(edge)
        return source != target and self.usable[source] and self.usable[target]

    def edge_verb(self, edge: int) -> Verb | None:
        """The relation of an edge as a verb, in the past if it has ended."""
        pairs = self.store.edge_attributes.get(edge, ())
        predicate = self.store.predicates[self.store.predicate[edge]]
        return verb(predicate, ended=wording.has_ended(pairs))

    def edge_noun(self, edge: int) -> str:
        """The relation of an edge as a noun."""
        return noun(self.store.predicates[self.store.predicate[edge]])

    def edge_fact(self, edge: int) -> str:
        """The id of an edge as a question set gives it."""
        own = facts.edge_id(self.store, edge)
        if _FACT.fullmatch(own):
            return own
        source, predicate, target = self.ends(edge)
        store = self.store
        return f"{store.ids[source]}|{store.predicates[predicate]}|{store.ids[target]}"

    # --- attributes ---------------------------------------------------------------------------

    @cached_property
    def attributes(self) -> tuple[dict[str, str], ...]:
        """For each node its attributes with one value, other than descriptions and sources."""
        return tuple(_single(self.store.attributes_of(n)) for n in range(self.store.n_nodes))

    @cached_property
    def holders(self) -> Counter[tuple[str, str]]:
        """How many nodes have a value of an attribute, compared as folded words."""
        store = self.store
        pairs = ((k, fold(v)) for n in range(store.n_nodes) for k, v in set(store.attributes_of(n)))
        return Counter(pairs)

    def description(self, node: int) -> str | None:
        """The one description of a node."""
        found = [v for k, v in self.store.attributes_of(node) if k == DESCRIPTION]
        return found[0] if len(found) == 1 else None

    # --- types --------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Words of all types."""
        named = (fold(wording.words_of(name)).split(" ") for name in self.store.type_names)
        return frozenset(word for words in named for word in words)

    @cached_property
    def by_type(self) -> dict[str, list[int]]:
        """Nodes that may be named, by type."""
        out: dict[str, list[int]] = defaultdict(list)
        for node in range(self.store.n_nodes):
            kind = self.store.type_of(node)
            if kind is not None and self.usable[node]:
                out[kind].append(node)
        return out

    def is_person(self, node: int) -> bool:
        """Whether a node is a person, who is asked for with `who`."""
        kind = self.store.type_of(node)
        return kind is not None and type_words(kind) == "person"


def _single(pairs: Pairs) -> dict[str, str]:
    counts = Counter(key for key, _ in pairs)
    return {
        key: value
        for key, value in pairs
        if counts[key] == 1
        and key != DESCRIPTION
        and not wording.is_provenance(key)
        and "|" not in key
        and len(value) <= _LONGEST_NAME
        and "\n" not in value
    }


def occurs(needle: str, text: str) -> bool:
    """Whether `needle` stands in `text` as whole words, whatever its case and marks."""
    folded = fold(needle)
    return bool(folded) and f" {folded} " in f" {fold(text)} "


def gives_away(draft: Draft, kinds: frozenset[str]) -> bool:
    """Whether a question holds its answer, a word of it that is a name, or a name on the way.

    `kinds` are words that are no names: those of the types.
    """
    if draft.type == "entity_existence" or draft.missing is not None:
        return False
    asked = set(fold(draft.question).split(" "))
    own = {w for w in fold(draft.answer).split(" ") if len(w) > 2 and not is_common(w)}
    own -= kinds
    if own & asked and not draft.answer[:1].isdigit():
        return True
    hidden = (draft.answer, *draft.aliases, *draft.bridge)
    return any(occurs(text, draft.question) for text in hidden)


def date_aliases(value: str) -> tuple[str, ...]:
    """The same date as people write it."""
    spoken = spoken_date(value)
    return () if spoken is None else (spoken,)
