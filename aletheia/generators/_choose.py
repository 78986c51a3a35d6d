"""Choose the sentences that answer a question, or say why none does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aletheia.generators._chains import Chain, chains
from aletheia.generators._choice import Choice, NoChoice
from aletheia.generators._kinds import answers_kind, is_negated, new_names, says_more
from aletheia.generators._match import Match, match
from aletheia.generators._meaning import Similarity, by_meaning
from aletheia.generators._passages import Evidence, NameKey
from aletheia.generators._question import Question
from aletheia.generators._reasons import why_chosen, why_nothing
from aletheia.generators._special import confirm, describe, existence

THRESHOLD: Final = 0.6
"""Share of the relation words that must be said; chosen on a development half (see the docs)."""
MAX_LIST: Final = 8
"""Sentences of a list."""


def choose(
    question: Question, evidence: Evidence, similarity: Similarity | None
) -> Choice | NoChoice:
    """Answer from the sentences of the evidence."""
    if not evidence.passages:
        return NoChoice(why="There is no evidence to answer from.")
    if question.unknown:
        return NoChoice(why=f"`{question.unknown[0]}` stands nowhere in the evidence.")
    if question.ambiguous:
        return NoChoice(why=f"`{question.ambiguous[0]}` may be several things in the evidence.")
    if not question.names and not question.terms and not question.numbers:
        return NoChoice(why="The question holds no word to look for.")
    matches = [
        match(question, passage, evidence, rank=rank)
        for rank, passage in enumerate(evidence.passages)
    ]
    match question.form:
        case "description":
            return describe(question, evidence, matches)
        case "existence":
            return existence(question, evidence, matches)
        case "yes_no":
            return confirm(question, evidence, matches)
        case "wh":
            return _answer(question, matches, similarity)


def _answer(
    question: Question, matches: Sequence[Match], similarity: Similarity | None
) -> Choice | NoChoice:
    saying = [c for c in chains(question, matches) if c.coverage >= THRESHOLD]
    answering = [c for c in saying if _is_answered(question, c)]
    if not question.relation:
        answering = _without_relation(question, answering)
    if not answering and similarity is not None:
        answering = by_meaning(question, matches, similarity)
    if not answering:
        return NoChoice(why=why_nothing(question, matches, found=bool(saying)))
    answering.sort(key=lambda chain: -chain.score)
    best = answering[0]
    chosen = _listed(answering) if question.wants_many and len(best.matches) == 1 else [best]
    passages = list(dict.fromkeys(m.passage for chain in chosen for m in chain.matches))
    return Choice(passages=tuple(passages), why=why_chosen(question, chosen))


def _is_answered(question: Question, chain: Chain) -> bool:
    last = chain.last.passage
    if is_negated(last) and not question.negated:
        return False
    if not answers_kind(question, last):
        return False
    if len(chain.matches) == 1 or question.kind in ("when", "number"):
        return True
    before = frozenset().union(*(m.passage.names for m in chain.matches[:-1]))
    if any(name not in before for name, _ in new_names(question, last)):
        return True
    unnamed = question.kind == "where" and not last.mentions
    return (question.kind == "what" or unnamed) and says_more(question, last)


def _without_relation(question: Question, answering: Sequence[Chain]) -> list[Chain]:
    """Where the question gives no relation, light words must be met, or one sentence be left."""
    if question.numbers and question.terms:
        return list(answering)
    if question.terms:
        return [c for c in answering if any(not question.terms[i].is_type for i in c.terms)]
    return list(answering) if len({c.last.passage.text for c in answering}) == 1 else []


def _listed(answering: Sequence[Chain]) -> list[Chain]:
    """All sentences that say the same as the best, each with a name that the others lack."""
    best = answering[0]
    chosen: list[Chain] = []
    seen: set[NameKey] = set()
    for chain in answering:
        same = chain.terms >= best.terms and len(chain.matches) == 1
        names = chain.last.passage.names
        if same and not names <= seen and len(chosen) < MAX_LIST:
            chosen = [c for c in chosen if not c.last.passage.names <= names]
            chosen.append(chain)
            seen |= names
    return chosen
