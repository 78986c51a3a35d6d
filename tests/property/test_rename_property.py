"""What holds for the renaming of every graph."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from aletheia.graph.build import Builder
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.rename import rename
from aletheia.graph.rename_check import check
from aletheia.graph.store import DESCRIPTION
from aletheia.graph.text import fold
from aletheia.grounding.numbering import number
from aletheia.grounding.verify import verify_reply

WORDS = (
    "Korral Vessim Ithrel Tolvane Tolvare Quonset Dremmel Maskelyne Skarrow Brindesk Osmerry "
    "Guzmán Łukow O'Dell al-Nahr McTavik QDU IVR V&N Москва Ελάτη 東京 القاهرة "
    "Guild River Union Red Army Mirror Salt of the Upper Model 4 1868 1939"
).split()
STRANGE = tuple(WORDS[:14])
NAME = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
VALUE = st.sampled_from(
    "61,340|7.2 g|-31 °C|1823-06-11|14 March 1841|1868|2024-02-29|Thursday|9 by 9 squares|31 %"
    "|first full moon of October|1970s|0|1|14:30|in May 1868|3/4/2019|1939-1945".split("|")
)


@st.composite
def graphs(draw: st.DrawFn) -> KnowledgeGraph:
    names = draw(st.lists(NAME, min_size=1, max_size=6, unique_by=fold))
    builder = Builder()
    for at, name in enumerate(names):
        told = draw(st.sampled_from(names))
        text = draw(
            st.sampled_from((f"Near {told}.", f"{told}'s rival since 1790.", f"Maker of 3 {told}."))
        )
        alias = draw(st.none() | NAME)
        builder.node(
            name.lower().replace(" ", "-") if draw(st.booleans()) else f"n{at}",
            name=name,
            type=draw(st.sampled_from((None, "Person", "Town", "Society", *names))),
            aliases=[alias] if alias else [],
            attributes=[(DESCRIPTION, text), ("size", draw(VALUE))],
        )
    ids = builder.ids()
    for _ in range(draw(st.integers(0, 6))):
        pair = draw(st.sampled_from(ids)), draw(st.sampled_from(ids))
        builder.edge(pair[0], "knows", pair[1], (("since", draw(VALUE)),))
    return KnowledgeGraph(builder.build(), name="drawn")


@settings(max_examples=120, deadline=None)
@given(graphs(), st.integers(0, 10**6))
def test_a_renamed_graph_has_the_same_shape_and_comes_back(
    graph: KnowledgeGraph, seed: int
) -> None:
    """Ids map one to one; each text, undone, is what it was; the same seed gives the same graph."""
    new, renaming = rename(graph, seed)

    assert len(set(renaming.ids.values())) == graph.n_nodes == new.n_nodes
    for old_node, node in zip(graph.nodes(), new.nodes(), strict=True):
        assert node.id == renaming.ids[old_node.id]
        assert renaming.keys.get(old_node.type, old_node.type) == node.type
        assert renaming.old_keys.get(node.type, node.type) == old_node.type
        assert renaming.revert(node.name) == old_node.name
        assert tuple(map(renaming.revert, node.aliases)) == old_node.aliases
        assert [(k, renaming.revert(v)) for k, v in node.attributes] == list(old_node.attributes)
    for old_edge, edge in zip(graph.edges(), new.edges(), strict=True):
        ends = (renaming.ids[old_edge.source], old_edge.predicate, renaming.ids[old_edge.target])
        assert (edge.source, edge.predicate, edge.target) == ends
        assert [(k, renaming.revert(v)) for k, v in edge.attributes] == list(old_edge.attributes)
    assert list(rename(graph, seed)[0].facts()) == list(new.facts())


@settings(max_examples=120, deadline=None)
@given(graphs(), st.integers(0, 10**6))
def test_no_old_name_is_left_and_no_new_one_is_an_old_one(graph: KnowledgeGraph, seed: int) -> None:
    """Each old word has one new word and the other way round, and none is in both."""
    new, renaming = rename(graph, seed)
    words = {**renaming.plan.words, **renaming.plan.exact}
    made = Counter(word.lower() for word in words.values())
    old = {
        fold(word)
        for node in graph.nodes()
        for n in (node.name, *node.aliases)
        for word in n.split()
    }

    assert max(made.values(), default=1) == 1
    assert not {fold(word) for word in made} & old
    assert check(graph, new, renaming).leftovers == ()


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 10**6))
def test_the_verifier_finds_no_old_name_in_the_new_texts(graph: KnowledgeGraph, seed: int) -> None:
    """An answer that names something by its old name is not carried by the renamed graph."""
    new, _ = rename(graph, seed)
    units = [new.fact_text(fact) for fact in new.facts()]
    cited = [f"E{n}" for n in range(1, len(units) + 1)]
    for node in graph.nodes():
        for word in (w for w in node.name.split() if w in STRANGE and len(w) > 5):
            found = verify_reply(
                number(units),
                {"answer": f"It is about {word}.", "evidence_ids": cited},
                question="Why?",
            )
            assert not found.verified, (word, units)
