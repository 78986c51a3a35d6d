"""Which rows of a benchmark are diagnosed, and what stands in those that are not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from unit.judges.scripts import good_reply, isolated, scripted
from unit.pipeline import worlds

from aletheia.errors import BudgetExceeded, ConfigError, ModelUnavailable
from aletheia.grounding.numbering import number
from aletheia.judges.base import Judges, TraceCase
from aletheia.judges.rules import WholeDecomposer
from aletheia.llm.scripted import ScriptedModel
from aletheia.pipeline.answer import Options
from aletheia.pipeline.benchmark import Finished, run_benchmark, unfinished
from aletheia.pipeline.judge_setup import embedded_judges
from aletheia.pipeline.row_diagnosis import Diagnoser, diagnosed
from aletheia.pipeline.setup import Setup
from aletheia.reports.cells import flag_words
from aletheia.reports.document import dump_json, load_json
from aletheia.schema.diagnosis import FailureCell
from aletheia.schema.model import Prompt
from aletheia.schema.report import DetailedResult
from aletheia.schema.verification import Mode
from aletheia.testing import answer_reply

SAYS = {
    "Vask": answer_reply("INSUFFICIENT_CONTEXT"),
    "Tarn": answer_reply("Tarn was founded in 1999.", ["E1"]),
    "Quell": ModelUnavailable("it answered 500", status=500),
}
"""The four ports in order: Orle is answered, Vask abstained, Tarn made up, Quell without a reply."""


def prepared(directory: Path, diagnoser: Diagnoser | None, mode: Mode = Mode.STRICT) -> Setup:
    made = worlds.setup(
        directory,
        worlds.says(SAYS),
        options=Options(mode=mode, row_timeout_s=20),
        stop_after=0,
    )
    return replace(made, stages=replace(made.stages, diagnoser=diagnoser))


def run(setup: Setup, **options: Any) -> Finished:
    return anyio.run(partial(run_benchmark, setup, **options))


def cells(rows: Sequence[DetailedResult]) -> list[str | None]:
    """The cell, or why there is none."""
    return [row.not_diagnosed or (row.diagnosis and row.diagnosis.failure_cell) for row in rows]


EMBEDDED = Diagnoser(judges=embedded_judges())
HEALTHY, GAP = FailureCell.COMPLETE_GROUNDED, FailureCell.INCOMPLETE_GROUNDED
MADE_UP = FailureCell.COMPLETE_UNGROUNDED


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.STRICT, [HEALTHY, GAP, "rejected: uncited_entities", "no reply"]),
        (Mode.LENIENT, [HEALTHY, GAP, MADE_UP, "no reply"]),
        (Mode.OFF, [HEALTHY, GAP, MADE_UP, "no reply"]),
    ],
)
def test_what_the_mode_accepts_is_diagnosed(
    tmp_path: Path, mode: Mode, expected: list[str | None]
) -> None:
    report = run(prepared(tmp_path, EMBEDDED, mode)).report

    assert cells(report.detailed_results) == expected
    found = report.diagnosis_report
    assert found is not None
    assert (found.total, found.diagnosed) == (4, sum(isinstance(e, FailureCell) for e in expected))
    assert (found.threshold, found.threshold_source) == (0.8, "fallback_memory")
    assert load_json(dump_json(report), "r.json") == report


def test_a_diagnosed_row_says_what_to_do_and_what_it_rests_on(tmp_path: Path) -> None:
    row = run(prepared(tmp_path, EMBEDDED)).report.detailed_results[0]

    assert row.suggestion is not None
    assert row.suggestion.slug == "complete_grounded_high"
    assert row.judgements is not None
    (claim,) = row.judgements.faithfulness
    assert (claim.claim, claim.verdict) == (row.answer, "Y")
    assert claim.evidence_ids == row.cited_ids
    assert row.judgements.sufficiency[0].sub_question == row.question
    assert "diagnose" in row.timings_ms


def row_of(answer: str, *units: str, cited: tuple[str, ...]) -> DetailedResult:
    """A diagnosed row whose answer holds no marker: its reply lists what it cites."""
    row = DetailedResult(
        id="q", question="When did Model A ship?", gold_answer="May", category="grounded_answer",
        grounding_rejected=False, answer=answer, cited_ids=cited,
    )  # fmt: skip
    return anyio.run(diagnosed, row, number(units), EMBEDDED).row


@pytest.mark.parametrize(("cited", "miscited"), [(("E2",), True), (("E1",), False), ((), None)])
def test_what_the_reply_cites_is_held_against_what_carries_its_claims(
    cited: tuple[str, ...], miscited: bool | None
) -> None:
    """The judges do not see the list of a reply; the row knows it."""
    units = ("Model A shipped in May.", "Model B shipped in June.")
    row = row_of("Model A shipped in May.", *units, cited=cited)
    assert row.diagnosis is not None
    assert row.judgements is not None
    assert row.diagnosis.flags.miscited is miscited
    assert ("miscited" in row.judgements.faithfulness[0].warnings) is (miscited is True)


def test_a_row_says_that_its_evidence_contradicts_itself() -> None:
    units = ("The tent weighs 3.1 kg.", "Tent, revised: 2.8 kg.")
    row = row_of("The tent weighs 3.1 kg.", *units, cited=("E1",))
    assert row.diagnosis is not None
    assert row.judgements is not None
    assert row.diagnosis.flags.conflict is True
    assert row.judgements.findings == ("conflict: E1 says `3.1 kg`, E2 says `2.8 kg`; E2 is newer",)
    assert "the evidence contradicts itself" in flag_words(row.diagnosis)


def test_an_abstention_over_good_evidence_is_an_over_refusal(tmp_path: Path) -> None:
    row = run(prepared(tmp_path, EMBEDDED)).report.detailed_results[1]

    assert row.diagnosis is not None
    assert (row.diagnosis.flags.abstained, row.diagnosis.abstention) == (True, "over_refusal")


def test_without_a_judge_no_row_says_anything_of_cells(tmp_path: Path) -> None:
    report = run(prepared(tmp_path, None)).report

    assert report.diagnosis_report is None
    assert report.provenance.judge == {}
    rows = report.detailed_results
    assert {(row.diagnosis, row.suggestion, row.not_diagnosed, row.judgements) for row in rows} == {
        (None, None, None, None)
    }


# --- judges that fail -------------------------------------------------------------------------


class Unruly:
    """A judge of faithfulness that raises or hangs; the others are embedded."""

    def __init__(self, meets: Callable[[], Awaitable[object]]) -> None:
        self.name = "unruly"
        self.making = {"faithfulness_judge": self.name}
        self.meets = meets

    async def judge_faithfulness(self, case: TraceCase, claims: object) -> Any:
        del case, claims
        return await self.meets()


def raising(error: Exception) -> Callable[[], Awaitable[object]]:
    async def meet() -> object:
        raise error

    return meet


def with_unruly(meets: Callable[[], Awaitable[object]]) -> Diagnoser:
    return Diagnoser(judges=replace(embedded_judges(), faithfulness=Unruly(meets)))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModelUnavailable("down", status=500), "unmeasured: faithfulness"),
        (ValueError("a fault of ours"), "internal error: "),
    ],
)
def test_a_judge_that_fails_leaves_the_answer_and_its_metrics(
    tmp_path: Path, error: Exception, reason: str
) -> None:
    row = run(prepared(tmp_path, with_unruly(raising(error)))).report.detailed_results[0]

    assert row.not_diagnosed is not None
    assert row.not_diagnosed.startswith(reason)
    assert (row.category, row.suggestion) == ("grounded_answer", None)
    assert row.metrics["faithfulness"].status == "measured"


def test_a_setting_that_is_wrong_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        run(prepared(tmp_path, with_unruly(raising(ConfigError("no such prompt")))))


def test_a_judge_that_hangs_costs_the_time_of_one_question(tmp_path: Path) -> None:
    setup = prepared(tmp_path, with_unruly(anyio.sleep_forever))
    setup = replace(setup, options=replace(setup.options, row_timeout_s=1.5))

    done = run(setup)

    assert not done.complete
    assert cells(done.report.detailed_results)[0] == "the time for this question ran out"
    assert done.report.detailed_results[0].category == "grounded_answer"


def spent(prompt: Prompt) -> str:
    del prompt
    raise BudgetExceeded(2.0, 1.0, scope="run")


def test_a_run_whose_budget_ends_at_a_judge_stops_and_can_go_on(tmp_path: Path) -> None:
    setup = prepared(tmp_path, Diagnoser(judges=isolated(ScriptedModel(spent))))

    done = run(replace(setup, concurrency=1))

    assert done.stopped is not None
    assert done.stopped.startswith("budget of the run")
    assert done.report.detailed_results[0].category == "grounded_answer"
    assert unfinished(setup) is not None


def test_a_judge_that_talks_nonsense_is_no_failure_of_the_provider(tmp_path: Path) -> None:
    setup = prepared(tmp_path, Diagnoser(judges=isolated(scripted("maybe"))))

    done = run(replace(setup, questions=worlds.port_questions(2)))

    assert done.complete
    reasons = cells(done.report.detailed_results)
    assert all(str(reason).startswith("unmeasured: ") for reason in reasons)


# --- what makes a run this run ----------------------------------------------------------------


def whole() -> Judges:
    return replace(embedded_judges(), decomposer=WholeDecomposer())


def test_another_judge_is_another_run(tmp_path: Path) -> None:
    diagnosers = (
        None,
        EMBEDDED,
        Diagnoser(judges=whole()),
        Diagnoser(judges=isolated(scripted(good_reply))),
    )
    found = [prepared(tmp_path, item).fingerprint() for item in diagnosers]

    assert len({tuple(sorted(item.items())) for item in found}) == len(diagnosers)
    assert found[0]["diagnosis"] == "none"
    assert found[3]["diagnosis: judge"] == "llm"
