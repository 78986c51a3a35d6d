"""The ask/read pairs that cut a query into sub-questions and a response into claims.

A claim counts only where it stands on a span of the response, and no part of the response that
claims something is left without a claim: a model that skips a sentence does not get it past the
judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from aletheia.grounding.names import names
from aletheia.grounding.numbering import is_blank
from aletheia.grounding.refusal import idle_spans, statements
from aletheia.grounding.relaxed_json import NumberText, Pairs
from aletheia.grounding.text import fold
from aletheia.judges.base import Judged, ResponsePieces, TraceCase
from aletheia.judges.locate import introduction, locate, same_words, word_count
from aletheia.judges.prompts import PromptSet, data
from aletheia.judges.reply import decode, named
from aletheia.judges.words import read_kind
from aletheia.schema.model import Prompt, Reply
from aletheia.schema.trace import Claim, ClaimKind, SubQuestion

GAP: Final = "decomposition_gap"
"""Finding: the model left a statement of the response out; it was taken as a claim as it stands."""

ALTERED: Final = "claim_altered"
"""Finding: the model changed a number of a claim; the words of the response were taken instead."""

_QUESTIONS: Final = frozenset(("subquestions", "questions", "parts"))
_CLAIMS: Final = frozenset(("claims", "statements", "facts"))
_SIGNS: Final = re.compile(r"[\s_-]+")
_MARKER: Final = re.compile(r"\s*[\[⟦(]\^?(?:[EeＥ]|T\d+\.E)\s?\d[^\]⟧)\n]{0,40}[\]⟧)]")
_NUMBER: Final = re.compile(r"\d+")
_FIGURE: Final = re.compile(r"\d[\d.,:/-]*")
_BULLET: Final = re.compile(r"\A\s*(?:[-*•▪‣◦–]|\d{1,3}[.)])\s+")
_STOPS: Final = ".!?。！？।؟"
_BARE_WORDS: Final = 2
_BARE_ALONE: Final = 4
"""Words of a list item or a whole response that are no sentence yet, without a full stop."""
_DEEPEST: Final = 5
_CUT: Final = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A reply that holds no decomposition, and why."""

    problem: str


def ask_query(case: TraceCase, delimiter: str, prompts: PromptSet) -> Prompt:
    """Ask for the sub-questions."""
    return prompts.prompt("decompose_query", delimiter, _question(case), repeat=case.repeat)


def ask_response(case: TraceCase, delimiter: str, prompts: PromptSet) -> Prompt:
    """Ask for the claims."""
    sections = (_question(case), _response(case))
    return prompts.prompt("decompose_response", delimiter, *sections, repeat=case.repeat)


def ask_both(case: TraceCase, delimiter: str, prompts: PromptSet) -> Prompt:
    """Ask for the sub-questions and the claims in one call."""
    sections = (_question(case), _response(case))
    return prompts.prompt("decompose", delimiter, *sections, repeat=case.repeat)


def read_query(case: TraceCase, reply: Reply | str) -> Judged[tuple[SubQuestion, ...]] | Unread:
    """Read the sub-questions. None at all, one that is blank, or a number of its own: `Unread`."""
    found = _listed(reply, _QUESTIONS)
    if isinstance(found, Unread):
        return found
    texts = [_clean(_text_of(item)) for item in found]
    if not texts or any(is_blank(text) for text in texts):
        return Unread(problem="no_sub_questions" if not texts else "blank_sub_question")
    query = case.query or ""
    if any(_numbers(text) - _numbers(query) for text in texts):
        return Unread(problem="sub_question_adds_number")
    unique = dict.fromkeys(texts)
    return Judged(value=tuple(SubQuestion(id=at, text=text) for at, text in enumerate(unique)))


