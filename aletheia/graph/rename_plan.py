"""Which words of a graph are replaced, and by what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from aletheia.graph import wording
from aletheia.graph.names import forms
from aletheia.graph.rename_find import called
from aletheia.graph.rename_lexis import (
    Token,
    always_replaced,
    is_acronym,
    is_compound,
    is_mixed,
    is_number,
    is_small,
    key_of,
    place_key,
    stays,
    tokens,
)
from aletheia.graph.rename_words import Kind, WordMaker, index_twins, kind_of, nearest
from aletheia.graph.store import GraphStore
from aletheia.graph.text import fold
from aletheia.grounding.names import names

_PEOPLE = ("n", "an", "ian", "i", "ish", "ese", "ic", "ans", "ians", "is")
_STEM = 4


@dataclass(slots=True, kw_only=True)
class Plan:
    """Words of names with what replaces them, and the names they make.

    `words` maps keys to new words in lower case, `exact` words with inner capitals to theirs.
    `loose` are keys that are replaced anywhere, `capital` those replaced anywhere in capitals.
    `phrases` are names as keys, with `#` for numbers and parts of dates.
    """

    words: dict[str, str] = field(default_factory=dict)
    exact: dict[str, str] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    capital: set[str] = field(default_factory=set)
    phrases: set[tuple[str, ...]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Named:
    """A name with the kind of thing it names, and the index of its node (-1 for none)."""

    tokens: tuple[Token, ...]
    kind: Kind
    node: int


def make_plan(store: GraphStore, texts: Sequence[str], more: Sequence[str], *, seed: int) -> Plan:
    """Plan the names of a graph, of its `texts`, and of `more` texts such as questions."""
    found = [*_node_names(store), *_text_names([*texts, *more])]
    kinds = _kinds(store)
    ordinary = _ordinary([*texts, *more], store)
    replaced = _replaced(found, kinds, ordinary)
    taken = _taken([*store.names, *texts, *more, *store.type_names, *store.predicates])
    planner = _Planner(WordMaker(seed, taken), replaced, ordinary)
    planner.words(found)
    planner.acronyms(found, store.n_nodes)
    for name in found:
        planner.phrase(name, replaced)
    return planner.plan


def _kinds(store: GraphStore) -> frozenset[str]:
    """Words of the node types. A type that is the name of a node as well names it, and no kind."""
    named = {fold(name) for name in called(store)}
    spelled = ((fold(name), fold(wording.words_of(name))) for name in store.type_names)
    kinds = (words for name, words in spelled if name not in named and words not in named)
    return frozenset(word for words in kinds for word in words.split(" "))


def _node_names(store: GraphStore) -> Iterator[_Named]:
    for node in range(store.n_nodes):
        kind = kind_of(store.type_of(node))
        for name in (store.names[node], *store.aliases.get(node, ())):
            for form in forms(name):
                yield _Named(tuple(tokens(form)), kind, node)


def _text_names(texts: Iterable[str]) -> Iterator[_Named]:
    """Names that stand in texts, as the verifier finds them."""
    for text in texts:
        for name in names(text):
            if name.opener and len(name.words) == 1 and is_compound(name.words[0].text):
                continue
            yield _Named(tuple(tokens(text[name.start : name.end])), "thing", -1)


def _ordinary(texts: Iterable[str], store: GraphStore) -> frozenset[str]:
    """Words that the texts write small, outside the names of the graph, and that are no name."""
    known = set(called(store))
    return frozenset(
        token.key
        for text in texts
        if text not in known and text.lower() != text
        for token in tokens(text)
        if token.core.islower()
    ).difference(key_of(name) for name in known)


def _replaced(found: Sequence[_Named], kinds: frozenset[str], ordinary: frozenset[str]) -> set[str]:
    """Choose the keys to replace, so that every name of the graph loses at least one word."""
    alone = {n.tokens[0].key for n in found if len(n.tokens) == 1 and n.node >= 0}
    replaced = {
        token.key
        for name in found
        for token in name.tokens
        if not stays(token.core, kinds, ordinary)
        or (token.key in alone and not is_number(token.core))
    }
    for name in found:
        if name.node >= 0 and not any(t.key in replaced for t in name.tokens):
            content = [t for t in name.tokens if not is_small(t.core)] or name.tokens
            replaced.update(t.key for t in content if not any(c.isdigit() for c in t.core))
    return replaced


def _taken(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in fold(text).split(" ")}


class _Planner:
    """Gives each word its new one, in order of first use."""

    def __init__(self, maker: WordMaker, replaced: set[str], ordinary: frozenset[str]) -> None:
        self.plan = Plan()
        self._maker = maker
        self._replaced = replaced
        self._ordinary = ordinary
        self._near: dict[str, list[str]] = {}
        self._places: dict[str, str] = {}

    def words(self, found: Sequence[_Named]) -> None:
        """Plan all words but acronyms, first those that others are made of."""
        seen = {t.key for n in found for t in n.tokens}
        later: list[tuple[Token, Kind]] = []
        for name in found:
            for token in name.tokens:
                if token.key not in self._replaced or is_acronym(token.core):
                    continue
                if self._base(token.key, seen) is not None:
                    later.append((token, name.kind))
                else:
                    self._word(token, name.kind)
        for token, kind in later:
            self._word(token, kind)

    def _base(self, key: str, seen: set[str]) -> str | None:
        """The word that a plural is made of, if that is replaced too."""
        base = key[:-1]
        return base if key.endswith("s") and base in self._replaced and base in seen else None

    def _word(self, token: Token, kind: Kind) -> None:
        plan, key = self.plan, token.key
        if is_mixed(token.core):
            if token.core not in plan.exact:
                plan.exact[token.core] = self._maker.word(key, kind).capitalize()
            return
        if key not in plan.words:
            plan.words[key] = self._new(token, kind)
            index_twins(self._near, key)
            if kind == "place":
                self._places.update(dict.fromkeys((key, key.rstrip("aeiouy")), key))
        if always_replaced(token.core, self._ordinary):
            plan.loose.add(key)

    def _new(self, token: Token, kind: Kind) -> str:
        key, words = token.key, self.plan.words
        if any(c.isdigit() for c in key) or len(key) == 1:
            return self._maker.acronym(key) if key.isascii() else self._maker.word(key, kind)
        if key.endswith("s") and key[:-1] in words:
            return self._maker.derived(words[key[:-1]], "s")
        place = self._place_of(key)
        if place is not None:
            return self._maker.derived(words[place], "ian")
        near = nearest(key, self._near)
        if near is not None and near in words:
            return self._maker.twin(words[near])
        return self._maker.word(key, kind)

    def _place_of(self, key: str) -> str | None:
        """The place that a word for its people comes from: `iraqi`."""
        stems = (key.removesuffix(end) for end in _PEOPLE if key.endswith(end))
        return next((self._places[s] for s in stems if len(s) >= _STEM and s in self._places), None)

    def acronyms(self, found: Sequence[_Named], n_nodes: int) -> None:
        """Plan acronyms: the initials of the new name where they were those of the old one."""
        names: list[list[_Named]] = [[] for _ in range(n_nodes)]
        for name in found:
            if name.node >= 0:
                names[name.node].append(name)
        for name in found:
            new = [t for t in name.tokens if is_acronym(t.core) and t.key in self._replaced]
            if not any(t.key not in self.plan.words for t in new):
                continue
            others = names[name.node] if name.node >= 0 else []
            letters = "".join(t.key for t in new)
            drawn = next((d for o in others if (d := self._initials(letters, o.tokens))), None)
            self._spread(new, drawn or letters, matched=drawn is not None)

    def _spread(self, new: Sequence[Token], drawn: str, *, matched: bool) -> None:
        at = 0
        for token in new:
            wanted = drawn[at : at + len(token.key)]
            at += len(token.key)
            if token.key not in self.plan.words:
                # An acronym of no known words gets other letters: its own ones are taken.
                made = self._maker.acronym(wanted if matched else token.key)
                self.plan.words[token.key] = made
                self.plan.capital.add(token.key)

    def _initials(self, letters: str, name: Sequence[Token]) -> str | None:
        """The new initials at the words whose old ones spell `letters`."""
        out: list[str] = []
        for token in name:
            if len(token.key) < 2:
                continue
            if len(out) < len(letters) and token.key[0] == letters[len(out)]:
                new = self.plan.words.get(token.key, self.plan.exact.get(token.core, token.key))
                out.append(new[0].lower())
            elif not is_small(token.core):
                return None
        return "".join(out) if len(out) == len(letters) else None

    def phrase(self, name: _Named, replaced: set[str]) -> None:
        """Note a name as one, so that its ordinary words are replaced in it."""
        if any(t.key in replaced for t in name.tokens):
            self.plan.phrases.add(tuple(place_key(t.key) for t in name.tokens))
