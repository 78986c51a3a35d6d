"""One sentence met by meaning, where words do not meet: the last resort before abstaining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from aletheia.generators._chains import Chain, is_complete
from aletheia.generators._kinds import answers_kind, is_negated
from aletheia.generators._match import Match
from aletheia.generators._question import Question, Term
from aletheia.grounding.polarity import opposites

LEAST: Final = 0.5
"""Least cosine of the unmet words with the sentence's other words."""
LEAD: Final = 0.05
"""By how much it must exceed the next wording."""

Similarity = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
"""Cosines of the texts of two lists, pair by pair."""


def by_meaning(question: Question, matches: Sequence[Match], similarity: Similarity) -> list[Chain]:
    """The one sentence whose other words mean what the unmet words of the question mean.

    A word of a known relation is never met by a word of another one: embeddings put `closed`
    next to `opened`.
    """
    candidates = [m for m in matches if _lacks_words_only(question, m)]
    pairs = [(_unmet_words(question, m), _leftover(question, m)) for m in candidates]
    usable = [i for i, (unmet, left) in enumerate(pairs) if unmet and left]
    if not usable:
        return []
    cosines = similarity([pairs[i][0] for i in usable], [pairs[i][1] for i in usable])
    ranked = sorted(zip(cosines, usable, strict=True), key=lambda pair: (-pair[0], pair[1]))
    best, index = ranked[0]
    rival = next((cosine for cosine, i in ranked if pairs[i][1] != pairs[index][1]), 0.0)
    if best < LEAST or best - rival < LEAD:
        return []
    return [Chain(matches=(candidates[index],), score=best, coverage=best)]


def _lacks_words_only(question: Question, found: Match) -> bool:
    """Whether a sentence has the names, the numbers and the kind of answer asked for."""
    everything = replace(found, terms=frozenset(range(len(question.terms))))
    if not question.names or not is_complete(question, (everything,)):
        return False
    return not is_negated(found.passage) and answers_kind(question, found.passage)


def _unmet(question: Question, found: Match) -> list[Term]:
    relation = question.relation
    return [t for i, t in enumerate(question.terms) if i not in found.terms and t in relation]


def _unmet_words(question: Question, found: Match) -> str:
    return " ".join(term.text for term in _unmet(question, found))


def _leftover(question: Question, found: Match) -> str:
    """The words that may carry the relation: none of another known one, and no contrary."""
    named = {i for m in found.passage.mentions for i in range(m.first, m.last)}
    asked = frozenset().union(*(term.keys for term in question.terms))
    classes = {key for term in _unmet(question, found) for key in term.keys if key.startswith("@")}
    contrary = {other for t in _unmet(question, found) for other in opposites(t.text.casefold())}
    words: list[str] = []
    for i, token in enumerate(found.passage.tokens):
        known = any(key.startswith("@") for key in token.keys)
        if i in named or token.is_number or not token.keys or token.keys & asked:
            continue
        if token.folded in contrary:
            return ""
        if not (known and classes):
            words.append(token.text)
    return " ".join(words)
