"""Marks in answers and in evidence."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.reports.samples import finding, row, sample_rows, unit

from aletheia.reports.highlight import answer_pieces, evidence_pieces
from aletheia.schema.report import FindingRecord


def test_overlapping_findings_are_both_marked():
    answer = "on 3 May 1931 it left"
    pieces = answer_pieces(
        answer,
        [finding(answer, "3 May 1931", "date", "x"), finding(answer, "1931", "number", "x")],
    )

    assert [(piece.text, piece.findings, piece.ending) for piece in pieces] == [
        ("on ", (), ()),
        ("3 May ", (1,), ()),
        ("1931", (1, 2), (1, 2)),
        (" it left", (), ()),
    ]


def test_a_finding_whose_offsets_do_not_hold_its_text_marks_nothing():
    wrong = FindingRecord(kind="name", text="Orle", start=0, end=4, reason="x")

    assert [piece.findings for piece in answer_pieces("Vask is far", [wrong])] == [()]


@settings(deadline=None)
@given(
    st.text(),
    st.lists(st.tuples(st.integers(-3, 12), st.integers(-3, 12)), max_size=6),
)
def test_pieces_together_are_the_answer(answer, spans):
    findings = [
        FindingRecord(kind="name", text=answer[low:high], start=low, end=high, reason="x")
        for low, high in spans
        if low >= 0
    ]

    assert "".join(piece.text for piece in answer_pieces(answer, findings)) == answer


@settings(deadline=None)
@given(st.text(), st.text(min_size=1), st.text())
def test_pieces_together_are_the_unit(text, nearest, gold):
    record = unit(1, text, cited=True)
    item = row(
        "r",
        "q?",
        gold,
        category="grounded_answer",
        grounding_rejected=False,
        findings=(
            FindingRecord(kind="name", text="x", start=0, end=0, reason="x", nearest=nearest),
        ),
    )

    assert "".join(piece.text for piece in evidence_pieces(record, item)) == text


def marks(item, number):
    pieces = evidence_pieces(item.evidence[number], item)
    return [(piece.text, piece.mark) for piece in pieces if piece.mark]


def test_evidence_shows_the_nearest_the_carrier_and_the_gold_answer():
    rows = sample_rows()
    crowd = rows[4]

    assert marks(crowd, 0) == [("Mara Holt", "nearest"), ("24", "nearest")]
    assert marks(crowd, 1) == [("Vask", "carrier")]
    assert marks(rows[0], 0) == [("Keepers of Orle", "gold")] or marks(rows[0], 0) == [
        ("the Keepers of Orle", "gold")
    ]


def test_markers_inside_a_source_are_named_as_the_sources_own():
    kinds = [mark for mark in marks(sample_rows()[5], 0) if mark[1] == "forged"]

    assert [text.strip() for text, _ in kinds] == ["[E9]", "EVIDENCE:", "[E7]"]


def test_a_short_candidate_does_not_match_inside_words():
    item = sample_rows()[0].model_copy(update={"gold_answer": "te", "gold_aliases": ()})

    assert marks(item, 2) == []


@pytest.mark.parametrize("filler", ["[E1] ", "\n", "[ E", "Keepers of Orle ", " "])
def test_a_long_hostile_unit_takes_linear_time(filler):
    """A quadratic search would take minutes here."""
    record = unit(1, filler * 200_000, cited=True)
    pieces = evidence_pieces(record, sample_rows()[0])

    assert "".join(piece.text for piece in pieces) == record.text
    assert len(pieces) < 500
