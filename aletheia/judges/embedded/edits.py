"""Small changes of meaning that coverage does not see: the words are there, the sense is another.

Kept apart from the score: each rule compares a part with the one evidence sentence that covers
almost all of it, and says what was changed. A change found forbids the verdict "supported".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from aletheia.grounding.polarity import NEGATIONS
from aletheia.judges.embedded.edit_words import (
    ADJECTIVES,
    ALLOWED,
    CERTAIN,
    EXCLUSIVE,
    HEDGED,
    IMPLICIT,
    LEVELS,
    MODALS,
    MUST,
    OPEN,
    POSSIBLE,
    are_opposites,
)
from aletheia.judges.embedded.frames import added, misplaced, turned
from aletheia.judges.embedded.lines import Item, Line
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


_BE: Final = frozenset("be been being is are was were".split())
_ALL, _MOST = 4, 3
_ALL_COVERED: Final = 0.85
_NEAR: Final = 5
_SMALL: Final = frozenset(
    "the a an it he she they his her its their had was were is are and".split()
)
_SHORT: Final = 24
"""Words of a part up to which it is compared: a longer one changes more than one thing."""
LEAST_COVERED: Final = 0.6
"""Share of a part that one evidence sentence must carry before the two are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A part and the evidence sentence nearest to it.

    `covered` is the share of the part that this sentence carries, `by_unit` what the best unit
    does. `held` are its forms that stand anywhere in the evidence, `inexact` the places of the
    words that do not, `unheld` of those that not even a like word stands for.
    """

    mine: Line
    theirs: Line
    covered: float
    by_unit: float
    held: AbstractSet[str]
    inexact: AbstractSet[tuple[int, int]]
    unheld: AbstractSet[tuple[int, int]]


def edits(pair: Compared) -> list[Edit]:
    """Changes of a part against the evidence sentence that covers most of it."""
    words, theirs = pair.mine.words, pair.theirs.words
    if pair.covered < LEAST_COVERED or not 0 < len(words) <= _SHORT:
        return []
    found = [*_antonyms(words, theirs)]
    found += _negation(words, theirs, flipped=bool(found))
    found += _quantifiers(words, theirs)
    found += _modality(words, theirs)
    found += changed_places(pair)
    found += _attributes(words, theirs)
    found += _swapped("attribute", slots(words, theirs, pair.unheld))
    found += _swapped("added", tails(words, theirs, pair.unheld))
    found += _framed("added", added(pair.mine, pair.theirs, pair.inexact, pair.unheld))
    return found


def changed_places(pair: Compared) -> list[Edit]:
    """Words that the evidence holds and that stand for one another in the part."""
    words, theirs = pair.mine.words, pair.theirs.words
    if pair.by_unit < _ALL_COVERED or not 0 < len(words) <= _SHORT:
        return []
    return [
        *_swapped("role", roles(words, theirs)),
        *_framed("role", turned(pair.mine, pair.theirs)),
        *_framed("attribute", misplaced(pair.mine, pair.theirs, pair.held)),
    ]


def _framed(kind: EditKind, found: Iterable[tuple[Item, str]]) -> Iterator[Edit]:
    for item, against in found:
        yield _edit(kind, item.token, against)


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
            if _turns_the_order(mine, token.word, theirs, other):
                continue
            if are_opposites(token.word, other):
                yield _edit("antonym", token, other)
                break


def _turns_the_order(mine: Sequence[Token], word: str, theirs: Sequence[Token], other: str) -> bool:
    """`A after B` for `B before A`: what follows the one word does not follow the other."""
    if {word, other} != {"before", "after"}:
        return False
    after, after2 = (
        {t.word for t in words[at + 1 : at + _NEAR] if t.word not in _SMALL}
        for words, at in ((mine, _place(mine, word)), (theirs, _place(theirs, other)))
    )
    return not after & after2


def _place(words: Sequence[Token], word: str) -> int:
    return next(i for i, token in enumerate(words) if token.word == word)


def _negations(words: Iterable[Token]) -> int:
    return sum(map(_is_negation, words))


def _is_negation(token: Token) -> bool:
    return token.word in NEGATIONS or token.word in IMPLICIT or token.word.endswith("n't")


def _negation(mine: Sequence[Token], theirs: Sequence[Token], *, flipped: bool) -> Iterator[Edit]:
    """A shared word is denied here and not there; an opposite word beside it takes that back."""
    said, known = {t.word for t in mine}, {t.word for t in theirs}
    if flipped or any(are_opposites(a, b) for a in said - known for b in known - said):
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
        level = LEVELS.get(token.word)
        if level is None:
            continue
        noun = _noun_after(mine, at)
        others = [
            (t, LEVELS[t.word])
            for i, t in enumerate(theirs)
            if t.word in LEVELS and (noun is None or _noun_after(theirs, i) in (noun, None))
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
        (CERTAIN, POSSIBLE, POSSIBLE), (frozenset(("must",)), ALLOWED, MUST),
        (frozenset(("may", "can", "optional")), frozenset(("must", "required", "mandatory", "need")), ALLOWED),
    )  # fmt: skip
    for mine_is, theirs_is, also in pairs:
        word = min(said & mine_is - known, default=None)
        other = min(known & theirs_is, default=None)
        if word is None or other is None or said & also - {word}:
            continue
        if _is_of_same_verb(mine, word, theirs, other):
            yield _edit("modality", next(t for t in mine if t.word == word), other)
            return
    if not said & (POSSIBLE | OPEN):
        yield from _said_as_done(mine, theirs)
    elif not known & (POSSIBLE | OPEN | HEDGED):
        yield from _said_as_open(mine)


def _said_as_open(mine: Sequence[Token]) -> Iterator[Edit]:
    """`may have opened` or `might open` of what the evidence tells as a fact."""
    for token, following in pairwise(mine):
        perfect = token.word in MODALS and following.word == "have"
        if perfect or token.word == "might":
            yield _edit("modality", token, "")
            return


def _is_of_same_verb(mine: Sequence[Token], word: str, theirs: Sequence[Token], other: str) -> bool:
    """Whether a changed permission or duty is of the same thing; certainty is of all that is said."""
    if word == "certain":
        at = _place(mine, word)
        return all(token.kind == "function" for token in mine[at + 1 : at + 2])
    if word in CERTAIN or word in ADJECTIVES or other in ADJECTIVES:
        return word not in ("may", "can")
    return _next_content(mine, word) == _next_content(theirs, other)


def _next_content(words: Sequence[Token], word: str) -> str | None:
    at = _place(words, word)
    return next((t.form for t in words[at + 1 :] if t.kind != "function"), None)


def _said_as_done(mine: Sequence[Token], theirs: Sequence[Token]) -> Iterator[Edit]:
    """A verb that the evidence has after `plans to`, `might`, ... and the part by itself."""
    done = {form: t for t in mine if t.word.endswith("ed") for form in (t.word[:-1], t.word[:-2])}
    for at, token in enumerate(theirs):
        verb = done.get(token.word)
        if verb is None or token.word == verb.word or at == 0 or _is_passive(mine, verb):
            continue
        before = theirs[at - 1].word
        sign = theirs[at - 2].word if before in ("to", "not", "still") and at > 1 else before
        if sign in OPEN:
            yield _edit("modality", verb, sign)
            return


def _is_passive(words: Sequence[Token], verb: Token) -> bool:
    at = next(i for i, token in enumerate(words) if token is verb)
    return any(token.word in _BE for token in words[max(0, at - 2) : at])


def _attributes(mine: Sequence[Token], theirs: Sequence[Token]) -> Iterator[Edit]:
    """A day, month, season, colour, ... where the evidence sentence has another one."""
    said, known = {t.word for t in mine}, {t.word for t in theirs}
    for group in EXCLUSIVE:
        new, lost = said & group - known, known & group - said
        if not new or not lost:
            continue
        plain = {word.rstrip("s") for word in known}
        token = next((t for t in mine if t.word in new and t.word.rstrip("s") not in plain), None)
        if token is not None:
            yield _edit("attribute", token, min(lost))
