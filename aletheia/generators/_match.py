"""How much of a question a sentence, or a chain of sentences, says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from aletheia.generators._lexis import UNITS
from aletheia.generators._linking import Name
from aletheia.generators._passages import Evidence, NameKey, Passage
from aletheia.generators._question import Question, Term
from aletheia.generators._relations import CONVERSE, PREPOSITIONAL, ROLELESS
from aletheia.generators._roles import BE, conflict, converse_conflict, role
from aletheia.generators._terms import Token

PLACE_PREPOSITIONS: Final = frozenset(
    "in at on near outside inside within off beside between".split()
)
_MEASURES: Final = frozenset(
    "@length @height @depth @width @weight @speed @duration @area @temperature @age @cost".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What one sentence says of a question; `rank` is its place in the evidence.

    `terms` are the indexes of the covered terms, `names` those of the names; `names_near` those
    that only the unit gives (its source, an alias, the sentence before).
    """

    passage: Passage
    rank: int
    terms: frozenset[int]
    literal: frozenset[int]
    names: frozenset[int]
    names_near: frozenset[int]

    @property
    def all_names(self) -> frozenset[int]:
        """Names given by the sentence or its surroundings."""
        return self.names | self.names_near


def match(question: Question, passage: Passage, evidence: Evidence, *, rank: int = 0) -> Match:
    """Compare one sentence with the question."""
    at = {
        i: found for i, name in enumerate(question.names) if (found := name.at(passage)) is not None
    }
    near = {
        i
        for i, name in enumerate(question.names)
        if i not in at and _is_near(name, passage, evidence)
    }
    keys = _relation_keys(question, passage)
    covered: set[int] = set()
    literal: set[int] = set()
    for i, term in enumerate(question.terms):
        if term.is_type:
            if term.keys & passage.keys or _declared(term, passage, evidence):
                covered.add(i)
        elif _covers(term, keys) and fits_roles(question, term, passage, at):
            covered.add(i)
            if any(not key.startswith("@") for key in term.keys & keys):
                literal.add(i)
    return Match(
        passage=passage, rank=rank, terms=frozenset(covered), literal=frozenset(literal),
        names=frozenset(at), names_near=frozenset(near),
    )  # fmt: skip


def _covers(term: Term, keys: frozenset[str]) -> bool:
    return bool(term.keys & keys) or any(CONVERSE.get(key) in keys for key in term.keys)


def _relation_keys(question: Question, passage: Passage) -> frozenset[str]:
    """Keys of the words outside names, with what a copula or a unit of measure implies."""
    names = {i for m in passage.mentions if m.last - m.first > 1 for i in range(m.first, m.last)}
    outside = [token for i, token in enumerate(passage.tokens) if i not in names]
    if question.kind != "when":
        outside = [token for token in outside if token.folded not in PREPOSITIONAL]
    keys = frozenset().union(*(token.keys for token in outside))
    return keys | implied(passage)


def implied(passage: Passage) -> frozenset[str]:
    """`X is in Y` says where X is, and `6 euros` what it costs, without a word for it."""
    found: set[str] = set()
    for token, following in pairwise(passage.tokens):
        if token.folded in BE and following.folded in PLACE_PREPOSITIONS:
            found.add("@located")
    measures = {UNITS[token.folded] for token in passage.tokens if token.folded in UNITS}
    if measures and not _MEASURES & passage.keys:
        found |= measures
    return frozenset(found)


def _declared(term: Term, passage: Passage, evidence: Evidence) -> bool:
    return any(term.keys & evidence.types.get(name, frozenset()) for name in passage.names)


def _is_near(name: Name, passage: Passage, evidence: Evidence) -> bool:
    """Whether the sentence speaks of a name that stands in its title, or in the sentence before."""
    if not passage.refers_back:
        return False
    unit = passage.unit
    source = evidence.source_keys.get(unit.id, ())
    if source and any(form == source or _within(form, source) for form in name.forms):
        return True
    before = [p for p in evidence.by_unit[unit.id] if p.number < passage.number]
    named = [p for p in before if p.mentions]
    return any(name.at(p) is not None for p in (*before[:1], *named[-1:]))


def _within(form: NameKey, source: NameKey) -> bool:
    return any(source[i : i + len(form)] == form for i in range(len(source) - len(form) + 1))


# --- roles ------------------------------------------------------------------------------------


def fits_roles(question: Question, term: Term, passage: Passage, at: dict[int, int]) -> bool:
    """Whether some word for the relation has the question's names in the question's roles."""
    where = _positions(term, passage.tokens)
    if term.keys & ROLELESS or _asks_aside(question):
        return True
    return not where or any(_fits(question, term, passage, at, index) for index in where)


def _asks_aside(question: Question) -> bool:
    """When, where or how many, with one name: `X began` and `X was founded` say the same of it."""
    return len(question.names) < 2 and question.kind in ("when", "where", "number")


def _fits(question: Question, term: Term, passage: Passage, at: dict[int, int], index: int) -> bool:
    clash = conflict if term.keys & passage.tokens[index].keys else converse_conflict
    for i, first in at.items():
        name = question.names[i]
        asked = role(question.tokens, term.index, name.first, name.last)
        said = role(passage.tokens, index, first, _end(name, passage, first))
        if clash(asked, said):
            return False
    return True


def _end(name: Name, passage: Passage, first: int) -> int:
    return next(
        (m.last for m in passage.mentions if m.first == first), first + min(map(len, name.forms))
    )


def _positions(term: Term, tokens: Sequence[Token]) -> list[int]:
    wanted = term.keys | {CONVERSE[key] for key in term.keys if key in CONVERSE}
    return [i for i, token in enumerate(tokens) if token.keys & wanted]
