"""Renaming a graph: what is replaced by what, what stays, and that it can be undone."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from aletheia import graph as graphs
from aletheia.errors import UsageError
from aletheia.graph.build import Builder
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.rename import Renaming, rename
from aletheia.graph.rename_check import check
from aletheia.graph.rename_numbers import make_rule
from aletheia.graph.store import DESCRIPTION
from aletheia.pipeline.questions import load_questions
from aletheia.schema.question import Question

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ("aldermoor", "terrorist_orgs")


def made(*nodes: tuple[str, str, str | None, list[str], str]) -> KnowledgeGraph:
    """A graph of (id, name, type, aliases, description), each linked to the next."""
    builder = Builder()
    for node_id, name, kind, aliases, text in nodes:
        described = [(DESCRIPTION, text)] if text else []
        builder.node(node_id, name=name, type=kind, aliases=aliases, attributes=described)
    for one, other in pairwise(nodes):
        builder.edge(one[0], "knows", other[0])
    return KnowledgeGraph(builder.build(), name="made")


def texts(graph: KnowledgeGraph, node_id: str) -> tuple[str, tuple[str, ...], str]:
    node = graph.node(node_id)
    assert node is not None
    return node.name, node.aliases, dict(node.attributes).get(DESCRIPTION, "")


def renamed(
    graph: KnowledgeGraph, seed: int = 3, **more: object
) -> tuple[KnowledgeGraph, Renaming]:
    return rename(graph, seed, **more)  # type: ignore[arg-type]


# --- names ------------------------------------------------------------------------------------


def test_a_name_is_replaced_wherever_it_stands_and_keeps_its_words_of_kind() -> None:
    """The same word of two names gets the same new word; `River` stays; a possessive stays."""
    graph = made(
        ("orl", "River Orlen", "River", [], "Orlen's longest arm is the Orlen."),
        ("uni", "Orlen University", "School", [], "School beside the River Orlen."),
    )
    new, renaming = renamed(graph)
    river, _, text = texts(new, renaming.ids["orl"])
    word = river.removeprefix("River ")

    assert river.startswith("River ")
    assert word not in ("", "Orlen")
    assert text == f"{word}'s longest arm is the {word}."
    assert texts(new, renaming.ids["uni"])[0] == f"{word} University"
    assert texts(new, renaming.ids["uni"])[2] == f"School beside the River {word}."


def test_a_surname_alone_still_fits_its_person() -> None:
    graph = made(("p", "Mirabel Quonset", "Person", [], ""), ("b", "Notes", "Book", [], ""))
    _, renaming = renamed(graph)
    first, last = renaming.apply("Mirabel Quonset").split(" ")

    assert renaming.apply("Quonset wrote to Mirabel.") == f"{last} wrote to {first}."


def test_an_acronym_is_made_of_the_new_initials() -> None:
    graph = made(("a", "Vessim Korral Union", "Company", ["VKU"], "VKU is a union."))
    new, renaming = renamed(graph)
    name, (alias,), text = texts(new, renaming.ids["a"])

    assert alias == "".join(word[0] for word in name.split(" "))
    assert text == f"{alias} is a union."


def test_an_ordinary_word_is_replaced_in_a_name_only() -> None:
    """The name `The Mirror` goes; a mirror in a text stays a mirror."""
    graph = made(
        ("x", "Lake Ossel", "Lake", ["The Mirror"], "Flat as a mirror."),
        ("y", "The Salt Ledger", "Play", [], "Play about salt, called The Salt Ledger."),
    )
    new, renaming = renamed(graph)
    _, (alias,), text = texts(new, renaming.ids["x"])

    assert alias.startswith("The ")
    assert "Mirror" not in alias
    assert text == "Flat as a mirror."
    name, _, said = texts(new, renaming.ids["y"])
    assert said == f"Play about salt, called {name}."


def test_a_name_of_ordinary_words_alone_is_replaced() -> None:
    graph = made(("a", "The Army", "Organisation", [], ""), ("b", "Council", None, [], ""))
    new, _ = renamed(graph)

    assert not {node.name for node in new.nodes()} & {"The Army", "Council"}


def test_names_that_only_a_text_has_are_replaced_too() -> None:
    graph = made(("a", "Korral", "Town", [], "Town near Damascus and the Sulu Archipelago."))
    new, renaming = renamed(graph)

    assert not re.search("Damascus|Sulu", texts(new, renaming.ids["a"])[2])


def test_twins_stay_twins() -> None:
    """Two names one letter apart stay one letter apart, so that a set stays as hard."""
    graph = made(("a", "Tolvane", "Town", [], ""), ("b", "Tolvare", "Town", [], ""))
    new, renaming = renamed(graph)
    one, other = (texts(new, renaming.ids[i])[0] for i in "ab")

    assert len(one) == len(other)
    assert sum(a != b for a, b in zip(one, other, strict=True)) == 1


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("Москва", "[\u0400-\u04ff]+"),
        ("Αθήνα", "[\u0370-\u03ff]+"),
        ("東京都", "[\u4e00-\u9fff]+"),
        ("القاهرة", "[\u0600-\u06ff]+"),
        ("서울", "[\uac00-\ud7a3]+"),
    ],
)
def test_another_script_is_kept(name: str, script: str) -> None:
    graph = made(("n1", name, "Town", [], f"{name} 1950."))
    new, renaming = renamed(graph)
    other, _, text = texts(new, "n1")

    assert other != name
    assert re.fullmatch(script, other)
    assert name not in text
    assert renaming.revert(other) == name


def test_a_name_inside_a_run_without_spaces_is_found() -> None:
    graph = made(("n1", "東京", "Town", [], "私は東京に住む"))
    new, renaming = renamed(graph)

    assert "東京" not in texts(new, "n1")[2]
    assert renaming.revert(texts(new, "n1")[2]) == "私は東京に住む"


def test_accents_left_off_do_not_hide_a_name() -> None:
    """A text without the accents is renamed; undone, it gets the graph's own spelling."""
    graph = made(("a", "Abimael Guzmán", "Person", [], ""))
    _, renaming = renamed(graph)

    assert "Guzman" not in renaming.apply("Guzman lived here.")
    assert renaming.revert(renaming.apply("Guzman lived here.")) == "Guzmán lived here."


