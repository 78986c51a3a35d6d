"""Evidence that contradicts itself on a claim (field case 136), and what only looks like it."""

from __future__ import annotations

import pytest

from aletheia.grounding.conflict import ClaimConflicts, find_conflicts
from aletheia.grounding.numbering import number
from aletheia.schema.evidence import EvidenceText


def on(claim: str, *units: str | EvidenceText) -> ClaimConflicts:
    [found] = find_conflicts(number(units), [claim])
    return found


CONTRADICTING = [
    ("The tent weighs 3.1 kg.", "Tent 3.1 kg.", "Tent, revised: 2.8 kg."),
    ("The tent weighs 3.1 kg.", "The tent weighs 3.1 kg.", "The tent weighs 2800 g."),
    ("The tent weighs 3.1 kg.", "Here is a tent. It weighs 3.1 kg.", "Tent: 2.8 kg"),
    ("The library has 40 staff.", "The library has 40 staff.", "The library has 45 staff."),
    ("The fee is 10 euro.", "The fee is 10 euro.", "Fee: 12 euro (updated)."),
    ("The legal age is 64.", "The legal age is 64.", "The legal age is 62."),
    ("Orle bridge is 120 m long.", "Orle bridge is 120 m long.", "Orle bridge is 0.2 km long."),
    ("The firmware version is 2.3.", "The firmware version is 2.3.", "Firmware version: 2.4"),
    ("The museum opened in 1998.", "The museum opened in 1998.", "The museum opened in 2001."),
    ("The deadline is 5 May.", "The deadline is 5 May.", "Deadline: 9 May"),
    (
        "The part number is A-30.",
        "The pump's part number is A-30.",
        "The pump's part number is B-12.",
    ),
    ("Das Zelt wiegt 3,1 kg.", "Das Zelt wiegt 3,1 kg.", "Zelt, korrigiert: 2,8 kg."),
    ("La tente pèse 3,1 kg.", "La tente pèse 3,1 kg.", "Tente (poids corrigé) : 2,8 kg"),
    ("Il museo aprì nel 1998.", "Il museo aprì nel 1998.", "Il museo aprì nel 2001."),
    ("O museu abriu em 1998.", "O museu abriu em 1998.", "O museu abriu em 2001."),
    ("De tent weegt 3,1 kg.", "De tent weegt 3,1 kg.", "De tent weegt 2,8 kg."),
    ("帐篷重3.1公斤。", "帐篷重3.1公斤。", "帐篷（修订）：2.8公斤。"),
    ("テントは3.1kgです。", "テントは3.1kgです。", "テント（改訂版）：2.8kg"),
    ("텐트는 3.1kg이다.", "텐트는 3.1kg이다.", "텐트는 2.8kg이다."),
    ("Палатка весит 3,1 кг.", "Палатка весит 3,1 кг.", "Палатка весит 2,8 кг."),
    ("تم افتتاح المتحف عام 1998.", "تم افتتاح المتحف عام 1998.", "تم افتتاح المتحف عام 2001."),
    ("तम्बू का वजन 3.1 kg है।", "तम्बू का वजन 3.1 kg है।", "तम्बू का वजन 2.8 kg है।"),
    ("Çadırın ağırlığı 3,1 kg.", "Çadırın ağırlığı 3,1 kg.", "Çadırın ağırlığı 2,8 kg."),
    # signs
    ("The pump runs at 40 Hz.", "The pump runs at 40 Hz.", "The pump does not run at 40 Hz."),
    ("The export is enabled.", "The export is enabled.", "The export is disabled."),
    ("La bomba funciona a 40 Hz.", "La bomba funciona a 40 Hz.", "La bomba no funciona a 40 Hz."),
    ("水泵可以饮用水使用。", "水泵可以饮用水使用。", "水泵不可以饮用水使用。"),
]


