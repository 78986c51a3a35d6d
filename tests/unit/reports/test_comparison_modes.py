"""One run in three modes, and the signs of answers from memory."""

from __future__ import annotations

import pytest
from unit.reports.samples import (
    ABSTAINED,
    GROUNDED,
    measured,
    rejected,
    row,
    sample_report,
    sample_rows,
)

from aletheia.errors import DataError
from aletheia.grounding.modes import judge
from aletheia.reports.comparison_modes import compare_modes, seen
from aletheia.reports.comparison_signs import memory_signs, shows_memory
from aletheia.schema.verification import Mode, RejectionReason, Verification

FAILED = rejected(RejectionReason.UNCITED_ENTITIES)
KEPT = {
    **GROUNDED,
    "verified": False,
    "warnings": (RejectionReason.UNCITED_ENTITIES,),
}


def fields(found):
    return found.model_dump(
        include={
            "category",
            "grounding_rejected",
            "rejection_reason",
            "rejection_reasons",
            "warnings",
        }
    )


def test_a_strict_and_a_lenient_run_of_the_same_replies_give_the_same_views():
    strict = row("q", "q?", "g", **FAILED, answer="x")
    lenient = row("q", "q?", "g", **KEPT, answer="x")

    for mode in Mode:
        assert fields(seen(strict, mode)) == fields(seen(lenient, mode))
        assert seen(strict, mode).verified is False
    assert fields(seen(lenient, Mode.STRICT)) == fields(strict)
    assert fields(seen(strict, Mode.LENIENT)) == fields(lenient)


def test_a_reply_without_an_answer_is_rejected_in_every_mode():
    unread = row("q", "q?", "g", **rejected(RejectionReason.PARSE_ERROR), parse_problem="truncated")

    assert all(seen(unread, mode).grounding_rejected for mode in Mode)


def test_a_row_without_a_reply_stays_as_it_is():
    lost = row("q", "q?", "g", category="error", grounding_rejected=False, error="429")

    assert all(seen(lost, mode) is lost for mode in Mode)


def test_the_views_count_the_same_replies():
    """Nothing appears or goes away between modes; the plain verdict is the same in each."""
    found = compare_modes(sample_report(), "r.json")
    strict, lenient, off = found.views

    assert [(v.kept, v.rejected, v.errors) for v in found.views] == [
        (6, 5, 1),
        (10, 1, 1),
        (10, 1, 1),
    ]
    assert strict.pass_rate == lenient.pass_rate == off.pass_rate
    assert (strict.kept_failed, lenient.kept_failed) == (0, 4)
    assert (found.gap.numerator, found.gap.denominator) == (4, 11)
    assert strict.metrics == sample_report().aggregate_details
    assert lenient.metrics["faithfulness"].measured == strict.metrics["faithfulness"].measured + 1


def test_without_a_verdict_the_gap_is_unknown_and_not_zero():
    rows = [row("q", "q?", "g", **{**GROUNDED, "verified": None}, answer="x")]
    found = compare_modes(sample_report(rows, mode=Mode.OFF), "r.json")

    assert found.gap.value is None
    assert found.views[0].unverified == 1
    assert "not known" in found.verdict[-1]


def reading(**reasons):
    def read(found):
        return {
            mode: judge(
                Verification(
                    verified=not reasons.get(mode.value),
                    abstained=False,
                    answer=found.answer,
                    reasons=tuple(reasons.get(mode.value, ())),
                ),
                mode,
            )
            for mode in Mode
        }

    return read


def test_a_reply_that_both_modes_read_differently_is_named_with_both_reasons():
    bare = (RejectionReason.ANSWER_WITHOUT_CITATIONS,)
    rows = [row("q", "q?", "g", **GROUNDED, answer="x", raw_reply="x")]
    found = compare_modes(
        sample_report(rows, mode=Mode.LENIENT), "r.json", reader=reading(strict=bare, off=bare)
    )

    assert [(r.id, r.strict, r.lenient) for r in found.readings] == [("q", bare[0], None)]
    assert (found.gap.numerator, found.reread, found.changed) == (1, 1, ())


