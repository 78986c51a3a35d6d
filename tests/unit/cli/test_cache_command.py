"""`aletheia cache stats|clear|export` over a real database file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from aletheia.cli.app import run
from aletheia.llm.base import EndpointIdentity
from aletheia.llm.cache import ReplyCache
from aletheia.schema.model import Prompt, Reply, Usage

USAGE = Usage(prompt_tokens=1200, completion_tokens=34)
ODD = "a\u2028b\ud800"


def put(path: Path, key: str, *, model: str, usage: Usage = USAGE, text: str = "hi") -> None:
    home = EndpointIdentity(provider="openai", base_url="http://localhost:8000/v1", model=model)
    prompt = Prompt(system="", user="?")
    with closing(ReplyCache(path)) as cache:
        cache.put(key, home, prompt, Reply(text=text, model=model, usage=usage))
        cache.get(key)


def sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default database of the current directory, with three replies of two models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ALETHEIA_DB_PATH", raising=False)
    found = tmp_path / "aletheia.db"
    put(found, "1", model="small")
    put(found, "2", model="small", text=ODD)
    put(found, "3", model="large")
    return found


def shown(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(["cache", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("arguments", [["stats"], ["clear", "--yes"], ["export"]])
def test_without_a_cache_it_says_so_and_makes_none(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ALETHEIA_DB_PATH", raising=False)

    code, out, err = shown(arguments, capsys)

    assert (code, out) == (0, "")
    assert err == "there is no reply cache in `aletheia.db` yet\n"
    assert list(tmp_path.iterdir()) == []


def test_stats_as_json_are_zero_without_a_cache(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = shown(["stats", "--json", "--db", str(tmp_path / "none.db")], capsys)

    fields = json.loads(out)
    assert (code, err) == (0, "")
    assert (fields["entries"], fields["tokens_saved"], fields["models"]) == (0, 0, [])


def test_stats_show_what_was_saved_by_endpoint_and_model(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = shown(["stats"], capsys)

    assert code == 0
    assert max(map(len, out.replace(str(path), "aletheia.db").splitlines())) <= 80
    words = [line.split() for line in out.splitlines()]
    assert ["replies", "3"] in words
    assert ["tokens", "saved", "3,702"] in words
    assert ["http://localhost:8000/v1"] in words
    assert ["2", "2", "2,468", "small"] in words
    assert ["1", "1", "1,234", "large"] in words


def test_a_sum_that_lacks_something_is_shown_as_a_floor(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(path, "4", model="large", usage=Usage())

    _, out, _ = shown(["stats"], capsys)
    fields = json.loads(shown(["stats", "--json"], capsys)[1])

    assert "≥ 3,702" in out
    assert (fields["hits"], fields["hits_unreported"], fields["size_bytes"] > 0) == (4, 1, True)


@pytest.mark.parametrize(
    ("options", "said", "left"),
    [
        (["--model", "small"], "2 replies removed, 1 left", 1),
        (["--model", "other"], "0 replies removed, 3 left", 3),
        (["--older-than", "30d"], "1 reply removed, 2 left", 2),
        (["--older-than", "9w", "--model", "small"], "0 replies removed, 3 left", 3),
        (["--yes"], "3 replies removed, 0 left", 0),
    ],
)
def test_clear_says_how_many_went(
    path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    said: str,
    left: int,
) -> None:
    sql(
        path,
        "UPDATE model_replies SET created_at = '2020-01-01T00:00:00.000000+00:00' WHERE key = '3'",
    )

    code, out, _ = shown(["clear", *options], capsys)

    assert code == 0
    assert out.startswith(said)
    with closing(ReplyCache(path)) as cache:
        assert cache.stats().entries == left


def test_clearing_all_needs_a_yes(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cache", "clear"]) == 2

    err = capsys.readouterr().err
    assert "3 replies" in err
    assert "--yes" in err
    with closing(ReplyCache(path)) as cache:
        assert cache.stats().entries == 3


@pytest.mark.parametrize("age", ["30", "d30", "-1d", "1y", "999999d", ""])
def test_an_age_that_is_none_is_an_error(
    path: Path, capsys: pytest.CaptureFixture[str], age: str
) -> None:
    assert run(["cache", "clear", f"--older-than={age}"]) == 2
    assert "is no age" in capsys.readouterr().err


def test_export_writes_one_object_a_reply(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = shown(["export"], capsys)

    rows = [json.loads(line) for line in out.split("\n") if line]
    assert (code, err) == (0, "3 replies written\n")
    assert [row["key"] for row in rows] == ["1", "2", "3"]
    assert rows[1]["reply"]["text"] == ODD
    assert set(rows[0]) == {
        *("key", "endpoint", "provider", "model", "parameters", "prompt", "reply", "created_at")
    }
    assert rows[0]["endpoint"] == "http://localhost:8000/v1"


def test_export_into_a_file_leaves_out_what_is_damaged_and_says_so(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql(path, "UPDATE model_replies SET prompt = 'x' WHERE key = '2'")

    code, out, err = shown(["export", "--output", "rows.jsonl"], capsys)

    rows = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert (code, out) == (1, "")
    assert "left out as damaged: 1" in err
    assert [json.loads(row)["key"] for row in rows] == ["1", "3"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("aletheia.db", "is the database itself"),
        (".", "is a directory"),
        ("none/rows.jsonl", "cannot be written"),
    ],
)
def test_export_does_not_write_where_it_must_not(
    path: Path, capsys: pytest.CaptureFixture[str], target: str, said: str
) -> None:
    assert run(["cache", "export", "--output", target]) == 2
    assert said in capsys.readouterr().err
    with closing(ReplyCache(path)) as cache:
        assert cache.stats().entries == 3


def test_another_database_can_be_named(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.db"
    put(other, "1", model="m")
    monkeypatch.setenv("ALETHEIA_DB_PATH", str(other))

    assert json.loads(shown(["stats", "--json"], capsys)[1])["entries"] == 1
    assert json.loads(shown(["stats", "--json", "--db", str(path)], capsys)[1])["entries"] == 3


def test_a_file_that_is_no_database_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.db").write_text("words " * 200)

    assert run(["cache", "stats", "--db", str(tmp_path / "x.db")]) == 2
    assert "is not a SQLite database" in capsys.readouterr().err
