"""`aletheia eval` as a process: what it reads, writes, says, keeps, and ends with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.test_judges_wire import working
from stub_server import Recorded, Step, StubServer

from aletheia.reports.trace_json import ROW_KEYS

pytestmark = pytest.mark.e2e

CONTEXT = ["The mill opened in 1911.", "The mill has a red roof."]


def record(**fields: object) -> str:
    usual = {
        "query": "The mill opened when?",
        "context": CONTEXT,
        "response": "The mill opened in 1911.",
    }
    return json.dumps({**usual, **fields}, ensure_ascii=False)


GOOD = record(id="good")
BAD = '{"id": "bad", "response": "x"}'


@pytest.fixture
def traces(tmp_path: Path) -> Any:
    def write(*lines: str) -> Path:
        path = tmp_path / "traces.jsonl"
        path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
        return path

    return write


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "aletheia", *map(str, arguments)]


def environment(server: StubServer | None) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPENAI_", "ALETHEIA_"))
    }
    if server is None:
        return kept
    return {
        **kept,
        "OPENAI_BASE_URL": server.base_url,
        "ALETHEIA_MAX_RETRIES": "0",
        "ALETHEIA_CACHE_ENABLED": "false",
    }


def evaluate(
    *arguments: object,
    cwd: Path,
    server: StubServer | None = None,
    stdin: bytes = b"",
    store: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run the command to its end; the store, which takes a second to load, only where it is due."""
    kept = () if store else ("--no-persist",)
    return subprocess.run(
        command("eval", *arguments, *kept),
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment(server),
        timeout=120,
        check=False,
    )


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().decode("utf-8").splitlines()]


def without_times(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in row.items()
        if key not in ("created_at", "latency_ms", "cost", "making")
    }


# --- exit status and rows ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([GOOD], 0),
        ([GOOD, record(id=2, query=None)], 0),
        ([GOOD, record(id=2, response="")], 0),
        ([GOOD, BAD], 2),
        ([GOOD, "{"], 2),
        ([BAD], 1),
        ([], 1),
        ([""], 1),
    ],
)
def test_the_exit_status_says_what_happened(traces: Any, lines: list[str], code: int) -> None:
    """0 clean, 1 no valid record, 2 a bad line; a trace without a query is no failure."""
    path = traces(*lines)
    assert evaluate(path, cwd=path.parent).returncode == code


def test_a_file_that_is_missing_is_1(tmp_path: Path) -> None:
    done = evaluate("nothing.jsonl", cwd=tmp_path)
    assert (done.returncode, b"`nothing.jsonl` cannot be read" in done.stderr) == (1, True)


def test_there_is_a_row_for_every_line_in_the_order_of_the_lines(traces: Any) -> None:
    ids: list[object] = ["a", 7, 1.5, None, "bad", "a", "7"]
    lines = [BAD if name == "bad" else record(id=name) for name in ids]
    path = traces(*lines, "", "{")
    done = evaluate(path, "--output", "out.jsonl", cwd=path.parent)

    found = rows(path.parent / "out.jsonl")
    assert [row["id"] for row in found] == [*ids, None]
    assert [row["line"] for row in found] == [1, 2, 3, 4, 5, 6, 7, 9]
    assert all(tuple(row) == ROW_KEYS for row in found)
    assert [bool(row["errors"]) for row in found] == [name == "bad" for name in [*ids, "bad"]]
    assert done.returncode == 2
    assert b"traces.jsonl:5: field `context`: it is missing" in done.stderr
    assert list(path.parent.glob("*.partial")) == []


def test_bytes_are_cut_at_line_feeds_only(tmp_path: Path) -> None:
    """Field case 143: a mark at the start, U+2028 inside a text, CRLF, a bad last line."""
    path = tmp_path / "in.jsonl"
    line = record(id="a\u2028b").encode()
    path.write_bytes(b"\xef\xbb\xbf" + line + b'\r\n\r\n{"query":')
    done = evaluate(path, "--output", "out.jsonl", cwd=tmp_path)

    found = rows_by_feed(tmp_path / "out.jsonl")
    assert [row["id"] for row in found] == ["a\u2028b", None]
    assert done.returncode == 2


