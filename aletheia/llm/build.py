"""Put a model together from settings.

From the outside in: the reply cache, the budgets, the retries, the record of each try, the window,
the turn at the endpoint, and the adapter that sends. So a reply from the cache costs nothing, a
budget holds a call with all its tries, and each try is counted and waits for its own turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from pydantic import SecretStr

from aletheia.errors import ConfigError, ContextTooLong
from aletheia.llm.base import requests_only
from aletheia.llm.budget import BudgetedModel
from aletheia.llm.cache import CachingModel, ReplyCache
from aletheia.llm.limit import AdaptiveLimiter, LimitedModel
from aletheia.llm.openai_batch import BatchClient
from aletheia.llm.openai_client import OFFICIAL_URL, OpenAIConnection
from aletheia.llm.openai_embedder import OpenAIEmbedder
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.pricing import Pricer
from aletheia.llm.prompt_size import least_tokens
from aletheia.llm.record import CallLedger, RecordingModel
from aletheia.llm.retry import RetryingModel, RetryPolicy
from aletheia.schema.model import ChatModel, Prompt, Reply

AT_ONCE: Final = 4
"""Requests that one question or trace may have under way: its judges are asked side by side."""


UPLOAD_S: Final = 600.0
"""Seconds that one request about files and batches may take at least: a file may have 200 MB."""


class ModelSettings(Protocol):
    """The part of `aletheia.config.Settings` that decides about models."""

    @property
    def openai_api_key(self) -> SecretStr | None:
        """Key of the endpoint."""
        ...

    @property
    def openai_base_url(self) -> str | None:
        """URL of the endpoint, None for the official one."""
        ...

    @property
    def model(self) -> str:
        """Model that generates answers."""
        ...

    @property
    def judge_model(self) -> str:
        """Model that judges."""
        ...

    @property
    def embed_model(self) -> str:
        """Model that embeds."""
        ...

    @property
    def timeout_s(self) -> float:
        """Seconds one request may take."""
        ...

    @property
    def total_timeout_s(self) -> float:
        """Seconds one call may take with all its retries."""
        ...

    @property
    def max_retries(self) -> int:
        """Tries after the first."""
        ...

    @property
    def concurrency(self) -> int:
        """Questions or traces that are worked on at once."""
        ...

    @property
    def requests_per_minute(self) -> int | None:
        """Requests that may begin within a minute, None for no bound."""
        ...

    @property
    def openai_api_version(self) -> str | None:
        """API version of an Azure endpoint, None for any other endpoint."""
        ...

    @property
    def context_window(self) -> int | None:
        """Tokens that the model can read, None where it is not known."""
        ...

    @property
    def price_input_usd(self) -> float | None:
        """US dollars for a million prompt tokens."""
        ...

    @property
    def price_output_usd(self) -> float | None:
        """US dollars for a million completion tokens."""
        ...

    @property
    def cache_enabled(self) -> bool:
        """Whether replies are kept and reused."""
        ...

    @property
    def db_path(self) -> Path:
        """File of the reply cache."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointDescription:
    """What would be used, without asking the endpoint. Holds no secret.

    `usable` is False where neither a key nor a URL is set: then there is no model to call.
    """

    usable: bool
    base_url: str
    has_key: bool
    model: str
    judge_model: str
    embed_model: str

    def __str__(self) -> str:
        if not self.usable:
            return "no model: neither `OPENAI_API_KEY` nor `OPENAI_BASE_URL` is set"
        key = "with a key" if self.has_key else "without a key"
        return f"`{self.model}` at {self.base_url}, {key}"


def describe(settings: ModelSettings) -> EndpointDescription:
    """Say which endpoint and models the settings lead to. Calls nothing."""
    return EndpointDescription(
        usable=settings.openai_api_key is not None or settings.openai_base_url is not None,
        base_url=settings.openai_base_url or OFFICIAL_URL,
        has_key=settings.openai_api_key is not None,
        model=settings.model,
        judge_model=settings.judge_model,
        embed_model=settings.embed_model,
    )


