"""Settings: where they come from, which win, and what a wrong one says."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pydantic import ValidationError

from aletheia.config import Settings, settings, unknown_variables
from aletheia.errors import ConfigError

SECRET = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def clean_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, and a working directory without a `.env`."""
    for name in Settings.model_fields:
        monkeypatch.delenv(Settings.variable(name), raising=False)
    monkeypatch.chdir(tmp_path)
    return


@pytest.mark.parametrize(
    ("name", "variable", "default"),
    [
        ("openai_api_key", "OPENAI_API_KEY", None),
        ("openai_base_url", "OPENAI_BASE_URL", None),
        ("model", "ALETHEIA_MODEL", "gpt-4o-mini"),
        ("judge_model", "ALETHEIA_JUDGE_MODEL", "gpt-4o"),
        ("decomposer_model", "ALETHEIA_DECOMPOSER_MODEL", "gpt-4o-mini"),
        ("embed_model", "ALETHEIA_EMBED_MODEL", "text-embedding-3-small"),
        ("db_path", "ALETHEIA_DB_PATH", Path("aletheia.db")),
        ("db_url", "ALETHEIA_DB_URL", None),
        ("project", "ALETHEIA_PROJECT", "default"),
        ("redact", "ALETHEIA_REDACT", "off"),
        ("queue_size", "ALETHEIA_QUEUE_SIZE", 10_000),
        ("calibration_min_traces", "ALETHEIA_CALIBRATION_MIN_TRACES", 20),
        ("fallback_threshold_project", "ALETHEIA_FALLBACK_THRESHOLD_PROJECT", 1.0),
        ("fallback_threshold_memory", "ALETHEIA_FALLBACK_THRESHOLD_MEMORY", 0.8),
        ("batch_size", "ALETHEIA_BATCH_SIZE", 5),
        ("default_sync", "ALETHEIA_DEFAULT_SYNC", False),
        ("per_trace_budget_usd", "ALETHEIA_PER_TRACE_BUDGET_USD", 0.50),
        ("worker_concurrency", "ALETHEIA_WORKER_CONCURRENCY", 4),
        ("cache_enabled", "ALETHEIA_CACHE_ENABLED", True),
        ("timeout_s", "ALETHEIA_TIMEOUT_S", 120.0),
        ("total_timeout_s", "ALETHEIA_TOTAL_TIMEOUT_S", 600.0),
        ("max_retries", "ALETHEIA_MAX_RETRIES", 4),
        ("concurrency", "ALETHEIA_CONCURRENCY", 4),
        ("graph_path", "ALETHEIA_GRAPH_PATH", ()),
        ("run_budget_usd", "ALETHEIA_RUN_BUDGET_USD", None),
        ("unknown_price", "ALETHEIA_UNKNOWN_PRICE", "warn"),
        ("price_input_usd", "ALETHEIA_PRICE_INPUT_USD", None),
        ("price_output_usd", "ALETHEIA_PRICE_OUTPUT_USD", None),
        ("requests_per_minute", "ALETHEIA_REQUESTS_PER_MINUTE", None),
        ("context_window", "ALETHEIA_CONTEXT_WINDOW", None),
        ("max_output_tokens", "ALETHEIA_MAX_OUTPUT_TOKENS", None),
        ("openai_api_version", "OPENAI_API_VERSION", None),
    ],
)
def test_every_setting_has_its_variable_and_default(
    name: str, variable: str, default: object
) -> None:
    assert Settings.variable(name) == variable
    assert getattr(Settings(), name) == default


def test_the_table_above_holds_every_setting() -> None:
    rows = test_every_setting_has_its_variable_and_default.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {row[0] for row in rows} == set(Settings.model_fields)


def test_argument_beats_environment_beats_file_beats_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(".env").write_text("ALETHEIA_MODEL=from-file\nALETHEIA_BATCH_SIZE=7\nOTHER_TOOL=1\n")
    assert (Settings().model, Settings().batch_size) == ("from-file", 7)
    monkeypatch.setenv("ALETHEIA_MODEL", "from-env")
    assert (Settings().model, Settings().batch_size) == ("from-env", 7)
    assert Settings(model="from-argument").model == "from-argument"


