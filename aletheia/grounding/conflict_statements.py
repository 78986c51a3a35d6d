"""What a text states: its words without values, the values, and its sign, piece by piece."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from aletheia.grounding.conflict_words import EMPTY_WORDS, NEGATION_STEMS, REVISION, implied
from aletheia.grounding.dates import DateMention
from aletheia.grounding.lazy import lazy
from aletheia.grounding.literals import identifiers
from aletheia.grounding.polarity import NEGATION_HINT, stem
from aletheia.grounding.quantities import NumericMentions, numeric_mentions
from aletheia.grounding.quantity import Quantity
from aletheia.grounding.scripts import UNCASED
from aletheia.grounding.sentences import sentences
from aletheia.grounding.text import cached_by_word, fold, plain
from aletheia.grounding.tokens import letter_runs
from aletheia.grounding.units import UNITS

_TOKEN: Final = re.compile(r"(?:[^\W\d_]|[\u064b-\u0652\u0900-\u0963])+(?:'[^\W\d_]+)*")
_CUT: Final = re.compile(
    r"[;:，；、：]|,\s|\s-\s|\s(?:and|but|while|whereas|und|aber|et|mais|y|pero|e|ma|mas|en|maar|и|но|ve)\s",
    re.IGNORECASE,
)
_HAN_OR_KATAKANA: Final = re.compile(r"[\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff々]")
_HIRAGANA: Final = re.compile(r"[\u3041-\u309f]+")
_DENSE_EMPTY: Final = frozenset("的是为為在了于於有和与與及也就都而该該此")
_DENSE_NO: Final = frozenset("不没沒未無无非")
_PARTICLE: Final = re.compile(r"(?:은|는|이|가|을|를|의|에서|에|로|으로)$")
_JOINED: Final = re.compile(r"(?<=[A-Za-z%°])(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_HANGUL: Final = re.compile(r"[\uac00-\ud7af]")
_LONGEST: Final = 400
"""Characters of a sentence that is compared: a longer one is a table or a list."""


class Identifier(NamedTuple):
    """A part number, a code or a version with letters, at `text[start:end]`."""

    start: int
    end: int
    text: str


Value = Quantity | DateMention | Identifier


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A sentence or a part of one; offsets are into the folded text of its unit.

    `bare` is its text without values, `words` are the stems in order, without values, function words and words of revision. `negated`
    is the parity of its negations, `before` what stands before each value in it.
    """

    unit: str
    start: int
    end: int
    text: str
    bare: str
    words: tuple[str, ...]
    values: tuple[Value, ...]
    before: tuple[str, ...]
    negated: bool

    @cached_property
    def core(self) -> frozenset[str]:
        """What it speaks of: its words without those that its values imply."""
        return frozenset(self.words).difference(*(implied(slot(value)) for value in self.values))

    def about(self, more: Sequence[str]) -> Statement:
        """Return the statement with words that stand elsewhere put in front."""
        return replace(self, words=(*more, *self.words))


def slot(value: Value) -> str:
    """Name what a value may be compared with: its dimension, kind or precision."""
    match value:
        case Quantity():
            return UNITS[value.unit].dimension if value.unit is not None else value.kind
        case DateMention():
            return f"date {value.precision}"
        case Identifier():
            return "identifier"


class StatedText:
    """The statements of one text, read when they are asked for. `name` is the id of its unit."""

    def __init__(self, name: str, text: str, title: str = "") -> None:
        self.name = name
        # A unit written together with a word of another script is no unit to the scan of numbers.
        self.folded = _JOINED.sub(" ", fold(text).text)
        self.title = fold(title).text
        self._read: dict[int, tuple[Statement, ...]] = {}

    @lazy
    def spans(self) -> list[tuple[int, int]]:
        """Its sentences."""
        return sentences(self.folded)

    @lazy
    def beginnings(self) -> list[frozenset[str]]:
        """For each sentence, the beginnings of its words: a quick look before it is read."""
        return [beginnings(self.folded[start:end]) for start, end in self.spans]

    @lazy
    def titled(self) -> frozenset[str]:
        """Stems of its title."""
        return frozenset(_words(self.title)[0])

    @lazy
    def _values(self) -> list[Value]:
        return _values(self.folded)

    def valued(self, at: int) -> frozenset[str]:
        """Return what the values of sentence `at` may be compared with."""
        start, end = self.spans[at]
        return frozenset(slot(value) for value in self._inside(start, end))

    def read(self, at: int) -> tuple[Statement, ...]:
        """Return the statements of sentence `at`, read once: the whole, and parts with a value."""
        known = self._read.get(at)
        if known is None:
            known = self._read[at] = tuple(self._statements(*self.spans[at]))
        return known

    def _statements(self, start: int, end: int) -> Iterator[Statement]:
        if end - start > _LONGEST:
            return
        inside = self._inside(start, end)
        for low, high in _pieces(self.folded, start, end, inside):
            found = self._statement(low, high, inside)
            if found.words:
                yield found

    def _inside(self, start: int, end: int) -> Sequence[Value]:
        low = bisect_left(self._starts, start)
        return self._values[low : bisect_left(self._starts, end)]

    @lazy
    def _starts(self) -> list[int]:
        return [value.start for value in self._values]

    def opening(self, at: int) -> tuple[str, ...]:
        """Return the stems of sentence `at` in order."""
        start, end = self.spans[at]
        return _words(self.folded[start:end])[0]

    def _statement(self, start: int, end: int, values: Sequence[Value]) -> Statement:
        held = [value for value in values if start <= value.start and value.end <= end]
        text = self.folded[start:end]
        bare = _without(text, start, held)
        words, negations = _words(bare)
        cuts = [start, *(value.end for value in held)]
        return Statement(
            unit=self.name,
            start=start,
            end=end,
            text=text,
            bare=bare,
            words=words,
            values=tuple(held),
            before=tuple(
                self.folded[low : value.start] for low, value in zip(cuts, held, strict=False)
            ),
            negated=negations % 2 == 1,
        )


