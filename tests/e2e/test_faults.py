"""Runs over HTTP against an endpoint that fails in every way: no row is lost, none twice, all adds up.

The stub decides what fails from the prompt and the number of the try, so every run meets the same
faults whatever the order in which its questions are worked on.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from stub_server import Recorded, Step, StubServer, answer_json
from unit.pipeline.worlds import timeless

from aletheia.config import Settings
from aletheia.llm.capabilities import MEMORY
from aletheia.pipeline.answer import TIMED_OUT, Options
from aletheia.pipeline.assemble import Choice
from aletheia.pipeline.benchmark import Finished, run_benchmark
from aletheia.pipeline.request import Request, prepare
from aletheia.schema.cost import Cost, total
from aletheia.schema.report import DetailedResult

pytestmark = pytest.mark.e2e

QUESTIONS = 20
MODEL = "stub"
LONG = 400
"""Words of a prompt that cannot have been read whole in 256 tokens."""
WINDOW = {"prompt_tokens": 256, "completion_tokens": 7, "total_tokens": 263}
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
TIMEOUT_S = 6.0

FAULTS: Mapping[str, Step] = {
    "429": Step(status=429, headers={"Retry-After": "0.05"}),
    "500": Step(status=500),
    "hang-up": Step(hang_up=True),
    "timeout": Step(delay=30),
    "not JSON": Step(raw="<html>bad gateway</html>"),
    "empty": Step(text="", usage=USAGE),
    "malformed": Step(text='{"answer": "x", "statem', usage=USAGE),
    "length": Step(text='{"answer": "x', finish_reason="length", usage=USAGE),
    "content filter": Step(text="", finish_reason="content_filter", usage=USAGE),
    "refusal": Step(text=None, refusal="I cannot help with that.", usage=USAGE),
    "too long": Step(
        status=400,
        message="This model's maximum context length is 8192 tokens, however you requested 9000.",
    ),
    "cut prompt": Step(text=answer_json("INSUFFICIENT_CONTEXT"), usage=WINDOW),
}
"""Every way in which a call can fail. A prompt that is cut is answered, from what was left of it."""

REASONS = re.compile(
    r"answered 429|answered 500|no answer from|gave no reply within|not JSON|empty|no text"
    r"|cut|length|filter|refus|too long|could not be used|no JSON object",
    re.IGNORECASE,
)
"""What a row without a reply, or a metric without a value, may give as its reason."""


def name_of(number: int) -> str:
    """A port of the made-up world: no two names share a word."""
    first = "Bal Cor Dun Fen Gar Hol Kel Lor Mar Nor".split()
    second = "wick mouth stead ness".split()
    return first[number % 10] + second[number // 10]


def files(directory: Path, number: int = QUESTIONS) -> tuple[Path, Path]:
    """A graph of ports and a question about each."""
    directory.mkdir(parents=True, exist_ok=True)
    ports = [(name_of(n), 1700 + n) for n in range(number)]
    nodes = [
        {"id": name.lower(), "name": name, "type": "Port", "founded": str(year)}
        for name, year in ports
    ]
    questions = [
        {
            "id": f"q{n}",
            "question": f"When was {name} founded?",
            "answer": str(year),
            "supporting_facts": [f"{name.lower()}|founded"],
        }
        for n, (name, year) in enumerate(ports)
    ]
    graph, asked = directory / "ports.json", directory / "questions.json"
    graph.write_text(json.dumps({"nodes": nodes, "links": []}), encoding="utf-8")
    asked.write_text(json.dumps({"questions": questions}), encoding="utf-8")
    return graph, asked


def honest(request: Recorded) -> Step:
    """What a good model says: to a question from its evidence, to a judge's prompt always yes."""
    return Step(text=_honest(request), usage=USAGE)


