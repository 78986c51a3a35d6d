"""Embeddings from any endpoint that speaks the OpenAI protocol."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Final

from aletheia.errors import ModelBadReply, ModelError
from aletheia.llm.base import requests_only, wire_text
from aletheia.llm.openai_client import OpenAIConnection
from aletheia.llm.pricing import Pricer
from aletheia.llm.record import CallLedger, CallRecord
from aletheia.llm.retry import Retrier, RetryPolicy
from aletheia.llm.tracking import record_call
from aletheia.schema.model import Usage

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class OpenAIEmbedder:
    """`Embedder` over `/embeddings`: `embed` for synchronous callers, `aembed` for the others.

    Texts go out in batches of `batch_size`, each retried by `policy`. `api_version` makes requests
    go out as Azure wants them. Every request is counted, with the purpose `embed`, priced where
    there is a `pricer`, and goes into `ledger` where one is given.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 120.0,
        batch_size: int = 64,
        policy: RetryPolicy | None = None,
        api_version: str | None = None,
        pricer: Pricer | None = None,
        ledger: CallLedger | None = None,
    ) -> None:
        self._model = model
        self._pricer = pricer
        self._ledger = ledger
        self._connection = OpenAIConnection(
            api_key=api_key, base_url=base_url, timeout_s=timeout_s, api_version=api_version
        )
        self._batch_size: Final = batch_size
        self._retrier = Retrier(policy or RetryPolicy())

    @property
    def name(self) -> str:
        """Model id as recorded in results."""
        return self._model

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return `aembed(texts)`. Works inside a running event loop too, and blocks it."""
        # The caller's thread may have a loop that runs, so the work gets a thread of its own, with
        # the caller's scopes and budgets. The context may say that a loop runs: not in that thread.
        with ThreadPoolExecutor(1, thread_name_prefix="aletheia-embed") as pool:
            context = copy_context()
            return pool.submit(context.run, asyncio.run, self.aembed(texts)).result()

    async def aembed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit-length float32 vectors of shape (len(texts), dimension).

        Without texts the shape is (0, 0) and nothing is sent. Raises `ModelError`, also where a
        vector is missing, not finite or of another length than the rest.
        """
        import numpy as np

        rows: list[list[float]] = []
        for start in range(0, len(texts), self._batch_size):
            batch = [wire_text(text) for text in texts[start : start + self._batch_size]]
            rows += await self._batch(batch)
        if not rows:
            return np.zeros((0, 0), dtype=np.float32)
        return _unit_rows(rows)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._connection.aclose()

    async def _batch(self, texts: list[str]) -> list[list[float]]:
        done = await self._retrier.run(lambda: self._request(texts))
        return done.value

    async def _request(self, texts: list[str]) -> list[list[float]]:
        started = time.monotonic()
        try:
            body = await self._connection.embeddings(self._model, texts)
            vectors = _read_vectors(body, len(texts))
        except ModelError as error:
            self._record(error.usage or Usage(), started, error=error)
            raise
        except BaseException as error:
            # Cancelled: it had been sent.
            self._record(Usage(), started, error=error)
            raise
        self._record(_usage(body), started)
        return vectors

    def _record(self, usage: Usage, started: float, error: BaseException | None = None) -> None:
        base_url = self._connection.base_url
        price = self._pricer.price(self._model, base_url, usage) if self._pricer else None
        record = CallRecord(
            model=self._model,
            usage=usage,
            seconds=time.monotonic() - started,
            error=None if error is None else type(error).__name__,
            purpose="embed",
            usd=None if price is None else price.usd,
            base_url=base_url,
        )
        record_call(record, *(() if self._ledger is None else (self._ledger,)))


def _usage(body: object) -> Usage:
    """Tokens of an answer with vectors: there are none of a completion."""
    reported = body.get("usage") if isinstance(body, dict) else None
    tokens = reported.get("prompt_tokens") if isinstance(reported, dict) else None
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        return Usage()
    return Usage(prompt_tokens=tokens, completion_tokens=0)


def _read_vectors(body: object, asked: int) -> list[list[float]]:
    """Vectors in the order of the texts; each index asked for must come back exactly once."""
    listed = body.get("data") if isinstance(body, dict) else None
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    by_index = {item.get("index"): item.get("embedding") for item in items}
    if len(items) != asked or set(by_index) != set(range(asked)):
        raise _bad(f"asked for {asked} vectors, the indices that came back do not fit")
    return [_vector(by_index[index], index) for index in range(asked)]


def _vector(value: object, index: int) -> list[float]:
    if not isinstance(value, list) or not value:
        raise _bad(f"vector {index} is no list of numbers")
    if not all(isinstance(item, int | float) and not isinstance(item, bool) for item in value):
        raise _bad(f"vector {index} holds something that is no number")
    return value


def _unit_rows(rows: list[list[float]]) -> npt.NDArray[np.float32]:
    import numpy as np

    if len({len(row) for row in rows}) > 1:
        raise _bad("the vectors differ in length")
    try:
        matrix = np.asarray(rows, dtype=np.float64)
    except OverflowError:
        raise _bad("a vector holds a number that is too large") from None
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms == 0).any():
        raise _bad("a vector is zero or not finite")
    unit: npt.NDArray[np.float32] = (matrix / norms).astype(np.float32)
    return unit


def _bad(message: str) -> ModelBadReply:
    return ModelBadReply(message, usage=requests_only(1))
