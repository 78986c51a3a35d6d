"""A sentence as a row of items: content words in order, a name of several words being one."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from aletheia.judges.embedded.tokens import Token

_DIVIDERS: Final = frozenset(
    "and but or nor while whereas who which that because although though after before when then "
    "than if since until where".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A content word, or a name of several words; `at` and `end` are places in the line."""

    form: str
    forms: frozenset[str]
    is_name: bool
    is_number: bool
    at: int
    end: int
    token: Token


@dataclass(frozen=True, kw_only=True)
class Line:
    """The words of one sentence; a word in `breaks` has a mark such as a comma before it."""

    words: Sequence[Token]
    breaks: frozenset[int]
    names: frozenset[str] = frozenset()

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Content words in order; neighbouring parts of a name are one item."""
        found: list[list[int]] = []
        for at, token in enumerate(self.words):
            if token.kind == "function":
                continue
            last = found[-1] if found else None
            joined = last is not None and last[-1] == at - 1 and at not in self.breaks
            if joined and last is not None and self._is_name(at) and self._is_name(at - 1):
                last.append(at)
            else:
                found.append([at])
        return tuple(self._item(places) for places in found)

    def _is_name(self, at: int) -> bool:
        token = self.words[at]
        if token.kind == "name" or (token.kind == "word" and token.form in self.names):
            return True
        # A capital at the head of a sentence tells nothing, but a name right after it does.
        following = self.words[at + 1] if at == 0 and len(self.words) > 1 else None
        named = following is not None and following.kind == "name" and 1 not in self.breaks
        return named and token.kind == "word"

    def _item(self, places: Sequence[int]) -> Item:
        last = self.words[places[-1]]
        return Item(
            form=last.form,
            forms=frozenset(self.words[at].form for at in places),
            is_name=self._is_name(places[-1]),
            is_number=last.kind == "number",
            at=places[0],
            end=places[-1] + 1,
            token=last,
        )

    @cached_property
    def _by_form(self) -> dict[str, list[Item]]:
        found: dict[str, list[Item]] = {}
        for item in self.items:
            for form in item.forms:
                found.setdefault(form, []).append(item)
        return found

    def only(self, form: str) -> Item | None:
        """The one item of this form."""
        same = self._by_form.get(form, ())
        return same[0] if len(same) == 1 else None

    def between(self, first: Item | None, second: Item) -> tuple[str, ...]:
        """The function words before an item and after the one before it."""
        return tuple(t.word for t in self.words[first.end if first else 0 : second.at])

    def dividers(self, start: int, end: int) -> int:
        """How often a clause or an item of a list ends between two places."""
        found = 0
        for at in range(start, end):
            again = at > start and at - 1 in self.breaks
            found += at in self.breaks or (self.words[at].word in _DIVIDERS and not again)
        return found

    def parted(self, one: Item, other: Item) -> bool:
        """Whether two items stand in different clauses, and are not two of one list."""
        first, second = sorted((one, other), key=lambda item: item.at)
        inside = sum(first.at < item.at < second.at for item in self.items)
        return inside > 0 and inside >= self.dividers(first.end, second.at + 1) > 0

    def opens(self, item: Item) -> bool:
        """Whether a clause begins with the item."""
        before = max((other.end for other in self.items if other.at < item.at), default=0)
        return before == 0 or self.dividers(before, item.at + 1) > 0


def line(text: str, words: Sequence[Token], names: AbstractSet[str] = frozenset()) -> Line:
    """The words of `text` as a line; `names` are forms known as names from elsewhere."""
    marks = frozenset(
        i
        for i in range(1, len(words))
        if any(sign in ",;:.()–—" for sign in text[words[i - 1].end : words[i].start].rstrip("."))
    )
    return Line(words=words, breaks=marks, names=frozenset(names))


def names_of(words: Sequence[Token]) -> frozenset[str]:
    """The forms of the words that are written as names."""
    return frozenset(token.form for token in words if token.kind == "name")
