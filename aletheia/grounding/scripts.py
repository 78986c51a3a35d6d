"""Names in scripts that have no capitals: Han, kana, Hangul, Arabic, Hebrew, Devanagari, Thai.

Nothing marks a name there, so two things are looked for: a piece that stands in the slot where
the evidence holds another one (`会议在大阪举行` against `会议在东京举行`), and a short run that
the evidence holds only inside a longer word (`京都` inside `東京都`). Words that are merely
absent are not enough: a paraphrase has them too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rapidfuzz.distance import Indel

from aletheia.grounding.spans import Spans
from aletheia.grounding.text import common_beginning, plain
from aletheia.grounding.tokens import Corpus

UNCASED = re.compile(
    "[\u0590-\u05ff\u0600-\u06ff\u0750-\u077f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u10d0-\u10ff"
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々〆"
_HAN_RUN = re.compile(f"[{_HAN}]+")
_KATAKANA_RUN = re.compile("[\u30a1-\u30fa\u30fcー・]{2,}")
_KANA = re.compile("[\u3040-\u30ff]")
_FUNCTION_HAN = frozenset(
    "在于於和的与與是了从從到由向对對为為被把将將及或等有也都就而并並但以其这這那之所上下中内外是不没沒"
)
_MARKS = "\u064b-\u065f\u0670\u0591-\u05c7\u0900-\u0903\u093a-\u094f\u0962\u0963\u0981-\u0983\u09bc-\u09cd"
_SPACED = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}])*")

# Clitics and particles written together with a word, by script.
_CLITICS = (
    (
        re.compile("^[\u0600-\u06ff]+$"),
        re.compile("^(?:وال|بال|كال|فال|لل|ال|و|ف|ب|ل|ك)(?=..)"),
        None,
    ),
    (re.compile("^[\u0590-\u05ff]+$"), re.compile("^[והבלכמש](?=..)"), None),
    (
        re.compile("^[\uac00-\ud7af]+$"),
        None,
        re.compile(
            "(?<=.)(?:에서는|에서|에게|으로|까지|부터|처럼|보다|이라고|라고|은|는|이|가|을|를|에|의|와|과|도|로|만)$"
        ),
    ),
)
_FUNCTION_WORDS = frozenset(
    """
    في من إلى على عن مع هذا هذه ذلك التي الذي كان كانت هو هي أن إن ما لا لم قد تم كما أو ثم
    है हैं था थी थे का की के को में से पर ने और या यह वह एक इस उस जो भी ही तो कि लिए द्वारा साथ हुआ हुई गया गई किया
    של את על עם הוא היא זה זו כי אם גם לא יש אין או
    그 이 저 및 또는 있다 있는 했다 한다 하는
    """.split()
)
T = TypeVar("T", str, list[str])
MIN_ALIGNED = 0.5
MIN_ALIGNED_WORDS = 0.55
"""Similarity (Indel, 0..1) from which two sentences are taken to say the same with one change, by
character where words are not separated, else by word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFinding:
    """A span of the folded answer whose place in the evidence holds something else."""

    start: int
    end: int
    reason: str
    nearest: str | None


def uncased_findings(folded: str, start: int, end: int, corpus: Corpus) -> list[ScriptFinding]:
    """What the sentence `folded[start:end]` says in place of what the corpus says."""
    text = folded[start:end].rstrip()
    if not UNCASED.search(text):
        return []
    if any(text.strip(" .。") == other.strip(" .。") for other in _evidence_sentences(corpus)):
        return []
    opposite = _opposite_sign(text, corpus)
    if opposite is not None:
        return [ScriptFinding(start=start, end=end, reason="negation", nearest=opposite)]
    if _DENSE.search(text):
        found = [*_dense_slots(text, corpus), *_glued(text, corpus)]
    else:
        found = list(_spaced_slots(text, corpus))
    seen = Spans()
    result = []
    for item in found:
        if not seen.overlap(item.start, item.end):
            seen.add(item.start, item.end)
            result.append(
                ScriptFinding(
                    start=start + item.start,
                    end=start + item.end,
                    reason=item.reason,
                    nearest=item.nearest,
                )
            )
    return result


