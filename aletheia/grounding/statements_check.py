"""Checks of whole statements: sign, opposite words, near-words, and no common ground at all."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from rapidfuzz import fuzz, process

from aletheia.grounding.case import Case, EvidenceIndex, Sentence
from aletheia.grounding.checks import Result, finding, note
from aletheia.grounding.lexicon import FUNCTION_WORDS, OTHER_FUNCTION_WORDS, is_common
from aletheia.grounding.polarity import (
    Clause,
    agrees,
    clauses,
    negation_positions,
    occurrences,
    opposed,
    opposites,
    stem,
)
from aletheia.grounding.refusal import idle_spans
from aletheia.grounding.spans import Spans
from aletheia.grounding.text import common_beginning, lowered
from aletheia.grounding.tokens import letter_runs
from aletheia.grounding.variants import inflected, respelled

_WORD = re.compile(r"[^\W\d_]{2,}")
_LOWER_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_A-Z]{2,}")
_STOP = FUNCTION_WORDS.union(*OTHER_FUNCTION_WORDS.values())
_TAIL = ".,;:!?)\"'"
_STOP5 = frozenset(word[:5] for word in _STOP)
_LEAST_SHARED = 2
_SHORTEST = 7
_NEAR = 80.0
"""rapidfuzz ratio from which two technical words are near enough to be mistaken (`hypotension`)."""


def check_statements(case: Case) -> Iterator[Result]:
    """Every statement is compared with the cited units; opposite ones fail."""
    if not case.cited.units:
        return
    words = _lower_words(case.runs) - _STOP
    absent = words - case.cited.vocabulary
    if absent:
        yield from _near_words(case, absent)
    signs = _Signs(case, absent)
    for sentence in case.sentences:
        yield from signs.check(sentence)
    if absent:
        known = words - absent
        yield from _common_ground(case, [s for s in case.sentences if _is_foreign(case, s, known)])


def _lower_words(runs: Iterable[str]) -> set[str]:
    """The words, and beginnings of words, that are in lower case (`mac` of `macOS`).

    Letters outside ASCII count as lower case, so that no word of an uncased script is lost.
    """
    distinct = set(runs)
    found = {word for word in distinct if word.islower() and len(word) > 1}
    for word in distinct - found:
        if not "A" <= word[0] <= "Z":
            found.update(_LOWER_WORD.findall(word))
    return found


def _near_words(case: Case, absent: set[str]) -> Iterator[Result]:
    """A technical word that is absent while the evidence holds one that looks like it."""
    candidates = {
        word for word in absent if len(word) >= _SHORTEST and word.isascii() and not is_common(word)
    }
    if not candidates or not case.is_english:
        return
    for match in _LOWER_WORD.finditer(case.text):
        word = match.group()
        if word in candidates and not case.masks.cover(match.start()):
            near = _near_word(word, case.cited)
            if near is not None:
                elsewhere = next((u.id for u in case.others.units if f" {word} " in u.lower), None)
                yield finding(
                    case, "name", match.span(), "near_word", found_in=elsewhere, nearest=near
                )


def _near_word(word: str, index: EvidenceIndex) -> str | None:
    """The technical word of the evidence that may have been meant, if the evidence lacks `word`."""
    if stem(word) in index.stems:
        return None
    near = process.extractOne(
        word, index.technical_words, scorer=fuzz.ratio, processor=None, score_cutoff=_NEAR
    )
    if near is None or inflected(word, near[0]) or respelled(word, near[0]):
        return None
    # A long common beginning: two forms of one word.
    return near[0] if common_beginning(word, near[0]) * 2 <= len(word) else None


Span = tuple[int, int]


class _Signs:
    """Compares clauses of the answer with clauses of the cited units; made once per answer.

    Only evidence sentences that could show the opposite are cut into clauses: those with a
    negation, those with the opposite of a word the evidence lacks, and, for a negated claim, those
    that hold its longest word.
    """

    def __init__(self, case: Case, absent: set[str]) -> None:
        self.case = case
        vocabulary = case.cited.vocabulary
        turned = {word: opposites(word) & vocabulary for word in absent}
        self._turned = {word: others for word, others in turned.items() if others}
        self._clauses: dict[Span, list[Clause]] = {}
        self._beginnings: dict[Span, set[str]] = {}
        self._negated = self._sentences_at(negation_positions(case.cited.lower_folded, vocabulary))
        self._cues = sorted(negation_positions(lowered(case.text), case.words))

    def check(self, sentence: Sentence) -> Iterator[Result]:
        """Find the first clause of the sentence that the cited units turn around."""
        if not (self._negated or self._cues or self._turned):
            return
        targets, negated = self._targets(sentence)
        if not targets and not negated:
            return
        case = self.case
        for claim in clauses(case.text, sentence.start, sentence.end):
            held = self._holding(claim) if claim.negated else set()
            shown = self._opposition(claim, targets | held)
            if shown is not None:
                case.decided.append((sentence.start, sentence.end))
                yield shown
                return

    def _targets(self, sentence: Sentence) -> tuple[set[Span], bool]:
        """Evidence sentences that could contradict this one, and whether it holds a negation."""
        turned: set[Span] = set()
        if self._turned:
            text = self.case.text[sentence.start : sentence.end]
            for word in self._turned.keys() & _lower_words(letter_runs(text)):
                for other in self._turned[word]:
                    turned |= self._sentences_with(other, whole=True)
        first = bisect_left(self._cues, sentence.start)
        negated = first < len(self._cues) and self._cues[first] < sentence.end
        targets = self._negated
        if targets and not negated:
            text = lowered(self.case.text[sentence.start : sentence.end])
            targets = {span for span in targets if self._may_match(span, text)}
        return targets | turned, negated

    def _may_match(self, span: Span, lower: str) -> bool:
        """A quick look whether an evidence sentence shares half of a claim's word beginnings."""
        words = self._beginnings.get(span)
        if words is None:
            text = self.case.cited.lower_folded[span[0] : span[1]]
            words = self._beginnings[span] = _beginnings(text.replace("-", " "))
        # Most sentences hold fewer than two of them anywhere.
        if len([word for word in words if word in lower]) < _LEAST_SHARED:
            return False
        known = _beginnings(lower)
        shared = len(known & words)
        return shared >= _LEAST_SHARED and shared * 2 >= len(known)

    def _holding(self, claim: Clause) -> set[Span]:
        """Evidence sentences that hold the longest word of a claim that the evidence has."""
        for word in sorted(claim.words, key=lambda word: (-len(word), word)):
            found = self._sentences_with(stem(word), whole=False)
            if found:
                return found
        return set()

    def _sentences_with(self, word: str, *, whole: bool) -> set[Span]:
        return self._sentences_at(list(occurrences(self.case.cited.lower_folded, word, end=whole)))

    def _sentences_at(self, places: list[int]) -> set[Span]:
        return set(_sentences_around(self.case.cited.folded, places))

    def _opposition(self, claim: Clause, targets: set[Span]) -> Result | None:
        if len(claim.words) < 2 and not claim.negated:
            return None
        for span in sorted(targets):
            for other in self._of(span):
                found = opposed(claim, other)
                if found is not None:
                    if self._agreed(claim):
                        return None
                    place = _trimmed(self.case.text, claim)
                    return finding(self.case, "polarity", place, found.reason, nearest=found.cue)
        return None

    def _agreed(self, claim: Clause) -> bool:
        """Whether another clause of the cited units says it with the same sign."""
        return any(
            agrees(claim, other)
            for span in self.case.cited.sentence_spans
            for other in self._of(span)
        )

    def _of(self, span: Span) -> list[Clause]:
        if span not in self._clauses:
            self._clauses[span] = clauses(self.case.cited.folded, *span)
        return self._clauses[span]


