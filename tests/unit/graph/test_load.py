"""Finding and reading graph files: every format, every error with its line."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import networkx as nx
import pytest
from unit.graph.worlds import HARBOUR, harbour, load_text, write

from aletheia.errors import AletheiaError, DataError, UsageError
from aletheia.graph import available, load


def triples(graph):
    return {
        (graph.node(e.source).name, e.predicate, graph.node(e.target).name) for e in graph.edges()
    }


def test_a_name_is_found_with_and_without_its_extension(tmp_path):
    write(tmp_path / "harbour.json", HARBOUR)
    for spec in ("harbour", "harbour.json", str(tmp_path / "harbour.json")):
        graph = load(spec, search_dirs=[tmp_path / "absent", tmp_path])
        assert (graph.name, graph.n_nodes, graph.n_edges) == ("harbour", 8, 8)
        assert graph.digest.startswith("sha256:")


def test_an_unknown_name_lists_what_there_is_and_the_closest(tmp_path):
    write(tmp_path / "harbour.json", HARBOUR)
    with pytest.raises(UsageError, match=r"no knowledge graph `harbor`.*did you mean `harbour`"):
        load("harbor", search_dirs=[tmp_path])
    with pytest.raises(UsageError, match="no graph is installed"):
        load("harbor", search_dirs=[])


def test_a_name_that_fits_two_files_is_an_error(tmp_path):
    write(tmp_path / "a.json", HARBOUR)
    write(tmp_path / "a.csv", "x,y,z\n")
    assert [p.name for p in available([tmp_path])] == ["a.csv", "a.json"]
    with pytest.raises(UsageError, match=r"`a\.csv`, `a\.json`"):
        load("a", search_dirs=[tmp_path])
    with pytest.raises(UsageError, match="is a directory"):
        load(str(tmp_path), search_dirs=[])


def test_node_link_keeps_names_aliases_types_attributes_and_digits(tmp_path):
    graph = harbour(tmp_path)
    node = graph.node("orl")
    assert (node.name, node.type, node.aliases) == ("Orlen Guild", "Guild", ("OG", "Rope Makers"))
    assert node.attributes == (
        ("founded", "1402"),
        ("members", "73"),
        ("description", "Guild of rope makers"),
    )
    assert graph.node("nobody") is None
    assert graph.warnings == ()


def test_networkx_output_is_read_under_links_and_edges(tmp_path):
    source = nx.MultiDiGraph()
    source.add_node(1, name="One")
    source.add_edge(1, 2, relation="meets")
    source.add_edge(1, 2, relation="knows")
    for edges in ("links", "edges"):
        data = nx.node_link_data(source, edges=edges)
        graph = load_text(tmp_path, f"{edges}.json", data)
        assert triples(graph) == {("One", "meets", "2"), ("One", "knows", "2")}
        assert all(edge.attributes == () for edge in graph.edges())


@pytest.mark.parametrize("key", ["relation", "predicate", "label", "type", "key"])
def test_each_usual_key_names_the_predicate(tmp_path, key):
    data = {
        "nodes": [{"id": "a"}, {"id": "b"}],
        "links": [{"source": "a", "target": "b", key: "r"}],
    }
    assert [e.predicate for e in load_text(tmp_path, "g.json", data).edges()] == ["r"]


def test_odd_content_is_kept_and_warned_about(tmp_path):
    data = {"nodes": [{"id": "a"}], "links": [{"source": "a", "target": "b", "key": 0}]}
    graph = load_text(tmp_path, "g.json", data)
    assert triples(graph) == {("a", "related to", "b")}
    assert {(w.kind, w.count, w.examples) for w in graph.warnings} == {
        ("unnamed_edge", 1, ("a -> b",)),
        ("dangling_link", 1, ("b",)),
    }


BROKEN = {
    "syntax": ('{"nodes": [\n{"id": "a"},\n{"id": \n}]}', 4, "not valid JSON"),
    "cut": ('{"nodes": [\n{"id": "a"}', 2, "ends too early"),
    "comma": ('{"nodes": [\n{"id": "a"}\n{"id": "b"}]}', 3, "expected `,` or `]`"),
    "no id": ('{"nodes": [\n{"id": "a"},\n{"name": "b"}]}', 3, "needs an `id`"),
    "twice": ('{"nodes": [\n{"id": "a"},\n{"id": "a"}]}', 3, "`a` stands twice"),
    "no target": ('{"nodes": [{"id": "a"}],\n"links": [\n{"source": "a"}]}', 3, "needs a `target`"),
    "not an object": ('{"nodes": [\n"a"]}', 2, "expected an object"),
    "no list": ('{"nodes": [{"id": "a"}],\n"links": {}}', 2, "`links` is not a list"),
    "double key": ('{"nodes": [\n{"id": "a", "id": "b"}]}', 2, "`id` stands twice"),
    "double member": ('{"nodes": [],\n"nodes": []}', 2, "`nodes` stands twice"),
    "NaN": ('{"nodes": [\n{"id": "a", "x": NaN}]}', 2, "`NaN`"),
    "rest": ('{"nodes": [{"id": "a"}]}\n{}', 2, "text after"),
    "list": ("[]", 1, "expected `{`"),
    "deep": ('{"nodes": [\n' + "[" * 100_000 + "]}", 2, "too deeply"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_node_link_names_file_and_line(tmp_path, case):
    text, line, message = BROKEN[case]
    with pytest.raises(DataError, match=message) as caught:
        load_text(tmp_path, "g.json", text)
    assert caught.value.line == line
    assert caught.value.file.endswith("g.json")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.json", {"nodes": [], "links": []}, "no nodes and no edges"),
        ("g.json", {"vertices": [1]}, "found `vertices`"),
        ("g.csv", "subject,predicate,object\n", "empty"),
        ("g.csv", "", "empty"),
        ("g.jsonl", "\n\n", "empty"),
        ("g.graphml", "<graphml><graph/></graphml>", "empty"),
        ("g.txt", "a", "no reader for the extension `.txt`"),
    ],
)
def test_an_empty_or_unknown_file_is_an_error(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        load_text(tmp_path, name, content)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("g.json", b'{"nodes": [\n{"id": "caf\xe9"}]}', 2),
        ("g.csv", b"a,b,c\nx,y,z\xff\n", 2),
        ("g.jsonl", b'\n{"subject": "\xe9"}', 2),
        ("g.json", '{"nodes": []}'.encode("utf-16"), None),
    ],
)
def test_a_wrong_encoding_is_named(tmp_path, name, content, line):
    with pytest.raises(DataError, match="not UTF-8") as caught:
        load_text(tmp_path, name, content)
    assert caught.value.line == line


TABLES = {
    "plain.csv": "Ann,knows,Bo\n",
    "header.csv": "object,subject,predicate\nBo,Ann,knows\n",
    "quoted.csv": 'subject,predicate,object\n"Ann","knows","Bo"\n\n',
    "semicolon.csv": "subject;predicate;object\nAnn;knows;Bo\n",
    "tab.tsv": "Ann\tknows\tBo\n",
    "bom.csv": "\ufeffsubject,predicate,object\r\nAnn,knows,Bo\r\n",
    "lines.jsonl": '{"subject": "Ann", "predicate": "knows", "object": "Bo"}\n',
    "heads.ndjson": '{"head": "Ann", "relation": "knows", "tail": "Bo"}',
    "lines.json": '{"subject": "Ann", "predicate": "knows", "object": "Bo"}\n',
}


@pytest.mark.parametrize("name", TABLES)
def test_every_way_to_write_a_triple_gives_the_same_edge(tmp_path, name):
    graph = load_text(tmp_path, name, TABLES[name])
    assert triples(graph) == {("Ann", "knows", "Bo")}
    assert graph.warnings == ()


def test_extra_columns_become_edge_attributes_and_separators_stay_in_fields(tmp_path):
    text = 'subject,predicate,object,since,source\n"A, Inc",owns,"B; ""C""\nD",1999,Register\n'
    edge = next(load_text(tmp_path, "g.csv", text).edges())
    assert (edge.source, edge.target) == ("A, Inc", 'B; "C"\nD')
    assert edge.attributes == (("since", "1999"), ("source", "Register"))


def test_alias_type_and_description_triples_belong_to_their_subject(tmp_path):
    text = "Ann,alias,Annie\nAnn,type,Person\nAnn,description,A smith\nAnn,knows,Bo\n"
    graph = load_text(tmp_path, "g.csv", text)
    node = graph.node("Ann")
    assert (node.aliases, node.type) == (("Annie",), "Person")
    assert node.attributes == (("description", "A smith"),)
    assert graph.n_edges == 1


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("g.csv", "a,b,c\nx,y\n", 2, "2 fields, expected 3"),
        ("g.csv", "a,b,c\nx,,z\n", 2, "empty"),
        ("g.csv", "a,b,c,d\n", 1, "4 fields, and no header"),
        ("g.csv", 'a,b,c\n"x,y,z\n', 2, "not a valid table"),
        ("g.jsonl", '{"subject": "a", "predicate": "b", "object": "c"}\n[]', 2, "not a JSON obj"),
        ("g.jsonl", '{"subject": "a", "predicate": "b"}', 1, "needs a `object`"),
        ("g.jsonl", '{"subject": "a"', 1, "not valid JSON"),
        ("g.jsonl", '{"subject": "a"} x', 1, "text after"),
    ],
)
def test_a_broken_table_names_its_line(tmp_path, name, content, line, message):
    with pytest.raises(DataError, match=message) as caught:
        load_text(tmp_path, name, content)
    assert caught.value.line == line


def test_a_line_separator_inside_a_value_ends_no_line(tmp_path):
    record = json.dumps(
        {"subject": "a\u2028b", "predicate": "p", "object": "c"}, ensure_ascii=False
    )
    assert load_text(tmp_path, "g.jsonl", record).node("a\u2028b") is not None


def test_graphml_of_networkx_round_trips(tmp_path):
    source = nx.MultiDiGraph()
    source.add_node("a", name="Ann", type="Person", aliases='["Annie", "A. B; C"]')
    source.add_node("b", name="Bo")
    source.add_edge("a", "b", label="knows", since=1999, source="diary")
    nx.write_graphml(source, tmp_path / "g.graphml")
    graph = load(str(tmp_path / "g.graphml"), search_dirs=[])
    assert graph.node("a").aliases == ("Annie", "A. B; C")
    edge = next(graph.edges())
    assert (edge.source, edge.predicate, edge.target) == ("a", "knows", "b")
    assert dict(edge.attributes) == {"since": "1999", "source": "diary"}


GRAPHML = '<graphml>\n<key id="k" for="node" attr.name="name"/>\n<graph>\n{}\n</graph></graphml>'


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("<node id='a'>", 5, "mismatched tag"),
        ("<node/>", 4, "needs an `id`"),
        ("<node id='a'/>\n<node id='a'/>", 5, "stands twice"),
        ("<node id='a'/>\n<edge source='a'/>", 5, "needs a `target`"),
        ("<node id='a'><data key='zz'>x</data></node>", 4, "`zz` is not declared"),
        ("<node id='a'/>\n<hyperedge/>", 5, "not read"),
    ],
)
def test_broken_graphml_names_its_line(tmp_path, body, line, message):
    with pytest.raises(DataError, match=message) as caught:
        load_text(tmp_path, "g.graphml", GRAPHML.format(body))
    assert caught.value.line == line


def test_graphml_entities_are_refused_and_defaults_apply(tmp_path):
    bomb = '<!DOCTYPE g [<!ENTITY a "aaaa">]><graphml><graph/></graphml>'
    with pytest.raises(DataError, match="entity `a`"):
        load_text(tmp_path, "bomb.graphml", bomb)
    text = (
        '<graphml><key id="t" for="node" attr.name="type"><default>Town</default></key>'
        '<graph><node id="a"/></graph></graphml>'
    )
    assert load_text(tmp_path, "g.graphml", text).node("a").type == "Town"


FTM = [
    {"id": "p1", "schema": "Person", "caption": "Vera Lind", "properties": {
        "name": ["Vera Lind"], "alias": ["V. Lind"], "weakAlias": ["Vee"],
        "previousName": ["Vera Holm"], "birthDate": ["1970-01-02"], "country": ["se"],
        "notes": ["Shipping magnate"], "addressEntity": ["a1"]}},
    {"id": "c1", "schema": "Company", "properties": {"name": ["Lind Lines", "Lind Shipping AB"]}},
    {"id": "a1", "schema": "Address", "properties": {"full": "1 Quay, Vísby"}},
    {"id": "o1", "schema": "Ownership", "properties": {
        "owner": ["p1"], "asset": ["c1"], "startDate": ["1999-05-01"], "percentage": ["60"]}},
    {"id": "s1", "schema": "Sanction", "properties": {
        "entity": ["c1"], "authority": ["Island Council"], "listingDate": ["2020-02-02"]}},
    {"id": "u1", "schema": "UnknownLink", "properties": {
        "subject": ["p1"], "object": ["zz9"], "role": ["adviser"]}},
    {"id": "d1", "schema": "Directorship", "properties": {"director": ["p1"]}},
    {"id": "x1", "schema": "Zeppelin", "properties": {"name": ["Graf"], "owner": ["p1"]}},
    {"id": "p1", "schema": "Person", "properties": {"alias": ["Frau Lind"]}},
]  # fmt: skip


def ftm(tmp_path, records=FTM, name="entities.ftm.json"):
    return load_text(tmp_path, name, "\n".join(json.dumps(r, ensure_ascii=False) for r in records))


def test_follow_the_money_links_become_edges_with_their_properties(tmp_path):
    graph = ftm(tmp_path)
    assert triples(graph) == {
        ("Vera Lind", "owns", "Lind Lines"),
        ("Vera Lind", "addressEntity", "1 Quay, Vísby"),
        ("Lind Lines", "is sanctioned by", "Island Council"),
        ("Vera Lind", "is linked to", "zz9"),
        ("Graf", "owner", "Vera Lind"),
        ("d1", "director", "Vera Lind"),
    }
    owns = next(e for e in graph.edges() if e.predicate == "owns")
    assert (owns.id, dict(owns.attributes)) == (
        "o1",
        {"startDate": "1999-05-01", "percentage": "60"},
    )


def test_follow_the_money_names_aliases_and_attributes(tmp_path):
    graph = ftm(tmp_path)
    vera = graph.node("p1")
    assert vera.aliases == ("V. Lind", "Vee", "Vera Holm", "Frau Lind")
    assert {"birthDate", "country", "notes"} <= {key for key, _ in vera.attributes}
    assert graph.node("c1").aliases == ("Lind Shipping AB",)
    assert graph.node("x1").type == "Zeppelin"


def test_follow_the_money_oddities_are_kept_and_warned_about(tmp_path):
    graph = ftm(tmp_path)
    assert {w.kind: w.examples for w in graph.warnings} == {
        "incomplete_link": ("d1",),
        "merged_entity": ("p1",),
        "dangling_link": ("zz9",),
    }
    assert graph.node("d1").attributes == ()
    assert ("p1", "director") in {(e.target, e.predicate) for e in graph.edges()} or graph.node(
        "d1"
    )


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"schema": "Person"}, "id"),
        ({"id": "a"}, "schema"),
        ({"id": "a", "schema": "P", "properties": []}, "properties"),
    ],
)
def test_a_follow_the_money_line_without_its_parts_is_an_error(tmp_path, record, field):
    with pytest.raises(DataError) as caught:
        ftm(tmp_path, [FTM[0], record], name="e.ftm")
    assert (caught.value.line, caught.value.field) == (2, field)


TURTLE = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
ex:ann a ex:Person ; rdfs:label "Anna"@de , "Ann"@en ; skos:altLabel "Annie" ;
  ex:bornIn ex:Vis_by ; ex:height "1.70" ; rdfs:comment "A smith" .
"""