def retry_policy(settings: ModelSettings) -> RetryPolicy:
    """Return the retry policy of the settings."""
    return RetryPolicy(max_retries=settings.max_retries, total_s=settings.total_timeout_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServices:
    """What all models of one run share: their endpoint's turns, prices, the ledger, the cache.

    `cache` None = every call is sent.
    """

    limiter: AdaptiveLimiter
    pricer: Pricer
    ledger: CallLedger | None = None
    cache: ReplyCache | None = None

    def close(self) -> None:
        """Close the cache. The models that were built with it are of no use any more."""
        if self.cache is not None:
            self.cache.close()


def make_services(
    settings: ModelSettings, *, concurrency: int | None = None, ledger: CallLedger | None = None
) -> ModelServices:
    """Make what the models of a run share. Who calls this calls `close` at the end.

    `concurrency` wins over the settings. Raises `StoreError` (the cache cannot be used) or
    `ConfigError` (half a price).
    """
    at_once = AT_ONCE * (concurrency or settings.concurrency)
    return ModelServices(
        limiter=AdaptiveLimiter(at_once, settings.requests_per_minute),
        pricer=Pricer(settings),
        ledger=ledger,
        cache=ReplyCache(settings.db_path) if settings.cache_enabled else None,
    )


@contextmanager
def open_services(
    settings: ModelSettings, *, concurrency: int | None = None, ledger: CallLedger | None = None
) -> Iterator[ModelServices]:
    """Give the services of a run to a block and close them at its end."""
    services = make_services(settings, concurrency=concurrency, ledger=ledger)
    try:
        yield services
    finally:
        services.close()


def build_adapter(settings: ModelSettings, *, model: str | None = None) -> OpenAIChatModel:
    """Return the bare model, without any wrapper. Raises `ConfigError` (no endpoint)."""
    _require_endpoint(settings)
    return OpenAIChatModel(
        model or settings.model,
        api_key=_key(settings),
        base_url=settings.openai_base_url,
        timeout_s=settings.timeout_s,
        api_version=settings.openai_api_version,
    )


def build_model(
    settings: ModelSettings,
    *,
    model: str | None = None,
    services: ModelServices | None = None,
    ledger: CallLedger | None = None,
) -> ChatModel:
    """Return the model to use in a run; `model` wins over `settings.model`.

    Models of one run are given the same `services`. Without any, the model has turns of its own
    and no reply cache, which somebody would have to close. Every try goes into `ledger`, or that
    of the services, and to every open `CostScope`. Raises `ConfigError` where neither key nor URL
    is set.
    """
    adapter = build_adapter(settings, model=model)
    shared = services or _alone(settings)
    ledger = ledger or shared.ledger
    sent: ChatModel = LimitedModel(adapter, shared.limiter)
    if settings.context_window is not None:
        sent = WindowedModel(sent, settings.context_window)
    tried = RecordingModel(sent, ledger, shared.pricer, base_url=adapter.base_url)
    asked = RetryingModel(tried, retry_policy(settings))
    paid = BudgetedModel(asked, shared.pricer, adapter.base_url)
    if shared.cache is None:
        return paid
    ledgers = () if ledger is None else (ledger,)
    return CachingModel(paid, shared.cache, adapter.identity, ledgers=ledgers)


def _alone(settings: ModelSettings) -> ModelServices:
    limiter = AdaptiveLimiter(AT_ONCE * settings.concurrency, settings.requests_per_minute)
    return ModelServices(limiter=limiter, pricer=Pricer(settings))


class WindowedModel:
    """A chat model that is not sent what cannot fit its window, as a chat model.

    `window` is in tokens. Only a prompt that no tokenizer could fit is held back; of any other the
    endpoint itself has to say so.
    """

    def __init__(self, model: ChatModel, window: int) -> None:
        self.inner: Final = model
        self._window = window

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt. Raises `ContextTooLong` before anything is sent."""
        least = least_tokens(prompt.system) + least_tokens(prompt.user)
        if least > self._window:
            raise ContextTooLong(
                f"the prompt has at least {least} tokens, the window of `{self.name}` is set to "
                f"{self._window}",
                hint="`ALETHEIA_CONTEXT_WINDOW` sets it; fewer or shorter evidence units fit",
                usage=requests_only(0),
            )
        return await self.inner.complete(prompt)


def build_embedder(
    settings: ModelSettings, *, model: str | None = None, services: ModelServices | None = None
) -> OpenAIEmbedder:
    """Return the embedder of the endpoint. Raises `ConfigError` (no endpoint)."""
    _require_endpoint(settings)
    shared = services or _alone(settings)
    return OpenAIEmbedder(
        model or settings.embed_model,
        api_key=_key(settings),
        base_url=settings.openai_base_url,
        timeout_s=settings.timeout_s,
        policy=retry_policy(settings),
        api_version=settings.openai_api_version,
        pricer=shared.pricer,
        ledger=shared.ledger,
    )


def build_batch_client(settings: ModelSettings) -> BatchClient:
    """Return the Batch API of the endpoint. Raises `ConfigError` (no endpoint)."""
    _require_endpoint(settings)
    connection = OpenAIConnection(
        api_key=_key(settings),
        base_url=settings.openai_base_url,
        timeout_s=max(settings.timeout_s, UPLOAD_S),
        api_version=settings.openai_api_version,
    )
    return BatchClient(connection, retry_policy(settings))


def _key(settings: ModelSettings) -> str | None:
    key = settings.openai_api_key
    return None if key is None else key.get_secret_value()


def _require_endpoint(settings: ModelSettings) -> None:
    if not describe(settings).usable:
        raise ConfigError(
            "no model endpoint: neither `OPENAI_API_KEY` nor `OPENAI_BASE_URL` is set",
            hint="set one of them, or use the extractive generator, which needs none",
        )
