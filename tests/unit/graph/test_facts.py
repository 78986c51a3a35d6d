"""Facts as sentences, and the ids that name them."""

from __future__ import annotations

import pytest
from unit.graph.worlds import HARBOUR, harbour, load_text

from aletheia.graph import wording


@pytest.mark.parametrize(
    ("predicate", "sentence"),
    [
        ("founded_in", "A was founded in B."),
        ("based_in", "A is based in B."),
        ("basedIn", "A is based in B."),
        ("is_based_in", "A is based in B."),
        ("BASED_IN", "A is based in B."),
        ("http://example.org/vocab#basedIn", "A is based in B."),
        ("designated_by", "A was designated by B."),
        ("led_by", "A was led by B."),
        ("member_of", "A is a member of B."),
        ("ally_of", "A is an ally of B."),
        ("part_of", "A is part of B."),
        ("capital of", "A is capital of B."),
        ("participated_in", "A participated in B."),
        ("operates_in", "A operates in B."),
        ("leads", "A leads B."),
        ("founded", "A founded B."),
        ("wrote", "A wrote B."),
        ("near", "A is near B."),
        ("has_member", "A has member B."),
        ("leader", "The leader of A is B."),
        ("headquarters", "The headquarters of A is B."),
    ],
)
def test_a_predicate_of_any_spelling_reads_as_english(predicate, sentence):
    assert wording.relation("A", predicate, ["B"]) == sentence


@pytest.mark.parametrize(
    ("key", "values", "sentence"),
    [
        ("founded", ["1985"], "A was founded in 1985."),
        ("founded", ["1985-02-16"], "A was founded on 1985-02-16."),
        ("founded_date", ["1985-02-16"], "A was founded on 1985-02-16."),
        ("first_held", ["1947"], "A was first held in 1947."),
        ("died", ["1849"], "A died in 1849."),
        ("held", ["last Sunday of April"], "A is held last Sunday of April."),
        ("population", ["214,600"], "The population of A is 214,600."),
        ("stations", ["13"], "The stations of A are 13."),
        ("languages", ["Arabic", "French"], "The languages of A are Arabic and French."),
        ("protected_since", ["1974"], "A is protected since 1974."),
        ("motto", ["We stand!"], "The motto of A is We stand!"),
    ],
)
def test_an_attribute_reads_as_english(key, values, sentence):
    assert wording.attribute("A", key, values) == sentence


@pytest.mark.parametrize(
    ("predicate", "sentence"),
    [
        ("is_based_in", "Based in T: A and B."),
        ("supports", "Supports T: A and B."),
        ("leader", "T is the leader of A and B."),
    ],
)
def test_a_list_of_subjects_reads_from_the_object(predicate, sentence):
    assert wording.inverse("T", predicate, ["A", "B"]) == sentence


def test_names_with_commas_are_parted_by_semicolons():
    assert wording.join(["A, Inc", "B and C", "D"]) == "A, Inc; B and C; D"
    assert wording.join(["A", "B", "C"]) == "A, B and C"


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ((("since", "1997-10-08"),), "X (since 1997-10-08)"),
        ((("date", "1997-10-08"),), "X (on 1997-10-08)"),
        ((("date", "1997"),), "X (in 1997)"),
        ((("start_date", "1961"), ("endDate", "2003")), "X (from 1961, until 2003)"),
        ((("share", "60 %"),), "X (share: 60 %)"),
        ((("source_note", "Archive"), ("sourceUrl", "http://x")), "X"),
    ],
)
def test_edge_attributes_qualify_the_object_and_provenance_stays_out(attributes, text):
    assert wording.qualify("X", attributes) == text


def test_an_edge_that_ended_is_in_the_past(tmp_path):
    graph = harbour(tmp_path)
    texts = {fact.id: graph.fact_text(fact) for fact in graph.facts()}
    assert texts["jon|is_mayor_of|vis"] == "Jon Abel is mayor of Vísby (until 1990)."
    assert wording.relation("A", "member_of", ["B"], ended=True) == "A was a member of B."


def test_every_statement_of_the_file_is_a_fact_with_a_readable_id(tmp_path):
    graph = harbour(tmp_path)
    facts = list(graph.facts())
    assert len({fact.id for fact in facts}) == len(facts) == 8 + 3 + 6 + 8
    assert {"orl|type|Guild", "orl|aliases|OG", "orl|founded|1402", "orl|is_based_in|vis"} <= {
        fact.id for fact in facts
    }
    edge = next(fact for fact in facts if fact.id == "jon|is_mayor_of|vis")
    assert dict(edge.attributes) == {"until": "1990", "source_note": "Town archive"}


def test_ids_do_not_depend_on_file_order(tmp_path):
    turned = HARBOUR | {"links": HARBOUR["links"][::-1], "nodes": HARBOUR["nodes"][::-1]}
    ids = {fact.id for fact in load_text(tmp_path, "turned.json", turned).facts()}
    assert ids == {fact.id for fact in harbour(tmp_path).facts()}


def test_parallel_edges_own_ids_and_long_values_stay_apart(tmp_path):
    data = {
        "nodes": [{"id": "a|1", "note": "x" * 200}, {"id": "b"}],
        "links": [
            {"source": "a|1", "target": "b", "relation": "r", "since": "1"},
            {"source": "a|1", "target": "b", "relation": "r", "since": "2"},
            {"source": "a|1", "target": "b", "relation": "r", "id": "own"},
        ],
    }
    ids = [fact.id for fact in load_text(tmp_path, "g.json", data).facts()]
    assert ids[1:] == ["a%7C1|r|b", "a%7C1|r|b#2", "own"]
    assert ids[0].startswith("a%7C1|note|sha256:")
