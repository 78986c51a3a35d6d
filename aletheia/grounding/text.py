"""Fold text into a comparable form without losing where each character came from.

Folding is what makes `co‑op’s` equal `co-op's` and `١٢٣` equal `123`. It never removes a word,
never touches case, and keeps accents (`Peña` and `Pena` may be two people); those are decided
where names are compared. Superscripts, subscripts and vulgar fractions are spelled out before
NFKC, which would turn `10²` into `102`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")
_LONGEST_CACHED: Final = 64
_CACHED_WORDS: Final = 16384


def cached_by_word(function: Callable[[str], T]) -> Callable[[str], T]:
    """Remember what `function` returned for the words last asked for.

    Longer strings are worked out every time: a cache must not keep whole texts alive.
    """
    cached = lru_cache(maxsize=_CACHED_WORDS)(function)

    @wraps(function)
    def remembered(word: str) -> T:
        return cached(word) if len(word) <= _LONGEST_CACHED else function(word)

    return remembered


SUPERSCRIPT = "^"
"""Marks what was a superscript: `10²` folds to `10^2`."""

_ONE_TO_ONE = {
    **dict.fromkeys(map(ord, "‘’‚‛′ʼʻˈ＇´"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»＂「」『』"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－⁃"), "-"),
    **dict.fromkeys(
        map(ord, "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"),
        " ",
    ),
    **dict.fromkeys(map(ord, "\u202f\u205f\u3000"), " "),
    **dict.fromkeys(map(ord, "\u2028\u2029\u0085\u000b\u000c"), "\n"),
    ord("⁄"): "/",
    ord("∕"): "/",
    ord("×"): "x",
    ord("٪"): "%",
    ord("٫"): ".",
    ord("٬"): ",",
    ord("،"): ",",
    ord("؛"): ";",
    ord("؟"): "?",
    ord("、"): ",",
    ord("·"): ".",
}
_EXPAND = {
    "…": "...",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "≈": "~",
    "±": "+-",
    "ß": "ß",
    "№": "No.",
    "™": "",
    "®": "",
    "©": "",
}
_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
)
# A character outside ASCII together with the combining marks that follow it, or an ASCII
# letter that carries marks.
_CLUSTER = re.compile(r"[^\x00-\x7f]|[A-Za-z](?=[\u0300-\u036f])")
_MARKS = re.compile(r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u3099\u309a]+")


class Folded(NamedTuple):
    """Folded `text` and the map back to the `original`.

    `starts` and `shifts` describe the map piecewise (both empty: identity); `widths` holds the
    lengths of the original clusters that were rewritten.
    """

    original: str
    text: str
    starts: tuple[int, ...] = ()
    origins: tuple[int, ...] = ()
    verbatim: tuple[bool, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in the original of the folded span `[start, end)`, code points."""
        if not self.starts:
            return start, end
        return self._origin(start), self._origin_end(end)

    def locate(self, position: int) -> int:
        """Folded offset of an offset in the original (the first one at or after it)."""
        if not self.starts:
            return min(position, len(self.text))
        index = bisect_right(self.origins, position) - 1
        if index < 0:
            return 0
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        if self.verbatim[index]:
            return min(self.starts[index] + position - self.origins[index], end)
        return self.starts[index] if position == self.origins[index] else end

    def _origin(self, position: int) -> int:
        index = bisect_right(self.starts, position) - 1
        if self.verbatim[index]:
            return self.origins[index] + position - self.starts[index]
        return self.origins[index]

    def _origin_end(self, position: int) -> int:
        if position <= 0:
            return 0
        index = bisect_right(self.starts, position - 1) - 1
        if self.verbatim[index]:
            return self.origins[index] + position - self.starts[index]
        return self.origins[index + 1] if index + 1 < len(self.origins) else len(self.original)


