"""Traces from LlamaIndex: `from aletheia.sdk import llamaindex`.

`install` listens to the instrumentation that LlamaIndex has: no query engine, chat engine or
retriever is changed. LlamaIndex is imported by `install`; where it is not installed that raises
`MissingExtra`.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import Final

from aletheia.errors import MissingExtra
from aletheia.sdk.adapters import Record

__all__ = ["install", "is_installed", "uninstall"]

_HANDLERS: Final = "aletheia.sdk.llamaindex_handlers"
_LOCK: Final = Lock()


def install(*, record: Record | None = None) -> int:
    """Log a trace for each query and each turn of a chat from now on.

    Return how many handlers were added to the dispatcher: 0 where that had been done before.
    `record` keeps a trace in place of `aletheia.log`. Raises MissingExtra without
    `llama-index-core`.
    """
    try:
        from aletheia.sdk import llamaindex_handlers
    except ImportError as error:
        if (error.name or "").partition(".")[0].startswith("llama_index"):
            raise MissingExtra("LlamaIndex adapter", "llamaindex") from error
        raise
    with _LOCK:
        return llamaindex_handlers.attach(record)


def is_installed() -> bool:
    """Whether queries are logged."""
    loaded = sys.modules.get(_HANDLERS)
    return loaded is not None and bool(loaded.attached())


def uninstall() -> int:
    """Stop listening; return how many handlers were taken away."""
    loaded = sys.modules.get(_HANDLERS)
    if loaded is None:
        return 0
    with _LOCK:
        count: int = loaded.detach()
    return count
