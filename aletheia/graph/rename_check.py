"""What a renaming left: old names that are still there, and what it does not rename."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from aletheia.graph import wording
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.rename import Renaming, graph_texts
from aletheia.graph.rename_find import NameFinder
from aletheia.graph.rename_keys import keys_of
from aletheia.graph.rename_lexis import tokens
from aletheia.grounding.names import names
from aletheia.schema.question import Question

_NUMBER_WORDS: Final = frozenset(
    """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
    thousand million billion second third fourth fifth sixth seventh eighth ninth tenth twice
    half dozen""".split()
)


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
    finder = NameFinder(old.store)
    places = [*_places(new), *_question_places(questions)]
    texts = [*old.store.names, *graph_texts(old.store)]
    return RenamingCheck(
        leftovers=tuple(
            Leftover(name=name, where=where, text=text)
            for where, text in places
            for name in finder.find(text)
        ),
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
    for key in keys_of(store):
        yield from (
            ("key, relation or type", t) for t in dict.fromkeys((wording.words_of(key), key))
        )


def _question_places(questions: Iterable[Question]) -> Iterator[tuple[str, str]]:
    for question in questions:
        for text in (question.question, question.answer, *question.answer_aliases):
            yield f"question {question.id}", text
        yield from ((f"question {question.id}", fact) for fact in question.supporting_facts)
