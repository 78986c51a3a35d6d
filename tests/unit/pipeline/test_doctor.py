"""The doctor: one finding per part, and nothing it meets is an exception."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from stub_server import Step, StubServer

from aletheia.config import Settings
from aletheia.llm.cache import ReplyCache
from aletheia.pipeline.doctor import Finding, examine, healthy


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(Settings.variable(name), raising=False)


def examined(settings: Settings) -> dict[str, Finding]:
    return {finding.name: finding for finding in anyio.run(examine, settings)}


def test_without_an_endpoint_all_is_well_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALETHEIA_MODLE", "x")
    monkeypatch.setenv("ALETHEIA_DEBUG", "1")

    found = examined(Settings())

    assert healthy(list(found.values()))
    assert found["endpoint"].state == "warn"
    assert found["embedded model"].detail.startswith("all-MiniLM-L6-v2-int8, 384 dimensions")
    assert "aldermoor" in found["knowledge graphs"].detail
    assert found["variable ALETHEIA_MODLE"].detail.endswith("did you mean `ALETHEIA_MODEL`?")
    assert "variable ALETHEIA_DEBUG" not in found
    assert found["will use: answers"].detail == "extractive, without a model"


def test_an_endpoint_that_answers_is_described() -> None:
    with StubServer(models=["stub"]) as server:
        found = examined(Settings(openai_base_url=server.base_url, model="stub"))

    assert healthy(list(found.values()))
    assert {found[f"probe {name}"].state for name in ("endpoint", "key", "model", "reply")} == {
        "ok"
    }
    assert found["probe structured"].detail == "`json_schema`"
    assert found["will use: metrics"].detail == "ragas, judged by `stub`"


@pytest.mark.parametrize(
    ("settings", "steps", "name"),
    [
        ({"model": "other"}, [Step(status=404, times=None)], "probe model"),
        ({"openai_api_key": "wrong"}, [Step(status=401, times=None)], "probe key"),
    ],
)
def test_what_fails_at_the_endpoint_is_named(
    settings: dict[str, object], steps: list[Step], name: str
) -> None:
    with StubServer(steps) as server:
        found = examined(Settings(openai_base_url=server.base_url, **settings))

    assert found[name].state == "fail"
    assert not healthy(list(found.values()))


def test_nobody_at_the_other_end_is_a_failure() -> None:
    found = examined(Settings(openai_base_url="http://127.0.0.1:9/v1"))

    assert found["probe endpoint"].state == "fail"


@pytest.mark.parametrize(
    ("given", "state", "said"),
    [
        ({"model": "gpt-4o-mini"}, "ok", "$0.1500 in, $0.6000 out for a million tokens"),
        ({"model": "nobody-sells-it"}, "warn", "not known: set `ALETHEIA_PRICE_INPUT_USD`"),
        (
            {"model": "nobody-sells-it", "price_input_usd": 2.0, "price_output_usd": 0.0},
            "ok",
            "$2.00 in, $0 out for a million tokens (settings)",
        ),
    ],
)
def test_the_price_of_every_model_that_will_be_asked_is_told(
    given: dict[str, object], state: str, said: str
) -> None:
    with StubServer(models=[str(given["model"])]) as server:
        found = examined(Settings(openai_base_url=server.base_url, **given))

    price = found[f"price of {given['model']}"]
    assert price.state == state
    assert said in price.detail


def test_the_reply_cache_is_looked_at_and_never_made(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    assert "is made when a model is asked" in examined(Settings(db_path=path))["reply cache"].detail
    assert not path.exists()

    ReplyCache(path).close()
    assert examined(Settings(db_path=path))["reply cache"].detail == f"0 replies in `{path}`"

    path.write_bytes(b"no database")
    assert examined(Settings(db_path=path))["reply cache"].state == "fail"
    assert examined(Settings(cache_enabled=False))["reply cache"].detail.startswith("off")