def read_response(case: TraceCase, reply: Reply | str) -> Judged[ResponsePieces] | Unread:
    """Read the claims, each with its span; what stands on none is in `discarded`."""
    found = _listed(reply, _CLAIMS)
    if isinstance(found, Unread):
        return found
    return _Pieces(case).of(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    text: str
    kind: ClaimKind
    start: int
    end: int


class _Pieces:
    """Makes claims of what a model listed."""

    def __init__(self, case: TraceCase) -> None:
        self._query = case.query or ""
        self._response = case.response
        self._known = _numbers(case.response) | _numbers(self._query)
        self._idle = idle_spans(case.response)

    def of(self, listed: Sequence[object]) -> Judged[ResponsePieces]:
        pieces: list[_Piece] = []
        discarded: list[str] = []
        findings: list[str] = []
        position = 0
        for item in listed:
            text, quote, kind = _fields(item)
            span = locate(quote or text, self._response, after=position)
            if span is None or is_blank(text or quote):
                discarded.append(text or quote)
                continue
            position = span[0]
            pieces.append(self._piece(text or quote, span, kind, findings))
        gaps = [self._verbatim(span) for span in self._gaps(pieces)]
        if gaps:
            findings.append(GAP)
        unique = dict.fromkeys(sorted([*pieces, *gaps], key=lambda piece: piece.start))
        claims = tuple(
            Claim(id=at, text=piece.text, kind=piece.kind, start=piece.start, end=piece.end)
            for at, piece in enumerate(unique)
        )
        return Judged(
            value=ResponsePieces(claims=claims, discarded=tuple(discarded)),
            findings=tuple(dict.fromkeys(findings)),
        )

    def _piece(
        self, text: str, span: tuple[int, int], kind: ClaimKind | None, findings: list[str]
    ) -> _Piece:
        own = self._response[span[0] : span[1]]
        if _numbers(text) - self._known:
            findings.append(ALTERED)
            text = own
        elif same_words(text, own):
            # The prompt shows look-alikes of brackets and line ends; these are the true signs.
            text = own
        return _Piece(
            text=self._standing_alone(_clean(text), span[0]),
            kind=self._kind(kind, span),
            start=span[0],
            end=span[1],
        )

    def _verbatim(self, span: tuple[int, int]) -> _Piece:
        text = _clean(self._response[span[0] : span[1]])
        return _Piece(
            text=self._standing_alone(text, span[0]), kind="answer", start=span[0], end=span[1]
        )

    def _standing_alone(self, text: str, start: int) -> str:
        """Put the words before a bare answer or item that make it a statement."""
        stem = introduction(self._response, start)
        if not self._is_bare(text, in_list=stem is not None):
            return text
        before = stem or self._query.strip()
        return f"{before} {text}" if before else text

    def _is_bare(self, text: str, *, in_list: bool) -> bool:
        words = word_count(text)
        if words <= _BARE_WORDS:
            return True
        alone = in_list or text == _clean(self._response)
        return alone and words <= _BARE_ALONE and text[-1:] not in _STOPS

    def _kind(self, said: ClaimKind | None, span: tuple[int, int]) -> ClaimKind:
        """Courtesies are not graded whatever the model says; names and numbers always are."""
        if any(start <= span[0] and span[1] <= end for start, end in self._idle):
            return "conversational"
        own = self._response[span[0] : span[1]]
        if said == "conversational" and (_NUMBER.search(own) or names(fold(own).text)):
            return "elaboration"
        return said or "answer"

    def _gaps(self, pieces: Sequence[_Piece]) -> Iterator[tuple[int, int]]:
        """Yield statements that no piece touches, or with a figure that no piece holds."""
        for item in statements(self._response):
            span = (item.start, item.end)
            if item.kind != "claim" or span in self._idle or not any(map(str.isalnum, item.text)):
                continue
            if not any(
                piece.start < item.end and item.start < piece.end for piece in pieces
            ) or not all(
                any(piece.start <= at and at < piece.end for piece in pieces)
                for at in self._figures(span)
            ):
                yield span

    def _figures(self, span: tuple[int, int]) -> Iterator[int]:
        marked = [match.span() for match in _MARKER.finditer(self._response, *span)]
        for match in _FIGURE.finditer(self._response, *span):
            at = match.start()
            if not any(start <= at < end for start, end in marked) and not _is_bullet(
                self._response, match
            ):
                yield at


def _is_bullet(response: str, match: re.Match[str]) -> bool:
    """Tell the number of a list item from a figure."""
    line = response.rfind("\n", 0, match.start()) + 1
    return not response[line : match.start()].strip() and response[match.end() - 1 :][:1] in ".)"


def _question(case: TraceCase) -> str:
    return f"QUESTION: {data(case.query or '(none)')}"


def _response(case: TraceCase) -> str:
    return f"RESPONSE: {data(case.response)}"


def _listed(reply: Reply | str, keys: frozenset[str]) -> list[object] | Unread:
    """Return the list under one of the keys, or the reply itself where it is a bare list."""
    text, cut = (
        (reply, False) if isinstance(reply, str) else (reply.text, reply.finish_reason == _CUT)
    )
    decoded = decode(text, cut=cut)
    if decoded.problem is not None:
        return Unread(problem=decoded.problem)
    # A list that was cut lacks its end: what is missing there cannot be told.
    if decoded.cut:
        return Unread(problem="truncated")
    found = [item for value in decoded.values for item in _lists(value, keys, 0)]
    if len(found) == 1:
        return found[0]
    bare = decoded.values[0]
    if (
        not found
        and len(decoded.values) == 1
        and not isinstance(bare, Pairs)
        and isinstance(bare, list)
    ):
        return bare
    return Unread(problem="ambiguous" if found else "missing")


def _lists(value: object, keys: frozenset[str], depth: int) -> Iterator[list[object]]:
    if depth > _DEEPEST or not isinstance(value, Pairs):
        return
    for key, inner in value:
        if isinstance(inner, Pairs):
            yield from _lists(inner, keys, depth + 1)
        elif isinstance(inner, list) and _SIGNS.sub("", key.strip().casefold()) in keys:
            yield inner


def _text_of(item: object) -> str:
    if isinstance(item, Pairs):
        values = [value for key, value in item if key.strip().casefold() in ("text", "question")]
        return _text_of(values[0]) if values else ""
    return str(item) if isinstance(item, str) and not isinstance(item, NumberText) else ""


def _fields(item: object) -> tuple[str, str, ClaimKind | None]:
    """Text, quote and kind of one listed claim; a plain string is its own quote."""
    if not isinstance(item, Pairs):
        return _text_of(item), "", None
    fields = named(item)
    text, quote = fields.get("text"), fields.get("quote")
    return (
        text if isinstance(text, str) else "",
        quote if isinstance(quote, str) else "",
        read_kind(fields.get("kind")),
    )


def _clean(text: str) -> str:
    """Leave out markers of units and the sign of an item: they are no part of what is claimed."""
    return " ".join(_BULLET.sub("", _MARKER.sub("", text)).split())


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(fold(text).text))