@pytest.mark.parametrize(("claim", "carrier", "rival"), CONTRADICTING)
def test_two_units_that_say_otherwise_of_one_thing_are_a_conflict(
    claim: str, carrier: str, rival: str
) -> None:
    """In either order, and whatever stands between them."""
    for units in ([carrier, "The harbour is old.", rival], [rival, "The harbour is old.", carrier]):
        found = on(claim, *units)
        assert found.found is True
        [conflict] = found.conflicts
        at = 1 + units.index(carrier), 1 + units.index(rival)
        assert (conflict.unit, conflict.other) == tuple(f"E{number}" for number in at)


AGREEING = [
    ("two tents", "Tent A weighs 3.1 kg.", ("Tent A weighs 3.1 kg.", "Tent B weighs 2.8 kg.")),
    ("two tents", "Tent 1 weighs 3.1 kg.", ("Tent 1 weighs 3.1 kg.", "Tent 2 weighs 2.8 kg.")),
    (
        "two things",
        "The tent weighs 2.4 kg.",
        ("The tent weighs 2.4 kg.", "The stove weighs 3 kg."),
    ),
    (
        "two years",
        "Revenue was 5 million euro in 2020.",
        ("Revenue was 5 million euro in 2020.", "Revenue was 6 million euro in 2021."),
    ),
    ("another unit", "The tent weighs 2.4 kg.", ("The tent weighs 2.4 kg.", "Tent: 2400 g")),
    (
        "rounded",
        "The tent weighs 2.41 kg.",
        ("The tent weighs 2.41 kg.", "The tent weighs 2.4 kg."),
    ),
    (
        "a finer date",
        "Orle opened in 1998.",
        ("Orle opened in 1998.", "Orle opened on 3 May 1998."),
    ),
    ("two parts", "Section 3 covers fire.", ("Section 3 covers fire.", "Section 4 covers fire.")),
    ("two types", "The A-30 pump is blue.", ("The A-30 pump is blue.", "The B-12 pump is blue.")),
    ("two places", "Upper Orle is a town.", ("Upper Orle is a town.", "Lower Orle is a town.")),
    ("the same sign", "The pump is not safe.", ("The pump is not safe.", "The pump isn't safe.")),
    ("said twice", "The tent weighs 3.1 kg.", ("The tent weighs 3.1 kg.", "Tent: 3.1 kg")),
]


@pytest.mark.parametrize(("why", "claim", "units"), AGREEING, ids=lambda item: str(item)[:24])
def test_what_could_be_compared_and_agrees_is_told_to_be_no_conflict(
    why: str, claim: str, units: tuple[str, ...]
) -> None:
    assert on(claim, *units).found is False, why


UNDECIDED = [
    ("a range", "The trip takes 10-15 days.", ("The trip takes 10-15 days.", "The trip takes 12 days.")),
    ("two bounds", "The load is at least 5 kg.", ("The minimum load is 5 kg.", "The maximum load is 9 kg.")),
    ("about", "The tent weighs about 3 kg.", ("The tent weighs about 3 kg.", "The tent weighs 2 kg.")),
    ("again", "Orle won the cup in 1998.", ("Orle won the cup in 1998.", "Orle won the cup in 2001.")),
    ("of what", "The weight is 3.1 kg.", ("The weight is 3.1 kg.", "The weight is 2.8 kg.")),
    ("whose", "The company has 40 staff.", ("The company has 40 staff.", "The company has 60 staff.")),
    ("before", "The tent weighed 3.1 kg.", ("Formerly the tent weighed 3.1 kg.", "The tent weighs 2.8 kg.")),
    ("a part", "The stove weighs 1.8 kg.", ("The stove weighs 1.8 kg.", "The titanium stove weighs 2 kg.")),
    ("round", "8,000 live in Orle.", ("8,000 live in Orle.", "8,234 live in Orle.")),
    ("money", "Entry costs 10 euro.", ("Entry costs 10 euro.", "Entry costs 12 dollars.")),
    (
        "yearly reports",
        "Orle's revenue was 5 million euro.",
        ("Report 2020. Orle's revenue was 5 million euro.", "Report 2021. Orle's revenue was 6 million euro."),
    ),
    ("two steps", "Cook the roast for 3 hours.", ("Cook the roast for 3 hours.", "Cook the roast for 20 minutes.")),
    ("two labels", "See passage 1 on roast.", ("See passage 1 on roast.", "See passage 2 on roast.")),
    ("released what", "Orle was released in 2001.", ("Orle came, and was released in 2001.", "Vask came, and was released in 2005.")),
    ("one unit", "The tent weighs 3.1 kg.", ("The tent weighs 3.1 kg. Tent, revised: 2.8 kg.",)),
    ("no unit", "The tent weighs 3.1 kg.", ()),
    ("one text twice", "The tent weighs 3.1 kg.", ("Tent 3.1 kg.", "Tent 3.1 kg.")),
    ("nobody says it", "The tent weighs 3.1 kg.", ("The tent is green.", "The stove is hot.")),
]  # fmt: skip


