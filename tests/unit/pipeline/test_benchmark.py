"""Whole runs in one process: modes, failures, stopping and going on. Only the model is scripted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from unit.pipeline import worlds
from unit.pipeline.worlds import answer_reply, says, setup, timeless

from aletheia.errors import (
    AletheiaError,
    ConfigError,
    DataError,
    ModelBadReply,
    ModelRefused,
    ModelUnavailable,
    StoreError,
)
from aletheia.generators.llm import LLMGenerator
from aletheia.graph.search import Retrieval
from aletheia.llm.scripted import ScriptedModel
from aletheia.pipeline import journal
from aletheia.pipeline.answer import TIMED_OUT, Options
from aletheia.pipeline.benchmark import Finished, run_benchmark
from aletheia.pipeline.events import Event, RowDone, RunStarted, RunStopped
from aletheia.pipeline.setup import Setup
from aletheia.ragas_bridge import MetricSample, Scores
from aletheia.reports.document import load_json
from aletheia.schema.model import Embedder, Prompt, Reply
from aletheia.schema.report import METRICS, BenchmarkReport, MetricScore
from aletheia.schema.verification import Mode


def run(made: Setup, *, resume: bool = False, heard: list[Event] | None = None) -> Finished:
    listener = (heard if heard is not None else []).append
    return anyio.run(lambda: run_benchmark(made, resume=resume, listener=listener))


def categories(report: BenchmarkReport) -> list[str]:
    return [row.category for row in report.detailed_results]


def written(finished: Finished) -> object:
    return timeless(json.loads(finished.json_path.read_text(encoding="utf-8")))


HONEST = worlds.honest
MADE_UP = answer_reply("Vask was founded in 1999.", ["E1"])


def test_a_clean_run_is_complete_and_leaves_two_files(tmp_path: Path) -> None:
    heard: list[Event] = []

    done = run(setup(tmp_path, ScriptedModel(HONEST)), heard=heard)

    assert done.complete
    assert categories(done.report) == ["grounded_answer"] * 4
    assert [row.id for row in done.report.detailed_results] == ["q0", "q1", "q2", "q3"]
    assert all(row.correct and row.gold_in_evidence for row in done.report.detailed_results)
    assert done.report.aggregate_scores["context_recall"] == 1.0
    assert sorted(path.suffix for path in (tmp_path / "out").iterdir()) == [".html", ".json"]
    assert load_json(done.json_path.read_text(encoding="utf-8"), done.json_path) == done.report
    assert isinstance(heard[0], RunStarted)
    assert [event.done for event in heard if isinstance(event, RowDone)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("mode", "category", "rejected", "verified", "warned", "totals"),
    [
        (Mode.STRICT, "rejected", True, False, 0, (4, 3, 1)),
        (Mode.LENIENT, "grounded_answer", False, False, 1, (4, 3, 1)),
        (Mode.OFF, "grounded_answer", False, None, 0, (0, 0, 0)),
    ],
)
def test_a_mode_changes_what_becomes_of_an_answer_and_not_what_is_stored(
    tmp_path: Path,
    mode: Mode,
    category: str,
    rejected: bool,
    verified: bool | None,
    warned: int,
    totals: tuple[int, int, int],
) -> None:
    done = run(setup(tmp_path, says({"Vask": MADE_UP}), options=Options(mode=mode)))

    row = done.report.detailed_results[1]
    assert (row.category, row.grounding_rejected, row.verified) == (category, rejected, verified)
    assert len(row.warnings) == warned
    assert row.answer == "Vask was founded in 1999."
    assert [finding.text for finding in row.findings] == ["1999"]
    assert row.evidence
    assert row.correct is False
    summary = done.report.grounding_report.summary
    counts = (summary.total_verified, summary.verification_passed, summary.verification_failed)
    assert counts == totals
    assert (summary.pass_rate is None) is (mode is Mode.OFF)


@pytest.mark.parametrize(
    ("reply", "category", "reason", "problem"),
    [
        pytest.param("no JSON", "rejected", "parse_error", "no_object", id="prose"),
        pytest.param(
            answer_reply("1802"), "rejected", "answer_without_citations", None, id="uncited"
        ),
        pytest.param(
            answer_reply("1802", ["E99"]), "rejected", "invalid_citation_ids", None, id="bad id"
        ),
        pytest.param(
            answer_reply("INSUFFICIENT_CONTEXT", ["E1"]),
            "rejected",
            "insufficient_context_with_citations",
            None,
            id="abstention that cites",
        ),
        pytest.param(
            answer_reply("INSUFFICIENT_CONTEXT"),
            "insufficient_context",
            None,
            None,
            id="clean abstention",
        ),
        pytest.param(
            ModelBadReply("empty", text=""), "rejected", "parse_error", "empty_reply", id="empty"
        ),
    ],
)
def test_each_reply_gets_its_category(
    tmp_path: Path,
    reply: str | Reply | AletheiaError,
    category: str,
    reason: str | None,
    problem: str | None,
) -> None:
    done = run(setup(tmp_path, says({"Vask": reply})))

    row = done.report.detailed_results[1]
    assert (row.category, row.rejection_reason, row.parse_problem) == (category, reason, problem)
    assert done.complete
    assert set(row.metrics) == set(METRICS)
    assert row.metrics["context_recall"].value == 1.0


def test_an_abstention_over_evidence_that_held_the_answer_is_an_over_refusal(
    tmp_path: Path,
) -> None:
    done = run(setup(tmp_path, says({"Vask": answer_reply("INSUFFICIENT_CONTEXT")})))

    assert done.report.detailed_results[1].abstention_kind == "over_refusal"
    assert done.report.detailed_results[1].correct is None
    assert done.report.abstention_report.over_refusals == 1


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable("gone", status=503),
        ModelRefused("no credit", status=402),
        ModelBadReply("not JSON"),
    ],
)
def test_one_failed_call_is_one_row_and_stands_outside_every_rate(
    tmp_path: Path, error: AletheiaError
) -> None:
    done = run(setup(tmp_path, says({"Vask": error})))

    row = done.report.detailed_results[1]
    assert categories(done.report).count("error") == 1
    assert row.error == error.message
    assert row.verified is None
    assert row.evidence
    assert {score.status for score in row.metrics.values()} == {"unmeasured"}
    assert error.message in (row.metrics["faithfulness"].reason or "")
    assert done.report.grounding_report.summary.total_verified == 3
    assert done.report.grounding_report.response_categories.errors == 1
    assert (done.complete, done.unmeasured) == (False, 1)


def test_something_unforeseen_in_one_question_is_that_row_alone(tmp_path: Path) -> None:
    class Broken:
        """A graph that fails over one question."""

        def retrieve(
            self,
            question: str,
            *,
            hops: int,
            max_units: int,
            embedder: Embedder | None,
            community: bool,
        ) -> Retrieval:
            if "Vask" in question:
                raise ZeroDivisionError("one by none")
            return inner.retrieve(question, hops=hops, max_units=max_units, embedder=embedder)

        def similarity_only(
            self, question: str, *, max_units: int, embedder: Embedder | None
        ) -> Retrieval:
            raise AssertionError

    inner = worlds.port_graph(tmp_path)
    done = run(setup(tmp_path, ScriptedModel(HONEST), retriever=Broken()))

    assert categories(done.report)[1] == "error"
    assert done.report.detailed_results[1].error == (
        "internal error: ZeroDivisionError: one by none"
    )
    assert categories(done.report).count("grounded_answer") == 3


def test_a_resumed_run_asks_only_failed_questions_and_ends_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = run(setup(tmp_path / "a", says({})))
    broken = {"Vask": ModelUnavailable("gone", status=503)}
    first = run(setup(tmp_path / "b", says(dict(broken))))
    again = says({})

    done = run(setup(tmp_path / "b", again), resume=True)

    assert first.journal_path is not None
    assert [worlds.port_of(prompt) for prompt in again.history] == ["Vask"]
    assert done.complete
    assert done.report.provenance.resumed == 3
    assert written(done) == written(whole)
    assert first.json_path.exists()
    assert done.json_path != first.json_path
    assert not first.journal_path.exists()


def test_five_equal_failures_in_a_row_stop_the_asking(tmp_path: Path) -> None:
    """A report is written all the same, it says why, and the rest can be asked later."""
    down = ModelRefused("no credit", status=402)
    model = says(dict.fromkeys(worlds.PORTS[2:], down))
    heard: list[Event] = []

    done = run(setup(tmp_path, model, number=10, concurrency=1), heard=heard)

    assert len(model.history) == 2 + 5
    assert categories(done.report) == ["grounded_answer"] * 2 + ["error"] * 8
    last = done.report.detailed_results[-1]
    assert last.error is not None
    assert last.error.startswith("not asked, the run had stopped: 5 failures of one kind in a row")
    assert last.error.endswith("no credit")
    assert done.stopped is not None
    assert [event.left for event in heard if isinstance(event, RunStopped)] == [3]
    assert done.unmeasured == 8

    again = says({})
    assert run(setup(tmp_path, again, number=10), resume=True).complete
    assert len(again.history) == 8


@pytest.mark.parametrize(
    ("failures", "stop_after", "asked"),
    [
        pytest.param([503] * 10, 3, 3, id="another limit"),
        pytest.param([503] * 10, 0, 10, id="never stops"),
        pytest.param([503, 503, 503, 503, None] * 2, 5, 10, id="a success between"),
        pytest.param([503, 429] * 5, 5, 10, id="two kinds by turns"),
    ],
)
def test_only_equal_failures_without_a_break_count(
    tmp_path: Path, failures: list[int | None], stop_after: int, asked: int
) -> None:
    lines = {
        port: ModelUnavailable(f"{status} at {number}", status=status)
        for number, (port, status) in enumerate(zip(worlds.PORTS, failures, strict=True))
        if status
    }
    model = says(dict(lines))

    run(setup(tmp_path, model, number=10, concurrency=1, stop_after=stop_after))

    assert len(model.history) == asked


class Slow(ScriptedModel):
    """Takes its time over one port."""

    async def complete(self, prompt: Prompt) -> Reply:
        if worlds.port_of(prompt) == "Vask":
            await anyio.sleep(30)
        return await super().complete(prompt)


def test_a_question_that_takes_too_long_is_an_error_row(tmp_path: Path) -> None:
    done = run(setup(tmp_path, Slow(HONEST), options=Options(row_timeout_s=1.0)))

    assert categories(done.report).count("error") == 1
    assert done.report.detailed_results[1].error == f"{TIMED_OUT} (1 s)"


class SlowSuite:
    """Metrics that take too long, or whose endpoint is down."""

    name = "slow"

    def __init__(self, reason: str | None) -> None:
        self.reason = reason
        self.asked = 0

    def describe(self) -> tuple[str, ...]:
        return tuple(f"{name}: slow:{name}" for name in METRICS)

    async def prepare(self) -> None: ...

    async def score(self, sample: MetricSample) -> Scores:
        self.asked += 1
        if self.reason is None:
            await anyio.sleep(30)
        return {
            name: MetricScore(
                implementation=f"slow:{name}", status="unmeasured", reason=self.reason
            )
            for name in METRICS
        }

    async def score_many(self, samples: Sequence[MetricSample]) -> list[Scores]:
        return [await self.score(sample) for sample in samples]


def test_metrics_that_take_too_long_leave_the_answer_standing(tmp_path: Path) -> None:
    made = setup(
        tmp_path,
        ScriptedModel(HONEST),
        number=1,
        suite=SlowSuite(None),
        options=Options(row_timeout_s=0.8),
    )

    done = run(made)

    row = done.report.detailed_results[0]
    assert row.category == "grounded_answer"
    assert row.metrics["faithfulness"].status == "unmeasured"
    assert TIMED_OUT in (row.metrics["faithfulness"].reason or "")
    assert not done.complete


def test_a_judge_that_is_down_stops_the_run_like_a_model_that_is(tmp_path: Path) -> None:
    suite = SlowSuite("provider: 402, no credit")

    done = run(setup(tmp_path, ScriptedModel(HONEST), number=10, suite=suite, concurrency=1))

    assert suite.asked == 5
    assert done.unmeasured == 10
    assert categories(done.report) == ["grounded_answer"] * 5 + ["error"] * 5


def test_an_error_of_the_installation_ends_the_run_and_keeps_the_rows(tmp_path: Path) -> None:
    model = says({"Tarn": ConfigError("no key")})

    with pytest.raises(ConfigError, match="no key"):
        run(setup(tmp_path, model, concurrency=1))

    ((path, _),) = journal.headers(tmp_path / "out")
    assert set(journal.read(path).entries) == {0, 1}
    assert [item.suffix for item in (tmp_path / "out").iterdir()] == [".jsonl"]


def test_a_run_that_ends_before_its_first_row_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        run(setup(tmp_path, says({"Orle": ConfigError("no key")}), concurrency=1))

    assert list((tmp_path / "out").iterdir()) == []


def test_a_cancelled_run_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = run(setup(tmp_path / "a", says({})))

    async def cancelled() -> None:
        with anyio.move_on_after(3):
            await run_benchmark(setup(tmp_path / "b", Slow(HONEST), concurrency=2))

    anyio.run(cancelled)
    again = says({})
    done = run(setup(tmp_path / "b", again), resume=True)

    assert [worlds.port_of(prompt) for prompt in again.history] == ["Vask"]
    assert written(done) == written(whole)


def test_a_torn_row_is_asked_again_and_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        run(setup(tmp_path, says({"Tarn": ConfigError("x")}), concurrency=1))
    ((path, _),) = journal.headers(tmp_path / "out")
    path.write_bytes(path.read_bytes()[:-7])
    heard: list[Event] = []
    again = says({})

    done = run(setup(tmp_path, again), resume=True, heard=heard)

    assert [worlds.port_of(prompt) for prompt in again.history] == ["Vask", "Tarn", "Quell"]
    assert done.complete
    assert any("cut off" in getattr(event, "text", "") for event in heard)


def test_another_run_is_not_resumed_and_the_difference_is_named(tmp_path: Path) -> None:
    run(setup(tmp_path, says({"Vask": ModelUnavailable("x")})))

    with pytest.raises(DataError) as caught:
        run(setup(tmp_path, says({}), options=Options(mode=Mode.LENIENT, hops=3)), resume=True)

    assert "mode was `strict`, now `lenient`; hops was `2`, now `3`" in caught.value.message


def test_without_an_unfinished_run_there_is_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no unfinished run"):
        run(setup(tmp_path, says({})), resume=True)


def test_an_unfinished_run_is_mentioned_and_not_touched(tmp_path: Path) -> None:
    first = run(setup(tmp_path, says({"Vask": ModelUnavailable("x")})))
    heard: list[Event] = []

    second = run(setup(tmp_path, says({}), now=worlds.Clock()), heard=heard)

    assert second.complete
    assert any("`--resume` goes on" in getattr(event, "text", "") for event in heard)
    assert first.journal_path is not None
    assert first.journal_path.exists()


def test_a_run_under_way_cannot_be_resumed_by_another(tmp_path: Path) -> None:
    first = run(setup(tmp_path, says({"Vask": ModelUnavailable("x")})))
    assert first.journal_path is not None

    with (
        journal.Journal.reopen(journal.read(first.journal_path)),
        pytest.raises(StoreError, match="another run"),
    ):
        run(setup(tmp_path, says({})), resume=True)


def test_the_baseline_is_compared_in_retrieval_alone(tmp_path: Path) -> None:
    done = run(setup(tmp_path, says({}), number=10, options=Options(baseline=True)))

    for row in done.report.detailed_results:
        assert set(row.baseline_metrics) == {"context_precision", "context_recall"}
    assert [pair.metric for pair in done.report.baseline_comparison] == [
        "context_precision",
        "context_recall",
    ]
    assert all(pair.n == 10 for pair in done.report.baseline_comparison)


def test_how_replies_were_constrained_is_recorded(tmp_path: Path) -> None:
    def reply(prompt: Prompt) -> Reply:
        said = HONEST(prompt)
        assert isinstance(said, str)
        return Reply(text=said, model="m", structured="json_schema")

    done = run(setup(tmp_path, ScriptedModel(reply)))

    assert done.report.provenance.structured_output == "json_schema"
    assert done.report.provenance.generator == LLMGenerator(ScriptedModel([])).name
    assert "rapidfuzz" in done.report.provenance.packages


def test_a_reply_that_was_asked_for_twice_keeps_both(tmp_path: Path) -> None:
    replies = iter(["Sorry, here: {", answer_reply("Orle was founded in 1801.", ["E1"])])

    done = run(setup(tmp_path, ScriptedModel(lambda _: next(replies)), number=1))

    (note,) = [item for item in done.report.detailed_results[0].notes if item.kind == "generator"]
    assert note.reason == "earlier_reply"
    assert (note.detail or "").endswith("Sorry, here: {")
    assert {"generate", "repair", "retrieve"} <= set(done.report.detailed_results[0].timings_ms)


def test_an_empty_reply_does_not_say_how_replies_were_constrained(tmp_path: Path) -> None:
    done = run(setup(tmp_path, ScriptedModel(lambda _: ModelBadReply("empty", text="")), number=1))

    assert done.report.provenance.structured_output is None