def test_an_argument_beats_the_variable_of_the_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    given = Settings(openai_api_key=None, openai_base_url="http://localhost:2/v1")
    assert not given.has_key
    assert given.openai_base_url == "http://localhost:2/v1"


@pytest.mark.parametrize("text", ["1", "true", "TRUE", "yes", "on", "On"])
def test_words_for_true(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ALETHEIA_DEFAULT_SYNC", text)
    assert Settings().default_sync is True


@pytest.mark.parametrize("text", ["0", "false", "no", "off"])
def test_words_for_false(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ALETHEIA_CACHE_ENABLED", text)
    assert Settings().cache_enabled is False


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ALETHEIA_MODEL", "ALETHEIA_GRAPH_PATH"):
        monkeypatch.setenv(name, "")
    assert Settings() == Settings(openai_api_key=None, model="gpt-4o-mini")
    assert not Settings().has_endpoint


def test_the_url_of_a_database_is_shown_nowhere() -> None:
    made = Settings(db_url="postgresql+psycopg://me:secret-word@host/traces")
    assert made.store_at == "postgresql+psycopg://me:secret-word@host/traces"
    assert made.non_default() == {"db_url": "********"}
    assert "secret-word" not in repr(made)
    with pytest.raises(ConfigError) as caught:
        Settings(db_url="me:secret-word@host")
    assert "secret-word" not in str(caught.value)


def test_graph_path_is_divided_like_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALETHEIA_GRAPH_PATH", "/one::/two words")
    assert Settings().graph_path == (Path("/one"), Path("/two words"))


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("ALETHEIA_BATCH_SIZE", "five", "'five'"),
        ("ALETHEIA_REDACT", "on", "neither `off`, `mask` nor `module:function`"),
        ("ALETHEIA_DB_URL", "traces.db", "not a URL"),
        ("ALETHEIA_BATCH_SIZE", "0", "greater than or equal to 1"),
        ("ALETHEIA_DEFAULT_SYNC", "maybe", "valid boolean"),
        ("ALETHEIA_TIMEOUT_S", "nan", "finite"),
        ("ALETHEIA_TIMEOUT_S", "-1", "greater than 0"),
        ("ALETHEIA_TOTAL_TIMEOUT_S", "inf", "finite"),
        ("ALETHEIA_PER_TRACE_BUDGET_USD", "-0.1", "greater than or equal to 0"),
        ("ALETHEIA_CONCURRENCY", "0", "greater than or equal to 1"),
        ("ALETHEIA_MAX_RETRIES", "-1", "greater than or equal to 0"),
        ("ALETHEIA_MODEL", "  ", "blank"),
        ("OPENAI_BASE_URL", "localhost:8000", "not a URL"),
        ("OPENAI_BASE_URL", "ftp://host/v1", "not a URL"),
        ("OPENAI_BASE_URL", "http://host:port/v1", "not a URL"),
        ("OPENAI_BASE_URL", "http://host/v1 ", "not a URL"),
        ("OPENAI_BASE_URL", "http://user:" + SECRET + "@host/v1", "OPENAI_API_KEY"),
        ("OPENAI_BASE_URL", "http://host/v1?key=" + SECRET, "OPENAI_API_KEY"),
        ("OPENAI_API_KEY", SECRET + "\n", "white space"),
        ("OPENAI_API_KEY", SECRET + "…", "character"),
    ],
)
def test_an_invalid_value_is_a_config_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as caught:
        Settings()
    assert f"`{variable}`" in str(caught.value)
    assert says in str(caught.value)
    assert SECRET not in str(caught.value)


def test_every_wrong_variable_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALETHEIA_BATCH_SIZE", "x")
    monkeypatch.setenv("ALETHEIA_TIMEOUT_S", "y")
    with pytest.raises(ConfigError, match=r"`ALETHEIA_TIMEOUT_S`.*`ALETHEIA_BATCH_SIZE`"):
        Settings()


def test_a_file_that_is_not_utf8_is_named() -> None:
    Path(".env").write_bytes(b"ALETHEIA_MODEL=\xff\xfe\n")
    with pytest.raises(ConfigError, match=r"`\.env` cannot be read"):
        Settings()


