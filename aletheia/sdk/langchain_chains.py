"""Watches the classic retrieval chains of LangChain without a change to the code that uses them.

A class is patched where `invoke` and `ainvoke` are looked up, which all other ways in
(`__call__`, `run`, `batch`, `stream`) come to. The patch adds our handler to the callbacks of the
call and nothing else, so that inputs, outputs and errors are what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Final

from langchain_classic.chains import retrieval
from langchain_classic.chains.conversational_retrieval.base import BaseConversationalRetrievalChain
from langchain_classic.chains.qa_with_sources.base import BaseQAWithSourcesChain
from langchain_classic.chains.retrieval_qa.base import BaseRetrievalQA
from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig, ensure_config

from aletheia.sdk.langchain_handler import AletheiaCallbackHandler

__all__ = ["is_patched", "patch", "unpatch"]

CLASSES: Final[tuple[type, ...]] = (
    BaseRetrievalQA,
    BaseConversationalRetrievalChain,
    BaseQAWithSourcesChain,
)
"""Patched with all that derive from them."""

_WAYS: Final = ("invoke", "ainvoke")
_FACTORY: Final = "create_retrieval_chain"
_MARK: Final = "_aletheia_handler"


def is_patched() -> bool:
    """Whether the chains are watched."""
    return any(_handler_on(cls) is not None for cls in CLASSES)


def patch(handler: AletheiaCallbackHandler) -> int:
    """Watch the chains; return how many classes were patched that were not before."""
    waiting = [cls for cls in CLASSES if _handler_on(cls) is None]
    for cls in waiting:
        for name in _WAYS:
            setattr(cls, name, _watched(getattr(cls, name), handler))
    if waiting:
        setattr(retrieval, _FACTORY, _watched_factory(getattr(retrieval, _FACTORY), handler))
    return len(waiting)


def unpatch() -> int:
    """Take the patches off; return how many classes had one."""
    patched = [(cls, handler) for cls in CLASSES if (handler := _handler_on(cls)) is not None]
    for cls, handler in patched:
        # A chain that `create_retrieval_chain` made holds on to it.
        handler.enabled = False
        for name in _WAYS:
            delattr(cls, name)
    factory = getattr(retrieval, _FACTORY)
    if hasattr(factory, _MARK):
        setattr(retrieval, _FACTORY, factory.__wrapped__)
    return len(patched)


def _handler_on(cls: type) -> AletheiaCallbackHandler | None:
    found = getattr(vars(cls).get(_WAYS[0]), _MARK, None)
    return found if isinstance(found, AletheiaCallbackHandler) else None


def _watched(original: Callable[..., Any], handler: AletheiaCallbackHandler) -> Callable[..., Any]:
    """Make `original` run with our handler; a coroutine function stays one."""

    @wraps(original)
    def call(
        chain: object,
        input: object,  # noqa: A002 - the name that callers may use
        config: RunnableConfig | None = None,
        **kwargs: object,
    ) -> object:
        return original(chain, input, _joined(chain, config, handler), **kwargs)

    @wraps(original)
    async def acall(
        chain: object,
        input: object,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: object,
    ) -> object:
        return await original(chain, input, _joined(chain, config, handler), **kwargs)

    made = acall if iscoroutinefunction(original) else call
    setattr(made, _MARK, handler)
    return made


def _watched_factory(
    original: Callable[..., Any], handler: AletheiaCallbackHandler
) -> Callable[..., Any]:
    @wraps(original)
    def create(*args: object, **kwargs: object) -> object:
        return original(*args, **kwargs).with_config(callbacks=[handler])

    setattr(create, _MARK, handler)
    return create


def _joined(
    chain: object,
    config: RunnableConfig | None,
    handler: AletheiaCallbackHandler,
) -> RunnableConfig:
    """Add our handler to a call, unless one of ours follows it already."""
    whole = ensure_config(config)
    callbacks = whole.get("callbacks")
    if _ours(callbacks) or _ours(getattr(chain, "callbacks", None)):
        return whole
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(handler, inherit=True)
        return {**whole, "callbacks": manager}
    return {**whole, "callbacks": [*(callbacks or ()), handler]}


def _ours(callbacks: object) -> bool:
    handlers = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks
    return isinstance(handlers, Iterable) and any(
        isinstance(item, AletheiaCallbackHandler) for item in handlers
    )
