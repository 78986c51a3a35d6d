"""What models were found to take, noted from their replies while a run goes on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from aletheia.schema.model import ChatModel, Prompt, Reply
from aletheia.schema.report import Capability


class CapabilityLog:
    """How the replies of each model were constrained, and what its requests went without."""

    def __init__(self) -> None:
        self._noted: dict[str, Capability] = {}

    def note(self, model: str, reply: Reply) -> None:
        """Write down what one reply says."""
        new = Capability(model=model, structured=(reply.structured,), dropped=reply.dropped)
        known = self._noted.get(model)
        if known is None or not _covers(known, new):
            (self._noted[model],) = merged((new,) if known is None else (known, new))

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """All that is known so far, sorted by model."""
        return merged(self._noted.values())


class ObservedModel:
    """A chat model whose replies are noted in a log, with the interface of a chat model."""

    def __init__(self, model: ChatModel, log: CapabilityLog) -> None:
        self.inner: Final = model
        self._log = log

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt and note how the reply was had."""
        reply = await self.inner.complete(prompt)
        self._log.note(self.name, reply)
        return reply


def merged(several: Iterable[Capability]) -> tuple[Capability, ...]:
    """Put what is known of each model together, sorted, so that order makes no difference."""
    structured: dict[str, set[str]] = {}
    dropped: dict[str, set[str]] = {}
    for item in several:
        structured.setdefault(item.model, set()).update(item.structured)
        dropped.setdefault(item.model, set()).update(item.dropped)
    return tuple(
        Capability(
            model=model,
            structured=tuple(sorted(structured[model])),
            dropped=tuple(sorted(dropped[model])),
        )
        for model in sorted(structured)
    )


def _covers(known: Capability, new: Capability) -> bool:
    return set(new.structured) <= set(known.structured) and set(new.dropped) <= set(known.dropped)
