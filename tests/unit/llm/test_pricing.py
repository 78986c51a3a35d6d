"""Prices: from the bundled list, by endpoint before name, and never nothing for what is unknown."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass

import pytest

from aletheia.errors import ConfigError
from aletheia.llm.pricing import Pricer, pricer_for
from aletheia.schema.model import Usage

OPENAI = "https://api.openai.com/v1"
AZURE = "https://mine.openai.azure.com/openai/v1"
LOOPBACK = "http://127.0.0.1:8000/v1"
MILLION = Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000)


@dataclass(frozen=True)
class Own:
    """Prices of one's own."""

    price_input_usd: float | None = None
    price_output_usd: float | None = None


def list_price(model: str, provider: str, *, batch: bool = False) -> float:
    """What the list itself says a million prompt and completion tokens cost."""
    import genai_prices

    found = genai_prices.calc_price(
        genai_prices.Usage(input_tokens=1_000_000, output_tokens=1_000_000),
        model,
        provider_id=provider,
        price_context={"processing": "batch"} if batch else None,
    )
    return float(found.total_price)


@pytest.mark.parametrize(
    ("model", "url", "provider", "listed_as", "basis"),
    [
        ("gpt-4o", OPENAI, "openai", "gpt-4o", "openai/gpt-4o, by endpoint"),
        ("gpt-4o-2024-08-06", OPENAI, "openai", "gpt-4o", "openai/gpt-4o, by endpoint"),
        ("gpt-4o", AZURE, "azure", "gpt-4o", "azure/gpt-4o, by endpoint"),
        (
            "openai/gpt-4o",
            "https://openrouter.ai/api/v1",
            "openrouter",
            "openai/gpt-4o",
            "openrouter/openai/gpt-4o, by endpoint",
        ),
        ("gpt-4o-mini", LOOPBACK, "openai", "gpt-4o-mini", "openai/gpt-4o-mini, by model name"),
        ("gpt-4o-mini", None, "openai", "gpt-4o-mini", "openai/gpt-4o-mini, by model name"),
        ("openai/gpt-4o", LOOPBACK, "openai", "gpt-4o", "openai/gpt-4o, by model name"),
        ("azure/gpt-4o", LOOPBACK, "azure", "gpt-4o", "azure/gpt-4o, by model name"),
        (
            "anthropic/claude-sonnet-4-5",
            LOOPBACK,
            "anthropic",
            "claude-sonnet-4-5",
            "anthropic/claude-sonnet-4-5, by model name",
        ),
        (
            "text-embedding-3-small",
            LOOPBACK,
            "openai",
            "text-embedding-3-small",
            "openai/text-embedding-3-small, by model name",
        ),
    ],
)
def test_the_endpoint_decides_and_else_the_name(
    model: str, url: str | None, provider: str, listed_as: str, basis: str
) -> None:
    embeds = model.startswith("text-embedding")
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=0) if embeds else MILLION
    price = Pricer().price(model, url, usage)

    assert price is not None
    assert price.basis == basis
    assert price.usd == pytest.approx(list_price(listed_as, provider))


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("stub", LOOPBACK),
        ("my-deployment", AZURE),
        ("gpt-4o-tuned-by-me", OPENAI),
        ("gpt-99", None),
        ("llama3.1:8b", LOOPBACK),
        ("", None),
        ("/", LOOPBACK),
        # Known to the list, and sold by the hour or the character, not by the token.
        ("whisper-1", OPENAI),
        ("tts-1", OPENAI),
        # An endpoint that the list knows and that does not sell this model.
        ("claude-sonnet-4-5", OPENAI),
    ],
)
def test_what_the_list_does_not_know_has_no_price(model: str, url: str | None) -> None:
    pricer = Pricer()
    assert pricer.price(model, url, MILLION) is None
    assert not pricer.knows(model, url)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(prompt_tokens=5),
        Usage(completion_tokens=5),
        Usage(prompt_tokens=-1, completion_tokens=5),
    ],
)
def test_tokens_that_were_not_reported_have_no_price(usage: Usage) -> None:
    assert Pricer().price("gpt-4o", OPENAI, usage) is None


def test_the_model_that_the_reply_names_prices_a_deployment() -> None:
    price = Pricer().price("my-deployment", AZURE, MILLION, answered_by="gpt-4o-2024-08-06")
    assert price is not None
    assert price.basis == "azure/gpt-4o, by endpoint"


@pytest.mark.parametrize(
    ("cached", "fresh", "reduced"),
    [(0, 100, 0), (40, 60, 40), (100, 0, 100), (None, 100, 0), (101, 100, 0), (-1, 100, 0)],
)
def test_cached_prompt_tokens_cost_their_own_price(
    cached: int | None, fresh: int, reduced: int
) -> None:
    usage = Usage(prompt_tokens=100, completion_tokens=0, cached_prompt_tokens=cached)
    price = Pricer().price("gpt-4o", OPENAI, usage)
    assert price is not None
    assert price.usd == pytest.approx((fresh * 2.5 + reduced * 1.25) / 1e6)


