"""Quantities: what is read, what is masked, and what one quantity lets another pass for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from aletheia.grounding.number_words import hedge_before
from aletheia.grounding.quantities import (
    check_quantity,
    match_quantity,
    numeric_mentions,
    quantities,
)
from aletheia.grounding.text import fold
from aletheia.grounding.units import convert, same_currency


def read(text):
    """The only quantity of `text`."""
    found = quantities(fold(text).text)
    assert len(found) == 1, found
    return found[0]


def outcome(evidence, answer):
    """Outcome of the first quantity of `answer` against `evidence`."""
    claimed = quantities(fold(answer).text)[0]
    return check_quantity(claimed, numeric_mentions(fold(evidence).text)).outcome


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1000", 1000),
        ("1,000", 1000),
        ("1 000", 1000),
        ("1'000", 1000),
        ("1,00,000", 100_000),
        ("890.000.000", 890_000_000),
        ("1,234.56", Fraction(123456, 100)),
        ("1.234,56", Fraction(123456, 100)),
        ("1,5", Fraction(3, 2)),
        ("0.500", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("56, 000", 56_000),
        ("5 million", 5_000_000),
        ("38.2 million", 38_200_000),
        ("3 bn", 3_000_000_000),
        ("7k", 7000),
        ("25 Mio.", 25_000_000),
        ("2 Mrd", 2_000_000_000),
        ("3 lakh", 300_000),
        ("4 crore", 40_000_000),
        ("300万", 3_000_000),
        ("3亿", 300_000_000),
        ("1.2e6", 1_200_000),
        ("10^2", 100),
        ("10²", 100),
        ("5½", Fraction(11, 2)),
        ("3/4", Fraction(3, 4)),
        ("١٢٣", 123),
        ("१२३", 123),
        ("１２３", 123),
    ],
)
def test_digits_are_read_exactly(text, value):
    assert read(text).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("forty two", 42),
        ("twenty-five", 25),
        ("twenty - five", 25),
        ("a dozen", 12),
        ("half a million", 500_000),
        ("a hundred", 100),
        ("one hundred and five", 105),
        ("two million five hundred thousand", 2_500_000),
        ("one and a half", Fraction(3, 2)),
        ("two-thirds", Fraction(2, 3)),
        ("three quarters", Fraction(3, 4)),
        ("5 dozen", 60),
        ("fünfundzwanzig", 25),
        ("dreitausend", 3000),
        ("quatre-vingt-dix", 90),
        ("vingt et un", 21),
        ("treinta y cinco", 35),
        ("veinticinco", 25),
        ("vinte e cinco", 25),
        ("venticinque", 25),
        ("vijfentwintig", 25),
        ("三千五百台", 3500),
        ("百分之五十", 50),
    ],
)
def test_number_words_are_read_exactly(text, value):
    assert read(text).value == value


@pytest.mark.parametrize(
    ("text", "kind", "unit", "currency"),
    [
        ("USD 5", "money", None, "USD"),
        ("US$5", "money", None, "USD"),
        ("$5", "money", None, "$"),
        ("5 dollars", "money", None, "$"),
        ("5 Canadian dollars", "money", None, "CAD"),
        ("€5", "money", None, "EUR"),
        ("5 €", "money", None, "EUR"),
        ("5 euros", "money", None, "EUR"),
        ("£5m", "money", None, "GBP"),
        ("₹5 crore", "money", None, "₹"),
        ("123円", "money", None, "JPY"),
        ("38 million crowns", "money", None, "kr"),
        ("5%", "percent", None, None),
        ("5 percent", "percent", None, None),
        ("5 per cent", "percent", None, None),
        ("5 Prozent", "percent", None, None),
        ("5 percentage points", "points", None, None),
        ("2.4kg", "measure", "kg", None),
        ("2.4 kilograms", "measure", "kg", None),
        ("90 km/h", "measure", "km/h", None),
        ("90 kilometres per hour", "measure", "km/h", None),
        ("40 miles an hour", "measure", "mph", None),
        ("5 m²", "measure", "m^2", None),
        ("5 square metres", "measure", "m^2", None),
        ("-5 °C", "measure", "°C", None),
        ("5 degrees Celsius", "measure", "°C", None),
        ("120 mg/dL", "measure", "mg/dL", None),
        ("5 full days", "measure", "d", None),
        ("a 10-year-old", "measure", "yr", None),
        ("2x", "measure", "times", None),
        ("21st", "ordinal", None, None),
        ("Python 3.11", "version", None, None),
        ("v2.0.1", "version", None, None),
        ("won 2-1", "ratio", None, None),
        ("3:1", "ratio", None, None),
        ("412 people", "number", None, None),
    ],
)
def test_kind_unit_and_currency(text, kind, unit, currency):
    found = read(text)

    assert (found.kind, found.unit, found.currency) == (kind, unit, currency)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("10–15 days", 10, 15),
        ("10 to 15 days", 10, 15),
        ("between 10 and 15", 10, 15),
        ("from 10 to 15", 10, 15),
        ("5 to 10 million", 5_000_000, 10_000_000),
        ("$5-10 million", 5_000_000, 10_000_000),
        ("80% and 90%", None, None),
    ],
)
def test_ranges_have_both_ends(text, low, high):
    found = quantities(fold(text).text)

    assert [(q.low, q.high) for q in found if q.high is not None] == (
        [] if low is None else [(low, high)]
    )


@pytest.mark.parametrize(
    "text",
    [
        "see https://ex.org/2019/30",
        "mail a30@ex.org",
        "doi:10.1000/182",
        "run `x = 30`",
        "SKU A-30",
        "COVID-19",
        "B2B and H2O",
        "as [E1] says",
        "as shown [12]",
        "4chan",
        "commit 9f3a2b1",
        "1. First, stir",
        "2) Then wait",
        "item_30",
        "#30",
    ],
)
def test_digits_that_are_no_quantity_are_masked(text):
    assert [q.text for q in quantities(fold(text).text) if not q.soft] == []


@pytest.mark.parametrize(
    ("text", "approx"),
    [
        ("about 5", "about"),
        ("about a 5", "about"),
        ("roughly 5", "about"),
        ("~5", "about"),
        ("nearly 5", "nearly"),
        ("more than 5", "over"),
        ("over 5", "over"),
        ("at least 5", "at_least"),
        ("5+", "at_least"),
        ("no more than 5", "at_most"),
        ("less than 5", "under"),
        ("up to 5", "at_most"),
        ("mehr als 5", "over"),
        ("environ 5", "about"),
        ("exactly 5", None),
    ],
)
def test_hedges_are_read_from_the_words_before(text, approx):
    assert read(text).approx == approx


def test_a_hedge_at_the_start_of_a_text_is_none():
    assert hedge_before("5", 0) is None


@pytest.mark.parametrize(
    ("text", "soft"),
    [
        ("one of the founders", True),
        ("first, stir", True),
        ("a summary in 80 words", True),
        ("open seven days a week", True),
        ("one million users", False),
        ("one year", False),
        ("412 people", False),
    ],
)
def test_words_that_need_not_be_numbers_are_soft(text, soft):
    assert read(text).soft is soft


@pytest.mark.parametrize(
    ("evidence", "answer", "expected"),
    [
        ("412 people", "412", "exact"),
        ("412", "412 people", "exact"),
        ("412 people", "412 kg", "contradicted"),
        ("cell 412", "412 kg", "exact"),
        ("15%", "5%", "contradicted"),
        ("5%", "25", "absent"),
        ("5 people", "5%", "contradicted"),
        ("half of them", "50%", "converted"),
        ("34%", "a third of them", "converted"),
        ("20%", "a third of them", "absent"),
        ("$890 million", "€890 million", "contradicted"),
        ("$890 million", "US$890 million", "exact"),
        ("C$890 million", "US$890 million", "contradicted"),
        ("£200", "200 pounds", "exact"),
        ("2400 g", "2.4 kg", "converted"),
        ("5 miles", "8 km", "converted"),
        ("5 miles", "9 km", "absent"),
        ("24 months", "2 years", "converted"),
        ("-5 °C", "23 °F", "converted"),
        ("-5 °C", "5 °C", "contradicted"),
        ("400 °F", "400 degrees", "exact"),
        ("$5", "$5.00", "exact"),
        ("85.19%", "85.190%", "contradicted"),
        ("38.2 million", "38 million", "rounded"),
        ("$1.49 billion", "$1.5 billion", "rounded"),
        ("1,234,567", "1.2 million", "rounded"),
        ("1,234,567", "1 million", "contradicted"),
        ("8234", "8,000", "contradicted"),
        ("8234", "about 8,000", "rounded"),
        ("8234", "over 8,000", "derived"),
        ("412", "more than 400", "derived"),
        ("412", "over 900", "contradicted"),
        ("412", "fewer than 500", "derived"),
        ("rose from 10 to 15", "rose to 15", "exact"),
        ("won 2-1", "lost 1-2", "exact"),
        ("Python 3.11", "Python 3.1", "contradicted"),
        ("Python 3.11", "version 3.11", "exact"),
        ("1.000", "1000", "exact"),
        ("70.5", "70½", "exact"),
        ("five hundred", "500", "exact"),
        ("the third largest", "the 3rd largest", "exact"),
    ],
)
def test_what_one_quantity_lets_another_pass_for(evidence, answer, expected):
    assert outcome(evidence, answer) == expected


@pytest.mark.parametrize(
    ("evidence", "answer", "soft"),
    [
        ("A and B founded it", "two founders", True),
        ("4 sites", "3 sites", False),
        ("64 is the age", "62 is the age", False),
    ],
)
def test_small_counts_are_soft_unless_the_noun_has_another(evidence, answer, soft):
    claimed = read(answer)
    found = match_quantity(claimed, quantities(evidence))

    assert not found.supported
    assert found.soft is soft


def test_the_nearest_rival_is_named():
    evidence = numeric_mentions("It weighs 3.1 kg, not 9 kg.")
    found = check_quantity(read("2.8 kg"), evidence)

    assert found.index is not None
    assert evidence.quantities[found.index].text == "3.1 kg"


def test_four_digits_may_be_a_year_in_the_evidence():
    assert outcome("founded in 2019", "2019 units") == "exact"


def test_number_words_of_another_language_are_not_read():
    """`once` is eleven in Spanish and no number in English."""
    assert quantities("It once ran the plant in the city.") == []
    assert [q.value for q in quantities("El niño tiene once años y la niña es mayor.")] == [11]


def test_temperatures_convert_by_scale_and_offset():
    assert convert(-40, "°C", "°F") == -40
    assert convert(100, "°C", "°F") == 212


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("$", "USD", True), ("$", "CAD", True), ("USD", "CAD", False), ("kr", "SEK", True)],
)
def test_a_sign_is_compatible_with_its_currencies(one, other, same):
    assert same_currency(one, other) is same


@pytest.mark.parametrize(
    ("listing", "outcome_", "index"),
    [
        ("85%, 86%, 89.4%", "derived", 0),
        ("85%, 86%, 95%", "absent", None),
        ("85%", "absent", None),
    ],
)
def test_a_range_over_listed_values_is_derived(listing, outcome_, index):
    claimed = read("between 80% and 90%")
    found = match_quantity(claimed, quantities(listing))

    assert (found.outcome, found.index) == (outcome_, index)
