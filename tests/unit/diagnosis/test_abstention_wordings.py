"""Refusals in many wordings are found, and no fact that stands near one is taken for it."""

from __future__ import annotations

import pytest
from unit.diagnosis.abstention_wordings import ANSWERS, REFUSALS

from aletheia.diagnosis.abstention import is_abstention_literal, refusal

LEAST = 0.95


def abstains(response: str) -> bool:
    return is_abstention_literal(response) or refusal(response) is not None


def test_the_table_is_large() -> None:
    assert len(REFUSALS) >= 12
    assert sum(map(len, REFUSALS.values())) >= 60
    assert len(set(ANSWERS)) == len(ANSWERS) >= 60


@pytest.mark.parametrize("language", REFUSALS)
def test_refusals_are_found(language: str) -> None:
    missed = [text for text in REFUSALS[language] if not abstains(text)]
    assert len(missed) <= 3, missed


def test_most_refusals_are_found() -> None:
    texts = [text for listed in REFUSALS.values() for text in listed]
    assert sum(map(abstains, texts)) / len(texts) >= LEAST


def test_no_fact_is_taken_for_a_refusal() -> None:
    """A claim that is taken for a refusal is never checked."""
    assert [text for text in ANSWERS if abstains(text)] == []
