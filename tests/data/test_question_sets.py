"""The shipped graphs and question sets hold what their cards say, and each gold answer is there."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest

from aletheia.schema.answer import ABSTENTION
from aletheia.schema.question import Question, QuestionType

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("aldermoor", "terrorist_orgs")
TYPES = get_args(QuestionType)
MINIMUM_PER_TYPE = {"aldermoor": 8, "terrorist_orgs": 5}
MINIMUM_QUESTIONS = {"aldermoor": 72, "terrorist_orgs": 48}
MINIMUM_ANSWERABLE = {"aldermoor": 60, "terrorist_orgs": 40}
MINIMUM_UNANSWERABLE_SHARE = {"aldermoor": 0.18, "terrorist_orgs": 0.15}
MINIMUM_FACTS = {"aldermoor": 330, "terrorist_orgs": 250}

NODE_FRAME = {"id", "name", "type", "aliases", "description", "source_note"}
LINK_FRAME = {"source", "target", "relation", "source_note"}
DATE_KEYS = ("date", "from", "until", "since")
ORIGINS = (
    "founded",
    "launched",
    "opened",
    "established",
    "introduced",
    "completed",
    "was_first_lit_in",
)

Node = dict[str, Any]
Link = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    nodes: dict[str, Node]
    links: tuple[Link, ...]

    def found(self, source: str, relation: str, target: str) -> list[Link]:
        return [
            link
            for link in self.links
            if (link["source"], link["relation"], link["target"]) == (source, relation, target)
        ]

    def keys_of(self, node: str) -> set[str]:
        """Attributes of a node, and relations of the links from or to it."""
        touching = (link for link in self.links if node in (link["source"], link["target"]))
        return set(self.nodes[node]) | {link["relation"] for link in touching}

    def names_of(self, node: str) -> list[str]:
        return [self.nodes[node]["name"], *self.nodes[node].get("aliases", [])]


@cache
def graph(name: str) -> Graph:
    raw = json.loads((ROOT / "graphs" / f"{name}.json").read_text(encoding="utf-8"))
    assert raw["directed"] is True
    assert raw["multigraph"] is True
    assert raw["graph"]["name"] == name
    return Graph(nodes={node["id"]: node for node in raw["nodes"]}, links=tuple(raw["links"]))


@cache
def raw_questions(name: str) -> tuple[dict[str, Any], ...]:
    raw = json.loads((ROOT / "questions" / f"{name}.json").read_text(encoding="utf-8"))
    return tuple(raw["questions"])


@cache
def questions(name: str) -> tuple[Question, ...]:
    return tuple(Question.model_validate(q) for q in raw_questions(name))


def missing_of(question: Question) -> str:
    return str((question.model_extra or {})["missing"])


PAIRS = [(name, q) for name in NAMES for q in questions(name)]
ALL = [pytest.param(name, q, id=q.id) for name, q in PAIRS]
ANSWERABLE = [pytest.param(name, q, id=q.id) for name, q in PAIRS if q.answerable]
UNANSWERABLE = [pytest.param(name, q, id=q.id) for name, q in PAIRS if not q.answerable]


def fold(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def occurs(needle: str, text: str) -> bool:
    """Does `needle` stand in `text` as whole words, whatever its case and punctuation?"""
    return f" {fold(needle)} " in f" {fold(text)} "


def text_of(g: Graph, fact: str) -> str:
    """Everything that a supporting fact says, as one text."""
    match fact.split("|"):
        case [node, key]:
            value = g.nodes[node][key]
            values = value if isinstance(value, list) else [value]
            return " ; ".join([g.nodes[node]["name"], *values])
        case [source, relation, target]:
            (link,) = g.found(source, relation, target)
            said = [value for key, value in link.items() if key not in LINK_FRAME]
            return " ; ".join([*g.names_of(source), *g.names_of(target), *said])
        case _:
            raise AssertionError(fact)


def year(value: str) -> int:
    return int(value[:4])


# --- the graphs -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_is_well_formed(name: str) -> None:
    """Ids are unique, links end at nodes, and every value is text that is not blank."""
    raw = json.loads((ROOT / "graphs" / f"{name}.json").read_text(encoding="utf-8"))
    ids = [node["id"] for node in raw["nodes"]]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", node_id) for node_id in ids)
    for link in raw["links"]:
        assert {link["source"], link["target"]} <= set(ids), link
        assert link["source"] != link["target"], link
    for record in [*raw["nodes"], *raw["links"]]:
        values = [
            v for value in record.values() for v in (value if type(value) is list else [value])
        ]
        assert all(type(v) is str and v == v.strip() != "" for v in values), record


@pytest.mark.parametrize("name", NAMES)
def test_no_link_and_no_name_stands_twice(name: str) -> None:
    """A name or alias leads to one node; a link with the same ends and relation stands once."""
    g = graph(name)
    triples = Counter((k["source"], k["relation"], k["target"]) for k in g.links)
    assert [t for t, n in triples.items() if n > 1] == []
    names = Counter(n.casefold() for node in g.nodes for n in g.names_of(node))
    assert [n for n, count in names.items() if count > 1] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_node_stands_alone(name: str) -> None:
    g = graph(name)
    linked = {end for link in g.links for end in (link["source"], link["target"])}
    assert set(g.nodes) - linked == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_date_on_a_link_parses(name: str) -> None:
    """A date is a year, a month or a day, and a span does not end before it starts."""
    for link in graph(name).links:
        for key in DATE_KEYS:
            if key in link:
                padded = link[key] + "-01-01"[3 * link[key].count("-") :]
                assert date.fromisoformat(padded), link
        if "from" in link and "until" in link:
            assert link["from"] <= link["until"], link


def test_terrorist_orgs_names_a_source_for_every_node_and_link() -> None:
    g = graph("terrorist_orgs")
    assert [r for r in [*g.nodes.values(), *g.links] if "source_note" not in r] == []


def test_terrorist_orgs_removals_follow_designations() -> None:
    """Only authorities designate, and who removes an organisation had designated it before."""
    g = graph("terrorist_orgs")
    for link in g.links:
        if link["relation"] in ("was_designated_by", "was_delisted_by"):
            assert g.nodes[link["target"]]["type"] == "Authority"
        if link["relation"] == "was_delisted_by":
            (earlier,) = g.found(link["source"], "was_designated_by", link["target"])
            assert earlier.get("date", "") < link["date"], link


def test_terrorist_orgs_holds_no_date_after_its_state() -> None:
    """The card says July 2025; no fact is younger, and none older than the first list of all."""
    dates = [link["date"] for link in graph("terrorist_orgs").links if "date" in link]
    assert max(dates) < "2025-08"
    listed = [
        link["date"]
        for link in graph("terrorist_orgs").links
        if link["relation"] == "was_designated_by" and link["target"] == "us-department-of-state"
    ]
    assert min(listed) == "1997-10-08"


def test_nobody_in_aldermoor_acts_before_birth_or_after_death() -> None:
    g = graph("aldermoor")
    for person in (n for n in g.nodes.values() if n["type"] == "Person"):
        born, died = year(person["born"]), year(person.get("date_of_death", "9999"))
        assert born + 15 < died, person
        for link in g.links:
            if person["id"] in (link["source"], link["target"]):
                acted = [year(link[key]) for key in DATE_KEYS if key in link]
                assert all(born + 15 < y <= died for y in acted), link


def test_nothing_in_aldermoor_is_used_before_it_is_made() -> None:
    g = graph("aldermoor")
    for link in g.links:
        for end in (link["source"], link["target"]):
            begun = [year(g.nodes[end][key]) for key in ORIGINS if key in g.nodes[end]]
            dated = [year(link[key]) for key in DATE_KEYS if key in link]
            assert all(b <= d for b in begun for d in dated), link


def test_children_in_aldermoor_are_younger_than_their_parents() -> None:
    g = graph("aldermoor")
    pairs = [k for k in g.links if k["relation"] in ("is_a_son_of", "is_a_daughter_of")]
    assert len(pairs) >= 3
    for link in pairs:
        child, parent = g.nodes[link["source"]], g.nodes[link["target"]]
        assert year(parent["born"]) + 15 < year(child["born"]), link


def test_the_districts_of_aldermoor_add_up() -> None:
    def square_km(node: Node) -> int:
        return int(node["area"].removesuffix(" square km").replace(",", ""))

    nodes = graph("aldermoor").nodes
    districts = [n for n in nodes.values() if n["type"] == "District"]
    assert sum(map(square_km, districts)) == square_km(nodes["aldermoor"])


def test_towns_of_aldermoor_lie_lower_downstream() -> None:
    """From the upper Quenna over the lake and the Murrask to the mouth of the Ithrel."""
    course = (
        "upper-quennock",
        "lower-quennock",
        "pellathorn",
        "osmerry",
        "brindesk",
        "sorrabridge",
        "velmarrow",
        "tolvane",
    )
    nodes = graph("aldermoor").nodes
    heights = [int(nodes[town]["elevation"].removesuffix(" m")) for town in course]
    assert heights == sorted(heights, reverse=True)


# --- the questions --------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_ids_and_questions_are_unique(name: str) -> None:
    assert len({q.id for q in questions(name)}) == len(questions(name))
    assert len({fold(q.question) for q in questions(name)}) == len(questions(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_set_is_large_enough_and_covers_all_types(name: str) -> None:
    asked = questions(name)
    answerable = [q for q in asked if q.answerable]
    assert len(asked) >= MINIMUM_QUESTIONS[name]
    assert len(answerable) >= MINIMUM_ANSWERABLE[name]
    per_type = Counter(q.type for q in asked)
    assert set(per_type) == set(TYPES)
    assert min(per_type.values()) >= MINIMUM_PER_TYPE[name]
    assert {q.type for q in asked if not q.answerable} == set(TYPES)


@pytest.mark.parametrize("name", NAMES)
def test_enough_questions_are_unanswerable_and_most_of_those_are_near_misses(name: str) -> None:
    unanswerable = [q for q in questions(name) if not q.answerable]
    assert len(unanswerable) / len(questions(name)) >= MINIMUM_UNANSWERABLE_SHARE[name]
    assert near_misses(name) * 2 >= len(unanswerable)


@pytest.mark.parametrize("name", NAMES)
def test_a_set_keeps_to_the_schema(name: str) -> None:
    """Required keys are there, no key is unknown, and facts have the form the schema gives."""
    schema = json.loads((ROOT / "questions" / "schema.json").read_text(encoding="utf-8"))
    shape = schema["$defs"]["question"]
    fact = re.compile(shape["properties"]["supporting_facts"]["items"]["pattern"])
    for q in raw_questions(name):
        assert set(shape["required"]) <= set(q) <= set(shape["properties"]), q
        assert all(fact.search(f) for f in q["supporting_facts"]), q
        assert ("missing" in q) is (not q["answerable"]), q


@pytest.mark.parametrize(("name", "question"), ALL)
def test_yes_answers_existence_and_nothing_else(name: str, question: Question) -> None:
    is_yes = question.answer == "Yes"
    assert is_yes == (question.type == "entity_existence" and question.answerable)


@pytest.mark.parametrize(("name", "question"), ANSWERABLE)
def test_supporting_facts_exist(name: str, question: Question) -> None:
    g = graph(name)
    assert question.supporting_facts
    assert (len(question.supporting_facts) > 1) >= (question.type == "multi_hop")
    for fact in question.supporting_facts:
        assert text_of(g, fact)


@pytest.mark.parametrize(("name", "question"), ANSWERABLE)
def test_the_gold_answer_stands_in_the_supporting_facts(name: str, question: Question) -> None:
    """Whole, or each part of a list; for existence the name that is asked for."""
    text = " ; ".join(text_of(graph(name), fact) for fact in question.supporting_facts)
    if question.type == "entity_existence":
        assert question.answer_aliases
        assert occurs(question.answer_aliases[0], text)
        return
    parts = re.split(r", | and ", question.answer)
    assert occurs(question.answer, text) or all(occurs(part, text) for part in parts)
    if not occurs(question.answer, text):
        assert parts == sorted(parts)


@pytest.mark.parametrize(("name", "question"), ANSWERABLE)
def test_a_multi_hop_chain_hangs_together(name: str, question: Question) -> None:
    """Each fact of a chain shares a node with the one before it."""
    ends = []
    for fact in question.supporting_facts:
        parts = fact.split("|")
        ends.append({parts[0], parts[2]} if len(parts) == 3 else {parts[0]})
    assert all(a & b for a, b in pairwise(ends))


@pytest.mark.parametrize(("name", "question"), ANSWERABLE)
def test_a_question_does_not_give_its_answer_away(name: str, question: Question) -> None:
    if question.type != "entity_existence":
        for text in (question.answer, *question.answer_aliases):
            assert not occurs(text, question.question)


@pytest.mark.parametrize(("name", "question"), ANSWERABLE)
def test_a_question_names_what_it_starts_from(name: str, question: Question) -> None:
    """A name of the first fact stands in it, or the value if the node is what is asked for."""
    g = graph(name)
    source, key, *rest = question.supporting_facts[0].split("|")
    starts = [n for end in (source, *rest) for n in g.names_of(end)]
    if not rest and question.answer == g.nodes[source]["name"]:
        value = g.nodes[source][key]
        starts = value if isinstance(value, list) else [value]
    assert any(occurs(start, question.question) for start in starts)


@pytest.mark.parametrize(("name", "question"), ANSWERABLE)
def test_one_hop_has_one_answer(name: str, question: Question) -> None:
    """No other node has the value asked for, and no other link the same open end."""
    g = graph(name)
    for fact in question.supporting_facts:
        parts = fact.split("|")
        if len(parts) == 2 and question.answer == g.nodes[parts[0]]["name"]:
            node, key = parts
            same = [n for n in g.nodes.values() if n.get(key) == g.nodes[node][key]]
            assert len(same) == 1
        elif len(parts) == 3:
            assert_one_way(g, question, *parts)


def assert_one_way(g: Graph, question: Question, source: str, relation: str, target: str) -> None:
    """The end of a link that answers is the only one, unless the question names the others."""
    links = [link for link in g.links if link["relation"] == relation]
    targets = {k["target"] for k in links if k["source"] == source}
    sources = {k["source"] for k in links if k["target"] == target}
    supported = {part for fact in question.supporting_facts for part in fact.split("|")}
    if occurs(g.nodes[target]["name"], question.answer):
        assert targets <= supported
    if occurs(g.nodes[source]["name"], question.answer):
        assert sources <= supported


# --- what has no answer ---------------------------------------------------------------------


@pytest.mark.parametrize(("name", "question"), UNANSWERABLE)
def test_an_unanswerable_question_is_marked_as_such(name: str, question: Question) -> None:
    assert question.answer == ABSTENTION
    assert question.answer_aliases == ()
    assert question.supporting_facts == ()


@pytest.mark.parametrize(("name", "question"), UNANSWERABLE)
def test_what_is_said_to_be_missing_is_missing(name: str, question: Question) -> None:
    g = graph(name)
    match missing_of(question).split("|"):
        case [entity]:
            known = {fold(n) for node in g.nodes for n in g.names_of(node)}
            assert fold(entity) not in known
            assert occurs(entity, question.question)
        case [node, key]:
            assert key not in g.keys_of(node)
        case [source, relation, target, key]:
            (link,) = g.found(source, relation, target)
            assert key not in link
            assert key != "*" or set(link) <= LINK_FRAME
        case other:
            raise AssertionError(other)


def near_misses(name: str) -> int:
    """How many unanswerable questions ask an entity for what others have and it has not."""
    g = graph(name)
    known = {key for record in [*g.nodes.values(), *g.links] for key in record}
    known |= {link["relation"] for link in g.links}
    named = [missing_of(q).split("|") for q in questions(name) if not q.answerable]
    return sum(len(parts) > 1 and parts[-1] in known for parts in named)


# --- the cards ------------------------------------------------------------------------------


def card(folder: str, name: str) -> dict[str, int]:
    text = (ROOT / folder / f"{name}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w ]+) \| (\d+) \|$", text, flags=re.MULTILINE)
    return {what: int(number) for what, number in rows}


def graph_numbers(name: str) -> dict[str, int]:
    g = graph(name)
    attributes = sum(len(set(node) - NODE_FRAME) for node in g.nodes.values())
    return {
        "Nodes": len(g.nodes),
        "Links": len(g.links),
        "Attributes": attributes,
        "Facts": len(g.links) + attributes,
        "Aliases": sum(len(node.get("aliases", [])) for node in g.nodes.values()),
        "Descriptions": sum("description" in node for node in g.nodes.values()),
    }


def listing_numbers() -> dict[str, int]:
    g = graph("terrorist_orgs")
    listed = [link for link in g.links if link["relation"] == "was_designated_by"]
    return {
        "Organisations": sum(node["type"] == "Organisation" for node in g.nodes.values()),
        "Designations": len(listed),
        "Dated designations": sum("date" in link for link in listed),
        "Removals": sum(link["relation"] == "was_delisted_by" for link in g.links),
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_card_gives_the_numbers_of_the_file(name: str) -> None:
    more = listing_numbers() if name == "terrorist_orgs" else {}
    assert card("graphs", name) == graph_numbers(name) | more
    assert graph_numbers(name)["Facts"] >= MINIMUM_FACTS[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_question_card_gives_the_numbers_of_the_file(name: str) -> None:
    asked = questions(name)
    answerable = sum(q.answerable for q in asked)
    assert card("questions", name) == {
        "Questions": len(asked),
        "Answerable": answerable,
        "Unanswerable": len(asked) - answerable,
        "Near misses": near_misses(name),
        **Counter(q.type for q in asked),
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("folder", ["graphs", "questions"])
def test_a_card_names_source_licence_limits_and_date(folder: str, name: str) -> None:
    text = (ROOT / folder / f"{name}.md").read_text(encoding="utf-8")
    heads = ("**Source", "**Licence**", "**Limits**", "**Date**")
    assert [head for head in heads if head not in text] == []
