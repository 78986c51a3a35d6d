"""Count what the calls of a run cost, in a ledger that the run carries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aletheia.errors import ModelError
from aletheia.llm.base import requests_only
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call. `error` is the class of the `ModelError` it ended with, None for a reply."""

    model: str
    usage: Usage
    seconds: float
    structured: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over a ledger.

    `requests` counts what was sent, refused and failed requests included. Tokens are the sum of
    what was reported; `unreported` calls said nothing, so with it above 0 the sums are a floor.
    """

    calls: int
    failed: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    unreported: int
    seconds: float


@dataclass(slots=True)
class CallLedger:
    """The calls of one run, in the order in which they ended. Safe to use from threads."""

    _records: list[CallRecord] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, record: CallRecord) -> None:
        """Write one call down."""
        with self._lock:
            self._records.append(record)

    @property
    def records(self) -> tuple[CallRecord, ...]:
        """All calls so far."""
        with self._lock:
            return tuple(self._records)

    def totals(self, model: str | None = None) -> Totals:
        """Sum all calls, or those of one model."""
        chosen = [item for item in self.records if model is None or item.model == model]
        usages = [item.usage for item in chosen]
        return Totals(
            calls=len(chosen),
            failed=sum(item.error is not None for item in chosen),
            requests=sum(usage.calls for usage in usages),
            prompt_tokens=sum(usage.prompt_tokens or 0 for usage in usages),
            completion_tokens=sum(usage.completion_tokens or 0 for usage in usages),
            unreported=sum(
                usage.prompt_tokens is None or usage.completion_tokens is None for usage in usages
            ),
            seconds=sum(item.seconds for item in chosen),
        )


class RecordingModel:
    """A chat model whose calls go into a ledger, with the interface of a chat model."""

    def __init__(
        self,
        model: ChatModel,
        ledger: CallLedger,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.inner: Final = model
        self.ledger: Final = ledger
        self._clock = clock

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt and write the call down, also when it fails."""
        started = self._clock()
        try:
            reply = await self.inner.complete(prompt)
        except ModelError as error:
            usage = error.usage or requests_only(1)
            self._add(usage, started, error=type(error).__name__)
            raise
        self._add(reply.usage, started, structured=reply.structured)
        return reply

    def _add(
        self,
        usage: Usage,
        started: float,
        *,
        structured: str | None = None,
        error: str | None = None,
    ) -> None:
        self.ledger.add(
            CallRecord(
                model=self.name,
                usage=usage,
                seconds=self._clock() - started,
                structured=structured,
                error=error,
            )
        )
