"""Questions that ask what a name is, whether it is known, or whether a statement holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aletheia.generators._chains import chains
from aletheia.generators._choice import Choice, NoChoice
from aletheia.generators._kinds import is_negated
from aletheia.generators._match import Match, match
from aletheia.generators._passages import Evidence, Passage
from aletheia.generators._question import Question, Term
from aletheia.generators._reasons import why_chosen, why_nothing

MAX_DESCRIPTION: Final = 3
"""Sentences of a description."""


def describe(question: Question, evidence: Evidence, matches: Sequence[Match]) -> Choice | NoChoice:
    """Answer with what the evidence declares the name to be."""
    start = _defining(question, matches)
    if start is None:
        return NoChoice(why=f"The evidence does not say what `{question.names[0].text}` is.")
    passages = _with_rest(start, evidence)
    name = question.names[0].text
    return Choice(passages=passages, why=f"{start.unit.id} says what `{name}` is.")


def _defining(question: Question, matches: Sequence[Match]) -> Passage | None:
    """The sentence that says what the name is: it declares a type, or opens the name's own unit."""
    named = [m for m in matches if len(m.all_names) == len(question.names)]
    declaring = [m for m in named if _declares(question, m.passage)]
    return declaring[0].passage if declaring else None


def _declares(question: Question, passage: Passage) -> bool:
    name = question.names[0]
    at = name.at(passage)
    if at is None or at > 1:
        return False
    last = next((m.last for m in passage.mentions if m.first == at), at + 1)
    words = [token.folded for token in passage.tokens[last : last + 2]]
    copula = words[:1] and words[0] in ("is", "was", "are", "were")
    if copula and words[1:] and words[1] in ("a", "an", "the", "one"):
        return True
    comma = passage.text[passage.tokens[last - 1].end :][:1] == ","
    return comma and words[:1] in (["a"], ["an"], ["the"])


def _with_rest(start: Passage, evidence: Evidence) -> tuple[Passage, ...]:
    """A definition and what follows it in its unit, while that speaks of the same thing."""
    out = [start]
    for passage in evidence.by_unit[start.unit.id]:
        if passage.number <= start.number or len(out) >= MAX_DESCRIPTION:
            continue
        if passage.number != out[-1].number + 1 or not _goes_on(start, passage, evidence):
            break
        out.append(passage)
    return tuple(out)


def _goes_on(start: Passage, passage: Passage, evidence: Evidence) -> bool:
    """Whether a sentence is still about what the unit, or its first sentence, is about."""
    own = start.mentions[0].key if start.mentions else ()
    if passage.refers_back or evidence.source_keys.get(start.unit.id) == own:
        return True
    return passage.mentions[0].first > 0 or set(passage.mentions[0].key) <= set(own)


def existence(
    question: Question, evidence: Evidence, matches: Sequence[Match]
) -> Choice | NoChoice:
    """Answer `Yes.` with what the evidence declares the name to be; never answer no."""
    types = [term for term in question.terms if term.is_type or _is_kind(term, question)]
    if not question.names:
        return confirm(question, evidence, matches)
    target = question.names[-1]
    only = replace(question, names=(target,))
    start = _defining(only, [match(only, p, evidence) for p in evidence.passages])
    if start is None:
        return confirm(question, evidence, matches)
    rest = [
        term
        for term in question.terms
        if term not in types and term.weight >= 1.0 and "@alias" not in term.keys
    ]
    if rest:
        return confirm(question, evidence, matches)
    # Without its type and its other names confirmed, what the evidence says stands without a yes.
    sure = all(_has_type(term, start, evidence) for term in types)
    sure &= all(len(m.all_names) == len(question.names) for m in matches if m.passage is start)
    why = f"{start.unit.id} says what `{target.text}` is, so it exists in the evidence."
    return Choice(passages=_with_rest(start, evidence), opening="Yes. " if sure else "", why=why)


def _is_kind(term: Term, question: Question) -> bool:
    """A noun between the opening and a name: `Is there a town called X`."""
    return term.index < question.names[-1].first and "@alias" not in term.keys


def _has_type(term: Term, start: Passage, evidence: Evidence) -> bool:
    unit = evidence.by_unit[start.unit.id]
    return any(term.keys & passage.keys for passage in unit)


def confirm(question: Question, evidence: Evidence, matches: Sequence[Match]) -> Choice | NoChoice:
    """Confirm with a sentence that says all of the question, and never deny from silence."""
    complete = [c for c in chains(question, matches) if c.coverage >= 1.0]
    if not complete or not _has_claimed_type(question, evidence):
        return NoChoice(why=why_nothing(question, matches, found=False))
    best = max(complete, key=lambda chain: chain.score)
    plain = question.negated or any(is_negated(m.passage) for m in best.matches)
    opening = "" if plain or " or " in question.text.lower() else "Yes. "
    passages = tuple(m.passage for m in best.matches)
    return Choice(passages=passages, opening=opening, why=why_chosen(question, [best]))


def _has_claimed_type(question: Question, evidence: Evidence) -> bool:
    """`Is X a river` is confirmed by what X is declared to be, not by another river near it."""
    if not question.names or not question.claims_type:
        return True
    last = question.names[-1]
    types = frozenset().union(*(evidence.types.get(form, frozenset()) for form in last.forms))
    claimed = [term for term in question.terms if term.index >= last.last]
    return all(term.keys & types for term in claimed)
