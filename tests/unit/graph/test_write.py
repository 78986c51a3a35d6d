"""A written graph loads as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aletheia import graph as graphs
from aletheia.errors import UsageError
from aletheia.graph.build import Builder
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.write import node_link_text, write_text

ROOT = Path(__file__).resolve().parents[3]


def facts(graph: KnowledgeGraph) -> list[tuple[object, ...]]:
    return sorted((f.kind, f.subject, f.predicate, f.object, f.attributes) for f in graph.facts())


def again(graph: KnowledgeGraph, directory: Path) -> KnowledgeGraph:
    path = directory / "written.json"
    write_text(path, node_link_text(graph), force=True)
    return graphs.load(str(path), search_dirs=[])


@pytest.mark.parametrize("name", ["aldermoor", "terrorist_orgs"])
def test_a_shipped_graph_comes_back(name: str, tmp_path: Path) -> None:
    graph = graphs.load(name, search_dirs=[ROOT / "graphs"])
    loaded = again(graph, tmp_path)

    assert facts(loaded) == facts(graph)
    assert list(loaded.edges()) == list(graph.edges())
    assert [n.id for n in loaded.nodes()] == [n.id for n in graph.nodes()]


TEXT = st.text(alphabet="aZé\"\\|东 \u2028_'0", min_size=1, max_size=8).filter(
    lambda t: t == t.strip() != ""
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(TEXT, st.none() | TEXT, st.lists(TEXT, max_size=2)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), TEXT, st.integers(0, 3), st.none() | TEXT), max_size=4),
)
def test_any_graph_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    nodes: list[tuple[str, str | None, list[str]]],
    edges: list[tuple[int, str, int, str | None]],
) -> None:
    """Odd characters, repeated attributes, parallel edges and edge ids survive."""
    builder = Builder()
    for at, (name, kind, values) in enumerate(nodes):
        pairs = [("size", value) for value in values]
        builder.node(f"n{at}", name=name, type=kind, aliases=values, attributes=pairs)
    for source, predicate, target, edge_id in edges:
        ends = (f"n{source % len(nodes)}", f"n{target % len(nodes)}")
        builder.edge(ends[0], predicate, ends[1], (("since", "1990"),), edge_id)
    graph = KnowledgeGraph(builder.build(), name="drawn")

    assert facts(again(graph, tmp_path_factory.mktemp("w"))) == facts(graph)


def test_a_key_that_means_something_else_is_marked() -> None:
    """A second type or an attribute `id` gets a `_`, so that the loader does not take it wrong."""
    builder = Builder()
    builder.node("a", name="A", type="Town", attributes=[("type", "Port"), ("id", "7")])
    builder.edge("a", "near", "a", (("relation", "x"),))
    written = json.loads(node_link_text(KnowledgeGraph(builder.build(), name="x")))

    assert written["nodes"] == [
        {"id": "a", "name": "A", "type": "Town", "type_": "Port", "id_": "7"}
    ]
    assert written["links"][0]["relation_"] == "x"


def test_a_file_is_not_replaced_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("old")
    with pytest.raises(UsageError, match="already"):
        write_text(path, "new")
    assert path.read_text() == "old"

    write_text(path, "new", force=True)
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", ["", "missing/x.json"])
def test_a_place_that_cannot_be_written_is_refused(where: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="directory"):
        write_text(tmp_path / where, "x")
