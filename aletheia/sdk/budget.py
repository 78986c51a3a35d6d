"""The guard before a diagnosis: nothing is called where it could cost more than is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from aletheia.config import Settings
from aletheia.config import settings as in_force
from aletheia.errors import DataError, UsageError
from aletheia.llm import instrument as clients
from aletheia.llm.budget import Budget, token_bound
from aletheia.llm.instrument import uninstrument
from aletheia.llm.openai_client import OFFICIAL_URL
from aletheia.llm.pricing import pricer_for
from aletheia.schema.evidence import EvidenceText
from aletheia.schema.model import Usage
from aletheia.schema.trace import ContextChunk
from aletheia.sdk.evidence import read_evidence

__all__ = ["ContextLike", "enforce_budget", "instrument", "uninstrument"]

ContextLike = str | Iterable[str | Mapping[str, object] | ContextChunk]
"""One chunk, or an ordered collection of texts, mappings with `text`, and `ContextChunk`."""

Client = TypeVar("Client")

DECOMPOSE_CALLS: Final = 2
"""Calls of the decomposer: one for the query, one for the response."""

JUDGE_CALLS: Final = 3
"""Calls of the judge: sufficiency, faithfulness, completeness."""

OVERHEAD_TOKENS: Final = 600
"""Tokens of instructions and schema in one prompt."""

UNIT_TOKENS: Final = 16
"""Tokens of the id and the marks around one chunk."""

OUTPUT_TOKENS: Final = 2048
"""Tokens one call may write."""


def enforce_budget(
    query: str | None,
    context: ContextLike | None,
    response: str,
    *,
    repeat: int = 1,
    settings: Settings | None = None,
) -> float | None:
    """Return the most, in US dollars, that the diagnosis of this trace may cost.

    Each judge is asked `repeat` times; the texts are cut once. None = a price is not known.
    Without an endpoint nothing is called: 0. Needs no network.
    Raises `BudgetExceeded` where that is more than `per_trace_budget_usd`, or where a price is
    not known and `unknown_price` is `block`; `DataError` for what is no trace, an iterator as
    `context` included; `UsageError` for a `repeat` below 1.
    """
    if repeat < 1:
        raise UsageError(f"`repeat` is {repeat}", hint="a judge is asked at least once")
    chosen = settings or in_force.current()
    texts, units = _sizes(query, context, response)
    if not chosen.has_endpoint:
        return 0.0
    budget = Budget(chosen.per_trace_budget_usd, scope="trace", unknown_price=chosen.unknown_price)
    prices = _prices(chosen, _decomposing(texts), _judging(texts, units, repeat))
    for model, usd in prices.items():
        if usd is None:
            budget.reserve(None, model=model)
    known = sum(usd for usd in prices.values() if usd is not None)
    budget.reserve(known)
    return None if None in prices.values() else known


def instrument(client: Client, *, settings: Settings | None = None) -> Client:
    """Count the calls of an `openai` client of your own, and return it.

    As `aletheia.llm.instrument.instrument`, with the prices of the settings.
    """
    return clients.instrument(client, pricer=pricer_for(settings or in_force.current()))


def _prices(settings: Settings, decomposing: Usage, judging: Usage) -> dict[str, float | None]:
    """Price each model's calls; a model that does both is asked for once."""
    pricer = pricer_for(settings)
    url = settings.openai_base_url or OFFICIAL_URL
    prices: dict[str, float | None] = {}
    for model, usage in (
        (settings.decomposing_model, decomposing),
        (settings.judging_model, judging),
    ):
        price = pricer.price(model, url, usage)
        before = prices.get(model, 0.0)
        prices[model] = None if price is None or before is None else before + price.usd
    return prices


def _decomposing(texts: int) -> Usage:
    """Bound the decomposition: each call may see the whole query and response."""
    prompt = DECOMPOSE_CALLS * (OVERHEAD_TOKENS + texts)
    return Usage(prompt_tokens=prompt, completion_tokens=DECOMPOSE_CALLS * OUTPUT_TOKENS)


def _judging(texts: int, units: int, repeat: int) -> Usage:
    """Bound the judges: each may see everything, and the pieces that were written before."""
    pieces = DECOMPOSE_CALLS * OUTPUT_TOKENS
    calls = JUDGE_CALLS * repeat
    prompt = calls * (OVERHEAD_TOKENS + texts + units + pieces)
    return Usage(prompt_tokens=prompt, completion_tokens=calls * OUTPUT_TOKENS)


def _sizes(query: str | None, context: ContextLike | None, response: str) -> tuple[int, int]:
    """Bound the tokens of query and response, and those of the chunks."""
    for name, text in (("query", query or ""), ("response", response)):
        if not isinstance(text, str):
            raise DataError(f"it is a `{type(text).__name__}`, not text", field=name)
    if isinstance(context, Iterator):
        raise DataError("it can be read only once", field="context", hint="give a list")
    chunks = read_evidence(context if isinstance(context, str) else _plain(context))
    units = sum(
        UNIT_TOKENS + token_bound(unit.text) + token_bound(unit.source or "") for unit in chunks
    )
    return token_bound(query or "") + token_bound(response), units


def _plain(
    context: Iterable[str | Mapping[str, object] | ContextChunk] | None,
) -> Iterable[str | Mapping[str, object] | EvidenceText]:
    if context is None:
        return ()
    if not isinstance(context, list | tuple):
        return context  # type: ignore[return-value] # read, or refused, as evidence is
    return [
        EvidenceText(text=item.text, source=item.source) if isinstance(item, ContextChunk) else item
        for item in context
    ]