@pytest.mark.parametrize("text", ["KORRAL", "korral", "Korral"])
def test_capitals_are_kept(text: str) -> None:
    _, renaming = renamed(made(("a", "Korral", "Town", [], "")))
    new = renaming.apply(text)

    assert new != text
    assert (new.isupper(), new.islower()) == (text.isupper(), text.islower())
    assert renaming.revert(new) == text


# --- ids --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node_id", "kept"),
    [
        ("n12", True),
        ("Q42", True),
        ("7", True),
        ("korral", False),
        ("https://ex.org/a/Korral", False),
    ],
)
def test_an_id_changes_if_it_may_carry_a_name(node_id: str, kept: bool) -> None:
    _, renaming = renamed(made((node_id, "Korral", "Town", [], "")))

    assert (renaming.ids[node_id] == node_id) is kept
    assert "orral" not in renaming.ids[node_id]


def test_names_that_make_the_same_id_get_different_ones() -> None:
    graph = made(("korral", "Korral", "Town", [], ""), ("korral-b", "Korral!", "Town", [], ""))
    new, renaming = renamed(graph)

    assert len(set(renaming.ids.values())) == new.n_nodes == 2


# --- dates and numbers ------------------------------------------------------------------------


DATED = ["1823-06-11", "1868", "14 March 1841", "in 1790", "1823-02", "May 1868"]


def test_dates_keep_their_order_and_their_precision() -> None:
    rule = make_rule(DATED, seed=5, dates=True, numbers=False)

    def moved(text: str) -> str:
        (change,) = rule.changes(text)
        return change.new

    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", moved("1823-06-11"))
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+ \d{4}", moved("14 March 1841"))
    assert moved("1790") < moved("1823-02") < moved("1823-06-11") < moved("1868")
    assert int(moved("1868")) - int(moved("1790")) == 78


@pytest.mark.parametrize(
    ("iso", "written"),
    [("1841-03-14", "14 March 1841"), ("1841-03-14", "March 14, 1841"), ("1841-03", "March 1841")],
)
def test_one_date_stays_one_date_however_it_is_written(iso: str, written: str) -> None:
    from aletheia.graph.question_words import spoken_date

    _, renaming = renamed(made(("n1", "Korral", "Town", [], f"Founded {iso}.")))
    new = spoken_date(renaming.apply(iso)) or ""

    assert sorted(re.findall(r"\w+", renaming.apply(written))) == sorted(re.findall(r"\w+", new))


@pytest.mark.parametrize("text", ["2024-02-29", "1900-12-31", "31 January 1999", "1823-04-30"])
def test_no_date_is_made_that_does_not_exist(text: str) -> None:
    from datetime import date

    for seed in range(12):
        rule = make_rule([text], seed=seed, dates=True, numbers=True)
        new = "".join(c.new for c in rule.changes(text))
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", new):
            date.fromisoformat(new)
        assert new != text


