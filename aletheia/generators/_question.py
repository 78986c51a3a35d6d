"""What a question asks: the names it gives, the kind of answer, and the relation in its words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from aletheia.generators._grammar import Phrasing
from aletheia.generators._lexis import ABOUT_ANSWER, ABOUT_EVIDENCE, NEGATIONS, Kind
from aletheia.generators._linking import Name, link
from aletheia.generators._passages import Evidence
from aletheia.generators._relations import CONVERSE
from aletheia.generators._terms import Token, tokens

Form = Literal["wh", "yes_no", "existence", "description"]
"""`wh` asks for a piece, `yes_no` for a confirmation, `existence` whether a name is known at all,
`description` for what a name is."""

SMALL_WEIGHT: Final = 0.25
"""Of a type or a light word. Words of the relation weigh 1."""

FOREIGN_WEIGHT: Final = 0.5
"""Of a word that the whole evidence lacks, where it is not the thing asked for itself."""

_CONTRACTED: Final = re.compile(
    r"(?:(?<=\bwho)|(?<=\bhow)|(?<=\bwhat)|(?<=\bwhen)|(?<=\bwhere))['’]s\b", re.IGNORECASE
)
_ASPECTS: Final = frozenset({"@begin", "@end"})
_EVENTS: Final = frozenset({"@found", "@open", "@close"})
"""Events that begin or end something themselves, so that the aspect may stay unsaid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A content word of the question.

    `weight` says how much of the question it is; a `required` one cannot be left out: what is
    counted (`how many sick days`), what is wanted of a name (`the depth of X`), the main verb.
    """

    text: str
    keys: frozenset[str]
    weight: float
    index: int
    is_type: bool = False
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An analysed question.

    `unknown` are names that stand nowhere in the evidence, `ambiguous` those that several longer
    names contain. `claims_type` marks `is X a river`.
    """

    text: str
    tokens: tuple[Token, ...]
    form: Form
    kind: Kind
    names: tuple[Name, ...]
    terms: tuple[Term, ...]
    numbers: tuple[str, ...] = ()
    wants_many: bool = False
    negated: bool = False
    claims_type: bool = False
    unknown: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()

    @property
    def relation(self) -> tuple[Term, ...]:
        """The terms that carry the relation: neither types nor light words."""
        return tuple(term for term in self.terms if term.weight > SMALL_WEIGHT)


def analyse(text: str, evidence: Evidence) -> Question:
    """Read a question in the light of the names that the evidence holds."""
    found = tokens(_CONTRACTED.sub(" is", text))
    linked = link(found, evidence)
    named = frozenset(i for name in linked.names for i in range(name.first, name.last))
    phrasing = Phrasing(tokens=found, named=named)
    terms = _terms(phrasing, evidence, linked.names)
    return Question(
        text=text,
        tokens=found,
        form=_form(phrasing, terms),
        kind=phrasing.kind(),
        names=linked.names,
        terms=(*terms, *_place_term(phrasing, terms)),
        numbers=tuple(t.folded for i, t in enumerate(found) if t.is_number and i not in named),
        wants_many=phrasing.wants_many(),
        negated=any(token.folded in NEGATIONS for token in found),
        claims_type=phrasing.claims_type(linked.names),
        unknown=linked.unknown,
        ambiguous=linked.ambiguous,
    )


def _form(phrasing: Phrasing, terms: Sequence[Term]) -> Form:
    bare = bool(phrasing.named) and not any(term.weight > SMALL_WEIGHT for term in terms)
    if phrasing.is_yes_no:
        known = bare and phrasing.about(ABOUT_EVIDENCE)
        return "existence" if known or phrasing.asks_existence() else "yes_no"
    asks_what = phrasing.asks_what_is() and phrasing.kind() in ("what", "who")
    if bare and (asks_what or phrasing.is_imperative or phrasing.about(ABOUT_ANSWER)):
        return "description"
    return "wh"


def _terms(phrasing: Phrasing, evidence: Evidence, names: Sequence[Name]) -> tuple[Term, ...]:
    indexes = [i for i in range(len(phrasing.tokens)) if phrasing.is_content(i)]
    return tuple(_term(phrasing, index, evidence, names) for index in indexes)


def _term(phrasing: Phrasing, index: int, evidence: Evidence, names: Sequence[Name]) -> Term:
    token = phrasing.tokens[index]
    is_type = phrasing.is_type(index, evidence, names)
    small = is_type or phrasing.is_light(index)
    aspect = bool(token.keys & _ASPECTS) and not token.keys & _EVENTS
    required = not small and (aspect or phrasing.is_required(index))
    weight = SMALL_WEIGHT if small else 1.0
    if not small and not required and _is_foreign(token, evidence):
        weight = FOREIGN_WEIGHT
    return Term(
        text=token.text, keys=token.keys, weight=weight, index=index, is_type=is_type,
        required=required,
    )  # fmt: skip


def _is_foreign(token: Token, evidence: Evidence) -> bool:
    """A word that no sentence holds in any form may be a mere turn of phrase."""
    keys = token.keys | {CONVERSE[key] for key in token.keys if key in CONVERSE}
    return not keys & evidence.keys


def _place_term(phrasing: Phrasing, terms: Sequence[Term]) -> tuple[Term, ...]:
    """`Where is X`, `in which town is X`: being somewhere is the relation, unsaid."""
    clause = phrasing.place_clause()
    if clause is None or phrasing.kind() == "when":
        return ()
    copula, end = clause
    if any(copula < t.index < end and not t.is_type and t.weight >= 1.0 for t in terms):
        return ()
    keys: frozenset[str] = frozenset().union(*(t.keys for t in terms if t.index < copula))
    if not keys or not any("@located" in term.keys for term in terms):
        keys |= {"@located"}
    text = " ".join(phrasing.words(0, copula + 1))
    return (Term(text=text, keys=keys, weight=1.0, index=copula),)
