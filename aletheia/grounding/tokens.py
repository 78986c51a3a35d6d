"""Words of a text and the searchable form of evidence.

A word here is what a name is made of: `A-B-C` and `U.S.` become one word without separators,
hyphens separate otherwise, a possessive `'s` is no part of the word, `C++` and `C#` keep their
signs. The searchable form of a text is its words joined by single spaces with a space at both
ends, so that a run of words is found by one substring search.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Final, NamedTuple

from aletheia.grounding.lazy import lazy
from aletheia.grounding.sentences import sentences
from aletheia.grounding.text import Folded, cached_by_word, fold, lowered, plain
from aletheia.schema.evidence import EvidenceUnit

WORD = re.compile(
    r"[A-Za-z](?:[-.&][A-Za-z])+(?![A-Za-z])|\d+(?:\.\d+)+|[^\W_]+(?:['&][^\W_]+)*(?:\+\+|#)?"
)
_SEPARATED = re.compile(r"[-.&]")
# A possessive or a Turkish case ending is set off by an apostrophe and no part of the name.
_SUFFIX = re.compile(
    r"(?<=\w\w)'(?:[sS]|[dt][ae]n?|[dt]ır|n?[iıuü]n|n[ae]|y[aeiıuü]|l[ae]r\w*)?(?= |$)"
)
# An article or preposition that French, Italian and Catalan write together with the word.
_ELIDED = re.compile(r"(?<!\w)(?:[ldjtmscn]|qu|[dn]?ell|[as]ull?|all|un)'(?=\w{2})", re.IGNORECASE)
_GERMAN = frozenset(
    "der die das und ist ein eine einer den dem des mit von im zu wurde sich nicht".split()
)


class Word(NamedTuple):
    """One word with its place in the folded text. `text` is the searchable form."""

    text: str
    start: int
    end: int


def searchable_word(raw: str) -> str:
    """The form under which a raw token is looked up; case is kept."""
    if raw.isalnum():
        return raw if raw.isascii() else plain(raw)
    if len(raw) > 1:
        if "'" in raw:
            raw = _ELIDED.sub("", _SUFFIX.sub("", raw))
        if _SEPARATED.search(raw) and not any(char.isdigit() for char in raw):
            parts = _SEPARATED.split(raw)
            if all(len(part) == 1 for part in parts):
                raw = "".join(parts)
        raw = raw.replace("'", "")
    return plain(raw)


def words(folded: str, start: int = 0, end: int | None = None) -> list[Word]:
    """The words of `folded[start:end]` with their offsets."""
    stop = len(folded) if end is None else end
    return [
        Word(searchable_word(match.group()), match.start(), match.end())
        for match in WORD.finditer(folded, start, stop)
    ]


_SPACE: Final = re.compile(r"\s+")
_HYPHENATED: Final = re.compile(r"(?<=\w)-\s*\n\s*(?=\w)")


def quotable(text: str) -> str:
    """White space, line wraps and hyphenation folded, lower case; words untouched."""
    return _SPACE.sub(" ", _HYPHENATED.sub("", text)).lower()


_LETTER_RUN: Final = re.compile(r"[^\W\d_]+")
_LETTERS: Final = bytes(code if chr(code) in ascii_letters else ord(" ") for code in range(256))


def letter_runs(text: str) -> list[str]:
    """The runs of letters of a text, in order."""
    if text.isascii():
        return text.encode().translate(_LETTERS).decode().split()
    return _LETTER_RUN.findall(text)


# Signs that never belong to a word become spaces; the rest is looked at word by word.
_BLANKED: Final = '\t\n\v\f\r\x1c\x1d\x1e\x1f,;:!?()[]{}<>"*/|=~_%$@^\\'
_SPACES: Final = str.maketrans(dict.fromkeys(_BLANKED, " "))
# The same for ASCII, where tables of bytes are several times faster than those of characters.
_BLANKS: Final = b" " * len(_BLANKED)
_ASCII: Final = bytes.maketrans(_BLANKED.encode(), _BLANKS)
_ASCII_LOWER: Final = bytes.maketrans(
    (_BLANKED + ascii_uppercase).encode(), _BLANKS + ascii_lowercase.encode()
)
_PLAIN: Final = (ascii_letters + digits + " ").encode()
# What may stand inside a word, or is left of other signs.
_JOINT: Final = re.compile(r"[^A-Za-z0-9 ]")
# Suffixes after an apostrophe are told apart by case, all but `'S`.
_CAPITAL_SUFFIX: Final = re.compile(r"'[A-RT-Z]")


def searchable(folded: str) -> str:
    """The searchable form of a whole text."""
    if folded.isascii():
        return _ascii_searchable(folded, _ASCII)
    tokens = folded.replace(". ", " ").translate(_SPACES).split()
    kept = [t if t.isalnum() and t.isascii() else _cleaned(t) for t in tokens]
    return f" {' '.join(filter(None, kept))} "


def searchable_lower(folded: str) -> str:
    """`searchable(folded).lower()`, without the detour where the text allows it."""
    if not folded.isascii() or ("'" in folded and _CAPITAL_SUFFIX.search(folded) is not None):
        return searchable(folded).lower()
    return _ascii_searchable(folded, _ASCII_LOWER)


def _ascii_searchable(folded: str, table: bytes) -> str:
    """The searchable form of an ASCII text, with few operations that each read all of it."""
    prose = folded.removesuffix(".").replace(". ", " ").replace(", ", " ")
    encoded = prose.encode().translate(table)
    flat = encoded.decode()
    if encoded.translate(None, _PLAIN):
        flat = _with_cleaned_joints(flat)
    if "  " in flat:
        flat = " ".join(flat.split())
    return f" {flat.strip(' ')} "


def _with_cleaned_joints(flat: str) -> str:
    """Clean the pieces that hold more than letters and digits; usually one in fifty."""
    pieces: list[str] = []
    position = 0
    for match in _JOINT.finditer(flat):
        if match.start() >= position:
            start = flat.rfind(" ", position, match.start()) + 1 or position
            end = flat.find(" ", match.end())
            end = len(flat) if end < 0 else end
            # A piece of signs alone leaves two spaces side by side.
            pieces += (flat[position:start], _cleaned(flat[start:end]))
            position = end
    return "".join((*pieces, flat[position:]))


@cached_by_word
def _cleaned(token: str) -> str:
    """The searchable words of a piece of text without spaces."""
    return " ".join(filter(None, (searchable_word(raw) for raw in WORD.findall(token))))


@dataclass(eq=False)
class UnitIndex:
    """One unit, folded once. Everything but the folded text is made when first asked for."""

    unit: EvidenceUnit
    folded: Folded = field(init=False)

    def __post_init__(self) -> None:
        unit = self.unit
        text = unit.text
        if unit.source or unit.aliases:
            text = "\n".join((text, *filter(None, (unit.source,)), *unit.aliases))
        self.folded = fold(text)

    @property
    def id(self) -> str:
        """The unit's id."""
        return self.unit.id

    @lazy
    def cased(self) -> str:
        """Searchable form, case kept."""
        return searchable(self.folded.text)

    @lazy
    def lower(self) -> str:
        """Searchable form in lower case."""
        return searchable_lower(self.folded.text)

    @lazy
    def cased_words(self) -> list[str]:
        """The words in order, case kept."""
        return self.cased.split()

    @lazy
    def quotable(self) -> str:
        """The text as quotations are looked up in it."""
        return quotable(self.folded.text)

    @lazy
    def sentences(self) -> list[str]:
        """The sentences of the folded text."""
        text = self.folded.text
        return [text[start:end] for start, end in sentences(text)]

    @lazy
    def lower_words(self) -> list[str]:
        """The words in order, lower case."""
        return self.lower.split()

    @lazy
    def spelled(self) -> str:
        """Folded text in lower case, accents kept: where exact spelling is looked up."""
        return self.folded.text.lower()


