"""The grammar of citations: ids as models write them, and markers inside an answer.

Declared forms count in every mode: square brackets that hold nothing but ids with the letter E,
such as `[E1]`, `[e01]`, `[E1, E2]`, `[E1-E3]`, and ids of an earlier turn, `[T1.E1]`. Other forms
that people read as a citation (`(E1)`, `[1]`, `Evidence 1`, `【E1】`) count in lenient mode only;
in strict mode they are reported without ids, so that nothing takes `E1` for a name. Everything else
in brackets is text: `[km/h]`, `[2019]`, `[sic]`. A bare number is never a citation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_SEPARATOR = r"\s*[,;/&+]\s*|\s+(?:and|und|et|y|e|en|ja|och|i|и|oraz|ve)\s+|\s+"
_ID = r"(?:E[0-9]+(?:\s?[-–—‑‒−]\s?E?[0-9]+)?|T[0-9]+\.E[0-9]+)"
_DECLARED: Final = re.compile(
    rf"\[\s?{_ID}(?:(?:\s?[,;/&]\s?|\s){_ID})*\s?\]", re.IGNORECASE | re.ASCII
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_EVIDENCE_WORDS: Final = _words(
    "evidence evidenz beleg evidencia evidência evidenza preuve prova prueba bewijs bewijsstuk "
    "доказательство свидетельство 证据 證據 証拠 エビデンス 증거 근거 دليل الدليل साक्ष्य प्रमाण "
    "dowód kanıt bevis"
)
_OTHER_WORDS: Final = _words(
    "source src unit ref reference cite citation citations passage document doc chunk context id "
    "quelle fuente fonte bron источник 来源 來源 出典 출처 المصدر مصدر स्रोत"
)
_WORD = "|".join(sorted(_EVIDENCE_WORDS, key=len, reverse=True))
_ANY_WORD = "|".join(sorted(_EVIDENCE_WORDS + _OTHER_WORDS, key=len, reverse=True))
_LEAD = (
    r"(?:(?:see|cf\.?|siehe|voir|ver|vgl\.?|vedi|zie|см\.?|参见)\s*)?"
    rf"(?P<word>(?:{_ANY_WORD})s?[\s_-]*)?[:#№^]*\s*"
)
_ITEM: Final = re.compile(
    rf"{_LEAD}(?:(?P<turn>T[0-9]+)\.)?(?:(?P<letter>E)[\s._#-]?)?(?P<first>[0-9]+)"
    rf"(?:\s*(?:-|\.\.+|to\b|bis\b|à|至|から)\s*(?:(?:{_ANY_WORD})\s*)?(?P<last>E?\s?[0-9]+))?",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(rf"{_SEPARATOR}|(?<=[0-9])\s*(?:和|と|및|و)\s*", re.IGNORECASE)
_OPEN = "\\[(【［（〔〖{<⟨《"
_CLOSE = "\\])】］）〕〗}>⟩》"
_BRACKETED: Final = re.compile(
    rf"(?P<open>[{_OPEN}])(?P<inner>[^{_OPEN}{_CLOSE}\n]{{1,80}})[{_CLOSE}]"
)
_WORD_FORM: Final = re.compile(
    rf"(?<!\w)(?P<inner>(?:{_WORD})s?(?P<joint>\s?[:：#№]\s?|\s)?(?:unit\s|no\.?\s|nr\.?\s)?"
    r"(?P<letter>[EeＥ]\s?)?(?P<number>\d{1,3}))(?![\w%‰°]|[.,:/]\d|-\w)",
    re.IGNORECASE,
)
_BARE: Final = re.compile(
    r"(?<![\w.$#@/\\-])[EＥ]\d{1,3}(?:[-–—]E\d{1,3})?(?![\w%‰°]|[.,:/]\d|-[^\W\d])"
)
_E_DIGIT: Final = re.compile(r"E[ ._#-]?[0-9]")
_ROUND_HINT: Final = re.compile(
    rf"\((?:[Ee][^a-z]|(?:see|cf|vgl|ver|voir|siehe|{_ANY_WORD}))", re.IGNORECASE
)
_PUNCTUATION_AFTER: Final = frozenset(".,;:!?)]。、，；")
_ANY_DIGIT: Final = re.compile(r"\d")
_CUT_SOURCE: Final = re.compile(r"\s*†.*")
_LETTERED_ONLY: Final = frozenset("({<（⟨《")
_LARGEST_NUMBER_MARKER: Final = 99
_LONGEST_NUMBER: Final = 9
_FOLD_SIGNS: Final = {
    ord(char): target
    for chars, target in (
        ("Ｅ", "E"),
        ("ｅ", "e"),
        ("–—‑‒−－～〜", "-"),
        ("，、；،؛・·", ","),
        ("：", ":"),
        ("＃", "#"),
        ("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\ufe0e\ufe0f", ""),
        ("\u00a0\u202f\u2009\u3000", " "),
    )
    for char in chars
}
# Cyrillic and Greek letters that look like E, where they stand before a digit.
_OTHER_E: Final = re.compile(r"[ЕеΕε](?<!\w.)(?=[\s._#-]?\d)")
# Parts of the words above without their first letter, so that case does not matter.
_ASCII_STEMS: Final = ("viden", "VIDEN", "eleg ", "reuve ", "rova ", "rueba ", "ewijs", "bevis ")
_OTHER_STEMS: Final = _words(
    "vidên оказательств видетельств 证据 證據 証拠 エビデンス 증거 근거 دليل साक्ष्य प्रमाण owód anıt"
)
_LOOKALIKES: Final = ("Е", "е", "Ε", "ε")
_OTHER_SIGNS: Final = ("【", "［", "（", "〔", "〖", "⟨", "《", "Ｅ")


class Marker(NamedTuple):  # a third of the cost of a frozen dataclass, and one per citation
    """One marker; `text == answer[start:end]`, offsets in code points.

    `ids` are the canonical ids it cites in this mode: empty for a form the mode does not read.
    `valid_form` is False for a range that is inverted or longer than the evidence: it is an
    invalid citation and names no id. `declared` says whether the form counts in every mode.
    """

    start: int
    end: int
    text: str
    ids: tuple[str, ...]
    valid_form: bool
    declared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedItem:
    """One id or range as written. `first` and `last` hold digits without leading zeros."""

    first: str
    last: str | None = None
    turn: str | None = None
    lettered: bool = False
    worded: bool = False


_Found = tuple[tuple[int, int], tuple[CitedItem, ...]]


def find_markers(text: str, n_units: int, *, lenient: bool) -> tuple[Marker, ...]:
    """Find the markers in `text` in order, without overlaps, for evidence of `n_units` units."""
    found = _DECLARED.finditer(text) if "[" in text else ()
    declared = [_declared(text, match, n_units) for match in found]
    if not _may_hold_others(text, declared):
        return tuple(declared)
    covered = bytearray(len(text))
    for marker in declared:
        covered[marker.start : marker.end] = b"\1" * (marker.end - marker.start)
    others: list[Marker] = []
    for (start, end), items in _other_forms(text, n_units, covered):
        if covered.find(1, start, end) < 0:
            covered[start:end] = b"\1" * (end - start)
            marker = _marker(text, (start, end), items, n_units, declared=False)
            others.append(marker if lenient else _unread(marker))
    return tuple(sorted([*declared, *others], key=lambda marker: marker.start))


def read_items(text: str) -> tuple[CitedItem, ...] | None:
    """Return the ids and ranges `text` consists of; None when it holds anything else.

    Letters and digits of other scripts and widths are folded; brackets are the caller's.
    """
    folded = fold_id(text).strip()
    items: list[CitedItem] = []
    position = 0
    while position < len(folded):
        match = _ITEM.match(folded, position)
        if match is None:
            return None
        items.append(_item(match))
        position = match.end()
        if position == len(folded):
            return tuple(items)
        gap = _BETWEEN.match(folded, position)
        if gap is None or gap.end() == position:
            return None
        position = gap.end()
    return None


def expand(item: CitedItem, limit: int) -> tuple[str, ...] | None:
    """Return the canonical ids of an item; None for an inverted range or one over `limit`."""
    prefix = f"{item.turn}." if item.turn else ""
    if item.last is None:
        return (f"{prefix}E{item.first}",)
    if max(len(item.first), len(item.last)) > _LONGEST_NUMBER:
        return None
    first, last = int(item.first), int(item.last)
    if last < first or last - first >= limit:
        return None
    return tuple(f"{prefix}E{number}" for number in range(first, last + 1))


def fold_id(text: str) -> str:
    """ASCII form of the letters, digits, dashes and separators that ids are written with."""
    if text.isascii():
        return text
    text = _OTHER_E.sub("E", text.translate(_FOLD_SIGNS))
    return "".join(str(unicodedata.decimal(char, char)) for char in text)


def _item(match: re.Match[str]) -> CitedItem:
    first = match["first"].lstrip("0") or "0"
    written = match["last"]
    last = None
    if written is not None:
        last = written.lstrip("Ee ").lstrip("0") or "0"
        # `156-9` is the short way to write 156-159.
        if written[0] not in "Ee" and len(last) < len(first):
            longer = first[: -len(last)] + last
            last = longer if longer >= first else last
    return CitedItem(
        first=first,
        last=last,
        turn=match["turn"].upper() if match["turn"] else None,
        lettered=match["letter"] is not None,
        worded=match["word"] is not None,
    )


def _declared(text: str, match: re.Match[str], n_units: int) -> Marker:
    """Read the usual `[E1]` without going through the whole grammar."""
    written = match.group()
    digits = written[2:-1]
    if written[1] == "E" and digits.isdecimal() and digits[0] != "0":
        return Marker(
            start=match.start(),
            end=match.end(),
            text=written,
            ids=(written[1:-1],),
            valid_form=True,
            declared=True,
        )
    return _marker(text, match.span(), read_items(written[1:-1]), n_units, declared=True)


def _marker(
    text: str,
    span: tuple[int, int],
    items: tuple[CitedItem, ...] | None,
    n_units: int,
    *,
    declared: bool,
) -> Marker:
    expanded = [expand(item, n_units) for item in items or ()]
    ids = tuple(dict.fromkeys(unit_id for part in expanded for unit_id in part or ()))
    return Marker(
        start=span[0],
        end=span[1],
        text=text[span[0] : span[1]],
        ids=ids,
        valid_form=bool(expanded) and None not in expanded,
        declared=declared,
    )


def _unread(marker: Marker) -> Marker:
    return marker._replace(ids=())


def _may_hold_others(text: str, declared: list[Marker]) -> bool:
    """Look cheaply for anything that could be an undeclared form."""
    if text.count("[") > len(declared) or "{" in text or "<" in text:
        return True
    if len(_E_DIGIT.findall(text)) > sum(marker.text.count("E") for marker in declared):
        return True
    if "(" in text and _ROUND_HINT.search(text) is not None:
        return True
    if _holds_word(text):
        return True
    return not text.isascii() and (
        _holds(text, _OTHER_SIGNS)
        or (_holds(text, _LOOKALIKES) and _OTHER_E.search(text) is not None)
    )


def _holds_word(text: str) -> bool:
    """Whether one of the words for evidence can be there; cheap, and never wrongly False."""
    return _holds(text, _ASCII_STEMS) or (not text.isascii() and _holds(text, _OTHER_STEMS))


def _holds(text: str, parts: tuple[str, ...]) -> bool:
    for part in parts:  # noqa: SIM110 - a generator costs three times as much here
        if part in text:
            return True
    return False


def _other_forms(text: str, n_units: int, covered: bytearray) -> Iterator[_Found]:
    """Undeclared forms; brackets first, because they may hold the two other kinds."""
    yield from _bracketed(text, n_units, covered)
    if _holds_word(text):
        yield from _worded(text, n_units)
    for match in _BARE.finditer(text):
        if covered[match.start()]:
            continue
        items = read_items(match.group())
        if items and _all_within(items, n_units):
            yield match.span(), items


def _bracketed(text: str, n_units: int, covered: bytearray) -> Iterator[_Found]:
    for match in _BRACKETED.finditer(text):
        start = match.start()
        if covered[start] or _ANY_DIGIT.search(match["inner"]) is None:
            continue
        inner = _CUT_SOURCE.sub("", match["inner"]).rstrip("\\")
        items = read_items(inner)
        if items and _reads_as_citation(match["open"], items, n_units):
            # Markdown escapes the bracket: `\\[E1\\]`.
            yield (start - (text[start - 1 : start] == "\\"), match.end()), items


def _reads_as_citation(opening: str, items: tuple[CitedItem, ...], n_units: int) -> bool:
    """`(1)` opens a list item and `[2019]` is a year; `(E1)` and `[1]` are markers."""
    if any(item.lettered or item.worded for item in items):
        return True
    if opening in _LETTERED_ONLY:
        return False
    if len(items) > 1 or items[0].last is not None:
        return _all_within(items, n_units)
    return 1 <= int(items[0].first[:6]) <= max(n_units, _LARGEST_NUMBER_MARKER)


def _all_within(items: Iterable[CitedItem], n_units: int) -> bool:
    numbers = [text for item in items for text in (item.first, item.last) if text is not None]
    return all(len(text) <= _LONGEST_NUMBER and 1 <= int(text) <= n_units for text in numbers)


def _worded(text: str, n_units: int) -> Iterator[_Found]:
    """`Evidence 1`, `evidence:1`, `evidence E1`, and not `evidence 10 people gave`."""
    for match in _WORD_FORM.finditer(text):
        named = match["letter"] or (match["joint"] or "").strip() or match.group()[0].isupper()
        after = text[match.end() : match.end() + 1]
        if not named and after.strip() and after not in _PUNCTUATION_AFTER:
            continue
        if not named and after == " ":
            continue
        items = read_items(match["inner"].replace("unit ", "").replace("no. ", ""))
        if items and _all_within(items, n_units):
            yield match.span(), items
