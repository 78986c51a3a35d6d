"""Twelve suggestions: the right one, with the counts filled in."""

import itertools

import pytest
from unit.diagnosis.cases import ALL_CELLS, EMPTY, HONEST, OVER_REFUSAL, UNMEASURED, WORST, diagnose

from aletheia.diagnosis.suggest import suggest
from aletheia.schema.diagnosis import FailureCell

TWELVE = list(itertools.product(FailureCell, ("high", "low")))


def of(cell, level):
    found = next(item for item in ALL_CELLS if item.failure_cell is cell)
    fraction = 1.0 if level == "high" else 0.0
    made = found.model_copy(update={"sufficiency_level": level, "sufficiency_fraction": fraction})
    suggestion = suggest(made)
    assert suggestion is not None
    return suggestion


@pytest.mark.parametrize(("cell", "level"), TWELVE)
def test_each_cell_and_level_has_its_own(cell, level):
    found = of(cell, level)

    assert found.slug == f"{cell.value}_{level}"
    assert "{" not in found.title + found.body + "".join(found.actions)
    assert bool(found.actions) is (found.slug != "complete_grounded_high")


def test_no_two_say_the_same():
    found = [of(cell, level) for cell, level in TWELVE]

    assert len({item.title for item in found}) == len({item.body for item in found}) == 12


def test_the_worst_case_of_the_contract():
    found = suggest(WORST)

    assert found is not None
    assert (found.slug, found.title) == ("incomplete_ungrounded_low", "Worst-case failure")
    assert "1 of the 2 sub-questions open" in found.body
    assert "does not carry 1 of the 2 claims" in found.body


@pytest.mark.parametrize(
    ("letters", "action"),
    [("NN", "the 2 sub-questions"), ("YN", "the sub-question"), ("NNY", "the 2 sub-questions")],
)
def test_counts_are_filled_in(letters, action):
    found = suggest(diagnose(letters, "Y" * len(letters)))

    assert found is not None
    assert found.actions[0] == f"Look at what was retrieved for {action}."


def test_a_single_item_is_not_one_of_one():
    found = suggest(diagnose("N", "Y"))

    assert found is not None
    assert "does not answer the only sub-question." in found.body


@pytest.mark.parametrize("diagnosis", [UNMEASURED, EMPTY, WORST.model_copy(update={"sufficiency_level": None})])  # fmt: skip
def test_without_a_cell_or_a_level_there_is_no_advice(diagnosis):
    assert suggest(diagnosis) is None


@pytest.mark.parametrize(
    ("diagnosis", "note"),
    [
        (HONEST, "that refusal is honest"),
        (OVER_REFUSAL, "The response refuses, although"),
        (diagnose("YY", "Yy"), "The cell rests on a verdict of low confidence"),
        (diagnose("Yn", "YY"), "Whether the evidence suffices rests on"),
    ],
)
def test_what_makes_the_advice_doubtful_is_said(diagnosis, note):
    found = suggest(diagnosis)

    assert found is not None
    assert note in found.body
