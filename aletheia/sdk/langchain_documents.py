"""Finds the documents in what LangChain objects hold.

A document is known by its `page_content`, so that nothing of LangChain is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeGuard

from aletheia.schema.trace import ContextChunk
from aletheia.sdk.adapter_texts import fields_of
from aletheia.sdk.adapters import finite, renumbered, source_of

__all__ = ["chunks_of", "context_texts", "documents_in"]

_SCORES: Final = ("relevance_score", "score", "_score", "similarity")


def chunks_of(documents: Iterable[object]) -> tuple[ContextChunk, ...]:
    """Documents in their order as chunks, with source and score where the metadata has them."""
    kept = (item for item in documents if _document(item) is not None)
    return tuple(_chunk(item, rank) for rank, item in enumerate(kept))


def documents_in(value: object) -> tuple[ContextChunk, ...]:
    """The documents in a value: a list of them, or fields that are such lists."""
    lists = [value, *(fields_of(value) or {}).values()]
    return renumbered([chunks_of(item) for item in lists if _are_documents(item)])


def context_texts(value: object) -> tuple[ContextChunk, ...]:
    """The texts in the field `context` of a value, where somebody formatted documents already."""
    given = value.get("context") if isinstance(value, Mapping) else None
    texts = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return tuple(
        ContextChunk(text=text, rank=rank)
        for rank, text in enumerate(item for item in texts if isinstance(item, str))
    )


def _are_documents(value: object) -> TypeGuard[Sequence[object]]:
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(_document(item) is not None for item in value)
    )


def _document(item: object) -> object | None:
    """A document, alone or with its score beside it."""
    if isinstance(item, tuple) and len(item) == 2:
        item = item[0]
    return item if isinstance(getattr(item, "page_content", None), str) else None


def _chunk(item: object, rank: int) -> ContextChunk:
    document = _document(item)
    metadata = getattr(document, "metadata", None)
    scores: list[object] = [item[1]] if isinstance(item, tuple) else []
    if isinstance(metadata, Mapping):
        scores += [metadata.get(key) for key in _SCORES]
    known = (score for score in map(finite, scores) if score is not None)
    return ContextChunk(
        text=str(getattr(document, "page_content", "")),
        rank=rank,
        source=source_of(metadata, getattr(document, "id", None)),
        score=next(known, None),
    )