def test_turtle_labels_become_names_and_literals_attributes(tmp_path):
    pytest.importorskip("rdflib")
    graph = load_text(tmp_path, "g.ttl", TURTLE)
    ann = graph.node("http://example.org/ann")
    assert (ann.name, ann.type) == ("Ann", "Person")
    assert set(ann.aliases) == {"Anna", "Annie"}
    assert graph.node("http://example.org/Vis_by").name == "Vis by"
    edge = next(f for f in graph.facts() if f.kind == "edge")
    assert graph.fact_text(edge) == "Ann was born in Vis by."


def test_blank_nodes_have_the_same_ids_in_every_run(tmp_path):
    pytest.importorskip("rdflib")
    text = "@prefix : <http://e.org/> . :a :knows [ :age 4 ] , [ :age 5 ] ."
    first, second = (load_text(tmp_path, f"{i}.ttl", text) for i in range(2))
    assert [fact.id for fact in first.facts()] == [fact.id for fact in second.facts()]


def test_n_triples_are_read_the_same_way(tmp_path):
    pytest.importorskip("rdflib")
    line = "<http://e.org/a> <http://e.org/knows> <http://e.org/b> .\n"
    assert triples(load_text(tmp_path, "g.nt", line)) == {("a", "http://e.org/knows", "b")}


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("g.ttl", TURTLE + "ex:a ex:b .\n", 6),
        ("g.nt", "<http://e.org/a> <http://e.org/b> <http://e.org/c> .\nnonsense\n", 2),
        ("g.rdf", "<rdf>\n<a></rdf>", 2),
    ],
)
def test_broken_rdf_is_a_data_error(tmp_path, name, content, line):
    pytest.importorskip("rdflib")
    with pytest.raises(DataError, match="not valid") as caught:
        load_text(tmp_path, name, content)
    assert caught.value.line == line


def test_every_truncation_of_a_file_loads_or_fails_on_purpose(tmp_path):
    """A cut file never ends in an unplanned exception."""
    whole = json.dumps(HARBOUR, ensure_ascii=False).encode()
    for cut in range(0, len(whole), 37):
        with suppress(AletheiaError):
            load_text(tmp_path, "cut.json", whole[:cut])


def test_to_networkx_and_back_gives_the_same_facts(tmp_path):
    graph = harbour(tmp_path)
    copy = graph.to_networkx()
    assert copy.number_of_nodes() == 8
    assert copy.number_of_edges() == 8
    assert copy.nodes["orl"]["aliases"] == ["OG", "Rope Makers"]


def test_a_directory_or_missing_file_is_no_traceback(tmp_path: Path):
    with pytest.raises(UsageError):
        load(str(tmp_path / "nothing.json"), search_dirs=[])
