"""Other keys, relations and types where they hold a name of the graph: `member_of_korral`.

All others stay as they are: they say what kind of thing something is, and name nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from aletheia.graph import wording
from aletheia.graph.rename_find import NameFinder
from aletheia.graph.store import DESCRIPTION, GraphStore


def keys_of(store: GraphStore) -> Iterator[str]:
    """Every attribute key, relation and type of a graph, each once."""
    pairs = chain.from_iterable(store.edge_attributes.values())
    of_edges = (key for key, _ in pairs)
    yield from dict.fromkeys([*store.attr_keys, *store.predicates, *store.type_names, *of_edges])


def new_keys(store: GraphStore, apply: Callable[[str], str]) -> dict[str, str]:
    """Map the keys that hold a name to new ones, one to one; `apply` renames a text.

    A key is left alone where every new one is there already, or would still hold a name.
    """
    finder = NameFinder(store)
    old = list(keys_of(store))
    used, made = set(old), dict[str, str]()
    for key in old:
        if key == DESCRIPTION or not _names(finder, key):
            continue
        # A key that is written as a name is renamed as one; its words alone lose their capitals.
        ways = (apply(key), _spelled(key, apply(wording.words_of(key))))
        new = next((way for way in ways if way not in used and not _names(finder, way)), None)
        if new is not None:
            used.add(new)
            made[key] = new
    return made


def _names(finder: NameFinder, key: str) -> bool:
    return any(any(finder.find(text)) for text in (key, wording.words_of(key)))


def _spelled(key: str, words: str) -> str:
    """Write words in the form of a key: with its separator, its capitals and its address."""
    if "://" in key:
        at = max(key.rstrip("/#").rfind("/"), key.rstrip("/#").rfind("#")) + 1
        return key[:at] + _spelled(key[at:].rstrip("/#"), words)
    parts = words.split()
    separator = next((mark for mark in "_ -" if mark in key), None)
    if separator is None and len(parts) > 1:
        parts = [parts[0], *(part[:1].upper() + part[1:] for part in parts[1:])]
    elif key.istitle():
        parts = [part[:1].upper() + part[1:] for part in parts]
    new = (separator or "").join(parts)
    if key.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if key[:1].isupper() else new
