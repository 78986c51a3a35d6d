"""Runs with the reply cache: asked once, the same for ever, and never what another model said."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from e2e.program import TIMEOUT_S, environment
from e2e.test_evaluate_ragas import command, evaluate, report, rows_in
from e2e.test_faults import MODEL, files, honest
from stub_server import Recorded, Step, StubServer

pytestmark = pytest.mark.e2e

NUMBER = 3
COSTS = {
    *("cost", "cost_by_purpose", "cost_by_model", "cached"),
    *("prompt_tokens", "completion_tokens", "timings_ms"),
}


def arguments(directory: Path, number: int = NUMBER) -> tuple[Path, tuple[str, ...]]:
    graph, questions = files(directory, number)
    return questions, ("--knowledge-graph", str(graph), "--max-units", "3", "--quiet")


def variables(server: StubServer) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": server.base_url,
        "ALETHEIA_MODEL": MODEL,
        "ALETHEIA_PRICE_INPUT_USD": "1",
        "ALETHEIA_PRICE_OUTPUT_USD": "2",
    }


def without_costs(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if key not in COSTS}
        for row in found["detailed_results"]
    ]


def test_a_second_identical_run_asks_nothing_and_says_the_same(tmp_path: Path) -> None:
    """Case 160: same score, reason and claims; every row is cached and costs nothing."""
    questions, options = arguments(tmp_path / "in")
    with StubServer(answer=honest, models=(MODEL,)) as server:
        first = evaluate(questions, tmp_path / "out", *options, **variables(server))
        sent = len(server.chats)
        second = evaluate(questions, tmp_path / "again", *options, **variables(server))
        assert len(server.chats) == sent

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    paid, cached = report(tmp_path / "out"), report(tmp_path / "again")
    assert without_costs(cached) == without_costs(paid)
    assert cached["aggregate_details"] == paid["aggregate_details"]
    for section in ("capabilities", "structured_output"):
        assert cached["provenance"][section] == paid["provenance"][section]
    assert [row["cached"] for row in paid["detailed_results"]] == [False] * NUMBER
    assert [row["cached"] for row in cached["detailed_results"]] == [True] * NUMBER
    assert paid["cost"]["total"]["requests"] == sent
    whole = cached["cost"]["total"]
    assert (whole["cached"], whole["requests"], whole["usd"]) == (whole["calls"], 0, 0.0)
    assert "answered from the reply cache" in second.stdout


def test_another_model_is_asked_itself(tmp_path: Path) -> None:
    """Case 161: judges A and B over one prompt; the cache of one never answers for the other."""
    questions, options = arguments(tmp_path / "in", 1)
    with StubServer(answer=honest, models=(MODEL,)) as server:
        asked = variables(server)
        evaluate(questions, tmp_path / "a", *options, "--judge-model", "a", **asked)
        first = [item.body["model"] for item in server.chats]
        evaluate(questions, tmp_path / "b", *options, "--judge-model", "b", **asked)
        second = [item.body["model"] for item in server.chats][len(first) :]

    assert set(first) == {MODEL, "a"}
    assert second == ["b"] * first.count("a")


def test_without_the_cache_everything_is_asked_and_no_file_is_made(tmp_path: Path) -> None:
    questions, options = arguments(tmp_path / "in", 1)
    with StubServer(answer=honest, models=(MODEL,)) as server:
        for name in ("a", "b"):
            evaluate(questions, tmp_path / name, *options, "--no-cache", **variables(server))
        found = [report(tmp_path / name) for name in ("a", "b")]
        assert len(server.chats) == 2 * found[0]["cost"]["total"]["requests"]

    assert found[0]["cost"] == found[1]["cost"]
    assert list(tmp_path.glob("*.db*")) == []
    assert found[0]["provenance"]["settings"]["cache_enabled"] == "False"


def test_a_run_without_models_makes_no_cache(tmp_path: Path) -> None:
    questions, options = arguments(tmp_path / "in", 1)

    assert evaluate(questions, tmp_path / "out", *options).returncode == 0
    assert list(tmp_path.glob("*.db*")) == []


def test_a_budget_stops_the_run_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    """Exit code 1, the rest resumable; neither budget nor cache make it another run."""
    questions, options = arguments(tmp_path / "in")
    with StubServer(answer=honest, models=(MODEL,)) as server:
        asked = variables(server)
        out = tmp_path / "out"
        stopped = evaluate(questions, out, *options, "--budget", "0.02", "--no-cache", **asked)
        assert stopped.returncode == 1, stopped.stderr
        assert "budget of this run is $0.02" in stopped.stderr
        assert report(out)["cost"]["total"]["usd"] <= 0.02
        done = evaluate(questions, out, *options, "--resume", "--concurrency", "1", **asked)

    assert done.returncode == 0, done.stderr
    assert {row["category"] for row in report(out)["detailed_results"]} == {"grounded_answer"}


def test_after_kill_9_nothing_is_paid_twice_and_the_sums_are_the_same(tmp_path: Path) -> None:
    """Case 158: with the cache, resume asks only calls that never came back."""
    questions, options = arguments(tmp_path / "in", 6)

    def slowly(request: Recorded) -> Step:
        time.sleep(0.02)
        return honest(request)

    with StubServer(answer=honest, models=(MODEL,)) as server:
        port = server.port
        whole = evaluate(questions, tmp_path / "whole", *options, "--no-cache", **variables(server))
        needed = len(server.chats)
    assert whole.returncode == 0, whole.stderr

    out = tmp_path / "out"
    with StubServer(answer=slowly, port=port, models=(MODEL,)) as server:
        killed(questions, out, *options, **variables(server))
        done = evaluate(questions, out, *options, "--resume", **variables(server))
        # One call may have been under way when the process was killed.
        assert needed <= len(server.chats) <= needed + 1

    assert done.returncode == 0, done.stderr
    found, undisturbed = report(out), report(tmp_path / "whole")
    assert 2 <= found["provenance"]["resumed"] < 6
    assert without_costs(found) == without_costs(undisturbed)
    for section in ("aggregate_details", "grounding_report", "abstention_report"):
        assert found[section] == undisturbed[section]
    assert found["cost"]["total"]["calls"] == undisturbed["cost"]["total"]["calls"]


def killed(questions: Path, out: Path, *options: str, **given: str) -> None:
    """Start a run and kill it after its second row."""
    process = subprocess.Popen(
        command(questions, out, *options, "--concurrency", "1"),
        env=environment(**given),
        cwd=out.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + TIMEOUT_S
    while rows_in(out) < 2 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=TIMEOUT_S)
    assert json.loads(next(out.glob("*.partial.jsonl")).read_text().splitlines()[0])
