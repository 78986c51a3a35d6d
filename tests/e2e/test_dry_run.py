"""`--dry-run` as a process: figures on stdout, no call, no file; they bound what a run really asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.test_evaluate_ragas import evaluate, evaluate_in_a_process
from e2e.test_faults import MODEL, files, honest
from stub_server import StubServer

pytestmark = pytest.mark.e2e


def arguments(directory: Path) -> tuple[Path, tuple[str, ...]]:
    graph, questions = files(directory, 3)
    return questions, ("--knowledge-graph", str(graph), "--max-units", "3")


def test_no_call_is_made_no_file_is_written_and_the_run_stays_within_the_figures(
    tmp_path: Path,
) -> None:
    """Case 163: with an endpoint set, neither key nor network is needed."""
    questions, options = arguments(tmp_path / "in")
    out = tmp_path / "out"
    with StubServer(answer=honest, models=(MODEL,)) as server:
        variables = {"OPENAI_BASE_URL": server.base_url, "ALETHEIA_MODEL": "gpt-4o-mini"}
        dry = (*options, "--dry-run", "--json")
        done = evaluate_in_a_process(questions, out, *dry, **variables)
        assert done.returncode == 0, done.stderr
        assert server.requests == []
        assert [item.name for item in tmp_path.iterdir()] == ["in"]
        real = evaluate(questions, out, *options, "--json", **variables)
        sent = len(server.chats)

    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert found["total"]["calls"]["low"] <= sent <= found["total"]["calls"]["high"]
    by_purpose = json.loads(real.stdout)["cost"]["by_purpose"]
    assert {line["purpose"] for line in found["lines"]} == set(by_purpose)
    assert found["total"]["usd"][0] < found["total"]["usd"][1]


@pytest.mark.parametrize(
    ("options", "variables", "said"),
    [
        pytest.param((), {}, "0 calls: neither `OPENAI_API_KEY`", id="extractive"),
        pytest.param(
            ("--generator", "llm", "--model", "nobody-sells-it", "--metrics", "embedded"),
            {},
            "price not known",
            id="unknown price",
        ),
    ],
)
def test_it_fits_a_terminal(
    tmp_path: Path, options: tuple[str, ...], variables: dict[str, str], said: str
) -> None:
    questions, given = arguments(tmp_path / "in")

    done = evaluate(questions, tmp_path / "out", *given, *options, "--dry-run", **variables)

    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert not (tmp_path / "out").exists()


def test_what_it_cannot_look_at_is_said(tmp_path: Path) -> None:
    questions, given = arguments(tmp_path / "in")

    done = evaluate(questions, tmp_path / "out", *given, "--dry-run", "--resume")

    assert done.returncode == 2
    assert "`--dry-run`" in done.stderr
