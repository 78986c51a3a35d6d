"""Field cases 70 to 86 at the level of quantities, dates and tables, by their number."""

from __future__ import annotations

import pytest

from aletheia.grounding.quantities import check_quantity, numeric_mentions
from aletheia.grounding.tables import cell_conflict, tables
from aletheia.grounding.text import fold


def outcomes(evidence, answer):
    """Outcome of each quantity of the answer that is not soft."""
    known = numeric_mentions(fold(evidence).text)
    claimed = numeric_mentions(fold(answer).text).quantities
    return [check_quantity(q, known).outcome for q in claimed if not q.soft]


@pytest.mark.parametrize("form", ["USD 890,000,000", "$890M", "890 million dollars"])
@pytest.mark.parametrize("other", ["USD 890,000,000", "$890M", "890 million dollars"])
def test_case_70_long_and_short_forms_of_money_are_one(form, other):
    assert outcomes(f"The fee was {form}.", f"The fee was {other}.") == ["exact"]


def test_case_70_another_currency_contradicts():
    assert outcomes("The fee was $890M.", "The fee was EUR 890.000.000.") == ["contradicted"]


def test_case_71_a_scaled_figure_is_not_its_digits():
    evidence = "Revenue was $150 million, up 50%."

    assert outcomes(evidence, "Revenue was $50 million.") == ["contradicted"]


def test_case_73_one_digit_off_contradicts():
    assert outcomes("The legal age is 64.", "The legal age is 62.") == ["contradicted"]


def test_case_74_the_units_are_read_apart_so_that_the_subject_can_be_checked():
    """The value is in the other unit only, which is what a misattribution is told by."""
    answer = "The tent weighs 2.4 kg."

    assert outcomes("The tent weighs 3.1 kg.", answer) == ["contradicted"]
    assert outcomes("The stove weighs 2.4 kg.", answer) == ["exact"]


@pytest.mark.parametrize(
    ("evidence", "answer", "expected"),
    [
        ("mass: 2.4kg", "2.4 kilograms", "exact"),
        ("mass: 2.4kg", "2400 g", "converted"),
        ("at 90 km/h", "90 kilometres per hour", "exact"),
        ("up 5%", "5 percent", "exact"),
        ("up 5%", "5 per cent", "exact"),
    ],
)
def test_case_76_spelled_units_are_equal(evidence, answer, expected):
    assert outcomes(evidence, answer) == [expected]


@pytest.mark.parametrize(
    ("evidence", "answer", "supported"),
    [
        ("85.19%", "85%", True),
        ("85.19%", "85.2%", True),
        ("85.19%", "about 85%", True),
        ("85.19%", "90%", False),
        ("8234", "8,000", False),
        ("8234", "about 8,000", True),
    ],
)
def test_case_77_honest_rounding(evidence, answer, supported):
    assert (outcomes(evidence, answer) == ["rounded"]) is supported


def test_case_79_a_range_over_listed_scores_is_derived():
    evidence = "Scores: 85%, 86%, 89.4%."

    assert outcomes(evidence, "All scores lie between 80% and 90%.") == ["derived"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("10-15 days", "exact"),
        ("10 to 15 days", "exact"),
        ("15 days", "within_range"),
        ("12 days", "within_range"),
    ],
)
def test_case_80_range_endpoints(answer, expected):
    assert outcomes("takes 10–15 days", answer) == [expected]


@pytest.mark.parametrize(
    ("evidence", "answer", "expected"),
    [("area 10² m", "102 m", "contradicted"), ("5½ days", "5.5 days", "exact")],
)
def test_case_82_superscripts_and_fractions(evidence, answer, expected):
    assert outcomes(evidence, answer) == [expected]


def test_case_83_digits_of_links_and_ids_support_nothing():
    evidence = "see https://ex.org/2019/30 and SKU A-30"

    assert outcomes(evidence, "It costs 30 euro.") == ["absent"]


@pytest.mark.parametrize(
    ("evidence", "answer"), [("السعر ١٢٣", "The price is 123"), ("価格は１２３円", "123円")]
)
def test_case_85_native_digits_are_equal(evidence, answer):
    assert outcomes(evidence, answer) == ["exact"]


def test_case_86_the_value_of_another_column_contradicts():
    found = tables("| City | 2022 | 2023 |\n| Orle | 10 | 14 |\n| Vask | 14 | 9 |")
    sentence = "Orle had 14 in 2022."
    (number,) = numeric_mentions(sentence).quantities
    verdict = cell_conflict(sentence, number, found)

    assert verdict is not None
    assert (verdict.outcome, verdict.cell.text) == ("contradicted", "10")
