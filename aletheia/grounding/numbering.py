"""Number the evidence: ids in display order, keys bound to the content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from aletheia.errors import DataError
from aletheia.schema.evidence import EvidenceSet, EvidenceText, EvidenceUnit

# White space, controls, zero-width and filler characters: nothing a reader could see.
_INVISIBLE: Final = re.compile(
    r"[\s\x00-\x1f\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff"
    r"\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*"
)


def number(items: Sequence[str | EvidenceText]) -> EvidenceSet:
    """Units `E1`, `E2`, ... over the items that are not blank, in their order.

    A plain string is one item. Text is kept as it is. A unit with the text and source of an
    earlier one keeps its own id and names the first in `duplicate_of`. Raises DataError for an
    item that is neither text nor `EvidenceText`.
    """
    units: list[EvidenceUnit] = []
    dropped: list[int] = []
    first_with: dict[str, str] = {}
    for position, item in enumerate([items] if isinstance(items, str) else items):
        if is_blank(_text(item, position)):
            dropped.append(position)
            continue
        unit = _unit(item, f"E{len(units) + 1}", position, first_with)
        first_with.setdefault(unit.key, unit.id)
        units.append(unit)
    return EvidenceSet(units=tuple(units), dropped=tuple(dropped))


def is_blank(text: str) -> bool:
    """Whether `text` has no visible character: only white space, controls, zero-width signs."""
    return _INVISIBLE.fullmatch(text) is not None


def content_key(text: str, source: str | None) -> str:
    """`sha256:<hex>` over text and source: the same content has the same key in every run.

    Each part is written with its length before it, so that no two pairs share an encoding;
    lone surrogates are allowed.
    """
    canonical = f"{len(text)}:{text}"
    if source is not None:
        canonical += f"{len(source)}:{source}"
    return f"sha256:{hashlib.sha256(canonical.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _text(item: object, position: int) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, EvidenceText):
        return item.text
    raise DataError(
        f"a `{type(item).__name__}` is no evidence",
        field=f"evidence[{position}]",
        hint="give text or `EvidenceText`",
    )


def _unit(
    item: str | EvidenceText, unit_id: str, position: int, first_with: dict[str, str]
) -> EvidenceUnit:
    if isinstance(item, str):
        key = content_key(item, None)
        return EvidenceUnit(
            id=unit_id, text=item, key=key, position=position, duplicate_of=first_with.get(key)
        )
    key = content_key(item.text, item.source)
    return EvidenceUnit(
        id=unit_id,
        text=item.text,
        key=key,
        position=position,
        source=item.source,
        aliases=item.aliases,
        facts=item.facts,
        duplicate_of=first_with.get(key),
    )
