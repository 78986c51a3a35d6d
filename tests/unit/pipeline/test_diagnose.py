"""One trace to its diagnosis: isolated judges, two round trips, nothing missing passed over."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from unit.judges.scripts import (
    Entry,
    asker,
    changed,
    good_reply,
    is_canary,
    isolated,
    items,
    scripted,
    trace,
    wait,
)

from aletheia.diagnosis.classify import classify
from aletheia.diagnosis.suggest import suggest
from aletheia.errors import AletheiaError, DataError, ModelUnavailable, UsageError
from aletheia.judges.base import FusedJudge, Judged, Judges, Outcome, TraceCase
from aletheia.judges.case import OBEYED
from aletheia.judges.llm import LLMFusedJudge
from aletheia.judges.rules import WholeDecomposer
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.pipeline.diagnose import DiagnoseOptions, diagnose, trace_case
from aletheia.schema.diagnosis import (
    LATENCY_KEYS,
    Diagnosis,
    EvaluationResult,
    FailureCell,
    Suggestion,
)
from aletheia.schema.judgement import FaithfulnessJudgment
from aletheia.schema.model import Prompt, Reply
from aletheia.schema.trace import Claim, ContextChunk

RESPONSE = "The mill opened in 1911. The mill has a red roof."
CASE = trace(RESPONSE, *RESPONSE.split(". "), query="The mill opened when?")
NOW = datetime(2020, 1, 2, tzinfo=UTC)
KEYS = {
    *("decompose_query", "decompose_response"),
    *("judge_sufficiency", "judge_faithfulness", "judge_completeness"),
}


class Classifier:
    """Writes down what it was given."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def __call__(self, **outcomes: Any) -> Diagnosis:
        self.given = outcomes
        return Diagnosis(failure_cell=FailureCell.COMPLETE_GROUNDED)


def run(
    judges: Judges | FusedJudge, case: TraceCase = CASE, **options: Any
) -> tuple[EvaluationResult, dict[str, Any]]:
    classifier = Classifier()
    made = DiagnoseOptions(classify=classifier, now=lambda: NOW, **options)
    return wait(diagnose, case, judges, made), classifier.given


def fused(model: ScriptedModel, **options: Any) -> LLMFusedJudge:
    return LLMFusedJudge(asker(model, **options))


PLANS: Sequence[Callable[[ScriptedModel], Judges | FusedJudge]] = (isolated, fused)
both_plans = pytest.mark.parametrize("plan", PLANS)


@both_plans
def test_a_trace_is_cut_judged_and_classified(plan: Callable[..., Any]) -> None:
    model = scripted(good_reply)
    result, given = run(plan(model))
    assert [claim.text for claim in result.claims] == [
        "The mill opened in 1911.",
        "The mill has a red roof.",
    ]
    assert [item.verdict for item in result.faithfulness] == ["Y", "Y"]
    assert [item.verdict for item in result.sufficiency] == ["Y"]
    assert result.completeness is not None
    assert result.completeness.alignments[0].claim_ids == (0, 1)
    assert result.failure_cell is FailureCell.COMPLETE_GROUNDED
    assert (result.errors, result.findings, result.created_at) == ({}, (), NOW)
    assert tuple(result.latency_ms) == LATENCY_KEYS
    taken = {name for name, value in result.latency_ms.items() if value > 0}
    assert taken == KEYS
    assert all(value >= 0 for value in result.latency_ms.values())
    assert given["unmeasured"] == ()
    assert given["decomposition"].method == "llm"
    assert (given["faithfulness"], given["completeness"]) == (
        result.faithfulness,
        result.completeness,
    )
    assert len(model.history) == (5 if plan is isolated else 2)