def _beginnings(lower: str) -> set[str]:
    """The first five letters of content words: forms of one word mostly share them."""
    return {word.rstrip(_TAIL)[:5] for word in lower.split()} - _STOP5


_STOPS = (". ", "\n", "? ", "! ")
_STOP_SIGN = re.compile(r"[.?!] |\n")


def _sentences_around(text: str, places: list[int]) -> Iterator[Span]:
    """Rough sentences around offsets: between the nearest stops. Clauses are cut from them."""
    start = end = 0
    for place in sorted(places):
        if place < end:
            continue
        start = max(0, *(text.rfind(stop, start, place) + 1 for stop in _STOPS))
        after = _STOP_SIGN.search(text, place)
        end = after.start() if after is not None else len(text)
        yield start, end


def _trimmed(text: str, claim: Clause) -> tuple[int, int]:
    start, end = claim.start, claim.end
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return start, end


def _common_ground(case: Case, foreign: list[Sentence]) -> Iterator[Result]:
    """Statements none of whose words stands in the cited units did not come from them.

    One such sentence among others may be a paraphrase, and is noted; it fails when the answer
    marks its other sentences with citations and leaves this one bare, or when nothing else is said.
    """
    if not foreign:
        return
    idle = Spans(idle_spans(case.answer))
    said = {sentence for sentence in case.sentences if _claims(case, sentence, idle)}
    foreign = [sentence for sentence in foreign if sentence in said]
    marked = any(sentence.scope for sentence in case.sentences)
    for sentence in foreign:
        span = (sentence.start, sentence.end)
        if len(foreign) == len(said) or (marked and not sentence.scope):
            case.decided.append(span)
            unit = _carrying_unit(case, sentence)
            reason = "misattributed" if unit else "no_common_ground"
            yield finding(case, "claim", span, reason, found_in=unit)
        else:
            yield note(case, "claim", span, "unchecked")


def _claims(case: Case, sentence: Sentence, idle: Spans) -> bool:
    """Whether a sentence holds words, and is no small talk, heading or question."""
    if not _WORD.search(case.text, sentence.start, sentence.end):
        return False
    start, end = case.original(sentence.start, sentence.end)
    return not idle.overlap(start, end)


def _carrying_unit(case: Case, sentence: Sentence) -> str | None:
    """The uncited unit that holds every content word of a sentence."""
    words = _lower_words(letter_runs(case.text[sentence.start : sentence.end])) - _STOP
    stems = set(map(stem, words))
    for unit in case.uncited_units():
        if stems and stems <= unit.stems:
            return unit.units[0].id
    return None


def _is_foreign(case: Case, sentence: Sentence, known: set[str]) -> bool:
    """Whether a statement of at least two content words shares none of them, in any form.

    `known` are the lower-case words of the answer that the cited units hold.
    """
    text = case.text[sentence.start : sentence.end]
    for word in known:
        if f" {word} " in text:
            return False
    words = _lower_words(letter_runs(text)) - _STOP
    if not words or not words.isdisjoint(known) or not case.is_english:
        return False
    first = _WORD.search(text)
    if first is not None and is_common(first.group().lower()):
        words = words | {first.group().lower()} - _STOP
    if len(words) < 2:
        return False
    if _has_shared_capital(text, case.cited):
        return False
    return case.cited.stems.isdisjoint(map(stem, words))


def _has_shared_capital(text: str, index: EvidenceIndex) -> bool:
    return any(
        f" {word.lower()} " in index.lower
        for word in _WORD.findall(text)
        if not word.islower() and word.lower() not in _STOP
    )
