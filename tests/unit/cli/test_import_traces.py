"""`aletheia import-traces` over recorded spans and a real store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aletheia.cli.app import run
from aletheia.schema.stored import TraceStatus
from aletheia.store import open_store

SPANS = Path(__file__).parents[2] / "data" / "spans"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store that is not there yet."""
    monkeypatch.chdir(tmp_path)
    found = tmp_path / "traces.db"
    monkeypatch.setenv("ALETHEIA_DB_PATH", str(found))
    return found


def span(trace: str, name: str, **attributes: object) -> str:
    return json.dumps(
        {
            "name": name,
            "context": {"trace_id": trace, "span_id": f"{trace}-{name}"},
            "parent_id": None,
            "start_time": "2026-03-01T10:00:00Z",
            "end_time": "2026-03-01T10:00:01Z",
            "attributes": attributes,
        }
    )


def test_traces_are_stored_pending_and_a_second_import_replaces_them(
    capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    for _ in range(2):
        assert run(["import-traces", str(SPANS / "lines.jsonl"), "--project", "docs"]) == 0
    assert "2 traces stored" in capsys.readouterr().out
    with open_store(path) as store:
        assert store.count()[TraceStatus.PENDING] == 2
        assert store.projects() == {"docs": 2}
        traces = list(store.traces())
    assert {trace.source for trace in traces} == {"import"}
    assert all(len(trace.external_id or "") == 32 for trace in traces)
    assert sorted(len(trace.chunks) > 0 for trace in traces) == [False, True]


def test_what_cannot_be_read_is_named_and_ends_with_2_while_the_rest_is_stored(
    capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    file = tmp_path / "spans.jsonl"
    whole = span("a" * 32, "chain", **{"input.value": "Fast?", "output.value": "It runs at 40 Hz."})
    file.write_text(f"{whole}\n{{broken\n", encoding="utf-8")
    assert run(["import-traces", str(file)]) == 2
    shown = capsys.readouterr()
    assert "line 2" in shown.err
    assert "1 trace stored" in shown.out
    with open_store(path) as store:
        assert sum(store.count().values()) == 1


def test_masked_before_it_is_stored(
    monkeypatch: pytest.MonkeyPatch, path: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("ALETHEIA_REDACT", "mask")
    file = tmp_path / "spans.jsonl"
    said = {"input.value": "Who?", "output.value": "Write to mara@example.org."}
    file.write_text(span("b" * 32, "chain", **said) + "\n", encoding="utf-8")
    assert run(["import-traces", str(file)]) == 0
    with open_store(path) as store:
        (trace,) = store.traces()
    assert trace.response == "Write to [EMAIL-1]."


@pytest.mark.parametrize(("content", "code"), [("", 1), ("[]", 1), ("{}\n", 2)])
def test_a_file_without_a_trace_ends_with_an_error_and_makes_no_store(
    path: Path, tmp_path: Path, content: str, code: int
) -> None:
    file = tmp_path / "spans.json"
    file.write_text(content, encoding="utf-8")
    assert run(["import-traces", str(file)]) == code
    assert not path.exists()


def test_no_file_is_1(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    assert run(["import-traces", "nowhere.json"]) == 1
    assert "nowhere.json" in capsys.readouterr().err
    assert not path.exists()


def test_a_dry_run_counts_and_stores_nothing(
    capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    assert run(["import-traces", str(SPANS / "otlp.json"), "--dry-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["stored"], found["traces"]) == (0, 1)
    assert not path.exists()


def test_a_trace_whose_context_nobody_knows_is_kept_and_never_judged(
    capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    file = tmp_path / "spans.jsonl"
    said = {"input.value": "Fast?", "output.value": "It runs at 40 Hz."}
    file.write_text(span("c" * 32, "chain", **said) + "\n", encoding="utf-8")
    assert run(["import-traces", str(file)]) == 0
    assert run(["eval", "--pending", "--quiet"]) == 2
    assert "the context is not known: no retriever event" in capsys.readouterr().err
    with open_store(path) as store:
        (trace,) = store.traces()
    assert (trace.status, trace.result) == (TraceStatus.FAILED, None)