@pytest.mark.parametrize(
    "text",
    [
        "61,340", "7.2 g", "-31 °C", "31 %", "118 million", "0.4 mm", "9", "420 passengers",
        "1,912 m", "12km", "4.1 g/cm³", "55 km/h", "1970s", "Thursday", "21 December", "07",
    ],
)  # fmt: skip
def test_a_number_keeps_its_form_and_comes_back(text: str) -> None:
    """Digits become other digits, as many as before; units, signs and separators stay."""
    _, renaming = renamed(made(("n1", "Korral", "Town", [], "")))
    new = renaming.apply(text)

    assert new != text
    if text[-1].isdigit() or not text.endswith(("day", "December")):
        assert re.sub(r"\d", "0", new) == re.sub(r"\d", "0", text)
    assert renaming.revert(new) == text


@pytest.mark.parametrize(
    "text", ["1", "0", "100 %", "14:30", "the 3rd", "It may rain. They march on."]
)
def test_what_stays_is_told(text: str) -> None:
    """0 and 1, large percentages, times and ordinals stay; the card counts those with digits."""
    _, renaming = renamed(made(("n1", "Korral", "Town", [], "")))

    assert renaming.apply(text) == text
    assert bool(list(renaming.numbers.kept(text))) is any(c.isdigit() for c in text)


# --- choosing what to replace -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["names", "dates", "numbers"])
def test_only_the_kinds_asked_for_are_replaced(kind: str) -> None:
    graph = made(("korral", "Korral", "Town", [], "Founded 1823-06-11 by 4,210 people of Korral."))
    new, renaming = renamed(graph, kinds=[kind])
    text = texts(new, renaming.ids["korral"])[2]

    assert ("Korral" not in text) is (kind == "names")
    assert ("1823" not in text) is (kind == "dates")
    assert ("4,210" not in text) is (kind == "numbers")


@pytest.mark.parametrize("kinds", [["places"], []])
def test_an_unknown_kind_is_refused(kinds: list[str]) -> None:
    with pytest.raises(UsageError, match="kind"):
        renamed(made(("a", "Korral", "Town", [], "")), kinds=kinds)


# --- the shipped graphs and their questions ---------------------------------------------------


def shipped(name: str) -> tuple[KnowledgeGraph, tuple[Question, ...]]:
    graph = graphs.load(name, search_dirs=[ROOT / "graphs"])
    return graph, load_questions(ROOT / "questions" / f"{name}.json").questions


