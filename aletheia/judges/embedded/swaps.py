"""Parts that have changed places, and slots that hold another value.

Each rule compares a part with one evidence sentence that covers almost all of it. It speaks only
where both sentences have the same frame: the same verb, the same neighbours, the same connector.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from aletheia.judges.embedded.tokens import Token
from aletheia.judges.embedded.words import word_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """The word of the part that shows it, and what the evidence has instead."""

    token: Token
    against: str


_REACH: Final = 7
_BY: Final = frozenset(("by",))
_BE: Final = frozenset("was were is are been be being".split())
_CONNECTORS: Final = frozenset("than because before after since although despite unless if".split())
_PREPOSITIONS: Final = frozenset("on in at by from to with of for since until during".split())
_COORDINATORS: Final = frozenset(("and", "or", "with", "both", "between"))
_AFTER_CONNECTOR: Final = 4
_ALIKE: Final = (0.1, 0.65)
"""Cosine of two words that fill one slot with different values: `physics` and `chemistry`."""
_TAIL: Final = 2
_LONGEST: Final = 30
"""Words of an evidence sentence up to which its numbers and names are compared by their place."""
_NOUN_FOLLOWS: Final = frozenset(
    "a an the of with on in from by and or as for at his her its their this that".split()
)
"""Words between which and the next one no verb stands."""
_SHORT: Final = 12
"""Words of a part up to which its last or first words are compared without such a word."""
_ADDS: Final = frozenset(
    "and who which whose because with at for despite when while after before to by as all".split()
)
"""Words before a tail that adds something."""


def roles(mine: Sequence[Token], theirs: Sequence[Token]) -> Iterator[Swap]:
    """What stands on either side of a verb, a connector, or of two numbers, has changed places."""
    rules = (_ways, _verbs, _connected, _crossed, _exchanged, _turned)
    for rule in rules:
        found = rule(mine, theirs)
        if found is not None:
            yield found
            return


def _content(words: Sequence[Token]) -> list[Token]:
    return [token for token in words if token.kind != "function"]


def _ways(mine: Sequence[Token], theirs: Sequence[Token]) -> Swap | None:
    """`from A to B` for `from B to A`."""
    here, there = _ends_of_way(mine), _ends_of_way(theirs)
    if here and there and here == there[::-1] and here[0] != here[1]:
        return Swap(token=mine[0], against=" to ".join(there))
    return None


def _ends_of_way(words: Sequence[Token]) -> tuple[str, str] | None:
    """The words after `from` and `to`, where both stand once."""
    after = {a.word: b.form for a, b in pairwise(words) if a.word in ("from", "to")}
    return (after["from"], after["to"]) if len(after) == 2 else None


def _verbs(mine: Sequence[Token], theirs: Sequence[Token]) -> Swap | None:
    """Names on both sides of the same verb."""
    shared = {t.form for t in _content(mine)} & {t.form for t in theirs}
    names = {t.form for t in (*mine, *theirs) if t.kind == "name"}
    for at, verb in enumerate(mine):
        if verb.kind != "word" or verb.form not in shared or not 0 < at < len(mine) - 1:
            continue
        place = next(i for i, t in enumerate(theirs) if t.form == verb.form)
        left, right = _sides(mine, at, shared & names)
        left2, right2 = _sides(theirs, place, shared & names)
        crossed = min(len(left & right2), len(right & left2))
        kept = min(len(left & left2), len(right & right2))
        if _is_passive(mine, at) != _is_passive(theirs, place):
            crossed, kept = kept, crossed
        if crossed and not kept:
            return Swap(token=verb, against=verb.word)
    return None


def _sides(words: Sequence[Token], at: int, shared: AbstractSet[str]) -> tuple[set[str], set[str]]:
    """Shared words near the verb that stand on one side of it only."""
    own = words[at].form
    left = {t.form for t in words[max(0, at - _REACH) : at] if t.form in shared and t.form != own}
    right = {t.form for t in words[at + 1 : at + _REACH] if t.form in shared and t.form != own}
    return left - right, right - left


def _is_passive(words: Sequence[Token], at: int) -> bool:
    before = {t.word for t in words[max(0, at - 3) : at]}
    after = {t.word for t in words[at + 1 : at + 4]}
    return bool(before & _BE) and bool(after & _BY)


def _connected(mine: Sequence[Token], theirs: Sequence[Token]) -> Swap | None:
    """`A is larger than B` for `B is larger than A`; the same with `because`, `before`, ..."""
    for at, token in enumerate(mine):
        places = [i for i, other in enumerate(theirs) if other.word == token.word]
        if token.word not in _CONNECTORS or len(places) != 1:
            continue
        here, there = mine[at + 1 :], theirs[places[0] + 1 :]
        after = {t.form for t in _content(here)[:_AFTER_CONNECTOR]}
        after2 = {t.form for t in _content(there)[:_AFTER_CONNECTOR]}
        before = {t.form for t in _content(mine[:at])}
        before2 = {t.form for t in _content(theirs[: places[0]])}
        if after and after2 and not after & after2 and after <= before2 and after2 <= before:
            return Swap(token=token, against=token.word)
    return None


def _crossed(mine: Sequence[Token], theirs: Sequence[Token]) -> Swap | None:
    """`revenue rose, profit fell` for `profit rose, revenue fell`."""
    between = any(token.word == "between" for token in mine)
    if between or len(theirs) > _LONGEST or _passives(mine) != _passives(theirs):
        return None
    here = [(a, b) for a, b in pairwise(_content(mine)) if a.form != b.form]
    there = {(a.form, b.form) for a, b in pairwise(_content(theirs))}
    for first, (a, b) in enumerate(here):
        for c, d in here[first + 1 :]:
            swapped = {(c.form, b.form), (a.form, d.form)} <= there
            kept = (a.form, b.form) in there or (c.form, d.form) in there
            if swapped and not kept and a.form != c.form and b.form != d.form:
                return Swap(token=a, against=c.word)
    return None


def _exchanged(mine: Sequence[Token], theirs: Sequence[Token]) -> Swap | None:
    """Two names have changed places, and every other word stands in the same order."""
    if _passives(mine) != _passives(theirs) or len(theirs) > _LONGEST:
        return None
    forms, forms2 = [t.form for t in _content(mine)], [t.form for t in _content(theirs)]
    shared = [form for form in forms if form in set(forms2)]
    names = list(dict.fromkeys(t.form for t in mine if t.kind == "name" and t.form in forms2))
    # A name at the head of a sentence looks like any word there; the other sentence shows it.
    names += [t.form for t in mine if t.kind == "word" and _is_name(t.form, theirs)]
    others = [form for form in shared if form not in names]
    if len(shared) < len(forms) or len(set(forms)) < len(forms):
        return None
    if len(names) < 2 or len(others) < 2:
        return None
    places = [forms2.index(form) for form in others]
    if any(a > b for a, b in pairwise(places)):
        return None
    first, last = min(names, key=forms.index), max(names, key=forms.index)
    between = forms[forms.index(first) : forms.index(last)]
    turned = forms2.index(first) > forms2.index(last) and any(form in others for form in between)
    # `On Monday it left` for `it left on Monday`: the same preposition, another place.
    adverbial = any(_before(mine, form) & _before(theirs, form) for form in (first, last))
    if turned and not adverbial:
        return Swap(token=next(t for t in mine if t.form == first), against=last)
    return None


def _before(words: Sequence[Token], form: str) -> set[str]:
    """The preposition directly before a word, where there is one."""
    at = next(i for i, token in enumerate(words) if token.form == form)
    return {token.word for token in words[max(0, at - 1) : at]} & _PREPOSITIONS


def _is_name(form: str, words: Sequence[Token]) -> bool:
    return any(token.kind == "name" and token.form == form for token in words)


def _passives(words: Sequence[Token]) -> int:
    return sum(token.word == "by" for token in words)


def _turned(mine: Sequence[Token], theirs: Sequence[Token]) -> Swap | None:
    """`A bought it from B` where the evidence says who bought it from A."""
    where = {token.form: i for i, token in enumerate(theirs)}
    for at, (name, verb) in enumerate(pairwise(mine)):
        place = where.get(verb.form)
        if name.kind == "function" or verb.kind != "word" or place is None or at + 2 >= len(mine):
            continue
        named = name.kind == "name" or _is_name(name.form, theirs)
        right = theirs[place + 1 : place + 1 + _REACH]
        left = theirs[:place]
        found = next((i for i, t in enumerate(right) if t.form == name.form), None)
        if not named or found is None or any(t.form == name.form for t in left):
            continue
        introduced = {t.word for t in right[max(0, found - 3) : found]} & {"from", "to", "against"}
        if introduced and not {t.word for t in mine[max(0, at - 3) : at]} & introduced:
            return Swap(token=name, against=" ".join(sorted(introduced)))
    return None


def slots(
    mine: Sequence[Token], theirs: Sequence[Token], unheld: AbstractSet[tuple[int, int]]
) -> Iterator[Swap]:
    """A word that no unit holds, where the evidence sentence has another between the same words.

    It is the only such word of the part; all others stand in the sentence.
    """
    at = [i for i, token in enumerate(mine) if (token.start, token.end) in unheld]
    words = _content(mine)
    # What begins with the word is an order or an item: such words have many names there.
    if len(at) != 1 or at[0] == 0 or len(words) < 3 or mine[0].kind == "number":
        return
    if mine[at[0]].kind not in ("word", "name"):
        return
    token = mine[at[0]]
    held = {t.form for t in theirs}
    if any(t.form not in held for t in words if t is not token):
        return
    said = {t.form for t in words}
    for rival in _between(mine, at[0], theirs):
        if rival.form not in said and _is_alike(token.word, rival.word):
            yield Swap(token=token, against=rival.word)
            return


def _between(mine: Sequence[Token], at: int, theirs: Sequence[Token]) -> Iterator[Token]:
    """The words of the evidence between the same words, function words too; an end fits any."""
    before = mine[at - 1].word if at else None
    after = mine[at + 1].word if at + 1 < len(mine) else None
    if before not in _NOUN_FOLLOWS and (mine[at - 1].kind == "function" or len(mine) > _SHORT):
        return
    for i, token in enumerate(theirs):
        left = theirs[i - 1].word if i else None
        right = theirs[i + 1].word if i + 1 < len(theirs) else None
        plain = token.kind in ("word", "name")
        if plain and before in (None, left) and after in (None, right):
            yield token


def _is_alike(word: str, other: str) -> bool:
    import numpy as np

    first, second = word_table().vectors_of([word, other])
    likeness = float(np.dot(first, second))
    return _ALIKE[0] <= likeness <= _ALIKE[1]


def tails(
    mine: Sequence[Token], theirs: Sequence[Token], unheld: AbstractSet[tuple[int, int]]
) -> Iterator[Swap]:
    """Two or more last words that no unit holds, after a part that the sentence holds all of."""
    words = _content(mine)
    cut = len(words)
    while cut and (words[cut - 1].start, words[cut - 1].end) in unheld:
        cut -= 1
    held = {t.form for t in theirs}
    rest = words[:cut]
    if len(words) - cut < _TAIL or len(rest) < 3:
        return
    i = mine.index(words[cut])
    adds = {t.word for t in mine[mine.index(rest[-1]) + 1 : i]} & _ADDS
    if adds and len(theirs) <= _LONGEST and all(t.form in held for t in rest):
        yield Swap(token=words[cut], against="")
