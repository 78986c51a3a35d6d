"""Verdicts: positive ones stand on units, canaries are not believed, the rest is a problem."""

from __future__ import annotations

from typing import Any

import pytest
from unit.judges.scripts import (
    TOKEN,
    Entry,
    as_json,
    careful,
    changed,
    claims_of,
    is_canary,
    items,
    questions,
    trace,
)

from aletheia.judges.case import OBEYED, JudgeCase, Reading
from aletheia.judges.prompts import PromptSet
from aletheia.judges.support import CitedClaim, lacking
from aletheia.judges.verdicts import (
    COMPLETENESS,
    FAITHFULNESS,
    FUSED,
    SUFFICIENCY,
    Task,
    ask,
    read,
)
from aletheia.schema.model import Prompt, Reply

RESPONSE = "The mill opened in 1911. The mill has 40 staff."
CASE = JudgeCase(
    trace=trace(RESPONSE, "The mill opened in 1911.", "The mill has many staff."),
    sub_questions=questions("When did the mill open?", "How many staff has the mill?"),
    claims=claims_of(RESPONSE),
)


def prompt_of(task: Task, case: JudgeCase = CASE) -> Prompt:
    return ask(task, case, TOKEN, PromptSet())


def reading(
    task: Task, change: Any = dict, *, case: JudgeCase = CASE, strict: bool = True
) -> Reading:
    """Read a careful reply whose entries went through `change`."""
    reply = changed(change)(prompt_of(task, case))
    assert isinstance(reply, str)
    return read(task, case, reply, strict=strict)


def on_claim(number: int, **values: object) -> Any:
    """Change the entry of one claim, counted without the canary."""

    def change(entry: Entry) -> Entry:
        asked = [key for key, _, text in items(prompt_of(FAITHFULNESS)) if TOKEN not in text]
        return {**entry, **values} if entry["id"] == asked[number] else entry

    return change


def test_the_figure_that_no_unit_has_makes_a_yes_no_verdict() -> None:
    """Field case 31, and the hard constraint on numbers."""
    assert reading(FAITHFULNESS).claims[0].verdict == "Y"
    assert reading(FAITHFULNESS).claims[0].evidence_ids == ("E1",)
    assert reading(FAITHFULNESS).claims[1].problem == "citation_lacks_literals"
    lenient = reading(FAITHFULNESS, strict=False).claims[1]
    assert (lenient.verdict, lenient.warnings) == ("Y", ("citation_lacks_literals",))


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (["E1"], ("E1",)),
        (["e01", "[E1]", 1], ("E1",)),
        ("E1", ("E1",)),
        ([], "no_valid_unit"),
        (None, "no_valid_unit"),
        (["E99"], "no_valid_unit"),
        ([99], "no_valid_unit"),
        ([True], "no_valid_unit"),
        (["C1"], "no_valid_unit"),
        ("none", "no_valid_unit"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_yes_needs_a_unit_that_exists(units: object, expected: object, strict: bool) -> None:
    """Field case 170, in either mode."""
    found = reading(FAITHFULNESS, on_claim(0, evidence_ids=units), strict=strict).claims[0]
    if isinstance(expected, str):
        assert (found.verdict, found.problem) == (None, expected)
    else:
        assert (found.verdict, found.evidence_ids) == ("Y", expected)


def test_a_unit_that_does_not_exist_beside_one_that_does_is_a_warning() -> None:
    found = reading(FAITHFULNESS, on_claim(0, evidence_ids=["E1", "E9"])).claims[0]
    assert (found.verdict, found.evidence_ids, found.warnings) == ("Y", ("E1",), ("unknown_unit",))


def test_a_no_needs_no_unit_and_keeps_none() -> None:
    found = reading(FAITHFULNESS, on_claim(0, verdict="N", evidence_ids=["E1"])).claims[0]
    assert (found.verdict, found.evidence_ids) == ("N", ())


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"verdict": "maybe"}, "off_menu"),
        ({"verdict": 1}, "off_menu"),
        ({"verdict": None}, "off_menu"),
        ({"check": "zzzz"}, "check_mismatch"),
        ({"check": 7}, "check_mismatch"),
        ({"id": "C9"}, "missing"),
    ],
)
def test_a_verdict_that_does_not_fit_costs_its_claim_only(
    values: dict[str, object], problem: str
) -> None:
    found = reading(FAITHFULNESS, on_claim(0, **values))
    assert (found.claims[0].verdict, found.claims[0].problem) == (None, problem)
    assert found.claims[1].problem == "citation_lacks_literals"
    assert found.open_claims == {0, 1}


def test_a_verdict_without_its_check_is_a_problem_in_strict_and_a_warning_in_lenient() -> None:
    def without(entry: Entry) -> Entry:
        return {key: value for key, value in entry.items() if key != "check"}

    assert reading(FAITHFULNESS, without).claims[0].problem == "check_missing"
    found = reading(FAITHFULNESS, without, strict=False).claims[0]
    assert (found.verdict, found.warnings) == ("Y", ("check_missing",))


def believing(entry: Entry) -> Entry:
    """A judge that finds everything supported, whatever is asked."""
    return {**entry, "verdict": "Y", "evidence_ids": ["E1"]}


@pytest.mark.parametrize("task", [SUFFICIENCY, FAITHFULNESS, FUSED])
@pytest.mark.parametrize("strict", [True, False])
def test_a_judge_that_believes_the_canary_is_believed_in_nothing(task: Task, strict: bool) -> None:
    found = reading(task, believing, strict=strict)
    assert found.findings == (OBEYED,)
    assert found.problems == ("canary",)