_NEGATION = re.compile(
    r"(?:では|じゃ)?(?:ない|なかった|ません(?:でした)?)|[不没沒未無无非]|않\w*|아니\w*|(?<!\S)(?:안|못)(?!\S)|없\w*"
    r"|(?<!\S)(?:لا|لم|لن|ليس|ليست|नहीं|न|मत|לא|אין)(?!\S)"
)
_SAME_BUT_SIGN = 0.85
"""Similarity without negations from which two sentences say the same or the opposite."""


def _opposite_sign(text: str, corpus: Corpus) -> str | None:
    """The evidence sentence that is the statement with the other sign, if none has the same."""
    stripped, cues = _unsigned(text)
    found: str | None = None
    for candidate in _evidence_sentences(corpus):
        other, other_cues = _unsigned(candidate)
        if Indel.normalized_similarity(stripped, other) < _SAME_BUT_SIGN:
            continue
        if cues % 2 == other_cues % 2:
            return None
        found = found or candidate
    return found


def _unsigned(text: str) -> tuple[str, int]:
    """`text` without negations and punctuation, and how many negations it has."""
    bare_text, cues = _NEGATION.subn("", text)
    return "".join(char for char in bare_text if char.isalnum()), cues


def _evidence_sentences(corpus: Corpus) -> Iterator[str]:
    for unit in corpus.units:
        yield from unit.sentences


def _dense_slots(text: str, corpus: Corpus) -> Iterator[ScriptFinding]:
    """Replaced pieces between the sentence and its closest evidence sentence, by character."""
    pool = list(_evidence_sentences(corpus))
    evidence = corpus.folded
    for sentence in pool:
        yield from _framed(text, sentence, evidence)
    best = _closest(text, pool, MIN_ALIGNED)
    if best is not None:
        for first, last, other in _replacements(text, best):
            low, high = _widened(text, first, last)
            piece = text[low:high]
            if _is_content(piece) and piece not in evidence and other.strip():
                yield ScriptFinding(start=low, end=high, reason="other_name", nearest=other)
    for match in _KATAKANA_RUN.finditer(text):
        if match.group().strip("・") not in corpus.folded:
            yield ScriptFinding(
                start=match.start(), end=match.end(), reason="not_in_evidence", nearest=None
            )


def _closest(text: T, pool: Sequence[T], least: float) -> T | None:
    best: T | None = None
    for candidate in pool:
        similarity = Indel.normalized_similarity(text, candidate)
        if similarity >= least:
            best, least = candidate, similarity
    return best


def _framed(text: str, best: str, evidence: str) -> Iterator[ScriptFinding]:
    """One piece that differs between a beginning and an end that are the same.

    Thai and others share single letters everywhere, so that a letter-by-letter comparison does not
    show the piece; the frame around it does.
    """
    low = common_beginning(text, best)
    tail = common_beginning(text[low:][::-1], best[low:][::-1])
    piece, other = text[low : len(text) - tail], best[low : len(best) - tail]
    letters = sum(char.isalpha() for char in piece)
    if (
        letters >= 3
        and len(other) >= 2
        and (low + tail) * 2 >= len(text) - 1
        and piece not in evidence
    ):
        yield ScriptFinding(start=low, end=len(text) - tail, reason="other_name", nearest=other)


def _replacements(text: str, other: str) -> Iterator[tuple[int, int, str]]:
    """Spans of `text` that stand where `other` has something else, with that something."""
    blocks = Indel.opcodes(text, other)
    deleted = {op.src_start: op.src_end for op in blocks if op.tag == "delete"}
    pending: tuple[int, int] | None = None
    for op in blocks:
        if op.tag == "delete":
            pending = (op.src_start, op.src_end)
        elif op.tag == "insert":
            if pending is not None:
                yield (*pending, other[op.dest_start : op.dest_end])
                pending = None
            elif op.src_end in deleted:
                yield op.src_end, deleted[op.src_end], other[op.dest_start : op.dest_end]
        else:
            pending = None


def _widened(text: str, low: int, high: int) -> tuple[int, int]:
    """Grow a replaced piece over the script run it cuts into: 大[阪] stays 大阪."""
    for pattern in (_HAN_RUN, _KATAKANA_RUN):
        # A longer run is cut by the window, but never to four characters or less.
        for match in pattern.finditer(text, max(0, low - 5), low + 5):
            if match.start() <= low < match.end() and match.end() - match.start() <= 4:
                return match.start(), max(high, match.end())
    return low, high


def _is_content(piece: str) -> bool:
    letters = [char for char in piece if char.isalpha()]
    if len(letters) < 2:
        return False
    return bool(_HAN_RUN.search(piece) or _KATAKANA_RUN.search(piece)) and not all(
        char in _FUNCTION_HAN for char in letters
    )


