"""Dates: what is read at which precision, and which evidence carries a claimed one."""

from __future__ import annotations

import pytest

from aletheia.grounding.quantities import (
    check_date,
    dates,
    match_date,
    numeric_mentions,
    quantities,
)
from aletheia.grounding.text import fold


def read(text):
    """The only date of `text`."""
    found = dates(fold(text).text)
    assert len(found) == 1, found
    return found[0]


MAY_12 = (20190512, 20190512)
MAY = (20190501, 20190531)
YEAR = (20190101, 20191231)


@pytest.mark.parametrize(
    ("text", "precision", "reading"),
    [
        ("12 May 2019", "day", MAY_12),
        ("12th of May, 2019", "day", MAY_12),
        ("May 12, 2019", "day", MAY_12),
        ("May 12th 2019", "day", MAY_12),
        ("2019-05-12", "day", MAY_12),
        ("12.05.2019", "day", MAY_12),
        ("2019/05/12", "day", MAY_12),
        ("12. Mai 2019", "day", MAY_12),
        ("12 mai 2019", "day", MAY_12),
        ("12 de mayo de 2019", "day", MAY_12),
        ("12 maggio 2019", "day", MAY_12),
        ("12 de maio de 2019", "day", MAY_12),
        ("12 mei 2019", "day", MAY_12),
        ("12 мая 2019", "day", MAY_12),
        ("2019年5月12日", "day", MAY_12),
        ("2019년 5월 12일", "day", MAY_12),
        ("May 2019", "month", MAY),
        ("2019-05", "month", MAY),
        ("in May", "month", (501, 531)),
        ("May 12", "day", (512, 512)),
        ("in 2019", "year", YEAR),
        ("mid-2019", "year", YEAR),
        ("44 BC", "year", (-439899, -438769)),
        ("AD 79", "year", (790101, 791231)),
        ("the 1990s", "decade", (19900101, 19991231)),
        ("the nineties", "decade", (19900101, 19991231)),
        ("the 90s", "decade", (19900101, 19991231)),
        ("the 19th century", "century", (18000101, 19001231)),
        ("the nineteenth century", "century", (18000101, 19001231)),
        ("Q3 2020", "quarter", (20200701, 20200931)),
        ("third quarter of 2020", "quarter", (20200701, 20200931)),
        ("H1 2020", "half", (20200101, 20200631)),
        ("FY2019", "year", YEAR),
        ("on Monday", "weekday", (0, 0)),
        ("17:00", "time", (1020, 1020)),
        ("5 p.m.", "time", (1020, 1020)),
        ("5:30pm", "time", (1050, 1050)),
        ("17 Uhr", "time", (1020, 1020)),
        ("noon", "time", (720, 720)),
    ],
)
def test_dates_are_read_at_their_own_precision(text, precision, reading):
    found = [mention for mention in dates(fold(text).text) if mention.precision == precision]

    assert [mention.readings[0] for mention in found] == [reading]


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("3/4/2019", {20190403, 20190304}),
        ("13/4/2019", {20190413}),
        ("03.04.2019", {20190403}),
    ],
)
def test_an_ambiguous_order_keeps_both_readings(text, readings):
    assert {first for first, _ in read(text).readings} == readings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1997–2001", ["1997", "2001"]),
        ("from 1997 to 2001", ["1997", "2001"]),
        ("5–7 June 2020", ["5-7 June 2020", "5-7 June 2020"]),
        ("9:00-17:30", ["9:00", "17:30"]),
        ("16:0-22:0", ["16:0", "22:0"]),
    ],
)
def test_both_ends_of_a_date_range_are_dates(text, expected):
    assert [mention.text for mention in dates(fold(text).text)] == expected


@pytest.mark.parametrize(
    "text", ["2019 units were sold", "it weighs 1500 kg", "$2019", "over 1,200 people", "2019%"]
)
def test_four_digits_with_a_unit_or_noun_are_a_number(text):
    assert dates(text) == []
    assert len(quantities(text)) == 1


@pytest.mark.parametrize("text", ["12 May 2019", "in 2019", "5 p.m.", "the 1990s", "2019年5月"])
def test_dates_are_no_quantities(text):
    assert quantities(fold(text).text) == []


@pytest.mark.parametrize(
    ("evidence", "answer", "expected"),
    [
        ("on 12 May 2019", "12/5/2019", "exact"),
        ("on 12 May 2019", "2019", "coarser"),
        ("on 12 May 2019", "in the 2010s", "coarser"),
        ("on 12 May 2019", "in the 21st century", "coarser"),
        ("on 12 May 2019", "May 2019", "coarser"),
        ("on 12 May 2019", "on 12 May", "exact"),
        ("on 12 May 2019", "on Sunday", "coarser"),
        ("on 12 May 2019", "on Monday", "absent"),
        ("on 12 May 2019", "on 13 May 2019", "contradicted"),
        ("on 12 May 2019", "on 12 May 2018", "contradicted"),
        ("in May 2019", "on 12 May 2019", "invented_precision"),
        ("in 2019", "in May 2019", "invented_precision"),
        ("in the 1990s", "in 1994", "invented_precision"),
        ("In 2019 it grew. It opened on May 12.", "May 12, 2019", "combined"),
        ("at 17:00", "at 5 p.m.", "exact"),
        ("at 5 p.m.", "at 5:00", "exact"),
        ("at 5 a.m.", "at 5 p.m.", "contradicted"),
        ("from 1997 to 2001", "in 1999", "contradicted"),
        ("July 2020", "Q3 2020", "coarser"),
        ("no date here", "in 2019", "absent"),
        ("2019 units", "in 2019", "exact"),
    ],
)
def test_which_evidence_carries_a_claimed_date(evidence, answer, expected):
    claimed = read(answer)

    assert check_date(claimed, numeric_mentions(fold(evidence).text)).outcome == expected


def test_a_bare_month_is_soft_and_a_verb_is_no_month():
    assert dates("You may march on.") == []
    assert [mention.soft for mention in dates("June Smith and, in May, Al.")] == [True, False]


def test_match_date_names_the_mention_that_matched():
    available = dates("It opened on 3 June 2018 and closed on 12 May 2019.")

    assert match_date(read("in 2019"), available).index == 1