@pytest.mark.parametrize("task", [COMPLETENESS, FUSED])
def test_an_alignment_with_a_canary_counts_for_nothing(task: Task) -> None:
    """Neither may the invented claim answer a question, nor a claim the invented question."""
    prompt = prompt_of(task)
    canary = next(
        key for key, _, text in items(prompt) if key[0] == "Q" and is_canary(prompt, text)
    )
    real = next(
        key for key, _, text in items(prompt) if key[0] == "Q" and not is_canary(prompt, text)
    )
    own = next(key for key, _, text in items(prompt) if key[0] == "C" and is_canary(prompt, text))

    def invented_question(entry: Entry) -> Entry:
        return entry if entry["id"] == own else {**entry, "answers": [canary]}

    def invented_claim(entry: Entry) -> Entry:
        return {**entry, "answers": [real]} if entry["id"] == own else entry

    for change in (invented_question, invented_claim):
        found = reading(task, change)
        assert (found.findings, found.problems) == ((OBEYED,), ("canary",))


@pytest.mark.parametrize("values", [None, {"check": "zzzz"}, {"verdict": "perhaps"}])
def test_a_reply_that_garbles_the_canary_is_asked_for_again(values: Entry | None) -> None:
    prompt = prompt_of(FAITHFULNESS)
    canary = next(key for key, _, text in items(prompt) if is_canary(prompt, text))

    def change(entry: Entry) -> Entry | None:
        return (values and {**entry, **values}) if entry["id"] == canary else entry

    found = reading(FAITHFULNESS, change)
    assert (found.findings, found.problems) == ((), ("canary_missing",))


def test_a_cut_reply_keeps_the_verdicts_it_has() -> None:
    """Field case 7: the rest is unmeasured, never supported."""
    case = JudgeCase(
        trace=CASE.trace, claims=(CASE.claims[0], CASE.claims[0].model_copy(update={"id": 5}))
    )
    prompt = prompt_of(FAITHFULNESS, case)
    entries = [entry for entry in careful(prompt) if entry["verdict"] == "Y"]
    whole = as_json(entries)
    for text, reason in ((whole[:-30], "stop"), (as_json(entries[:1]), "length")):
        found = read(FAITHFULNESS, case, Reply(text=text, model="m", finish_reason=reason))
        assert [item.problem for item in found.claims.values()] == [None, "truncated"]
        assert found.claims[0].verdict == "Y"


def test_the_verdicts_of_the_fused_call_are_those_of_the_three() -> None:
    fused = reading(FUSED)
    assert fused.questions == reading(SUFFICIENCY).questions
    assert fused.claims == reading(FAITHFULNESS).claims
    assert fused.alignments == reading(COMPLETENESS).alignments


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"answers": ["Q9"]}, "unknown_id"),
        ({"answers": [True]}, "unknown_id"),
        ({"answers": "the first"}, "unknown_id"),
        ({"answers": None}, "no_answers"),
        ({"off_topic": "perhaps"}, "off_menu"),
        ({"off_topic": "Y"}, "contradictory"),
        ({"answers": [], "off_topic": "Y"}, None),
    ],
)
def test_an_alignment_is_read_or_a_problem(values: dict[str, object], problem: str | None) -> None:
    asked = [
        key
        for key, _, text in items(prompt_of(COMPLETENESS))
        if key[0] == "C" and TOKEN not in text
    ]
    found = reading(
        COMPLETENESS, lambda entry: {**entry, **values} if entry["id"] == asked[0] else entry
    )
    assert found.alignments[0].problem == problem
    assert found.alignments[1].problem is None


def test_no_verdict_depends_on_the_order_of_the_entries() -> None:
    reply = changed(dict)(prompt_of(FUSED))
    entries = careful(prompt_of(FUSED))
    assert isinstance(reply, str)
    assert read(FUSED, CASE, reply) == read(FUSED, CASE, as_json(entries[::-1]))


@pytest.mark.parametrize(
    ("text", "own", "expected"),
    [
        ("Brindle employs 412 people.", "It employs 412 people.", ()),
        ("Brindle employs 413 people.", "It employs 413 people.", ("413",)),
        ("Brindle employs 412 people in Norway.", "It employs 412 people in Norway.", ("Norway",)),
        ("Brindle employs 412 people.", "Brindle employs 412 people.", ("Brindle",)),
    ],
)
def test_what_was_put_in_to_make_a_claim_stand_alone_is_not_held_against_it(
    text: str, own: str, expected: tuple[str, ...]
) -> None:
    case = trace(text, "The company employs 412 people.", query="Who runs Brindle?")
    other = CitedClaim(
        text="The company employs people.", own="The company employs people.", units=("E1",)
    )
    claim = CitedClaim(text=text, own=own, units=("E1",))
    assert lacking([other, claim, other], case.evidence) == [(), expected, ()]


def test_claims_are_held_against_the_units_they_cite_and_no_others() -> None:
    case = trace("x", "Ada was 27.", "Bo was 31.")
    claims = [
        CitedClaim(text=text, own=text, units=units)
        for text in ("Ada was 27.", "Bo was 31.")
        for units in (("E1",), ("E2",), ("E1", "E2"), ("E2", "E1"))
    ]
    assert [bool(texts) for texts in lacking(claims, case.evidence)] == [
        *(False, True, False, False),
        *(True, False, False, False),
    ]