def _honest(request: Recorded) -> str:
    schema = (request.body.get("response_format") or {}).get("json_schema", {}).get("name")
    asked = request.prompt.rpartition("Now perform the same with the following input\ninput: ")[2]
    match schema:
        case "ContextPrecisionOutput":
            return json.dumps({"reason": "r", "verdict": 1})
        case "ContextRecallOutput":
            said = {"statement": "s", "reason": "r", "attributed": 1}
            return json.dumps({"classifications": [said]})
        case "StatementGeneratorOutput":
            return json.dumps({"statements": ["It was founded then."]})
        case "NLIStatementOutput":
            statements = json.JSONDecoder().raw_decode(asked)[0]["statements"]
            judged = [{"statement": text, "reason": "r", "verdict": 1} for text in statements]
            return json.dumps({"statements": judged})
    port = re.findall(r"When was (\w+) founded\?", request.prompt)[-1]
    unit = re.search(rf"\[(E\d+)\] (?:[^\n]*: )?([^\n]*{port} was founded[^\n]*)", request.prompt)
    if unit is None:
        # The prompt was halved after it had been too long, and this is the other half.
        return answer_json("INSUFFICIENT_CONTEXT")
    return answer_json(unit.group(2), [unit.group(1)])


@dataclass
class Faulty:
    """Fails `share` of the calls, each in a way that the prompt and its try decide."""

    seed: str = "1"
    share: float = 0.2
    kinds: tuple[str, ...] = tuple(FAULTS)
    served: Counter[str] = field(default_factory=Counter)
    tries: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: Recorded) -> Step:
        # Not the system message: what the endpoint was found to refuse changes it.
        asked = str(request.body["messages"][-1]["content"])
        key = re.sub(r"\b[0-9a-f]{16}\b", "", asked)
        with self.lock:
            attempt = self.tries[key]
            self.tries[key] += 1
            number = int(hashlib.sha256(f"{self.seed}{attempt}{key}".encode()).hexdigest(), 16)
            if number % 1000 >= 1000 * self.share:
                return honest(request)
            name = self.kinds[number // 1000 % len(self.kinds)]
            if name == "cut prompt" and len(asked.split()) < LONG:
                # Nobody could tell that a short prompt was cut.
                name = "500"
            self.served[name] += 1
        return replace(FAULTS[name], times=1)


def settings(server: StubServer, directory: Path, **given: Any) -> Settings:
    """Of a user with a server of their own and quick retries."""
    made: dict[str, Any] = {
        "openai_api_key": None,
        "openai_base_url": server.base_url,
        "model": MODEL,
        "timeout_s": TIMEOUT_S,
        "max_retries": 1,
        "db_path": directory / "replies.db",
        "price_input_usd": 1.0,
        "price_output_usd": 2.0,
        "per_trace_budget_usd": 1000.0,
    }
    return Settings(**{**made, **given})


def run(
    server: StubServer,
    directory: Path,
    *,
    number: int = QUESTIONS,
    resume: bool = False,
    given: Mapping[str, Any] | None = None,
    **changed: Any,
) -> Finished:
    """One run in this process, over real HTTP."""
    MEMORY.clear()
    graph, asked = files(directory, number)
    request = Request(
        knowledge_graph=str(graph),
        questions=str(asked),
        output_dir=directory / "out",
        **{"options": Options(max_units=4), "concurrency": 8, "stop_after": 0, **changed},
    )
    setup, _ = prepare(settings(server, directory, **(given or {})), request)
    try:
        return anyio.run(lambda: run_benchmark(setup, resume=resume))
    finally:
        setup.close()


def outcomes(rows: tuple[DetailedResult, ...]) -> list[tuple[str, str, dict[str, str]]]:
    return [
        (row.id, row.category, {name: score.status for name, score in row.metrics.items()})
        for row in rows
    ]


def test_whatever_fails_every_row_ends_and_everything_adds_up(tmp_path: Path) -> None:
    """A fifth of the calls fails, each way is met; then resume asks again only what lacks something."""
    faulty = Faulty(seed="345")
    with StubServer(answer=faulty, models=(MODEL,)) as server:
        done = run(server, tmp_path / "a")
        sent = len(server.chats)

    rows = done.report.detailed_results
    assert set(faulty.served) == set(FAULTS)
    assert [row.id for row in rows] == [f"q{n}" for n in range(QUESTIONS)]
    errors = [row for row in rows if row.category == "error"]
    assert errors
    assert all(REASONS.search(row.error or "") for row in errors), [row.error for row in errors]
    for row in rows:
        for score in row.metrics.values():
            assert (score.value is None) is (score.status != "measured")
            if score.status == "unmeasured":
                assert REASONS.search(score.reason or ""), score.reason

    report = done.report
    summary = report.grounding_report.summary
    assert summary.total_verified + len(errors) == QUESTIONS
    assert report.grounding_report.response_categories.errors == len(errors)
    for name, metric in report.aggregate_details.items():
        measured = [row for row in rows if row.metrics[name].status == "measured"]
        assert metric.measured <= len(measured)
    assert_costs_add_up(report.cost.total, rows, sent)
    broken_off = faulty.served["timeout"] + faulty.served["hang-up"]
    assert report.cost.total.unpriced == report.cost.total.unreported == broken_off

    healthy = Faulty(share=0.0)
    with StubServer(answer=healthy, port=server.port, models=(MODEL,)) as server:
        again = run(server, tmp_path / "a", resume=True)
    lacking = done.unmeasured
    assert 0 < lacking < QUESTIONS
    assert again.report.provenance.resumed == QUESTIONS - lacking
    assert again.complete
    assert {row.category for row in again.report.detailed_results} <= {
        "grounded_answer",
        "insufficient_context",
        "rejected",
    }


def assert_costs_add_up(whole: Cost, rows: tuple[DetailedResult, ...], sent: int) -> None:
    """The rows, the two divisions of each and the endpoint's own count all say the same."""
    summed = total(row.cost for row in rows)
    assert whole.model_copy(update={"usd": None}) == summed.model_copy(update={"usd": None})
    assert whole.usd == pytest.approx(summed.usd)
    assert whole.requests == sent
    assert whole.failed > 0


def test_the_same_faults_give_the_same_rows(tmp_path: Path) -> None:
    """Two runs over one seed differ in nothing that is counted, at any concurrency.

    Left out are replies that are cut or malformed, since what they teach about the endpoint holds
    for the calls that come later, and timeouts, which a busy machine adds to.
    """
    left_out = ("malformed", "length", "cut prompt", "timeout")
    kinds = tuple(name for name in FAULTS if name not in left_out)
    found = []
    for name, concurrency in (("a", 8), ("b", 3)):
        faulty = Faulty(seed="7", kinds=kinds)
        with StubServer(answer=faulty, models=(MODEL,)) as server:
            done = run(
                server,
                tmp_path / name,
                number=12,
                concurrency=concurrency,
                given={"timeout_s": 120.0},
            )
        cost = done.report.cost.total
        found.append((outcomes(done.report.detailed_results), cost.requests, cost.failed))

    assert found[0] == found[1]


@pytest.mark.parametrize("status", [401, 402, 403, 529])
def test_a_provider_that_is_down_stops_the_run_and_is_no_verdict(
    tmp_path: Path, status: int
) -> None:
    """Case 26: five good rows, then the provider fails. The rest is not asked, and is resumable."""
    good = threading.Semaphore(5)

    def failing(request: Recorded) -> Step:
        return honest(request) if good.acquire(blocking=False) else Step(status=status)

    choice = Choice(metrics="embedded")
    run_of: dict[str, Any] = {"number": 10, "concurrency": 1, "choice": choice}
    with StubServer(answer=failing, models=(MODEL,)) as server:
        first = run(server, tmp_path, stop_after=3, given={"max_retries": 0}, **run_of)
        sent = len(server.chats)

    assert sent == 5 + 3
    report = first.report
    assert report.grounding_report.summary.total_verified == 5
    assert report.grounding_report.response_categories.errors == 5
    assert report.cost.total.failed == 3
    assert first.stopped is not None
    assert str(status) in first.stopped
    assert {
        score.status for row in report.detailed_results[5:] for score in row.metrics.values()
    } == {"unmeasured"}

    with StubServer(answer=honest, port=server.port, models=(MODEL,)) as server:
        done = run(server, tmp_path, resume=True, **run_of)
        assert len(server.chats) == 5
    assert done.complete
    assert done.report.cost.total.calls == 10


def test_one_error_sticks_to_its_own_row(tmp_path: Path) -> None:
    """Case 154: question 2 fails, 3 to 5 are fine."""

    def failing(request: Recorded) -> Step:
        return Step(status=400) if f"{name_of(1)} founded?" in request.prompt else honest(request)

    with StubServer(answer=failing, models=(MODEL,)) as server:
        done = run(server, tmp_path, number=5, concurrency=1)

    categories = [row.category for row in done.report.detailed_results]
    assert categories == ["grounded_answer", "error", *["grounded_answer"] * 3]
    assert [row.cost.failed for row in done.report.detailed_results] == [0, 1, 0, 0, 0]


Hang = Callable[[Recorded], Step]

HANGS: Mapping[str, tuple[Hang, dict[str, Any]]] = {
    "a request": (lambda _: Step(delay=60), {"timeout_s": 50.0}),
    "its retries": (lambda _: Step(delay=60), {"timeout_s": 0.3, "max_retries": 50}),
    "the wait it asks for": (
        lambda _: Step(status=429, headers={"Retry-After": "60"}),
        {"max_retries": 5},
    ),
    "the requests of a minute": (honest, {"requests_per_minute": 1}),
}


@pytest.mark.parametrize("hang", HANGS)
def test_the_time_of_a_row_holds_over_everything_that_can_hang(tmp_path: Path, hang: str) -> None:
    """Case 155: a request, its retries, the endpoint's pause and the limiter all end with the row."""
    answer, given = HANGS[hang]
    with StubServer(answer=answer, models=(MODEL,)) as server:
        done = run(
            server,
            tmp_path,
            number=2,
            concurrency=1,
            options=Options(max_units=4, row_timeout_s=2.0),
            choice=Choice(metrics="embedded"),
            given={**given, "cache_enabled": False},
        )

    last = done.report.detailed_results[-1]
    assert last.error == f"{TIMED_OUT} (2 s)"
    assert {score.status for score in last.metrics.values()} == {"unmeasured"}
    assert len(done.report.detailed_results) == 2


def test_a_429_that_passes_is_waited_out_and_no_row_is_lost(tmp_path: Path) -> None:
    """Case 155: twice 429 with `Retry-After`, then good."""
    steps = [Step(status=429, headers={"Retry-After": "0.2"}, times=2)]
    with StubServer(steps, answer=honest, models=(MODEL,)) as server:
        done = run(
            server,
            tmp_path,
            number=3,
            choice=Choice(metrics="embedded"),
            given={"max_retries": 3},
        )

    assert done.complete
    assert done.report.cost.total.requests == 3 + 2


def test_a_run_that_was_stopped_ends_with_the_sums_of_an_undisturbed_one(tmp_path: Path) -> None:
    """Case 158: what was paid before counts, and what was kept is not asked again."""
    with StubServer(answer=honest, models=(MODEL,)) as server:
        whole = run(server, tmp_path / "a", number=6, given={"cache_enabled": False})
        port = server.port

    def broken(request: Recorded) -> Step:
        return Step(status=503) if f"{name_of(4)} founded?" in request.prompt else honest(request)

    given = {"cache_enabled": False, "max_retries": 0}
    with StubServer(answer=broken, port=port, models=(MODEL,)) as server:
        first = run(server, tmp_path / "b", number=6, given=given)
    assert first.unmeasured == 1
    with StubServer(answer=honest, port=port, models=(MODEL,)) as server:
        done = run(server, tmp_path / "b", number=6, resume=True, given=given)

    assert done.report.cost == whole.report.cost
    assert done.report.provenance.capabilities == whole.report.provenance.capabilities
    assert timeless(rows_of(done)) == timeless(rows_of(whole))


def rows_of(done: Finished) -> list[object]:
    return [row.model_dump(mode="json") for row in done.report.detailed_results]
