"""What model calls cost: counts, tokens and money, with what is not known kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict, Field


class Cost(BaseModel):
    """Sums over model calls.

    `calls` are questions put to a model, replies from the reply cache (`cached`) and calls that
    ended without a reply (`failed`) included; `requests` is what was sent, tries that failed
    included. Tokens are the sum of what endpoints reported; `unreported` calls said nothing, so
    with it above 0 the tokens are a floor. `usd` is the sum over calls whose price is known;
    `unpriced` calls have none and are not in it, so with it above 0 the money is a floor. `usd`
    is None where nothing was priced and something was not: an unknown price is never nothing, and
    a price of 0 is known. A reply from the cache is free, and says nothing about prices. `batched` calls went through a batch, at its price.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    calls: int = Field(default=0, ge=0)
    cached: int = Field(default=0, ge=0)
    batched: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    requests: int = Field(default=0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    unreported: int = Field(default=0, ge=0)
    unpriced: int = Field(default=0, ge=0)
    usd: float | None = Field(default=0.0, ge=0.0)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Cost) -> Cost:
        counts = {
            name: getattr(self, name) + getattr(other, name)
            for name in type(self).model_fields
            if name != "usd"
        }
        known = [item.usd for item in (self, other) if item.usd is not None]
        return Cost(**counts, usd=known_sum(sum(known), **_kinds(counts)))


def known_sum(usd: float, *, calls: int, cached: int, unpriced: int) -> float | None:
    """Return the sum of the known prices of some calls, None where there is none to sum.

    Of all calls, those are priced that are neither `cached` nor `unpriced`.
    """
    nothing_priced = calls <= cached + unpriced and not usd
    return None if unpriced and nothing_priced else usd


def _kinds(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in ("calls", "cached", "unpriced")}


def total(costs: Iterable[Cost]) -> Cost:
    """Sum any number of costs."""
    result = Cost()
    for cost in costs:
        result = result + cost
    return result
