"""Which names a question gives, and whether the evidence holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aletheia.generators._lexis import KIND_WORDS, STOPWORDS
from aletheia.generators._passages import Evidence, NameKey, Passage, is_unusual
from aletheia.generators._terms import Token, joined
from aletheia.grounding.lexicon import ACRONYMS, HONORIFICS, PARTICLES, is_common


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name the question gives.

    `asked` are the ways in which the evidence writes the very words of the question, `forms` also
    those for which it is said to be another name.
    """

    text: str
    asked: frozenset[NameKey]
    forms: frozenset[NameKey]
    first: int
    last: int

    def at(self, passage: Passage) -> int | None:
        """Index of its first token in the passage, or None."""
        found = (passage.find(form) for form in sorted(self.forms))
        return min((at for at in found if at is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The names of a question in order; those that stand nowhere; those that may be several."""

    names: tuple[Name, ...]
    unknown: tuple[str, ...]
    ambiguous: tuple[str, ...]


def link(found: Sequence[Token], evidence: Evidence) -> Linked:
    """Find the names in the tokens of a question."""
    return _Linker(found, evidence).link()


class _Linker:
    """Finds the names of a question: those of the evidence, longest first, then other capitals."""

    def __init__(self, found: Sequence[Token], evidence: Evidence) -> None:
        self._tokens = found
        self._evidence = evidence
        self._has_case = any(token.is_capital for token in found[1:])
        self._names: list[Name] = []
        self._unknown: list[str] = []
        self._ambiguous: list[str] = []

    def link(self) -> Linked:
        position = 0
        while position < len(self._tokens):
            position = self._listed(position) or self._capitals(position) or position + 1
        return Linked(
            names=tuple(self._names),
            unknown=tuple(self._unknown),
            ambiguous=tuple(self._ambiguous),
        )

    def _listed(self, first: int) -> int:
        """Take the longest name of the evidence that starts here; return where it ends."""
        for last in range(min(len(self._tokens), first + self._evidence.longest_name), first, -1):
            part = self._tokens[first:last]
            key = tuple(token.folded for token in part)
            if key in self._evidence.full_names and self._looks_like_name(first, part):
                end = self._wider(first, last)
                if end > last:
                    return 0
                self._add(first, last, {key})
                return last
        return 0

    def _wider(self, first: int, last: int) -> int:
        """End of the capitalised run that goes on behind a listed name (`Star` of `Star II`)."""
        following = self._tokens[last : last + 1]
        if not following or not self._tokens[first].is_capital:
            return last
        gap = following[0].start - self._tokens[last - 1].end
        goes_on = following[0].is_capital or following[0].is_number
        return last + 1 if gap == 1 and goes_on else last

    def _looks_like_name(self, first: int, part: Sequence[Token]) -> bool:
        if all(token.folded in STOPWORDS for token in part):
            return False
        if any(t.is_capital and (first + i > 0 or is_unusual(t)) for i, t in enumerate(part)):
            return True
        if any(token.is_number for token in part) and len(part) > 1:
            return True
        # A question in lower case throughout: longer names, and words that can only be names.
        return not self._has_case and (len(part) > 1 or not is_common(part[0].folded))

    def _capitals(self, first: int) -> int:
        """Take a run of capitalised words that is no listed name."""
        token = self._tokens[first]
        if not token.is_capital or token.folded in STOPWORDS or token.folded in KIND_WORDS:
            return 0
        if first == 0 and not is_unusual(token):
            return 0
        last = self._run_end(first)
        key = tuple(t.folded for t in self._tokens[first:last])
        while key and key[0] in HONORIFICS and len(key) > 1:
            first, key = first + 1, key[1:]
        self._judge(first, last, key)
        return last

    def _run_end(self, first: int) -> int:
        last = first + 1
        while last < len(self._tokens):
            token = self._tokens[last]
            gap = token.start - self._tokens[last - 1].end
            if gap <= 1 and (token.is_capital or token.is_number):
                last += 1
            elif token.folded in PARTICLES and self._joins(first, last):
                last += 2
            else:
                break
        return last

    def _joins(self, first: int, particle: int) -> bool:
        """Whether the evidence has the name with the particle in it."""
        following = self._tokens[particle + 1 : particle + 2]
        return bool(following) and following[0].is_capital and self._stands(first, particle + 2)

    def _stands(self, first: int, last: int) -> bool:
        key = tuple(token.folded for token in self._tokens[first:last])
        return any(passage.find(key) is not None for passage in self._evidence.passages)

    def _judge(self, first: int, last: int, key: NameKey) -> None:
        """Sort a run into known, ambiguous and unknown."""
        text = " ".join(token.text for token in self._tokens[first:last])
        longer = {full for full in self._evidence.full_names if joined(key) in joined(full)}
        if self._stands(first, last) and not longer:
            self._add(first, last, {key})
        elif len(longer) == 1 and not _numbered_only(key, next(iter(longer))):
            self._add(first, last, {key, *longer})
        elif longer:
            self._ambiguous.append(text)
        elif not self._take_variant(first, last, key):
            self._unknown.append(text)

    def _take_variant(self, first: int, last: int, key: NameKey) -> bool:
        """`US` for `United States` and back, where the evidence writes the other."""
        variants = {tuple(other.split()) for other in _variants(" ".join(key))}
        known = {v for v in variants if any(p.find(v) is not None for p in self._evidence.passages)}
        if known:
            self._add(first, last, known)
        return bool(known)

    def _add(self, first: int, last: int, forms: set[NameKey]) -> None:
        canonical = self._evidence.canonical
        more = set().union(*(canonical.get(form, frozenset()) for form in forms))
        text = " ".join(token.text for token in self._tokens[first:last])
        stripped = {form[1:] for form in forms if len(form) > 1 and form[0] == "the"}
        asked = frozenset(forms | stripped)
        self._names.append(Name(text=text, asked=asked, forms=asked | more, first=first, last=last))


def _variants(name: str) -> set[str]:
    """Other ways to write a well-known name."""
    others = {short for short, longs in ACRONYMS.items() if name in longs}
    return others.union(ACRONYMS.get(name, ()))


def _numbered_only(key: NameKey, longer: NameKey) -> bool:
    """Whether the longer name adds nothing but a number: then it is a sibling, not the same."""
    rest = longer[len(key) :] if longer[: len(key)] == key else ()
    return len(rest) == 1 and (rest[0].isdigit() or set(rest[0]) <= set("ivx"))
