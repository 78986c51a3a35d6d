"""Properties of quantities and dates over arbitrary text and arbitrary numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aletheia.grounding.quantities import (
    check_date,
    check_quantity,
    dates,
    numeric_mentions,
    quantities,
)
from aletheia.grounding.tables import cell_conflict, tables
from aletheia.grounding.text import fold
from aletheia.grounding.units import UNITS, convert, same_dimension

PIECES = st.sampled_from(
    [
        "12",
        "5%",
        "$",
        "€",
        "kg",
        "May",
        "2019",
        "one",
        "two-thirds",
        "-",
        "–",
        ".",
        ",",
        ":",
        "/",
        "(",
        ")",
        "[E1]",
        "三千",
        "万",
        "年",
        "º",
        "½",
        "²",
        "١٢",
        "million",
        "to",
        "and",
        "between",
        "from",
        "about",
        "over",
        "more",
        "than",
        "Q3",
        "1,000",
        "1.5",
        "3/4",
        "10-15",
        "17:00",
        "p.m.",
        "half",
        "a",
        "first",
        "İ",
        "ß",
        "😀",
        "\n",
        "\t",
        "|",
        "{",
        "}",
        "http://a.b/1",
        "@",
        "`",
        "'",
        '"',
        "#",
        "_",
        "^",
        "x",
        "e6",
        "1990s",
        "century",
        "of",
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=25).map(" ".join),
                  st.lists(PIECES, max_size=25).map("".join))  # fmt: skip
INTEGERS = st.integers(min_value=13, max_value=10**12)


@given(TEXTS)
def test_any_text_is_read_and_offsets_are_true(raw):
    text = fold(raw).text
    mentions = numeric_mentions(text)

    for mention in (*mentions.quantities, *mentions.dates):
        assert 0 <= mention.start < mention.end <= len(text)
        assert len(mention.text) == mention.end - mention.start
    starts = [mention.start for mention in mentions.quantities]
    assert starts == sorted(starts)


@given(TEXTS)
def test_a_text_supports_its_own_numbers_and_dates(raw):
    text = fold(raw).text
    mentions = numeric_mentions(text)

    assert all(check_quantity(q, mentions).supported for q in mentions.quantities)
    assert all(check_date(m, mentions).supported for m in mentions.dates)


@given(TEXTS)
def test_nothing_is_supported_by_nothing(raw):
    nothing = numeric_mentions("")

    assert not any(check_quantity(q, nothing).supported for q in quantities(fold(raw).text))
    assert not any(check_date(m, nothing).supported for m in dates(fold(raw).text))


@given(TEXTS, TEXTS)
def test_no_pair_of_texts_breaks_the_checks(one, other):
    evidence, answer = fold(one).text, fold(other).text
    known = numeric_mentions(evidence)
    grids = tables(evidence)

    for quantity in quantities(answer):
        found = check_quantity(quantity, known)
        assert found.index is None or 0 <= found.index < len(known.quantities)
        cell_conflict(answer, quantity, grids)


@given(INTEGERS)
def test_grouping_does_not_change_a_number(value):
    forms = [
        str(value),
        f"{value:,}",
        f"{value:,}".replace(",", " "),
        f"{value:,}".replace(",", "'"),
    ]

    for form in forms:
        mentions = numeric_mentions(f"It counts {form}.")
        assert [q.value for q in mentions.quantities] == [value] or not mentions.quantities


@given(INTEGERS, INTEGERS)
def test_different_whole_numbers_never_pass_for_each_other(one, other):
    claimed = quantities(f"It weighs {one} kg.")[0]
    found = check_quantity(claimed, numeric_mentions(f"It weighs {other} kg."))

    assert found.supported is (one == other)


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=1000), st.data())
def test_conversion_goes_there_and_back_exactly(value, data):
    source = data.draw(st.sampled_from(sorted(UNITS)))
    target = data.draw(st.sampled_from([u for u in sorted(UNITS) if same_dimension(u, source)]))

    assert convert(convert(value, source, target), target, source) == value
