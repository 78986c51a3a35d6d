"""Sentences, and chains of sentences, weighed against a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from aletheia.generators._kinds import new_names
from aletheia.generators._match import Match
from aletheia.generators._question import Question, Term

NEAR_PENALTY: Final = 0.1
"""For a name that only the surroundings of a sentence give."""
STEP_PENALTY: Final = 0.08
"""For each further sentence of a chain."""
CLASS_PENALTY: Final = 0.05
"""For words met only through their relation class, and not by their stem."""
RANK_PENALTY: Final = 0.002
"""For each place further down in the evidence: retrieval decides between equals."""
MAX_CHAIN: Final = 3
MAX_FRONTIER: Final = 300
"""Chains of one length that are built upon, best evidence first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One sentence or several that lead from one to the next.

    `coverage` is the share of the relation words that it says, `score` orders the answers.
    """

    matches: tuple[Match, ...]
    score: float
    coverage: float

    @property
    def last(self) -> Match:
        """The sentence that holds the answer."""
        return self.matches[-1]

    @property
    def terms(self) -> frozenset[int]:
        """Indexes of all terms it says."""
        return terms_of(self.matches)


def chains(question: Question, matches: Sequence[Match]) -> list[Chain]:
    """All chains that give every name, number and required word of the question.

    A chain starts at a name of the question; each sentence adds a word of the relation and
    speaks of something that the one before it brought up.
    """
    relevant = [m for m in matches if m.terms or m.all_names or numbers_in(question, [m])]
    found: list[tuple[Match, ...]] = [(m,) for m in relevant]
    frontier = [c for c in found if _starts(question, c[0])][:MAX_FRONTIER]
    for _ in range(MAX_CHAIN - 1):
        longer = (
            (*chain, m)
            for chain in frontier
            for m in relevant
            if m not in chain and _adds(question, chain, m) and _linked(question, chain[-1], m)
        )
        frontier = [chain for chain, _ in zip(longer, range(MAX_FRONTIER), strict=False)]
        found.extend(frontier)
    return [_scored(question, chain) for chain in found if is_complete(question, chain)]


def terms_of(chain: Iterable[Match]) -> frozenset[int]:
    """Indexes of the terms that the sentences say together."""
    return frozenset(i for m in chain for i in m.terms)


def _starts(question: Question, first: Match) -> bool:
    anchored = first.all_names or numbers_in(question, [first]) or not question.names
    return bool(anchored) and _adds(question, (), first)


def _adds(question: Question, chain: Sequence[Match], candidate: Match) -> bool:
    """Whether the sentence says something of the relation that the chain does not say yet."""
    return any(question.terms[i].weight >= 1.0 for i in candidate.terms - terms_of(chain))


def _linked(question: Question, one: Match, other: Match) -> bool:
    """Whether two sentences speak of one thing that the question does not name."""
    bridge = {name for name, _ in new_names(question, one.passage)} & other.passage.names
    if bridge:
        return True
    same_unit = one.passage.unit.id == other.passage.unit.id
    return same_unit and abs(one.passage.number - other.passage.number) == 1


def is_complete(question: Question, chain: Sequence[Match]) -> bool:
    """Whether the sentences give every name, number and required word of the question."""
    names = frozenset().union(*(m.all_names for m in chain))
    covered = terms_of(chain)
    if any(term.required and i not in covered for i, term in enumerate(question.terms)):
        return False
    return len(names) == len(question.names) and len(numbers_in(question, chain)) == len(
        set(question.numbers)
    )


def numbers_in(question: Question, chain: Iterable[Match]) -> set[str]:
    """Numbers of the question that the sentences hold."""
    words = {token.folded for m in chain for token in m.passage.tokens}
    return {number for number in question.numbers if number in words}


def _scored(question: Question, chain: tuple[Match, ...]) -> Chain:
    covered = terms_of(chain)
    literal = frozenset(i for m in chain for i in m.literal)
    inside = frozenset(i for m in chain for i in m.names)
    near = frozenset(i for m in chain for i in m.names_near) - inside
    indexed = list(enumerate(question.terms))
    score = _share(indexed, covered) - CLASS_PENALTY * (1 - _share(indexed, literal))
    score -= NEAR_PENALTY * len(near) + STEP_PENALTY * (len(chain) - 1)
    score -= RANK_PENALTY * min(m.rank for m in chain)
    relation = [(i, term) for i, term in indexed if term in question.relation]
    return Chain(matches=chain, score=score, coverage=_share(relation, covered))


def _share(terms: Sequence[tuple[int, Term]], covered: frozenset[int]) -> float:
    """Weighted share of `terms` that is covered; 1 where there is nothing to cover."""
    total = sum(term.weight for _, term in terms)
    return sum(term.weight for i, term in terms if i in covered) / total if total else 1.0
