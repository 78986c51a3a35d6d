"""Cutting an English sentence that says two things: `X was built in 1911, and it has a red roof`.

A cut is made only where both sides hold a verb that is known as one. What the first side holds
possible, reports or makes depend on something is left in one piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from aletheia.judges.embedded.tokens import Token, tokens

_HELPERS: Final = frozenset(
    "is are was were has had have does did can could will would must may might should cannot "
    "isn't wasn't weren't aren't hasn't hadn't doesn't didn't can't won't".split()
)
_PASTS: Final = frozenset(
    "won lost sold bought built led made paid said went gave took came became began rose fell grew "
    "met kept sent spent chose wrote spoke held told taught drew flew ran sang threw wore broke "
    "found left stood saw knew got put set cut hit ate sat lay slept thought brought felt".split()
)
_SUBJECTS: Final = frozenset("it they he she we this these that there".split())
_ARTICLES: Final = frozenset("the a an its their his her each every all most some no".split())
_HELD_BACK: Final = re.compile(
    r"\b(?:if|unless|because|when|while|whether|that|who|which|although|though|between|both|either|"
    r"neither|sa(?:id|ys?)|claims?|suspects?|believes?|thinks?|reportedly|allegedly|may|might|could)\b",
    re.IGNORECASE,
)
_JOIN: Final = re.compile(r"(?P<sign>[,;])?\s+(?:(?P<word>and|but|while|whereas)\s+)?|;\s*")
_MAY_JOIN: Final = re.compile(r";|\s(?:and|but|while|whereas)\s")
_BY_ITSELF: Final = frozenset(
    "died remained moved worked ended appeared retired lived served joined started studied".split()
)
_LEAST: Final = 3
"""Words of each side."""
_LONGEST_SUBJECT: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """Characters [start, end) of the text; `subject` is what the clause leaves to be understood."""

    start: int
    end: int
    subject: str = ""


def clauses(text: str, start: int, end: int) -> list[Clause]:
    """The clauses of the sentence `text[start:end]`; one where it says one thing."""
    if _MAY_JOIN.search(text, start, end) is None:
        return [Clause(start=start, end=end)]
    words = tokens(text, start, end)
    found: list[Clause] = []
    begin, subject = start, ""
    for match in _JOIN.finditer(text, start, end):
        if match.end() == match.start() or not (match["sign"] == ";" or match["word"]):
            continue
        left = [token for token in words if begin <= token.start < match.start()]
        right = [token for token in words if token.start >= match.end()]
        if len(left) < _LEAST or len(right) < _LEAST or _is_held_back(text, begin, match.start()):
            continue
        taken = _subject_of(text, left, right, comma=match["sign"] is not None)
        if taken is None:
            continue
        found.append(Clause(start=begin, end=match.start(), subject=subject))
        begin, subject = match.end(), taken
    return [*found, Clause(start=begin, end=end, subject=subject)]


def _is_held_back(text: str, start: int, end: int) -> bool:
    return _HELD_BACK.search(text, start, end) is not None


def _subject_of(text: str, left: list[Token], right: list[Token], *, comma: bool) -> str | None:
    """What the right side lacks as a subject: nothing, that of the left one; None = no clause."""
    verb = _verb_at(left)
    if verb is None:
        return None
    if _is_clause(right, comma=comma):
        return ""
    if not _is_verb(right[0]) or len(left) - verb <= 2:
        return None
    passive = left[verb].word in _HELPERS and right[0].word.endswith("ed")
    end = verb + 1 if passive and right[0].word not in _BY_ITSELF else verb
    return text[left[0].start : left[end - 1].end] if end else None


def _is_clause(words: list[Token], *, comma: bool) -> bool:
    """Whether the words begin with a subject of their own, and a verb behind it."""
    first = words[0]
    verb = _verb_at(words[: _LONGEST_SUBJECT + 1])
    if first.word in _SUBJECTS:
        return first.word != "that" and (verb is not None or words[1].word.endswith("s"))
    if verb == 0:
        return False
    named = first.word[:1] != "" and first.kind in ("name", "word", "number")
    if verb is not None and (first.word in _ARTICLES or named):
        between = words[:verb]
        plain = all(t.kind != "function" or t.word in _ARTICLES | {"of"} for t in between)
        return plain and (comma or first.kind == "name" or first.word in _ARTICLES)
    # `penguins eat krill`: a plural that a small word follows is hardly a noun before a noun.
    return (
        comma
        and first.kind == "word"
        and first.word.endswith("s")
        and words[1].kind == "word"
        and not words[1].word.endswith(("s", "ing"))
    )


def _verb_at(words: list[Token]) -> int | None:
    """Place of the first word that is known as a verb; the first word of all is a subject."""
    return next((at for at, word in enumerate(words) if at and _is_verb(word)), None)


def _is_verb(token: Token) -> bool:
    if token.word in _HELPERS or token.word in _PASTS:
        return True
    return token.kind == "word" and token.word.endswith("ed") and len(token.word) > 4