@dataclass(eq=False)
class Corpus:
    """Several units searched together; no run of words crosses from one unit to the next."""

    units: Sequence[UnitIndex]
    links: dict[str, str] | None = field(default=None, init=False, repr=False)
    """What `literals` found, if it was asked."""
    forms: dict[str, dict[str, str]] = field(default_factory=dict, init=False, repr=False)
    """What `name_match` found for a word: the words that are it, and the kind of variant."""

    @lazy
    def cased(self) -> str:
        """Searchable forms of all units."""
        return "\n".join([unit.cased for unit in self.units])

    @lazy
    def lower(self) -> str:
        """Searchable forms of all units in lower case."""
        return "\n".join([unit.lower for unit in self.units])

    @lazy
    def folded(self) -> str:
        """Folded texts of all units."""
        return "\n\n".join([unit.folded.text for unit in self.units])

    @lazy
    def spelled(self) -> str:
        """Folded texts in lower case, accents kept."""
        return self.folded.lower()

    @lazy
    def lower_folded(self) -> str:
        """Folded texts in lower case, of the same length as `folded`."""
        return lowered(self.folded)

    @lazy
    def vocabulary(self) -> frozenset[str]:
        """Every word, lower case."""
        return frozenset(self.lower.split())

    @lazy
    def distinct_words(self) -> list[str]:
        """The vocabulary in the order of the text, so that ties are decided the same way always."""
        return list(dict.fromkeys(self.lower.split()))

    @lazy
    def capitalised(self) -> dict[str, str]:
        """Words with a capital, as first written, by their lower-case form, in order."""
        found: dict[str, str] = {}
        for word in self.cased.split():
            if len(word) > 1 and not word.islower():
                found.setdefault(word.lower(), word)
        return found

    @lazy
    def cased_vocabulary(self) -> frozenset[str]:
        """Every word as written."""
        return frozenset(self.cased.split())

    @lazy
    def is_german(self) -> bool:
        """Whether the units are German, where every noun is capitalised."""
        tokens = self.lower.split()
        return sum(word in _GERMAN for word in tokens) * 8 > len(tokens)

    @lazy
    def has_capitals(self) -> bool:
        """Whether the evidence uses capitals at all (a lower-cased corpus shows no names)."""
        return self.cased != self.lower