class Waves:
    """A model that answers when nobody else is about to ask: it counts round trips."""

    name = "waves"

    def __init__(self, answer: Callable[[Prompt], str]) -> None:
        self.answer = answer
        self.waves: list[int] = []
        self._waiting: list[anyio.Event] = []

    async def complete(self, prompt: Prompt) -> Reply:
        event = anyio.Event()
        self._waiting.append(event)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        if self._waiting and self._waiting[-1] is event:
            self.waves.append(len(self._waiting))
            for one in self._waiting:
                one.set()
            self._waiting.clear()
        await event.wait()
        return Reply(text=self.answer(prompt), model=self.name)


@pytest.mark.parametrize(("plan", "waves"), [(isolated, [2, 3]), (fused, [1, 1])])
def test_no_more_than_two_calls_follow_one_another(
    plan: Callable[..., Any], waves: list[int]
) -> None:
    model = Waves(good_reply)
    run(plan(model))
    assert model.waves == waves


def failing(name: str, error: AletheiaError) -> Callable[[Prompt], Line]:
    return lambda prompt: error if prompt.schema_name == name else good_reply(prompt)


@pytest.mark.parametrize("metric", ["sufficiency", "faithfulness", "completeness"])
def test_a_judge_that_fails_is_said_and_the_others_finish(metric: str) -> None:
    result, given = run(isolated(scripted(failing(metric, ModelUnavailable("down")))))
    assert result.errors == {metric: "down"}
    assert given["unmeasured"] == (metric,)
    problems = {
        "sufficiency": [item.problem for item in result.sufficiency],
        "faithfulness": [item.problem for item in result.faithfulness],
        "completeness": [result.completeness and result.completeness.problem],
    }
    for name, found in problems.items():
        assert set(found) == ({"model_unavailable"} if name == metric else {None})


def test_a_query_that_could_not_be_cut_leaves_faithfulness() -> None:
    result, given = run(isolated(scripted(failing("decompose_query", ModelUnavailable("down")))))
    assert given["unmeasured"] == ("decompose_query", "sufficiency", "completeness")
    assert [item.verdict for item in result.faithfulness] == ["Y", "Y"]
    assert result.completeness is not None
    assert result.completeness.problem == "not_decomposed"
    assert set(result.errors) == {"decompose_query", "sufficiency", "completeness"}


def test_a_response_that_could_not_be_cut_is_not_a_response_without_claims() -> None:
    result, given = run(isolated(scripted(failing("decompose_response", ModelUnavailable("down")))))
    assert given["unmeasured"] == ("decompose_response", "faithfulness", "completeness")
    assert [item.verdict for item in result.sufficiency] == ["Y"]


def test_when_the_fused_call_fails_nothing_is_measured() -> None:
    result, given = run(fused(scripted(failing("fused", ModelUnavailable("down")))))
    assert given["unmeasured"] == ("sufficiency", "faithfulness", "completeness")
    assert set(result.errors.values()) == {"down"}


@both_plans
def test_a_judge_that_obeys_the_text_is_a_finding_and_no_verdict(plan: Callable[..., Any]) -> None:
    """Field case 118."""

    def obey(entry: Entry) -> Entry:
        return {**entry, "verdict": "Y", "evidence_ids": ["E1"]}

    result, given = run(plan(scripted(changed(obey))))
    assert OBEYED in result.findings
    assert [item.problem for item in result.faithfulness] == ["canary", "canary"]
    assert not [item for item in result.sufficiency if item.verdict]
    assert set(result.errors) >= {"sufficiency", "faithfulness"}
    assert all("Bamatogireludofa" not in claim.text for claim in result.claims)
    assert given["faithfulness"] == result.faithfulness


@both_plans
@pytest.mark.parametrize("response", ["", "  \n"])
def test_an_empty_response_is_neither_grounded_nor_an_abstention(
    plan: Callable[..., Any], response: str
) -> None:
    result, given = run(
        plan(scripted(good_reply)), trace(response, "It is red.", query="Is it red?")
    )
    assert (given["empty_response"], given["abstained"]) == (True, False)
    assert (result.claims, result.faithfulness) == ((), ())
    assert result.completeness is not None
    assert result.completeness.alignments[0].claim_ids == ()


