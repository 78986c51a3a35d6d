"""What is settled without a judge, and what several repeats add up to."""

from __future__ import annotations

import pytest
from unit.judges.scripts import claims_of, questions, trace, wait

from aletheia.judges.base import Failed, Judged, Skipped
from aletheia.judges.repeat import majority, majority_alignment
from aletheia.judges.rules import (
    WholeDecomposer,
    settled_completeness,
    settled_faithfulness,
    settled_query,
    settled_response,
    settled_sufficiency,
)
from aletheia.schema.judgement import Alignment, CompletenessJudgment, FaithfulnessJudgment

CLAIMS = claims_of("It is red.")
ASKED = questions("What is it?")


def test_without_evidence_nothing_is_sufficient_and_nothing_is_supported() -> None:
    case = trace("It is red.")
    sufficiency = settled_sufficiency(case, ASKED)
    faithfulness = settled_faithfulness(case, CLAIMS)
    assert isinstance(sufficiency, Judged)
    assert isinstance(faithfulness, Judged)
    assert [item.verdict for item in (*sufficiency.value, *faithfulness.value)] == ["N", "N"]
    assert faithfulness.value[0].unsupported == ((0, 10),)
    assert settled_completeness(case, ASKED, CLAIMS) is None


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "empty_response"),
        ("   \n", "empty_response"),
        ("INSUFFICIENT_CONTEXT", "abstained"),
        ("IDK", "abstained"),
        ("I'm sorry, I cannot answer this question based on the provided context.", "abstained"),
        ("Hello!", "no_claims"),
    ],
)
def test_a_response_without_claims_says_why_and_answers_nothing(response: str, reason: str) -> None:
    """Field cases 38, 40 and 41."""
    case = trace(response, "It is red.")
    assert settled_faithfulness(case, ()) == Skipped(reason=reason)
    completeness = settled_completeness(case, ASKED, ())
    assert isinstance(completeness, Judged)
    assert completeness.value.alignments == (Alignment(sub_question_id=0),)
    settled = settled_response(case)
    assert (settled is None) == (reason == "no_claims")


@pytest.mark.parametrize("query", [None, "", " \n"])
def test_without_a_query_only_faithfulness_is_left(query: str | None) -> None:
    case = trace("It is red.", "It is red.", query=query)
    skipped = Skipped(reason="no_query")
    assert settled_query(case) == skipped
    assert settled_sufficiency(case, ()) == skipped
    assert settled_completeness(case, (), CLAIMS) == skipped
    assert settled_faithfulness(case, CLAIMS) is None


def test_with_everything_there_nothing_is_settled() -> None:
    case = trace("It is red.", "It is red.")
    assert settled_query(case) is None
    assert settled_response(case) is None
    assert settled_sufficiency(case, ASKED) is None
    assert settled_completeness(case, ASKED, CLAIMS) is None


def test_the_whole_is_one_sub_question_and_one_claim() -> None:
    case = trace("  It is red. It is big.\n", "x", query=" What? ")
    whole = WholeDecomposer()
    (asked,) = wait(whole.decompose_query, case).value
    (claim,) = wait(whole.decompose_response, case).value.claims
    assert (asked.text, claim.text) == ("What?", "It is red. It is big.")
    assert case.response[claim.start : claim.end] == claim.text
    assert isinstance(wait(whole.decompose_query, trace("x", query=None)), Skipped)


def verdict(word: str | None) -> FaithfulnessJudgment:
    problem = "missing" if word is None else None
    units = ("E1",) if word == "Y" else ()
    return FaithfulnessJudgment(claim_id=0, verdict=word, problem=problem, evidence_ids=units)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("votes", "expected", "agreement"),
    [
        (["Y", "Y", "Y"], "Y", 1.0),
        (["Y", "N", "Y"], "Y", 2 / 3),
        (["N", "N", "Y"], "N", 2 / 3),
        (["Y", "N"], "no_majority", None),
        (["Y", None, "Y"], "Y", 2 / 3),
        (["Y", None, None], "no_majority", None),
        ([None, None], "missing", None),
        (["Y", "Y", "N", "N"], "no_majority", None),
    ],
)
def test_more_than_half_of_all_repeats_decide(
    votes: list[str | None], expected: str, agreement: float | None
) -> None:
    """Field case 119; a missing vote helps nobody."""
    outcome = majority([Judged(value=(verdict(word),)) for word in votes])
    assert isinstance(outcome, Judged)
    (found,) = outcome.value
    assert (found.verdict or found.problem, found.agreement) == (expected, agreement)
    assert bool(found.evidence_ids) == (expected == "Y")


def test_a_repeat_that_failed_counts_as_a_missing_vote() -> None:
    failed = Failed(code="model_unavailable", message="down")
    outcome = majority([failed, Judged(value=(verdict("Y"),)), Judged(value=(verdict("Y"),))])
    assert isinstance(outcome, Judged)
    assert (outcome.value[0].verdict, outcome.message) == ("Y", "down")
    alone = majority([failed, Judged(value=(verdict("Y"),))])
    assert isinstance(alone, Judged)
    assert alone.value[0].problem == "no_majority"
    assert majority([failed, failed]) == failed


def test_the_alignment_that_most_repeats_gave_stands() -> None:
    one = CompletenessJudgment(alignments=(Alignment(sub_question_id=0, claim_ids=(0,)),))
    other = CompletenessJudgment(alignments=(Alignment(sub_question_id=0),), extras=(0,))
    none = CompletenessJudgment(problem="missing")
    for votes, expected in (
        ((one, other, one), one.model_copy(update={"agreement": 2 / 3})),
        ((one, other), CompletenessJudgment(problem="no_majority")),
        ((one, none), CompletenessJudgment(problem="no_majority")),
        ((none, none), none),
    ):
        outcome = majority_alignment([Judged(value=vote) for vote in votes])
        assert outcome == Judged(value=expected)
