"""`evaluate-ragas --judge llm` over HTTP: what is asked, paid, kept, and gone on with."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from contract.test_judges_wire import working
from e2e.test_batch_run import comparable
from e2e.test_cache_run import arguments, variables
from e2e.test_evaluate_ragas import evaluate, report
from e2e.test_faults import MODEL, USAGE, honest
from stub_batch import BatchPlan
from stub_server import Recorded, Step, StubServer

pytestmark = pytest.mark.e2e

JUDGED = ("--metrics", "embedded", "--judge", "llm")
PROMPTS = {
    *("decompose_query", "decompose_response"),
    *("sufficiency", "faithfulness", "completeness"),
}
CALLS = 1 + len(PROMPTS)
"""Calls of a question: its answer, and its diagnosis."""


def name(request: Recorded) -> str:
    return str((request.body.get("response_format") or {}).get("json_schema", {}).get("name"))


def knowing(request: Recorded) -> Step:
    """A model that answers, cuts and judges well."""
    if name(request) in PROMPTS:
        return Step(text=working(request), usage=USAGE)
    return honest(request)


def cells(found: dict[str, Any]) -> list[str | None]:
    return [(row["diagnosis"] or {}).get("failure_cell") for row in found["detailed_results"]]


def test_every_answer_is_judged_by_five_calls_within_the_figures_of_a_dry_run(
    tmp_path: Path,
) -> None:
    questions, options = arguments(tmp_path / "in")
    with StubServer(answer=knowing, models=(MODEL,)) as server:
        given = variables(server)
        dry = evaluate(
            questions, tmp_path / "dry", *options, *JUDGED, "--dry-run", "--json", **given
        )
        assert (dry.returncode, server.requests) == (0, []), dry.stderr
        done = evaluate(questions, tmp_path / "out", *options, *JUDGED, **given)
        assert done.returncode == 0, done.stderr
        asked = Counter(map(name, server.chats))
        again = evaluate(questions, tmp_path / "again", *options, *JUDGED, **given)
        assert len(server.chats) == sum(asked.values()), again.stderr

    found = report(tmp_path / "out")
    rows = found["detailed_results"]
    assert cells(found) == ["complete_grounded"] * len(rows)
    assert {asked[prompt] for prompt in PROMPTS} == {len(rows)}
    assert sum(asked.values()) == CALLS * len(rows)
    assert {key: cost["calls"] for key, cost in rows[0]["cost_by_purpose"].items()} == {
        "generate": 1,
        "decompose": 2,
        "judge": 3,
    }
    assert rows[0]["timings_ms"]["diagnose"] > 0
    assert found["provenance"]["judge"]["judge_model"] == MODEL
    assert found["diagnosis_report"]["cells"]["complete_grounded"] == len(rows)
    estimate = json.loads(dry.stdout)
    assert {line["purpose"] for line in estimate["lines"]} == set(found["cost"]["by_purpose"])
    for line in estimate["lines"]:
        sent = found["cost"]["by_purpose"][line["purpose"]]["calls"]
        assert line["calls"]["low"] == sent <= line["calls"]["high"]


def test_judges_that_are_down_leave_the_answers_and_resume_asks_them_again(tmp_path: Path) -> None:
    questions, options = arguments(tmp_path / "in")
    out, down = tmp_path / "out", [True]

    def answer(request: Recorded) -> Step:
        if down and name(request) == "faithfulness":
            return Step(status=500)
        return knowing(request)

    with StubServer(answer=answer, models=(MODEL,)) as server:
        given = {**variables(server), "ALETHEIA_MAX_RETRIES": "0"}
        first = evaluate(questions, out, *options, *JUDGED, **given)
        kept, before = report(out), len(server.chats)
        down.clear()
        second = evaluate(questions, out, *options, *JUDGED, "--resume", **given)
        after = [name(request) for request in server.chats[before:]]

    assert (first.returncode, second.returncode) == (1, 0), first.stderr + second.stderr
    assert "diagnosis" in first.stderr
    rows = kept["detailed_results"]
    assert {row["category"] for row in rows} == {"grounded_answer"}
    assert {row["not_diagnosed"] for row in rows} == {"unmeasured: faithfulness"}
    assert {row["suggestion"] for row in rows} == {None}
    assert all("500" in row["judgements"]["errors"]["faithfulness"] for row in rows)
    # The reply cache has the rest.
    assert after == ["faithfulness"] * len(rows)
    assert cells(report(out)) == ["complete_grounded"] * len(rows)


def test_batches_carry_the_calls_of_judges_too(tmp_path: Path) -> None:
    questions, options = arguments(tmp_path / "in", 2)
    with StubServer(answer=knowing, models=(MODEL,), batches=[BatchPlan()]) as server:
        given = variables(server)
        waiting = (*options, *JUDGED, "--batch", "--batch-wait")
        batched = evaluate(questions, tmp_path / "out", *waiting, **given)
        assert (batched.returncode, server.chats) == (0, []), batched.stderr
        single = evaluate(questions, tmp_path / "one", *options, *JUDGED, "--no-cache", **given)
        assert single.returncode == 0, single.stderr

    assert comparable(report(tmp_path / "out")) == comparable(report(tmp_path / "one"))
    assert cells(report(tmp_path / "out")) == ["complete_grounded"] * 2


@pytest.mark.parametrize(("limit", "limits"), [("16", {16}), (None, {None, 8192})])
def test_a_judge_that_is_cut_gets_more_room_only_where_no_limit_is_set(
    tmp_path: Path, limit: str | None, limits: set[int | None]
) -> None:
    """A limit of output tokens goes out exactly, with the calls of judges too."""
    questions, options = arguments(tmp_path / "in", 1)

    def cut(request: Recorded) -> Step:
        if name(request) in PROMPTS:
            return Step(text='{"claims": [', finish_reason="length", usage=USAGE)
        return honest(request)

    with StubServer(answer=cut, models=(MODEL,)) as server:
        more = {} if limit is None else {"ALETHEIA_MAX_OUTPUT_TOKENS": limit}
        evaluate(questions, tmp_path / "out", *options, *JUDGED, **variables(server), **more)
        bodies = [chat.body for chat in server.chats if name(chat) in PROMPTS]

    found = {body.get("max_completion_tokens", body.get("max_tokens")) for body in bodies}
    assert found == limits
    row = report(tmp_path / "out")["detailed_results"][0]
    assert row["not_diagnosed"].startswith("unmeasured: ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--judge", "llm"), "`--judge` asks for a model"),
        (("--judge", "none", "--judge-model", "m"), "`--judge-model m` has no effect"),
    ],
)
def test_a_judge_that_cannot_be_had_is_an_error(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    questions, graph = arguments(tmp_path / "in", 1)

    done = evaluate(questions, tmp_path / "out", *graph, *options)

    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
