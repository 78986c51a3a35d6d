"""Traces from LangChain: `from aletheia.sdk import langchain`.

`AletheiaCallbackHandler` follows today's runnables and graphs. `install` watches the classic
retrieval chains without a change to the code that uses them. LangChain is imported when one of
them is used; where it is not installed that raises `MissingExtra`.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import TYPE_CHECKING, Final

from aletheia.errors import MissingExtra
from aletheia.sdk.adapters import Record

if TYPE_CHECKING:
    from types import ModuleType

    from aletheia.sdk.langchain_handler import AletheiaCallbackHandler

__all__ = ["AletheiaCallbackHandler", "install", "is_installed", "uninstall"]

_CHAINS: Final = "aletheia.sdk.langchain_chains"
_LOCK: Final = Lock()


def install(*, record: Record | None = None) -> int:
    """Log a trace for each call of a classic retrieval chain from now on.

    Covers `RetrievalQA`, `ConversationalRetrievalChain`, the question answering chains with
    sources, what derives from them, and the chains that `create_retrieval_chain` makes from now
    on (where it is imported from LangChain after this call). What a caller gets back is what it
    was. Return how many classes were patched: 0 where that had been done before. `record` keeps
    a trace in place of `aletheia.log`. Raises MissingExtra without `langchain-classic`.
    """
    chains, handler = _module(_CHAINS), _module("aletheia.sdk.langchain_handler")
    with _LOCK:
        count: int = chains.patch(handler.AletheiaCallbackHandler(record=record))
    return count


def is_installed() -> bool:
    """Whether the classic chains are watched."""
    loaded = sys.modules.get(_CHAINS)
    return loaded is not None and bool(loaded.is_patched())


def uninstall() -> int:
    """Leave the classic chains as they were; return how many classes had been patched."""
    loaded = sys.modules.get(_CHAINS)
    if loaded is None:
        return 0
    with _LOCK:
        count: int = loaded.unpatch()
    return count


def _module(name: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        if (error.name or "").partition(".")[0].startswith("langchain"):
            raise MissingExtra("LangChain adapter", "langchain") from error
        raise


def __getattr__(name: str) -> object:
    if name == "AletheiaCallbackHandler":
        value: object = getattr(_module("aletheia.sdk.langchain_handler"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`", name=name, obj=None)
