"""The guard before a diagnosis: what may cost too much is not begun."""

from __future__ import annotations

import logging
import socket
from typing import Any

import openai
import pytest
from stub_server import StubServer

from aletheia.config import Settings, settings
from aletheia.errors import BudgetExceeded, DataError, UsageError
from aletheia.llm.budget import token_bound
from aletheia.llm.tracking import CostScope
from aletheia.schema.trace import ContextChunk
from aletheia.sdk.budget import (
    DECOMPOSE_CALLS,
    JUDGE_CALLS,
    OUTPUT_TOKENS,
    OVERHEAD_TOKENS,
    UNIT_TOKENS,
    enforce_budget,
    instrument,
)

QUERY, RESPONSE = "When did it open?", "It opened in 1911."
CHUNKS = ["The pier opened in 1911.", "It is 300 m long."]


def having(**values: Any) -> Settings:
    return Settings(**{"openai_api_key": "k", "openai_base_url": None, **values})


def test_the_estimate_is_what_the_default_plan_may_cost_at_most() -> None:
    texts = token_bound(QUERY) + token_bound(RESPONSE)
    units = sum(token_bound(chunk) + UNIT_TOKENS for chunk in CHUNKS)
    pieces = DECOMPOSE_CALLS * OUTPUT_TOKENS
    mini = DECOMPOSE_CALLS * ((OVERHEAD_TOKENS + texts) * 0.15 + OUTPUT_TOKENS * 0.6)
    full = JUDGE_CALLS * ((OVERHEAD_TOKENS + texts + units + pieces) * 2.5 + OUTPUT_TOKENS * 10)
    estimate = enforce_budget(QUERY, CHUNKS, RESPONSE, settings=having())
    assert estimate == pytest.approx((mini + full) / 1e6)


@pytest.mark.parametrize("repeat", [2, 5])
def test_every_repeat_asks_the_judges_again_and_cuts_once(repeat: int) -> None:
    free = {"decomposer_model": "gpt-4o", "judge_model": "gpt-4o"}
    once, twice, often = (
        enforce_budget(
            QUERY, CHUNKS, RESPONSE, repeat=n, settings=having(per_trace_budget_usd=9, **free)
        )
        for n in (1, 2, repeat)
    )
    assert once is not None
    assert twice is not None
    judging = twice - once
    assert often == pytest.approx(once + (repeat - 1) * judging)
    tight = having(per_trace_budget_usd=once + judging / 2, **free)
    with pytest.raises(BudgetExceeded):
        enforce_budget(QUERY, CHUNKS, RESPONSE, repeat=repeat, settings=tight)


def test_a_judge_is_asked_at_least_once() -> None:
    with pytest.raises(UsageError, match="`repeat` is 0"):
        enforce_budget(QUERY, CHUNKS, RESPONSE, repeat=0, settings=having())


@pytest.mark.parametrize(
    "context",
    [
        "The pier opened in 1911.",
        ["The pier opened in 1911."],
        [{"text": "The pier opened in 1911.", "rank": 3, "score": 0.5}],
        [ContextChunk(text="The pier opened in 1911.", rank=0)],
        ("The pier opened in 1911.",),
    ],
)
def test_every_form_of_context_costs_the_same(context: Any) -> None:
    plain = enforce_budget(QUERY, ["The pier opened in 1911."], RESPONSE, settings=having())
    assert enforce_budget(QUERY, context, RESPONSE, settings=having()) == plain


@pytest.mark.parametrize(
    ("context", "field"),
    [
        (iter(CHUNKS), "context"),
        ((chunk for chunk in CHUNKS), "context"),
        ([3], r"evidence\[0\]"),
        ({"text": "x"}, "evidence"),
    ],
)
def test_what_is_no_context_is_an_error(context: Any, field: str) -> None:
    """An iterator would be empty for the diagnosis that comes after."""
    with pytest.raises(DataError, match=field):
        enforce_budget(QUERY, context, RESPONSE, settings=having())


