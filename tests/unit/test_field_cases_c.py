"""Field cases of section C, empty answers and abstention: what the deterministic layer decides."""

import pytest

from aletheia.diagnosis.abstention import (
    abstention_kind,
    is_abstention_literal,
    refusal,
    statements,
)
from aletheia.grounding.numbering import number
from aletheia.grounding.parse import parse_reply
from aletheia.schema.answer import ParseProblem

ANSWERS = [
    # case, answer, abstains, claims that are left to check
    (40, "IDK", True, []),
    (41, "INSUFFICIENT_CONTEXT", True, []),
    (44, "I'm sorry to hear that; the refund takes 5 days [E1].", False, ["the refund takes 5 days [E1]."]),
    (44, "'I cannot open it,' the clerk said [E2].", False, ["'I cannot open it,' the clerk said [E2]."]),
    (44, "Without logs I cannot name the cause, but E1 lists two likely ones.", False, ["Without logs I cannot name the cause, but E1 lists two likely ones."]),
    (46, "I have nothing on the pilot, but the 40% figure is wrong.", False, ["but the 40% figure is wrong."]),
    (46, "The evidence does not mention it; the 40% figure is wrong.", False, ["the 40% figure is wrong."]),
    (47, "Board games are fun.", False, ["Board games are fun."]),
    (49, "Hi! Happy to help. The clinic opens at 8 [E1]. Anything else?", False, ["The clinic opens at 8 [E1]."]),
    (49, "Hi! Happy to help. Anything else?", False, []),
]  # fmt: skip


@pytest.mark.parametrize(("case", "answer", "abstains", "claims"), ANSWERS)
def test_what_an_answer_claims(case: int, answer: str, abstains: bool, claims: list[str]) -> None:
    """Claims come from the text of the answer alone; what is dropped is listed by its kind."""
    found = statements(answer)

    assert (is_abstention_literal(answer) or refusal(answer) is not None) is abstains, case
    assert [item.text for item in found if item.kind == "claim"] == claims
    assert all(answer[item.start : item.end] == item.text for item in found)


@pytest.mark.parametrize("answer", ["", "   \\n", "\\u200b"])
def test_case_38_an_empty_answer_is_neither_an_answer_nor_an_abstention(answer: str) -> None:
    parsed = parse_reply(f'{{"answer": "{answer}", "evidence_ids": []}}')

    assert isinstance(parsed, ParseProblem)
    assert parsed.code == "empty_answer"


def test_case_43_over_refusals_are_told_apart_from_warranted_ones() -> None:
    evidence = number(["The port exports tea."])
    kinds = [
        abstention_kind(
            abstained=True, gold_answer=gold, aliases=(), evidence=evidence, answerable=True
        )
        for gold in ("tea", "coffee")
    ]

    assert kinds == ["over_refusal", "warranted"]


def test_case_49_the_dropped_small_talk_is_listed() -> None:
    found = statements("Hi! Happy to help. The clinic opens at 8 [E1]. Anything else?")

    assert [item.text for item in found if item.kind == "small_talk"] == [
        "Hi!",
        "Happy to help.",
        "Anything else?",
    ]
