"""What a run cost, and what it may cost: exact for each question, summed over tries and resumes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from unit.pipeline import worlds
from unit.pipeline.worlds import setup

from aletheia.errors import ContextTooLong, ModelUnavailable
from aletheia.generators.llm import LLMGenerator
from aletheia.llm.budget import BudgetedModel, UnknownPrice
from aletheia.llm.pricing import Pricer
from aletheia.llm.record import RecordingModel
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.pipeline import journal
from aletheia.pipeline.answer import Options
from aletheia.pipeline.benchmark import Finished, run_benchmark
from aletheia.pipeline.events import Event, RunStopped
from aletheia.pipeline.observe import CapabilityLog, ObservedModel
from aletheia.pipeline.setup import Setup
from aletheia.ragas_bridge import RagasLLMSuite
from aletheia.schema.cost import total
from aletheia.schema.model import Prompt, Reply, Usage

PRICER = Pricer(SimpleNamespace(price_input_usd=1000.0, price_output_usd=1000.0))
"""A tenth of a cent for each token, so that budgets of a few dollars hold."""

UNPRICED = Pricer()


def replying(
    text: str, prompt_tokens: int = 10, completion_tokens: int = 5, **more: object
) -> Reply:
    usage = Usage(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
    fields = {"text": text, "model": "m", "usage": usage, "structured": "json_object", **more}
    return Reply(**fields)  # type: ignore[arg-type]


def answering(prompt: Prompt) -> Line:
    """The honest answer, or what a judge of metrics says."""
    match prompt.schema_name:
        case "ContextPrecisionOutput":
            return replying('{"reason": "r", "verdict": 1}')
        case "ContextRecallOutput":
            return replying(
                '{"classifications": [{"statement": "s", "reason": "r", "attributed": 1}]}'
            )
        case "StatementGeneratorOutput":
            return replying('{"statements": ["s"]}')
        case "NLIStatementOutput":
            return replying('{"statements": [{"statement": "s", "reason": "r", "verdict": 1}]}')
    said = worlds.honest(prompt)
    assert isinstance(said, str)
    return replying(said)


class Interleaved(ScriptedModel):
    """Lets other questions run in the middle of every call."""

    async def complete(self, prompt: Prompt) -> Reply:
        await anyio.sleep(0.001)
        return await super().complete(prompt)


def paid(script: Callable[[Prompt], Line] = answering, pricer: Pricer = PRICER) -> BudgetedModel:
    return BudgetedModel(RecordingModel(Interleaved(script, name="m"), pricer=pricer), pricer)


def costly(
    directory: Path,
    model: BudgetedModel,
    *,
    number: int = 4,
    ragas: bool = True,
    run_usd: float | None = None,
    **options: object,
) -> Setup:
    """A run over a model that costs money, with limited output so that budgets can tell."""
    directory.mkdir(exist_ok=True)
    suite = RagasLLMSuite(model=model, embedder=worlds.MINILM) if ragas else None
    made = setup(
        directory,
        ScriptedModel([]),
        number=number,
        suite=suite,
        options=Options(**options),  # type: ignore[arg-type]
        concurrency=4,
    )
    log = CapabilityLog()
    generator = LLMGenerator(ObservedModel(model, log), max_output_tokens=100, output_ceiling=100)
    stages = replace(made.stages, generator=generator, observed=log)
    return replace(made, stages=stages, budget_usd=run_usd)


def run(made: Setup, *, resume: bool = False, heard: list[Event] | None = None) -> Finished:
    listener = (heard if heard is not None else []).append
    return anyio.run(lambda: run_benchmark(made, resume=resume, listener=listener))


def test_each_question_counts_its_own_calls_under_concurrency(tmp_path: Path) -> None:
    """The calls of metrics run in tasks of ragas; they belong to the question that asked."""
    done = run(costly(tmp_path, paid()))

    rows = done.report.detailed_results
    for row in rows:
        units = len(row.evidence)
        assert row.cost.calls == 1 + units + 3
        assert row.cost_by_purpose["generate"].calls == 1
        assert row.cost_by_purpose["metric"].calls == units + 3
        assert row.cost_by_model["m"] == row.cost
        assert row.cost.usd == pytest.approx(0.015 * row.cost.calls)
        assert not row.cached
    cost = done.report.cost
    assert cost.total.calls == sum(row.cost.calls for row in rows)
    assert cost.total.usd == pytest.approx(total(row.cost for row in rows).usd)
    assert cost.by_purpose["generate"].calls == len(rows)


def test_a_question_that_failed_costs_what_its_calls_cost(tmp_path: Path) -> None:
    usage = Usage(prompt_tokens=7, completion_tokens=0)

    def failing(prompt: Prompt) -> Line:
        if worlds.port_of(prompt) == "Vask":
            return ModelUnavailable("down", status=503, usage=usage)
        return answering(prompt)

    done = run(costly(tmp_path, paid(failing), ragas=False))

    row = done.report.detailed_results[1]
    assert row.category == "error"
    assert (row.cost.calls, row.cost.failed, row.cost.prompt_tokens) == (1, 1, 7)
    assert done.report.cost.total.failed == 1


def test_an_unknown_price_is_not_zero_in_the_sum(tmp_path: Path) -> None:
    done = run(costly(tmp_path, paid(pricer=UNPRICED), ragas=False))

    assert done.report.cost.total.usd is None
    assert done.report.cost.total.unpriced == 4


def test_what_models_take_is_kept_with_the_run_and_survives_a_resume(tmp_path: Path) -> None:
    def lossy(prompt: Prompt) -> Line:
        said = answering(prompt)
        assert isinstance(said, Reply)
        lost = ("temperature",) if worlds.port_of(prompt) == "Orle" else ()
        return replace(said, dropped=lost)

    def down(prompt: Prompt) -> Line:
        if worlds.port_of(prompt) == "Quell":
            return ModelUnavailable("down", status=503)
        return lossy(prompt)

    first = run(costly(tmp_path, paid(down), ragas=False))
    done = run(costly(tmp_path, paid(answering), ragas=False), resume=True)

    (found,) = done.report.provenance.capabilities
    assert (found.model, found.structured, found.dropped) == (
        "m",
        ("json_object",),
        ("temperature",),
    )
    assert first.report.provenance.capabilities == (found,)


# --- the budget of one question ---------------------------------------------------------------


def dear(port: str) -> Callable[[Prompt], Line]:
    """One question whose prompt alone costs more than is allowed; all others are cheap."""

    def script(prompt: Prompt) -> Line:
        said = answering(prompt)
        assert isinstance(said, Reply)
        much = worlds.port_of(prompt) == port
        return replace(said, usage=Usage(prompt_tokens=50_000 if much else 10, completion_tokens=5))

    return script


def test_a_question_over_its_budget_is_unmeasured_for_that_reason_alone(tmp_path: Path) -> None:
    """The answer that was paid for stands; its metrics are not asked; nobody else is touched."""
    heard: list[Event] = []

    done = run(costly(tmp_path, paid(dear("Vask")), budget_usd=40.0), heard=heard)

    rows = done.report.detailed_results
    assert [row.category for row in rows] == ["grounded_answer"] * 4
    for name in ("context_precision", "context_recall", "faithfulness"):
        score = rows[1].metrics[name]
        assert score.status == "unmeasured"
        assert (score.reason or "").startswith("budget of the trace: up to $")
        assert {row.metrics[name].status for row in (rows[0], rows[2], rows[3])} == {"measured"}
    assert not [event for event in heard if isinstance(event, RunStopped)]
    assert (done.complete, done.unmeasured) == (False, 1)


def test_without_any_budget_left_no_call_is_made(tmp_path: Path) -> None:
    done = run(costly(tmp_path, paid(), number=10, ragas=False, budget_usd=0.0))

    assert {row.category for row in done.report.detailed_results} == {"error"}
    assert all(
        (row.error or "").startswith("budget of the trace:") for row in done.report.detailed_results
    )
    assert done.report.cost.total.calls == 0
    # Every question was looked at: a budget is no failure of the provider.
    assert done.stopped is None


@pytest.mark.parametrize(("unknown", "category"), [("warn", "grounded_answer"), ("block", "error")])
def test_an_unknown_price_passes_or_blocks_as_set(
    tmp_path: Path, unknown: UnknownPrice, category: str
) -> None:
    made = costly(
        tmp_path,
        paid(pricer=UNPRICED),
        number=1,
        ragas=False,
        budget_usd=1.0,
        unknown_price=unknown,
    )

    row = run(made).report.detailed_results[0]

    assert row.category == category
    assert ("the price of `m` is not known" in (row.error or "")) is (category == "error")


# --- the budget of the run --------------------------------------------------------------------


def test_a_run_over_its_budget_stops_and_the_rest_can_be_asked_later(tmp_path: Path) -> None:
    """Twenty questions, each about 0.015 dollars after its reservation of about 4 is settled."""
    whole = run(costly(tmp_path / "a", paid(dear("Vask")), number=10, ragas=False))
    heard: list[Event] = []

    made = costly(tmp_path / "b", paid(dear("Vask")), number=10, ragas=False, run_usd=40.0)
    first = run(replace(made, concurrency=1), heard=heard)

    assert first.stopped is not None
    assert first.stopped.startswith("budget of the run: up to $")
    (stop,) = [event for event in heard if isinstance(event, RunStopped)]
    assert "run_budget_usd" in stop.reason
    rows = first.report.detailed_results
    assert [row.category for row in rows] == ["grounded_answer"] * 2 + ["error"] * 8
    assert "budget of the run" in (rows[-1].error or "")
    assert not first.complete

    again = run(replace(made, budget_usd=40.0), resume=True)
    assert not again.complete, "what was spent before counts"

    done = run(replace(made, budget_usd=1000.0), resume=True)
    assert done.complete
    assert done.report.cost == whole.report.cost
    assert written(done) == written(whole)


def written(finished: Finished) -> object:
    return worlds.timeless(json.loads(finished.json_path.read_text(encoding="utf-8")))


def test_budgets_do_not_belong_to_what_a_run_is(tmp_path: Path) -> None:
    one = costly(tmp_path, paid(), budget_usd=1.0, run_usd=2.0)
    other = replace(costly(tmp_path, paid()), concurrency=99)

    assert one.fingerprint() == other.fingerprint()


# --- prompts that are too long ----------------------------------------------------------------


def test_prompts_that_are_too_long_say_nothing_about_the_endpoint(tmp_path: Path) -> None:
    """Ten of them in a row do not stop the run, and each row says why it has no reply."""

    def long(_prompt: Prompt) -> Line:
        return ContextTooLong("9000 of 8192 tokens", status=400)

    done = run(costly(tmp_path, paid(long), number=10, ragas=False))

    assert done.stopped is None
    rows = done.report.detailed_results
    assert {row.category for row in rows} == {"error"}
    assert all("9000 of 8192 tokens" in (row.error or "") for row in rows)


def test_the_journal_keeps_costs_and_capabilities(tmp_path: Path) -> None:
    def down(prompt: Prompt) -> Line:
        if worlds.port_of(prompt) == "Quell":
            return ModelUnavailable("down", status=503)
        return answering(prompt)

    done = run(costly(tmp_path, paid(down), ragas=False))

    assert done.journal_path is not None
    entries = journal.read(done.journal_path).entries
    assert [entries[n].row.cost for n in range(4)] == [
        row.cost for row in done.report.detailed_results
    ]
    assert entries[3].incomplete
    assert any(item.structured == ("json_object",) for item in entries[0].capabilities)
