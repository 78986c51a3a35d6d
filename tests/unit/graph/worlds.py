"""Small graphs as files, for the tests of this directory."""

from __future__ import annotations

import json
from pathlib import Path

from aletheia.graph import load
from aletheia.graph.knowledge import KnowledgeGraph

HARBOUR = {
    "directed": True,
    "multigraph": True,
    "graph": {"name": "harbour"},
    "nodes": [
        {"id": "orl", "name": "Orlen Guild", "type": "Guild", "aliases": ["OG", "Rope Makers"],
         "description": "Guild of rope makers", "founded": 1402, "members": 73},
        {"id": "kes", "name": "Kessel Guild", "type": "Guild", "founded": "1511-03-02"},
        {"id": "vis", "name": "Vísby", "type": "Town", "founded": "1187"},
        {"id": "tar", "name": "Tarn", "type": "Town"},
        {"id": "mira", "name": "Mira Holt", "type": "Person", "born": "1380"},
        {"id": "jon", "name": "Jon Abel", "type": "Person"},
        {"id": "ivo", "name": "Ivo Brandt", "type": "Person"},
        {"id": "it", "name": "Island Trust", "type": "Trust", "aliases": ["IT"]},
    ],
    "links": [
        {"source": "orl", "target": "vis", "relation": "is_based_in", "since": "1410"},
        {"source": "kes", "target": "vis", "relation": "is_based_in"},
        {"source": "it", "target": "vis", "relation": "is_based_in"},
        {"source": "orl", "target": "mira", "relation": "was_founded_by"},
        {"source": "mira", "target": "tar", "relation": "was_born_in"},
        {"source": "jon", "target": "vis", "relation": "is_mayor_of", "until": "1990",
         "source_note": "Town archive"},
        {"source": "ivo", "target": "tar", "relation": "is_mayor_of"},
        {"source": "kes", "target": "orl", "relation": "split_from", "date": "1511"},
    ],
}  # fmt: skip


def write(path: Path, content: object) -> Path:
    """Write text or bytes as they are, anything else as JSON."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
    return path


def load_text(tmp_path: Path, name: str, content: object) -> KnowledgeGraph:
    """Write a graph file and load it."""
    return load(str(write(tmp_path / name, content)), search_dirs=[])


def harbour(tmp_path: Path) -> KnowledgeGraph:
    """The graph most tests ask."""
    return load_text(tmp_path, "harbour.json", HARBOUR)
