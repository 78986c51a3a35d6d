"""Whether a sentence holds the kind of thing a question asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from aletheia.generators._lexis import NEGATIONS, UNITS
from aletheia.generators._match import PLACE_PREPOSITIONS, implied
from aletheia.generators._passages import NameKey, Passage
from aletheia.generators._question import Question
from aletheia.generators._terms import Token
from aletheia.grounding.lexicon import MONTHS_AND_DAYS

_YEAR: Final = re.compile(r"(?:1\d|20|21)\d\d$|\d{3}$")
_NUMBER_WORD: Final = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion dozen half zero""".split()
)
_LOCATIVE: Final = frozenset(
    "in at on near from to into outside inside within off beside under between by".split()
)
_DATE_PREPOSITIONS: Final = frozenset("in on since from until till by before after around".split())


_BRACKETS: Final = re.compile(r"\([^()]*\)")


def new_names(question: Question, passage: Passage) -> list[tuple[NameKey, int]]:
    """Names of the sentence that the question does not give, with their first tokens."""
    by_alias = any("@alias" in term.keys for term in question.terms)
    given = {form for name in question.names for form in (name.asked if by_alias else name.forms)}
    return [(m.key, m.first) for m in passage.mentions if m.key not in given]


def has_date(passage: Passage) -> bool:
    """Whether a year, a month or a weekday stands outside the names."""
    inside = _inside_names(passage)
    for i, token in enumerate(passage.tokens):
        if i in inside:
            continue
        if token.folded in MONTHS_AND_DAYS and len(token.folded) > 2 and token.is_capital:
            return True
        if token.is_number and _is_year(passage.tokens, i):
            return True
        if token.folded in ("century", "centuries", "jahrhundert", "siècle", "siglo"):
            return True
    return False


def dates_fit(question: Question, passage: Passage) -> bool:
    """Whether the dates in brackets are those of the listed names the question gives.

    In `designated by A (in 1997) and B (in 2001)` the first date says nothing about B.
    """
    brackets = [b for b in _BRACKETS.finditer(passage.text) if _has_year(b.group())]
    if not brackets:
        return True
    outside = _BRACKETS.sub("", passage.text)
    subject = min((m.first for m in passage.mentions), default=0)
    for name in question.names:
        at = name.at(passage)
        if at is None or at <= subject or _has_year(outside):
            continue
        last = next((m.last for m in passage.mentions if m.first == at), at + 1)
        if last > len(passage.tokens) or not _follows(passage, last, brackets):
            return False
    return True


def _follows(passage: Passage, last: int, brackets: Sequence[re.Match[str]]) -> bool:
    """Whether a bracket follows before the next name."""
    end = passage.tokens[last - 1].end
    starts = [passage.tokens[m.first].start for m in passage.mentions if m.first >= last]
    stop = min(starts, default=len(passage.text))
    return any(end <= bracket.start() < stop for bracket in brackets)


def _has_year(text: str) -> bool:
    return re.search(r"(?<!\d)\d{4}(?!\d)", text) is not None


def _is_year(tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    if not _YEAR.match(token.text):
        return False
    previous = tokens[index - 1].folded if index else ""
    four = len(token.text) == 4
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    counts = following is not None and following.start - token.end == 1 and following.text.islower()
    return previous in _DATE_PREPOSITIONS or (
        four and not (counts and bool(following and following.keys))
    )


def has_number(passage: Passage, given: Sequence[str]) -> bool:
    """Whether a number that is no date and not the question's own stands outside the names."""
    inside = _inside_names(passage)
    for i, token in enumerate(passage.tokens):
        if i in inside or token.folded in given:
            continue
        if token.folded in _NUMBER_WORD and token.text.islower():
            return True
        dated = i and passage.tokens[i - 1].folded in _DATE_PREPOSITIONS and _YEAR.match(token.text)
        if token.is_number and not dated and not _in_iso_date(passage.tokens, i):
            return True
    return False


def _in_iso_date(tokens: Sequence[Token], index: int) -> bool:
    near = tokens[max(0, index - 2) : index + 1]
    return any(len(t.text) == 4 and t.is_number for t in near) and any(
        b.start - a.end == 1 and b.is_number and a.is_number
        for a, b in zip(
            tokens[max(0, index - 1) :], tokens[max(1, index) : index + 2], strict=False
        )
    )


def _inside_names(passage: Passage) -> set[int]:
    return {i for mention in passage.mentions for i in range(mention.first, mention.last)}


def answers_kind(question: Question, passage: Passage) -> bool:
    """Whether the sentence holds the kind of thing the question asks for."""
    fresh = new_names(question, passage)
    match question.kind:
        case "when":
            return has_date(passage) and dates_fit(question, passage)
        case "number":
            return has_number(passage, question.numbers)
        case "who":
            return _has_actor(fresh, passage)
        case "where":
            return _has_place(fresh, passage)
        case "what":
            return bool(fresh) or says_more(question, passage)


def _has_actor(fresh: Sequence[tuple[NameKey, int]], passage: Passage) -> bool:
    """A new name that no preposition of place leads in."""
    own = passage.unit.source is not None and not passage.mentions
    return (
        own
        or _has_unnamed_actor(passage)
        or any(not _preceding(passage, first) & (_LOCATIVE - {"by", "to"}) for _, first in fresh)
    )


def _has_unnamed_actor(passage: Passage) -> bool:
    """`set up by a group of sailors`."""
    return any(
        token.folded == "by" and following.folded in ("a", "an", "the", "two", "three", "some")
        for token, following in pairwise(passage.tokens)
    )


def _has_place(fresh: Sequence[tuple[NameKey, int]], passage: Passage) -> bool:
    """A new name behind a preposition of place, or any behind a word for being there."""
    if "@located" in passage.keys | implied(passage) and fresh:
        return True
    return any(_preceding(passage, first) & (_LOCATIVE | {"of"}) for _, first in fresh) or any(
        token.folded in PLACE_PREPOSITIONS and _is_noun(passage.tokens, i + 1)
        for i, token in enumerate(passage.tokens[:-1])
    )


def _is_noun(tokens: Sequence[Token], index: int) -> bool:
    """A common noun here, behind an article or not."""
    if tokens[index].folded in ("the", "a", "an") and index + 1 < len(tokens):
        index += 1
    token = tokens[index]
    return bool(token.keys) and token.text.islower() and token.folded not in UNITS


def _preceding(passage: Passage, first: int) -> set[str]:
    """The preposition before a name, an article between allowed."""
    before = [token.folded for token in passage.tokens[max(0, first - 2) : first]]
    if before and before[-1] in ("the", "a", "an"):
        before = before[:-1]
    return set(before[-1:])


def says_more(question: Question, passage: Passage) -> bool:
    """Whether a content word or number is left that the question does not hold."""
    asked = frozenset().union(*(token.keys for token in question.tokens))
    inside = _inside_names(passage)
    return any(
        (token.is_number and token.folded not in question.numbers)
        or (token.keys and not token.keys & asked)
        for i, token in enumerate(passage.tokens)
        if i not in inside
    )


def is_negated(passage: Passage) -> bool:
    """Whether the sentence denies something."""
    return any(token.folded in NEGATIONS for token in passage.tokens)
