"""`aletheia eval` over every kind of file: what it reads, refuses, writes, keeps and tells."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aletheia.cli.app import run
from aletheia.pipeline.stored import close_stores
from aletheia.reports.trace_json import ROW_KEYS
from aletheia.schema.stored import NewTrace, TraceFilter, TraceStatus
from aletheia.schema.trace import ContextChunk
from aletheia.store import open_store
from aletheia.tabular import read_rows, write_rows

MILL = ["The mill opened in 1911.", "The mill has a red roof; or | a blue one,\nsome say."]
QUERY = "The mill opened when?"
GOOD = {"id": "good", "query": QUERY, "context": MILL, "response": "The mill opened in 1911."}
WRONG = {"id": "wrong", "query": QUERY, "context": MILL, "response": 'The mill, "old" opened in 1950.'}  # fmt: skip
BARE = {"id": "bare", "query": None, "context": [], "response": "It has a roof."}
TRACES = [GOOD, WRONG, BARE]

FILES = ("t.jsonl", "t.json", "t.csv", "t.tsv", "t.parquet", "dataset")
OUTPUTS = ("o.jsonl", "o.json", "o.csv", "o.tsv", "o.parquet")


@pytest.fixture(autouse=True)
def _at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("ALETHEIA_DB_PATH", "aletheia.db")
    yield
    close_stores()


def saved(name: str, rows: list[dict[str, Any]] = TRACES) -> str:
    if name == "dataset":
        from datasets import Dataset

        Dataset.from_list(rows).save_to_disk(name)
    else:
        write_rows(name, rows)
    return name


def lines(name: str, *texts: str) -> str:
    Path(name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return name


def same(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what differs between two runs, or between two files."""
    left_out = ("created_at", "latency_ms", "cost", "making", "line")
    return {key: value for key, value in row.items() if key not in left_out}