def rows_by_feed(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def test_text_that_acts_on_terminals_stays_data(traces: Any) -> None:
    """Field case 146: escapes and half of a UTF-16 pair neither act nor stop the run."""
    nasty = '{"id": "\\u001b[31m\\n", "context": ["\\u001b]0;x\\u0007 a"], "response": "\\ud83d a"}'
    path = traces(nasty, "{")
    done = evaluate(path, "--output", "out.jsonl", cwd=path.parent)

    assert b"\x1b" not in done.stdout + done.stderr
    assert rows(path.parent / "out.jsonl")[0]["making"]["replaced_characters"] == "1"


def test_a_row_holds_what_the_contract_lists(traces: Any) -> None:
    path = traces(record(id=1, response="The mill opened in 1911. The mill was sold in 1950."))
    evaluate(path, "--output", "out.jsonl", cwd=path.parent)
    (row,) = rows(path.parent / "out.jsonl")

    text = "The mill opened in 1911. The mill was sold in 1950."
    assert [text[item["start"] : item["end"]] for item in row["faithfulness"]] == [
        item["claim"] for item in row["faithfulness"]
    ]
    assert [item["verdict"] for item in row["faithfulness"]] == ["Y", "N"]
    assert row["faithfulness"][0]["evidence_ids"] == ["E1"]
    assert all(
        0 <= start < end <= len(text) for start, end in row["faithfulness"][1]["unsupported"]
    )
    assert row["flags"]["ungrounded"] is True
    assert 0 < row["faithfulness_score"] < 1
    assert 0 <= row["sufficiency_score"] <= 1


@pytest.mark.parametrize(
    ("fields", "faithfulness", "sufficiency"),
    [
        ({"query": None}, True, False),
        ({"response": "INSUFFICIENT_CONTEXT"}, False, True),
        ({"response": " "}, False, True),
        ({"context": []}, True, True),
    ],
)
def test_what_is_not_measured_has_no_score(
    traces: Any, fields: dict[str, Any], faithfulness: bool, sufficiency: bool
) -> None:
    path = traces(record(**fields))
    evaluate(path, "--output", "out.jsonl", cwd=path.parent)
    (row,) = rows(path.parent / "out.jsonl")

    assert (row["faithfulness_score"] is not None) is faithfulness
    assert (row["sufficiency_score"] is not None) is sufficiency


# --- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "claims"), [("--decompose", 2), ("--no-decompose", 1)])
def test_the_response_is_cut_or_taken_whole(traces: Any, option: str, claims: int) -> None:
    path = traces(record(response="The mill opened in 1911. The mill has a red roof."))
    evaluate(path, option, "--output", "out.jsonl", cwd=path.parent)

    assert len(rows(path.parent / "out.jsonl")[0]["faithfulness"]) == claims


@pytest.mark.parametrize(
    ("fields", "options", "code"),
    [
        ({"question": "q", "contexts": ["a"], "answer": "b"}, [], 0),
        ({"user_input": "q", "retrieved_contexts": ["a"], "response": "b"}, [], 0),
        ({"q": "q", "docs": ["a"], "out": "b"}, [], 1),
        ({"q": "q", "docs": ["a"], "out": "b"}, ["--map", "context=docs", "--map", "response=out"], 0),
        ({"context": ["a"], "answer": "b", "output": "c"}, [], 1),
        ({"context": ["a"], "answer": "b", "output": "c"}, ["--map", "response=output"], 0),
    ],
)  # fmt: skip
def test_columns_of_other_tools_are_read_and_told(
    traces: Any, fields: dict[str, Any], options: list[str], code: int
) -> None:
    """Field case 139: what could mean two things is an error."""
    path = traces(json.dumps(fields))
    assert evaluate(path, *options, cwd=path.parent).returncode == code


def test_standard_input_limit_and_json(tmp_path: Path) -> None:
    lines = "\n".join([GOOD] * 5).encode()
    done = evaluate("-", "--limit", 2, "--json", cwd=tmp_path, stdin=lines)

    summary = json.loads(done.stdout)
    assert (summary["records"], summary["rates"]["cells"]["complete_grounded"]) == (2, 2)
    assert summary["rates"]["healthy"]["rate"]["denominator"] == 2


def test_reading_stops_after_too_many_bad_lines(traces: Any) -> None:
    path = traces(BAD, BAD, GOOD, GOOD)
    done = evaluate(path, "--max-bad-rows", 1, "--output", "out.jsonl", cwd=path.parent)

    assert (done.returncode, len(rows(path.parent / "out.jsonl"))) == (1, 2)


def test_quiet_keeps_only_failures(traces: Any) -> None:
    path = traces(GOOD, BAD)
    done = evaluate(path, "--quiet", cwd=path.parent)
    assert done.stderr.decode().splitlines() == [
        f"{path}:2: field `context`: it is missing (`context` may be `[]`, and it has to be there)"
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--resume"],
        ["--output", "."],
        ["--output", "no/such/out.jsonl"],
        ["--output", "traces.jsonl"],
        ["--map", "x=y"],
        ["--judge", "llm"],
        ["--repeat", "0"],
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_judged(
    traces: Any, arguments: list[str]
) -> None:
    path = traces(GOOD)
    done = evaluate(path, *arguments, cwd=path.parent)

    assert (done.returncode, done.stdout) == (2, b"")
    assert path.read_text(encoding="utf-8") == GOOD + "\n"


# --- with a model -----------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(answer=working) as running:
        yield running


def test_a_model_judges_where_an_endpoint_is_set(traces: Any, server: StubServer) -> None:
    path = traces(GOOD, record(id=2, response="Nobody ever said such things."))
    done = evaluate(path, "--output", "o.jsonl", "--repeat", 3, cwd=path.parent, server=server)

    found = rows(path.parent / "o.jsonl")
    assert done.returncode == 0
    assert [row["faithfulness"][0]["agreement"] for row in found] == [1.0, 1.0]
    assert [row["faithfulness_score"] for row in found] == [1.0, 0.0]
    assert [row["cost"]["calls"] for row in found] == [11, 11]
    assert b"22 calls" in done.stdout


def test_the_same_trace_again_costs_nothing(traces: Any, server: StubServer) -> None:
    """Field case 160: same scores and reasons from the reply cache, at no cost."""
    path = traces(record(id=1), record(id=2))
    options = ["--output", "out.jsonl", "--cache", "--concurrency", 1]
    evaluate(path, *options, cwd=path.parent, server=server)
    first, second = map(without_times, rows(path.parent / "out.jsonl"))
    cost = rows(path.parent / "out.jsonl")[1]["cost"]

    assert {**first, "id": None, "line": 0} == {**second, "id": None, "line": 0}
    assert (len(server.requests), cost["cached"], cost["usd"]) == (5, 5, 0.0)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_provider_that_fails_stops_the_run_and_can_be_resumed(
    traces: Any, server: StubServer, concurrency: int
) -> None:
    """Field cases 23, 26: every line has its row, none of them counts, and later all do."""
    lines = [record(id=name, response=f"The mill opened in 1911. {name}") for name in range(12)]
    path = traces(*lines)
    out = path.parent / "out.jsonl"
    arguments = [path, "--output", out, "--concurrency", concurrency]
    with StubServer(answer=lambda _: Step(status=402)) as broke:
        port = broke.port
        done = evaluate(*arguments, cwd=path.parent, server=broke)
    assert done.returncode == 2
    assert [row["id"] for row in rows(out)] == list(range(12))
    assert all(row["errors"] and row["failure_cell"] is None for row in rows(out))
    assert sum("run" in row["errors"] for row in rows(out)) >= 12 - 5 - concurrency
    assert b"stopped: 5 failures of one kind in a row" in done.stdout

    with StubServer(answer=working, port=port) as mended:
        again = evaluate(*arguments, "--resume", cwd=path.parent, server=mended)
    assert again.returncode == 0
    assert all(row["failure_cell"] is not None for row in rows(out))
    assert not out.with_name("out.jsonl.partial").exists()


def test_one_trace_that_fails_leaves_the_others_alone(traces: Any) -> None:
    """Field case 154."""

    def answer(request: Recorded) -> str | Step:
        return Step(status=500) if "POISON" in request.prompt else working(request)

    path = traces(*[record(id=name, response=f"The mill. {name}") for name in ("a", "POISON", "c")])
    with StubServer(answer=answer) as server:
        done = evaluate(path, "--output", "out.jsonl", cwd=path.parent, server=server)

    assert done.returncode == 2
    assert [bool(row["errors"]) for row in rows(path.parent / "out.jsonl")] == [False, True, False]


@pytest.mark.parametrize("budget", ["0", "0.0000001"])
def test_a_run_does_not_go_over_its_budget(traces: Any, server: StubServer, budget: str) -> None:
    path = traces(*[record(id=name) for name in range(4)])
    done = evaluate(
        path, "--output", "out.jsonl", "--budget", budget, cwd=path.parent, server=server
    )

    assert (done.returncode, server.requests) == (2, [])
    assert all(row["errors"] for row in rows(path.parent / "out.jsonl"))
    assert b"stopped: " in done.stdout


class Gate:
    """Answers until `after` traces were cut, then holds every call until it is opened."""

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self.open = threading.Event()
        self.reached = threading.Event()

    def __call__(self, request: Recorded) -> str:
        if self._marker in request.prompt:
            self.reached.set()
            self.open.wait(60)
        return working(request)


def held_run(path: Path, gate: Gate, sign: signal.Signals) -> tuple[int, bytes]:
    """Start a run, send it a signal while the gate holds it, and wait for its end."""
    with StubServer(answer=gate) as server:
        process = subprocess.Popen(
            command("eval", path, "--output", "out.jsonl", "--concurrency", 1, "--no-persist"),
            cwd=path.parent,
            env=environment(server),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert gate.reached.wait(60)
        time.sleep(0.1)
        process.send_signal(sign)
        gate.open.set()
        _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize(
    ("sign", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)]
)
def test_a_run_that_was_ended_goes_on_where_it_was(
    traces: Any, server: StubServer, sign: signal.Signals, code: int
) -> None:
    """Field case 158: rows are kept one by one, and the rest gives the uninterrupted output."""
    names = [f"number {name}" for name in range(6)]
    path = traces(
        *[record(id=name, response=f"The mill opened in 1911: {name}.") for name in names]
    )
    out = path.parent / "out.jsonl"
    returned, said = held_run(path, Gate("number 4"), sign)
    assert returned == code
    assert not out.exists()
    if sign == signal.SIGINT:
        assert b"4 of 6 rows are in" in said

    again = evaluate(path, "--output", out, "--resume", cwd=path.parent, server=server)
    asked = {name for name in names for request in server.requests if name in request.prompt}
    assert asked == {"number 4", "number 5"}
    assert (again.returncode, b"rows from an earlier run: 4" in again.stdout) == (0, True)
    whole = path.parent / "whole.jsonl"
    evaluate(path, "--output", whole, cwd=path.parent, server=server)
    assert [without_times(row) for row in rows(out)] == [without_times(row) for row in rows(whole)]


def test_another_run_is_not_resumed(traces: Any, server: StubServer) -> None:
    """Rows of another judge, or of other data, do not belong into one output."""
    path = traces(*[record(id=name, response=f"number {name}") for name in range(4)])
    held_run(path, Gate("number 2"), signal.SIGKILL)
    arguments = [path, "--output", "out.jsonl", "--resume"]
    other = evaluate(*arguments, "--judge", "embedded", cwd=path.parent, server=server)

    assert other.returncode == 2
    assert b"was another one: judges: " in other.stderr
    assert server.requests == []


def ended_run(path: Path, sign: signal.Signals, *arguments: object) -> tuple[int, bytes]:
    """Start a run, send it a signal when it has told of its first row, and wait for its end."""
    process = subprocess.Popen(
        command("eval", path, "--progress", "json", *arguments),
        cwd=path.parent,
        env=environment(None),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if b'"row"' in line:
            break
    process.send_signal(sign)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def many(traces: Any) -> Path:
    response = "The mill opened in 1911. The mill was sold in 1950. It has {} red roofs."
    path: Path = traces(*[record(id=n, response=response.format(n)) for n in range(160)])
    return path


def test_a_run_in_processes_that_was_killed_goes_on_from_the_store(traces: Any) -> None:
    """Field case 158, without an output: the same totals as a run that nothing disturbed."""
    path = many(traces)
    assert ended_run(path, signal.SIGKILL, "-c", 2)[0] == -signal.SIGKILL

    again = evaluate(path, "--resume", "--json", "-q", cwd=path.parent, store=True)
    whole = evaluate(path, "--json", "-q", cwd=path.parent)
    found, expected = json.loads(again.stdout), json.loads(whole.stdout)
    assert (again.returncode, whole.returncode) == (0, 0)
    assert 0 < found["resumed"] < 160
    assert found["stored"] == 160 - found["resumed"]
    for part in ("lines", "records", "failed"):
        assert found[part] == expected[part]
    assert found["rates"]["cells"] == expected["rates"]["cells"]


def test_an_interrupted_run_in_processes_ends_them_and_says_what_is_kept(traces: Any) -> None:
    returned, said = ended_run(many(traces), signal.SIGINT, "-c", 2)

    assert (returned, b"Traceback" in said) == (130, False)
    assert b"of 160 rows are in" in said
    assert b"--resume" in said


def test_the_same_run_gives_the_same_rows(traces: Any) -> None:
    path = traces(
        *[record(id=name, response=f"The mill was sold in 19{name}.") for name in range(9)]
    )
    for name in ("a.jsonl", "b.jsonl"):
        evaluate(path, "--output", name, cwd=path.parent)

    first, second = (rows(path.parent / name) for name in ("a.jsonl", "b.jsonl"))
    assert list(map(without_times, first)) == list(map(without_times, second))
