"""Find text that speaks to a model or judge instead of a reader.

What is found changes no verdict: evidence is data, whatever it says. It is told as a note, so that
a person can look where the text came from. Rules are tried where one of their words stands (see
`injection_rules`), so that most texts cost one look at their words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from aletheia.grounding.hidden_orders import CODED_WORDS, LONGEST_WORD, decoded_texts
from aletheia.grounding.injection_rules import InjectionKind, all_rules, examples, ruled
from aletheia.grounding.lookalikes import SPELLED, views
from aletheia.grounding.text import lowered
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.verification import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionFinding:
    """One place that looks like an order to a model.

    `where` is a unit id, `question`, `answer` or what the caller named; `text` is
    `original[start:end]`. `decoded` is what hidden or encoded text says, None for plain text.
    """

    kind: InjectionKind
    where: str
    text: str
    start: int
    end: int
    decoded: str | None = None


def suspect(text: str, where: str) -> tuple[InjectionFinding, ...]:
    """Return the first suspicious place of each kind in `text`, in order of place."""
    return _suspect(text, where, _signs_in(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWords:
    """All words of texts that somebody has read before, lower case: of cited units and answer."""

    cited: frozenset[str]
    units: Collection[str]
    answer: frozenset[str]


def injection_notes(
    evidence: EvidenceSet,
    *,
    question: str | None = None,
    answer: str | None = None,
    known: KnownWords | None = None,
) -> tuple[Note, ...]:
    """Return a note `injection_suspected` for each place in evidence, question and answer.

    Offsets of the note are those of the answer and 0 elsewhere; `detail` gives unit (or
    `question`, `answer`, `E2 source`), offsets there, and kind: `E2[14:52] override`. `known`
    spares reading what was read already.
    """
    found: list[InjectionFinding] = []
    spoken: list[str] = []
    for where, text, hits in _texts(evidence, question, answer, known):
        if hits is None or "=" in text or not text.isascii():
            signs = _signs_in(text)
        elif hits:
            signs = _signs_left(text, hits)
        else:
            continue
        if signs.any:
            spoken.append(where)
            found.extend(_suspect(text, where, signs))
    if spoken:
        found.extend(_across(evidence, set(spoken).difference([item.where for item in found])))
    return tuple([_note(item) for item in found])


def _signs_left(text: str, hits: frozenset[str]) -> _Signs:
    """Signs in an ASCII text that can hold no trigger but `hits`, and no padded base64."""
    words = all_rules().worth_trying(hits, [text])
    if not words:
        return _NONE
    low = text.lower()
    words = frozenset([word for word in words if word in low])
    return _Signs(words=words, coded=not CODED_WORDS.isdisjoint(words)) if words else _NONE


def _suspect(text: str, where: str, signs: _Signs) -> tuple[InjectionFinding, ...]:
    found: dict[InjectionKind, InjectionFinding] = {}
    for kind, start, end, decoded in _places(text, where, signs) if signs.any else ():
        if kind not in found:
            found[kind] = InjectionFinding(
                kind=kind,
                where=where,
                text=text[start:end],
                start=start,
                end=end,
                decoded=decoded,
            )
    return tuple(sorted(found.values(), key=lambda item: (item.start, item.end)))


def _texts(
    evidence: EvidenceSet, question: str | None, answer: str | None, known: KnownWords | None
) -> Iterator[tuple[str, str, frozenset[str] | None]]:
    """Everything that could hold an order, with its place and the triggers known to be in it."""
    in_units = in_answer = None
    read: Collection[str] = ()
    if known is not None:
        rules = all_rules()
        in_units, in_answer = rules.triggers & known.cited, rules.triggers & known.answer
        read = frozenset(known.units)
        if in_units:
            texts = [part for unit in evidence.units for part in (unit.text, unit.source) if part]
            in_units = rules.worth_trying(in_units, texts)
    for unit in evidence.units:
        if unit.duplicate_of is None:
            hits = in_units if unit.id in read else None
            yield unit.id, unit.text, hits
            if unit.source:
                yield f"{unit.id} source", unit.source, hits
    if question:
        yield "question", question, None
    if answer:
        yield "answer", answer, in_answer


def _note(found: InjectionFinding) -> Note:
    in_answer = found.where == "answer"
    detail = f"{found.where}[{found.start}:{found.end}] {found.kind}"
    return Note(
        kind="injection",
        text=found.text,
        start=found.start if in_answer else 0,
        end=found.end if in_answer else 0,
        reason="injection_suspected",
        detail=detail if found.decoded is None else f"{detail}: {found.decoded}",
    )


# --- a quick look -----------------------------------------------------------------------------

_WORD: Final = re.compile(r"[^\W_]+")
# One of these stands in every text of more than a few words in a script that stems are read in,
# or is hidden, or is a Greek or Cyrillic look-alike of a Latin letter.
_OTHER: Final = (
    "аеоиابلनकर的不是指令のを이다는의εν"
    "\u200b\u200c\u200d\u2060\ufeff\u202d\u202e\ufe0f\U000e0020\U000e0061\U000e0065\U000e0069"
    "\U000e006f\U000e0074\U000e0101\U000e0155\u0301\u00adｅｉοαѕјһі"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signs:
    """Why to read a text closely: words at which rules are tried, long words, other scripts."""

    words: frozenset[str]
    coded: bool = False
    other: bool = False

    @property
    def any(self) -> bool:
        """Whether there is any reason."""
        return bool(self.words) or self.coded or self.other


def _signs_in(text: str) -> _Signs:
    if text.isascii():
        return _signs_among(text.encode().translate(_WORDS_ALONE).decode().split(), text)
    seen = views(text).texts
    words = [word for view in seen for word in _WORD.findall(lowered(view))]
    return replace(_signs_among(words, *seen), other=any(char in text for char in _OTHER))


def _signs_among(words: Collection[str], *texts: str) -> _Signs:
    """Signs in `texts`, which consist of these words in lower case."""
    rules = all_rules()
    hits = rules.triggers.intersection(words)
    coded = max(map(len, words), default=0) >= LONGEST_WORD or not CODED_WORDS.isdisjoint(hits)
    if hits:
        hits = rules.worth_trying(hits, texts)
    return _Signs(words=hits, coded=coded) if hits or coded else _NONE


# Lower case, and a space for all that is no letter or digit.
_WORDS_ALONE: Final = bytes(
    ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256)
)
_NONE: Final = _Signs(words=frozenset())


# --- reading closely ------------------------------------------------------------------------------------

_Place = tuple[InjectionKind, int, int, str | None]


def _places(text: str, where: str, signs: _Signs) -> Iterator[_Place]:
    """Every suspicious place, with offsets of `text`."""
    yield from _hidden(text)
    seen = views(text)
    for view in seen.texts:
        low = lowered(view)
        for kind, start, end in (*ruled(low, where, signs.words), *examples(low)):
            yield (kind, *seen.span(start, end), None)
        for start, end, decoded in decoded_texts(view) if signs.coded else ():
            if _is_order(decoded):
                yield ("encoded", *seen.span(start, end), decoded)


def _is_order(text: str) -> bool:
    """Whether a decoded text gives an order by the rules."""
    words = _signs_in(text).words
    return any(True for view in views(text).texts for _ in ruled(lowered(view), "decoded", words))


# --- other signs ------------------------------------------------------------------------------


def _hidden(text: str) -> Iterator[_Place]:
    """The first run of characters that nobody sees and that is long enough to say something."""
    if text.isascii():
        return
    for match in SPELLED.finditer(text):
        run = match.group()
        least = {"tags": 1, "selectors": 4, "joiners": 8, "turns": 1}.get(match.lastgroup or "")
        if least is not None and len(run) >= least:
            yield "hidden_text", match.start(), match.end(), _spelled(run)
            return


def _spelled(run: str) -> str | None:
    """What tag characters or variation selectors spell, as far as it is ASCII."""
    codes = map(ord, run)
    read = [
        code - 0xE0000 if code < 0xE0080 else code - 0xE00F0
        for code in codes
        if 0xE0020 <= code < 0xE007F or 0xE0110 <= code <= 0xE016E
    ]
    return "".join(map(chr, read)) or None


_SEAM: Final = 80


def _across(evidence: EvidenceSet, spoken: Collection[str]) -> Iterator[InjectionFinding]:
    """Orders that begin in one unit and end in the next, where one of them is of `spoken`."""
    for first, second in pairwise(evidence.units):
        if first.id in spoken or second.id in spoken:
            head = first.text[-_SEAM:].rstrip()
            joined = f"{head} {second.text[:_SEAM].lstrip()}"
            if joined.isascii() and all_rules().of_language.isdisjoint(
                _WORD.findall(joined.lower())
            ):
                continue
            for item in suspect(joined, f"{first.id}+{second.id}"):
                if item.start < len(head) < item.end:
                    yield item
