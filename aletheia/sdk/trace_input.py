"""Traces as callers give them, read into cases. What cannot be read is an error.

Chunks are numbered by rank, blank ones left out, so that rank 0 is `E1`. What was changed on the
way (ranks that were renumbered, halves of UTF-16 pairs that were replaced) is in `notes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite
from typing import Any, Final

from aletheia.errors import DataError
from aletheia.grounding.numbering import is_blank
from aletheia.judges.base import TraceCase
from aletheia.pipeline.diagnose import trace_case
from aletheia.reports.visible import without_surrogates
from aletheia.schema.trace import ContextChunk
from aletheia.sdk.evidence import text_of

__all__ = ["TraceInput", "read_trace"]

CHUNK_KEYS: Final = ("text", "rank", "source", "score")
"""The keys of a chunk that is given as a mapping; others are not read."""


_TEXT_NAMES: Final = ("page_content", "content", "document", "passage", "chunk", "body")
_NOT_LISTS: Final = (bytes, bytearray, Mapping, AbstractSet)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceInput:
    """A trace that was read. `chunks` have ranks from 0 without gaps; none of them is blank.

    `notes` say what was changed: `blank_chunks`, `ranks`, `replaced_characters`.
    """

    query: str | None
    chunks: tuple[ContextChunk, ...]
    response: str
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def case(self) -> TraceCase:
        """The trace as judges see it."""
        return trace_case(self.query, self.chunks, self.response)


def read_trace(query: object, context: object, response: object) -> TraceInput:
    """Read a trace. Raises DataError that names the place, such as `context[2].rank`.

    `context` is a text (one chunk) or an ordered collection of texts, mappings with `text` and
    perhaps `rank`, `source` and `score`, and `ContextChunk`. An empty one is legitimate. `query`
    None = nothing is known of what was asked.
    """
    cleaner = _Cleaner()
    asked = None if query is None else cleaner.text(query, "query")
    items = [_item(item, f"context[{at}]", at, cleaner) for at, item in enumerate(_listed(context))]
    said = cleaner.text(response, "response")
    chunks, notes = _ranked(items)
    if cleaner.replaced:
        notes["replaced_characters"] = str(cleaner.replaced)
    return TraceInput(query=asked, chunks=chunks, response=said, notes=notes)


@dataclass(slots=True)
class _Cleaner:
    """Reads texts; half of a UTF-16 pair, which no file could hold, becomes U+FFFD, one for one."""

    replaced: int = 0

    def text(self, value: object, where: str) -> str:
        cleaned, count = without_surrogates(text_of(value, where))
        self.replaced += count
        return cleaned


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """A chunk as it was given; `rank` None = its place in the list counts."""

    text: str
    place: int
    rank: int | None = None
    source: str | None = None
    score: float | None = None

    @property
    def order(self) -> tuple[int, int]:
        return (self.place if self.rank is None else self.rank, self.place)


def _listed(context: object) -> Iterable[object]:
    if isinstance(context, str):
        return (context,)
    if not isinstance(context, Iterable) or isinstance(context, _NOT_LISTS):
        said = "null" if context is None else f"a `{type(context).__name__}`"
        hint = "give a list of texts or of objects with `text`; `[]` where nothing was retrieved"
        raise DataError(f"it is {said}", field="context", hint=hint)
    return context


def _item(item: object, where: str, place: int, cleaner: _Cleaner) -> _Item:
    if isinstance(item, ContextChunk):
        return _Item(
            text=item.text, place=place, rank=item.rank, source=item.source, score=item.score
        )
    if not isinstance(item, Mapping):
        return _Item(text=cleaner.text(item, where), place=place)
    if "text" not in item:
        raise DataError("it has no `text`", field=where, hint=_text_hint(item))
    _reject_misspelled(item, where)
    source = item.get("source")
    return _Item(
        text=cleaner.text(item["text"], f"{where}.text"),
        place=place,
        rank=_rank(item.get("rank"), f"{where}.rank"),
        source=None if source is None else cleaner.text(source, f"{where}.source"),
        score=_score(item.get("score"), f"{where}.score"),
    )


def _text_hint(item: Mapping[Any, object]) -> str:
    meant = next((name for name in _TEXT_NAMES if name in item), None)
    return f"rename `{meant}` to `text`" if meant else "a chunk is a text or an object with `text`"


def _reject_misspelled(item: Mapping[Any, object], where: str) -> None:
    """Find a key that is nearly one of ours: leaving it unread would lose what it says."""
    for key in item:
        if key in CHUNK_KEYS:
            continue
        near = get_close_matches(str(key).lower(), CHUNK_KEYS, n=1, cutoff=0.8)
        if near and near[0] not in item:
            raise DataError(f"{key!r} is not a key", field=where, hint=f"did you mean `{near[0]}`?")


def _rank(value: object, where: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DataError(f"it is {value!r}", field=where, hint="a rank is a whole number from 0")
    return value


def _score(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise DataError(f"it is {value!r}", field=where, hint="a score is a finite number")
    return float(value)


def _ranked(items: list[_Item]) -> tuple[tuple[ContextChunk, ...], dict[str, str]]:
    """Order by rank, then by place; ranks that stand twice or leave gaps are numbered anew."""
    kept = sorted((item for item in items if not is_blank(item.text)), key=lambda item: item.order)
    notes: dict[str, str] = {}
    if len(kept) < len(items):
        notes["blank_chunks"] = str(len(items) - len(kept))
    if any(item.rank not in (None, at) for at, item in enumerate(kept)):
        notes["ranks"] = "renumbered"
    chunks = tuple(
        ContextChunk(text=item.text, rank=at, source=item.source, score=item.score)
        for at, item in enumerate(kept)
    )
    return chunks, notes