@pytest.mark.parametrize(("why", "claim", "units"), UNDECIDED, ids=lambda item: str(item)[:24])
def test_what_cannot_be_decided_is_neither_a_conflict_nor_its_absence(
    why: str, claim: str, units: tuple[str, ...]
) -> None:
    found = on(claim, *units)
    assert (found.conflicts, found.found) == ((), None), why


def dated(text: str, source: str) -> EvidenceText:
    return EvidenceText(text=text, source=source)


@pytest.mark.parametrize(
    ("first", "second", "newer"),
    [
        (dated("Tent 3.1 kg.", "Catalogue 2019"), dated("Tent 2.8 kg.", "Catalogue 2024"), "E2"),
        (dated("Tent 3.1 kg.", "Catalogue 2024"), dated("Tent 2.8 kg.", "Catalogue 2019"), "E1"),
        ("Tent 3.1 kg.", "Tent, revised: 2.8 kg.", "E2"),
        ("Tent, corrected: 3.1 kg.", "Tent: 2.8 kg.", "E1"),
        ("As of 3 May 2020. Tent 3.1 kg.", "As of 9 May 2020. Tent 2.8 kg.", "E2"),
        ("Tent 3.1 kg.", "Tent 2.8 kg.", None),
    ],
)
def test_dates_in_the_units_decide_which_is_newer(
    first: str | EvidenceText, second: str | EvidenceText, newer: str | None
) -> None:
    [conflict] = on("The tent weighs 3.1 kg.", first, second).conflicts
    assert conflict.newer == newer
    assert ("newer" in conflict.text) is (newer is not None)


def test_the_year_in_question_is_no_date_of_its_unit() -> None:
    [conflict] = on(
        "Orle opened in 1998.", "Orle opened in 1998.", "Orle opened in 2001."
    ).conflicts
    assert (conflict.kind, conflict.says, conflict.other_says) == ("date", "1998", "2001")
    assert conflict.newer is None


def test_a_title_gives_a_statement_its_subject() -> None:
    """Two tents, each in a unit that names it in its title only."""
    alpha, beta = dated("It weighs 3.1 kg.", "Tent Alpha"), dated("It weighs 2.8 kg.", "Tent Beta")
    assert on("Tent Alpha weighs 3.1 kg.", alpha, beta).conflicts == ()
    again = dated("It weighs 2.8 kg.", "Tent Alpha")
    assert on("Tent Alpha weighs 3.1 kg.", alpha, again).found is True


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("The pump runs at 40 Hz.", "E1"),
        ("At 40 Hz the pump runs.", "E1"),
        ("The pump runs.", None),
    ],
)
def test_who_states_the_claim_states_it_word_for_word(claim: str, says: str | None) -> None:
    found = on(claim, "The pump runs at 40 Hz.", "The pump does not run at 40 Hz.")
    assert found.stated_by == says
