"""Linking: which nodes a question names, and which it only seems to name."""

from __future__ import annotations

import pytest
from unit.graph.worlds import harbour, load_text

from aletheia.graph.text import fold, stem

NODES = [
    ("iran", "Iran", []), ("austria", "Austria", []), ("australia", "Australia", []),
    ("us", "United States", ["US", "U.S."]), ("who", "World Health Organization", ["WHO"]),
    ("apple", "Apple", []), ("qaida", "al-Qa'ida", ["al-Qaeda"]), ("zur", "Zürich", []),
    ("pkk", "Kurdistan Workers' Party (PKK)", []), ("ny", "New York", []),
    ("nyt", "New York Times", []), ("hez", "Hezbollah", ["Hizballah", "Party of God"]),
    ("smith", "John Smith", []), ("smith2", "Joan Smith", []), ("tokyo", "東京タワー", []),
    ("mod4", "Orlisk Model 4", []), ("mod6", "Orlisk Model 6", []), ("photo", "photosynthesis", []),
    ("moskva", "Москва", []), ("band", "The Band", []), ("p1", "Springfield", []),
    ("p2", "Springfield", []), ("hi", "हिन्दी", []), ("levi", "Children's Fund", []),
]  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    nodes = [{"id": i, "name": n, "aliases": a, "founded": "1985"} for i, n, a in NODES]
    return load_text(tmp_path_factory.mktemp("link"), "g.json", {"nodes": nodes})


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("Who leads Iran?", ["iran"]),
        ("Does Iraq border anything?", []),
        ("What is the capital of Austria?", ["austria"]),
        ("What is the capital of Australia?", ["australia"]),
        ("What did the New York Times write?", ["nyt"]),
        ("Is New York large?", ["ny"]),
        ("Hezbollah's founder?", ["hez"]),
        ("Where is Hezbollah’s seat?", ["hez"]),
        ("Who is the Party of God?", ["hez"]),
        ("Who wrote about Zurich?", ["zur"]),
        ("Who wrote about ZU\u0308RICH?", ["zur"]),
        ("What is al Qaida?", ["qaida"]),
        ("What is Al-Qaeda?", ["qaida"]),
        ("Did the U.S. sign?", ["us"]),
        ("Did the US sign?", ["us"]),
        ("Can you tell us more?", []),
        ("Who runs the WHO?", ["who"]),
        ("Who runs this?", []),
        ("What does the PKK want?", ["pkk"]),
        ("Who founded the Kurdistan Workers Party?", ["pkk"]),
        ("Which Band played?", ["band"]),
        ("What does the Children's Fund do?", ["levi"]),
        ("How does photosynthesis work?", ["photo"]),
        ("東京タワーはどこですか", ["tokyo"]),
        ("Где находится Москва?", ["moskva"]),
        ("हिन्दी क्या है?", ["hi"]),
        ("Who designed the Orlisk Model 6?", ["mod6"]),
        ("Who designed the Orlisk Model 7?", []),
        ("Where is Springfield?", ["p1", "p2"]),
        ("", []),
        ("???", []),
    ],
)
def test_exact_names_and_their_guards(graph, question, ids):
    assert [link.node_id for link in graph.link(question)] == ids


def test_offsets_are_code_points_of_the_question(graph):
    question = "😀 Hezbollah’s rivals in the U.S.?"
    links = graph.link(question)
    assert [question[link.start : link.end] for link in links] == ["Hezbollah’s", "U.S."]
    assert [link.surface for link in links] == ["Hezbollah’s", "U.S."]


def test_a_shared_name_gives_all_its_nodes_and_says_so(graph):
    assert all(link.ambiguous for link in graph.link("Where is Springfield?"))
    assert not any(link.ambiguous for link in graph.link("Where is Iran?"))


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("where is hezbollah based", ["hez"]),
        ("is iran near", ["iran"]),
        # The capital points at Iran, so the fruit is no company.
        ("Does Iran grow apple trees?", ["iran"]),
        ("who is us", []),
    ],
)
def test_a_name_typed_in_lower_case_counts_if_nothing_better_does(graph, question, ids):
    assert [link.node_id for link in graph.link(question)] == ids


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("Who founded Hezbolah?", ["hez"]),
        ("Who founded Hezbollha?", ["hez"]),
        ("what is photosinthesis", ["photo"]),
        # One letter off, and another thing: short words, digits and first letters decide.
        ("Who is Joen Smith?", []),
        ("Where is Australian?", ["australia"]),
        ("Who likes Gezbollah?", []),
    ],
)
def test_a_typing_error_is_forgiven_in_long_words_only(graph, question, ids):
    links = graph.link(question)
    assert [link.node_id for link in links if link.how == "typo"] == ids


def test_part_of_a_name_links_to_all_it_may_be(graph):
    links = graph.link("When did Smith die?")
    assert {(link.node_id, link.how, link.ambiguous) for link in links} == {
        ("smith", "part", True),
        ("smith2", "part", True),
    }
    assert graph.link("When did Mary Smith die?") == ()


def test_an_attribute_value_links_where_no_node_has_that_name(graph):
    assert [v.value for v in graph.links("What was founded in 1985?").values] == ["1985"]


def test_an_acronym_that_is_a_word_needs_its_capitals(tmp_path):
    graph = harbour(tmp_path)
    assert graph.link("Is it old?") == ()
    assert [link.node_id for link in graph.link("How old is IT in Vísby?")] == ["it", "vis"]


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Al-Qa'ida", "al qaida"), ("Hezbollah’s", "hezbollah"), ("U.S. Navy", "us navy"),
        ("ZÜRICH", "zurich"), ("Straße", "strasse"), ("東京", "東 京"), ("1,000", "1 000"),
        ("—", ""), ("İstanbul", "istanbul"), ("snake_case", "snake case"),
    ],
)  # fmt: skip
def test_folding(text, folded):
    assert fold(text) == folded


def test_words_of_one_family_share_a_stem():
    for family in (
        "founded founder founding founds",
        "located location locating",
        "leads leader leading",
    ):
        assert len({stem(word) for word in family.split()}) == 1
    assert stem("1985") == "1985"
