"""Words of a text with what the embedded judges ask of them: stem, kind, place.

Scripts without spaces give overlapping pairs of characters instead of words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from aletheia.grounding.lexicon import FUNCTION_WORDS, OTHER_FUNCTION_WORDS
from aletheia.grounding.polarity import stem
from aletheia.grounding.text import cached_by_word

TokenKind = Literal["function", "word", "name", "number", "pair"]

_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0e31\u0e34-\u0e4e"
_DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e30\u0e32\u0e33"
_TOKEN: Final = re.compile(
    rf"\d+(?:[.,]\d+)*|[{_DENSE}]+|(?:(?![{_DENSE}])[^\W\d_]|[{_MARKS}])+(?:['’](?:t|re|ve|ll)\b)?"
)
_IS_DENSE: Final = re.compile(f"[{_DENSE}]")
_STOP: Final = FUNCTION_WORDS.union(*OTHER_FUNCTION_WORDS.values())
_NUMBER_WORDS: Final = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
    if word != "one"
} | {
    word: str(value)
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), start=1
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One word: `form` is what is compared, `start` and `end` are offsets in the text."""

    word: str
    form: str
    kind: TokenKind
    start: int
    end: int


def tokens(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """The words of `text[start:end]` in order, with offsets of `text`."""
    found: list[Token] = []
    opener = True
    previous = start
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        raw = match.group()
        gap = text[previous : match.start()]
        if not opener and gap != " " and any(sign in ".!?:\n" for sign in gap):
            opener = True
        if _IS_DENSE.match(raw):
            found.extend(_pairs(raw, match.start()))
        else:
            found.append(_token(raw, match.start(), match.end(), opener=opener))
        opener, previous = False, match.end()
    return found


def holds_word(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` has any word; cheaper than to list them."""
    return _TOKEN.search(text, start, end) is not None


def _pairs(raw: str, at: int) -> list[Token]:
    width = 1 if len(raw) == 1 else 2
    return [
        Token(word=(p := raw[i : i + width]), form=p, kind="pair", start=at + i, end=at + i + width)
        for i in range(max(1, len(raw) - 1))
    ]


def _token(raw: str, start: int, end: int, *, opener: bool) -> Token:
    word, form, kind = _read_opener(raw) if opener else _read(raw)
    return Token(word=word, form=form, kind=kind, start=start, end=end)


@cached_by_word
def _read(raw: str) -> tuple[str, str, TokenKind]:
    """A word in lower case, what it is compared by, and its kind."""
    word, form, kind = _read_opener(raw)
    return word, form, "name" if kind == "word" and raw[0].isupper() else kind


@cached_by_word
def _read_opener(raw: str) -> tuple[str, str, TokenKind]:
    """The same at the head of a sentence, where a capital tells nothing."""
    word = raw.lower()
    if raw[0].isdigit():
        return word, _number(word), "number"
    form, function = _form(word)
    return word, form, "function" if function else "number" if form[0].isdigit() else "word"


def _number(word: str) -> str:
    """Digits without separators of thousands; `3.0` and `3` are one."""
    plain = word.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", word) else word
    if "." in plain and plain.count(".") == 1:
        plain = plain.rstrip("0").rstrip(".")
    return plain.lstrip("0") or "0"


@cached_by_word
def _form(word: str) -> tuple[str, bool]:
    """What a lower-case word is compared by, and whether it is a function word."""
    number = _NUMBER_WORDS.get(word)
    if number is not None:
        return number, False
    return stem(word), word in _STOP
