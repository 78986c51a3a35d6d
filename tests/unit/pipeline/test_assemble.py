"""What a run uses, decided from settings and options before anything is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from unit.pipeline.worlds import port_graph

from aletheia.config import Settings
from aletheia.errors import ConfigError, UsageError
from aletheia.pipeline.assemble import NO_ENDPOINT, Choice, load, plan, prompt_digest
from aletheia.ragas_bridge import EmbeddedSuite, RagasLLMSuite

URL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the environment nor a `.env` file of the machine counts."""
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(Settings.variable(name), raising=False)


def key(**more: object) -> Settings:
    return Settings(openai_api_key="k", **more)


def server(**more: object) -> Settings:
    return Settings(openai_base_url=URL, **more)


@pytest.mark.parametrize(
    ("settings", "choice", "generator", "metrics", "judge", "similarity"),
    [
        pytest.param(Settings, Choice(), "extractive", "embedded", None, "embedded", id="nothing"),
        pytest.param(key, Choice(), "llm", "ragas", "gpt-4o", "endpoint", id="a key"),
        pytest.param(
            server,
            Choice(model="m"),
            "llm",
            "ragas",
            "m",
            "embedded",
            id="own server judges itself",
        ),
        pytest.param(
            lambda: server(judge_model="j", embed_model="e"),
            Choice(),
            "llm",
            "ragas",
            "j",
            "endpoint",
            id="own server, all named",
        ),
        pytest.param(
            key, Choice(judge_model="j"), "llm", "ragas", "j", "endpoint", id="judge as option"
        ),
        pytest.param(
            key,
            Choice(generator="extractive"),
            "extractive",
            "ragas",
            "gpt-4o",
            "endpoint",
            id="x+r",
        ),
        pytest.param(
            key, Choice(metrics="embedded"), "llm", "embedded", None, "embedded", id="l+e"
        ),
    ],
)
def test_what_is_used(
    settings: object,
    choice: Choice,
    generator: str,
    metrics: str,
    judge: str | None,
    similarity: str,
) -> None:
    assert callable(settings)
    found = plan(settings(), choice)

    assert (found.generator, found.metrics) == (generator, metrics)
    assert (found.judge_model, found.similarity) == (judge, similarity)
    assert (found.model is None) is (generator == "extractive")
    assert (prompt_digest(found) is None) is (generator == "extractive")


def test_only_a_run_without_any_model_carries_the_note() -> None:
    assert plan(Settings(), Choice()).note == NO_ENDPOINT
    assert plan(key(), Choice()).note is None


@pytest.mark.parametrize(
    ("choice", "error", "said"),
    [
        (Choice(generator="llm"), ConfigError, "`--generator` asks for a model"),
        (Choice(metrics="ragas"), ConfigError, "`--metrics` asks for a model"),
        (Choice(model="m"), UsageError, "`--model m` has no effect"),
        (Choice(judge_model="j"), UsageError, "`--judge-model j` has no effect"),
        (
            Choice(generator="llm", metrics="embedded", judge_model="j"),
            UsageError,
            "`--judge-model j` has no effect",
        ),
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused(
    choice: Choice, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        plan(Settings(), choice)


def test_loading_builds_what_the_plan_names(tmp_path: Path) -> None:
    loaded = port_graph(tmp_path)
    offline = load(Settings(), plan(Settings(), Choice()), loaded)
    online = load(server(), plan(server(), Choice(model="m")), loaded)

    assert isinstance(offline.suite, EmbeddedSuite)
    assert offline.generator.name == "extractive"
    assert isinstance(online.suite, RagasLLMSuite)
    assert (online.generator.name, online.generator.model) == ("llm", "m")
    assert online.implementations()["answer_similarity"].startswith("ragas:SemanticSimilarity(all-")


@pytest.mark.parametrize(
    ("judge", "diagnosis", "models"),
    [
        ("auto", "embedded", (None, None)),
        ("embedded", "embedded", (None, None)),
        ("llm", "llm", ("gpt-4o", "gpt-4o-mini")),
        ("none", "none", (None, None)),
    ],
)
def test_cells_cost_calls_only_where_a_model_is_named(
    judge: Any, diagnosis: str, models: tuple[str | None, str | None]
) -> None:
    found = plan(key(), Choice(judge=judge))

    assert found.diagnosis == diagnosis
    assert (found.cell_model, found.decomposer_model) == models


def test_on_a_server_of_ones_own_the_model_that_answers_cuts_and_judges() -> None:
    found = plan(server(), Choice(judge="llm", model="m"))

    assert (found.cell_model, found.decomposer_model) == ("m", "m")
