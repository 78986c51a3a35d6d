"""Find the span of a response that a claim was made from, and what introduces it there."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from typing import Final, NamedTuple

Span = tuple[int, int]

_TOKEN: Final = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|[^\W_\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
_ITEM: Final = re.compile(r"[ \t]*(?:[-*•▪‣◦–]|\d{1,3}[.)])[ \t]+")
# One word in ten: a short quote with another word in it says another thing.
_LEAST_MATCHED: Final = 0.9
_WIDEST: Final = 1.5
_LONGEST_FUZZY: Final = 4000
"""Tokens of a response up to which an inexact quote is looked for."""


class _Token(NamedTuple):
    text: str
    start: int
    end: int


def locate(quote: str, response: str, *, after: int = 0) -> Span | None:
    """Return the span of `response` that `quote` copies; None where there is none.

    Looked for as written, then by its words without case and punctuation, then with a few words
    changed: nine tenths have to match, in order, in a place at most half as long again.
    A place from `after` on wins over an earlier one.
    """
    if _TOKEN.search(quote) is None:
        return None
    exact = quote.strip()
    for begin in (after, 0):
        at = response.find(exact, begin)
        if at >= 0:
            return at, at + len(exact)
    wanted, given = _tokens(quote), _tokens(response)
    return _in_order(wanted, given, after) or _nearly(wanted, given)


def introduction(response: str, start: int) -> str | None:
    """Return the line that introduces the list in which `start` lies.

    Empty for a list that nothing introduces, None outside a list.
    """
    *before, begun = response[:start].split("\n")
    own = begun + response[start:].split("\n", 1)[0]
    if _ITEM.match(own) is None:
        return None
    above = (line for line in reversed(before) if line.strip() and _ITEM.match(line) is None)
    return next(above, "").strip()


def word_count(text: str) -> int:
    """Words of a text; in scripts without spaces every sign is one."""
    return len(_TOKEN.findall(text))


def same_words(first: str, second: str) -> bool:
    """Whether two texts differ in case, punctuation and white space only."""
    return first == second or _texts(first) == _texts(second)


def _texts(text: str) -> list[str]:
    if text.isascii():
        # Nothing to normalise.
        return _TOKEN.findall(text.casefold())
    return [token.text for token in _tokens(text)]


def _tokens(text: str) -> list[_Token]:
    return [
        _Token(unicodedata.normalize("NFKC", match.group()).casefold(), *match.span())
        for match in _TOKEN.finditer(text)
    ]


def _in_order(wanted: list[_Token], given: list[_Token], after: int) -> Span | None:
    """Return the first place that holds exactly these words, from `after` on if there is one."""
    words = [token.text for token in wanted]
    texts = [token.text for token in given]
    size = len(words)
    places = [at for at in range(len(texts) - size + 1) if texts[at : at + size] == words]
    if not places:
        return None
    at = next((place for place in places if given[place].start >= after), places[0])
    return given[at].start, given[at + size - 1].end


def _nearly(wanted: list[_Token], given: list[_Token]) -> Span | None:
    if len(given) > _LONGEST_FUZZY:
        return None
    matcher = SequenceMatcher(
        None, [token.text for token in given], [token.text for token in wanted], autojunk=False
    )
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    matched = sum(block.size for block in blocks)
    if matched < _LEAST_MATCHED * len(wanted):
        return None
    first, last = blocks[0].a, blocks[-1].a + blocks[-1].size - 1
    if last - first + 1 > _WIDEST * len(wanted):
        return None
    return given[first].start, given[last].end