def said(questions: tuple[Question, ...]) -> list[str]:
    found = [text for q in questions for text in (q.question, q.answer, *q.answer_aliases)]
    return found + [q.model_extra["missing"] for q in questions if q.model_extra]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_set_is_renamed_whole_and_comes_back(name: str) -> None:
    """No old name is left in graph or questions; every question is undone word for word."""
    graph, questions = shipped(name)
    new, renaming = renamed(graph, texts=said(questions))
    other = tuple(renaming.question(q) for q in questions)

    assert check(graph, new, renaming, other).leftovers == ()
    assert tuple(renaming.question(q, back=True) for q in other) == questions
    assert [renaming.revert(node.name) for node in new.nodes()] == [n.name for n in graph.nodes()]
    assert all(
        q.question != o.question for q, o in zip(questions, other, strict=True) if q.answerable
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_facts_of_a_renamed_question_are_facts_of_the_renamed_graph(name: str) -> None:
    graph, questions = shipped(name)
    new, renaming = renamed(graph, texts=said(questions))
    nodes = {node.id: node for node in new.nodes()}
    edges = {(e.source, e.predicate, e.target) for e in new.edges()}
    for question in map(renaming.question, questions):
        for fact in question.supporting_facts:
            parts = fact.split("|")
            assert tuple(parts) in edges if len(parts) == 3 else parts[0] in nodes
        if question.answerable and question.type == "attribute_filter":
            assert question.answer != ""


def test_another_seed_gives_other_names_and_the_same_seed_the_same() -> None:
    graph, _ = shipped("aldermoor")
    first, again, other = (list(rename(graph, seed)[0].facts()) for seed in (1, 1, 2))

    assert first == again
    assert first != other


def test_a_new_name_is_no_word_of_the_texts_given() -> None:
    """Even if it happens to be one of the words that would have been invented."""
    graph = made(("a", "Korral", "Town", [], ""))
    drawn = renamed(graph)[1].apply("Korral")

    assert renamed(graph, texts=[f"Where is {drawn.lower()}?"])[1].apply("Korral") != drawn


def test_the_check_finds_a_name_that_was_left() -> None:
    """A graph that was not renamed has all of them left, in ids and keys as well."""
    graph = made(("korral", "Korral", "Town", ["KRL"], "Korral is a town."))
    _, renaming = renamed(graph)
    left = check(graph, graph, renaming).leftovers

    assert {(item.name, item.where) for item in left} == {
        ("Korral", "node id"), ("Korral", "name"), ("Korral", "text"), ("KRL", "text"),
    }  # fmt: skip


# --- names that look like something else ------------------------------------------------------

Nodes = list[tuple[str, str | None, list[tuple[str, str]]]]
Edges = list[tuple[int, str, int, tuple[tuple[str, str], ...]]]


def drawn(nodes: Nodes, edges: Edges | None = None) -> KnowledgeGraph:
    builder = Builder()
    for at, (name, kind, attributes) in enumerate(nodes):
        builder.node(f"n{at}", name=name, type=kind, aliases=[], attributes=attributes)
    for source, predicate, target, pairs in edges or []:
        builder.edge(f"n{source}", predicate, f"n{target}", pairs)
    return KnowledgeGraph(builder.build(), name="odd")


ODD: dict[str, KnowledgeGraph] = {
    "years move onto a name that is a year": drawn(
        [
            ("1984", "Book", [("published", "1949-06-08")]),
            ("Korral", "Person", [(f"k{y}", str(y)) for y in (1904, 1964, 2004, 2024, 2044, 2064)]),
        ],
        [(1, "wrote", 0, (("since", "2004"),))],
    ),
    "names that are years move onto each other": drawn(
        [
            (str(y), "Year", [(DESCRIPTION, f"From {y - 20} to {y + 40}.")])
            for y in range(1900, 2000, 20)
        ]
    ),
    "a name that is a number": drawn(
        [("365", "Band", [(f"k{n}", str(n)) for n in range(100, 1000, 7)])]
    ),
    "a type word as a name": drawn(
        [("Society", "Society", [(DESCRIPTION, "A Society of Society members.")])]
    ),
    "types and relations that are named like nodes": drawn(
        [
            ("Korral", "Class", []),
            ("Vask", "Korral", []),
            ("Rope Guild", "Class", []),
            ("Nend", "Rope Guild", []),
            ("O'Dell", "O'Dell", []),
        ],
        [
            (1, "member_of_korral", 3, (("korral-no", "7"),)),
            (1, "foundedRopeGuild", 3, ()),
            (1, "http://x.org/Korral", 3, ()),
        ],
    ),
    "small words alone": drawn([("to be", None, [(DESCRIPTION, "It is said to be old.")])]),
    "a weekday and a month": drawn(
        [("Friday", "Person", [(DESCRIPTION, "Friday met May.")]), ("May", "Person", [])]
    ),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("graph", ODD.values(), ids=ODD.keys())
def test_odd_names_leave_nothing_behind_and_come_back(graph: KnowledgeGraph, seed: int) -> None:
    new, renaming = rename(graph, seed)

    assert check(graph, new, renaming).leftovers == ()
    for old, node in zip(graph.nodes(), new.nodes(), strict=True):
        assert node.name != old.name
        assert renaming.revert(node.name) == old.name
        assert len(node.name.split()) == len(old.name.split())
        assert old.name.isdecimal() == node.name.isdecimal()
    if "Friday" not in {node.name for node in graph.nodes()}:
        # A weekday beside a person of its name cannot be told from it.
        facts = [renaming.fact(fact.id) for fact in graph.facts()]
        assert facts == [fact.id for fact in new.facts()]
        assert [renaming.fact(f, back=True) for f in facts] == [fact.id for fact in graph.facts()]


def test_a_name_that_is_a_year_is_one_year_wherever_it_stands() -> None:
    graph = ODD["years move onto a name that is a year"]
    _, renaming = rename(graph, 0)
    (name, said) = (renaming.apply(text) for text in ("1984", "He wrote 1984 in 1948."))

    assert name.isdecimal()
    assert name in said
    assert int(name) - 1984 == int(said.split()[-1].rstrip(".")) - 1948


def test_keys_keep_their_form_and_others_stay() -> None:
    graph = ODD["types and relations that are named like nodes"]
    new, renaming = rename(graph, 0)
    word = renaming.plan.words["korral"]

    assert renaming.keys["member_of_korral"] == f"member_of_{word}"
    assert renaming.keys["korral-no"] == f"{word}-no"
    assert renaming.keys["http://x.org/Korral"] == f"http://x.org/{word.capitalize()}"
    assert renaming.keys["foundedRopeGuild"].startswith("founded")
    assert "Class" not in renaming.keys
    assert {node.type for node in new.nodes()} >= {"Class", word.capitalize()}


def test_what_cannot_be_avoided_is_told() -> None:
    """Every year from 1000 to 2099 is a name: whatever the distance, one lands on another."""
    graph = drawn([(str(year), None, []) for year in range(1000, 2100)])
    new, renaming = rename(graph, 0)

    assert check(graph, new, renaming).leftovers
    # Told, and yet no two things become one.
    assert new.n_nodes == graph.n_nodes == 1100
