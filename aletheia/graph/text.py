"""Words of names and questions: spans, folding, and stems for lexical search.

Names are compared as sequences of folded words, so that case, accents, hyphens, possessives and
the dots of initials make no difference. Scripts written without spaces give one word per
character, which lets a name be found inside a longer run of text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

# Kana, CJK, Hangul, Thai, Lao, Burmese, Khmer: no spaces, or particles glued to the name.
_SOLID = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff"
)
# Combining marks that `\w` does not cover; they are part of the word they stand in.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f"
_MARKS += "\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0b82\u0bbe-\u0bcd"
_LETTER = f"(?:(?![{_SOLID}])[^\\W_])"
_INNER = f"(?:{_LETTER}|[{_MARKS}])"
_APOSTROPHES = "'\u2019\u02bc\u2018`"
_WORD = re.compile(
    f"(?:[A-Za-z]\\.){{2,}}|[{_SOLID}][{_MARKS}]*|{_LETTER}{_INNER}*(?:[{_APOSTROPHES}]{_INNER}+)*"
)
_ASCII_WORD = re.compile(r"[a-z0-9]+")
# ASCII without apostrophes and initials: splitting at what is no letter or digit is enough.
_PLAIN = re.compile(r"(?:[^'`.\x80-\U0010ffff]|\.(?![A-Za-z]))*")
_DROPPED = re.compile(f"[.{_APOSTROPHES}\u0300-\u036f\u064b-\u065f\u0670\u0591-\u05c7]")

_STOPWORDS = """
a about after all also am an and any are as at be been before being between both but by can
could did do does during each every for from give had has have he her him his how i if in into
is it its list many may me more most much my name no not of on one or other our out over
please she should since some such tell than that the their them then there these they this
those through to under until up us was we were what when where which while who whom whose why
will with within would year you your
"""
STOPWORDS = frozenset(_STOPWORDS.split())
"""English words that carry no content in a question; never a name on their own in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word of a text: `text == original[start:end]` in code points, and its folded form."""

    text: str
    start: int
    end: int
    folded: str


def fold_word(word: str) -> str:
    """One word without case, accents, apostrophes, dots of initials and possessive ending."""
    if len(word) > 2 and word[-1] in "sS" and word[-2] in _APOSTROPHES:
        word = word[:-2]
    if not word.isascii():
        word = unicodedata.normalize("NFKD", word)
    return _DROPPED.sub("", word).casefold()


def words(text: str) -> tuple[Word, ...]:
    """The words of `text` with their offsets (code points), in order."""
    return tuple(
        Word(text=m[0], start=m.start(), end=m.end(), folded=folded)
        for m in _WORD.finditer(text)
        if (folded := fold_word(m[0]))
    )


def fold(text: str) -> str:
    """The folded words of `text`, joined by one space; empty if it holds no word."""
    if _PLAIN.fullmatch(text):
        return " ".join(_ASCII_WORD.findall(text.lower()))
    return " ".join(folded for m in _WORD.finditer(text) if (folded := fold_word(m[0])))


_SUFFIXES = tuple(
    """izations isations ization isation ations ation ements ement ingly ising izing ised ized ises
    izes edly ions ings ies ied ise ize ion ing ers ors er or ed es s e y""".split()
)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A crude stem of a folded word, so that "founded", "founder" and "founding" meet.

    It cuts one English ending and keeps at least four characters. Both sides of a search go
    through it, so an odd stem costs nothing.
    """
    if len(word) < 5 or not word.isascii() or word.isdigit():
        return word
    ending = next((s for s in _SUFFIXES if len(word) - len(s) >= 4 and word.endswith(s)), "")
    cut = word.removesuffix(ending) if ending or not word.endswith("ed") else word[:-1]
    if len(cut) > 5 and cut.endswith("at"):
        cut = cut[:-2]
    return cut[:-1] if len(cut) > 4 and cut[-1] == cut[-2] else cut


def name_word(word: str) -> str:
    """A folded word that is part of a name, as a search word: names match as they are, no stems.

    So that "based" does not find The Base.
    """
    return f"={word}"


def stems(text: str) -> list[str]:
    """Stems of the content words of `text`, in order, with repeats."""
    return [stem(w) for w in fold(text).split(" ") if w and w not in STOPWORDS]
