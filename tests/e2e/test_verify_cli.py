"""`aletheia verify` as a user runs it: what it reads, writes, says, and ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Done, environment, here, line

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
EVIDENCE = ["The pump runs at 40 Hz.", {"text": "Mara Quint built it.", "source": "Log"}]


def record(record_id: object, answer: str = "The pump runs at 40 Hz.", **changes: object) -> str:
    fields: dict[str, object] = {
        "id": record_id,
        "evidence": EVIDENCE,
        "reply": {"answer": answer, "evidence_ids": ["E1"]},
    }
    return json.dumps({**fields, **changes}, ensure_ascii=False)


GOOD = record("good")
WRONG = record("wrong", "The pump runs at 50 Hz.")
BAD = '{"id": "bad", "reply": "x"}'


def verify(*arguments: object, cwd: Path = ROOT) -> Done:
    return here("verify", *arguments, cwd=cwd)


def verify_in_a_process(
    *arguments: object, stdin: bytes = b"", **variables: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        line("verify", *arguments),
        input=stdin,
        capture_output=True,
        env=environment(**variables),
        timeout=60,
        check=False,
    )


def rows(output: str | bytes) -> list[dict[str, Any]]:
    text = output.decode("utf-8") if isinstance(output, bytes) else output
    return [json.loads(row) for row in text.split("\n") if row]


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(*lines: str) -> Path:
        path = tmp_path / "answers.jsonl"
        path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
        return path

    return write


@pytest.mark.parametrize(
    ("lines", "code", "categories"),
    [
        ([GOOD], 0, ["grounded_answer"]),
        ([GOOD, WRONG], 3, ["grounded_answer", "rejected"]),
        ([BAD, WRONG, GOOD], 2, ["error", "rejected", "grounded_answer"]),
        ([], 1, []),
        ([BAD], 1, ["error"]),
    ],
)
def test_the_exit_status_and_the_rows(
    written: Any, lines: list[str], code: int, categories: list[str]
) -> None:
    done = verify(written(*lines))

    assert (done.returncode, [row["category"] for row in rows(done.stdout)]) == (code, categories)


def test_a_bad_line_is_named_with_file_line_and_field(written: Any) -> None:
    path = written(GOOD, BAD)

    assert f"{path}:2: field `evidence`: it is missing" in verify(path).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["none.jsonl"], 1, "`none.jsonl` cannot be read"),
        (["."], 1, "`.` cannot be read"),
        ([], 2, "FILE"),
        (["a.jsonl", "--grounding-mode", "strikt"], 2, "did you mean `strict`"),
        (["a.jsonl", "--max-bad-rows", "-1"], 2, "--max-bad-rows"),
        (["a.jsonl", "--max-bad-rows", "x"], 2, "--max-bad-rows"),
        (["a.jsonl", "--nothing"], 2, "--nothing"),
        (["a.jsonl", "b.jsonl"], 2, "b.jsonl"),
        (["a.jsonl", "--output", "a.jsonl"], 2, "is the file that is read"),
        (["a.jsonl", "--output", "none/out.jsonl"], 2, "there is no directory `none`"),
        (["a.jsonl", "--output", "."], 2, "is a directory"),
    ],
)
def test_bad_usage_is_one_error_without_a_traceback(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    (tmp_path / "a.jsonl").write_text(GOOD, encoding="utf-8")

    done = verify(*arguments, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_standard_input_is_read_for_a_dash() -> None:
    done = verify_in_a_process("-", stdin=b"\xef\xbb\xbf" + GOOD.encode() + b"\r\n\r\n{")

    assert (done.returncode, len(rows(done.stdout))) == (2, 2)
    assert "standard input:3: the line is not JSON" in done.stderr.decode()


@pytest.mark.parametrize(
    ("mode", "code", "passed"), [("strict", 3, False), ("lenient", 0, True), ("off", 0, True)]
)
def test_the_mode_decides_what_passes(written: Any, mode: str, code: int, passed: bool) -> None:
    done = verify(written(WRONG), "--grounding-mode", mode)

    (row,) = rows(done.stdout)
    assert (done.returncode, row["passed"], row["verified"]) == (code, passed, False)
    assert row["findings"][0]["text"] == "50 Hz"


def test_names_of_the_question_pass_where_they_are_exempt(written: Any) -> None:
    path = written(record("a", "Iran backs it.", question="Does Iran back it?", evidence=["Yes."]))

    assert verify(path).returncode == 3
    told = rows(verify(path, "--exempt-question-entities").stdout)[0]
    assert [item for item in told["findings"] if item["reason"] == "from_question"] == []


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_rows_are_utf_8_whatever_the_terminal_says(written: Any, encoding: str) -> None:
    path = written(
        record("東京 \u2028", evidence=["Zürich 😀"]), r'{"id": "\ud83d", "evidence": 1}'
    )

    done = verify_in_a_process(path, PYTHONIOENCODING=encoding, PYTHONUTF8="0")

    assert [row["id"] for row in rows(done.stdout)] == ["東京 \u2028", "\ud83d"]


def test_output_goes_into_a_file_that_is_whole(written: Any, tmp_path: Path) -> None:
    target = tmp_path / "rows.jsonl"
    target.write_text("old", encoding="utf-8")

    done = verify(written(GOOD, WRONG), "--output", target)

    assert (done.returncode, done.stdout) == (3, "")
    assert len(rows(target.read_bytes())) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.jsonl", "rows.jsonl"]


def test_a_device_is_written_to_and_not_replaced(written: Any) -> None:
    assert verify(written(GOOD), "--output", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


def test_a_row_is_there_before_the_next_line_is_read() -> None:
    with subprocess.Popen(
        line("verify", "-"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for given in (GOOD, WRONG):
            running.stdin.write(given.encode() + b"\n")
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["id"] == json.loads(given)["id"]
        running.stdin.close()
        assert running.wait(timeout=60) == 3


def test_a_reader_that_goes_away_ends_the_run_quietly(written: Any) -> None:
    path = written(*[GOOD] * 2000)
    command = f"{sys.executable} -m aletheia verify {path} | head -1; echo ${{PIPESTATUS[0]}}"

    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stdout.splitlines()[-1] == "141"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


MEASURED = """
import sys
from aletheia.cli.app import run
run(["verify", sys.argv[1], "--output", "/dev/null"])
# Not `ru_maxrss`: that counts the memory of the process that started this one.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(status["VmHWM"].split()[0])
print(*sys.modules)
"""


def measured(path: Path) -> tuple[int, set[str]]:
    """Peak memory of a run in KiB, and the modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    peak, modules = done.stdout.splitlines()
    return int(peak), {name.partition(".")[0] for name in modules.split()}


def test_memory_does_not_grow_with_the_number_of_records(written: Any) -> None:
    padding = "The valve was cleaned before the winter came. " * 100
    lines = [record(n, evidence=[*EVIDENCE, padding]) for n in range(2000)]

    few, _ = measured(written(*lines[:100]))
    many, _ = measured(written(*lines))

    assert len(padding) * len(lines) > 8 * 2**20
    assert many - few < 4 * 1024


def test_a_run_loads_no_heavy_library(written: Any) -> None:
    """What keeps the start of the program short."""
    heavy = {"numpy", "scipy", "openai", "ragas", "datasets", "networkx", "jinja2", "onnxruntime"}
    heavy |= {"rich", "anyio", "bm25s", "tokenizers", "httpx2", "tenacity", "rdflib", "dotenv"}

    _, loaded = measured(written(GOOD, WRONG))

    assert loaded & heavy == set()
