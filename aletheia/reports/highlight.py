"""Which pieces of a text are marked, and why: offsets in, pieces out, the text itself untouched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Literal

from aletheia.schema.report import DetailedResult, FindingRecord, UnitRecord

MarkKind = Literal["nearest", "carrier", "gold", "forged"]

MARK_WORDS: dict[MarkKind, str] = {
    "nearest": "nearest",
    "carrier": "found here",
    "gold": "gold answer",
    "forged": "part of the source",
}

# What looks like our own numbering inside a source: shown, and named as the source's text.
_FORGED = re.compile(r"\[\s*E\s*\d+\s*\]|^[ \t]*EVIDENCE[ \t]*:", re.IGNORECASE | re.MULTILINE)

_MAX_MARKS = 50
"""Marks of one kind in one unit: a one-letter candidate would otherwise flood the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPiece:
    """A stretch of an answer with the numbers of the findings that cover it and that end here."""

    text: str
    findings: tuple[int, ...] = ()
    ending: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePiece:
    """A stretch of an evidence unit and why it is marked, if it is."""

    text: str
    mark: MarkKind | None = None

    @property
    def label(self) -> str:
        """The reason in words."""
        return "" if self.mark is None else MARK_WORDS[self.mark]


def is_content(finding: FindingRecord) -> bool:
    """Tell whether a finding is about what the answer says, not about the reply's form."""
    return finding.kind not in ("reply", "citation")


def answer_pieces(answer: str, findings: Sequence[FindingRecord]) -> tuple[AnswerPiece, ...]:
    """Cut an answer at the borders of its findings, numbered from 1; they may overlap.

    A finding whose offsets do not hold its text is not marked rather than marked wrongly.
    """
    spans = [
        (finding.start, finding.end, number)
        for number, finding in enumerate(findings, 1)
        if finding.start < finding.end and answer[finding.start : finding.end] == finding.text
    ]
    borders = sorted({0, len(answer), *(edge for span in spans for edge in span[:2])})
    return tuple(
        AnswerPiece(
            text=answer[start:end],
            findings=tuple(number for low, high, number in spans if low <= start and end <= high),
            ending=tuple(number for _, high, number in spans if high == end),
        )
        for start, end in pairwise(borders)
    )


def evidence_pieces(unit: UnitRecord, row: DetailedResult) -> tuple[EvidencePiece, ...]:
    """Cut a unit's text around what the findings point at, the gold answer and forged markers."""
    spans: list[tuple[int, int, MarkKind]] = []
    for start, end, mark in _wanted(unit, row):
        if all(end <= low or high <= start for low, high, _ in spans):
            spans.append((start, end, mark))
    return tuple(_cut(unit.text, sorted(spans)))


def _wanted(unit: UnitRecord, row: DetailedResult) -> Iterator[tuple[int, int, MarkKind]]:
    """Every stretch that may be marked, the most telling first."""
    carried = [finding.text for finding in row.findings if finding.found_in == unit.id]
    yield from _found(unit.text, carried, "carrier")
    if unit.cited:
        nearest = [item.nearest for item in row.findings if item.nearest and is_content(item)]
        yield from _found(unit.text, nearest, "nearest")
    if row.answerable:
        yield from _found(unit.text, [row.gold_answer, *row.gold_aliases], "gold")
    for match in islice(_FORGED.finditer(unit.text), _MAX_MARKS):
        yield match.start(), match.end(), "forged"


def _found(text: str, wanted: Iterable[str], mark: MarkKind) -> Iterator[tuple[int, int, MarkKind]]:
    """Whole-word places of the wanted words, in any case, longest word first."""
    words = sorted({word for word in wanted if word.strip()}, key=lambda word: (-len(word), word))
    if not words:
        return
    pattern = "|".join(map(_whole, words))
    for match in islice(re.finditer(pattern, text, re.IGNORECASE), _MAX_MARKS):
        yield match.start(), match.end(), mark


def _whole(word: str) -> str:
    """Match `word` not inside a longer ASCII word: other scripts join words without a space."""
    left = r"(?<![0-9A-Za-z])" if re.match("[0-9A-Za-z]", word) else ""
    right = r"(?![0-9A-Za-z])" if re.search("[0-9A-Za-z]$", word) else ""
    return f"{left}{re.escape(word)}{right}"


def _cut(text: str, spans: Sequence[tuple[int, int, MarkKind]]) -> Iterator[EvidencePiece]:
    done = 0
    for start, end, mark in spans:
        if done < start:
            yield EvidencePiece(text=text[done:start])
        yield EvidencePiece(text=text[start:end], mark=mark)
        done = end
    if done < len(text) or not text:
        yield EvidencePiece(text=text[done:])
