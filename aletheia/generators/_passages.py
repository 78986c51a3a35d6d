"""Evidence as sentences: what each says, whom it names, and what may not be quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from aletheia.generators._lexis import STOPWORDS
from aletheia.generators._terms import Token, folded_words, joined, tokens
from aletheia.grounding.citations import find_markers
from aletheia.grounding.lexicon import MONTHS_AND_DAYS, is_common
from aletheia.grounding.names import names
from aletheia.grounding.refusal import is_abstention_literal, refusal
from aletheia.grounding.sentences import sentences
from aletheia.grounding.text import fold
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit

NameKey = tuple[str, ...]
"""The folded words of a name, without a leading article."""

MAX_SENTENCES: Final = 400
"""Sentences of the evidence that are looked at, in order; the rest is said to be left out."""

_ROMAN: Final = re.compile(r"[IVX]{1,5}$|[A-Z]$")
_BACK_REFERENCES: Final = frozenset(
    """it its he his she her they their this these those that such er sie es il elle ils elles
    el ella""".split()
)
# A sentence that talks to whoever reads the evidence is no statement about its subject.
_INSTRUCTION: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules?|evidence"
    r"|context|above|previous|prior)\b"
    r"|\b(?:answer|respond|reply|output|say|print|write|cite)\b.{0,20}\b(?:with|only|exactly|that)\b"
    r".{0,60}|^\s*(?:system|assistant|user|developer)\s*:|\byou (?:must|should|are now|will)\b"
    r"|\b(?:as an? (?:ai|assistant|language model))\b|insufficient[_ ]context|\[/?INST\]|<\|"
    r"|^\s*(?:evidence|question)\s*:\s*",
    re.IGNORECASE,
)
_BRACKETED_NUMBER: Final = re.compile(r"\s*\[\s?\^?\d{1,4}(?:\s*[,–-]\s*\d{1,4})*\s?\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A name in a sentence: tokens `first` up to `last` (exclusive)."""

    key: NameKey
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passage:
    """One sentence of a unit. `text` is verbatim but for citation markers, which are left out."""

    unit: EvidenceUnit
    number: int
    text: str
    tokens: tuple[Token, ...]
    words: str
    keys: frozenset[str]
    mentions: tuple[Mention, ...]

    @property
    def names(self) -> frozenset[NameKey]:
        """The names in the sentence."""
        return frozenset(mention.key for mention in self.mentions)

    @property
    def refers_back(self) -> bool:
        """Whether its subject stands before it: it opens with a pronoun or holds no name."""
        return not self.mentions or self.tokens[0].folded in _BACK_REFERENCES

    def find(self, name: NameKey) -> int | None:
        """Index of the first token of `name`, whole words, and not of a numbered sibling."""
        at = self.words.find(joined(name))
        while at >= 0:
            first = self.words.count(" ", 0, at + 1) - 1
            if not self._is_sibling(first + len(name)):
                return first
            at = self.words.find(joined(name), at + 1)
        return None

    def _is_sibling(self, after: int) -> bool:
        """`Star` does not name `Star II`, nor `Type` `Type 1`."""
        if after >= len(self.tokens):
            return False
        token, before = self.tokens[after], self.tokens[after - 1]
        adjacent = token.start - before.end == 1
        return (
            adjacent and (token.is_number or bool(_ROMAN.match(token.text))) and before.is_capital
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """The sentences of an evidence set, the names in it, and the types they are declared with.

    `full_names` are whole names as they stand in the text or as a source or alias; `canonical`
    leads from an alias to the name its unit uses; `skipped` counts sentences left out as
    instructions, `unread` those beyond `MAX_SENTENCES`.
    """

    passages: tuple[Passage, ...]
    full_names: frozenset[NameKey]
    canonical: dict[NameKey, frozenset[NameKey]]
    types: dict[NameKey, frozenset[str]]
    keys: frozenset[str]
    skipped: int = 0
    unread: int = 0
    longest_name: int = 1
    by_unit: dict[str, tuple[Passage, ...]] = field(default_factory=dict)
    source_keys: dict[str, NameKey] = field(default_factory=dict)

    @property
    def declared(self) -> frozenset[str]:
        """Keys of every declared type."""
        return frozenset().union(*self.types.values())


def name_key(text: str) -> NameKey:
    """The folded words of a name, without a leading article."""
    words = folded_words(text)
    return words[1:] if len(words) > 1 and words[0] == "the" else words


def read_evidence(evidence: EvidenceSet) -> Evidence:
    """Split all units, duplicates once, into sentences with their names."""
    units = [unit for unit in evidence if unit.duplicate_of is None]
    listed = _listed_names(units)
    longest = max((len(key) for key in listed), default=1)
    passages: list[Passage] = []
    skipped = unread = 0
    for unit in units:
        for number, text in enumerate(_sentences(unit.text)):
            if len(passages) >= MAX_SENTENCES:
                unread += 1
            elif _is_instruction(text):
                skipped += 1
            else:
                passages.append(_passage(unit, number, text, listed, longest))
    return _collect(passages, listed, skipped, unread)


def _collect(
    passages: Sequence[Passage], listed: frozenset[NameKey], skipped: int, unread: int
) -> Evidence:
    full = listed.union(*(passage.names for passage in passages))
    by_unit: dict[str, list[Passage]] = {}
    for passage in passages:
        by_unit.setdefault(passage.unit.id, []).append(passage)
    return Evidence(
        passages=tuple(passages),
        full_names=full,
        canonical=_canonical(passages),
        types=_types(passages),
        keys=frozenset().union(*(passage.keys for passage in passages)),
        skipped=skipped,
        unread=unread,
        longest_name=max((len(key) for key in full), default=1),
        by_unit={unit: tuple(found) for unit, found in by_unit.items()},
        source_keys={p.unit.id: name_key(p.unit.source) for p in passages if p.unit.source},
    )


def _listed_names(units: Iterable[EvidenceUnit]) -> frozenset[NameKey]:
    found = (name_key(text) for unit in units for text in (unit.source, *unit.aliases) if text)
    return frozenset(key for key in found if key and not set(key) <= STOPWORDS)


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        yield without_markers(text[start:end])


def without_markers(text: str) -> str:
    """`text` without citation markers: those of a source are not those of this evidence."""
    for marker in reversed(find_markers(text, 10_000, lenient=False)):
        start = marker.start
        while start and text[start - 1] == " ":
            start -= 1
        text = text[:start] + text[marker.end :]
    return _BRACKETED_NUMBER.sub("", text)


def _is_instruction(text: str) -> bool:
    return (
        bool(_INSTRUCTION.search(text)) or is_abstention_literal(text) or refusal(text) is not None
    )


def _passage(
    unit: EvidenceUnit, number: int, text: str, listed: frozenset[NameKey], longest: int
) -> Passage:
    found = tokens(text)
    return Passage(
        unit=unit,
        number=number,
        text=text,
        tokens=found,
        words=joined([token.folded for token in found]),
        keys=frozenset().union(*(token.keys for token in found)),
        mentions=tuple(_mentions(text, found, listed, longest)),
    )


def _mentions(
    text: str, found: Sequence[Token], listed: frozenset[NameKey], longest: int
) -> Iterator[Mention]:
    """Listed names, longest first, and runs of capitalised words beside them."""
    taken: set[int] = set()
    for first in range(len(found)):
        if first in taken:
            continue
        mention = _listed_at(found, first, listed, longest)
        if mention is not None:
            taken.update(range(mention.first, mention.last))
            yield mention
    yield from _runs(text, found, taken)


def _listed_at(
    found: Sequence[Token], first: int, listed: frozenset[NameKey], longest: int
) -> Mention | None:
    for last in range(min(len(found), first + longest), first, -1):
        key = tuple(token.folded for token in found[first:last])
        if key in listed and any(t.is_capital or t.is_number for t in found[first:last]):
            return Mention(key=key, first=first, last=last)
    return None


def _runs(text: str, found: Sequence[Token], taken: set[int]) -> Iterator[Mention]:
    folded = fold(text)
    for name in names(folded.text):
        start, end = folded.span(name.start, name.end)
        inside = [
            i for i, t in enumerate(found) if start <= t.start and t.end <= end and i not in taken
        ]
        if inside and inside == list(range(inside[0], inside[-1] + 1)):
            first, last = inside[0], inside[-1] + 1
            if last < len(found) and name.designator == found[last].text:
                last += 1
            yield Mention(key=tuple(t.folded for t in found[first:last]), first=first, last=last)


def _canonical(passages: Sequence[Passage]) -> dict[NameKey, frozenset[NameKey]]:
    """Which name an alias stands for, where the evidence says so.

    It does in a sentence that gives another name, and in a unit that names one thing only.
    """
    found: dict[NameKey, set[NameKey]] = {}
    for passage in passages:
        if "@alias" in passage.keys and len(passage.mentions) > 1:
            ordered = sorted(passage.mentions, key=lambda mention: mention.first)
            for other in ordered[1:]:
                found.setdefault(other.key, set()).add(ordered[0].key)
        aliases = [name_key(alias) for alias in passage.unit.aliases]
        if len(passage.names) == 1:
            for alias in aliases:
                found.setdefault(alias, set()).update(passage.names - {alias})
    return {alias: frozenset(names_) for alias, names_ in found.items()}


def _types(passages: Sequence[Passage]) -> dict[NameKey, frozenset[str]]:
    """What names are declared to be: `X is a river`."""
    found: dict[NameKey, set[str]] = {}
    for passage in passages:
        for mention in passage.mentions:
            found.setdefault(mention.key, set()).update(_declared(passage.tokens, mention.last))
    return {name: frozenset(keys) for name, keys in found.items() if keys}


def _declared(found: Sequence[Token], after: int) -> frozenset[str]:
    """Stems of the noun in `is a large river`; none for a relation (`is a daughter of`)."""
    words = [token.folded for token in found[after : after + 2]]
    if len(words) < 2 or words[0] not in ("is", "was", "are", "were") or words[1] not in _ARTICLES:
        return frozenset()
    keys: set[str] = set()
    for token in found[after + 2 : after + 7]:
        if token.folded == "of":
            return frozenset()
        if token.folded in STOPWORDS:
            break
        keys.update(key for key in token.keys if not key.startswith("@"))
    return frozenset(keys)


_ARTICLES: Final = frozenset("a an one ein eine un une una".split())


def is_unusual(token: Token) -> bool:
    """Whether a capitalised word can only be a name: no common word, month or function word."""
    return (
        token.is_capital
        and token.folded not in STOPWORDS
        and token.folded not in MONTHS_AND_DAYS
        and not is_common(token.folded)
    )
