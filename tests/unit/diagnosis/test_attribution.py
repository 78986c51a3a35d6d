"""Where an answer came from: the table of observations, line by line."""

from __future__ import annotations

from typing import Any

import pytest

from aletheia.diagnosis.attribution import Observations, attribute, depends, known, stable
from aletheia.schema.attribution import ATTRIBUTIONS

READER = {
    "base": "right",
    "closed_book": "abstained",
    "counterfactual": "followed",
    "cited_removed": "abstained",
    "still_held": False,
    "irrelevant_removed": "same",
    "shuffled": "same",
}
MEMORY = {
    "base": "right",
    "closed_book": "same",
    "counterfactual": "kept",
    "cited_removed": "same",
    "still_held": False,
    "irrelevant_removed": "same",
    "shuffled": "same",
}


def seen(start: dict[str, Any], **changes: Any) -> Observations:
    return Observations(**{**start, **changes})


@pytest.mark.parametrize(
    ("observed", "attribution"),
    [
        (seen(READER), "from_evidence"),
        (seen(MEMORY), "from_memory"),
        # It knows the answer, and follows the evidence all the same.
        (seen(READER, closed_book="same"), "both_possible"),
        (seen(READER, cited_removed="same"), "both_possible"),
        # It says that it knows nothing, and gives the old answer against the evidence.
        (seen(MEMORY, closed_book="abstained"), "from_memory"),
        (seen(MEMORY, closed_book=None), "from_memory"),
        # A renamed question cannot be remembered: what is not answered there came from memory.
        (seen(MEMORY, counterfactual="lost"), "from_memory"),
        # Nothing to replace: it goes with its citations, and outlives everything else.
        (seen(READER, counterfactual=None), "from_evidence"),
        (seen(READER, base="abstained"), "neither"),
        # A wrong answer that goes away may have been a guess ...
        (seen(READER, base="wrong", counterfactual="unclear"), "neither"),
        # ... unless the cited units carry it, or it follows other evidence.
        (seen(READER, base="wrong", counterfactual="unclear", verified=True), "from_evidence"),
        (seen(READER, base="wrong"), "from_evidence"),
        (seen(MEMORY, base="wrong"), "from_memory"),
    ],
)
def test_what_was_observed_decides(observed, attribution):
    found = attribute(observed)

    assert found.attribution == attribution
    assert found.possible == (attribution,)
    assert found.undecided is None
    assert found.because


@pytest.mark.parametrize(
    ("observed", "possible"),
    [
        (Observations(base=None, missing={"base": "no reply"}), ATTRIBUTIONS),
        (Observations(base="right"), ATTRIBUTIONS[:3]),
        (Observations(base="wrong"), ATTRIBUTIONS),
        (seen(READER, closed_book=None), ("from_evidence", "both_possible")),
        (
            seen(READER, counterfactual=None, cited_removed=None),
            ("from_evidence", "from_memory"),
        ),
        (seen(MEMORY, counterfactual=None), ("from_memory", "both_possible")),
        # It stays although its citations are gone, but other units hold it too: no sign.
        (
            seen(READER, counterfactual=None, cited_removed="same", still_held=True),
            ("from_evidence", "from_memory"),
        ),
        # It changes with the order: that it goes away shows nothing.
        (seen(READER, counterfactual=None, shuffled="changed"), ("from_evidence", "from_memory")),
        # Whether it changes by itself was not observed.
        (
            seen(READER, counterfactual=None, shuffled=None, irrelevant_removed=None),
            ("from_evidence", "from_memory"),
        ),
    ],
)
def test_what_is_missing_leaves_it_undecided(observed, possible):
    """A missing observation never counts for the evidence."""
    found = attribute(observed)

    assert found.attribution is None
    assert found.possible == possible
    assert found.undecided


def test_an_undecided_question_says_which_observation_is_missing():
    missing = {"closed_book": "no reply: the endpoint is gone", "shuffled": "not chosen"}

    found = attribute(seen(READER, closed_book=None, missing=missing))

    assert found.undecided == "closed book: no reply: the endpoint is gone"


def test_the_observations_that_led_there_are_named_in_order():
    assert attribute(seen(MEMORY)).because[:3] == (
        "with the evidence the answer is right",
        "without evidence it gives the same answer",
        "it gives the old answer although the evidence says otherwise",
    )


def test_all_that_holds_the_answer_removed_wins_over_the_cited_units_alone():
    base = seen(MEMORY, counterfactual=None, closed_book="abstained", still_held=True)

    assert known(base) is False
    assert known(seen(MEMORY, still_held=True, holding_removed="same")) is True


def test_a_lost_answer_is_no_sign_of_memory_where_memory_has_none():
    lost = seen(READER, counterfactual="lost", cited_removed=None)

    assert depends(lost, knows=False) is None
    assert depends(lost, knows=True) is False


@pytest.mark.parametrize(
    ("irrelevant", "shuffled", "expected"),
    [
        (None, None, None),
        ("same", None, True),
        (None, "same", True),
        ("same", "changed", False),
        ("abstained", "same", False),
    ],
)
def test_stability_is_what_was_seen_of_it(irrelevant, shuffled, expected):
    observed = Observations(base="right", irrelevant_removed=irrelevant, shuffled=shuffled)

    assert stable(observed) is expected