def test_a_byte_order_mark_does_not_hide_the_first_line() -> None:
    Path(".env").write_bytes(b"\xef\xbb\xbfALETHEIA_MODEL=first\n")
    assert Settings().model == "first"


def test_the_key_is_masked_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    made = Settings()
    assert made.has_key
    assert made.openai_api_key is not None
    assert made.openai_api_key.get_secret_value() == SECRET
    for shown in (repr(made), str(made), str(made.non_default()), made.model_dump_json()):
        assert SECRET not in shown


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().model = "other"  # type: ignore[misc]


def test_non_default_lists_only_what_differs() -> None:
    assert Settings().non_default() == {}
    changed = Settings(batch_size=6, graph_path="/a:/b", openai_api_key="k")
    assert changed.non_default() == {
        "openai_api_key": "********",
        "batch_size": "6",
        "graph_path": "/a:/b",
    }


def test_override_holds_inside_and_is_restored_also_after_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALETHEIA_MODEL", "outside")
    with settings.override(model="outer") as given:
        assert given.model == settings.model == "outer"
        with settings.override(batch_size=9):
            assert (settings.model, settings.batch_size) == ("outer", 9)
        assert settings.batch_size == 5
    with pytest.raises(RuntimeError), settings.override(model="inner"):
        raise RuntimeError
    assert settings.model == "outside"


@pytest.mark.parametrize(
    ("name", "near"), [("modle", "model"), ("batchsize", "batch_size"), ("zzz", None)]
)
def test_override_rejects_an_unknown_name(name: str, near: str | None) -> None:
    with pytest.raises(ConfigError) as caught, settings.override(**{name: 1}):
        pytest.fail("the block must not run")
    assert f"`{name}`" in caught.value.message
    assert caught.value.hint == (f"did you mean `{near}`?" if near else None)


def test_override_rejects_an_invalid_value_and_leaves_nothing_behind() -> None:
    with pytest.raises(ConfigError), settings.override(batch_size="x"):
        pytest.fail("the block must not run")
    assert settings.batch_size == 5


def test_overrides_do_not_reach_other_tasks_or_threads() -> None:
    async def worker(name: str) -> str:
        with settings.override(model=name):
            await asyncio.sleep(0.01)
            return str(settings.model)

    async def both() -> list[str]:
        return await asyncio.gather(worker("a"), worker("b"))

    assert asyncio.run(both()) == ["a", "b"]
    seen: list[str] = []
    with settings.override(model="mine"):
        thread = threading.Thread(target=lambda: seen.append(settings.model))
        thread.start()
        thread.join()
    assert seen == ["gpt-4o-mini"]


def test_a_mistyped_variable_is_listed_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALETHEIA_JUGDE_MODEL", "x")
    Path(".env").write_text("ALETHEIA_BATCH_SZE=3\nOTHER=1\n")
    assert unknown_variables() == (
        ("ALETHEIA_BATCH_SZE", "ALETHEIA_BATCH_SIZE"),
        ("ALETHEIA_JUGDE_MODEL", "ALETHEIA_JUDGE_MODEL"),
    )


def test_importing_reads_nothing_and_loads_no_heavy_library() -> None:
    code = (
        "import os, sys\n"
        "os.environ['ALETHEIA_BATCH_SIZE'] = 'broken'\n"
        "import aletheia.config, aletheia.llm.build\n"
        "assert not {'openai', 'httpx2', 'numpy', 'ragas'} & set(sys.modules), sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("given", "judges", "cuts"),
    [
        ({}, "gpt-4o", "gpt-4o-mini"),
        ({"openai_base_url": "http://localhost:8000/v1", "model": "own"}, "own", "own"),
        (
            {"openai_base_url": "http://localhost:8000/v1", "model": "own", "judge_model": "big"},
            "big",
            "own",
        ),
        ({"model": "gpt-5", "decomposer_model": "small"}, "gpt-4o", "small"),
    ],
)
def test_a_server_of_ones_own_judges_with_its_own_model_unless_told(
    given: dict[str, str], judges: str, cuts: str
) -> None:
    settings = Settings(**given)
    assert (settings.judging_model, settings.decomposing_model) == (judges, cuts)
