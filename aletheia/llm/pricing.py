"""What a call costs, from the price list of `genai-prices`. No network: the list is in the package.

An endpoint that the list knows is priced by what it charges. Any other, a gateway or a server on
loopback, is priced by the name of the model alone, which is an estimate and says so: gateways run
on loopback too, so an address is no reason to count a call as free. What the list does not know
has no price.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from aletheia.errors import ConfigError
from aletheia.schema.model import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice, PriceCalculation

_BATCH_FACTOR: Final = 0.5
"""The Batch API asks half the price (https://developers.openai.com/api/docs/guides/batch). The
list has its own batch prices for many models; this is for the others."""

_MEMO_S: Final = 900.0
"""Some prices depend on the date or the time of day, so that what was found is not kept for ever."""

_TOKENS: Final = 1e-6


class PriceSettings(Protocol):
    """The part of `aletheia.config.Settings` that decides about prices."""

    @property
    def price_input_usd(self) -> float | None:
        """US dollars for a million prompt tokens."""
        ...

    @property
    def price_output_usd(self) -> float | None:
        """US dollars for a million completion tokens."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars, and how they were found, such as `openai/gpt-4o, by endpoint`."""

    usd: float
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """Dollars a token (None = there is no such price); `steps` where they depend on the length."""

    basis: str
    prompt: float | None
    completion: float | None
    cached: float | None
    factor: float = 1.0
    steps: ModelPrice | None = None


class Pricer:
    """Prices calls. Safe to use from threads; a model is looked up once in a quarter of an hour.

    Where both prices are set in `settings` they hold for every model. Raises `ConfigError` where
    only one is.
    """

    def __init__(
        self,
        settings: PriceSettings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own = None if settings is None else _own_rates(settings)
        self._clock = clock
        self._found: dict[tuple[str, str | None, bool], tuple[float, _Rates | None]] = {}

    def price(
        self,
        model: str,
        base_url: str | None,
        usage: Usage,
        *,
        batch: bool = False,
        answered_by: str | None = None,
    ) -> Price | None:
        """Return what `usage` costs, None where price or tokens are not known.

        `base_url` None = not known. `answered_by` is the model that the reply names, tried where
        `model` has no price: an Azure deployment has a name of its own.
        """
        rates = self._rates(model, base_url, batch)
        if rates is None and answered_by is not None:
            rates = self._rates(answered_by, base_url, batch)
        usd = None if rates is None else _usd(rates, usage)
        return None if rates is None or usd is None else Price(usd=usd, basis=rates.basis)

    def knows(self, model: str, base_url: str | None = None) -> bool:
        """Whether prompts to this model have a price."""
        return self.price(model, base_url, Usage(prompt_tokens=1, completion_tokens=0)) is not None

    def _rates(self, model: str, base_url: str | None, batch: bool) -> _Rates | None:
        if self._own is not None:
            return _halved(self._own) if batch else self._own
        key = (model, base_url, batch)
        now = self._clock()
        found = self._found.get(key)
        if found is None or found[0] < now:
            # Two threads may look the same up: they find the same.
            found = (now + _MEMO_S, _listed(model, base_url, batch))
            self._found[key] = found
        return found[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OwnPrices:
    price_input_usd: float | None
    price_output_usd: float | None


def pricer_for(settings: PriceSettings) -> Pricer:
    """Return the pricer of these settings: one for all who have the same, and what it looked up.

    Raises `ConfigError` where only one price is set.
    """
    return _shared(
        _OwnPrices(
            price_input_usd=settings.price_input_usd, price_output_usd=settings.price_output_usd
        )
    )


@lru_cache(maxsize=16)
def _shared(prices: _OwnPrices) -> Pricer:
    return Pricer(prices)


def _own_rates(settings: PriceSettings) -> _Rates | None:
    given = (settings.price_input_usd, settings.price_output_usd)
    if given == (None, None):
        return None
    prompt, completion = given
    if prompt is None or completion is None:
        missing = "price_input_usd" if prompt is None else "price_output_usd"
        raise ConfigError(
            f"one of the two prices is set, and `{missing}` is not",
            hint="set both, in US dollars for a million tokens; 0 is a price",
        )
    return _Rates(
        basis="settings",
        prompt=prompt * _TOKENS,
        completion=completion * _TOKENS,
        cached=None,
    )


def _halved(rates: _Rates) -> _Rates:
    return _Rates(
        basis=f"{rates.basis}, half for a batch",
        prompt=rates.prompt,
        completion=rates.completion,
        cached=rates.cached,
        factor=_BATCH_FACTOR,
        steps=rates.steps,
    )


def _usd(rates: _Rates, usage: Usage) -> float | None:
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    if prompt is None or completion is None or prompt < 0 or completion < 0:
        return None
    # What has no price is not free: `whisper-1` is sold by the hour.
    if (prompt and rates.prompt is None) or (completion and rates.completion is None):
        return None
    cached = usage.cached_prompt_tokens or 0
    if not 0 <= cached <= prompt:
        cached = 0  # a count that cannot be is no reason for a discount
    if rates.steps is not None:
        return rates.factor * _stepped(rates.steps, prompt, completion, cached)
    reduced = rates.prompt if rates.cached is None else rates.cached
    fresh = (prompt - cached) * (rates.prompt or 0.0)
    return rates.factor * (fresh + cached * (reduced or 0.0) + completion * (rates.completion or 0))


def _stepped(steps: ModelPrice, prompt: int, completion: int, cached: int) -> float:
    from genai_prices import Usage as Counted

    counted = Counted(input_tokens=prompt, output_tokens=completion, cache_read_tokens=cached)
    return float(steps.calc_price(counted)["total_price"])


def _listed(model: str, base_url: str | None, batch: bool) -> _Rates | None:
    for basis, arguments in _references(model, base_url):
        plain = _look_up(arguments, batch=False)
        if plain is not None:
            return _listed_rates(plain, basis, arguments, batch)
    return None


def _references(model: str, base_url: str | None) -> Iterator[tuple[str, dict[str, str]]]:
    """Ways to name a model to the list, the surest first."""
    if base_url is not None and _is_listed_endpoint(base_url):
        # What this endpoint does not sell, it does not sell at somebody else's price either.
        yield "by endpoint", {"model_ref": model, "provider_api_url": base_url}
        return
    yield "by model name", {"model_ref": model}
    provider, _, name = model.partition("/")
    if name:
        yield "by model name", {"model_ref": name, "provider_id": provider}
    # Names of embedding models say nothing about who sells them.
    yield "by model name", {"model_ref": model, "provider_id": "openai"}


def _is_listed_endpoint(base_url: str) -> bool:
    from genai_prices.data_snapshot import get_snapshot

    try:
        get_snapshot().find_provider(None, None, base_url)
    except LookupError:
        return False
    return True


def _look_up(arguments: dict[str, str], *, batch: bool) -> PriceCalculation | None:
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    context = {"processing": "batch"} if batch else None
    nothing = Counted(input_tokens=0, output_tokens=0)
    given: dict[str, Any] = {**arguments, "price_context": context}
    try:
        found: PriceCalculation = calc_price(nothing, **given)
    except LookupError:
        return None
    return found


def _listed_rates(
    plain: PriceCalculation, basis: str, arguments: dict[str, str], batch: bool
) -> _Rates:
    named = f"{plain.provider.id}/{plain.model.id}, {basis}"
    if not batch:
        return _read(plain.model_price, named)
    reduced = _look_up(arguments, batch=True)
    if reduced is None or reduced.model_price == plain.model_price:
        return _halved(_read(plain.model_price, named))
    return _read(reduced.model_price, f"{named}, batch price")


def _read(price: ModelPrice, basis: str) -> _Rates:
    amounts = (price.input_mtok, price.output_mtok, price.cache_read_mtok)
    # A price in steps, or one for each request, is computed by the list itself.
    plain = price.requests_kcount is None and not any(hasattr(item, "tiers") for item in amounts)
    prompt, completion, cached = (_per_token(item) for item in amounts)
    return _Rates(
        basis=basis,
        prompt=prompt,
        completion=completion,
        cached=cached,
        steps=None if plain else price,
    )


def _per_token(amount: Any) -> float | None:  # noqa: ANN401 - a number, or one with steps
    if amount is None:
        return None
    return float(getattr(amount, "base", amount)) * _TOKENS