@both_plans
def test_an_abstention_has_no_claims_and_its_evidence_is_judged(plan: Callable[..., Any]) -> None:
    model = scripted(good_reply)
    result, given = run(plan(model), trace("I don't know.", "It is red.", query="Is it red?"))
    assert (given["empty_response"], given["abstained"]) == (False, True)
    assert result.claims == ()
    assert len(result.sufficiency) == 1
    assert len(model.history) == 2


@both_plans
def test_without_evidence_only_the_alignment_is_asked_for(plan: Callable[..., Any]) -> None:
    model = scripted(good_reply)
    result, given = run(plan(model), trace("It is red.", query="Is it red?"))
    assert [item.verdict for item in (*result.sufficiency, *result.faithfulness)] == ["N", "N"]
    assert given["has_evidence"] is False
    judged = [prompt.schema_name for prompt in model.history if prompt.purpose == "judge"]
    assert judged == ["completeness" if plan is isolated else "fused"]


@both_plans
def test_nothing_is_asked_about_nothing(plan: Callable[..., Any]) -> None:
    model = scripted(good_reply)
    result, given = run(plan(model), trace("", query=None))
    assert model.history == []
    assert (result.sufficiency, result.faithfulness, result.completeness) == ((), (), None)
    assert given["has_query"] is False


@both_plans
def test_without_a_query_faithfulness_is_judged_alone(plan: Callable[..., Any]) -> None:
    result, given = run(plan(scripted(good_reply)), trace(RESPONSE, RESPONSE, query=None))
    assert [item.verdict for item in result.faithfulness] == ["Y", "Y"]
    assert (result.sufficiency, result.completeness) == ((), None)
    assert given["unmeasured"] == ()


def test_the_whole_response_can_be_one_claim() -> None:
    model = scripted(good_reply)
    judges = isolated(model)
    judges = Judges(
        decomposer=WholeDecomposer(),
        sufficiency=judges.sufficiency,
        faithfulness=judges.faithfulness,
        completeness=judges.completeness,
    )
    result, given = run(judges, trace(RESPONSE, RESPONSE))
    assert [claim.text for claim in result.claims] == [RESPONSE]
    assert given["decomposition"].method == "whole"
    assert len(model.history) == 3


def test_repeats_are_other_prompts_asked_side_by_side_and_the_majority_decides() -> None:
    """Field case 119: a judge that alternates."""
    calls = {"faithfulness": 0}

    def alternating(prompt: Prompt) -> str:
        if prompt.schema_name != "faithfulness":
            return good_reply(prompt)
        calls["faithfulness"] += 1
        no = calls["faithfulness"] == 2
        reply = changed(lambda e: {**e, "verdict": "N", "evidence_ids": []} if no else e)(prompt)
        assert isinstance(reply, str)
        return reply

    model = scripted(alternating)
    result, _ = run(isolated(model), repeat=3)
    assert [(item.verdict, item.agreement) for item in result.faithfulness] == [("Y", 2 / 3)] * 2
    assert [item.agreement for item in result.sufficiency] == [1.0]
    assert result.completeness is not None
    assert result.completeness.agreement == 1.0
    asked = [prompt.repeat for prompt in model.history if prompt.schema_name == "faithfulness"]
    assert sorted(asked) == [0, 1, 2]


def test_no_repeat_at_all_is_a_wrong_call() -> None:
    with pytest.raises(UsageError, match="repeat"):
        DiagnoseOptions(classify=Classifier(), repeat=0)


class Own:
    """A judge of a user's own, without a model."""

    name = "own"

    def __init__(self, error: AletheiaError | None = None) -> None:
        self.making = {"judge": "own 1"}
        self.error = error

    async def judge_faithfulness(
        self, case: TraceCase, claims: Sequence[Claim]
    ) -> Outcome[tuple[FaithfulnessJudgment, ...]]:
        if self.error is not None:
            raise self.error
        return Judged(value=tuple(FaithfulnessJudgment(claim_id=c.id, verdict="N") for c in claims))


