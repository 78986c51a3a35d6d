"""Retrieval: the right facts, in few units, the same every time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.graph.worlds import harbour, load_text

from aletheia.errors import UsageError
from aletheia.graph import load, summary
from aletheia.graph.text import fold
from aletheia.llm.embedded import MiniLM

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def embedder():
    return MiniLM()


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    return harbour(tmp_path_factory.mktemp("search"))


def texts(found):
    return [unit.text for unit in found.units]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("When was the Orlen Guild's founding?", "Orlen Guild was founded in 1402."),
        ("Where is the Orlen Guild based?", "Orlen Guild is based in Vísby (since 1410)."),
        ("Who founded the Rope Makers?", "Orlen Guild was founded by Mira Holt."),
        ("Which guilds are based in Visby?",
         "Based in Vísby: Orlen Guild (since 1410), Kessel Guild and Island Trust."),
        ("What was founded in 1187?", "Vísby was founded in 1187."),
        ("Did the Kessel Guild split from the Orlen Guild?",
         "Kessel Guild split from Orlen Guild (in 1511)."),
    ],
)  # fmt: skip
def test_the_fact_asked_for_comes_first(graph, embedder, question, first):
    assert texts(graph.retrieve(question, embedder=embedder))[0] == first


def test_a_word_of_the_question_does_not_find_a_name_by_its_stem(tmp_path):
    data = {
        "nodes": [
            {"id": "h", "name": "Harbour"},
            {"id": "c", "name": "Council"},
            {"id": "b", "name": "The Base"},
        ],
        "links": [
            {"source": "c", "target": "h", "relation": "operates_in"},
            {"source": "c", "target": "b", "relation": "banned"},
        ],
    }
    found = load_text(tmp_path, "g.json", data).retrieve("What is based in Harbour?")
    assert texts(found)[0] == "Council operates in Harbour."


@pytest.mark.parametrize(
    ("question", "answer", "needs"),
    [
        ("Who is mayor of the town where the founder of the Orlen Guild was born?",
         "Ivo Brandt is mayor of Tarn.",
         ["Orlen Guild was founded by Mira Holt.", "Mira Holt was born in Tarn."]),
        ("Where was the founder of the Orlen Guild born?", "Mira Holt was born in Tarn.",
         ["Orlen Guild was founded by Mira Holt."]),
    ],
)  # fmt: skip
def test_a_chain_of_facts_comes_whole(graph, embedder, question, answer, needs):
    for using in (None, embedder):
        found = texts(graph.retrieve(question, max_units=6, embedder=using))
        assert {answer, *needs} <= set(found)


def test_hops_limit_how_far_the_walk_goes(graph):
    question = "What do you know about the Orlen Guild?"
    near = graph.retrieve(question, hops=1)
    assert set(near.how) == {"hop 1"}
    assert not any("Ivo Brandt" in text for text in texts(near))
    assert {"hop 1", "hop 2", "hop 3"} == set(graph.retrieve(question, hops=3, max_units=50).how)


def test_what_joins_two_named_nodes_is_marked_and_first(graph):
    found = graph.retrieve("What do Jon Abel and the Orlen Guild have in common?")
    assert found.how[:2] == ("path", "path")
    assert all("Vísby" in text for text in texts(found)[:2])


def test_units_carry_source_aliases_and_fact_ids(graph):
    unit = graph.retrieve("Where is the Orlen Guild based?").units[0]
    assert unit.source == "Orlen Guild"
    assert unit.aliases == ("OG", "Rope Makers")
    assert unit.facts == ("orl|is_based_in|vis",)


def test_scores_fall_units_fit_the_cap_and_add_facts(graph):
    for cap in (1, 3, 12):
        found = graph.retrieve("Which guilds are based in Vísby?", max_units=cap)
        assert len(found.units) == len(found.scores) == len(found.how) <= cap
        assert list(found.scores) == sorted(found.scores, reverse=True)
        assert len(set(texts(found))) == len(found.units)


def test_nothing_linked_searches_the_whole_graph(graph):
    found = graph.retrieve("Who was born long ago?")
    assert (found.linked, set(found.how)) == ((), {"similarity"})
    assert {"Mira Holt was born in 1380.", "Mira Holt was born in Tarn."} == set(texts(found)[:2])


def test_similarity_only_links_nothing(graph, embedder):
    found = graph.similarity_only("Where is the Orlen Guild based?", embedder=embedder)
    assert (found.linked, set(found.how)) == ((), {"similarity"})
    assert "Orlen Guild is based in Vísby (since 1410)." in texts(found)


def test_embeddings_find_what_words_do_not(tmp_path, embedder):
    data = {
        "nodes": [
            {"id": "a", "name": "Arvo", "headquarters": "Tarn", "motto": "Onward", "wealth": "9"}
        ],
    }
    graph = load_text(tmp_path, "g.json", data)
    found = graph.retrieve("Where does Arvo have its main office?", embedder=embedder)
    assert texts(found)[0] == "The headquarters of Arvo is Tarn."


def test_the_result_does_not_depend_on_what_was_asked_before(tmp_path, embedder):
    fresh, used = harbour(tmp_path), harbour(tmp_path)
    for question in ("Who is Ivo Brandt?", "What is in Tarn?"):
        used.retrieve(question, embedder=embedder)
    question = "Who founded the Orlen Guild?"
    assert fresh.retrieve(question, embedder=embedder) == used.retrieve(question, embedder=embedder)


def test_a_hub_is_bounded_and_says_so(tmp_path):
    links = [{"source": f"n{i}", "target": "hub", "relation": f"p{i % 3}"} for i in range(4_000)]
    links.append({"source": "n7", "target": "hub", "relation": "was_founded_by", "since": "1900"})
    nodes = [
        {"id": "hub", "name": "Hub"},
        *({"id": f"n{i}", "name": f"Spoke {i}"} for i in range(4_000)),
    ]
    graph = load_text(tmp_path, "hub.json", {"nodes": nodes, "links": links})
    found = graph.retrieve("What was founded by Hub?")
    assert texts(found)[0] == "Spoke 7 was founded by Hub (since 1900)."
    assert any("facts of `Hub`" in note for note in found.bounded)
    # On the way, a crowd that the question does not ask for is not entered.
    assert len(graph.retrieve("What is Spoke 9 about?", max_units=50).units) <= 3


def test_community_units_are_marked_and_fit_the_cap(graph):
    found = graph.retrieve("Who is Mira Holt?", community=True, max_units=8)
    assert found.how[-1] == "community"
    assert len(found.units) <= 8
    unit = found.units[-1]
    assert unit.source.startswith("community ")
    assert "Mira Holt" in unit.text
    assert set(unit.facts) <= {fact.id for fact in graph.facts()}
    assert "community" not in graph.retrieve("Who is Mira Holt?").how


def test_communities_are_the_same_in_every_run(tmp_path):
    assert harbour(tmp_path).communities().members == harbour(tmp_path).communities().members


@pytest.mark.parametrize("bad", [{"hops": 0}, {"max_units": 0}, {"max_units": -1}])
def test_limits_below_one_are_refused(graph, bad):
    with pytest.raises(UsageError, match="at least 1"):
        graph.retrieve("Who?", **bad)


def test_summary_counts_everything(graph):
    result = summary(graph)
    assert (result.nodes, result.edges, result.aliases, result.attributes) == (8, 8, 3, 6)
    assert result.facts == len(list(graph.facts()))
    assert dict(result.node_types) == {"Guild": 2, "Town": 2, "Person": 3, "Trust": 1}
    assert dict(result.predicates)["is_based_in"] == 3
    assert (result.hubs[0].node_id, result.hubs[0].degree) == ("orl", 3) or result.hubs[
        0
    ].degree == 4
    assert result.communities >= 1
    assert summary(graph, communities=False).communities is None


SETS = sorted(path.stem for path in (ROOT / "questions").glob("*.json") if path.stem != "schema")


@pytest.mark.parametrize("name", SETS)
def test_the_shipped_questions_find_their_answers(name):
    """By words alone, 95 % of the answerable questions have the gold answer among 12 units."""
    graph = load(name, search_dirs=[ROOT / "graphs"])
    asked = json.loads((ROOT / "questions" / f"{name}.json").read_text(encoding="utf-8"))
    missed, total = [], 0
    for question in asked["questions"]:
        if not question.get("answerable", True) or question["type"] == "entity_existence":
            continue
        total += 1
        found = graph.retrieve(question["question"])
        shown = " ".join(fold(" ".join([u.text, u.source, *u.aliases])) for u in found.units)
        golds = [question["answer"], *question.get("answer_aliases", [])]
        items = [fold(item) for item in question["answer"].replace(" and ", ", ").split(", ")]
        if not any(fold(gold) in shown for gold in golds) and not all(i in shown for i in items):
            missed.append(question["question"])
    assert len(missed) <= 0.05 * total, missed
