"""What counts as a usable reply of a judge."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from aletheia.ragas_bridge.replies import (
    GoldVerdicts,
    Statements,
    StatementVerdict,
    StatementVerdicts,
    UnitVerdict,
    problem,
)


def verdicts(*statements: str) -> StatementVerdicts:
    return StatementVerdicts(
        statements=[StatementVerdict(statement=s, reason="", verdict=1) for s in statements]
    )


@pytest.mark.parametrize(
    ("raw", "value"), [(1, 1), (0, 0), ("1", 1), (" 0 ", 0), (1.0, 1), (True, 1)]
)
def test_a_verdict_is_read_from_any_form_that_is_surely_0_or_1(raw: object, value: int) -> None:
    assert UnitVerdict.model_validate({"reason": "", "verdict": raw}).verdict == value


@pytest.mark.parametrize("raw", [2, -1, 0.5, "yes", "10", "", None, [1], float("nan")])
def test_any_other_verdict_is_refused(raw: object) -> None:
    with pytest.raises(ValidationError):
        UnitVerdict.model_validate({"reason": "", "verdict": raw})


@pytest.mark.parametrize(
    ("asked", "answered", "fits"),
    [
        (["A is b.", "C is d."], ["A is b.", "C is d."], True),
        (["A is b.", "C is d."], ["C is d.", "a  is b"], True),
        (["It’s b."], ["It's b."], True),
        (["A is b.", "C is d."], ["A is b."], False),
        (["A is b.", "C is d."], ["A is b.", "A is b."], False),
        (["A is b."], ["A is b.", "C is d."], False),
        (["A is b."], ["A is not b."], False),
        (["A is b."], [], False),
    ],
)
def test_statements_judged_are_the_statements_asked(
    asked: list[str], answered: list[str], fits: bool
) -> None:
    found = problem(verdicts(*answered), [Statements(statements=asked)], "an answer")
    assert (found is None) is fits


@pytest.mark.parametrize(
    ("statements", "answer", "fits"),
    [
        ([], "Hello!", True),
        ([], "The port opened in 1988.", False),
        ([], "该公司成立于1988年，总部位于里尔。", False),
        (["A."], "Hello!", True),
        (["A.", " "], "Hello! A.", False),
    ],
)
def test_an_empty_split_is_believed_only_of_a_very_short_answer(
    statements: list[str], answer: str, fits: bool
) -> None:
    assert (problem(Statements(statements=statements), [], answer) is None) is fits


def test_a_gold_answer_has_at_least_one_statement() -> None:
    assert problem(GoldVerdicts(classifications=[]), [], "") is not None
