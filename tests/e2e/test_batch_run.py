"""`evaluate-ragas --batch`, over a server with the Batch API."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from e2e.program import TIMEOUT_S, environment
from e2e.test_cache_run import arguments, variables, without_costs
from e2e.test_evaluate_ragas import command, evaluate, report
from e2e.test_faults import MODEL, honest
from stub_batch import BatchPlan
from stub_server import StubServer

pytestmark = pytest.mark.e2e

PENDING = 75
ROUNDS = 3
"""The answer; everything about evidence and its statements; the verdicts on those."""

EMBEDDED = ("--metrics", "embedded")


def serving(*batches: BatchPlan, **more: Any) -> StubServer:
    return StubServer(answer=honest, models=(MODEL,), batches=batches, **more)


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """A report without what it cost, and when it was made."""
    kept = {key: value for key, value in found.items() if key not in ("cost", "provenance")}
    timed = ("created_at", "command", "settings")
    run = {key: value for key, value in found["provenance"].items() if key not in timed}
    return {**kept, "provenance": run, "detailed_results": without_costs(found)}


def states(out: Path) -> list[Path]:
    return list(out.glob("batch_*.state.json"))


def test_a_run_in_batches_ends_with_the_report_of_an_ordinary_run(tmp_path: Path) -> None:
    """Submit, look, look again; no single call is made, and each costs half."""
    questions, options = arguments(tmp_path / "in")
    out, plain = tmp_path / "out", tmp_path / "plain"
    with serving(BatchPlan(polls=2)) as server:
        given = variables(server)
        begun = evaluate(questions, out, *options, "--batch", **given)
        assert (begun.returncode, "validating" in begun.stdout) == (PENDING, True), begun.stderr
        assert "`--resume`" in begun.stdout
        twice = evaluate(questions, out, *options, "--batch", **given)
        assert (twice.returncode, "unfinished batch run" in twice.stderr) == (2, True)
        codes = []
        while len(codes) < 10 and (not codes or codes[-1] == PENDING):
            done = evaluate(questions, out, *options, "--batch", "--resume", **given)
            codes.append(done.returncode)
        assert codes == [PENDING] * ROUNDS + [0], done.stderr
        assert len(server.batch.batches) == ROUNDS
        assert server.chats == []
        again = evaluate(questions, tmp_path / "again", *options, "--batch", **given)
        assert (again.returncode, len(server.batch.batches)) == (0, ROUNDS), again.stderr

        ordinary = evaluate(questions, plain, *options, "--no-cache", **given)
        assert ordinary.returncode == 0, ordinary.stderr

    batched, single = report(out), report(plain)
    assert comparable(batched) == comparable(single)
    assert comparable(report(tmp_path / "again")) == comparable(single)
    half = single["cost"]["total"]["usd"] / 2
    whole = batched["cost"]["total"]
    assert whole["usd"] == pytest.approx(half)
    assert whole["requests"] == whole["batched"] == single["cost"]["total"]["requests"]
    assert batched["cost"]["batches"]["usd"] == whole["usd"]
    assert report(tmp_path / "again")["cost"]["total"]["usd"] == 0.0
    assert f"{whole['batched']} calls went through a batch" in done.stdout
    page = max(out.glob("*.html")).read_text(encoding="utf-8")
    assert f"{whole['batched']} calls went through a batch" in page
    assert states(out) == []


def test_waiting_does_all_of_it_at_once_and_needs_no_cache(tmp_path: Path) -> None:
    questions, options = arguments(tmp_path / "in", 1)
    with serving() as server:
        waited = ("--batch", "--batch-wait", "--no-cache", "--json")
        done = evaluate(questions, tmp_path / "out", *options, *waited, **variables(server))
        assert (done.returncode, server.chats) == (0, []), done.stderr
        assert len(server.batch.batches) == ROUNDS

    found = json.loads(done.stdout)
    assert found["detailed_results"][0]["category"] == "grounded_answer"
    assert found["cost"]["total"] == found["cost"]["batches"]
    assert set(found["cost"]["by_purpose"]) == {"generate", "metric"}


def test_after_kill_9_the_batch_is_found_and_not_made_again(tmp_path: Path) -> None:
    questions, options = arguments(tmp_path / "in", 2)
    out = tmp_path / "out"
    with serving(BatchPlan(polls=3)) as server:
        given = variables(server)
        process = subprocess.Popen(
            command(questions, out, *options, *EMBEDDED, "--batch", "--batch-wait"),
            env=environment(**given),
            cwd=out.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + TIMEOUT_S
        while not looked(server) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=TIMEOUT_S)
        assert list(out.glob("ragas_*")) == []
        resumed = (*options, *EMBEDDED, "--batch", "--resume")
        codes = [evaluate(questions, out, *resumed, **given).returncode for _ in range(2)]
        assert codes == [PENDING, 0]
        assert (len(server.batch.batches), server.chats) == (1, [])

    assert {row["category"] for row in report(out)["detailed_results"]} == {"grounded_answer"}
    assert report(out)["cost"]["total"]["batched"] == 2


def looked(server: StubServer) -> bool:
    return any(batch.looks for batch in server.batch.batches.values())


def test_what_a_batch_left_over_when_it_expired_is_sent_again(tmp_path: Path) -> None:
    questions, options = arguments(tmp_path / "in", 4)
    given_options = (*options, *EMBEDDED, "--batch")
    out = tmp_path / "out"
    with serving(BatchPlan(end="expired", answered=2)) as server:
        given = variables(server)
        done = [evaluate(questions, out, *given_options, **given)]
        done += [evaluate(questions, out, *given_options, "--resume", **given) for _ in range(3)]
        assert [len(batch.lines) for batch in server.batch.batches.values()] == [4, 2]

    assert [item.returncode for item in done] == [PENDING, 1, PENDING, 0], done[-1].stderr
    assert "expired" in done[1].stdout
    whole = report(out)["cost"]["total"]
    assert (whole["batched"], whole["failed"], whole["usd"] is None) == (4, 0, False)


@pytest.mark.parametrize(
    ("options", "endpoint", "said"),
    [
        pytest.param(("--batch",), True, "Batch API", id="no Batch API"),
        pytest.param(("--batch",), False, "`--batch` needs an endpoint", id="no endpoint"),
        pytest.param(
            ("--batch", *EMBEDDED, "--generator", "extractive"),
            True,
            "no model would be asked",
            id="nothing to ask",
        ),
        pytest.param(("--batch-wait",), True, "without `--batch`", id="waits for nothing"),
        pytest.param(("--batch", "--resume"), True, "no unfinished batch run", id="not begun"),
        pytest.param(("--batch", "--budget", "0.000001"), True, "budget", id="too dear"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_sent(
    tmp_path: Path, options: tuple[str, ...], endpoint: bool, said: str
) -> None:
    questions, given = arguments(tmp_path / "in", 1)
    with serving(batch_api=False) as server:
        asked = variables(server) if endpoint else {}
        done = evaluate(questions, tmp_path / "out", *given, *options, **asked)
        assert server.chats == []

    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert states(tmp_path / "out") == []


def test_a_dry_run_says_half_the_price_and_how_many_rounds(tmp_path: Path) -> None:
    questions, options = arguments(tmp_path / "in")
    priced = {"ALETHEIA_PRICE_INPUT_USD": "1", "ALETHEIA_PRICE_OUTPUT_USD": "2"}
    with serving() as server:
        given = {**variables(server), **priced}
        dry = (*options, "--dry-run", "--json")
        single = evaluate(questions, tmp_path / "out", *dry, **given)
        batched = evaluate(questions, tmp_path / "out", *dry, "--batch", **given)
        shown = evaluate(questions, tmp_path / "out", *dry[:-1], "--batch", **given)
        assert server.requests == []

    figures, ordinary = json.loads(batched.stdout), json.loads(single.stdout)
    assert figures["total"]["usd"] == pytest.approx([x / 2 for x in ordinary["total"]["usd"]])
    assert figures["rounds"] == {"low": ROUNDS, "high": 2 * ROUNDS}
    assert (ordinary["rounds"], figures["durations"]) == (None, [])
    assert f"rounds of batches   {ROUNDS} to {2 * ROUNDS}" in shown.stdout