def judged(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
    code = run(["eval", *map(str, arguments), "--no-persist", "-q", "-o", "rows.jsonl"])
    return code, list(read_rows("rows.jsonl")) if Path("rows.jsonl").exists() else []


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_the_same_traces_give_the_same_rows_from_every_kind_of_file(name: str) -> None:
    """Field case 137: separators, quotes and line ends inside the chunks change nothing."""
    expected = [same(row) for row in judged(saved("first.jsonl"))[1]]
    code, rows = judged(saved(name))

    assert (code, [same(row) for row in rows]) == (0, expected)
    assert [row["failure_cell"] for row in rows][:2] == ["complete_grounded", "complete_ungrounded"]


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_rows_are_the_same_in_every_kind_of_output(name: str) -> None:
    """Field case 149: claims, verdicts, reasons, unit ids and offsets stand in each of them."""
    file = saved("t.jsonl", [*TRACES, {"id": 4, "query": "q"}])
    expected = [same(row) for row in judged(file)[1]]
    code = run(["eval", file, "--no-persist", "-q", "--output", name])
    rows = list(read_rows(name))

    assert (code, [same(row) for row in rows]) == (2, expected)
    assert all(tuple(row) == ROW_KEYS for row in rows)
    assert rows[0]["faithfulness"][0]["evidence_ids"] == ["E1"]
    assert not list(Path().glob("*.partial"))


@pytest.mark.parametrize("name", ["o.xlsx", "o.json.gz"])
def test_an_output_of_a_kind_that_is_not_known_is_refused(name: str) -> None:
    assert run(["eval", saved("t.jsonl"), "--no-persist", "-q", "--output", name]) == 2
    assert not Path(name).exists()


@pytest.mark.parametrize(
    ("files", "options", "code"),
    [
        ("t.csv", ["--format", "csv", "--delimiter", ","], 0),
        ("t.jsonl", ["--format", "parquet"], 1),
        ("t.jsonl", ["--split", "train"], 2),
        ("t.jsonl", ["--delimiter", ","], 2),
        ("dataset", ["--split", "train"], 2),
    ],
)
def test_options_about_the_file(files: str, options: list[str], code: int) -> None:
    assert judged(saved(files), *options)[0] == code


def test_a_list_as_python_shows_it_is_read_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Field case 137: old files are read with a warning; what could mean two things is not."""
    file = lines(
        "t.csv",
        "question,contexts,answer",
        "q,\"['The mill opened in 1911.', 'b | c']\",The mill opened in 1911.",
        "q,\"['a' 'b']\",x",
        "q,plain | text,x",
    )
    code, rows = judged(file)

    assert code == 2
    assert [row["making"].get("python_list") for row in rows] == ["context", None, None]
    assert "begins like a list" in rows[1]["errors"]["input"]
    assert rows[2]["errors"] == {}
    assert "Python list" in capsys.readouterr().out


# --- names ------------------------------------------------------------------------------------

Q, C, R = QUERY, MILL[:1], "The mill opened in 1911."


@pytest.mark.parametrize(
    "record",
    [
        {"user_input": Q, "retrieved_contexts": C, "response": R, "reference": "x"},
        {"question": Q, "contexts": C, "answer": R, "ground_truth": "x"},
        {"input": Q, "actual_output": R, "retrieval_context": C, "expected_output": "x"},
        {"input": Q, "actual_output": R, "retrieval_context": C, "context": ["the ideal"]},
        {"input": Q, "actualOutput": R, "retrievalContext": C},
        {"record_id": "r", "input": Q, "output": R, "contexts": C},
        {"id": "l", "input": Q, "output": R, "metadata": {"contexts": C}},
        {"input": {"question": Q}, "output": {"answer": R, "contexts": C}},
        {
            "attributes.input.value": Q,
            "attributes.output.value": R,
            "attributes.retrieval.documents": [{"document.content": C[0], "document.score": 0.5}],
        },
        {"attributes": {"input": {"value": Q}, "output": {"value": R}, "retrieval": {"documents": [{"document": {"content": C[0]}}]}}},
    ],
)  # fmt: skip
def test_names_of_other_tools_are_known(record: dict[str, Any]) -> None:
    """Field case 139: what was retrieved is read, and not what should have been."""
    mapped = []
    if "attributes" in record:
        mapped = [
            "--map",
            "query=attributes.input.value",
            "--map",
            "response=attributes.output.value",
        ]
        mapped += ["--map", "context=attributes.retrieval.documents"]
    code, rows = judged(saved("t.json", [record]), *mapped)

    assert (code, rows[0]["errors"], rows[0]["failure_cell"]) == (0, {}, "complete_grounded")
    assert [item["evidence_ids"] for item in rows[0]["faithfulness"]] == [["E1"]]


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.parquet"])
def test_a_path_reads_what_is_nested(name: str) -> None:
    """In a table a nested value is JSON text, or a real one."""
    record = {"n": 7, "q": Q, "out": {"text": R}, "meta": {"docs": C, "x": 1}}
    options = [f"--map={field}" for field in ("id=n", "query=q", "context=meta.docs", "response=out.text")]  # fmt: skip
    code, rows = judged(saved(name, [record]), *options)

    assert (code, rows[0]["failure_cell"]) == (0, "complete_grounded")
    assert rows[0]["id"] == ("7" if name == "t.csv" else 7)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "dataset"])
def test_one_error_names_all_columns_that_are_missing(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field cases 139, 140: asked once for the whole file, before anything is judged."""
    file = saved(name, [{"qestion": Q, "contxts": C, "anwser": R}] * 3)
    code, rows = judged(file)
    said = capsys.readouterr().err

    assert (code, rows, said.count("error:")) == (1, [], 1)
    assert "`context`: it is missing, and so is `response`" in said
    assert "the columns are `qestion`, `contxts`, `anwser`" in said
    assert "--map context=contxts" in said
    assert "--map response=anwser" in said


def test_a_column_that_nothing_reads_is_not_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Field case 140."""
    file = lines("t.csv", "context,response,score,score", '"[""a""]",b,1,2')
    assert judged(file)[0] == 0
    assert "only faithfulness was judged: 1" in capsys.readouterr().out


@pytest.mark.parametrize("header", ["context,context,response", "question,prompt,context,response"])
def test_columns_that_could_each_be_meant_are_an_error(header: str) -> None:
    assert judged(lines("t.csv", header, ",".join("a" for _ in header.split(","))))[0] == 1


# --- rows that are bad ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "loaded", "rejected"),
    [
        ("t.csv", "query,context,response\nq,a,b\nq,a\n\nq,,b\nq,null,b\nq,a,\n", 2, 3),
        ("t.json", '{"data": [{"context": "a", "response": "b"}, {"context": "a"}, 7]}', 1, 2),
        ("t.jsonl", '{"context": "a", "response": "b"}\n\n{\n{"response": 1, "context": []}\n', 1, 2),
        ("t.csv", "query,context,response\n", 0, 0),
        ("t.json", "[]", 0, 0),
        ("t.csv", 'query,context,response\nq,"a,b\n', 0, 1),
    ],
)  # fmt: skip
def test_loaded_and_rejected_rows_are_all_rows(
    name: str, content: str, loaded: int, rejected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field case 142: each rejected row is there with its reason; no valid row at all is 1."""
    code, rows = judged(lines(name, content), "--json")
    summary = json.loads(capsys.readouterr().out)

    assert code == (1 if not loaded else 2 if rejected else 0)
    assert (summary["records"], summary["bad"], summary["lines"]) == (loaded, rejected, loaded + rejected)  # fmt: skip
    assert [bool(row["errors"].get("input")) for row in rows].count(True) == rejected


def test_many_bad_rows_are_listed_by_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty are told of one by one, the rest together; no line of a list is left out."""
    bad = '{"context": []}'
    file = lines("t.jsonl", *[bad] * 30, json.dumps(GOOD), *[bad] * 2, "{")
    assert judged(file)[0] == 2
    said = capsys.readouterr().err.splitlines()

    assert sum(line.startswith("t.jsonl:") for line in said) == 20
    assert any(line.startswith("lines 21-30, 32-33: field `response`: it is") for line in said)
    assert any(line.startswith("line 34: the line is not JSON") for line in said)
    assert all(len(line) < 80 for line in said[20:])


# --- the store --------------------------------------------------------------------------------


def stored(**where: Any) -> list[Any]:
    with open_store("aletheia.db", read_only=True) as store:
        return list(store.traces(TraceFilter(**where)))


def test_traces_and_results_are_kept_and_a_second_run_replaces_them() -> None:
    file = saved("t.csv", [*TRACES, {"id": "bad", "query": "q", "context": None, "response": ""}])
    for _ in range(2):
        assert run(["eval", file, "-q", "--project", "mills"]) == 2
    traces = stored(project="mills")

    assert [trace.external_id.split(":")[1:] for trace in traces] == [
        *(["2", "good"], ["3", "wrong"], ["4", "bare"])
    ]
    assert {trace.status for trace in traces} == {TraceStatus.EVALUATED}
    assert traces[0].result.failure_cell == "complete_grounded"
    assert {trace.result.making["persisted"] for trace in traces} == {"mills"}
    assert [trace.chunks[1].text for trace in traces[:2]] == MILL[1:] * 2


def test_without_the_store_nothing_is_made() -> None:
    judged(saved("t.jsonl"))
    assert not Path("aletheia.db").exists()


def test_a_run_goes_on_from_the_store_and_keeps_its_threshold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What this very run has judged is not judged again; another judge's rows are."""
    file = saved("t.jsonl")
    assert run(["eval", file, "-q", "--limit", "2"]) == 0
    first = stored()
    capsys.readouterr()
    assert run(["eval", file, "-q", "--resume"]) == 0
    assert "rows from an earlier run: 2" in capsys.readouterr().out
    second = stored()

    assert [trace.evaluated_at for trace in second[:2]] == [trace.evaluated_at for trace in first]
    assert len(second) == 3
    assert run(["eval", file, "-q", "--resume", "--no-decompose"]) == 0
    assert "earlier run" not in capsys.readouterr().out


def test_what_is_taken_out_is_in_no_store_and_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALETHEIA_REDACT", "mask")
    record = {**GOOD, "context": ["Write to ana.quill@example.org."], "response": "Write to ana.quill@example.org."}  # fmt: skip
    assert run(["eval", saved("t.jsonl", [record]), "-q", "-o", "o.jsonl"]) == 0

    assert "ana.quill" not in Path("o.jsonl").read_text() + stored()[0].model_dump_json()
    assert stored()[0].result.faithfulness[0].verdict == "Y"


def waiting(store: Any, *responses: str, project: str = "default") -> tuple[int, ...]:
    chunks = (ContextChunk(text=MILL[0], rank=0),)
    ids: tuple[int, ...] = store.add(
        [NewTrace(query=QUERY, chunks=chunks, response=r, project=project) for r in responses]
    )
    return ids


def test_what_waits_or_failed_in_the_store_is_swept_up() -> None:
    """Of one project; what another process has claimed is left to it."""
    with open_store("aletheia.db") as store:
        one, two, three = waiting(store, "It opened in 1911.", "It opened in 1950.", "x")
        (other,) = waiting(store, "y", project="other")
        store.fail(two, "the endpoint was down")
        claimed = store.claim(1, owner="someone", where=TraceFilter(ids=(three,)))
    code = run(["eval", "--pending", "-q", "-o", "o.jsonl"])

    assert (code, [row["id"] for row in read_rows("o.jsonl")]) == (0, [one, two])
    assert [trace.id for trace in claimed] == [three]
    assert {trace.id: trace.status for trace in stored()} == {
        one: TraceStatus.EVALUATED,
        two: TraceStatus.EVALUATED,
        three: TraceStatus.PENDING,
        other: TraceStatus.PENDING,
    }


def test_that_nothing_waits_is_no_failure() -> None:
    assert run(["eval", "--pending", "-q"]) == 0


def test_the_threshold_of_the_project_is_read_once_at_the_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Results of the run itself do not move it, so that order changes nothing."""
    file = saved("t.jsonl", [{**GOOD, "id": n, "response": f"The mill opened in 1911. {'!' * n}"} for n in range(21)])  # fmt: skip
    assert run(["eval", file, "-q", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["threshold"]
    assert run(["eval", file, "-q", "--json", "-c", "1"]) == 0
    second = json.loads(capsys.readouterr().out)["threshold"]

    assert (first["source"], second["source"], second["traces"]) == ("fallback_project", "calibrated", 21)  # fmt: skip
    assert len({trace.result.diagnosis.threshold for trace in stored()}) == 1


# --- what cannot be asked ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["t.jsonl", "--pending"],
        ["--pending", "--no-persist"],
        ["--pending", "--resume"],
        ["t.jsonl", "--resume", "--no-persist"],
        ["t.jsonl", "--map", "context"],
        ["t.jsonl", "--map", "context=a", "--map", "context=b"],
    ],
)
def test_what_does_not_fit_together_is_refused(arguments: list[str]) -> None:
    saved("t.jsonl")
    assert run(["eval", *arguments]) == 2
    assert not Path("aletheia.db").exists()


@pytest.mark.parametrize("name", ["missing.csv", "t.parquet", "folder"])
def test_a_file_that_cannot_be_read_is_1(name: str) -> None:
    Path("t.parquet").write_text("PAR1")
    Path("folder").mkdir()
    assert run(["eval", name, "--no-persist"]) == 1


# --- progress ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "check"),
    [
        (["--progress", "json"], lambda err: [json.loads(line)["kind"] for line in err] == ["started", *["row"] * 3]),
        (["--progress", "plain"], lambda err: err[0].startswith("3 traces, judged by")),
        ([], lambda err: err[0].startswith("3 traces, judged by")),
        (["--progress", "none"], lambda err: err == []),
        (["--quiet"], lambda err: err == []),
    ],
)  # fmt: skip
def test_progress_has_one_form(
    options: list[str],
    check: Callable[[list[str]], bool],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Field case 167: plain lines where there is no terminal; data stay on standard output."""
    assert run(["eval", saved("t.jsonl"), *options]) == 0
    said = capsys.readouterr()

    assert check(said.err.splitlines()), said.err
    assert said.out.startswith("3 traces, 2 evaluated")
    assert all(len(line) < 81 for line in said.out.splitlines())