def test_a_verdict_that_this_version_does_not_give_is_named():
    rows = [row("q", "q?", "g", **FAILED, answer="x", raw_reply="x")]
    found = compare_modes(sample_report(rows), "r.json", reader=reading())

    assert found.changed == ("q",)
    assert found.views[0].kept == 1


def test_an_id_that_repeats_is_refused():
    rows = [row("q", "q?", "g", **GROUNDED, answer="x")] * 2

    with pytest.raises(DataError, match=r"r\.json: field `detailed_results\.1\.id`"):
        compare_modes(sample_report(rows), "r.json")


# --- signs ------------------------------------------------------------------------------------

RIGHT = {"answer": "x", "correct": True}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # right although retrieval lacks it
        ({**GROUNDED, **RIGHT, "gold_in_evidence": False}, (True, None, False)),
        ({**GROUNDED, **RIGHT}, (True, None, False)),
        ({**GROUNDED, **RIGHT, "gold_in_evidence": True}, (None, None, False)),
        ({**GROUNDED, "answer": "x", "correct": False, "gold_in_evidence": False}, (False, None, False)),
        ({**GROUNDED, **RIGHT, "gold_in_evidence": False, "answerable": False}, (None, None, False)),
        # close to the gold answer, not faithful: the classic pair
        (
            {**GROUNDED, **RIGHT, "gold_in_evidence": True, "metrics": measured(answer_similarity=0.95, faithfulness=0.40)},
            (None, True, False),
        ),
        (
            {**GROUNDED, **RIGHT, "gold_in_evidence": True, "metrics": measured(answer_similarity=0.95, faithfulness=0.90)},
            (None, False, False),
        ),
        # right, and not carried by what it cites
        ({**FAILED, **RIGHT, "gold_in_evidence": True}, (None, None, True)),
        ({**KEPT, **RIGHT, "gold_in_evidence": True}, (None, None, True)),
        ({**rejected(RejectionReason.INVALID_CITATION_IDS), **RIGHT, "gold_in_evidence": True}, (None, None, False)),
        # no answer, no sign
        ({**ABSTAINED, "gold_in_evidence": False}, (None, None, None)),
        ({"category": "error", "grounding_rejected": False, "error": "429"}, (None, None, None)),
    ],
)  # fmt: skip
def test_what_counts_as_a_sign(fields, expected):
    found = row("q", "q?", "g", **fields)
    shown = tuple(
        bool(sign.rate.numerator) if sign.rate.denominator else None
        for sign in memory_signs([found])
    )

    assert shown == expected
    assert shows_memory(found) == (None if set(expected) == {None} else True in expected)


def test_the_ids_behind_a_sign_are_listed():
    signs = memory_signs(sample_rows())

    assert {sign.name: sign.ids for sign in signs} == {
        "right_without_evidence": ("f-008",),
        "similar_but_unfaithful": ("f-005",),
        "right_but_unsupported": ("f-008",),
    }


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no answer could have shown"),
        (
            [{**GROUNDED, "answer": "x", "gold_in_evidence": True, "verified": None}],
            "no answer could have shown",
        ),
        ([{**GROUNDED, **RIGHT, "gold_in_evidence": True, "verified": True}] * 20, "up to 16%"),
        ([{**FAILED, **RIGHT, "gold_in_evidence": True}] * 20, "20 of 20 answers show a sign"),
    ],
)
def test_the_verdict_in_words(rows, said):
    """No sign is never called proof: the interval stands beside it."""
    made = [row(f"q{n}", "q?", "g", **fields) for n, fields in enumerate(rows)]

    assert said in compare_modes(sample_report(made), "r.json").verdict[0]
