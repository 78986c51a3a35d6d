"""What an abstention means: warranted, or a refusal of a question the evidence answers.

The words of abstentions live in `aletheia.grounding.refusal`, because verification reads them; they
are named here too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from aletheia.grounding.refusal import (
    Refusal,
    Statement,
    is_abstention_literal,
    refusal,
    statements,
)
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.report import AbstentionKind

__all__ = [
    "Refusal",
    "Statement",
    "abstention_kind",
    "gold_in_evidence",
    "is_abstention_literal",
    "refusal",
    "statements",
]


def _words(text: str) -> list[str]:
    return text.split()


_TOKEN: Final = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+[+#]*")
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_LIST_BREAK: Final = re.compile(
    r"\s*[,;/、，；،\n]\s*(?:(?:and|or|und|et|y|e|en|и)\s+)?|\s+(?:and|und|et|y|e|en|и|&)\s+|\s*[和与と및]\s*",
    re.IGNORECASE,
)
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
_MONTHS: Final = {
    name[:size]: f"{number:02d}"
    for number, name in enumerate(
        _words(
            "january february march april may june july august september october november december"
        ),
        start=1,
    )
    for size in (3, len(name))
} | {"sept": "09"}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES: Final = re.compile(
    rf"\b(?:(?P<y1>\d{{4}})-(?P<m1>\d{{2}})(?:-(?P<d1>\d{{2}}))?(?!\d)"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m2>{_MONTH})\.?,? (?P<y2>\d{{4}})"
    rf"|(?P<m3>{_MONTH})\.? (?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y3>\d{{4}})"
    rf"|(?P<m4>{_MONTH})\.?,? (?P<y4>\d{{4}}))\b"
)
# These are judged, not found: a text may mean them without holding them.
_NOT_LOCATABLE: Final = frozenset(
    _words("yes no true false none both neither unknown n a ja nein oui non sí si sim não да нет")
)
_MOST_WORDS: Final = 8
_LONG_RUN: Final = 4


def abstention_kind(
    *,
    abstained: bool,
    gold_answer: str,
    aliases: Iterable[str],
    evidence: EvidenceSet,
    answerable: bool,
) -> AbstentionKind | None:
    """Say what an abstention was; None where the answer did not abstain.

    `warranted`: the question has no answer, or the evidence lacks it. `over_refusal`: the gold
    answer or an alias stands in the evidence. `undecided`: it cannot be looked up literally.
    """
    if not abstained:
        return None
    if not answerable or len(evidence) == 0 or is_abstention_literal(gold_answer):
        return "warranted"
    match gold_in_evidence(gold_answer, aliases, evidence):
        case True:
            return "over_refusal"
        case False:
            return "warranted"
        case None:
            return "undecided"


def gold_in_evidence(
    gold_answer: str, aliases: Iterable[str], evidence: EvidenceSet
) -> bool | None:
    """Whether the gold answer or an alias stands in the evidence, as whole words.

    Case, accents, punctuation and the way a date is written do not matter; digits do. A list
    counts when all its parts are there. None where that cannot be decided: `yes`, a sentence, or
    a name inside a run of a script without spaces.
    """
    texts = [
        _Text(text) for unit in evidence for text in (unit.text, unit.source, *unit.aliases) if text
    ]
    verdicts = [_stands(name, texts) for name in (gold_answer, *aliases)]
    if True in verdicts:
        return True
    return False if False in verdicts else None


class _Text:
    """A piece of evidence, as tokens between spaces and as folded text."""

    __slots__ = ("folded", "tokens")

    def __init__(self, text: str) -> None:
        self.folded = _fold(text)
        self.tokens = f" {' '.join(_tokens(self.folded))} "


def _stands(name: str, texts: list[_Text]) -> bool | None:
    whole = _found(name, texts)
    if whole is not False:
        return whole
    parts = [part for part in _LIST_BREAK.split(name) if part.strip()]
    if len(parts) > 1 and all(_found(part, texts) is True for part in parts):
        return True
    is_sentence = name.rstrip()[-1:] in ".!?。" and len(name.split()) > 3
    return None if is_sentence or len(name.split()) > _MOST_WORDS else False


def _found(name: str, texts: list[_Text]) -> bool | None:
    """Whether the name stands in one of the texts; None where it is not one that can be found."""
    folded = _fold(name)
    tokens = list(_tokens(folded))
    if not tokens or set(tokens) <= _NOT_LOCATABLE or is_abstention_literal(name):
        return None
    if _UNSPACED.search(folded) is not None:
        return _found_unspaced(folded.strip(), texts)
    wanted = f" {' '.join(tokens)} "
    return any(wanted in text.tokens for text in texts)


def _found_unspaced(name: str, texts: list[_Text]) -> bool | None:
    """`京都` inside `東京都` is no support; a longer run, or one with a boundary, is."""
    inside = False
    for text in texts:
        for match in re.finditer(re.escape(name), text.folded):
            around = text.folded[match.start() - 1 : match.start()], text.folded[match.end() :][:1]
            if len(name) >= _LONG_RUN or not any(_same_script(name, char) for char in around):
                return True
            inside = True
    return None if inside else False


def _same_script(name: str, char: str) -> bool:
    return bool(char) and any(
        low <= char <= high and any(low <= other <= high for other in name)
        for low, high in (("\u3400", "\u9fff"), ("\u30a0", "\u30ff"), ("\u0e00", "\u0e7f"))
    )


def _fold(text: str) -> str:
    """Lower case, no accents on Latin, Greek and Cyrillic letters, ASCII digits, ISO dates."""
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", text.translate(_PLAIN).casefold()):
        if unicodedata.combining(char) and kept and kept[-1] < "\u0530":
            continue
        kept.append(str(unicodedata.decimal(char, char)))
    return _DATES.sub(_iso, unicodedata.normalize("NFC", "".join(kept)))


_PLAIN: Final = {
    ord(char): target for char, target in zip("øłıđßØŁĐ’‘–—−", "olidsOLD''---", strict=True)
} | {ord("ß"): "ss"}


def _iso(match: re.Match[str]) -> str:
    """Year, month and day as tokens in that order: a month finds any of its days."""
    found = {key[0]: value for key, value in match.groupdict().items() if value is not None}
    month = _MONTHS.get(found["m"], found["m"])
    day = f" {found['d'].zfill(2)}" if "d" in found else ""
    return f" {found['y']} {month}{day} "


def _tokens(folded: str) -> Iterator[str]:
    for match in _TOKEN.finditer(folded):
        token = match.group()
        yield token.replace(",", "") if _GROUPED.fullmatch(token) else token