def with_own(own: Own) -> Judges:
    others = isolated(scripted(good_reply))
    return Judges(
        decomposer=others.decomposer,
        sufficiency=others.sufficiency,
        faithfulness=own,
        completeness=others.completeness,
    )


def test_a_judge_of_another_kind_fits_the_same_door() -> None:
    result, _ = run(with_own(Own()))
    assert [item.verdict for item in result.faithfulness] == ["N", "N"]
    assert result.making["judge_model"] == "scripted"
    assert "package" in result.making


def test_an_error_a_judge_raises_is_its_own_and_a_wrong_call_is_the_callers() -> None:
    result, given = run(with_own(Own(DataError("no weights"))))
    assert result.errors == {"faithfulness": "no weights"}
    assert given["unmeasured"] == ("faithfulness",)
    for repeat in (1, 2):
        with pytest.raises(UsageError, match="wrong call"):
            run(with_own(Own(UsageError("wrong call"))), repeat=repeat)


def test_the_advice_follows_the_diagnosis() -> None:
    advice = Suggestion(slug="x", title="X", body="x")
    result, _ = run(isolated(scripted(good_reply)), suggest=lambda _diagnosis: advice)
    assert result.suggestion == advice


def test_chunks_are_numbered_by_rank() -> None:
    chunks = [ContextChunk(text="b", rank=1), ContextChunk(text="a", rank=0, source="s")]
    case = trace_case("q", chunks, "r")
    assert [(unit.id, unit.text, unit.source) for unit in case.evidence] == [
        ("E1", "a", "s"),
        ("E2", "b", None),
    ]


def test_the_result_is_json_without_a_canary_or_a_token() -> None:
    result, _ = run(isolated(scripted(good_reply)))
    text = result.model_dump_json()
    assert "Bamatogireludofa" not in text
    assert EvaluationResult.model_validate(json.loads(text)) == result


PE_RESPONSE = (
    "The P/E ratio is price divided by earnings per share. Apple's P/E ratio was 42.7 in 2023."
)
PE_CASE = trace(
    PE_RESPONSE,
    "The price-to-earnings ratio (P/E ratio) is a share's price divided by its earnings per share.",
    query="What is the P/E ratio, and what was Apple's in 2023?",
)


def financial(prompt: Prompt) -> str:
    """Two parts, the second of which nothing answers but the response."""
    if prompt.purpose == "decompose":
        cut = json.loads(good_reply(prompt))
        parts = ["What is the P/E ratio?", "What was Apple's P/E ratio in 2023?"]
        return json.dumps(cut | ({"sub_questions": parts} if "sub_questions" in cut else {}))
    shown = items(prompt)
    second = {key for key, _, text in shown if "Apple" in text}
    asked = [key for key, _, text in shown if key[0] == "Q" and not is_canary(prompt, text)]

    def judged(entry: Entry) -> Entry:
        if entry["off_topic"] == "Y":
            return entry
        if entry["id"] in second:
            return {**entry, "verdict": "N", "evidence_ids": [], "answers": asked[1:]}
        return {**entry, "verdict": "Y", "evidence_ids": ["E1"], "answers": asked[:1]}

    reply = changed(judged)(prompt)
    assert isinstance(reply, str)
    return reply


@both_plans
def test_an_invented_figure_over_thin_evidence_is_the_worst_case(plan: Callable[..., Any]) -> None:
    """Retrieval found the definition only, and the response made the figure up."""
    options = DiagnoseOptions(classify=classify, suggest=suggest)
    result = wait(diagnose, PE_CASE, plan(scripted(financial)), options)
    assert result.errors == {}
    assert [item.verdict for item in result.sufficiency] == ["Y", "N"]
    assert [item.verdict for item in result.faithfulness] == ["Y", "N"]
    assert result.failure_cell is FailureCell.INCOMPLETE_UNGROUNDED
    assert result.suggestion is not None
    assert result.suggestion.title == "Worst-case failure"
