"""Abstention in responses is found with at least 97 % precision and recall in every language."""

import pytest
from unit.diagnosis.abstention_table import ANSWERS, REFUSALS

from aletheia.diagnosis.abstention import is_abstention_literal, refusal

LEAST = 0.97
ROWS = [(language, text) for table in (REFUSALS, ANSWERS) for language in table for text in table[language]]  # fmt: skip


def abstains(response: str) -> bool:
    return is_abstention_literal(response) or refusal(response) is not None


def test_the_table_is_large_and_says_nothing_twice() -> None:
    assert len(REFUSALS) >= 8
    assert set(ANSWERS) == set(REFUSALS)
    assert min(sum(map(len, table.values())) for table in (REFUSALS, ANSWERS)) >= 120
    assert len(set(ROWS)) == len(ROWS)


def test_recall() -> None:
    responses = [text for texts in REFUSALS.values() for text in texts]
    missed = [text for text in responses if not abstains(text)]

    assert len(missed) <= (1 - LEAST) * len(responses), missed


def test_precision() -> None:
    """A claim that is taken for a refusal is never checked, so these are the worse errors."""
    found = sum(abstains(text) for texts in REFUSALS.values() for text in texts)
    wrong = [text for texts in ANSWERS.values() for text in texts if abstains(text)]

    assert found / (found + len(wrong)) >= LEAST, wrong


@pytest.mark.parametrize("language", REFUSALS)
def test_no_language_is_left_behind(language: str) -> None:
    missed = [text for text in REFUSALS[language] if not abstains(text)]
    wrong = [text for text in ANSWERS[language] if abstains(text)]

    assert len(missed) <= 1, missed
    assert wrong == []


@pytest.mark.parametrize(
    "claim",
    ["The ferry costs 40 euros.", "Tova Lind founded it [E1].", "It opened in 1702, not in 1703."],
)
@pytest.mark.parametrize("language", REFUSALS)
def test_a_refusal_beside_a_claim_is_no_abstention(language: str, claim: str) -> None:
    """Cases 44 and 46: what is said beside a refusal has to be checked."""
    space = "" if language in ("zh", "ja") else " "

    assert not any(abstains(f"{text}{space}{claim}") for text in REFUSALS[language])
