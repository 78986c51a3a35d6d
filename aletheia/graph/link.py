"""Links a question to nodes: exact names first, then typing errors, then parts of names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from aletheia.graph.names import NameIndex, forms
from aletheia.graph.store import GraphStore
from aletheia.graph.text import STOPWORDS, Word, fold, words

How = Literal["exact", "lower_case", "typo", "part"]

_ACRONYM = 5
_TYPO_LENGTH = 8
_MAX_SHARED = 10
_MAX_PART_NODES = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedNode:
    """A node that the question names.

    `surface == question[start:end]`. `how`: `exact` name or alias, `lower_case` (the name, typed
    without its capitals), `typo` (one letter off in a long word), `part` (some words of the name).
    `ambiguous`: the same words name other nodes too, which are linked as well.
    """

    node_id: str
    name: str
    surface: str
    start: int
    end: int
    how: How
    ambiguous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedValue:
    """An attribute value that the question names, such as a year or a country that is no node."""

    value: str
    surface: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """What a question links to; `node_indexes` and `value_codes` are aligned with the tuples."""

    nodes: tuple[LinkedNode, ...] = ()
    values: tuple[LinkedValue, ...] = ()
    node_indexes: tuple[int, ...] = ()
    value_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Hit:
    first: int
    last: int  # exclusive, in words
    nodes: tuple[int, ...]
    values: tuple[int, ...]
    how: How


class Linker:
    """Finds names of one graph in questions. Building it reads all names once."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._index = NameIndex(store)

    def link(self, question: str) -> Links:
        """All nodes and values the question names; longest names win."""
        tokens = words(question)
        hits = list(self._exact(question, tokens))
        if any(hit.how == "exact" and hit.nodes for hit in hits):
            hits = [hit for hit in hits if hit.how == "exact"]
        covered = {i for hit in hits for i in range(hit.first, hit.last)}
        for search in (self._typos, self._parts):
            for hit in search(tokens, covered):
                hits.append(hit)
                covered.update(range(hit.first, hit.last))
        return self._links(question, tokens, sorted(hits, key=lambda hit: hit.first))

    def _links(self, question: str, tokens: tuple[Word, ...], hits: list[_Hit]) -> Links:
        nodes: dict[int, LinkedNode] = {}
        values: dict[int, LinkedValue] = {}
        for hit in hits:
            start, end = tokens[hit.first].start, tokens[hit.last - 1].end
            for node in hit.nodes:
                linked = LinkedNode(
                    node_id=self._store.ids[node],
                    name=self._store.names[node],
                    surface=question[start:end],
                    start=start,
                    end=end,
                    how=hit.how,
                    ambiguous=len(hit.nodes) > 1,
                )
                nodes.setdefault(node, linked)
            for code in hit.values:
                value = self._store.values[code]
                surface = question[start:end]
                linked_value = LinkedValue(value=value, surface=surface, start=start, end=end)
                values.setdefault(code, linked_value)
        return Links(
            nodes=tuple(nodes.values()),
            values=tuple(values.values()),
            node_indexes=tuple(nodes),
            value_codes=tuple(values),
        )

    def _exact(self, question: str, tokens: tuple[Word, ...]) -> Iterator[_Hit]:
        shouting = not any(c.islower() for c in question)
        has_case = any(w.text[:1].isupper() for w in tokens[1:]) and not shouting
        position = 0
        while position < len(tokens):
            hit = self._longest(question, tokens, position, has_case=has_case)
            if hit is not None:
                yield hit
            position = position + 1 if hit is None else hit.last

    def _longest(
        self, question: str, tokens: tuple[Word, ...], first: int, *, has_case: bool
    ) -> _Hit | None:
        for last in range(min(len(tokens), first + self._index.longest), first, -1):
            folded = " ".join(word.folded for word in tokens[first:last])
            if not self._index.known(folded):
                continue
            surface = question[tokens[first].start : tokens[last - 1].end]
            how = self._case(surface, folded, first=first, has_case=has_case)
            if how is not None:
                nodes, values = self._index.nodes(folded), self._index.values(folded)
                return _Hit(first, last, nodes, values, how)
        return None

    def _case(self, surface: str, folded: str, *, first: int, has_case: bool) -> How | None:
        """How well a match fits the way the name is written; None if it is no match."""
        if " " in folded and not all(word in STOPWORDS for word in folded.split(" ")):
            return "exact"
        written = self._written(folded)
        if folded in STOPWORDS or " " in folded:
            told_apart = has_case and surface in written and surface != folded
            return "exact" if told_apart and (first > 0 or surface.isupper()) else None
        if not folded.isascii() and len(folded) == 1:
            return None
        if surface in written or surface[:1].isupper():
            acronym = all(name.isupper() and len(name) <= _ACRONYM for name in written)
            return "exact" if not acronym or surface.isupper() else None
        if any(name[:1].islower() or not name[:1].isalpha() for name in written) or not written:
            return "exact"
        if any(name.isupper() and len(name) <= _ACRONYM for name in written):
            return None if has_case or len(folded) < 3 else "lower_case"
        return "lower_case" if any(c.islower() for c in surface) else "exact"

    def _written(self, folded: str) -> set[str]:
        """How the names behind a folded form are really written."""
        store = self._store
        names = {
            form
            for node in self._index.nodes(folded)[:_MAX_SHARED]
            for name in (store.names[node], *store.aliases.get(node, ()))
            for form in forms(name)
            if fold(form) == folded
        }
        return names | {store.values[v] for v in self._index.values(folded)[:_MAX_SHARED]}

    def _typos(self, tokens: tuple[Word, ...], covered: set[int]) -> Iterator[_Hit]:
        """Word runs that are one letter off a name."""
        for first, last in _runs(tokens, covered, _is_long):
            for start, stop in _windows(first, last):
                nodes = self._nearest(" ".join(word.folded for word in tokens[start:stop]))
                if nodes:
                    yield _Hit(start, stop, nodes, (), "typo")
                    break

    def _nearest(self, folded: str) -> tuple[int, ...]:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        names = self._long_names.get((folded[0], folded.count(" ")), [])
        found = process.extract(folded, names, scorer=OSA.distance, score_cutoff=2, limit=5)
        nodes = (
            n for name, _, _ in found if _is_typo(folded, name) for n in self._index.nodes(name)
        )
        return tuple(dict.fromkeys(nodes))

    @cached_property
    def _long_names(self) -> dict[tuple[str, int], list[str]]:
        """Names with a word long enough for a typing error, by first letter and word count."""
        out: dict[tuple[str, int], list[str]] = defaultdict(list)
        for name in self._index.names:
            if len(name) >= _TYPO_LENGTH - 1:
                out[name[0], name.count(" ")].append(name)
        return out

    def _parts(self, tokens: tuple[Word, ...], covered: set[int]) -> Iterator[_Hit]:
        """Runs of capitalised words that stand in a longer name."""
        if self._store.n_nodes > _MAX_PART_NODES:
            return
        for first, last in _runs(tokens, covered, _is_capitalised):
            folded = [word.folded for word in tokens[first:last]]
            if all(word.isdigit() for word in folded):
                continue
            nodes = set.intersection(*(self._by_word.get(word, set()) for word in folded))
            if 0 < len(nodes) <= _MAX_SHARED:
                yield _Hit(first, last, tuple(sorted(nodes)), (), "part")

    @cached_property
    def _by_word(self) -> dict[str, set[int]]:
        out: dict[str, set[int]] = defaultdict(set)
        for name in self._index.names:
            nodes = self._index.nodes(name)
            for word in name.split(" "):
                if word not in STOPWORDS:
                    out[word].update(nodes)
        return out


