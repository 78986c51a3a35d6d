"""`aletheia evaluate-ragas` as a user runs it: offline, over HTTP, interrupted, killed, badly used."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from e2e.program import TIMEOUT_S, Done, environment, here, line, process
from stub_server import Rule, Step, StubServer, answer_json

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
TIMELESS = {"timings_ms", "created_at", "resumed", "command"}


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six questions of the invented world, the last without an answer."""
    questions = json.loads((ROOT / "questions" / "aldermoor.json").read_text(encoding="utf-8"))
    real = [item for item in questions["questions"] if item["answerable"]][:60:12]
    none = next(item for item in questions["questions"] if not item["answerable"])
    path = tmp_path_factory.mktemp("questions") / "six.json"
    path.write_text(json.dumps({"questions": [*real, none]}), encoding="utf-8")
    return path


def arguments_of(questions: Path, out: Path, *options: str) -> list[str]:
    return [
        *("evaluate-ragas", "--knowledge-graph", str(ROOT / "graphs" / "aldermoor.json")),
        *("--questions", str(questions), "--output-dir", str(out)),
        *options,
    ]


def command(questions: Path, out: Path, *options: str) -> list[str]:
    """The command line of a process, for those that are interrupted."""
    return line(*arguments_of(questions, out, *options))


def evaluate(questions: Path, out: Path, *options: str, **variables: str) -> Done:
    return here(*arguments_of(questions, out, *options), cwd=out.parent, **variables)


def evaluate_in_a_process(questions: Path, out: Path, *options: str, **variables: str) -> Done:
    return process(*arguments_of(questions, out, *options), cwd=out.parent, **variables)


