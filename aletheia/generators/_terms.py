"""Tokens of a text with the keys under which questions and sentences meet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aletheia.generators._lexis import IRREGULAR, SOLID_FUNCTION_WORDS, STOPWORDS
from aletheia.generators._relations import PREPOSITIONAL, relation_classes
from aletheia.grounding.text import plain

# Kana, CJK, Hangul, Thai: written without spaces, so a character is a word.
_SOLID = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f"
_LETTER = f"(?:(?![{_SOLID}])[^\\W\\d_]|[{_MARKS}])"
_TOKEN: Final = re.compile(
    rf"(?:[A-Za-z]\.){{2,}}|[A-Za-z]&[A-Za-z](?![A-Za-z])|&|\d+(?:[.,:]\d+)*|[{_SOLID}]"
    rf"|{_LETTER}(?:{_LETTER}|\d)*(?:['’ʼ]{_LETTER}+)*"
)
_SOLID_CHARACTER: Final = re.compile(f"[{_SOLID}]")
_DROPPED: Final = re.compile(r"[.&'’ʼ]")
_SUFFIXES: Final = re.compile(
    r"(?:izations?|isations?|ations?|ements?|ments?|ingly|ings?|edly|ships?|ers?|ors?|ions?|ies|ied"
    r"|ists?|al|ed|es|s|e|y)$"
)


_BRITISH: Final = re.compile(r"(?<=\w{3})is(?=(?:e|ed|es|ing|ers?|ations?)$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One word or phrase: `text == original[start:end]`, its folded form, and its keys.

    `keys` are the stem and the ids of the relation classes; a stop word has none.
    """

    text: str
    folded: str
    start: int
    end: int
    keys: frozenset[str]

    @property
    def is_capital(self) -> bool:
        """Whether it is written like a part of a name."""
        return self.text[:1].isupper() or (
            len(self.text) > 2 and any(c.isupper() for c in self.text)
        )

    @property
    def is_solid(self) -> bool:
        """Whether it is one character of a script that does not part words."""
        return len(self.text) == 1 and _SOLID_CHARACTER.match(self.text) is not None

    @property
    def is_number(self) -> bool:
        """Whether it starts with a digit."""
        return self.text[:1].isdigit()


def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of `text` in order; a phrase of a relation class is one token."""
    return _with_phrases([_token(match) for match in _TOKEN.finditer(text)], text)


def joined(words: Sequence[str]) -> str:
    """Words as one searchable string with a space at both ends."""
    return f" {' '.join(words)} "


def fold_word(text: str) -> str:
    """A word without case, accents, dots of initials and possessive ending."""
    if text == "&":
        return "and"
    if text[:1].isdigit():
        return text.replace(",", "")
    if len(text) > 2 and text[-1] in "sS" and text[-2] in "'’ʼ":
        text = text[:-2]
    return plain(_DROPPED.sub("", text)).casefold()


def folded_words(text: str) -> tuple[str, ...]:
    """The folded words of a text, phrases left apart."""
    return tuple(fold_word(match.group()) for match in _TOKEN.finditer(text))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A crude stem: English endings are cut while four letters remain."""
    if len(word) < 5 or not word.isascii() or not word.isalpha():
        return word
    word = _BRITISH.sub("iz", word)
    for _ in range(2):
        cut = _SUFFIXES.sub("", word)
        if len(cut) < 4:
            break
        word = cut
    if len(word) > 4 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] in "iey" else word


@lru_cache(maxsize=65536)
def keys_of(word: str) -> frozenset[str]:
    """Stem and relation classes of a folded word; nothing for a stop word."""
    if "\u3041" <= word <= "\u309f" or word in SOLID_FUNCTION_WORDS:
        return frozenset()  # hiragana is grammar
    classes = _words_of_classes()
    word = IRREGULAR.get(word, word)
    if word in STOPWORDS and word not in classes:
        return frozenset()
    root = stem(word)
    return frozenset({root}) | classes.get(word, frozenset()) | classes.get(root, frozenset())


def _token(match: re.Match[str]) -> Token:
    text = match.group()
    folded = fold_word(text)
    return Token(
        text=text, folded=folded, start=match.start(), end=match.end(), keys=keys_of(folded)
    )


@lru_cache(maxsize=1)
def _words_of_classes() -> dict[str, frozenset[str]]:
    """Classes by word and by stem, so that `stands` brings in `standing`."""
    single = [(plain(word), name) for word, name in relation_classes() if "_" not in word]
    stems = [(stem(word), name) for word, name in single if word not in PREPOSITIONAL]
    return _grouped(single + stems)


@lru_cache(maxsize=1)
def _phrases() -> dict[tuple[str, ...], frozenset[str]]:
    pairs = [(word, name) for word, name in relation_classes() if "_" in word]
    return {tuple(word.split("_")): names for word, names in _grouped(pairs).items()} | {
        ("known", "for"): frozenset()
    }


def _grouped(pairs: Sequence[tuple[str, str]]) -> dict[str, frozenset[str]]:
    grouped: dict[str, frozenset[str]] = {}
    for word, name in pairs:
        word = plain(word)
        grouped[word] = grouped.get(word, frozenset()) | {name}
    return grouped


def _with_phrases(found: Sequence[Token], text: str) -> tuple[Token, ...]:
    out: list[Token] = []
    position = 0
    while position < len(found):
        length = _phrase_length(found, position)
        if length:
            out.append(_merged(found[position : position + length], text))
        else:
            out.append(found[position])
        position += length or 1
    return tuple(out)


def _phrase_length(found: Sequence[Token], position: int) -> int:
    for length in (3, 2):
        part = tuple(token.folded for token in found[position : position + length])
        if len(part) == length and part in _phrases() and _is_lower(found, position, length):
            return length
    return 0


def _is_lower(found: Sequence[Token], position: int, length: int) -> bool:
    """Whether no word after the first has a capital: a name is no phrase."""
    return all(t.text.islower() for t in found[position + 1 : position + length])


def _merged(part: Sequence[Token], text: str) -> Token:
    words = tuple(token.folded for token in part)
    start, end = part[0].start, part[-1].end
    return Token(
        text=text[start:end], folded="_".join(words), start=start, end=end,
        keys=_phrases()[words].union(*(t.keys for t in part)) if _phrases()[words] else frozenset(),
    )  # fmt: skip
