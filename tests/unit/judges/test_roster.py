"""The items of a call: checks, and the canary that must not be believed."""

from __future__ import annotations

import re

import pytest
from unit.judges.scripts import OTHER_TOKEN, TOKEN, claims_of, questions, trace

from aletheia.judges.case import JudgeCase
from aletheia.judges.prompts import PromptSet
from aletheia.judges.roster import invented_name, roster
from aletheia.judges.verdicts import COMPLETENESS, FAITHFULNESS, FUSED, SUFFICIENCY, Task, ask
from aletheia.llm.base import digest_prompt

RESPONSE = "It opened in 1911. It closed in 1950."
CASE = JudgeCase(
    trace=trace(RESPONSE, "The mill opened in 1911."),
    sub_questions=questions("When did it open?"),
    claims=claims_of(RESPONSE),
)
TASKS = pytest.mark.parametrize("task", [SUFFICIENCY, FAITHFULNESS, COMPLETENESS, FUSED])


def test_invented_names_have_one_length_and_do_not_repeat() -> None:
    made = {invented_name() for _ in range(200)}
    assert len(made) == 200
    assert {len(name) for name in made} == {16}
    assert all(re.fullmatch(r"[A-Z][a-z]{15}", name) for name in made)


@TASKS
def test_two_calls_about_the_same_items_are_the_same_prompt(task: Task) -> None:
    """A cache finds the reply again, although token and canary differ."""
    first, second = (ask(task, CASE, token, PromptSet()) for token in (TOKEN, OTHER_TOKEN))
    assert first.user != second.user
    assert digest_prompt(first) == digest_prompt(second)


@TASKS
def test_each_family_shown_carries_one_canary_that_no_unit_names(task: Task) -> None:
    prompt = ask(task, CASE, TOKEN, PromptSet())
    carriers = [line for line in prompt.user.split("\n") if TOKEN in line and "<" not in line]
    assert len(carriers) == task.shows_questions + task.shows_claims
    assert all(re.match(r"[QC]\d+ \([a-z]{4}\) ", line) for line in carriers)


def test_the_canary_is_not_always_at_the_same_place() -> None:
    places = {
        next(at for at, item in enumerate(roster("C", ["a", "b", "c"], str(salt)).items) if item.index is None)
        for salt in range(60)
    }  # fmt: skip
    assert places == {0, 1, 2, 3}


def test_checks_are_letters_and_depend_on_the_text_and_what_is_asked_with_it() -> None:
    first, second = roster("C", ["Same.", "Same."], "a"), roster("C", ["Same.", "Same."], "b")
    checks = [item.check for item in (*first.asked, *second.asked)]
    assert len(set(checks)) == 4
    assert all(re.fullmatch(r"[a-z]{4}", check) for check in checks)


def test_a_text_that_holds_the_token_or_its_mark_cannot_pose_as_the_canary() -> None:
    response = f"{TOKEN} is open. \ue0ca is closed."
    case = JudgeCase(trace=trace(response, f"{TOKEN} \ue0ca"), claims=claims_of(response))
    prompt = ask(FAITHFULNESS, case, TOKEN, PromptSet())
    assert sum(TOKEN in line and "<" not in line for line in prompt.user.split("\n")) == 1