def test_a_price_in_steps_is_that_of_the_list() -> None:
    """Gemini asks more for each token of a long prompt."""
    pricer = Pricer()
    short = pricer.price("gemini-2.5-pro", None, Usage(prompt_tokens=1000, completion_tokens=0))
    long = pricer.price("gemini-2.5-pro", None, Usage(prompt_tokens=1_000_000, completion_tokens=0))
    assert short is not None
    assert long is not None
    assert long.usd > 1000 * short.usd * 1.5


class TestBatch:
    """A batch has a price of its own, or half the price."""

    def test_from_the_list(self) -> None:
        price = Pricer().price("gpt-4o", OPENAI, MILLION, batch=True)
        assert price is not None
        assert price.usd == pytest.approx(list_price("gpt-4o", "openai", batch=True))
        assert price.basis == "openai/gpt-4o, by endpoint, batch price"

    @pytest.mark.parametrize(("model", "url"), [("gpt-4o", AZURE), ("mistral-7b", None)])
    def test_half_where_the_list_has_none(self, model: str, url: str | None) -> None:
        plain = Pricer().price(model, url, MILLION)
        batch = Pricer().price(model, url, MILLION, batch=True)
        assert plain is not None
        assert batch is not None
        assert batch.usd == pytest.approx(plain.usd / 2)
        assert batch.basis == f"{plain.basis}, half for a batch"

    def test_half_of_prices_of_ones_own(self) -> None:
        price = Pricer(Own(2.0, 4.0)).price("any", None, MILLION, batch=True)
        assert price is not None
        assert (price.usd, price.basis) == (pytest.approx(3.0), "settings, half for a batch")


class TestSettings:
    """Prices of one's own win over the list."""

    @pytest.mark.parametrize("model", ["gpt-4o", "stub"])
    def test_they_hold_for_every_model(self, model: str) -> None:
        price = Pricer(Own(1.0, 2.0)).price(model, OPENAI, MILLION)
        assert price is not None
        assert (price.usd, price.basis) == (pytest.approx(3.0), "settings")

    def test_zero_is_a_price(self) -> None:
        price = Pricer(Own(0.0, 0.0)).price("stub", LOOPBACK, MILLION)
        assert price is not None
        assert price.usd == 0.0

    @pytest.mark.parametrize(
        ("own", "missing"),
        [(Own(price_input_usd=1.0), "output"), (Own(price_output_usd=1.0), "input")],
    )
    def test_one_alone_is_an_error(self, own: Own, missing: str) -> None:
        with pytest.raises(ConfigError, match=f"`price_{missing}_usd` is not"):
            Pricer(own)


def test_who_has_the_same_prices_shares_a_pricer() -> None:
    assert pricer_for(Own()) is pricer_for(Own())
    assert pricer_for(Own(1.0, 2.0)) is not pricer_for(Own())
    with pytest.raises(ConfigError):
        pricer_for(Own(price_input_usd=1.0))


def test_a_lookup_is_made_again_after_a_while_and_not_before() -> None:
    """Prices may depend on the time, so that the memory of one is short."""
    import genai_prices
    from genai_prices import data_snapshot

    now = [0.0]
    pricer = Pricer(clock=lambda: now[0])
    first = pricer.price("gpt-4o", OPENAI, MILLION)
    data_snapshot.set_custom_snapshot(
        data_snapshot.DataSnapshot(providers=[], from_auto_update=False)
    )
    try:
        with pytest.raises(LookupError):
            genai_prices.calc_price(genai_prices.Usage(), "gpt-4o")
        now[0] = 899.0
        assert pricer.price("gpt-4o", OPENAI, MILLION) == first
        now[0] = 1801.0
        assert pricer.price("gpt-4o", OPENAI, MILLION) is None
    finally:
        data_snapshot.set_custom_snapshot(None)


def test_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert Pricer().price("gpt-4o", OPENAI, MILLION) is not None
    assert Pricer().price("no-such-model", "https://no.such.host/v1", MILLION) is None


def test_the_list_loads_with_the_first_price_and_opens_no_socket_either() -> None:
    """In a fresh interpreter, where every socket is an error."""
    code = """
import sys
def watch(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(f"{event} {arguments}")
from aletheia.llm.pricing import Pricer
from aletheia.schema.model import Usage
pricer = Pricer()
assert "genai_prices" not in sys.modules
sys.addaudithook(watch)
assert pricer.price("gpt-4o", None, Usage(prompt_tokens=1, completion_tokens=1)) is not None
assert "genai_prices" in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
