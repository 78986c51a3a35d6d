"""Abstentions, refusals in words, and the statements of an answer.

A refusal counts only when nothing else is left: an apology, quoted speech, a disclaimer before a
claim, and partial help are answers. When in doubt a clause is a claim, because a claim is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from aletheia.grounding.refusal_phrases import (
    fold_phrase,
    is_small_talk,
    phrase_languages,
    refusal_language,
)
from aletheia.grounding.sentences import Span, sentences

StatementKind = Literal["claim", "small_talk", "heading", "refusal"]

_LITERAL: Final = re.compile(
    r"[\s\"'`“”‘’«»*_.\[\](){}]*insufficient[\s_-]{1,3}context[\s\"'`“”‘’«»*_.!。\[\](){}]*",
    re.IGNORECASE,
)
_MARKER: Final = re.compile(
    r"[\[(【［]\s?\^?(?:[EeＥ]|Evidence|evidence)?[\s:]?\d{1,4}[^\])】］]{0,30}[\])】］]"
)
_HEAD: Final = 260
_LONGEST_CLAUSE: Final = 320
# White space is only read from its first character on and never given back: a long gap would
# take quadratic time.
_GAP = r"(?<!\s)\s++"
_CLAUSE_BREAK: Final = re.compile(
    rf"(?:{_GAP})?[;；؛]\s*"
    rf"|{_GAP}[—–]+\s+|—+"
    rf"|{_GAP}-\s+"
    r"|:\s+"
    r"|(?<=が)、"
    rf"|(?:[,，、،]\s++|{_GAP})(?=(?:but|however|yet|although|though|nevertheless|still|whereas|aber|"
    r"jedoch|doch|sondern|allerdings|mais|cependant|toutefois|pero|sin embargo|aunque|ma|però|"
    r"tuttavia|mas|porém|contudo|embora|"
    r"maar|echter|но|однако|хотя|لكن|ولكن|غير أن|लेकिन|परन्तु|परंतु|मगर|किंतु|하지만|그러나)(?!\w))"
    r"|[,，、]\s*+(?=(?:但|不过|不過|可是|然而|しかし|ただし))"
    r"|,\s++(?=(?:and|so|which|though|und|et|y|e|en)\s)",
    re.IGNORECASE,
)
_CONNECTOR: Final = re.compile(
    r"(?:but|however|yet|although|though|nevertheless|still|and|so|aber|jedoch|doch|mais|cependant|pero|"
    r"sin embargo|ma|però|mas|porém|maar|но|однако|لكن|ولكن|लेकिन|하지만|그러나)(?:,\s*|\s+)"
    r"|但是?|しかし、?",
    re.IGNORECASE,
)
_MARKUP_HEADING: Final = re.compile(r"#{1,6}\s+\S|(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__):?\Z")
_ITEM_START: Final = re.compile(r"\s*(?:[-*•▪‣◦–]|\d{1,3}[.)])\s")
_FULL_STOPS: Final = (".", "!", "?", "。", "！", "？", "।", "؟")
_MOST_HEADING_WORDS: Final = 8
_MOST_LABEL_WORDS: Final = 4
_DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A piece of the answer, `text == answer[start:end]`, offsets in code points.

    `claim` is what has to be checked. `small_talk`, `heading` and `refusal` are listed and claim
    nothing; a heading with a digit or a marker is a claim.
    """

    start: int
    end: int
    text: str
    kind: StatementKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer that is nothing but a refusal in words.

    `start` and `end` are those of the first refusing clause, `language` its language code
    (`other` for those with few phrases).
    """

    start: int
    end: int
    text: str
    language: str


def is_abstention_literal(answer: str) -> bool:
    """Whether `answer` is the literal INSUFFICIENT_CONTEXT and nothing else.

    Case, white space, quotes, a full stop and a space for the underscore do not matter; markers
    after it do not either, they are citations and judged as such.
    """
    found = _LITERAL.match(answer)
    if found is None:
        return False
    rest = _MARKER.sub("", answer[found.end() :]) if found.end() < len(answer) else ""
    if not rest.strip(" \t\n.,;"):
        return True
    return _LITERAL.fullmatch(_MARKER.sub("", answer)) is not None


def refusal(answer: str) -> Refusal | None:
    """Return the refusal that `answer` consists of; None where anything else is left.

    Only apologies and small talk may stand beside it. A refusing clause that cites a unit is a
    claim about that unit, not a refusal.
    """
    # The first sentence has to be a refusal or a courtesy, or the whole is none.
    head = answer[:_HEAD]
    stop = head.find(". ")
    if not phrase_languages(head if stop < 0 else head[:stop]):
        return None
    first: Statement | None = None
    for statement in _statements(answer, sentences(answer)):
        if statement.kind in ("claim", "heading"):
            return None
        if first is None and statement.kind == "refusal":
            first = statement
    if first is None:
        return None
    return Refusal(
        start=first.start,
        end=first.end,
        text=first.text,
        language=refusal_language(_clause_text(first.text), phrase_languages(first.text)) or "en",
    )


def statements(answer: str) -> tuple[Statement, ...]:
    """Return the statements of `answer` in order, with offsets.

    A sentence is one statement, unless a refusal or a courtesy stands beside a claim in it: then
    it is split at the clause. What lies between statements is white space and punctuation.
    """
    return tuple(_statements(answer, sentences(answer)))


def _statements(answer: str, spans: list[Span]) -> Iterator[Statement]:
    talks = bool(phrase_languages(answer))
    for index, (start, end) in enumerate(spans):
        following = spans[index + 1] if index + 1 < len(spans) else None
        if following is not None and _is_heading(answer, (start, end), following):
            yield _statement(answer, (start, end), "heading")
        elif talks and (languages := phrase_languages(answer[start:end])):
            yield from _clauses(answer, (start, end), languages)
        else:
            yield _statement(answer, (start, end), "claim")


def _statement(answer: str, span: Span, kind: StatementKind) -> Statement:
    return Statement(start=span[0], end=span[1], text=answer[span[0] : span[1]], kind=kind)


def _clauses(answer: str, sentence: Span, languages: tuple[str, ...]) -> Iterator[Statement]:
    """Split the sentence into runs of one kind, unless all of it is of one."""
    whole = _kind(answer[sentence[0] : sentence[1]], languages)
    if whole != "claim":
        yield _statement(answer, sentence, whole)
        return
    spans = _cut(answer, *sentence)
    pieces = [(span, _kind(answer[span[0] : span[1]], languages)) for span in spans]
    if all(kind == "claim" for _, kind in pieces):
        yield _statement(answer, sentence, "claim")
        return
    run, run_kind = pieces[0]
    for span, kind in pieces[1:]:
        if kind == run_kind:
            run = (run[0], span[1])
        else:
            yield _statement(answer, run, run_kind)
            run, run_kind = span, kind
    yield _statement(answer, run, run_kind)


def _cut(answer: str, start: int, end: int) -> list[Span]:
    spans: list[Span] = []
    position = start
    for match in _CLAUSE_BREAK.finditer(answer, start, end):
        if answer[position : match.start()].strip():
            spans.append((position, match.start()))
            position = match.end()
    if answer[position:end].strip():
        spans.append((position, end))
    return spans or [(start, end)]


def _clause_text(text: str) -> str:
    """Return the clause without the word that joins it to the one before, folded."""
    joined = _CONNECTOR.match(text)
    folded = fold_phrase(text[joined.end() :] if joined is not None else text)
    return folded.removesuffix("が")


def _kind(text: str, languages: tuple[str, ...]) -> StatementKind:
    if len(text) > _LONGEST_CLAUSE:
        return "claim"
    if is_abstention_literal(text):
        return "refusal"
    # Quoted speech is reported, and what cites a unit is a claim about it.
    if text[:1] in "\"'“‘«「„" or _MARKER.search(text) is not None:
        return "claim"
    folded = _clause_text(text)
    if is_small_talk(folded, languages):
        return "small_talk"
    return "refusal" if refusal_language(folded, languages) is not None else "claim"


def _is_heading(answer: str, span: Span, following: Span) -> bool:
    """Tell a short line of its own above other text, without a full stop, a digit or a marker."""
    start, end = span
    text = answer[start:end]
    if not _stands_alone(answer, start, answer[end : following[0]]):
        return False
    if len(text.split()) > _MOST_HEADING_WORDS or _DIGIT.search(text) or _ITEM_START.match(text):
        return False
    if _MARKUP_HEADING.match(text):
        return True
    # `Cities:` is a heading; `The flag has two colours:` begins a claim.
    if text[-1] in ":：":
        return len(text.split()) <= _MOST_LABEL_WORDS
    # Without markup only a line above a list or a full sentence: `Paris` above `Rome` is a claim.
    below = _MARKER.sub("", answer[following[0] : following[1]]).strip()
    sentence_below = below[-1:] in _FULL_STOPS and len(below.split()) > 1
    return text[-1].isalnum() and (sentence_below or _ITEM_START.match(below) is not None)


def _stands_alone(answer: str, start: int, gap: str) -> bool:
    if "\n" not in gap:
        return False
    while start and answer[start - 1] in " \t":
        start -= 1
    return start == 0 or answer[start - 1] == "\n"


def idle_spans(answer: str) -> list[tuple[int, int]]:
    """Spans of statements that claim nothing: small talk, headings, and questions."""
    return [
        (item.start, item.end)
        for item in statements(answer)
        if item.kind in ("small_talk", "heading") or item.text.rstrip().endswith(("?", "？", "؟"))
    ]
