"""Questions made from a graph: each has the one answer it names, reads as English, tells nothing."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest

from aletheia import graph as graphs
from aletheia.errors import UsageError
from aletheia.graph import question_words as english
from aletheia.graph.build import Builder
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.make_questions import MadeQuestions, make_questions
from aletheia.schema.answer import ABSTENTION
from aletheia.schema.question import Question, QuestionType

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ("aldermoor", "terrorist_orgs")
Check = Callable[[str, Question], None]
FRAME = {"source", "target", "relation", "source_note"}


@cache
def raw(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "graphs" / f"{name}.json").read_text(encoding="utf-8"))


@cache
def loaded(name: str) -> KnowledgeGraph:
    return graphs.load(name, search_dirs=[ROOT / "graphs"])


@cache
def made(name: str, seed: int) -> MadeQuestions:
    return make_questions(loaded(name), n=210, unanswerable=0.3, seed=seed)


SETS = [(name, seed) for name in SHIPPED for seed in (0, 1, 2)]


def nodes(name: str) -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in raw(name)["nodes"]}


def found(name: str, source: str, relation: str, target: str) -> list[dict[str, str]]:
    triple = (source, relation, target)
    return [k for k in raw(name)["links"] if (k["source"], k["relation"], k["target"]) == triple]


def called(node: dict[str, Any]) -> list[str]:
    return [node["name"], *node.get("aliases", [])]


def fold(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def occurs(needle: str, text: str) -> bool:
    return f" {fold(needle)} " in f" {fold(text)} "


def text_of(name: str, fact: str) -> str:
    """Everything that a supporting fact says; fails if there is no such fact."""
    known = nodes(name)
    match fact.split("|"):
        case [node, key]:
            value = known[node][key]
            return " ; ".join(
                [known[node]["name"], *(value if isinstance(value, list) else [value])]
            )
        case [source, relation, target]:
            (link,) = found(name, source, relation, target)
            said = [value for key, value in link.items() if key not in FRAME]
            return " ; ".join([*called(known[source]), *called(known[target]), *said])
        case _:
            raise AssertionError(fact)


# --- what holds for every question ------------------------------------------------------------


def answer_stands_in_facts_that_exist(name: str, question: Question) -> None:
    text = " ; ".join(text_of(name, fact) for fact in question.supporting_facts)
    parts = [question.answer]
    if question.type == "entity_existence":
        parts = [question.answer_aliases[0]]
    elif not occurs(question.answer, text):
        parts = re.split(r", | and ", question.answer)
        assert parts == sorted(parts)

    assert (len(question.supporting_facts) > 1) >= (question.type == "multi_hop")
    assert all(occurs(part, text) for part in parts)


def question_does_not_hold_its_answer(name: str, question: Question) -> None:
    if question.type != "entity_existence":
        for text in (question.answer, *question.answer_aliases):
            assert not occurs(text, question.question)


def question_has_one_answer(name: str, question: Question) -> None:
    """No other link has the end asked for, and no other node the value, unless it is named too."""
    known, asked = nodes(name), question.question
    for fact in question.supporting_facts:
        parts = fact.split("|")
        if len(parts) == 2 and question.answer == known[parts[0]]["name"]:
            key = parts[1]
            if key != "aliases":
                same = [n for n in known.values() if n.get(key) == known[parts[0]].get(key)]
                assert len(same) == 1
        elif len(parts) == 3:
            source, relation, target = parts
            links = [k for k in raw(name)["links"] if k["relation"] == relation]
            named_in = {e for e in (source, target) if occurs(known[e]["name"], asked)}
            supported = {p for f in question.supporting_facts for p in f.split("|")}
            if source in named_in and target not in named_in:
                assert {k["target"] for k in links if k["source"] == source} <= supported
            if target in named_in and source not in named_in:
                kind = known[source]["type"].lower()
                others = {k["source"] for k in links if k["target"] == target}
                if f"Which {kind} " in asked or f"the {kind} " in asked:
                    others = {o for o in others if known[o]["type"].lower() == kind}
                assert others <= supported


def what_is_missing_is_missing(name: str, question: Question) -> None:
    known = nodes(name)
    missing = (question.model_extra or {})["missing"]
    assert question.answer == ABSTENTION
    assert question.supporting_facts == question.answer_aliases == ()
    match missing.split("|"):
        case [entity]:
            assert fold(entity) not in {fold(n) for node in known.values() for n in called(node)}
            assert occurs(entity, question.question)
        case [node, key]:
            touching = (k for k in raw(name)["links"] if node in (k["source"], k["target"]))
            assert key not in set(known[node]) | {k["relation"] for k in touching}
        case [source, relation, target, key]:
            (link,) = found(name, source, relation, target)
            assert key not in link
        case other:
            raise AssertionError(other)


def question_reads_as_one(name: str, question: Question) -> None:
    """It begins with a capital, ends with `?`, and holds no identifier and no doubled word."""
    text = question.question
    words = text.rstrip("?").split(" ")

    assert re.fullmatch(r"[A-Z].*[^ .]\?", text)
    assert "_" not in text
    assert "|" not in text
    assert "  " not in text
    assert all(a.lower() != b.lower() for a, b in pairwise(words)), text


ANSWERED = (
    answer_stands_in_facts_that_exist,
    question_does_not_hold_its_answer,
    question_has_one_answer,
    question_reads_as_one,
)
UNANSWERED = (what_is_missing_is_missing, question_reads_as_one)


@pytest.mark.parametrize(("name", "seed"), SETS)
@pytest.mark.parametrize("check", ANSWERED)
def test_every_question_with_an_answer(name: str, seed: int, check: Check) -> None:
    for question in made(name, seed).questions:
        if question.answerable:
            check(name, question)


@pytest.mark.parametrize(("name", "seed"), SETS)
@pytest.mark.parametrize("check", UNANSWERED)
def test_every_question_without_one(name: str, seed: int, check: Check) -> None:
    for question in made(name, seed).questions:
        if not question.answerable:
            check(name, question)


# --- the set ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_a_set_keeps_to_the_schema_and_is_spread(name: str) -> None:
    schema = json.loads((ROOT / "questions" / "schema.json").read_text(encoding="utf-8"))
    fact = re.compile(
        schema["$defs"]["question"]["properties"]["supporting_facts"]["items"]["pattern"]
    )
    questions = made(name, 0).questions
    per_type = Counter(q.type for q in questions if q.answerable)

    assert all(fact.search(f) for q in questions for f in q.supporting_facts)
    assert len({q.id for q in questions}) == len(questions) == 210
    assert len({fold(q.question) for q in questions}) == len(questions)
    assert set(per_type) == set(get_args(QuestionType))
    assert sum(not q.answerable for q in questions) == 63


def test_the_same_seed_gives_the_same_set_and_another_one_another() -> None:
    graph = loaded("aldermoor")
    first, again, other = (make_questions(graph, n=40, seed=s).questions for s in (1, 1, 2))

    assert first == again
    assert first != other


@pytest.mark.parametrize(("share", "n_missing"), [(0.0, 0), (0.25, 10), (1.0, 40)])
def test_the_share_without_an_answer_is_kept(share: float, n_missing: int) -> None:
    questions = make_questions(loaded("aldermoor"), n=40, unanswerable=share).questions

    assert sum(not q.answerable for q in questions) == n_missing


def test_only_the_types_asked_for_are_made() -> None:
    questions = make_questions(loaded("aldermoor"), n=20, types=("temporal", "multi_hop")).questions

    assert {q.type for q in questions} == {"temporal", "multi_hop"}


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"unanswerable": 1.5}, {"types": ("riddle",)}, {"types": ()}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        make_questions(loaded("aldermoor"), **wrong)


# --- small graphs -----------------------------------------------------------------------------


def small(*edges: tuple[str, str, str], **types: str) -> KnowledgeGraph:
    """A graph of edges between names; `types` are by name."""
    builder = Builder()
    for source, _, target in edges:
        for end in (source, target):
            builder.node(
                f"{end.lower().replace(' ', '-')}", name=end, type=types.get(end.split()[0])
            )
    for source, predicate, target in edges:
        ids = (end.lower().replace(" ", "-") for end in (source, target))
        builder.edge(next(ids), predicate, next(ids))
    return KnowledgeGraph(builder.build(), name="small")


def asked(graph: KnowledgeGraph, *types: QuestionType) -> dict[str, str]:
    made_ = make_questions(graph, n=50, types=types, unanswerable=0)
    return {question.question: question.answer for question in made_.questions}


@pytest.mark.parametrize(
    ("predicate", "forward", "backward"),
    [
        ("was_founded_by", "Who was Korral founded by?", "Which guild was founded by Mira Holt?"),
        ("foundedBy", "Who was Korral founded by?", "Which guild was founded by Mira Holt?"),
        ("FOUNDED_BY", "Who was Korral founded by?", "Which guild was founded by Mira Holt?"),
        ("invented", "Who did Korral invent?", "Which guild invented Mira Holt?"),
        ("supplies", "Who does Korral supply?", "Which guild supplies Mira Holt?"),
        ("wrote", "Who did Korral write?", "Which guild wrote Mira Holt?"),
        ("founder", "Who is the founder of Korral?", "Which guild has Mira Holt as its founder?"),
        ("has_the_patron", "Who is the patron of Korral?", "Which guild has Mira Holt as its patron?"),
        ("is_named_after", "Who is Korral named after?", "Which guild is named after Mira Holt?"),
    ],
)  # fmt: skip
def test_a_relation_is_asked_in_both_directions(
    predicate: str, forward: str, backward: str
) -> None:
    """Snake case, camel case and capitals read alike; who did what to whom stays."""
    graph = small(("Korral", predicate, "Mira Holt"), Korral="Guild", Mira="Person")

    assert asked(graph, "relationship") == {forward: "Mira Holt", backward: "Korral"}


@pytest.mark.parametrize(
    ("predicate", "question"),
    [
        ("is_based_in", "In which town is Korral based?"),
        ("lies_on", "On which town does Korral lie?"),
        ("is_in_the_town_of", "In which town is Korral?"),
        ("was_a_member_of", "Of which town was Korral a member?"),
        ("replaced", "Which town did Korral replace?"),
    ],
)
def test_a_preposition_comes_first(predicate: str, question: str) -> None:
    graph = small(("Korral", predicate, "Tarn"), Korral="Guild", Tarn="Town")

    assert question in asked(graph, "relationship")


def test_several_ends_make_a_list_and_many_make_none() -> None:
    few = small(("Korral", "binds", "Tarn"), ("Korral", "binds", "Visby"),
                Korral="Guild", Tarn="Town", Visby="Town")  # fmt: skip
    many = small(*(("Korral", "binds", f"Tarn {letter}") for letter in "BCDE"),
                 Korral="Guild", Tarn="Town")  # fmt: skip

    assert asked(few, "relationship")["Which towns does Korral bind?"] == "Tarn and Visby"
    assert not any(question.startswith("Which town") for question in asked(many, "relationship"))


def test_a_chain_describes_what_it_does_not_name() -> None:
    graph = small(("Korral", "is_based_in", "Tarn"), ("Mira Holt", "was_born_in", "Tarn"),
                  Korral="Guild", Tarn="Town", Mira="Person")  # fmt: skip

    assert asked(graph, "multi_hop") == {
        "Who was born in the town in which Korral is based?": "Mira Holt",
        "Which guild is based in the town in which Mira Holt was born?": "Korral",
    }


def test_a_shared_name_is_not_asked_about() -> None:
    builder = Builder()
    for node_id in ("a", "b"):
        builder.node(node_id, name="Visby", type="Town", attributes=[("founded", "1187")])
    builder.node("c", name="Tarn", type="Town", aliases=["Visby"], attributes=[("founded", "1200")])
    questions = make_questions(KnowledgeGraph(builder.build(), name="x"), n=50, unanswerable=0.0)

    assert not any("Visby" in q.question or q.answer == "Visby" for q in questions.questions)


def test_what_a_graph_cannot_give_is_told() -> None:
    """A graph without aliases or dates says so, and fills the set from the other types."""
    graph = small(("Korral", "is_based_in", "Tarn"), Korral="Guild", Tarn="Town")
    result = make_questions(graph, n=30, unanswerable=0.0)
    counts = {count.type: count for count in result.counts if count.answerable}

    assert len(result.questions) < 30
    assert counts["alias_lookup"].possible == counts["temporal"].made == 0
    assert counts["entity_description"].reasons == (("no description, or a long one", 2),)
    assert counts["relationship"].made == 2


def test_a_graph_of_bare_triples_gives_questions() -> None:
    """Without types there is no `Which town`, but relations still read."""
    graph = small(("Korral", "is_based_in", "Tarn"))

    assert asked(graph, "relationship") == {
        "In what is Korral based?": "Tarn", "What is based in Tarn?": "Korral",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "form"),
    [("invented", "invent"), ("replaced", "replace"), ("studied", "study"), ("wrote", "write"),
     ("makes", "make"), ("crosses", "cross"), ("supplies", "supply"), ("lies", "lie"),
     ("planned", "plan"), ("designed", "design"), ("joined", "join"), ("used", "use"),
     ("separated", "separate"), ("discovered", "discover"), ("blorped", None)],
)  # fmt: skip
def test_the_base_of_a_verb(word: str, form: str | None) -> None:
    """None for a word that is no English verb: better no question than a wrong one."""
    assert english.base(word) == form


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [("Guild of Netmakers", "Guild", "the Guild of Netmakers"), ("Tarn", "Town", "Tarn"),
     ("The Salt Ledger", "Play", "The Salt Ledger"), ("Tidal lamp", "Invention", "the tidal lamp"),
     ("River Ithrel", "River", "the River Ithrel"), ("al-Shabaab", "Organisation", "al-Shabaab"),
     ("Philippines", "Country", "the Philippines"), ("Mira Holt", "Person", "Mira Holt")],
)  # fmt: skip
def test_a_name_has_the_article_it_needs(name: str, kind: str, said: str) -> None:
    assert english.mention(name, kind) == said
