"""Probes over generators whose source is known, over scripted models that fail, and to a report."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from scipy.stats import binom
from unit.pipeline import worlds

from aletheia.errors import ModelUnavailable
from aletheia.generators.closed_book import ClosedBookGenerator, NoMemory, closed_book_prompt
from aletheia.generators.llm import LLMGenerator
from aletheia.graph.rename import rename
from aletheia.grounding.numbering import number
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.pipeline import probe_conditions as conditions
from aletheia.pipeline.answer import Options
from aletheia.pipeline.judge_setup import embedded_judges
from aletheia.pipeline.probe_conditions import Counterfact, Counterfacts
from aletheia.pipeline.probe_judging import ProbeJudging
from aletheia.pipeline.probe_question import ProbeStages, probe_question
from aletheia.pipeline.probes import ProbeSetup, ProbesFinished, question_texts, run_probes
from aletheia.pipeline.row_diagnosis import Diagnoser
from aletheia.reports.attribution_html import render_probe_page
from aletheia.reports.attribution_tally import ranged, summarise
from aletheia.reports.attribution_text import render_probes
from aletheia.reports.exact import exact
from aletheia.schema.attribution import (
    PROBES,
    ConditionRecord,
    Probe,
    ProbeReport,
    QuestionProbe,
)
from aletheia.schema.evidence import EvidenceSet, EvidenceText
from aletheia.schema.model import Prompt
from aletheia.schema.question import Question
from aletheia.testing import answer_reply

ROOT = Path(__file__).parents[3]


def _benchmark() -> ModuleType:
    """The made generators live beside the table that they are for."""
    spec = importlib.util.spec_from_file_location(
        "contamination", ROOT / "benchmarks" / "contamination.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["contamination"] = module
    spec.loader.exec_module(module)
    return module


made: Any = _benchmark()


# --- the truth is known -----------------------------------------------------------------------


@cache
def place_of(name: str) -> Any:
    return made.world(name)


@cache
def read_in(name: str) -> list[QuestionProbe]:
    place = place_of(name)
    return made.probe_all(place, made.Reader(place.questions, place.renaming))


@cache
def remembered_in(name: str) -> list[QuestionProbe]:
    place = place_of(name)
    return made.probe_all(place, made.Memory(place.questions))


@pytest.fixture(params=made.WORLDS)
def place(request: pytest.FixtureRequest) -> Any:
    return place_of(request.param)


@pytest.fixture
def read(place: Any) -> list[QuestionProbe]:
    return read_in(place.name)


@pytest.fixture
def remembered(place: Any) -> list[QuestionProbe]:
    return remembered_in(place.name)


def test_answers_from_evidence_are_attributed_to_it(read):
    score = made.scored(read, "from_evidence")

    assert score.right >= 0.95 * score.total, score.wrong


def test_answers_from_memory_with_decorative_citations_are_attributed_to_memory(remembered):
    score = made.scored(remembered, "from_memory")

    assert score.right >= 0.95 * score.total, score.wrong


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("names", [(name,) for name in made.WORLDS] + [made.WORLDS])
def test_the_set_rate_lies_within_the_interval(names, rate):
    """In at least 94 % of 200 repetitions, over each world alone and over both."""
    memory = [probe for name in names for probe in remembered_in(name)]
    evidence = [probe for name in names for probe in read_in(name)]
    found = made.coverage(memory, evidence, rate, 200)

    assert found.within >= 188
    assert abs(found.mean - rate) < 0.02


def test_the_interval_holds_the_rate_as_often_as_it_should(read, remembered):
    """The exact chance of the binomial, as scipy has it: attribution adds no error of its own."""
    asked = sum(not probe.condition("base").abstained for probe in read)
    hits = (k for k in range(asked + 1) if inside(0.3, k, asked))
    chance = sum(binom.pmf(k, asked, 0.3) for k in hits)
    found = made.coverage(remembered, read, 0.3, 400)

    assert chance >= 0.95
    assert abs(found.within / 400 - chance) < 3 * (chance * (1 - chance) / 400) ** 0.5


def inside(rate: float, hits: int, asked: int) -> bool:
    found = exact(hits, asked)
    assert found.low is not None
    assert found.high is not None
    return found.low <= rate <= found.high


def test_a_mixed_run_is_made_of_the_runs_of_its_parts(place, read, remembered):
    """What the repetitions rest on: a question is probed by its own replies alone."""
    mixed = made.probe_all(place, made.Mixed(place, 0.5, seed=3))
    memory, evidence = ({p.id: p for p in run} for run in (remembered, read))
    parts = [
        (memory if made.drawn("coin", 3, p.id) < 0.5 else evidence)[p.id].attribution for p in mixed
    ]

    assert [p.attribution for p in mixed] == parts


class Fallback:
    """Reads the evidence, and answers from memory where it does not hold the answer."""

    name, model = "fallback", "made"

    def __init__(self, place: Any) -> None:
        self._reader = made.Reader(place.questions, place.renaming)
        self._memory = made.Memory(place.questions, cites=False)

    async def generate(self, question: str, evidence: EvidenceSet, *, mode: Any) -> Any:
        found = await self._reader.generate(question, evidence, mode=mode)
        if json.loads(found.reply)["answer"] != "INSUFFICIENT_CONTEXT":
            return found
        return await self._memory.generate(question, evidence, mode=mode)


def test_what_follows_the_evidence_and_is_known_without_it_may_be_both(place):
    few = made.replace(place, questions=tuple(q for q in place.questions if q.answerable)[::4])
    probes = made.probe_all(few, Fallback(few))
    with_evidence = [p for p in probes if p.condition("base").cited]

    assert {p.attribution for p in with_evidence} == {"both_possible"}


class Discreet(Fallback):
    """Answers from memory, but never without evidence in front of it."""

    async def generate(self, question: str, evidence: EvidenceSet, *, mode: Any) -> Any:
        if not evidence:
            return made.reply("INSUFFICIENT_CONTEXT")
        return await self._memory.generate(question, evidence, mode=mode)


def test_memory_that_hides_without_evidence_is_never_taken_for_evidence(place):
    few = made.replace(place, questions=place.questions[::4])
    found = summarise(made.probe_all(few, Discreet(few)))

    assert found.attributions["from_evidence"] == 0
    assert found.attributions["both_possible"] == 0
    assert found.attributions["from_memory"] >= 0.9 * found.answers


# --- conditions -------------------------------------------------------------------------------


@pytest.fixture
def ports(tmp_path: Path) -> Any:
    return worlds.port_graph(tmp_path)


def evidence_of(graph: Any, question: Question) -> EvidenceSet:
    return number(graph.retrieve(question.question, max_units=4).units)


def counterfacts(graph: Any, questions: tuple[Question, ...]) -> Counterfacts:
    return Counterfacts(rename(graph, 0, texts=question_texts(questions))[1])


def test_counterfactual_evidence_keeps_what_the_question_names(ports):
    (question,) = worlds.port_questions(1).questions
    evidence = evidence_of(ports, question)
    found = counterfacts(ports, (question,)).make(question, evidence, ("1801",), right=True)

    assert isinstance(found, Counterfact)
    texts = " ".join(unit.text for unit in found.shown.evidence)
    assert "Orle" in texts
    assert "1801" not in texts
    assert found.wanted[0] in texts
    assert (found.before, found.renamed) == (("1801",), False)
    assert found.shown.question == question


def test_where_the_answer_stays_the_question_is_renamed_too(ports):
    question = Question(id="q", question="Is there a port called Orle?", answer="Yes")
    evidence = evidence_of(ports, question)
    found = counterfacts(ports, (question,)).make(question, evidence, ("Yes",), right=True)

    assert isinstance(found, Counterfact)
    assert found.renamed
    assert "Orle" not in found.shown.question.question
    assert not any("Orle" in unit.text for unit in found.shown.evidence)


def test_with_nothing_to_replace_there_is_no_counterfactual(ports):
    question = Question(id="q", question="Is it open?", answer="Yes")
    evidence = number([EvidenceText(text="It is open.")])

    made_of = counterfacts(ports, (question,)).make(question, evidence, ("Yes",), right=True)

    assert made_of == conditions.NOTHING_TO_REPLACE


def test_removed_units_are_gone_and_citations_map_back():
    question = Question(id="q", question="?", answer="b")
    evidence = number(["a", "b", "c", "d"])
    shown = conditions.without(question, evidence, ["E1", "E3"])

    assert not isinstance(shown, str)
    assert [(u.id, u.text) for u in shown.evidence] == [("E1", "b"), ("E2", "d")]
    assert shown.base_ids(["E2", "E9"]) == (("E4",), ("E9",))
    assert conditions.without(question, evidence, evidence.ids) == conditions.NOTHING_LEFT


def test_another_order_is_another_order_and_the_same_for_a_seed():
    question = Question(id="q", question="?", answer="b")
    evidence = number([str(n) for n in range(5)])
    orders = [conditions.shuffled(question, evidence, seed) for seed in (1, 1, 2)]

    assert not any(isinstance(item, str) for item in orders)
    ids = [item.ids for item in orders]  # type: ignore[union-attr]
    assert ids[0] == ids[1] != ids[2]
    assert evidence.ids not in ids
    assert isinstance(conditions.shuffled(question, number(["one"]), 0), str)


def test_holders_are_found_by_words_and_by_facts():
    units = [
        EvidenceText(text="Orle was founded in 1801."),
        EvidenceText(text="Orle is old.", facts=("orle|founded",)),
        EvidenceText(text="Vask is a port."),
    ]

    assert conditions.holders(number(units), ("1801",), ["orle|founded"]) == {"E1", "E2"}


# --- the closed book --------------------------------------------------------------------------


def test_the_closed_book_prompt_has_no_evidence_and_allows_not_to_know():
    prompt = closed_book_prompt("When was Orle {founded}?", delimiter="abcdef123456")

    assert "When was Orle {founded}?" in prompt.user
    assert "EVIDENCE" not in prompt.user
    assert "INSUFFICIENT_CONTEXT" in prompt.system
    assert prompt.schema is not None
    assert prompt.schema["required"] == ["answer", "reasoning"]
    assert prompt.user.count("data-abcdef123456") == 2


def test_an_unreadable_reply_is_asked_for_once_more():
    model = ScriptedModel(["I think so", '{"answer": "1801", "reasoning": ""}'])
    found = anyio.run(ClosedBookGenerator(model).generate, "When?")

    assert json.loads(found.reply)["answer"] == "1801"
    assert [attempt.problem is None for attempt in found.attempts] == [False, True]
    assert "could not be read" in model.history[1].user


def test_what_quotes_evidence_abstains_without_any():
    found = anyio.run(NoMemory().generate, "When?")

    assert json.loads(found.reply)["answer"] == "INSUFFICIENT_CONTEXT"
    assert found.usage.calls == 0


# --- a run ------------------------------------------------------------------------------------


def remembers(prompt: Prompt) -> Line:
    """Says for every port the year it was founded in, whatever the evidence says."""
    year = 1801 + worlds.PORTS.index(worlds.port_of(prompt))
    return answer_reply(str(year), ["E1"] if "[E1]" in prompt.user else [])


def no_memory(prompt: Prompt) -> Line:
    return '{"answer": "INSUFFICIENT_CONTEXT", "reasoning": ""}'


def setup(
    tmp_path: Path,
    base: Callable[[Prompt], Line],
    closed: Callable[[Prompt], Line],
    *,
    questions: int = 3,
    probes: frozenset[Probe] = frozenset(PROBES),
    stop_after: int = 5,
    judging: ProbeJudging | None = None,
) -> ProbeSetup:
    graph = worlds.port_graph(tmp_path)
    asked = worlds.port_questions(questions)
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    stages = ProbeStages(
        graph=graph,
        generator=LLMGenerator(ScriptedModel(base)),
        closed_book=ClosedBookGenerator(ScriptedModel(closed)),
        counterfacts=counterfacts(graph, asked.questions),
        embedder=None,
        probes=probes,
        judging=judging or ProbeJudging(),
    )
    return ProbeSetup(
        graph=graph,
        questions=asked,
        stages=stages,
        options=Options(),
        output_dir=out,
        now=lambda: datetime(2026, 1, 1, 12, 0, tzinfo=UTC),
        concurrency=2,
        stop_after=stop_after,
    )


def finished(made_setup: ProbeSetup) -> ProbesFinished:
    return anyio.run(partial(run_probes, made_setup))


def attributions(report: ProbeReport) -> list[str | None]:
    return [item.attribution for item in report.questions]


def test_an_honest_model_and_one_that_remembers(tmp_path):
    honest = finished(setup(tmp_path, worlds.honest, no_memory))
    other = finished(setup(tmp_path, remembers, remembers))

    assert attributions(honest.report) == ["from_evidence"] * 3
    assert attributions(other.report) == ["from_memory"] * 3
    assert other.report.summary.contamination.rate.numerator == 3
    assert honest.complete
    assert other.complete


def test_the_files_hold_the_report_and_take_no_others_place(tmp_path):
    first = finished(setup(tmp_path, worlds.honest, no_memory))
    second = finished(setup(tmp_path, worlds.honest, no_memory))

    assert first.json_path.name == "probe_20260101_120000.json"
    assert second.json_path.name == "probe_20260101_120001.json"
    assert ProbeReport.model_validate_json(first.json_path.read_text("utf-8")) == first.report
    assert first.html_path.with_suffix(".json") == first.json_path


def test_a_condition_that_fails_is_undecided_and_never_grounding(tmp_path):
    """The closed book is not answered: what follows the evidence may be known all the same."""

    def gone(prompt: Prompt) -> Line:
        return ModelUnavailable("the endpoint is gone", status=503)

    found = finished(setup(tmp_path, worlds.honest, gone))
    (first, *_) = found.report.questions

    assert attributions(found.report) == [None] * 3
    assert first.possible == ("from_evidence", "both_possible")
    assert "the endpoint is gone" in (first.undecided or "")
    assert found.report.summary.contamination.high == 0.0
    assert found.report.summary.known_beforehand.rate.denominator == 0
    assert found.report.summary.known_beforehand.high == 1.0
    assert not found.complete
    assert found.unmeasured == 3


def test_a_probe_that_was_not_chosen_is_not_asked(tmp_path):
    found = finished(setup(tmp_path, worlds.honest, no_memory, probes=frozenset({"closed-book"})))
    (first, *_) = found.report.questions

    assert [c.condition for c in first.conditions if c.status == "measured"] == [
        "base",
        "closed_book",
    ]
    assert first.condition("shuffled").status == "not_asked"
    assert first.attribution is None
    assert found.complete


def test_an_unreadable_reply_is_unmeasured(tmp_path):
    found = finished(setup(tmp_path, lambda prompt: "no object here", no_memory))
    (first, *_) = found.report.questions

    assert first.condition("base").status == "unmeasured"
    assert first.condition("base").raw_reply == "no object here"
    assert first.attribution is None
    assert len(first.possible) == 4


def test_equal_failures_end_the_run_and_the_rest_is_listed(tmp_path):
    def gone(prompt: Prompt) -> Line:
        return ModelUnavailable("the endpoint is gone", status=503)

    found = finished(setup(tmp_path, gone, gone, questions=10, stop_after=2))

    assert len(found.report.questions) == 10
    assert found.report.stopped is not None
    assert "not asked" in (found.report.questions[-1].condition("base").reason or "")
    assert found.report.summary.contamination.total == 10
    assert found.report.summary.contamination.rate.denominator == 0
    assert found.report.summary.contamination.high == 1.0


def test_an_abstention_is_traced_no_further(tmp_path):
    made_setup = setup(tmp_path, lambda prompt: answer_reply("INSUFFICIENT_CONTEXT"), remembers)
    question = made_setup.questions.questions[0]
    found = anyio.run(partial(probe_question, question, made_setup.stages, Options())).probe

    assert found.attribution == "neither"
    assert found.condition("closed_book").correct is True
    assert found.condition("counterfactual").status == "not_asked"


def test_a_citation_that_is_not_needed_is_seen(tmp_path):
    found = finished(setup(tmp_path, remembers, remembers))

    assert found.report.summary.outlives_citations.rate.numerator == 3
    assert found.report.questions[0].condition("counterfactual").outcome == "kept"


def lenient_only(prompt: Prompt) -> Line:
    """Right and grounded, but cites in a form that only lenient reads."""
    reply = json.loads(str(worlds.honest(prompt)))
    cited = ", ".join(f"({unit})" for unit in reply["evidence_ids"])
    return json.dumps({**reply, "answer": f"{reply['answer']} {cited}", "evidence_ids": []})


def test_strict_lenient_and_off_are_seen_over_the_same_replies(tmp_path):
    found = finished(setup(tmp_path, lenient_only, no_memory))
    modes, (first, *_) = found.report.modes, found.report.questions
    rates = {view.view: view.right.rate.numerator for view in found.report.views}

    assert modes is not None
    assert {view.mode.value: view.kept for view in modes.views} == {
        "strict": 0,
        "lenient": 3,
        "off": 3,
    }
    assert (modes.gap.numerator, modes.gap.denominator) == (3, 3)
    assert (rates["strict"], rates["lenient"], rates["base"], rates["closed_book"]) == (0, 3, 3, 0)
    assert first.condition("base").rejection is not None
    assert first.condition("closed_book").kept == ()
    assert found.report.flips[0].under["strict"] == "rejected"
    assert "strict" in found.report.flips[0].changed


def test_what_was_not_asked_is_an_error_in_every_mode(tmp_path):
    def gone(prompt: Prompt) -> Line:
        return ModelUnavailable("the endpoint is gone", status=503)

    found = finished(setup(tmp_path, gone, gone, questions=4, stop_after=2))

    assert found.report.modes is not None
    assert [view.errors for view in found.report.modes.views] == [4, 4, 4]
    assert found.report.flips == ()
    assert [item.right.rate.value for item in found.report.views] == [None] * len(
        found.report.views
    )


def test_replies_get_a_cell_by_the_evidence_they_were_shown(tmp_path):
    """An answer from memory is healthy beside its evidence, and made up beside another one."""
    judging = ProbeJudging(diagnoser=Diagnoser(judges=embedded_judges()))
    found = finished(setup(tmp_path, remembers, remembers, judging=judging))
    cells = {item.view: item for item in found.report.cells}

    assert cells["base"].diagnosed == 3
    assert cells["counterfactual"].cells["complete_ungrounded"] > 0
    assert cells["counterfactual"].cells["complete_grounded"] == 0
    assert cells["closed_book"].diagnosed == 3
    assert found.report.provenance.judge["faithfulness_judge"]
    text = render_probes(found.report)
    assert "Hallucinated" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_file_of_a_version_without_views_is_still_read_and_shown(tmp_path):
    report = finished(setup(tmp_path, remembers, remembers)).report
    old = report.model_dump(mode="json")
    for name in ("modes", "views", "cells", "flips"):
        del old[name]
    del old["provenance"]["judge"]
    read_again = ProbeReport.model_validate_json(json.dumps(old))

    assert read_again.modes is None
    assert "Questions that end otherwise" not in render_probe_page(read_again)
    assert "Strict, lenient" not in render_probes(read_again)


# --- reports ----------------------------------------------------------------------------------


def test_a_rate_over_the_decided_has_the_range_over_all():
    found = ranged([True, False, None, None], cannot=1)

    assert (found.rate.numerator, found.rate.denominator, found.total) == (1, 2, 4)
    assert (found.low, found.high) == (0.25, 0.5)
    assert ranged([]).rate.value is None


def test_the_summary_fits_a_terminal(tmp_path):
    text = render_probes(finished(setup(tmp_path, remembers, remembers)).report)

    assert max(map(len, text.splitlines())) <= 80
    assert "3 of 3 traced answers came from memory (100%)" in text


def test_the_page_is_inert_whatever_the_answers_say(tmp_path):
    evil = "<script>alert(1)</script>\x1b[31m\ud83d"
    report = finished(setup(tmp_path, remembers, remembers)).report
    (first, *rest) = report.questions
    base = first.condition("base").model_copy(update={"answer": evil})
    hostile = first.model_copy(
        update={"question": evil, "id": evil, "conditions": (base, *first.conditions[1:])}
    )
    html = render_probe_page(report.model_copy(update={"questions": (hostile, *rest)}))

    assert "<script" not in html
    assert "\x1b" not in html
    assert html.encode("utf-8")
    assert 'http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;;' in html
    assert html.count('<details class="probe-q"') == 3
    assert 'role="img" aria-label="Contamination: 100% (3 of 3)' in html


def test_an_outcome_without_a_measurement_cannot_be_stored():
    with pytest.raises(ValueError, match="outcome"):
        ConditionRecord(condition="base", status="unmeasured", outcome="right", reason="x")
    with pytest.raises(ValueError, match="reason"):
        ConditionRecord(condition="base", status="unmeasured")