def _is_long(word: Word, position: int) -> bool:
    return position >= 0 and len(word.folded) >= 3 and word.folded not in STOPWORDS


def _is_capitalised(word: Word, position: int) -> bool:
    if word.text.isdigit():
        return position > 0
    return word.text[:1].isupper() and (position > 0 or word.folded not in STOPWORDS)


def _runs(
    tokens: tuple[Word, ...], covered: set[int], wanted: Callable[[Word, int], bool]
) -> Iterator[tuple[int, int]]:
    """Longest runs of uncovered words that are wanted, as (first, last exclusive)."""
    first: int | None = None
    for position, word in enumerate((*tokens, None)):
        inside = word is not None and position not in covered and wanted(word, position)
        if inside and first is None:
            first = position
        elif not inside and first is not None:
            yield first, position
            first = None


def _windows(first: int, last: int) -> Iterator[tuple[int, int]]:
    """All sub-runs of up to five words, longest first."""
    for length in range(min(5, last - first), 0, -1):
        for start in range(first, last - length + 1):
            yield start, start + length


def _is_typo(question: str, name: str) -> bool:
    """Same words, except that long ones may differ by one letter (not the first, no digit)."""
    from rapidfuzz.distance import OSA

    pairs = list(zip(question.split(" "), name.split(" "), strict=False))
    return all(
        a == b
        or (
            min(len(a), len(b)) >= _TYPO_LENGTH - 1
            and max(len(a), len(b)) >= _TYPO_LENGTH
            and a[0] == b[0]
            and a.isalpha()
            and b.isalpha()
            and OSA.distance(a, b) == 1
        )
        for a, b in pairs
    )
