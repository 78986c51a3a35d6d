"""`ALETHEIA_MAX_OUTPUT_TOKENS` reaches the wire as it is, and belongs to what a run is."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.test_cache_run import arguments, variables
from e2e.test_evaluate_ragas import evaluate, report
from e2e.test_faults import MODEL, honest
from stub_server import Recorded, Step, StubServer

from aletheia.config import settings
from aletheia.pipeline.request import Request, prepare

pytestmark = pytest.mark.e2e


def test_every_request_carries_the_limit_exactly(tmp_path: Path) -> None:
    """Case 122: answers and verdicts alike, neither replaced nor clamped."""
    questions, options = arguments(tmp_path / "in", 1)
    with StubServer(answer=honest, models=(MODEL,)) as server:
        given = {**variables(server), "ALETHEIA_MAX_OUTPUT_TOKENS": "8192"}
        done = evaluate(questions, tmp_path / "out", *options, **given)
        bodies = [chat.body for chat in server.chats]

    assert done.returncode == 0, done.stderr
    assert len(bodies) >= 5
    limits = [body.get("max_completion_tokens", body.get("max_tokens")) for body in bodies]
    assert limits == [8192] * len(bodies)
    assert report(tmp_path / "out")["provenance"]["settings"]["max_output_tokens"] == "8192"


def test_a_reply_that_is_cut_there_is_not_asked_for_with_more_room(tmp_path: Path) -> None:
    questions, options = arguments(tmp_path / "in", 1)

    def cut(request: Recorded) -> Step:
        del request
        return Step(text='{"answer": "x', finish_reason="length")

    with StubServer(answer=cut, models=(MODEL,)) as server:
        given = {**variables(server), "ALETHEIA_MAX_OUTPUT_TOKENS": "16"}
        done = evaluate(questions, tmp_path / "out", *options, "--metrics", "embedded", **given)
        bodies = [chat.body for chat in server.chats]

    assert done.returncode == 1
    limits = {body.get("max_completion_tokens", body.get("max_tokens")) for body in bodies}
    assert limits == {16}
    row = report(tmp_path / "out")["detailed_results"][0]
    assert (row["category"], "cut at the limit" in row["error"]) == ("error", True)


def test_another_limit_is_another_run(tmp_path: Path) -> None:
    questions, (_, graph, *_) = arguments(tmp_path / "in", 1)
    asked = Request(knowledge_graph=graph, questions=str(questions), output_dir=tmp_path / "out")
    found = []
    for limit in (None, 100, 200):
        with settings.override(max_output_tokens=limit, cache_enabled=False) as now:
            setup, _ = prepare(now, asked)
            found.append(setup.fingerprint())

    assert [item.get("output tokens") for item in found] == [None, "100", "200"]
