"""What the model calls of a run cost, in words: what is not known is said, never shown as nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aletheia.reports import numbers
from aletheia.schema.cost import Cost
from aletheia.schema.report import RunCost

TOTAL = "all calls"
"""Name of the last line of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """One line of the table: calls of one purpose, or all of them."""

    name: str
    cost: Cost

    @property
    def money(self) -> str:
        """The money, marked where it is a floor."""
        return money_of(self.cost)

    @property
    def prompt_tokens(self) -> str:
        """Tokens sent, marked where they are a floor."""
        return _tokens(self.cost.prompt_tokens, self.cost)

    @property
    def completion_tokens(self) -> str:
        """Tokens received, marked where they are a floor."""
        return _tokens(self.cost.completion_tokens, self.cost)


def cost_rows(cost: RunCost) -> tuple[CostRow, ...]:
    """One line for each purpose, and the sum; nothing where no model was called."""
    if not cost.total.calls:
        return ()
    parts = (CostRow(name=name, cost=part) for name, part in cost.by_purpose.items())
    return (*parts, CostRow(name=TOTAL, cost=cost.total))


def money_of(cost: Cost) -> str:
    """Write the money of some calls: `not known` without any price, `≥` where some lack one."""
    if cost.usd is None:
        return "not known"
    return f"≥ {numbers.money(cost.usd)}" if cost.unpriced else numbers.money(cost.usd)


def _tokens(count: int, cost: Cost) -> str:
    if not cost.unreported:
        return numbers.count(count)
    return f"≥ {numbers.count(count)}" if count else "not known"


def remarks(cost: Cost) -> Iterator[str]:
    """Say what the figures leave out, in sentences."""
    if cost.cached:
        yield f"{_calls(cost.cached)} answered from the reply cache, at no cost."
    if cost.failed:
        yield f"{_calls(cost.failed)} ended without a reply."
    if cost.batched:
        yield f"{_calls(cost.batched)} went through a batch, at its price."
    if cost.unreported:
        floor = ", so the tokens are a floor" if cost.tokens else ""
        yield f"{_calls(cost.unreported)} reported no tokens{floor}."
    if cost.unpriced:
        have = "has" if cost.unpriced == 1 else "have"
        floor = "" if cost.usd is None else ", so the money is a floor"
        yield f"{_calls(cost.unpriced)} {have} no known price{floor}."


def _calls(number: int) -> str:
    return numbers.plural(number, "call")


def in_words(cost: Cost) -> str:
    """Write the calls of one question on one line."""
    if not cost.calls:
        return "no model was called"
    row = CostRow(name="", cost=cost)
    tokens = f"{row.prompt_tokens} tokens in, {row.completion_tokens} out"
    if cost.unreported and not cost.tokens:
        tokens = "tokens not known"
    cached = f" ({numbers.count(cost.cached)} from the cache)" if cost.cached else ""
    money = row.money if cost.usd is not None else "price not known"
    return f"{_calls(cost.calls)}{cached}, {tokens}, {money}"
