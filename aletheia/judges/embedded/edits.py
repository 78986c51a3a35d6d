"""Small changes of meaning that coverage does not see: the words are there, the sense is another.

Kept apart from the score: each rule compares a part with the one evidence sentence that covers
almost all of it, and says what was changed. A change found forbids the verdict "supported".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal

from aletheia.grounding.polarity import NEGATIONS, is_listed_opposite
from aletheia.judges.embedded.evidence import Piece
from aletheia.judges.embedded.swaps import Swap, roles, slots, tails
from aletheia.judges.embedded.tokens import Token

EditKind = Literal[
    "negation", "antonym", "quantifier", "modality", "role", "attribute", "name", "added"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change between [start, end) of the response and a word of the evidence."""

    kind: EditKind
    start: int
    end: int
    against: str


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LEVELS: Final[dict[str, int]] = {
    **dict.fromkeys("all every each everyone everybody always entire whole".split(), 4),
    **dict.fromkeys("most majority mostly usually often".split(), 3),
    **dict.fromkeys("half".split(), 2),
    **dict.fromkeys("some several few many sometimes certain".split(), 1),
    **dict.fromkeys("no none nobody never neither".split(), 0),
}
_POSSIBLE: Final = _set("may might could possibly perhaps suspect suspects believe believes think thinks possible plans plan intends")  # fmt: skip
_CERTAIN: Final = _set("will certain certainly definitely proved proven proves confirmed confirms")
_MUST: Final = _set("must required requires need needs has have obliged mandatory necessary shall")
_ALLOWED: Final = _set("may can could optional allowed choose like")
_IMPLICIT: Final = _set("nobody none never neither nor without forbidden impossible unable")
_PAIRS: Final = tuple(
    tuple(pair.split())
    for pair in (
        "severe mild|like dislike|liked disliked|lost defeated|lost won|lost beat|cheap expensive|"
        "cheaper expensive|large small|largest smallest|big small|allowed forbidden|"
        "required optional|mandatory optional|worked failed|approved rejected|appointed resigned|"
        "opened closed|hired dismissed|for against|remained closed|free costs|rise fall|rising falling|"
        "rose fell|increased fell|increased decreased|summer winter|day night|many few"
    ).split("|")
)
_OPPOSITES: Final = frozenset(_PAIRS) | frozenset((b, a) for a, b in _PAIRS)
_EXCLUSIVE: Final = tuple(
    _set(group + " " + " ".join(f"{word}s" for word in group.split()))
    for group in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "january february march april june july august september october november december",
        "spring summer autumn winter fall",
        "red white blue green yellow black brown grey orange purple",
        "brother sister cousin father mother son daughter uncle aunt nephew niece",
        "metre meter foot feet inch mile kilometre kilometer yard",
        "second minute hour day week month year",
        "euro dollar pound franc crown yen cent",
        "kilogram gram pound ton tonne ounce",
        "hectare acre",
        "million billion trillion thousand",
        "north south east west",
        "gold silver bronze",
    )
)
"""Words of one group name different things of one kind."""
_ALL, _MOST = 4, 3
_ALL_COVERED: Final = 0.85
_NEAR: Final = 5
_SHORT: Final = 24
"""Words of a part up to which it is compared: a longer one changes more than one thing."""
LEAST_COVERED: Final = 0.6
"""Share of a part that one evidence sentence must carry before the two are compared."""


def edits(
    words: Sequence[Token],
    piece: Piece,
    covered: float,
    unheld: AbstractSet[tuple[int, int]] = frozenset(),
) -> list[Edit]:
    """Changes of a part (its words) against the evidence sentence that covers `covered` of it.

    `unheld` are the places of words that no sentence of the evidence holds.
    """
    if covered < LEAST_COVERED or not 0 < len(words) <= _SHORT:
        return []
    theirs = piece.tokens
    found = [*_antonyms(words, theirs)]
    found += _negation(words, theirs, flipped=bool(found))
    found += _quantifiers(words, theirs)
    found += _modality(words, theirs)
    if covered >= _ALL_COVERED:
        found += _swapped("role", roles(words, theirs))
    found += _attributes(words, theirs)
    found += _swapped("attribute", slots(words, theirs, unheld))
    found += _swapped("added", tails(words, theirs, unheld))
    return found


def _swapped(kind: EditKind, found: Iterable[Swap]) -> Iterator[Edit]:
    for swap in found:
        yield _edit(kind, swap.token, swap.against)


def _edit(kind: EditKind, token: Token, against: str) -> Edit:
    return Edit(kind=kind, start=token.start, end=token.end, against=against)


