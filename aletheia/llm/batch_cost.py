"""What batches cost: at most before they are made, and as reported once they are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aletheia.llm.batch import Wanted
from aletheia.llm.batch_results import BatchResults, answered_by, usage_of
from aletheia.llm.budget import highest_usage, reserve
from aletheia.llm.ledger import CallRecord
from aletheia.llm.openai_wire import Shape
from aletheia.llm.pricing import Pricer
from aletheia.schema.model import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCost:
    """Prices the items of batches at one endpoint, at the price of a batch."""

    pricer: Pricer
    base_url: str

    def require_room(self, wanted: Sequence[Wanted], spent_usd: float) -> None:
        """Hold what was spent and what these prompts may cost at most against the open budgets.

        Raises `BudgetExceeded`. Nothing stays reserved: what a batch costs is known much later.
        """
        prices = [(item.model, self._highest(item)) for item in wanted]
        for model in sorted({model for model, price in prices if price is None}):
            _try(None, model)
        _try(spent_usd + sum(price for _, price in prices if price is not None), None)

    def records(
        self, model: str, shape: Shape, purposes: Mapping[str, str], results: BatchResults
    ) -> Iterator[CallRecord]:
        """Give one record for each item that was worked on; `purposes` are by item."""
        for item, purpose in purposes.items():
            failure = results.failures.get(item)
            if failure is None and item not in results.bodies:
                continue
            body = results.bodies.get(item)
            usage = usage_of(body, failure)
            yield CallRecord(
                model=model,
                usage=usage,
                seconds=0.0,
                structured=shape.structured if failure is None else None,
                error=None if failure is None else type(failure.error(self.base_url)).__name__,
                batched=True,
                purpose=purpose,
                usd=self._usd(model, usage, answered_by(body)),
                base_url=self.base_url,
            )

    def _highest(self, wanted: Wanted) -> float | None:
        """Return what one request may cost at most; further ones wait for a further round."""
        several = highest_usage(replace(wanted.prompt, output_ceiling=None))
        one = Usage(
            prompt_tokens=(several.prompt_tokens or 0) // several.calls,
            completion_tokens=(several.completion_tokens or 0) // several.calls,
        )
        return self._usd(wanted.model, one)

    def _usd(self, model: str, usage: Usage, answered_by: str | None = None) -> float | None:
        price = self.pricer.price(model, self.base_url, usage, batch=True, answered_by=answered_by)
        return None if price is None else price.usd


def _try(usd: float | None, model: str | None) -> None:
    for reservation in reserve(usd, model=model):
        reservation.release()