def fold(text: str) -> Folded:
    """Fold `text`; see the module for what is folded."""
    if text.isascii():
        return Folded(text, text)
    flat = text.translate(_ONE_TO_ONE)
    if flat.isascii():
        return Folded(text, flat)
    return _fold_clusters(text, flat)


def _fold_clusters(original: str, flat: str) -> Folded:
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    verbatim: list[bool] = []
    out = 0
    position = 0

    def emit(piece: str, origin: int, *, same: bool) -> None:
        nonlocal out
        if not piece:
            return
        starts.append(out)
        origins.append(origin)
        verbatim.append(same)
        pieces.append(piece)
        out += len(piece)

    for match in _CLUSTER.finditer(flat):
        begin = match.start()
        if begin < position:
            continue
        marks = _MARKS.match(flat, match.end())
        end = marks.end() if marks else match.end()
        cluster = flat[begin:end]
        folded = _fold_cluster(cluster)
        previous = flat[begin - 1] if begin else ""
        if folded[:1].isdigit() and "/" in folded and previous.isdigit():
            folded = " " + folded
        elif (
            folded[:1] == SUPERSCRIPT
            and pieces
            and begin == position
            and pieces[-1][:1] == SUPERSCRIPT
        ):
            folded = folded[1:]
        if folded == cluster:
            continue
        if begin > position:
            emit(flat[position:begin], position, same=True)
        emit(folded, begin, same=False)
        position = end
    if position < len(flat):
        emit(flat[position:], position, same=True)
    # What folds to nothing (zero-width characters) belongs to no piece; the next piece's origin
    # skips it, and an end offset before it stops at that origin.
    return Folded(original, "".join(pieces), tuple(starts), tuple(origins), tuple(verbatim))


@cached_by_word
def _fold_cluster(cluster: str) -> str:
    """Folded form of one character with its marks."""
    char = cluster[0]
    if char in _EXPAND:
        return _EXPAND[char]
    if _INVISIBLE.match(char):
        return ""
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    kind = unicodedata.decomposition(char)
    if kind.startswith(("<super>", "<sub>")):
        return SUPERSCRIPT + unicodedata.normalize("NFKC", char)
    if kind.startswith("<fraction>"):
        return unicodedata.normalize("NFKC", char).replace("⁄", "/")
    if char in "ßẞ":
        return cluster
    return unicodedata.normalize("NFKC", cluster).translate(_ONE_TO_ONE)


# Letters that carry no combining mark but are spelled without the stroke in plain ASCII.
_PLAIN = str.maketrans(
    {"ß": "ss", "ẞ": "SS", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ı": "i", "đ": "d", "Đ": "D",
     "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "þ": "th", "Þ": "Th", "ð": "d", "Ð": "D",
     "ħ": "h", "Ħ": "H", "ŋ": "n", "ŧ": "t"}
)  # fmt: skip
_FOLDABLE = re.compile(r"[A-Za-z\u0370-\u03ff\u1f00-\u1fff\u0400-\u04ff]")


@cached_by_word
def plain(word: str) -> str:
    """`word` without accents: Zürich → Zurich, Łódź → Lodz; か and が stay two letters.

    Marks are dropped only after Latin, Greek and Cyrillic letters (й keeps its breve: и and й
    are two letters).
    """
    if word.isascii():
        return word
    kept: list[str] = []
    base = ""
    for char in unicodedata.normalize("NFD", word.translate(_PLAIN)):
        if unicodedata.combining(char):
            if _FOLDABLE.match(base) and not (base in "иИ" and char == "\u0306"):
                continue
        else:
            base = char
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def lowered(word: str) -> str:
    """Lower case that never changes the length: `İ` becomes `i`."""
    if word.isascii():
        return word.lower()
    return "".join(char.lower()[:1] or char for char in word)


def common_beginning(a: str, b: str) -> int:
    """How many characters two texts share at their beginning."""
    length = min(len(a), len(b))
    return next((index for index in range(length) if a[index] != b[index]), length)
