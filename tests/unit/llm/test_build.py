"""How a model is put together: what wraps what, what a run shares, what is held back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from stub_server import Step, StubServer

from aletheia.config import Settings
from aletheia.errors import ConfigError, ContextTooLong, StoreError
from aletheia.llm.build import (
    ModelServices,
    WindowedModel,
    build_adapter,
    build_embedder,
    build_model,
    make_services,
    open_services,
)
from aletheia.llm.record import CallLedger
from aletheia.llm.scripted import ScriptedModel
from aletheia.llm.tracking import CostScope
from aletheia.schema.model import Prompt

PROMPT = Prompt(system="Be brief.", user="When?")
NOWHERE = "http://127.0.0.1:9/v1"


def settings(tmp_path: Path, **given: Any) -> Settings:
    made = {
        "openai_api_key": None,
        "openai_base_url": NOWHERE,
        "model": "stub",
        "db_path": tmp_path / "replies.db",
        "price_input_usd": 1.0,
        "price_output_usd": 2.0,
    }
    return Settings(**{**made, **given})


def layers(model: object) -> list[str]:
    names = [type(model).__name__]
    while (model := getattr(model, "inner", None)) is not None:
        names.append(type(model).__name__)
    return names


INSIDE = ["BudgetedModel", "RetryingModel", "RecordingModel"]


@pytest.mark.parametrize(
    ("given", "cached", "expected"),
    [
        ({}, True, ["CachingModel", *INSIDE, "LimitedModel", "OpenAIChatModel"]),
        ({"cache_enabled": False}, True, [*INSIDE, "LimitedModel", "OpenAIChatModel"]),
        (
            {"context_window": 512, "cache_enabled": False},
            True,
            [*INSIDE, "WindowedModel", "LimitedModel", "OpenAIChatModel"],
        ),
        ({}, False, [*INSIDE, "LimitedModel", "OpenAIChatModel"]),
    ],
)
def test_what_wraps_what(
    tmp_path: Path, given: dict[str, Any], cached: bool, expected: list[str]
) -> None:
    """A reply from the cache costs nothing, a budget holds all tries, each try is counted."""
    chosen = settings(tmp_path, **given)
    if not cached:
        assert layers(build_model(chosen)) == expected
        assert not chosen.db_path.exists()
        return
    with open_services(chosen) as services:
        assert layers(build_model(chosen, services=services)) == expected


def test_models_of_one_run_share_turns_prices_ledger_and_cache(tmp_path: Path) -> None:
    chosen, ledger = settings(tmp_path), CallLedger()
    with StubServer([Step(text="1911", times=None)]) as server, CostScope() as scope:
        here = settings(tmp_path, openai_base_url=server.base_url)
        with open_services(here, concurrency=3, ledger=ledger) as services:
            first = build_model(here, model="a", services=services)
            second = build_model(here, model="b", services=services)

            async def ask() -> None:
                for model in (first, first, second):
                    await model.complete(PROMPT)

            anyio.run(ask)
            asked = [item.body["model"] for item in server.chats]
            limits = {services.limiter.stats.current}
    assert asked == ["a", "b"]
    assert limits == {12.0}
    assert (ledger.totals().calls, ledger.totals().cached) == (3, 1)
    assert scope.cost == ledger.totals()
    assert scope.usd == pytest.approx(2 * (11 * 1e-6 + 7 * 2e-6))
    assert chosen.db_path.exists()


def test_a_cache_that_cannot_be_used_is_said_before_the_run(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    path.write_bytes(b"no database at all, but long enough to look like one" * 40)

    with pytest.raises(StoreError):
        make_services(settings(tmp_path))
    with pytest.raises(ConfigError, match="price_output_usd"):
        make_services(settings(tmp_path, price_output_usd=None, cache_enabled=False))


def test_an_azure_endpoint_is_asked_as_azure_wants_it(tmp_path: Path) -> None:
    chosen = settings(tmp_path, openai_api_version="2024-10-21", openai_api_key="k")

    identity = build_adapter(chosen).identity

    assert (identity.provider, dict(identity.parameters)) == (
        "azure",
        {"api_version": "2024-10-21"},
    )


@pytest.mark.parametrize(("words", "sent"), [(5, True), (300, False)])
def test_a_prompt_that_no_tokenizer_could_fit_is_not_sent(words: int, sent: bool) -> None:
    """Case 28: the window that is set is the one that holds, and the message names both numbers."""
    inner = ScriptedModel(["fine"])
    model = WindowedModel(inner, 256)
    prompt = Prompt(system="", user="word " * words)

    if sent:
        assert anyio.run(model.complete, prompt).text == "fine"
        return
    with pytest.raises(ContextTooLong, match=r"at least 300 tokens, .* is set to 256") as caught:
        anyio.run(model.complete, prompt)
    assert inner.history == []
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 0


def test_embeddings_are_counted_and_priced_with_the_run(tmp_path: Path) -> None:
    ledger = CallLedger()
    with StubServer() as server:
        here = settings(tmp_path, openai_base_url=server.base_url, cache_enabled=False)
        services = make_services(here, ledger=ledger)
        anyio.run(build_embedder(here, services=services).aembed, ["a", "b"])

    assert isinstance(services, ModelServices)
    cost = ledger.by_purpose()["embed"]
    assert (cost.calls, cost.prompt_tokens, cost.unpriced) == (1, 2, 0)
