"""Sums of costs: what is not known is never shown as nothing, and a price of nothing is known."""

from __future__ import annotations

import pytest

from aletheia.llm.ledger import CallLedger, CallRecord
from aletheia.schema.cost import Cost, total
from aletheia.schema.model import Usage

FREE = Cost(calls=1, requests=1, usd=0.0)
PAID = Cost(calls=1, requests=1, usd=2.0)
CACHED = Cost(calls=1, cached=1, usd=0.0)
UNPRICED = Cost(calls=1, requests=1, unpriced=1, usd=None)


@pytest.mark.parametrize(
    ("costs", "usd"),
    [
        ([], 0.0),
        ([CACHED], 0.0),
        ([FREE], 0.0),
        ([UNPRICED], None),
        ([UNPRICED, UNPRICED], None),
        ([PAID, UNPRICED], 2.0),
        # A price of exactly 0 is a price: the sum is a floor, not unknown.
        ([FREE, UNPRICED], 0.0),
        # A reply from the cache says nothing about prices.
        ([CACHED, UNPRICED], None),
        ([CACHED, FREE, UNPRICED], 0.0),
    ],
)
def test_money_is_unknown_only_where_nothing_was_priced(
    costs: list[Cost], usd: float | None
) -> None:
    """In any order, and by the ledger in the same way."""
    assert total(costs).usd == usd
    assert total(reversed(costs)).usd == usd
    assert (Cost() + total(costs)).usd == usd

    ledger = CallLedger()
    for cost in costs:
        ledger.add(record(cost))
    assert ledger.totals().usd == usd


def record(cost: Cost) -> CallRecord:
    return CallRecord(
        model="m", usage=Usage(calls=1), seconds=0.0, cached=cost.cached > 0, usd=cost.usd
    )
