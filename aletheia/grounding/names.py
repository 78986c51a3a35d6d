"""Names: which words of an answer are names, and whether the evidence carries them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from aletheia.grounding.lexicon import (
    AMBIGUOUS_NAMES,
    FUNCTION_WORDS,
    HONORIFICS,
    MONTHS_AND_DAYS,
    OPENERS,
    PARTICLES,
    is_common,
)
from aletheia.grounding.spans import Spans
from aletheia.grounding.tokens import WORD, Word, searchable_word

_JOINED = frozenset({" ", "-", " & ", "'", "/"})
_EMPHASIS = frozenset("not and or no all only must never yes both is are the but may".split())
_OPENING = re.compile(r"(?:^|[.!?:;\n•*#>\"(\[|\u2022-])[\s\"'(*_#>\u2022-]*$")
_EVERYWHERE = frozenset(
    "internet earth tv tvs web god ok wifi ai cv id ids celsius fahrenheit kelvin hertz".split()
)
"""Capitalised words that no evidence needs to define."""
_ADVERB = re.compile(r"(?:mente|ement|amment|emment|weise|erweise|lijk|mente)$")
_NUMBERED = frozenset("no nos nr vol pt ch fig sec art".split())
_DETERMINED = re.compile(
    r"\b(?:the|a|an|this|that|these|those|our|their|its|his|her|your|my|each|every|any|no|of)\s$",
    re.IGNORECASE,
)
_OPENING_WORDS = frozenset(
    "will may rich page price summer stone skip cliff king read rice grant hope sandy rusty hardy "
    "nick dawn eve april june august rod fern pat chase art".split()
)
"""Given names that open a sentence as ordinary words at least as often."""
_LONE_INITIAL = re.compile(r"\.\s+[a-z]")
_HEADING = re.compile(
    r"^[ \t]*(?:#+ .*|\*\*[^*\n]+\*\*:?[ \t]*|[^.!?\n]{1,60}:[ \t]*)$", re.MULTILINE
)


class Name(NamedTuple):
    """A run of words of the answer that is taken for a name.

    `start`, `end` are offsets in the folded answer. `designator` is a number or letter that tells
    it from its siblings (`Type 1`). `opener` marks a name at the start of a sentence.
    """

    words: tuple[Word, ...]
    start: int
    end: int
    opener: bool = False
    designator: str | None = None

    @property
    def lower(self) -> tuple[str, ...]:
        """The words in lower case."""
        return tuple(word.text.lower() for word in self.words)


def names(folded: str, *, masks: Sequence[tuple[int, int]] = (), cased: bool = True) -> list[Name]:
    """The names in a folded answer, in order; spans inside `masks` are left out."""
    if not cased:
        return []
    found: list[Name] = []
    headings = _headings(folded)
    for run in _runs(folded, masks):
        if len(run) == 1 and run[0].text in _CAPITAL_FUNCTION_WORDS:
            continue
        name = _name_of(_with_number(run, folded), folded, headings)
        if name is not None:
            found.append(name)
    return found


_CAPITAL_FUNCTION_WORDS: Final = frozenset(w.capitalize() for w in FUNCTION_WORDS if len(w) > 1)
"""Most capitalised words that stand alone only open a sentence with one of these."""


def _headings(folded: str) -> list[tuple[int, int]]:
    if "\n" not in folded and "#" not in folded and "**" not in folded:
        return []
    return [match.span() for match in _HEADING.finditer(folded)]


def _runs(folded: str, masks: Sequence[tuple[int, int]]) -> list[list[Word]]:
    """Maximal runs of capitalised words, particles between them included."""
    masked = Spans(masks)
    runs: list[list[Word]] = []
    last = Word("", 0, -_LONGEST_GAP - 1)
    for match in _capitalised(folded):
        start, end = match.span()
        if masks and masked.cover(start):
            continue
        raw = match.group()
        word = Word(raw if raw.isalnum() and raw.isascii() else searchable_word(raw), start, end)
        near = start - last.end <= _LONGEST_GAP
        between = _between(last, folded, start) if near else None
        if between is None:
            runs.append([word])
        else:
            runs[-1] += (*between, word)
        last = word
    return runs


# The same words as `WORD`, but only those with a capital among their first letters.
_CAPITALISED = re.compile(rf"(?<![^\W_])(?=[A-Z]|[a-z][a-z]?[A-Z])(?:{WORD.pattern})")
# The same without `iPhone` and `eBay`: twice as fast, because every match begins with a capital.
_CAPITAL_FIRST = re.compile(
    r"[A-Z](?<![^\W_].)"
    r"(?:(?:[-.&][A-Za-z])+(?![A-Za-z])|[^\W_]*(?:['&][^\W_]+)*(?:\+\+|#)?)"
)
_INNER_CAPITAL = re.compile(r"[A-Z](?<=[a-z].)")
_LONGEST_GAP = 14
_PARTICLES_BETWEEN = re.compile(r" ((?:[a-z]{1,5} ){1,2})")
_NUMBER_AFTER = re.compile(r"[ -](\d{1,3}(?:\.\d+)*[A-Za-z]?)(?![\w%$€°]|[.,]\d)")


def _capitalised(folded: str) -> Iterator[re.Match[str]]:
    if folded.isascii():
        inner = _INNER_CAPITAL.search(folded) is not None
        return (_CAPITALISED if inner else _CAPITAL_FIRST).finditer(folded)
    return (m for m in WORD.finditer(folded) if m.group()[0].isupper() or _inner_capital(m.group()))


def _between(last: Word, folded: str, start: int) -> list[Word] | None:
    """The particles that keep two capitalised words in one name; None when they are two."""
    if folded[last.end - 2 : last.end] in ("'s", "'S"):
        return None
    gap = folded[last.end : start]
    if _continues(last, gap):
        return []
    match = _PARTICLES_BETWEEN.fullmatch(gap)
    if match is None:
        return None
    found: list[Word] = []
    place = last.end + 1
    for particle in match.group(1).split():
        if particle not in PARTICLES:
            return None
        found.append(Word(particle, place, place + len(particle)))
        place += len(particle) + 1
    return found


def _with_number(run: list[Word], folded: str) -> list[Word]:
    """Add a number right after a name that tells it from its siblings (`Boeing 747`)."""
    last = run[-1]
    if not folded[last.end + 1 : last.end + 2].isdigit():
        return run
    match = _NUMBER_AFTER.match(folded, last.end)
    if match is None or folded.startswith("'s", last.end - 2):
        return run
    return [*run, Word(match.group(1), match.start(1), match.end(1))]


def _continues(last: Word, gap: str) -> bool:
    """Whether what stands between two capitalised words keeps them in one name."""
    if gap in _JOINED:
        return True
    if gap == ". ":
        short = last.text.lower()
        if last.text.isupper() and last.end - last.start == 2 * len(last.text) - 1:
            return True  # initials: `J.R.R. Tolkien`
        return len(last.text) == 1 or short in HONORIFICS or short in ("st", "mt", "ft", "no", "jr")
    return False


def _inner_capital(text: str) -> bool:
    return len(text) > 2 and text[1].isupper() and text[0].islower()


def _name_of(run: list[Word], folded: str, headings: list[tuple[int, int]]) -> Name | None:
    """The name that a run of capitalised words makes without what only stands around it."""
    designator: str | None = None
    high = len(run)
    if run[-1].text[0].isdigit():
        designator = run[-1].text
        high -= 1
    while high and (run[high - 1].text in PARTICLES or run[high - 1].text.lower() in _NUMBERED):
        high, designator = high - 1, None
    if not high:
        return None
    opener = _opens(folded, run[0].start)
    low, high = _without_dates(run, high)
    while high - low > 1 and run[low].text == "I":
        low += 1
    while opener and high - low > 1 and _is_article(run[low].text):
        low, opener = low + 1, False
    named = run[low:high]
    if not named or not _is_name(named, folded, headings, opener=opener):
        return None
    return Name(tuple(named), named[0].start, named[-1].end, opener, designator)


def _is_article(text: str) -> bool:
    """Whether a capitalised word only opens the sentence (`The Hague` keeps it elsewhere)."""
    return text.lower() in FUNCTION_WORDS and text != "US"


def _is_name(
    run: list[Word], folded: str, headings: list[tuple[int, int]], *, opener: bool
) -> bool:
    if len(run) == 1:
        if not _is_single_name(run[0], folded, opener=opener):
            return False
    elif run[0].text.lower() in FUNCTION_WORDS and all(
        word.text.lower() in FUNCTION_WORDS for word in run
    ):
        return False
    return not (headings and _is_heading(run, headings))


def _is_heading(run: list[Word], headings: list[tuple[int, int]]) -> bool:
    """Whether ordinary words are capitalised only because they stand in a heading."""
    return any(start <= run[0].start < stop for start, stop in headings) and all(
        is_common(word.text.lower()) for word in run
    )


def _opens(folded: str, position: int) -> bool:
    if position == 0:
        return True
    if folded[position - 1] == " " and folded[position - 2].isalnum():
        return False
    return bool(_OPENING.search(folded, max(0, position - 12), position))


def _without_dates(run: list[Word], high: int) -> tuple[int, int]:
    """Months and weekdays at the edges belong to dates, which are decided elsewhere."""
    low = 0
    while high and run[high - 1].text.lower() in MONTHS_AND_DAYS:
        high -= 1
    while high - low > 1 and run[low].text.lower() in MONTHS_AND_DAYS:
        low += 1
    return low, high


def _is_single_name(word: Word, folded: str, *, opener: bool) -> bool:
    text = word.text
    lower = text.lower()
    if len(text) == 1:
        return text != "I" and bool(_LONE_INITIAL.match(folded, word.end))
    if lower in HONORIFICS or lower in _EVERYWHERE:
        return False
    if lower in MONTHS_AND_DAYS and (text.isupper() or lower not in AMBIGUOUS_NAMES):
        return False
    if not text[1:].islower() and not text.isupper() and any(map(str.isupper, text[1:])):
        return True
    if text.isupper():
        return lower not in _EMPHASIS and not (len(text) > 5 and is_common(lower))
    if lower in FUNCTION_WORDS or len(text) < 2:
        return False
    if opener and (lower in OPENERS or _ADVERB.search(lower)):
        return False
    if lower in AMBIGUOUS_NAMES:
        return not opener or lower not in _OPENING_WORDS
    if not is_common(lower):
        return True
    # Off the start of a sentence a capital marks a name (`works at Shell`), unless an article or
    # the like makes it a thing of its kind (`the Court`).
    return not opener and not _DETERMINED.search(folded, max(0, word.start - 12), word.start)
