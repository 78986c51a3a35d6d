"""The same frame with another filling: what stands in a slot belongs to another clause.

A rule speaks only where the neighbours of a slot are the same in both sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, pairwise
from typing import Final

from aletheia.judges.embedded.lines import Item, Line
from aletheia.judges.embedded.words import word_table

_BE: Final = frozenset("was were is are been be being".split())
_INTRODUCING: Final = frozenset(("from", "to", "against"))
_BY: Final = frozenset(("by",))
_ADDING: Final = frozenset(
    "and who which whose because with at for despite when while after before to by as in on "
    "through during without under over thanks out".split()
)
"""Words before something that is added to a sentence."""
_AUXILIARY: Final = frozenset(
    "was were is are been be being had has have did does do will later then also".split()
)
_EITHER_WAY: Final = frozenset(("between", "both"))
_REFERENCE: Final = frozenset(
    "passage passages source sources document evidence following follow steps".split()
)
_REACH: Final = 7
_LONGEST: Final = 30
"""Words of an evidence sentence up to which it is read as a row of items."""
_PREFIX: Final = 2
_ALIKE: Final = 0.2
"""Cosine of the vectors of two words of one kind."""


def misplaced(mine: Line, theirs: Line, held: AbstractSet[str]) -> Iterator[tuple[Item, str]]:
    """Items of the part that stand in the slot of another one, and what stands there.

    `held` are the forms of the part that some sentence of the evidence holds. A part that begins with
    a number is an item of a list: an order, whose words have many names.
    """
    if len(theirs.words) > _LONGEST or any(item.form not in held for item in mine.items):
        return
    if mine.words[0].kind == "number" or {token.word for token in mine.words} & _EITHER_WAY:
        return
    if next(_found_at(mine.items, theirs.items), None) is not None:
        return
    for rule in (_slot, _swapped, _spliced):
        found = next(rule(mine, theirs), None)
        if found is not None:
            yield found
            return


def _slot(mine: Line, theirs: Line) -> Iterator[tuple[Item, str]]:
    """Another item between the same neighbours, where the said one belongs to another clause."""
    said = {form for item in mine.items for form in item.forms}
    for i, item in enumerate(mine.items):
        own = [k for k, other in enumerate(theirs.items) if other.forms & item.forms]
        if i == 0 and item.is_number:
            continue
        for j, rival in enumerate(theirs.items):
            if rival.forms & said or rival.is_number != item.is_number:
                continue
            if not _same_frame(mine, i, theirs, j) or not _are_alike(item, rival):
                continue
            reach = _reach(mine, i, theirs, j)
            if any(_reach(mine, i, theirs, k) >= reach for k in own):
                continue
            if _is_of_another(theirs, item, rival, [theirs.items[k] for k in own]):
                yield item, rival.token.word


def _is_of_another(theirs: Line, item: Item, rival: Item, own: Sequence[Item]) -> bool:
    """Whether the item stands in another clause, or, for a name, in another sentence."""
    if own:
        return all(theirs.parted(rival, other) for other in own)
    return item.is_name and rival.is_name and not _initials(item, rival)


def _are_alike(item: Item, rival: Item) -> bool:
    """Whether two items can fill one slot with different values: they are near, and not the same."""
    if item.is_name or rival.is_name or item.is_number:
        return True
    if rival.token.word.endswith("ly"):
        return False
    first, second = word_table().vectors_of([item.token.word, rival.token.word])
    return float((first * second).sum()) >= _ALIKE


def _same_frame(mine: Line, i: int, theirs: Line, j: int) -> bool:
    """Whether two slots have the same neighbours: one on either side, or two on one at an end."""
    left = _same(mine, i - 1, theirs, j - 1)
    right = _same(mine, i + 1, theirs, j + 1)
    if left and right:
        return True
    if i == 0 and right:
        return theirs.opens(theirs.items[j]) and _same(mine, i + 2, theirs, j + 2)
    if i == len(mine.items) - 1 and left:
        before = mine.between(mine.items[i - 1], mine.items[i])
        named = bool(before) and mine.items[i].is_name and theirs.items[j].is_name
        alike = before == theirs.between(theirs.items[j - 1], theirs.items[j])
        return alike and (named or _same(mine, i - 2, theirs, j - 2))
    return False


def _same(mine: Line, i: int, theirs: Line, j: int) -> bool:
    inside = 0 <= i < len(mine.items) and 0 <= j < len(theirs.items)
    return inside and mine.items[i].form == theirs.items[j].form


def _reach(mine: Line, i: int, theirs: Line, j: int) -> int:
    """How many neighbours in a row, on both sides, two slots have in common."""
    found = 0
    for step in (-1, 1):
        n = step
        while _same(mine, i + n, theirs, j + n):
            found, n = found + 1, n + step
    return found


def _initials(one: Item, other: Item) -> bool:
    """Whether one name may be short for the other."""
    short, long = sorted((one, other), key=lambda item: len(item.forms))
    letters = {form[0] for form in long.forms}
    return len(short.forms) == 1 and len(short.form) <= 5 and set(short.form) <= letters


def _swapped(mine: Line, theirs: Line) -> Iterator[tuple[Item, str]]:
    """Two items stand each before what the evidence has after the other."""
    for n in (2, 3):
        here = _followed(mine, n)
        there = {(item.form, after) for item, after in _followed(theirs, n)}
        for (item, after), (other, after2) in combinations(here, 2):
            if item.form == other.form or after == after2:
                continue
            crossed = {(item.form, after2), (other.form, after)} <= there
            if crossed and not {(item.form, after), (other.form, after2)} & there:
                yield item, other.token.word


def _followed(found: Line, n: int) -> list[tuple[Item, tuple[str, ...]]]:
    """Each item with the forms of the `n` items after it."""
    items = found.items
    return [
        (items[i], tuple(item.form for item in items[i + 1 : i + 1 + n]))
        for i in range(max(0, len(items) - n))
    ]


def _spliced(mine: Line, theirs: Line) -> Iterator[tuple[Item, str]]:
    """The beginning of one clause with the end of another that has a subject of its own."""
    items, known = mine.items, theirs.items
    for cut in range(1, len(items)):
        head, tail = items[:cut], items[cut:]
        for start in _found_at(head, known):
            if not (start == 0 or theirs.opens(known[start])):
                continue
            follows = start + len(head)
            for at in _found_at(tail, known):
                subject = _subject(theirs, follows, at)
                enough = len(tail) >= _PREFIX and (len(head) >= _PREFIX or head[0].is_name)
                if enough and subject is not None and not subject.forms & {i.form for i in items}:
                    yield tail[0], subject.token.word


def _found_at(wanted: Sequence[Item], known: Sequence[Item]) -> Iterator[int]:
    """Where the items stand together, in order."""
    forms = [item.form for item in wanted]
    for at in range(len(known) - len(forms) + 1):
        if [item.form for item in known[at : at + len(forms)]] == forms:
            yield at


def _subject(theirs: Line, follows: int, at: int) -> Item | None:
    """The item that opens the clause of `at`, where a whole clause ends before it."""
    for place in range(at - 1, follows, -1):
        item = theirs.items[place]
        if theirs.opens(item):
            inside = theirs.items[follows:place]
            marks = theirs.dividers(theirs.items[follows - 1].end, item.at + 1)
            return item if len(inside) >= _PREFIX and len(inside) > marks else None
    return None


def turned(mine: Line, theirs: Line) -> Iterator[tuple[Item, str]]:
    """`A bought it from B` where the evidence says that somebody bought it from A."""
    for subject, verb in pairwise(mine.items):
        if verb.is_name or verb.is_number or subject.is_number or verb.at in mine.breaks:
            continue
        place, there = theirs.only(verb.form), theirs.only(subject.form)
        if place is None or there is None or there.at < place.end:
            continue
        gap = {t.word for t in mine.words[subject.end : verb.at]}
        if not gap <= _AUXILIARY or there.at - place.end > _REACH:
            continue
        if mine.only(subject.form) is None:
            continue
        passive = _passive(theirs, place)
        signs = _introducing(theirs, there) & (_BY if passive else _INTRODUCING)
        if signs and _passive(mine, verb) == passive:
            yield subject, min(signs)


def _introducing(found: Line, item: Item) -> set[str]:
    """The function words directly before an item, but those of an infinitive."""
    first = max((other.end for other in found.items if other.at < item.at), default=0)
    return {token.word for token in found.words[first : item.at]}


def _passive(found: Line, verb: Item) -> bool:
    return bool({t.word for t in found.words[max(0, verb.at - 3) : verb.at]} & _BE)


def added(
    mine: Line,
    theirs: Line,
    inexact: AbstractSet[tuple[int, int]],
    unheld: AbstractSet[tuple[int, int]],
) -> Iterator[tuple[Item, str]]:
    """Words put into a sentence of the evidence: none of them stands anywhere in it.

    Half of them have no like word there either. One word is an addition only at the end, after `and`.
    """
    items = mine.items
    new = [at for at, item in enumerate(items) if _places(mine, item) <= inexact]
    if not new or new[0] < _PREFIX or new[-1] - new[0] >= len(new):
        return
    put_in = [items[at] for at in new]
    rest = [item for item in items if item not in put_in]
    strange = [item for item in put_in if _places(mine, item) <= unheld]
    gap = {t.word for t in mine.words[items[new[0] - 1].end : put_in[0].at]}
    opened = put_in[0].at in mine.breaks or bool(gap & _ADDING)
    alone = "and" in gap and new[-1] == len(items) - 1
    enough = (len(put_in) >= _PREFIX or alone) and not _REFERENCE & {t.word for t in mine.words}
    known = {form for item in theirs.items for form in item.forms}
    held = len(rest) > _PREFIX and all(item.forms <= known for item in rest)
    if opened and enough and held and 2 * len(strange) >= len(put_in):
        yield put_in[0], ""


def _places(found: Line, item: Item) -> set[tuple[int, int]]:
    return {
        (token.start, token.end)
        for token in found.words[item.at : item.end]
        if token.kind != "function"
    }
