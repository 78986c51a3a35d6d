"""Literal strings an answer must not change: links, e-mails, identifiers and quotations.

All functions take folded text and give offsets into it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aletheia.grounding.lexicon import FUNCTION_WORDS
from aletheia.grounding.text import cached_by_word
from aletheia.grounding.tokens import Corpus, quotable

LiteralKind = Literal["link", "identifier", "quotation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralMention:
    """One literal with its span. `form` tells the sub-kind: url, email, doi, code, id, ..."""

    kind: LiteralKind
    form: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralMatch:
    """Whether the evidence holds the literal; `note` or `reason` says how or why not."""

    carried: bool
    note: str | None = None
    reason: str = "not_in_evidence"
    nearest: str | None = None


_LINK = re.compile(
    r"(?P<url>(?:https?|ftp)://[^\s<>\"'`\]}|\\^]+|www\.[^\s<>\"'`\]}|\\^]+)"
    # Possessive and only from its first character on: no part of it is read twice.
    r"|(?P<email>(?<![\w.+%-])[\w.+%-]++@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<doi>\b10\.\d{4,9}/[^\s\"'<>\]]+)"
    r"|(?P<domain>\b(?<![a-z0-9-]\.)(?<![a-z0-9]-)(?:[a-z0-9-]{1,63}+\.)+(?:com|org|net|edu|gov|io|int|info|eu|de|fr|uk|co|ai|dev)\b(?:/[^\s\"'<>\]]*)?)",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?"
_VERSION = re.compile(r"[vV](\d+(?:\.\d+)*)")
_CODE = re.compile(r"`([^`\n]+)`")
# Letters and digits in one token: A-30, GPT-4, SKU123, 3M, B2B; hex digests; versions with a v.
_IDENTIFIER = re.compile(
    r"(?<![\w.%$€£¥/-])(?=[\w./-]*\d)(?=[\w./-]*[A-Za-z])[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)*(?![\w%])"
)
_COUNT_LIKE = re.compile(
    r"(?:\d[\d.,]*(?:st|nd|rd|th|s|k|m|bn|b|x|km|kg|g|mg|ml|cm|mm|mi|ft|lb|lbs|oz|h|hr|hrs|min|sec|kmh|mph|kw|kwh|mw|gw|gb|mb|tb|kb|km[23]|cm[23]|mm[23]|ft[23]|hz|khz|mhz|ghz|v|w|c|f|a|am|pm|d|y|yr|yrs|l|t|ha|million|billion|bit|p|px|nm|in|e\d+|x\d+|bc|ad|bce|ce)?"
    r"|\d+[-/]\w+|(?-i:[a-z]+-\d+(?:-[a-z]+)*)|\d[\d.]*(?:-[A-Za-z]+)+|[1-4][qh]|[mckd]?m[23]|\d{4}-\d{2}-\d{2}T.*|q[1-4]|h[12]|[12]\d{3}s|[a-z]+/\d+|\d+[A-Za-z]{4,})$",
    re.IGNORECASE,
)
# A quick look for a letter and a digit in one token, before the pattern above is run.
_MIXED = re.compile(r"\d(?:(?=[-_./]?[A-Za-z])|(?<=[A-Za-z]\d)|(?<=[A-Za-z][-_./]\d))")
_DESIGNATED = re.compile(
    r"(?<![\w-])([A-Za-z]{3,8})[ -](\d{1,4}(?:\.\d+)*[a-z]?|[IVX]{1,5}|[A-Z])(?![\w.-]*\w)"
)
_DESIGNATED_THINGS = frozenset(
    "type phase level stage class grade category version section article chapter clause annex "
    "appendix schedule group zone tier model route gate platform room floor seat rule lot batch flight highway".split()
)
_QUOTED = re.compile(r'"([^"\n]{1,600}?)"')
_SINGLE = re.compile(r"(?<![\w'])'(?=\S)([^'\n]*(?:(?<=\w)'(?=\w)[^'\n]*)*)(?<=\S)'(?![\w'])")
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|\[\.\.\.\])\s*")
_EDGES = " .,;:!?'\""


def links(folded: str) -> list[LiteralMention]:
    """URLs, e-mails, DOIs and bare domains, trailing punctuation left out."""
    if "." not in folded or not ("/" in folded or "@" in folded or "." in folded):
        return []
    if "://" not in folded and "@" not in folded and "www." not in folded and "/" not in folded:
        found = _LINK.finditer(folded) if _DOMAIN_HINT.search(folded) else iter(())
    else:
        found = _LINK.finditer(folded)
    return [_link(match) for match in found]


_DOMAIN_HINT = re.compile(
    r"\.(?<=[a-z0-9]\.)(?:com|org|net|edu|gov|io|int|info|eu|de|fr|uk|co|ai|dev)\b", re.IGNORECASE
)


def _link(match: re.Match[str]) -> LiteralMention:
    text = match.group()
    text = text[: _link_end(text)]
    form = match.lastgroup or "url"
    return LiteralMention(
        kind="link", form=form, start=match.start(), end=match.start() + len(text), text=text
    )


def _link_end(text: str) -> int:
    """Where the link ends without punctuation after it and closing brackets it did not open."""
    end = len(text.rstrip(_TRAILING))
    unopened = text.count(")") - text.count("(")
    while end and unopened > 0 and text[end - 1] == ")":
        end, unopened = end - 1, unopened - 1
        while end and text[end - 1] in _TRAILING:
            end -= 1
    return end


def match_link(mention: LiteralMention, corpus: Corpus) -> LiteralMatch:
    """A link is carried when the evidence holds it whole.

    Scheme, case of the host and a last slash may differ.
    """
    key = _link_key(mention.text)
    known = _links_of(corpus)
    if key in known:
        return LiteralMatch(carried=True)
    if mention.form == "domain" and re.search(
        rf"(?<![\w.-]){re.escape(key)}(?![\w-])", corpus.spelled
    ):
        return LiteralMatch(carried=True)
    host = key.split("/", 1)[0].rpartition("@")[2]
    near = next((text for text in known.values() if host in text.lower()), None)
    return LiteralMatch(carried=False, reason="unsupported_link", nearest=near)


def _links_of(corpus: Corpus) -> dict[str, str]:
    """The first link of each key in the evidence; looked for once per corpus."""
    if corpus.links is None:
        corpus.links = {}
        for link in links(corpus.folded):
            corpus.links.setdefault(_link_key(link.text), link.text)
    return corpus.links


def _link_key(text: str) -> str:
    bare = re.sub(r"^(?:https?|ftp)://(?:www\.)?|^www\.", "", text, flags=re.IGNORECASE).rstrip("/")
    host, slash, path = bare.partition("/")
    return host.lower() + slash + path


def identifiers(folded: str, words: frozenset[str]) -> list[LiteralMention]:
    """Code spans, part numbers, versions, hashes and designated things (`Type 1`, `Section 4`).

    `words` are the lower-case words of the text: few texts hold one that is designated.
    """
    found: list[LiteralMention] = []
    if "`" in folded:
        found.extend(
            LiteralMention(
                kind="identifier", form="code", start=m.start(1), end=m.end(1), text=m.group(1)
            )
            for m in _CODE.finditer(folded)
        )
    if _MIXED.search(folded):
        found.extend(
            _identifier(match, "id")
            for match in _IDENTIFIER.finditer(folded)
            if not _COUNT_LIKE.match(match.group())
        )
    if not words.isdisjoint(_DESIGNATED_THINGS):
        found.extend(
            _identifier(match, "designated")
            for match in _DESIGNATED.finditer(folded)
            if match.group(1).lower() in _DESIGNATED_THINGS
        )
    return found


def _identifier(match: re.Match[str], form: str) -> LiteralMention:
    return LiteralMention(
        kind="identifier", form=form, start=match.start(), end=match.end(), text=match.group()
    )


def match_identifier(mention: LiteralMention, corpus: Corpus) -> LiteralMatch:
    """An identifier is carried when it stands in the evidence as a token of its own.

    Hyphens, spaces and underscores inside may differ, and case from four characters on.
    """
    text = mention.text
    if re.search(rf"(?<![\w-]){re.escape(text)}(?![\w-])", corpus.folded):
        return LiteralMatch(carried=True)
    version = _VERSION.fullmatch(text)
    if version is not None and re.search(
        rf"(?<![\w.]){re.escape(version.group(1))}(?![\w]|\.\d)", corpus.folded
    ):
        return LiteralMatch(carried=True, note="normalised")
    flags = re.IGNORECASE if len(text) >= 4 or mention.form == "designated" else 0
    match = re.search(_loose(text), corpus.folded, flags)
    if match:
        return LiteralMatch(carried=True, note="normalised")
    if mention.form == "code":
        return LiteralMatch(carried=False)
    return LiteralMatch(carried=False, nearest=_sibling(mention, corpus))


@cached_by_word
def _loose(text: str) -> str:
    parts = re.findall(r"[A-Za-z]+|\d+(?:\.\d+)*", text)
    return r"(?<![\w-])" + r"[-_ /]?".join(map(re.escape, parts)) + r"(?![\w-]|\.\d)"


def _sibling(mention: LiteralMention, corpus: Corpus) -> str | None:
    """Another identifier of the same kind: `Type 1` for `Type 2`, `A-31` for `A-30`."""
    stem = re.match(r"[A-Za-z]+", mention.text)
    if stem is None:
        return None
    match = re.search(
        rf"(?<!\w){re.escape(stem.group())}[-_ ]?\d[\w.]*|(?<!\w){re.escape(stem.group())} [A-Z](?!\w)",
        corpus.folded,
        re.IGNORECASE,
    )
    return match.group() if match else None


def quotations(folded: str) -> list[LiteralMention]:
    """What stands in quotation marks. Apostrophes and feet/inch marks are none."""
    found: list[LiteralMention] = []
    if '"' in folded:
        for match in _QUOTED.finditer(folded):
            before = folded[match.start() - 1 : match.start()]
            if before.isdigit() or not match.group(1).strip():
                continue
            found.append(_quotation(match))
    if "'" in folded:
        found.extend(
            _quotation(match) for match in _SINGLE.finditer(folded) if " " in match.group(1).strip()
        )
    return found


def _quotation(match: re.Match[str]) -> LiteralMention:
    return LiteralMention(
        kind="quotation", form="quote", start=match.start(1), end=match.end(1), text=match.group(1)
    )


MIN_QUOTE_CHARS = 12
MIN_QUOTE_WORDS = 2
"""Below either a quotation proves nothing, since it stands on any page."""


def match_quotation(mention: LiteralMention, corpus: Corpus) -> LiteralMatch:
    """A quotation is carried when its words stand in one unit in one piece.

    An ellipsis inside splits it; the pieces must follow each other.
    """
    pieces = [quotable(piece).strip(_EDGES) for piece in _ELLIPSIS.split(mention.text)]
    pieces = [piece for piece in pieces if piece]
    if not pieces:
        return LiteralMatch(carried=True, note="quote_empty")
    if not any(_in_order(pieces, unit.quotable) for unit in corpus.units):
        return LiteralMatch(carried=False, reason="quote_not_found")
    content = [w for w in re.findall(r"\w+", mention.text) if w.lower() not in FUNCTION_WORDS]
    dense = any(ord(char) > 0x2E80 for char in mention.text)
    if not dense and (len(mention.text) < MIN_QUOTE_CHARS or len(content) < MIN_QUOTE_WORDS):
        return LiteralMatch(carried=True, note="quote_too_short")
    exact = any(mention.text in unit.folded.text for unit in corpus.units)
    return LiteralMatch(carried=True, note=None if exact else "quote_normalised")


def _in_order(pieces: Sequence[str], text: str) -> bool:
    position = 0
    for piece in pieces:
        found = _find_whole(piece, text, position)
        if found < 0:
            return False
        position = found + len(piece)
    return True


def _find_whole(piece: str, text: str, start: int) -> int:
    """Position of `piece` not inside a longer word; -1 if there is none."""
    position = text.find(piece, start)
    while position >= 0:
        before = text[position - 1 : position]
        after = text[position + len(piece) : position + len(piece) + 1]
        left = not (before.isalnum() and piece[0].isalnum() and before.isascii())
        right = not (after.isalnum() and piece[-1].isalnum() and after.isascii())
        if left and right:
            return position
        position = text.find(piece, position + 1)
    return -1


__all__ = [
    "LiteralMatch",
    "LiteralMention",
    "identifiers",
    "links",
    "match_identifier",
    "match_link",
    "match_quotation",
    "quotations",
]
