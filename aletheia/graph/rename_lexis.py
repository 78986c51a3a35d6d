"""Words of names: how they are compared, and which of them stay when a name is replaced."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from aletheia.graph.text import words
from aletheia.grounding.lexicon import (
    FUNCTION_WORDS,
    GENERIC,
    HONORIFICS,
    MONTHS_AND_DAYS,
    OTHER_FUNCTION_WORDS,
    PARTICLES,
    is_common,
)

_KIND_WORDS: Final = frozenset(
    """
    agency agreement airport alliance army association authority award band bank battalion bay
    board bog book bridge brigade brigades bureau canyon castle cathedral cave centre center charter
    church club coast college command committee conference confederation congress convention
    cooperative corps council court dam department desert dock fair family federation fen ferries
    ferry festival fleet forces forest fort foundation front fund gallery game garden gulf hall
    harbor harbour hill hospital hotel house infirmary inhaler institute institution instruments
    government international ironworks island islands isles journal laboratory lake lane league library light
    lighthouse line list lodge mark market medal mill ministry mission model monastery mosque
    motor mount mountain mountains museum national network new newspaper north northern observatory
    ocean office old opera orchestra organisation organization palace park partnership party peak
    peninsula pier plain plant port press prison prize process province queen race railway range
    reactor reef reserve resolution river road royal saint school sea section ship society south
    southern southwest square st stadium station street studio summit symphony synagogue team temple
    theater theatre tower treaty tribunal trust tunnel type union university upper lower valley
    version volume wall war west western east eastern wood woods works yard young act accord code
    little grand great first second third
    """.split()
)
_ROMAN: Final = re.compile(r"[IVX]{1,5}")
_ACRONYM: Final = re.compile(r"(?=[^a-z]*[A-Z][^a-z]*$)[A-Z0-9]{2,6}")
_DOTTED: Final = re.compile(r"(?:[A-Za-z]\.){2,}")
_ORDINAL: Final = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_SMALL: Final = (
    FUNCTION_WORDS
    | PARTICLES
    | HONORIFICS
    | OTHER_FUNCTION_WORDS["de"]
    | OTHER_FUNCTION_WORDS["fr"]
)
_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2019\u02bc\u2018`", "'"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word of a text without its possessive ending: `core == text[start:end]`.

    `key` is what it is looked up by: lower case, one kind of apostrophe, no dots of initials.
    """

    core: str
    key: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """All words of a text, in order."""
    found = []
    for word in words(text):
        core = word.text
        if len(core) > 2 and core[-1] in "sS" and core[-2].translate(_APOSTROPHES) == "'":
            core = core[:-2]
        found.append(
            Token(core=core, key=key_of(core), start=word.start, end=word.start + len(core))
        )
    return found


def key_of(core: str) -> str:
    """What a word is looked up by."""
    key = core.translate(_APOSTROPHES)
    return (key.replace(".", "") if _DOTTED.fullmatch(key) else key).lower()


def place_key(key: str) -> str:
    """What a word counts as in a name: `#` for any number or part of a date.

    Those are replaced by their own rule, so that the name has others afterwards.
    """
    return "#" if key.isdigit() or key in MONTHS_AND_DAYS else key


def is_acronym(core: str) -> bool:
    """Whether a word is written as an acronym: two to six capitals, digits among them or not."""
    return _ACRONYM.fullmatch(core.replace(".", "")) is not None


def is_mixed(core: str) -> bool:
    """Whether capitals stand inside a word: `LeT`, `McAdam`."""
    tail = core[1:]
    return any(c.isupper() for c in tail) and any(c.islower() for c in core)


def is_number(core: str) -> bool:
    """Whether a word is digits only; the rule for numbers decides on it."""
    return core.isdigit()


def stays(core: str, kinds: frozenset[str], ordinary: frozenset[str]) -> bool:
    """Whether a word of a name stays: a small word, a word of kind, a number, a part of a date.

    `kinds` are the words of the graph's own node types, `ordinary` those that its texts write
    small.
    """
    key = core.lower()
    if is_number(core) or _ORDINAL.fullmatch(core) or key in MONTHS_AND_DAYS:
        return True
    if is_acronym(core):
        return _ROMAN.fullmatch(core) is not None
    if key in _SMALL or core in ("A", "I"):
        return True
    if key in _KIND_WORDS or key in GENERIC or key in kinds:
        return True
    if not (core.islower() and core.isascii()):
        return False
    return is_common(key) or key in ordinary or len(key) <= 2


def is_small(core: str) -> bool:
    """Whether a word carries no content: an article, a particle, a title."""
    return core.lower() in _SMALL


def always_replaced(core: str, ordinary: frozenset[str]) -> bool:
    """Whether a replaced word is replaced outside whole names too: it is no ordinary word."""
    key = core.lower()
    if len(key) < 3 or is_acronym(core) or key in _SMALL:
        return False
    return not is_common(key) and key not in ordinary


def is_compound(core: str) -> bool:
    """Whether a word is a comparative, or put together from two ordinary words: `Lakeside`."""
    key = core.lower()
    if key.endswith(("er", "est")) and (is_common(key[:-2]) or is_common(key.removesuffix("est"))):
        return True
    return any(is_common(key[:i]) and is_common(key[i:]) for i in range(3, len(key) - 2))
