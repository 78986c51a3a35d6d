"""LLM judges over a scripted model: asked once more where it helps, and never more than that."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from unit.judges.scripts import (
    Entry,
    as_json,
    asker,
    careful,
    changed,
    claims_of,
    good_reply,
    is_canary,
    items,
    questions,
    scripted,
    trace,
    wait,
)

from aletheia.errors import (
    BudgetExceeded,
    ContextTooLong,
    ModelBadReply,
    ModelRefused,
    ModelUnavailable,
    UsageError,
)
from aletheia.judges.base import Failed, Judged, TraceCase
from aletheia.judges.case import CHUNKED, OBEYED
from aletheia.judges.llm import LLMDecomposer, LLMFusedJudge, LLMJudge
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.schema.judgement import FaithfulnessJudgment
from aletheia.schema.model import Prompt, Reply

RESPONSE = "The mill opened in 1911. The mill closed in 1950. The mill has a red roof."
CASE = trace(RESPONSE, *RESPONSE.split(". "), query="When did the mill open?")
CLAIMS = claims_of(RESPONSE)
ASKED = questions("When did the mill open?", "What roof has the mill?")


def faithfulness(
    model: ScriptedModel, case: TraceCase = CASE, **options: object
) -> Judged[tuple[FaithfulnessJudgment, ...]] | Failed:
    judge = LLMJudge(asker(model, **options))
    outcome = wait(judge.judge_faithfulness, case, CLAIMS)
    assert isinstance(outcome, Judged | Failed)
    return outcome


def verdicts(outcome: object) -> list[str | None]:
    assert isinstance(outcome, Judged)
    return [item.verdict or item.problem for item in outcome.value]


def without(*places: int) -> Callable[[Prompt], Line]:
    """Leave out the claims at these places, counted without the canary."""

    def say(prompt: Prompt) -> str:
        real = [key for key, _, text in items(prompt) if not is_canary(prompt, text)]
        left_out = {real[place] for place in places}
        return as_json([entry for entry in careful(prompt) if entry["id"] not in left_out])

    return say


def test_a_good_reply_is_one_call() -> None:
    model = scripted(good_reply)
    outcome = faithfulness(model)
    assert verdicts(outcome) == ["Y", "Y", "Y"]
    assert [item.claim_id for item in outcome.value] == [0, 1, 2]  # type: ignore[union-attr]
    assert len(model.history) == 1


def test_missing_items_are_asked_again_alone_and_with_the_reason() -> None:
    """Field case 8: a short reply is neither a good verdict nor a new start."""
    model = scripted(without(1), good_reply)
    assert verdicts(faithfulness(model)) == ["Y", "Y", "Y"]
    first, second = model.history
    shown = [text for _, _, text in items(second) if not is_canary(second, text)]
    assert shown == [CLAIMS[1].text]
    assert "(missing)" in second.user
    assert first.user not in second.user


def test_what_is_missing_twice_is_unmeasured() -> None:
    model = scripted(without(1), without(0))
    assert verdicts(faithfulness(model)) == ["Y", "missing", "Y"]
    assert len(model.history) == 2


@pytest.mark.parametrize("text", ["", "I cannot do that.", '{"claims": []}'])
def test_a_reply_without_verdicts_gets_one_more_call(text: str) -> None:
    """Field case 157: one repair call, whatever the reply."""
    model = scripted(text)
    outcome = faithfulness(model)
    assert set(verdicts(outcome)) <= {"empty_reply", "unreadable", "missing", "canary_missing"}
    assert len(model.history) == 2
    assert verdicts(faithfulness(scripted(text, good_reply))) == ["Y", "Y", "Y"]


@pytest.mark.parametrize("ids", [[], ["E99"]])
def test_a_yes_without_a_unit_is_asked_once_more_then_unmeasured(ids: list[str]) -> None:
    """Field case 170."""

    def change(entry: Entry) -> Entry:
        return {**entry, "evidence_ids": ids if entry["verdict"] == "Y" else []}

    model = scripted(changed(change))
    assert verdicts(faithfulness(model)) == ["no_valid_unit"] * 3
    assert len(model.history) == 2
    assert verdicts(faithfulness(scripted(changed(change), good_reply))) == ["Y", "Y", "Y"]


def test_a_yes_against_the_figures_is_asked_once_more_then_unmeasured() -> None:
    case = trace(RESPONSE, "The mill opened in 1912. The mill closed in 1951. It has a red roof.")
    model = scripted(good_reply)
    lacks = "citation_lacks_literals"
    assert verdicts(faithfulness(model, case)) == [lacks, lacks, "Y"]
    assert len(model.history) == 2
    lenient = faithfulness(scripted(good_reply), case, strict=False)
    assert verdicts(lenient) == ["Y", "Y", "Y"]
    assert [item.warnings for item in lenient.value] == [(lacks,), (lacks,), ()]  # type: ignore[union-attr]


def test_a_judge_that_believes_the_canary_is_not_asked_again() -> None:
    def believing(entry: Entry) -> Entry:
        return {**entry, "verdict": "Y", "evidence_ids": ["E1"]}

    model = scripted(changed(believing))
    outcome = faithfulness(model)
    assert isinstance(outcome, Judged)
    assert verdicts(outcome) == ["canary"] * 3
    assert outcome.findings == (OBEYED,)
    assert outcome.message is not None
    assert len(model.history) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelUnavailable("down"), "model_unavailable"),
        (ModelRefused("no key"), "model_refused"),
        (ModelBadReply("nothing came"), "bad_reply"),
        (BudgetExceeded(1.0, 0.5), "budget_exceeded"),
    ],
)
def test_a_call_that_fails_is_an_outcome_and_is_not_repeated(error: Exception, code: str) -> None:
    model = scripted(error)  # type: ignore[arg-type]
    outcome = faithfulness(model)
    assert isinstance(outcome, Failed)
    assert outcome.code == code
    assert outcome.message in str(error)
    assert len(model.history) == 1


def test_a_script_at_fault_is_no_outcome() -> None:
    with pytest.raises(UsageError):
        faithfulness(ScriptedModel([]))


def test_what_the_first_reply_holds_outlives_a_second_call_that_fails() -> None:
    outcome = faithfulness(scripted(without(1), ModelUnavailable("down")))
    assert verdicts(outcome) == ["Y", "missing", "Y"]
    assert outcome.message == "down"


def test_a_reply_the_adapter_could_not_use_is_read_where_it_has_a_text() -> None:
    def say(prompt: Prompt) -> Line:
        return ModelBadReply("odd", text=f"Here: {good_reply(prompt)}")

    assert verdicts(faithfulness(scripted(say))) == ["Y", "Y", "Y"]


def test_long_lists_are_judged_in_parts_side_by_side() -> None:
    model = scripted(good_reply)
    assert verdicts(faithfulness(model, claims_a_call=2)) == ["Y", "Y", "Y"]
    assert [len(items(prompt)) for prompt in model.history] == [3, 2]


def test_a_part_that_fails_leaves_the_other_part_measured() -> None:
    model = scripted(good_reply, ModelUnavailable("down"))
    outcome = faithfulness(model, claims_a_call=2)
    assert verdicts(outcome) == ["Y", "Y", "model_unavailable"]
    assert outcome.message == "down"


def too_long_above(units: int) -> Callable[[Prompt], Line]:
    def say(prompt: Prompt) -> Line:
        shown = [line for line in prompt.user.split("\n") if line.startswith("[E")]
        return ContextTooLong("too long") if len(shown) > units else good_reply(prompt)

    return say


def test_units_that_do_not_fit_are_judged_in_halves() -> None:
    """Field case 124: supported if any part supports."""
    model = scripted(too_long_above(1))
    outcome = faithfulness(model)
    assert verdicts(outcome) == ["Y", "Y", "Y"]
    assert [item.evidence_ids for item in outcome.value] == [("E1",), ("E2",), ("E3",)]  # type: ignore[union-attr]
    assert outcome.findings == (CHUNKED,)


def test_a_unit_that_alone_is_too_long_leaves_unmeasured_what_the_others_lack() -> None:
    def say(prompt: Prompt) -> Line:
        return ContextTooLong("too long") if "[E2]" in prompt.user else good_reply(prompt)

    outcome = faithfulness(scripted(say))
    assert isinstance(outcome, Judged)
    assert [item.verdict for item in outcome.value] == ["Y", None, "Y"]
    assert outcome.message == "too long"
    assert isinstance(faithfulness(scripted(ContextTooLong("too long"))), Failed)


def test_sufficiency_and_completeness_come_the_same_way() -> None:
    judge = LLMJudge(asker(scripted(good_reply)))
    sufficiency = wait(judge.judge_sufficiency, CASE, ASKED)
    assert [(item.sub_question_id, item.verdict) for item in sufficiency.value] == [
        (0, "N"),
        (1, "N"),
    ] or verdicts(sufficiency)
    completeness = wait(judge.judge_completeness, CASE, ASKED, CLAIMS)
    assert [item.claim_ids for item in completeness.value.alignments] == [(0, 1, 2), ()]
    assert completeness.value.problem is None


def test_an_alignment_with_a_hole_is_no_alignment() -> None:
    def hole(entry: Entry) -> Entry:
        return {**entry, "off_topic": "perhaps"} if entry["answers"] else entry

    judge = LLMJudge(asker(scripted(changed(hole))))
    outcome = wait(judge.judge_completeness, CASE, ASKED, CLAIMS)
    assert (outcome.value.problem, outcome.value.alignments) == ("off_menu", ())


def test_the_fused_plan_is_two_calls() -> None:
    model = scripted(good_reply)
    judge = LLMFusedJudge(asker(model))
    asked, pieces = wait(judge.decompose, CASE)
    found = wait(judge.judge, CASE, asked.value, pieces.value.claims)
    assert len(model.history) == 2
    assert verdicts(found.faithfulness) == ["Y", "Y", "Y"]
    assert found.completeness.value.problem is None


def test_the_fused_plan_asks_again_about_what_is_open_only() -> None:
    def hole(entry: Entry) -> Entry | None:
        return None if entry["id"][0] == "C" and entry["evidence_ids"] == ["E2"] else entry

    model = scripted(changed(hole), good_reply)
    found = wait(LLMFusedJudge(asker(model)).judge, CASE, ASKED, CLAIMS)
    assert verdicts(found.faithfulness) == ["Y", "Y", "Y"]
    second = model.history[1]
    shown = [text for key, _, text in items(second) if not is_canary(second, text)]
    assert shown == [item.text for item in (*ASKED, CLAIMS[1])]


def test_a_decomposition_that_cannot_be_read_is_asked_for_once_more() -> None:
    model = scripted("no", good_reply)
    outcome = wait(LLMDecomposer(asker(model)).decompose_response, CASE)
    assert [claim.text for claim in outcome.value.claims] == [claim.text for claim in CLAIMS]
    assert "(unreadable)" in model.history[1].user
    for failing in (LLMDecomposer(asker(scripted("no"))).decompose_query,):
        assert isinstance(wait(failing, CASE), Failed)


def test_half_a_fused_decomposition_keeps_the_half_that_was_read() -> None:
    half = json.dumps({"sub_questions": ["When did the mill open?"]})
    model = scripted(half)
    asked, pieces = wait(LLMFusedJudge(asker(model)).decompose, CASE)
    assert isinstance(asked, Judged)
    assert isinstance(pieces, Failed)
    assert len(model.history) == 2


def test_prompts_carry_the_limits_and_the_repeat() -> None:
    model = scripted(good_reply)
    faithfulness(model, TraceCase(query="x", evidence=CASE.evidence, response=RESPONSE, repeat=2))
    faithfulness(model, max_output_tokens=8192, output_ceiling=9000)
    first, second = model.history
    assert (first.repeat, first.max_output_tokens) == (2, None)
    assert (second.repeat, second.max_output_tokens, second.output_ceiling) == (0, 8192, 9000)


def test_a_reply_that_was_cut_is_kept_as_far_as_it_goes() -> None:
    def cut(prompt: Prompt) -> Line:
        return Reply(text=as_json(careful(prompt)[:2]), model="m", finish_reason="length")

    model = scripted(cut, good_reply)
    assert verdicts(faithfulness(model)) == ["Y", "Y", "Y"]
    assert len(items(model.history[1])) < len(items(model.history[0]))


def test_making_names_model_and_prompts() -> None:
    made = LLMJudge(asker(scripted(good_reply))).making
    assert made["judge_model"] == "scripted"
    assert {key for key in made if key.startswith("prompt_")} == {
        "prompt_sufficiency",
        "prompt_faithfulness",
        "prompt_completeness",
    }
