"""From judgements to flags and the cell."""

import pytest
from unit.diagnosis.cases import (
    ALL_CELLS,
    EMPTY,
    HONEST,
    OVER_REFUSAL,
    alignment,
    diagnose,
    faithfulness,
    pieces,
    sufficiency,
)

from aletheia.diagnosis.calibrate import Threshold
from aletheia.diagnosis.classify import ClassifyOptions, classify
from aletheia.pipeline.diagnose import Classify
from aletheia.schema.diagnosis import FailureCell
from aletheia.schema.judgement import FaithfulnessJudgment, SufficiencyJudgment
from aletheia.schema.trace import Decomposition

TOPICAL = ClassifyOptions(coverage="topical")
PORT: Classify = classify
"""The function fits where the pipeline asks for one."""


def at(threshold):
    return ClassifyOptions(threshold=Threshold(value=threshold, source="calibrated", traces=20))


def test_the_two_part_question_of_the_contract():
    """Section 5.1: one definition chunk; the definition is answered, the figure invented."""
    found = diagnose("YN", "YN")

    assert found.failure_cell is FailureCell.INCOMPLETE_UNGROUNDED
    assert (found.sufficiency_level, found.threshold_source) == ("low", "fallback_memory")
    assert (found.n_sub_questions, found.n_claims) == (2, 2)
    assert (found.n_uncovered_sub_questions, found.n_extra_claims) == (1, 0)
    assert (found.sufficiency_fraction, found.faithfulness_fraction) == (0.5, 0.5)


def test_every_cell_can_be_reached():
    assert [item.failure_cell for item in ALL_CELLS] == list(
        map(
            FailureCell,
            (
                "complete_grounded",
                "complete_ungrounded",
                "incomplete_grounded",
                "incomplete_ungrounded",
                "extra_grounded",
                "extra_ungrounded",
            ),
        )
    )
    assert all(item.problems == () for item in ALL_CELLS)


@pytest.mark.parametrize(
    ("sufficient", "faithful", "options", "missing"),
    [
        ("N", "N", None, True),
        ("Y", "N", None, False),
        ("N", "Y", None, False),
        ("N", "N", TOPICAL, False),
        ("N", "Y", TOPICAL, False),
    ],
)
def test_an_unsupported_claim_covers_only_what_the_evidence_answers(
    sufficient, faithful, options, missing
):
    """Section 5.1, and the switch to pure topicality."""
    assert diagnose(sufficient, faithful, options=options).flags.missing is missing


def test_one_supported_claim_among_others_is_enough_to_cover():
    assert diagnose("N", "NY", {0: [0, 1]}).flags.missing is False


def test_one_claim_may_cover_several_sub_questions():
    assert diagnose("YY", "Y", {0: [0], 1: [0]}).failure_cell is FailureCell.COMPLETE_GROUNDED


def test_a_row_may_be_both_incomplete_and_padded():
    """Case 172: the cell is a view with a stated order, and the flags hide nothing."""
    found = diagnose("YN", "YY", {0: [0], 1: []}, extras=[1])

    assert found.failure_cell is FailureCell.INCOMPLETE_GROUNDED
    assert found.completeness == "incomplete"
    assert (found.flags.missing, found.flags.extra, found.n_extra_claims) == (True, True, 1)


