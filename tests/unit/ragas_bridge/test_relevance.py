"""Relevance of retrieved units, decided by supporting facts or by the words of the gold answer."""

from __future__ import annotations

import pytest

from aletheia.ragas_bridge.base import MetricSample
from aletheia.ragas_bridge.relevance import Relevance, carries, judge
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit


def unit(n: int, text: str, **more: object) -> EvidenceUnit:
    return EvidenceUnit(id=f"E{n}", text=text, key=f"k{n}", position=n - 1, **more)  # type: ignore[arg-type]


def sample(texts: list[str], gold: str, *aliases: str, **more: object) -> MetricSample:
    units = tuple(unit(n, text) for n, text in enumerate(texts, 1))
    return MetricSample(
        question="?",
        answer=None,
        gold_answer=gold,
        gold_aliases=aliases,
        evidence=EvidenceSet(units=units),
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("The group is based in Lebanon.", "Lebanon", True),
        ("The group is based in Lebanon.", "lebanon", True),
        ("Lebanon's south", "Lebanon", True),
        ("The Lebanonese press", "Lebanon", False),
        ("in New\u00a0York City", "New York", True),
        ("in York, New", "New York", False),
        ("Zürich office", "Zurich", True),
        ("Zu\u0308rich office", "Zürich", True),
        ("it cost 1,000 euro", "1000 euro", True),
        ("it cost 11,000 euro", "1000 euro", False),
        ("up 50% to 12", "150%", False),
        ("version 3.11", "3.1", False),
        ("founded in 1988", "1988", True),
        ("founded in 19880", "1988", False),
        ("It helps us", "IT", False),
        ("it helps us who aim high", "WHO", False),
        ("members of Hamas", "HAMAS", True),
        ("Nato and NATO", "NATO", True),
        ("C# and C", "C++", False),
        ("written in C++ today", "C++", True),
        ("本部は京都、です", "京都", True),
        ("京都で開催", "京都", True),
        ("東京都で開催", "京都", None),
        ("大阪で開催", "京都", False),
        ("", "Lebanon", False),
        ("---", "...", False),
    ],
)
def test_a_form_is_carried_as_whole_words_only(text: str, form: str, expected: bool | None) -> None:
    assert carries(text, form) is expected


@pytest.mark.parametrize(
    "gold",
    [
        *("Yes", "no.", "Yes, since 1990", "True", "7", "42", "B", "---", "", "  "),
        "A militant group that was founded in the south of Lebanon in 1982",
    ],
)
def test_a_gold_answer_that_proves_nothing_by_its_words_is_undecided(gold: str) -> None:
    for texts in (["nothing of the kind"], [f"Here it stands: {gold}"]):
        assert isinstance(judge(sample(texts, gold)), str)


def test_polar_gold_stays_undecided_whatever_its_aliases() -> None:
    assert isinstance(judge(sample(["Iran backs it"], "Yes", "Iran backs it")), str)


def test_an_alias_of_a_description_is_enough_to_decide() -> None:
    gold = "A militant group that was founded in the south of Lebanon in 1982"
    found = judge(sample(["Hezbollah fights.", "Tea."], gold, "Hezbollah"))
    assert isinstance(found, Relevance)
    assert found.units == (True, False)
    assert found.wanted == ((gold, True),)


@pytest.mark.parametrize(
    ("texts", "gold", "units", "wanted"),
    [
        (["Iran pays.", "Syria helps.", "Tea."], "Iran, Syria and Lebanon", (1, 1, 0), (1, 1, 0)),
        (["Iran, Syria and Lebanon.", "Iran."], "Iran, Syria and Lebanon", (1, 0), (1,)),
        (["the Ministry of Trade"], "Ministry of Trade and Industry", (0,), (0,)),
        (["in 1988"], "May 3, 1988", (0,), (0,)),
        (["Leeds; York"], "York\nHull", (1,), (1, 0)),
    ],
)
def test_a_list_counts_by_its_items_unless_it_stands_whole(
    texts: list[str], gold: str, units: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    found = judge(sample(texts, gold))
    assert isinstance(found, Relevance)
    assert found.units == tuple(map(bool, units))
    assert tuple(there for _, there in found.wanted) == tuple(map(bool, wanted))


def test_a_unit_is_relevant_by_its_source_and_aliases_too() -> None:
    units = (unit(1, "It fell.", source="Hezbollah"), unit(2, "It rose.", aliases=("Hezbollah",)))
    found = judge(
        MetricSample(
            question="?", answer=None, gold_answer="Hezbollah", evidence=EvidenceSet(units=units)
        )
    )
    assert isinstance(found, Relevance)
    assert found.units == (True, True)


def facts_sample(facts: tuple[str, ...], *units: tuple[str, ...]) -> MetricSample:
    made = tuple(unit(n, f"text {n}", facts=ids) for n, ids in enumerate(units, 1))
    return MetricSample(
        question="?",
        answer=None,
        gold_answer="Yes",
        supporting_facts=facts,
        evidence=EvidenceSet(units=made),
    )


def test_supporting_facts_decide_without_the_words() -> None:
    found = judge(facts_sample(("f1", "f2", "f1"), ("f9",), ("f1", "f9"), ()))
    assert isinstance(found, Relevance)
    assert found.units == (False, True, False)
    assert found.wanted == (("f1", True), ("f2", False))
    assert found.basis == "supporting facts"


def test_without_fact_ids_in_any_unit_the_words_decide() -> None:
    found = judge(sample(["Leeds has a port."], "Leeds", supporting_facts=("f1",)))
    assert isinstance(found, Relevance)
    assert found.units == (True,)
    assert found.basis == "gold answer words"
