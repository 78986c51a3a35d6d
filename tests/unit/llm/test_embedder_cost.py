"""Embeddings are calls like others: counted, priced, and seen by an open scope."""

from __future__ import annotations

import anyio
import pytest
from stub_server import StubServer

from aletheia.errors import ModelError
from aletheia.llm.openai_embedder import OpenAIEmbedder
from aletheia.llm.pricing import Pricer
from aletheia.llm.record import CallLedger
from aletheia.llm.retry import RetryPolicy
from aletheia.llm.tracking import CostScope

PRICED = "text-embedding-3-small"


def test_each_batch_is_one_call_of_the_purpose_embed() -> None:
    ledger = CallLedger()
    with StubServer() as server, CostScope() as scope:
        embedder = OpenAIEmbedder(
            PRICED, base_url=server.base_url, batch_size=2, pricer=Pricer(), ledger=ledger
        )
        anyio.run(embedder.aembed, ["one", "two", "three"])

    assert ledger.by_purpose()["embed"] == scope.cost
    assert (scope.cost.calls, scope.cost.prompt_tokens, scope.cost.unpriced) == (2, 3, 0)
    assert scope.cost.usd == pytest.approx(3 * 0.02 / 1e6)


def test_a_synchronous_call_counts_in_the_scopes_of_its_caller() -> None:
    """`embed` works in a thread of its own, inside a running loop too."""

    async def inside(embedder: OpenAIEmbedder) -> None:
        embedder.embed(["two"])

    with StubServer() as server, CostScope() as scope:
        embedder = OpenAIEmbedder(PRICED, base_url=server.base_url, pricer=Pricer())
        embedder.embed(["one"])
        anyio.run(inside, embedder)

    assert (scope.calls, scope.unpriced) == (2, 0)
    assert scope.cost.usd == pytest.approx(2 * 0.02 / 1e6)


def test_without_a_price_the_money_is_not_known() -> None:
    with StubServer() as server, CostScope() as scope:
        anyio.run(OpenAIEmbedder("own", base_url=server.base_url, pricer=Pricer()).aembed, ["one"])

    assert (scope.usd, scope.cost.unpriced) == (None, 1)


def test_vectors_that_do_not_fit_are_a_failed_call() -> None:
    with StubServer(embeddings=[{"data": []}]) as server, CostScope() as scope:
        embedder = OpenAIEmbedder(
            PRICED, base_url=server.base_url, policy=RetryPolicy(max_retries=0), pricer=Pricer()
        )
        with pytest.raises(ModelError):
            anyio.run(embedder.aembed, ["one"])

    assert (scope.cost.calls, scope.cost.failed) == (1, 1)