def report(out: Path) -> dict[str, Any]:
    """The newest report of a directory."""
    path = max(out.glob("ragas_*.json"))
    assert path.with_suffix(".html").exists()
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in TIMELESS}
    return [timeless(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def undisturbed(six: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of one run that nobody disturbed."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    done = evaluate_in_a_process(six, out)
    assert done.returncode == 0, done.stderr
    (out / "stdout.txt").write_text(done.stdout, encoding="utf-8")
    (out / "stderr.txt").write_text(done.stderr, encoding="utf-8")
    return out


def test_the_offline_run_says_once_that_no_model_is_involved(undisturbed: Path) -> None:
    told = (undisturbed / "stderr.txt").read_text(encoding="utf-8")
    found = report(undisturbed)

    assert told.count("no language model is involved") == 1
    assert found["provenance"]["generator"] == "extractive"
    assert "no language model is involved" in found["provenance"]["generator_note"]
    assert found["provenance"]["metrics_by"] == "embedded"
    assert len(found["detailed_results"]) == 6
    assert {row["category"] for row in found["detailed_results"]} <= {
        "grounded_answer",
        "insufficient_context",
        "rejected",
    }


def test_the_summary_fits_a_terminal_and_ends_with_the_files(undisturbed: Path) -> None:
    lines = (undisturbed / "stdout.txt").read_text(encoding="utf-8").splitlines()

    assert all(len(line) <= 80 for line in lines[:-2])
    assert lines[-2].startswith("report: ")
    assert lines[-2].endswith(".json")
    assert lines[-1].endswith(".html")
    assert "\x1b" not in "".join(lines)


def test_nothing_but_the_two_files_is_left(undisturbed: Path) -> None:
    left = {path.suffix for path in undisturbed.iterdir() if path.name.startswith((".", "ragas"))}

    assert left == {".json", ".html"}


def test_json_on_stdout_is_the_report_and_nothing_else(
    six: Path, undisturbed: Path, tmp_path: Path
) -> None:
    done = evaluate_in_a_process(six, tmp_path / "out", "--json", "--quiet")

    assert done.returncode == 0
    assert timeless(json.loads(done.stdout)) == timeless(report(undisturbed))
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["report", "page"]


def rows_in(out: Path) -> int:
    """Whole rows in the journal of a run under way."""
    journals = list(out.glob("*.partial.jsonl"))
    return journals[0].read_bytes().count(b"\n") - 1 if journals else 0


def interrupted(six: Path, out: Path, number: signal.Signals) -> tuple[int, str]:
    """Start a run, send it a signal after its second row, and wait for its end."""
    process = subprocess.Popen(
        command(six, out, "--concurrency", "1"),
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    until = time.monotonic() + TIMEOUT_S
    while rows_in(out) < 2 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(number)
    _, told = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, told


def test_after_ctrl_c_resume_ends_with_the_same_report(
    six: Path, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    code, told = interrupted(six, out, signal.SIGINT)

    assert code == 130
    assert "--resume" in told
    assert "Traceback" not in told
    assert list(out.glob("*.json")) == []
    kept = rows_in(out)
    assert 2 <= kept < 6

    done = evaluate(six, out, "--resume")
    assert done.returncode == 0, done.stderr
    assert timeless(report(out)) == timeless(report(undisturbed))
    assert report(out)["provenance"]["resumed"] == kept
    assert list(out.glob("*.partial.jsonl")) == []


def test_ctrl_c_while_the_model_is_slow_ends_at_once_and_leaves_nothing(
    six: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with StubServer([Step(text="late", delay=120, times=None)]) as server:
        process = subprocess.Popen(
            command(six, out, "--metrics", "embedded", "--no-cache"),
            env=environment(OPENAI_BASE_URL=server.base_url),
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + TIMEOUT_S
        while not server.chats and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "nothing is kept" in told
    assert "Traceback" not in told
    assert list(out.iterdir()) == []


def test_after_kill_9_resume_ends_with_the_same_report(
    six: Path, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    code, _ = interrupted(six, out, signal.SIGKILL)

    assert code == -signal.SIGKILL
    kept = rows_in(out)
    assert kept >= 2
    (journal,) = out.glob("*.partial.jsonl")
    with journal.open("ab") as handle:
        handle.write(b'{"kind": "row", "index": 5, "ro')

    other = evaluate(six, out, "--resume", "--hops", "3", "--grounding-mode", "off")
    assert other.returncode == 2
    assert "hops was `2`, now `3`" in other.stderr
    assert "mode was `strict`, now `off`" in other.stderr

    done = evaluate(six, out, "--resume")
    assert done.returncode == 0, done.stderr
    assert "cut off" in done.stderr
    assert timeless(report(out)) == timeless(report(undisturbed))
    assert report(out)["provenance"]["resumed"] == kept


# --- a model over HTTP ------------------------------------------------------------------------


def first_words(six: Path) -> list[str]:
    items = json.loads(six.read_text(encoding="utf-8"))["questions"]
    return [item["question"] for item in items]


FAST = {"ALETHEIA_MAX_RETRIES": "1", "ALETHEIA_TIMEOUT_S": "4"}

REPLIES: tuple[tuple[list[Step], str, str | None], ...] = (
    ([Step(text="{}", times=None)], "rejected", "parse_error"),
    ([Step(text="", times=None)], "rejected", "parse_error"),
    ([Step(text=answer_json("Nowhere", ["E77"]))], "rejected", "invalid_citation_ids"),
    ([Step(text=answer_json("INSUFFICIENT_CONTEXT"))], "insufficient_context", None),
    ([Step(status=429, headers={"Retry-After": "0"})], "grounded_answer", None),
    ([], "grounded_answer", None),
)
"""What the model says to each of the six questions, and what must become of it."""

FAILURES: tuple[tuple[list[Step], str, str | None], ...] = (
    ([Step(status=500, times=None)], "error", None),
    ([Step(delay=20, times=None)], "error", None),
    ([Step(hang_up=True, times=None)], "error", None),
    ([Step(raw="<html>", times=None)], "error", None),
    ([Step(status=401, times=None)], "error", None),
    ([], "grounded_answer", None),
)


@pytest.mark.parametrize(
    ("cases", "code", "refuses"),
    [
        pytest.param(REPLIES, 0, ["json_schema"], id="replies"),
        pytest.param(FAILURES, 1, [], id="failures"),
    ],
)
def test_whatever_the_endpoint_does_becomes_the_right_category(
    six: Path,
    tmp_path: Path,
    cases: Sequence[tuple[list[Step], str, str | None]],
    code: int,
    refuses: list[str],
) -> None:
    """One run in which every question meets something else; nothing is lost on the way."""
    out = tmp_path / "out"
    rules = [
        Rule(contains=question, steps=case[0])
        for question, case in zip(first_words(six), cases, strict=True)
    ]
    with StubServer(rules=rules, refuses=refuses) as server:
        done = evaluate(
            six,
            out,
            *("--metrics", "embedded", "--concurrency", "6", "--stop-after", "0"),
            OPENAI_BASE_URL=server.base_url,
            **FAST,
        )

    found = report(out)
    rows = found["detailed_results"]
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert [(row["category"], row["rejection_reason"]) for row in rows] == [
        (category, reason) for _, category, reason in cases
    ]
    errors = sum(case[1] == "error" for case in cases)
    assert found["grounding_report"]["response_categories"]["errors"] == errors
    assert found["grounding_report"]["summary"]["total_verified"] == 6 - errors
    assert all(row["error"] for row in rows if row["category"] == "error")
    assert (list(out.glob("*.partial.jsonl")) == []) is (code == 0)
    wanted = "json_object" if refuses else "json_schema"
    assert found["provenance"]["structured_output"] == wanted


def test_an_endpoint_that_is_down_stops_the_run_and_resume_finishes_it(
    six: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with StubServer([Step(status=402, times=None)]) as server:
        port = server.port
        down = evaluate(
            six,
            out,
            *("--metrics", "embedded", "--concurrency", "1", "--stop-after", "3"),
            OPENAI_BASE_URL=server.base_url,
            **FAST,
        )
        asked = len(server.chats)

    assert down.returncode == 1
    assert asked == 3
    assert "3 failures of one kind in a row" in down.stderr
    assert "--resume" in down.stderr
    assert [row["category"] for row in report(out)["detailed_results"]] == ["error"] * 6
    assert report(out)["grounding_report"]["summary"]["pass_rate"] is None

    with StubServer(port=port) as server:
        up = evaluate(
            six, out, "--metrics", "embedded", "--resume", OPENAI_BASE_URL=server.base_url
        )
    assert up.returncode == 0, up.stderr
    assert "error" not in {row["category"] for row in report(out)["detailed_results"]}
    assert len(list(out.glob("*.json"))) == 2


def test_a_judge_that_talks_nonsense_leaves_metrics_unmeasured(six: Path, tmp_path: Path) -> None:
    """The stub fills every schema with the same few values, which no judge could mean."""
    with StubServer() as server:
        done = evaluate(six, tmp_path / "out", OPENAI_BASE_URL=server.base_url, **FAST)

    found = report(tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert found["provenance"]["metrics_by"] == "ragas"
    for row in found["detailed_results"]:
        for score in row["metrics"].values():
            assert (score["value"] is None) is (score["status"] != "measured")
            assert score["implementation"].startswith("ragas:")
    assert "NaN" not in json.dumps(found)


# --- bad input --------------------------------------------------------------------------------


def graph(directory: Path, text: str) -> str:
    path = directory / "broken.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


def questions(directory: Path, value: object) -> str:
    path = directory / "bad.json"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return str(path)


ONE = {"id": "a", "question": "Where?", "answer": "here"}


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("unknown graph", ["no knowledge graph `aldermor`", "`aldermoor`", "terrorist_orgs"]),
        ("broken graph", ["broken.json:2"]),
        ("missing field", ["bad.json:1", "questions[0].answer", "missing"]),
        ("duplicate id", ["bad.json", "field `id`", "question 2", "question 1"]),
        ("empty list", ["bad.json", "empty"]),
        ("wrong encoding", ["bad.json", "UTF-8"]),
        ("no file", ["no question file `nowhere.json`"]),
        ("output is a file", ["is not a directory", "--output-dir"]),
        ("output is read-only", ["nothing can be written into `/proc/"]),
        ("unknown mode", ["--grounding-mode", "strict", "lenient", "off"]),
        ("model without endpoint", ["--generator", "OPENAI_API_KEY", "extractive"]),
        ("model without use", ["--model gpt", "no effect"]),
        ("bad setting", ["ALETHEIA_CONCURRENCY"]),
        ("missing option", ["--questions"]),
    ],
)
def test_bad_input_is_one_error_and_exit_2(tmp_path: Path, case: str, said: list[str]) -> None:
    arguments = {
        "--knowledge-graph": "aldermoor",
        "--questions": "aldermoor",
        "--output-dir": str(tmp_path / "out"),
    }
    variables: dict[str, str] = {}
    match case:
        case "unknown graph":
            arguments["--knowledge-graph"] = "aldermor"
        case "broken graph":
            arguments["--knowledge-graph"] = graph(tmp_path, '{"nodes": [\n{"id": }]}')
        case "missing field":
            arguments["--questions"] = questions(tmp_path, [{"id": "a", "question": "x"}])
        case "duplicate id":
            arguments["--questions"] = questions(tmp_path, [ONE, ONE])
        case "empty list":
            arguments["--questions"] = questions(tmp_path, {"questions": []})
        case "wrong encoding":
            arguments["--questions"] = questions(tmp_path, b'["\xff"]')
        case "no file":
            arguments["--questions"] = "nowhere.json"
        case "output is a file":
            (tmp_path / "out").write_text("mine", encoding="utf-8")
        case "output is read-only":
            arguments["--output-dir"] = "/proc/aletheia"
        case "unknown mode":
            arguments["--grounding-mode"] = "harsh"
        case "model without endpoint":
            arguments["--generator"] = "llm"
        case "model without use":
            arguments["--model"] = "gpt"
        case "bad setting":
            variables["ALETHEIA_CONCURRENCY"] = "many"
        case "missing option":
            del arguments["--questions"]

    given = [part for pair in arguments.items() for part in pair]
    done = here("evaluate-ragas", *given, cwd=tmp_path, **variables)

    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert all(part in done.stderr for part in said), done.stderr
    first, *rest = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert not rest or (rest[0] == "" and rest[1].startswith("hint: ") and len(rest) == 2)
    assert not list(tmp_path.glob("out/*"))