def beginnings(text: str) -> frozenset[str]:
    """Return what the forms of one word share: four letters, or one of a script without spaces."""
    found = {word[:4] for word in letter_runs(plain(text.lower()))}
    if not text.isascii():
        found.update(_HAN_OR_KATAKANA.findall(text))
    return frozenset(found)


def _values(text: str) -> list[Value]:
    numeric = numeric_mentions(text) if any(map(str.isdigit, text)) else NumericMentions()
    words = frozenset(letter_runs(text.lower()))
    codes: list[Value] = [
        Identifier(item.start, item.end, item.text.lower()) for item in identifiers(text, words)
    ]
    numbers: list[Quantity | DateMention] = [*numeric.quantities, *numeric.dates]
    kept: list[Value] = [
        value
        for value in numbers
        if not value.soft and not any(c.start < value.end and value.start < c.end for c in codes)
    ]
    return sorted([*kept, *codes], key=lambda value: value.start)


def _pieces(text: str, start: int, end: int, values: Sequence[Value]) -> Iterator[tuple[int, int]]:
    """Yield the sentence, then those of its parts that hold a value; no value is cut."""
    yield start, end
    if not values:
        return
    breaks = [
        match.span()
        for match in _CUT.finditer(text, start, end)
        if not any(v.start < match.end() and match.start() < v.end for v in values)
    ]
    edges = [(start, start), *breaks, (end, end)] if breaks else []
    for (_, low), (high, _) in pairwise(edges):
        if any(low <= value.start < high for value in values):
            yield low, high


def _without(text: str, offset: int, values: Sequence[Value]) -> str:
    pieces: list[str] = []
    at = 0
    for value in values:
        pieces += (text[at : value.start - offset], " ")
        at = max(at, value.end - offset)
    return "".join((*pieces, text[at:]))


def _words(text: str) -> tuple[tuple[str, ...], int]:
    """Return stems in order, and how many negations stand between them."""
    found: list[str] = []
    negations = 0
    for token in _TOKEN.findall(text):
        if len(token) == 1 and token.isascii():
            # `Tent A` is not `Tent B`; the article at the beginning is no name.
            found += [token.lower()] if token.isupper() and found else []
            continue
        read = (
            _cased(token) if token.isascii() or UNCASED.search(token) is None else _uncased(token)
        )
        found += read[0]
        negations += read[1]
    return tuple(found), negations


@cached_by_word
def _cased(token: str) -> tuple[tuple[str, ...], int]:
    """Return what a word adds: its stem, or a negation, or nothing."""
    word, _, rest = token.lower().partition("'")
    if (rest == "t" and word.endswith("n")) or plain(word) in NEGATION_STEMS:
        return (), 1
    stemmed = stem(plain(word))
    if len(word) == 1 or stemmed in EMPTY_WORDS or REVISION.fullmatch(word) is not None:
        return (), 0
    return (stemmed,), 0


@cached_by_word
def _uncased(token: str) -> tuple[tuple[str, ...], int]:
    """Return what a run of a script without capitals says, and how many negations it holds."""
    token = REVISION.sub("", token)
    if _HAN_OR_KATAKANA.search(token) is not None:
        signs = [char for char in _HIRAGANA.sub("", token) if char not in _DENSE_EMPTY]
        kept = tuple(char for char in signs if char not in _DENSE_NO)
        return kept, ("ない" in token) + ("ません" in token) + len(signs) - len(kept)
    if _HANGUL.search(token) is not None:
        return (_PARTICLE.sub("", token) or token,), ("않" in token) + ("아니" in token)
    if token in NEGATION_STEMS or NEGATION_HINT.fullmatch(token) is not None:
        return (), 1
    if not token or _HIRAGANA.fullmatch(token) or stem(plain(token)) in EMPTY_WORDS:
        return (), ("ない" in token) + ("ません" in token)
    return (stem(plain(token)),), 0