def _antonyms(mine: Sequence[Token], theirs: Sequence[Token]) -> Iterator[Edit]:
    """A word of the part where the evidence has its opposite, and does not have it too."""
    said, known = {t.word for t in mine}, {t.word for t in theirs}
    odd = _negations(mine) % 2 != _negations(theirs) % 2
    for token in mine:
        if token.word in known or odd:
            continue
        for other in sorted(known - said):
            if is_listed_opposite(token.word, other) or (token.word, other) in _OPPOSITES:
                yield _edit("antonym", token, other)
                break


def _negations(words: Iterable[Token]) -> int:
    return sum(map(_is_negation, words))


def _is_negation(token: Token) -> bool:
    return token.word in NEGATIONS or token.word in _IMPLICIT or token.word.endswith("n't")


def _negation(mine: Sequence[Token], theirs: Sequence[Token], *, flipped: bool) -> Iterator[Edit]:
    """A shared word is denied here and not there; an opposite word beside it takes that back."""
    said, known = {t.word for t in mine}, {t.word for t in theirs}
    if flipped or any(
        (a, b) in _OPPOSITES or is_listed_opposite(a, b) for a in said - known for b in known - said
    ):
        return
    denied, denied_there = _denied(mine), _denied(theirs)
    forms, forms_there = {t.form for t in mine}, {t.form for t in theirs}
    new = (denied - denied_there) & forms_there
    lost = (denied_there - denied) & forms
    if _negations(mine) != _negations(theirs) and (new or lost):
        form = min(new or lost)
        yield _edit("negation", next(t for t in mine if t.form == form), form)


def _denied(words: Sequence[Token]) -> set[str]:
    """The first content word after each negation."""
    found: set[str] = set()
    for at, token in enumerate(words):
        if _is_negation(token):
            after = [t.form for t in words[at + 1 : at + _NEAR] if t.kind != "function"]
            found.update(form for form in after[:1])
    return found


def _quantifiers(mine: Sequence[Token], theirs: Sequence[Token]) -> Iterator[Edit]:
    """The part speaks of more of the same thing than the evidence does, or of none."""
    for at, token in enumerate(mine):
        level = _LEVELS.get(token.word)
        if level is None:
            continue
        noun = _noun_after(mine, at)
        others = [
            (t, _LEVELS[t.word])
            for i, t in enumerate(theirs)
            if t.word in _LEVELS and (noun is None or _noun_after(theirs, i) in (noun, None))
        ]
        if any(t.word == token.word or other == level for t, other in others):
            continue
        for other, known in others:
            less = noun is not None and level <= 1 and known == _ALL and token.word != "certain"
            if level > known or level == 0 or less:
                yield _edit("quantifier", token, other.word)
                break
        else:
            share = _share(theirs, noun) if not others and level in (_MOST, _ALL, 0) else None
            if share is not None:
                yield _edit("quantifier", token, share)


def _share(words: Sequence[Token], noun: str | None) -> str | None:
    """`7 of 30` before the noun that the part says all, most or none of."""
    for a, of, b, named in zip(words, words[1:], words[2:], words[3:], strict=False):
        counted = a.kind == b.kind == "number" and of.word == "of" and named.form == noun
        if counted and a.form != b.form:
            return f"{a.word} of {b.word}"
    return None


def _noun_after(words: Sequence[Token], at: int) -> str | None:
    following = (t.form for t in words[at + 1 : at + 5] if t.kind in ("word", "name"))
    return next(following, None)


def _modality(mine: Sequence[Token], theirs: Sequence[Token]) -> Iterator[Edit]:
    """What the evidence holds possible is said for certain, or the other way round."""
    said, known = {t.word for t in mine}, {t.word for t in theirs}
    pairs = (
        (_CERTAIN, _POSSIBLE, _POSSIBLE), (_set("must"), _ALLOWED, _MUST),
        (_set("may can optional"), _set("must required mandatory need"), _ALLOWED),
    )  # fmt: skip
    for mine_is, theirs_is, also in pairs:
        word = min(said & mine_is - known, default=None)
        other = min(known & theirs_is, default=None)
        if word is not None and other is not None and not (said & also - {word}):
            yield _edit("modality", next(t for t in mine if t.word == word), other)
            return


def _attributes(mine: Sequence[Token], theirs: Sequence[Token]) -> Iterator[Edit]:
    """A day, month, season, colour, ... where the evidence sentence has another one."""
    said, known = {t.word for t in mine}, {t.word for t in theirs}
    for group in _EXCLUSIVE:
        new, lost = said & group - known, known & group - said
        if new and lost:
            token = next(t for t in mine if t.word in new)
            yield _edit("attribute", token, min(lost))