def _glued(text: str, corpus: Corpus) -> Iterator[ScriptFinding]:
    """Two-character runs that the evidence holds only inside a longer run.

    Only where kana set words apart: in Chinese text every run continues on its left.
    """
    evidence = corpus.folded
    if not (_KANA.search(text) or _KANA.search(evidence)):
        return
    function = frozenset[str]()
    for match in _HAN_RUN.finditer(text):
        for low, high in _pieces(match.group(), function):
            piece = match.group()[low:high]
            if len(piece) != 2 or piece not in evidence:
                continue
            places = [m.start() for m in re.finditer(re.escape(piece), evidence)]
            if all(_continues_left(evidence, place, function) for place in places):
                start = match.start() + low
                yield ScriptFinding(
                    start=start,
                    end=start + 2,
                    reason="cjk_substring",
                    nearest=_run_around(evidence, piece),
                )


def _pieces(run: str, function: frozenset[str]) -> Iterator[tuple[int, int]]:
    """The parts of a Han run between function characters."""
    start = 0
    for index, char in enumerate(run):
        if char in function:
            if index > start:
                yield start, index
            start = index + 1
    if start < len(run):
        yield start, len(run)


def _continues_left(text: str, start: int, function: frozenset[str]) -> bool:
    """Whether the run at `start` is the tail of a longer word."""
    before = text[start - 1 : start]
    return bool(before and _HAN_RUN.match(before) and before not in function)


def _run_around(text: str, piece: str) -> str:
    position = text.find(piece)
    start, end = position, position + len(piece)
    while start > 0 and _HAN_RUN.match(text[start - 1]) and text[start - 1] not in _FUNCTION_HAN:
        start -= 1
    while end < len(text) and _HAN_RUN.match(text[end]) and text[end] not in _FUNCTION_HAN:
        end += 1
    return text[start:end]


def _spaced_slots(text: str, corpus: Corpus) -> Iterator[ScriptFinding]:
    """Replaced words of uncased scripts."""
    return (item for item in _slots(text, corpus) if UNCASED.match(text, item.start))


def _slots(text: str, corpus: Corpus) -> Iterator[ScriptFinding]:
    """Replaced words between the sentence and its closest evidence sentence."""
    spans = [match.span() for match in _SPACED.finditer(text)]
    claimed = [bare(text[low:high]) for low, high in spans]
    pool = [
        [bare(word) for word in _SPACED.findall(sentence)]
        for sentence in _evidence_sentences(corpus)
    ]
    best = _closest(claimed, pool, MIN_ALIGNED if len(claimed) <= 3 else MIN_ALIGNED_WORDS)
    if best is None:
        return
    known = {word for sentence in pool for word in sentence}
    for low, high, other in _word_replacements(claimed, best):
        if high - low > 2 or len(other.split()) > 2:
            continue
        for index in range(low, high):
            word = claimed[index]
            if word in known or word in _FUNCTION_WORDS or len(word) < 2:
                continue
            yield ScriptFinding(
                start=spans[index][0],
                end=spans[index][1],
                reason="other_name",
                nearest=other or None,
            )


def stands_for(
    folded: str, start: int, end: int, span: tuple[int, int], corpus: Corpus
) -> str | None:
    """What the closest evidence sentence holds in the place of the word at `span`, if it differs."""
    found = _slots(folded[start:end], corpus)
    return next(
        (item.nearest for item in found if (start + item.start, start + item.end) == span), None
    )


def _word_replacements(claimed: list[str], other: list[str]) -> Iterator[tuple[int, int, str]]:
    ops = list(Indel.opcodes(claimed, other))
    for index, op in enumerate(ops):
        if op.tag != "delete":
            continue
        for near in (
            ops[index - 1] if index else None,
            ops[index + 1] if index + 1 < len(ops) else None,
        ):
            if near is not None and near.tag == "insert":
                yield op.src_start, op.src_end, " ".join(other[near.dest_start : near.dest_end])
                break


def bare(word: str) -> str:
    """A word without the clitics written together with it."""
    for script, prefix, suffix in _CLITICS:
        if script.match(word):
            if prefix is not None:
                word = prefix.sub("", word)
            if suffix is not None:
                word = suffix.sub("", word)
            return word
    return plain(word.lower())
