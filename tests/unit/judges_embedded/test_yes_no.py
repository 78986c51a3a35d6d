"""A bare yes affirms what its question asks, a bare no denies it."""

from __future__ import annotations

import pytest

from aletheia.judges.embedded.yes_no import answered, is_bare, without_answer
from aletheia.sdk.evaluate import evaluate

LIFT = "Is there a lift in the mill?"
OPENED = "Did the mill open in 1911?"
EXISTS = "Does Port Ellery exist?"


@pytest.mark.parametrize(
    ("query", "unit", "response", "verdict"),
    [
        (EXISTS, "Port Ellery opened in 1911.", "Yes.", "Y"),
        (EXISTS, "Port Ellery opened in 1911.", "No.", "N"),
        (EXISTS, "Port Ellery does not exist.", "Yes.", "N"),
        (EXISTS, "Port Ellery does not exist.", "No.", "Y"),
        (EXISTS, "Port Ellery is a fictional place.", "Yes, it does.", "N"),
        (EXISTS, "The mill is red.", "Yes.", "N"),
        (EXISTS, "The mill is red.", "No.", "N"),
        (LIFT, "The mill has a lift.", "Yes.", "Y"),
        (LIFT, "There is no lift in the mill.", "Yes.", "N"),
        (LIFT, "There is no lift in the mill.", "No, there is not.", "Y"),
        (OPENED, "The mill opened in 1911.", "Yes.", "Y"),
        (OPENED, "The mill opened in 1911.", "No.", "N"),
        (OPENED, "The mill opened in 1921.", "Yes.", "N"),
        (OPENED, "The mill opened in 1921.", "No.", "Y"),
        ("Existiert Port Ellery?", "Port Ellery wurde 1911 gebaut.", "Ja.", "Y"),
        ("Do unicorns exist?", "Unicorns do not exist.", "No, unicorns do not exist.", "Y"),
    ],
)
def test_the_evidence_says_whether_the_answer_stands(
    query: str, unit: str, response: str, verdict: str
) -> None:
    [found] = evaluate(query, [unit], response, judge="embedded", persist=False).faithfulness
    assert (found.verdict, found.problem) == (verdict, None)
    assert bool(found.evidence_ids) is (verdict == "Y")
    assert bool(found.unsupported) is (verdict == "N")


def test_a_question_that_names_nothing_is_unmeasured() -> None:
    result = evaluate(
        "Does it exist?", ["The mill is red."], "Yes.", judge="embedded", persist=False
    )
    assert result.faithfulness[0].problem == "nothing_to_compare"
    assert result.failure_cell is None


@pytest.mark.parametrize(
    ("text", "bare"),
    [("Yes.", True), ("No, there isn't.", True), ("Ja", True), ("是的", True),
     ("No one came.", False), ("Yes, in 1911.", False), ("Norway", False)],
)  # fmt: skip
def test_a_bare_answer_says_yes_or_no_and_no_more(text: str, bare: bool) -> None:
    assert is_bare(text) is bare


def test_a_claim_without_a_question_is_no_bare_answer() -> None:
    assert answered("The mill opened. Yes.") is None
    assert answered("When did it open? In 1911.") is None


def test_a_leading_no_is_blanked_and_moves_no_offset() -> None:
    text = "No, the mill is not red."
    assert without_answer(text) == "    the mill is not red."
    assert without_answer("Nobody, they say, came.") == "Nobody, they say, came."