# --- what is missing --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"faithful": "?"}, "faithfulness of claim 0 is unmeasured: `bad_reply`"),
        ({"sufficient": "?"}, "sufficiency of sub-question 0 is unmeasured: `bad_reply`"),
        ({"sufficiency": ()}, "sufficiency of sub-question 0 is unmeasured: `not_judged`"),
        ({"faithfulness": ()}, "faithfulness of claim 0 is unmeasured: `not_judged`"),
        ({"completeness": None}, "completeness is unmeasured: `not_judged`"),
        ({"completeness": alignment({}, problem="x")}, "completeness is unmeasured: `x`"),
        ({"covering": {}}, "coverage of sub-question 0 is unmeasured: `not_judged`"),
        ({"covering": {0: [9]}}, "coverage of sub-question 0 is unmeasured: `unknown_claim`"),
        ({"covering": {0: [0, 9]}}, "coverage of sub-question 0 is unmeasured: `unknown_claim`"),
        ({"covering": {0: [0], 7: [0]}}, "a judgement is about sub-question 7, which does not exist"),
        ({"extras": [9]}, "a judgement is about claim 9, which does not exist"),
        ({"extras": [0]}, "topic of claim 0 is unmeasured: `contradictory`"),
        ({"unmeasured": ("sufficiency",)}, "`sufficiency` is unmeasured"),
        ({"unmeasured": ("decompose_response",)}, "`decompose_response` is unmeasured"),
        ({"has_query": False}, "nothing is known of what was asked: `no_query`"),
        (
            {"faithfulness": faithfulness("YY")[:1] * 2},
            "faithfulness of claim 0 is unmeasured: `duplicate`",
        ),
        (
            {"faithfulness": (FaithfulnessJudgment(claim_id=0, verdict="Y"),)},
            "faithfulness of claim 0 is unmeasured: `no_valid_unit`",
        ),
        (
            {"sufficiency": (SufficiencyJudgment(sub_question_id=0, verdict="Y"),)},
            "sufficiency of sub-question 0 is unmeasured: `no_valid_unit`",
        ),
        (
            {"faithfulness": faithfulness("YY")},
            "a judgement is about claim 1, which does not exist",
        ),
    ],
)  # fmt: skip
def test_what_is_missing_leaves_no_cell_and_is_named(fields, problem):
    """Cases 50, 169, 170: a missing verdict is never a good one."""
    found = diagnose(**fields)

    assert found.failure_cell is None
    assert problem in found.problems


def test_no_judgements_at_all_are_not_health():
    """Case 50: empty lists and `complete` are not the healthy cell, and not `high`."""
    found = classify(
        decomposition=Decomposition(),
        sufficiency=(),
        faithfulness=(),
        completeness=alignment({}),
    )

    assert (found.failure_cell, found.sufficiency_level) == (None, None)
    assert found.problems == ("the query has no sub-question: `no_sub_questions`",)


@pytest.mark.parametrize(
    ("letters", "level", "fraction"),
    [("Y?", None, 1.0), ("?N", None, 0.0), ("??", None, None), ("YY", "high", 1.0)],
)
def test_a_sufficiency_that_failed_is_no_level(letters, level, fraction):
    found = diagnose(letters, "YY")

    assert (found.sufficiency_level, found.sufficiency_fraction) == (level, fraction)


def test_a_judge_that_failed_as_a_whole_is_not_believed_in_part():
    found = diagnose(unmeasured=("completeness", "faithfulness", "sufficiency"))

    assert found.completeness is found.flags.missing is found.flags.ungrounded is None
    assert found.sufficiency_level is None


def test_what_is_known_stays_visible_without_a_cell():
    found = diagnose("YY", "N?", {0: [0], 1: []})

    assert found.failure_cell is None
    assert (found.flags.missing, found.flags.ungrounded) == (True, True)
    assert (found.completeness, found.n_unmeasured) == ("incomplete", 1)


def test_two_claims_of_one_id_are_not_one():
    """Case 169: the second would share the verdict of the first, and never be judged."""
    once = pieces(1, 1)
    found = diagnose(decomposition=once.model_copy(update={"claims": once.claims * 2}))

    assert found.failure_cell is None
    assert "claim 0 stands more than once" in found.problems


def test_a_response_of_which_no_claim_could_be_placed_is_not_grounded():
    found = diagnose(
        "Y", "", {0: []}, decomposition=Decomposition(
            sub_questions=pieces(1, 0).sub_questions, discarded=("It opened in 1702.",)
        ),
    )  # fmt: skip

    assert (found.failure_cell, found.flags.ungrounded) == (None, None)
    assert "`no_claim_stands_on_the_response`" in found.problems[-1]


# --- rules ------------------------------------------------------------------------------------


def test_small_talk_is_not_graded():
    """Case 49: `Hi! The clinic opens at 8. Anything else?` has one claim."""
    found = diagnose(decomposition=pieces(1, 1, conversational=2))

    assert (found.failure_cell, found.n_claims) == (FailureCell.COMPLETE_GROUNDED, 1)


