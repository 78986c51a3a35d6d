"""Finds the names of a graph in any text: what a renaming must not leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from aletheia.graph.names import forms
from aletheia.graph.store import GraphStore
from aletheia.graph.text import Word, fold, words
from aletheia.grounding.lexicon import is_common

_ACRONYM: Final = 5
_SMALL: Final = 3
SHORTEST_NUMBER: Final = 3
"""Digits of a number that is taken for a name; shorter ones stand everywhere."""


class NameFinder:
    """Finds names as runs of folded words, whatever stands around them."""

    def __init__(self, store: GraphStore) -> None:
        self._names = {fold(form): name for name in called(store) for form in forms(name)}
        self._names.pop("", None)
        self._longest = max((key.count(" ") + 1 for key in self._names), default=0)

    def find(self, text: str) -> Iterator[str]:
        """Every name in a text, as the graph spells it."""
        found = words(text)
        for first in range(len(found)):
            for last in range(first + 1, min(len(found), first + self._longest) + 1):
                key = " ".join(word.folded for word in found[first:last])
                name, whole = self._names.get(key), last - first == len(found)
                if name is not None and _is_name(found[first:last], name, whole=whole):
                    yield name


def called(store: GraphStore) -> Iterator[str]:
    """Every name and alias of a graph."""
    yield from store.names
    for aliases in store.aliases.values():
        yield from aliases


def number_names(store: GraphStore) -> frozenset[str]:
    """Names that are bare numbers or years: `1984`."""
    bare = (name.strip() for name in called(store))
    return frozenset(name for name in bare if name.isdecimal() and len(name) >= SHORTEST_NUMBER)


def _is_name(found: Sequence[Word], name: str, *, whole: bool) -> bool:
    """Whether words with the letters of a name are one; ordinary ones must be written as it is.

    Short small words, such as `to be`, are one only where they are the `whole` text.
    """
    word = found[0]
    if len(found) > 1:
        return whole or not all(w.text.islower() and len(w.text) <= _SMALL for w in found)
    if not word.text.isascii():
        return True
    if word.folded.isdigit() and len(word.folded) < SHORTEST_NUMBER:
        return False
    if len(word.folded) <= _ACRONYM and name.isupper():
        return word.text.isupper()
    return not is_common(word.folded) or word.text[:1].isupper()
