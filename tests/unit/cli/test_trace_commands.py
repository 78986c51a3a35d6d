"""`aletheia list|inspect|stats|export|prune` over a real store."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aletheia.cli.app import run
from aletheia.schema.diagnosis import Diagnosis, EvaluationResult, FailureCell, Flags
from aletheia.schema.judgement import FaithfulnessJudgment
from aletheia.schema.stored import NewTrace
from aletheia.schema.trace import Claim, ContextChunk
from aletheia.store import open_store
from aletheia.tabular import read_rows

NOW = datetime.now(UTC)
ODD = 'a | b; "c"\nline\u2028two \x1b[31m'


def result(cell: FailureCell | None, query: str | None, response: str) -> EvaluationResult:
    return EvaluationResult(
        query=query,
        response=response,
        claims=(Claim(id=0, text=response, start=0, end=len(response)),),
        faithfulness=(
            FaithfulnessJudgment(claim_id=0, verdict="Y", evidence_ids=("E1",), confidence="high"),
        ),
        diagnosis=Diagnosis(
            failure_cell=cell,
            flags=Flags(missing=False),
            sufficiency_fraction=1.0,
            n_claims=1,
            problems=() if cell else ("sufficiency is unmeasured",),
        ),
        created_at=NOW,
        making={"judge": "embedded"},
    )


def logged(
    query: str, *, project: str = "default", age: int = 0, external_id: str | None = None
) -> NewTrace:
    return NewTrace(
        query=query,
        chunks=(ContextChunk(text=ODD, rank=0, source="a;b|c", score=0.5),),
        response=f"response to {query}",
        project=project,
        external_id=external_id,
        created_at=NOW - timedelta(days=age),
    )


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six traces: healthy, made up, without a cell, pending, failed, and one of another project."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "traces.db"
    monkeypatch.setenv("ALETHEIA_DB_PATH", str(path))
    with open_store(path) as opened:
        ids = opened.add(
            [
                logged("first healthy", age=40),
                logged("second made up", age=3),
                logged("third without a cell"),
                logged("fourth pending"),
                logged("fifth failed"),
                logged("sixth elsewhere", project="other", external_id="doc|7"),
            ]
        )
        cells = (FailureCell.COMPLETE_GROUNDED, FailureCell.COMPLETE_UNGROUNDED, None)
        for trace_id, cell in zip(ids, cells, strict=False):
            trace = opened.get(trace_id)
            assert trace is not None
            opened.save([(trace_id, result(cell, trace.query, trace.response))])
        opened.fail(ids[4], "the judge was not there")
    return path


def said(capsys: pytest.CaptureFixture[str], arguments: Sequence[str], code: int = 0) -> str:
    assert run(arguments) == code
    return capsys.readouterr().out


def listed(capsys: pytest.CaptureFixture[str], *options: str) -> list[int]:
    text = said(capsys, ["list", "--json", *options])
    return [json.loads(line)["id"] for line in text.splitlines()]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ([], [6, 5, 4, 3, 2, 1]),
        (["--limit", "2"], [6, 5]),
        (["--limit", "2", "--before", "5"], [4, 3]),
        (["--cell", "hallucination"], [2]),
        (["--cell", "Healthy"], [1]),
        (["--cell", "healthy", "--cell", "complete_ungrounded"], [2, 1]),
        (["--cell", "none"], [3]),
        (["--status", "pending"], [6, 4]),
        (["--status", "failed"], [5]),
        (["--project", "other"], [6]),
        (["--project", "nowhere"], []),
        (["--since", "7d"], [6, 5, 4, 3, 2]),
        (["--until", "7d"], [1]),
        (["--text", "WITHOUT a"], [3]),
        (["--text", "%"], []),
    ],
)
def test_list_shows_what_fits_newest_first(
    capsys: pytest.CaptureFixture[str], options: list[str], ids: list[int]
) -> None:
    assert listed(capsys, *options) == ids


@pytest.mark.usefixtures("store")
def test_a_list_for_people_has_80_columns_and_says_that_there_is_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["list", "--limit", "5"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert len(lines) == 6
    assert max(map(len, lines)) <= 80
    assert "other" in lines[1]
    assert "failed" in lines[2]
    assert "no cell" in lines[4]
    assert "--before 2" in shown.err


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["list", "--cell", "helthy"], "did you mean `healthy`?"),
        (["list", "--cell", "none", "--cell", "healthy"], "give it alone"),
        (["list", "--status", "done"], "`pending`, `evaluated`, `failed`"),
        (["list", "--since", "tomorrow"], "`2026-11-30`"),
        (["prune", "--older-than", "soon"], "`30d`"),
        (["export", "out.xls"], "`.xls`"),
    ],
)
def test_a_wrong_option_is_one_error_with_what_would_be_right(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert run(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.usefixtures("store")
def test_inspect_shows_evidence_diagnosis_and_origin_and_lets_nothing_act(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = said(capsys, ["inspect", "2"])
    assert "Hallucinated [complete_ungrounded]" in text
    assert "[E1] a;b|c, score 0.5: a | b;" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "the judge was not there" in said(capsys, ["inspect", "5"])


@pytest.mark.usefixtures("store")
def test_inspect_finds_a_trace_by_the_id_it_had_in_its_project(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = json.loads(said(capsys, ["inspect", "doc|7", "--project", "other", "--json"]))
    assert (row["trace_id"], row["id"], row["status"]) == (6, "doc|7", "pending")
    assert row["context"] == [{"text": ODD, "rank": 0, "source": "a;b|c", "score": 0.5}]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "arguments", [["99"], ["doc|7"], ["9" * 30], ["6", "--project", "default"]]
)
def test_an_unknown_id_ends_with_1(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run(["inspect", *arguments]) == 1
    assert "there is no trace" in capsys.readouterr().err


@pytest.mark.usefixtures("store")
def test_stats_leave_pending_and_failed_traces_out_of_every_rate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = json.loads(said(capsys, ["stats", "--json"]))
    assert found["statuses"] == {"pending": 2, "evaluated": 3, "failed": 1}
    healthy = found["rates"]["healthy"]
    assert (healthy["rate"]["numerator"], healthy["rate"]["denominator"]) == (1, 2)
    assert found["rates"]["unmeasured"] == 1
    assert {name: item["traces"] for name, item in found["projects"].items()} == {
        "default": 5,
        "other": 1,
    }
    text = said(capsys, ["stats"])
    assert "6 traces: 2 pending, 3 evaluated, 1 failed" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("name", ["out.jsonl", "out.json", "out.csv", "out.parquet"])
def test_an_export_reads_back_as_it_was_stored_in_every_format(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    said(capsys, ["export", name])
    rows = list(read_rows(name))
    assert [row["trace_id"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[0]["context"] == [{"text": ODD, "rank": 0, "source": "a;b|c", "score": 0.5}]
    assert rows[1]["failure_cell"] == "complete_ungrounded"
    assert rows[4]["errors"] == {"failed": "the judge was not there"}
    assert rows[5]["id"] == "doc|7"


@pytest.mark.usefixtures("store")
def test_an_export_to_csv_has_the_same_columns_for_an_empty_selection(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said(capsys, ["export", "none.csv", "--project", "nowhere"])
    with (tmp_path / "none.csv").open(newline="", encoding="utf-8") as stream:
        (header,) = csv.reader(stream)
    assert header[:3] == ["id", "trace_id", "project"]


@pytest.mark.usefixtures("store")
def test_an_export_is_judged_again_by_eval(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said(capsys, ["export", "out.jsonl", "--project", "other"])
    assert run(["eval", "out.jsonl", "--no-persist", "--output", "again.jsonl", "--quiet"]) == 0
    (row,) = read_rows(tmp_path / "again.jsonl")
    assert row["id"] == "doc|7"


def test_prune_removes_what_is_older_and_a_dry_run_nothing(
    capsys: pytest.CaptureFixture[str], store: Path
) -> None:
    assert "1 trace would be removed, of 6" in said(
        capsys, ["prune", "--older-than", "30d", "--dry-run"]
    )
    assert listed(capsys) == [6, 5, 4, 3, 2, 1]
    assert "1 trace removed, 5 left" in said(capsys, ["prune", "--older-than", "30d"])
    assert listed(capsys) == [6, 5, 4, 3, 2]
    with open_store(store) as opened:
        assert opened.get(1) is None


@pytest.mark.parametrize("command", ["list", "stats", "export", "prune"])
def test_looking_at_a_store_that_is_not_there_makes_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    more = {"export": ["-"], "prune": ["--older-than", "1d"]}.get(command, [])
    path = tmp_path / "none.db"
    assert run([command, *more, "--db", str(path)]) == 0
    assert "there are no traces" in capsys.readouterr().err
    assert not path.exists()


def test_a_file_with_nothing_but_cached_replies_holds_no_traces(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from contextlib import closing

    from aletheia.llm.cache import ReplyCache

    path = tmp_path / "replies.db"
    with closing(ReplyCache(path)):
        pass
    assert run(["list", "--db", str(path)]) == 0
    assert "there are no traces" in capsys.readouterr().err
