"""What a renaming left: old names that are still there, and what it does not rename."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from aletheia.graph import wording
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.names import forms
from aletheia.graph.rename import Renaming, graph_texts
from aletheia.graph.rename_lexis import tokens
from aletheia.graph.text import Word, fold, words
from aletheia.grounding.lexicon import is_common
from aletheia.grounding.names import names
from aletheia.schema.question import Question

_NUMBER_WORDS: Final = frozenset(
    """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
    thousand million billion second third fourth fifth sixth seventh eighth ninth tenth twice
    half dozen""".split()
)
_ACRONYM: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """An old name that still stands in a `text`; `where` says which part of the graph it is."""

    name: str
    where: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamingCheck:
    """What a renaming left, each with how often.

    `leftovers` should be empty. By design stay: `numbers` (0, 1, ordinals, times, large
    percentages), `number_words`, and `ordinary_names`: capitalised ordinary words in texts that
    name nothing in the graph.
    """

    leftovers: tuple[Leftover, ...]
    numbers: tuple[tuple[str, int], ...]
    number_words: tuple[tuple[str, int], ...]
    ordinary_names: tuple[tuple[str, int], ...]


def check(
    old: KnowledgeGraph,
    new: KnowledgeGraph,
    renaming: Renaming,
    questions: Sequence[Question] = (),
) -> RenamingCheck:
    """Search a renamed graph and its renamed `questions` for every name of the old graph."""
    finder = _Finder(old)
    places = [*_places(new), *_question_places(questions)]
    texts = [*old.store.names, *graph_texts(old.store)]
    return RenamingCheck(
        leftovers=tuple(left for where, text in places for left in finder.find(where, text)),
        numbers=_counted(number for text in texts for number in renaming.numbers.kept(text)),
        number_words=_counted(t.key for x in texts for t in tokens(x) if t.key in _NUMBER_WORDS),
        ordinary_names=_counted(_unchanged(texts, renaming)),
    )


def _counted(found: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(found).most_common())


def _unchanged(texts: Iterable[str], renaming: Renaming) -> Iterator[str]:
    """Runs of capitalised words that the renaming leaves as they are."""
    for text in texts:
        for name in names(text):
            surface = text[name.start : name.end]
            if renaming.apply(surface) == surface and not surface.isdigit():
                yield surface


def _places(graph: KnowledgeGraph) -> Iterator[tuple[str, str]]:
    store = graph.store
    yield from (("node id", node_id) for node_id in store.ids)
    yield from (("edge id", edge_id) for edge_id in store.edge_ids.values())
    yield from (("name", name) for name in store.names)
    yield from (("text", text) for text in graph_texts(store))
    keys = dict.fromkeys(k for pairs in store.edge_attributes.values() for k, _ in pairs)
    for key in dict.fromkeys([*store.attr_keys, *store.predicates, *store.type_names, *keys]):
        yield "key, relation or type", wording.words_of(key)


def _question_places(questions: Iterable[Question]) -> Iterator[tuple[str, str]]:
    for question in questions:
        for text in (question.question, question.answer, *question.answer_aliases):
            yield f"question {question.id}", text
        yield from ((f"question {question.id}", fact) for fact in question.supporting_facts)


class _Finder:
    """Finds old names as runs of folded words, whatever stands around them."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        store = graph.store
        called = [*store.names, *(a for aliases in store.aliases.values() for a in aliases)]
        self._names = {fold(form): name for name in called for form in forms(name)}
        self._names.pop("", None)
        self._longest = max((key.count(" ") + 1 for key in self._names), default=0)

    def find(self, where: str, text: str) -> Iterator[Leftover]:
        """Every old name in a text."""
        found = words(text)
        for first in range(len(found)):
            for last in range(first + 1, min(len(found), first + self._longest) + 1):
                key = " ".join(word.folded for word in found[first:last])
                if key in self._names and _is_name(found[first:last], self._names[key]):
                    yield Leftover(name=self._names[key], where=where, text=text)


def _is_name(found: Sequence[Word], name: str) -> bool:
    """Whether words with the letters of a name are one; ordinary ones must be written as it is."""
    word = found[0]
    if len(found) > 1 or not word.text.isascii():
        return True
    if word.folded.isdigit() and len(word.folded) < 3:
        return False
    if len(word.folded) <= _ACRONYM and name.isupper():
        return word.text.isupper()
    return not is_common(word.folded) or word.text[:1].isupper()
