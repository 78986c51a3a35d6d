"""Tables: which grids are read, and what a named row and column say about a number."""

from __future__ import annotations

import pytest

from aletheia.grounding.quantities import numeric_mentions
from aletheia.grounding.tables import cell_conflict, tables, with_header
from aletheia.grounding.text import fold

PIPE = "| City | 2022 | 2023 |\n| Orle | 10 | 14 |\n| Vask | 14 | 9 |"
RULED = "| City | 2022 | 2023 |\n|---|:-:|---|\n| Orle | 10 | 14 |\n| Vask | 14 | 9 |"
CSV = "City,2022,2023\nOrle,10,14\nVask,14,9"
TSV = "City\t2022\t2023\nOrle\t10\t14\nVask\t14\t9"
HTML = (
    "<table><tr><th>City</th><th>2022</th><th>2023</th></tr>"
    "<tr><td>Orle</td><td>10</td><td>14</td></tr><tr><td>Vask</td><td>14</td><td>9</td></tr></table>"
)
JSON = '[{"City": "Orle", "2022": 10, "2023": 14}, {"City": "Vask", "2022": 14, "2023": 9}]'


def verdicts(evidence, sentence):
    """Outcome and true value for every number of `sentence` that a cell decides."""
    found = tables(fold(evidence).text)
    folded = fold(sentence).text
    results = [cell_conflict(folded, n, found) for n in numeric_mentions(folded).quantities]
    return [(v.outcome, v.cell.text) for v in results if v is not None]


@pytest.mark.parametrize("evidence", [PIPE, RULED, CSV, TSV, HTML, JSON])
def test_every_form_of_table_is_read(evidence):
    assert verdicts(evidence, "Orle had 14 in 2022.") == [("contradicted", "10")]
    assert verdicts(evidence, "Orle had 10 in 2022.") == [("supported", "10")]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Vask had 10 in 2022.", [("contradicted", "14")]),
        ("Orle had 10 in 2022 and 14 in 2023.", [("supported", "10"), ("supported", "14")]),
        ("In 2022 and 2023 Orle had 10 and 14.", [("supported", "10"), ("supported", "14")]),
        ("Orle had 14.", []),
        ("The city had 14 in 2022.", []),
        ("Orle had 77 in 2022.", []),
        ("Orleans had 14 in 2022.", []),
    ],
)
def test_a_verdict_needs_one_named_row_and_column(sentence, expected):
    assert verdicts(PIPE, sentence) == expected


def test_a_value_of_another_column_that_the_sentence_speaks_of_is_no_conflict():
    evidence = (
        '[{"name": "Orle", "stars": 3.5, "review_count": 120},'
        ' {"name": "Vask", "stars": 4, "review_count": 90}]'
    )

    assert verdicts(evidence, "Orle has 3.5 stars from 120 reviews.") == [("supported", "3.5")]


def test_the_header_gives_the_unit_of_a_column():
    evidence = "| Model | share (%) |\n|---|---|\n| AX | 5 |\n| BX | 8 |"

    assert verdicts(evidence, "BX has a share of 8%.") == [("supported", "8")]
    assert verdicts(evidence, "BX has a share of 5%.") == [("contradicted", "8")]
    assert [q.unit for q in with_header(numeric_mentions("5").quantities, "mass, kg")] == ["kg"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Prose, with commas, and more.\nAnother, longer, line.",
        "a | b",
        "[1, 2] and {x",
        "{" * 99,
    ],
)
def test_prose_is_no_table(text):
    assert tables(text) == []


def test_cells_know_where_they_stand():
    for table in tables(PIPE):
        for cell in (*table.columns, *(c for row in table.rows for c in row)):
            assert PIPE[cell.start : cell.end] == cell.text