def test_a_trace_without_query_or_context_has_an_estimate() -> None:
    estimate = enforce_budget(None, None, RESPONSE, settings=having())
    assert estimate is not None
    assert estimate > 0


class TestAboveTheBudget:
    """It raises before any call, and says both sums."""

    def test_a_long_context(self) -> None:
        with StubServer() as server:
            given = having(openai_base_url=server.base_url, judge_model="gpt-4o")
            with pytest.raises(BudgetExceeded) as caught:
                enforce_budget(QUERY, ["x" * 100_000], RESPONSE, settings=given)
            assert server.requests == []
        error = caught.value
        assert error.budget_usd == 0.5
        assert error.estimated_usd is not None
        assert error.estimated_usd > 0.75
        assert error.scope == "trace"

    def test_the_limit_itself_is_allowed(self) -> None:
        estimate = enforce_budget(QUERY, CHUNKS, RESPONSE, settings=having())
        assert estimate is not None
        exact = having(per_trace_budget_usd=round(estimate, 12))
        assert enforce_budget(QUERY, CHUNKS, RESPONSE, settings=exact) == estimate
        below = having(per_trace_budget_usd=estimate - 1e-6)
        with pytest.raises(BudgetExceeded):
            enforce_budget(QUERY, CHUNKS, RESPONSE, settings=below)

    def test_nothing_is_affordable_for_nothing(self) -> None:
        with pytest.raises(BudgetExceeded):
            enforce_budget("", [], "", settings=having(per_trace_budget_usd=0))

    def test_the_settings_in_force_count(self) -> None:
        changed = settings.override(openai_api_key="k", per_trace_budget_usd=0.001)
        refused = pytest.raises(BudgetExceeded, match=r"budget of this trace is \$0\.001")
        with changed, refused:
            enforce_budget(QUERY, CHUNKS, RESPONSE)


class TestUnknownPrice:
    """It never counts as free."""

    def test_warn_says_so_and_returns_none(self, caplog: pytest.LogCaptureFixture) -> None:
        given = having(judge_model="enforced-unknown")
        with caplog.at_level(logging.WARNING):
            assert enforce_budget(QUERY, CHUNKS, RESPONSE, settings=given) is None
        assert "`enforced-unknown`" in caplog.text

    def test_block_raises(self) -> None:
        given = having(judge_model="unheard-of", unknown_price="block")
        with pytest.raises(BudgetExceeded, match="`unheard-of` is not known") as caught:
            enforce_budget(QUERY, CHUNKS, RESPONSE, settings=given)
        assert caught.value.estimated_usd is None

    def test_what_is_known_counts_beside_what_is_not(self) -> None:
        given = having(decomposer_model="unheard-of-2", per_trace_budget_usd=0.001)
        with pytest.raises(BudgetExceeded):
            enforce_budget(QUERY, CHUNKS, RESPONSE, settings=given)

    def test_prices_of_ones_own_make_it_known(self) -> None:
        given = having(
            judge_model="unheard-of",
            decomposer_model="unheard-of",
            unknown_price="block",
            price_input_usd=0,
            price_output_usd=0,
        )
        assert enforce_budget(QUERY, CHUNKS, RESPONSE, settings=given) == 0.0


def test_without_an_endpoint_nothing_is_called_and_nothing_costs() -> None:
    given = having(openai_api_key=None, per_trace_budget_usd=0, unknown_price="block")
    assert enforce_budget(QUERY, ["x" * 100_000], RESPONSE, settings=given) == 0.0


def test_no_network_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    given = having(openai_base_url="https://api.openai.com/v1")
    assert enforce_budget(QUERY, CHUNKS, RESPONSE, settings=given) is not None


def test_instrument_takes_the_prices_of_the_settings() -> None:
    given = having(price_input_usd=1e6, price_output_usd=1e6)
    with StubServer(["x"]) as server, CostScope() as scope:
        client = openai.OpenAI(api_key="k", base_url=server.base_url)
        with instrument(client, settings=given):
            client.chat.completions.create(
                model="stub", messages=[{"role": "user", "content": "hi"}]
            )
    assert scope.usd == 18.0
