"""What a walk has found so far, and which of it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from aletheia.graph.link import Links
from aletheia.graph.rank import VectorCache
from aletheia.graph.text import STOPWORDS, fold, name_word, stem, words
from aletheia.graph.units import Unit, UnitKey

if TYPE_CHECKING:
    from aletheia.schema.model import Embedder


Cue = Literal["number", "entity"]

_NUMBER_WORDS = (
    "when", "how many", "how much", "how long", "how old", "how far", "how tall", "how high",
    "how large", "how big", "how deep", "what year", "which year", "what date", "which date",
)  # fmt: skip
_ENTITY_WORDS = ("who", "whom", "whose", "where")


@dataclass(slots=True, kw_only=True, eq=False)
class Candidate:
    """A unit on the way: how far out, through which unit, and its scores so far."""

    unit: Unit
    hop: int
    parent: Candidate | None = None
    on_path: bool = False
    own: float = 0.0
    carried: float = 0.0
    score: float = 0.0

    @property
    def how(self) -> str:
        """Where it comes from, in words."""
        if self.hop == 0:
            return "similarity"
        return "path" if self.on_path else f"hop {self.hop}"


@dataclass(slots=True, kw_only=True)
class Query:
    """A question with the words that are not names."""

    text: str
    stems: list[str]
    cue: Cue | None = None
    vectors: VectorCache | None = None


@dataclass(slots=True, kw_only=True)
class Pool:
    """Candidates found so far, by unit key; `bounded` collects what was cut."""

    candidates: dict[UnitKey, Candidate] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    entered: set[int] = field(default_factory=set)
    bounded: list[str] = field(default_factory=list)


def adjacent(candidates: Iterable[Candidate], groups: Mapping[int, int]) -> dict[int, set[int]]:
    """For each node, the named groups it has an edge to."""
    out: dict[int, set[int]] = {}
    for candidate in candidates:
        key = candidate.unit.key
        if key.kind not in ("in", "out"):
            continue
        for node in candidate.unit.reaches:
            for a, b in ((node, key.owner), (key.owner, node)):
                if b in groups:
                    out.setdefault(a, set()).add(groups[b])
    return out


def inherited(candidate: Candidate, asked: set[str]) -> float:
    """How much of its parent's score a unit may build on.

    It counts as far as the parent matches words of the question that the unit itself does not:
    a chain answers the question together, and the same predicate twice is no chain.
    """
    parent = candidate.parent
    if parent is None:
        return 0.0
    matched = asked.intersection(parent.unit.words)
    if not matched:
        return parent.carried
    return parent.carried * len(matched.difference(candidate.unit.words)) / len(matched)


def detours(candidate: Candidate, asked: set[str]) -> int:
    """How many facts on the way to a unit share no word with the question."""
    before = chain(candidate)[1:]
    return sum(asked.isdisjoint(link.unit.words) for link in before)


def is_named(candidate: Candidate, named: set[int]) -> bool:
    """Tell whether a unit belongs to something the question names."""
    key = candidate.unit.key
    return candidate.hop == 1 if key.kind == "value" else key.owner in named


def _order(candidate: Candidate) -> tuple[float, int, bool, UnitKey]:
    """Best score first; equal ones near before far, what a node is before what it does."""
    key = candidate.unit.key
    return (-candidate.score, candidate.hop, key.kind != "node", key)


def masked(question: str, links: Links) -> list[str]:
    """Search words of the question's content words that are not part of a linked name."""
    spans = [(link.start, link.end) for link in links.nodes]
    spans += [(link.start, link.end) for link in links.values]
    free = [
        word.folded
        for word in words(question)
        if word.folded not in STOPWORDS
        and not any(start <= word.start and word.end <= end for start, end in spans)
    ]
    return [*map(stem, free), *map(name_word, free)]


def select(candidates: Iterable[Candidate], max_units: int) -> list[Candidate]:
    """The best candidates that each add a fact; a chain is kept whole."""
    chosen: dict[UnitKey, Candidate] = {}
    covered: set[int] = set()
    for candidate in sorted(candidates, key=_order):
        missing = [c for c in chain(candidate) if c.unit.key not in chosen]
        rows = candidate.unit.rows
        if len(chosen) + len(missing) > max_units or covered.issuperset(rows):
            continue
        for link in missing:
            chosen[link.unit.key] = link
            covered.update(link.unit.rows)
    return sorted(chosen.values(), key=_order)


def chain(candidate: Candidate) -> list[Candidate]:
    """Give a unit and all the units on the way to it, itself first."""
    out = [candidate]
    while (parent := out[-1].parent) is not None:
        out.append(parent)
    return out


def cue_of(question: str) -> Cue | None:
    """What the question word asks for: a number or date, another entity, or nothing certain."""
    folded = f" {fold(question)} "
    if any(f" {words} " in folded for words in _NUMBER_WORDS):
        return "number"
    return "entity" if any(f" {word} " in folded for word in _ENTITY_WORDS) else None


def fits(unit: Unit, cue: Cue | None) -> bool:
    """Tell whether a unit holds the kind of thing the question word asks for."""
    if cue == "number":
        return any(character.isdigit() for character in unit.text)
    return cue == "entity" and bool(unit.reaches)


def make_query(
    question: str, links: Links, embedder: Embedder | None, cache: VectorCache | None
) -> Query:
    """A question ready to search with; `cache` is reused if it belongs to `embedder`."""
    if embedder is not None and (cache is None or cache.embedder is not embedder):
        cache = VectorCache(embedder)
    return Query(
        text=question,
        stems=masked(question, links),
        cue=cue_of(question),
        vectors=cache if embedder else None,
    )