def test_nothing_but_small_talk_covers_nothing_and_has_no_faithfulness():
    found = diagnose("Y", "", decomposition=pieces(1, 0, conversational=2), completeness=None)

    assert found.failure_cell is FailureCell.INCOMPLETE_GROUNDED
    assert found.faithfulness_fraction is None


def test_without_evidence_nothing_is_supported_whatever_a_judge_said():
    """Section 5.5."""
    found = diagnose("Y", "Y", has_evidence=False)

    assert found.failure_cell is FailureCell.INCOMPLETE_UNGROUNDED
    assert (found.sufficiency_fraction, found.faithfulness_fraction) == (0.0, 0.0)


def test_an_empty_response_is_neither_grounded_nor_an_abstention():
    """Case 38: decided by rule; incomplete, and in no cell, because there is nothing to ground."""
    flags = EMPTY.flags

    assert EMPTY.empty_response
    assert (EMPTY.failure_cell, EMPTY.completeness) == (None, "incomplete")
    assert (flags.missing, flags.ungrounded, flags.abstained) == (True, None, False)
    assert (EMPTY.abstention, EMPTY.n_uncovered_sub_questions) == (None, 1)
    assert EMPTY.problems == (
        "the response is empty, so there is nothing to ground: `empty_response`",
    )


@pytest.mark.parametrize(
    ("letters", "kind", "over_refused"),
    [("NN", "honest", False), ("YY", "over_refusal", True), ("YN", "undecided", None), ("Y?", "undecided", None)],
)  # fmt: skip
def test_what_a_refusal_was(letters, kind, over_refused):
    """Honest: retrieval covered nothing. Over-refusal: it covered enough."""
    found = diagnose(letters, "", {0: [], 1: []}, abstained=True)

    assert (found.abstention, found.flags.over_refused) == (kind, over_refused)
    assert found.completeness == "incomplete"


def test_a_refusal_lands_in_incomplete_grounded():
    assert HONEST.failure_cell is OVER_REFUSAL.failure_cell is FailureCell.INCOMPLETE_GROUNDED
    assert HONEST.faithfulness_fraction is None


@pytest.mark.parametrize(
    ("threshold", "level"), [(0.5, "high"), (0.5 + 1e-12, "high"), (0.51, "low")]
)
def test_sufficiency_is_a_level_and_never_moves_the_cell(threshold, level):
    found = diagnose("YN", "YY", options=at(threshold))

    assert found.sufficiency_level == level
    assert found.failure_cell is FailureCell.COMPLETE_GROUNDED


def test_findings_of_others_are_flags():
    warned = tuple(
        item.model_copy(update={"warnings": ("conflict",)}) for item in faithfulness("Y")
    )

    assert diagnose().flags.conflict is None
    assert diagnose(conflict=False, miscited=True).flags.miscited is True
    assert diagnose(faithfulness=warned, conflict=False).flags.conflict is True


# --- low confidence ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sufficient", "faithful", "tentative"),
    [
        ("YY", "YY", False),
        ("YY", "Yy", True),
        ("YY", "Yn", True),
        ("YY", "Nn", False),  # one certain N keeps the cell
        ("YY", "nn", True),  # both together would turn it
        ("yy", "YY", False),  # sufficiency alone moves no cell
        ("Yn", "YN", True),  # unless an unsupported claim hangs on it
        ("Yy", "YN", True),
        ("YN", "Yn", True),
    ],
)
def test_tentative_is_what_the_cell_rests_on(sufficient, faithful, tentative):
    assert diagnose(sufficient, faithful).tentative is tentative


def test_an_alignment_of_low_confidence_makes_the_cell_tentative():
    assert diagnose(completeness=alignment({0: [0]}, confidence="low")).tentative


@pytest.mark.parametrize(("letters", "tentative"), [("YY", False), ("Yy", True), ("nN", False)])
def test_the_level_has_its_own_mark(letters, tentative):
    assert diagnose(letters, "YY").level_tentative is tentative


def test_the_order_of_judgements_does_not_matter():
    forward = diagnose("YN", "YNY", {0: [0, 2], 1: [1]})
    backward = diagnose(
        "YN", "YNY",
        sufficiency=sufficiency("YN")[::-1],
        faithfulness=faithfulness("YNY")[::-1],
        completeness=alignment({1: [1], 0: [2, 0]}),
    )  # fmt: skip

    assert forward == backward
