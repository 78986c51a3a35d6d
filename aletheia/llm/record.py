"""Write down what every call of a model cost, at the moment it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from aletheia.errors import AletheiaError, ModelError
from aletheia.llm.ledger import CallLedger, CallRecord
from aletheia.llm.pricing import Pricer
from aletheia.llm.tracking import record_call
from aletheia.schema.model import ChatModel, Prompt, Reply, Usage

__all__ = ["CallLedger", "CallRecord", "RecordingModel", "cached_call"]


class RecordingModel:
    """A chat model whose calls are counted, with the interface of a chat model.

    Each call goes through `record_call`, and into `ledger` where one is given. It is priced where
    there is a `pricer`; `base_url` is the endpoint's (None = not known). A call that was
    cancelled had been sent: it counts as failed, with tokens and price not known.
    """

    def __init__(
        self,
        model: ChatModel,
        ledger: CallLedger | None = None,
        pricer: Pricer | None = None,
        *,
        base_url: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.inner: Final = model
        self.ledger: Final = ledger
        self._pricer = pricer
        self._base_url = base_url
        self._clock = clock

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt and write the call down, also when it fails or is cancelled."""
        started = self._clock()
        try:
            reply = await self.inner.complete(prompt)
        except ModelError as error:
            self._failed(prompt, error.usage or Usage(), started, error)
            raise
        except AletheiaError:
            raise  # nothing was sent: a setting is wrong, or a budget is used up
        except BaseException as error:
            self._failed(prompt, Usage(), started, error)
            raise
        self._replied(prompt, reply, started)
        return reply

    def _failed(self, prompt: Prompt, usage: Usage, started: float, error: BaseException) -> None:
        self._write(
            CallRecord(
                model=self.name,
                usage=usage,
                seconds=self._clock() - started,
                error=type(error).__name__,
                purpose=prompt.purpose,
                usd=self._usd(usage),
                base_url=self._base_url,
            )
        )

    def _replied(self, prompt: Prompt, reply: Reply, started: float) -> None:
        batched = reply.source == "batch"
        self._write(
            CallRecord(
                model=self.name,
                usage=reply.usage,
                seconds=self._clock() - started,
                structured=reply.structured,
                batched=batched,
                purpose=prompt.purpose,
                usd=self._usd(reply.usage, batch=batched, answered_by=reply.model),
                base_url=self._base_url,
            )
        )

    def _usd(
        self, usage: Usage, *, batch: bool = False, answered_by: str | None = None
    ) -> float | None:
        if self._pricer is None:
            return None
        price = self._pricer.price(
            self.name, self._base_url, usage, batch=batch, answered_by=answered_by
        )
        return None if price is None else price.usd

    def _write(self, record: CallRecord) -> None:
        record_call(record, *(() if self.ledger is None else (self.ledger,)))


def cached_call(
    model: str,
    *,
    purpose: str,
    structured: str | None = None,
    base_url: str | None = None,
    seconds: float = 0.0,
) -> CallRecord:
    """Return the record of a reply that came from the reply cache: no request, and no cost."""
    return CallRecord(
        model=model,
        usage=Usage(prompt_tokens=0, completion_tokens=0, calls=0),
        seconds=seconds,
        structured=structured,
        cached=True,
        purpose=purpose,
        usd=0.0,
        base_url=base_url,
    )
