"""The models of the Python API: built once for each event loop and settings, and used again.

So a thousand calls keep their sockets and their reply cache. Few are held at a time; what is held
is closed when its loop shuts its asynchronous generators down, which `asyncio.run`, `anyio.run`
and the private loop do before they end.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import RunVar

from aletheia.config import Settings
from aletheia.llm.build import build_adapter, build_model, make_services
from aletheia.schema.model import ChatModel

if TYPE_CHECKING:
    from aletheia.llm.build import ModelServices

__all__ = ["close_models", "leased_model"]

_MOST: Final = 8


@asynccontextmanager
async def leased_model(settings: Settings, model: str | None = None) -> AsyncIterator[ChatModel]:
    """Give the model of these settings to a block; `model` wins over `settings.model`.

    The same settings get the same object in the same event loop. Raises `ConfigError` where no
    endpoint is set, and `StoreError` where the reply cache cannot be used.
    """
    models = await _of_this_loop()
    entry = models.take(settings, model or settings.model)
    try:
        yield entry.model
    finally:
        entry.users -= 1
        with anyio.CancelScope(shield=True):
            await models.trim(_MOST)


async def close_models() -> None:
    """Close the models of the running event loop, before it ends.

    A loop that shuts down its generators closes models and their sockets at the same time, and
    each would close the other.
    """
    held = _HELD.get()
    if held is not None:
        await held[1].aclose()


@dataclass(slots=True, kw_only=True)
class _Entry:
    """A model, what was made for it alone, and how many are using it."""

    model: ChatModel
    services: ModelServices
    users: int = 0

    async def aclose(self) -> None:
        """Close the sockets of this loop and the reply cache."""
        inner: object = self.model
        while inner is not None:
            close = getattr(inner, "aclose", None)
            if close is not None:
                await close()
            inner = getattr(inner, "inner", None)
        self.services.close()


class _Models:
    """The models of one event loop; the ones used last are kept."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[Settings, str], _Entry] = OrderedDict()

    def take(self, settings: Settings, model: str) -> _Entry:
        key = (settings, model)
        if key not in self._entries:
            self._entries[key] = _built(settings, model)
        self._entries.move_to_end(key)
        entry = self._entries[key]
        entry.users += 1
        return entry

    async def trim(self, most: int) -> None:
        """Close those that nobody uses until `most` are left."""
        idle = [key for key, entry in self._entries.items() if entry.users == 0]
        for key in idle[: max(0, len(self._entries) - most)]:
            await self._entries.pop(key).aclose()


def _built(settings: Settings, model: str) -> _Entry:
    # Where no endpoint is set this raises, before the reply cache makes its file.
    build_adapter(settings, model=model)
    services = make_services(settings)
    try:
        return _Entry(
            model=build_model(settings, model=model, services=services), services=services
        )
    except BaseException:
        services.close()
        raise


_HELD: Final[RunVar[tuple[_Models, AsyncGenerator[_Models]] | None]] = RunVar(
    "models", default=None
)


async def _of_this_loop() -> _Models:
    held = _HELD.get()
    if held is None:
        keeper = _keep()
        # Nothing is awaited before the generator yields, so no other task gets in between.
        held = (await anext(keeper), keeper)
        _HELD.set(held)
    return held[0]


async def _keep() -> AsyncGenerator[_Models]:
    models = _Models()
    try:
        yield models
    finally:
        _HELD.set(None)
        await models.trim(0)
