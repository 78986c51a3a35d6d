"""Put a model together from settings: adapter inside, then the ledger, then the retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pydantic import SecretStr

from aletheia.errors import ConfigError
from aletheia.llm.openai_client import OFFICIAL_URL
from aletheia.llm.openai_embedder import OpenAIEmbedder
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.record import CallLedger, RecordingModel
from aletheia.llm.retry import RetryingModel, RetryPolicy
from aletheia.schema.model import ChatModel


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


def build_adapter(settings: ModelSettings, *, model: str | None = None) -> OpenAIChatModel:
    """Return the bare model, without ledger and retries. Raises `ConfigError` (no endpoint)."""
    _require_endpoint(settings)
    return OpenAIChatModel(
        model or settings.model,
        api_key=_key(settings),
        base_url=settings.openai_base_url,
        timeout_s=settings.timeout_s,
    )


def build_model(
    settings: ModelSettings, *, model: str | None = None, ledger: CallLedger | None = None
) -> ChatModel:
    """Return the model to use in a run; `model` wins over `settings.model`.

    Every try goes into `ledger` where one is given. Raises `ConfigError` where neither key nor
    URL is set.
    """
    inner: ChatModel = build_adapter(settings, model=model)
    if ledger is not None:
        inner = RecordingModel(inner, ledger)
    return RetryingModel(inner, retry_policy(settings))


def build_embedder(settings: ModelSettings, *, model: str | None = None) -> OpenAIEmbedder:
    """Return the embedder of the endpoint. Raises `ConfigError` (no endpoint)."""
    _require_endpoint(settings)
    return OpenAIEmbedder(
        model or settings.embed_model,
        api_key=_key(settings),
        base_url=settings.openai_base_url,
        timeout_s=settings.timeout_s,
        policy=retry_policy(settings),
    )


def _key(settings: ModelSettings) -> str | None:
    key = settings.openai_api_key
    return None if key is None else key.get_secret_value()


def _require_endpoint(settings: ModelSettings) -> None:
    if not describe(settings).usable:
        raise ConfigError(
            "no model endpoint: neither `OPENAI_API_KEY` nor `OPENAI_BASE_URL` is set",
            hint="set one of them, or use the extractive generator, which needs none",
        )
