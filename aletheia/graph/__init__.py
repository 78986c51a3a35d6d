"""Knowledge graphs: load, link, search.

`load` and `summary` are the ways in; importing this package loads no library.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aletheia.graph.knowledge import KnowledgeGraph
    from aletheia.graph.summarise import GraphSummary

__all__ = ["available", "load", "summary"]


def available(search_dirs: Sequence[Path]) -> tuple[Path, ...]:
    """List the graph files in these directories, in name order."""
    from aletheia.graph import loading

    return loading.available(search_dirs)


def load(spec: str, *, search_dirs: Sequence[Path]) -> KnowledgeGraph:
    """Load a graph by its name in `search_dirs` or by its path.

    Raises `UsageError` (unknown name), `DataError` (broken or empty file) or `MissingExtra`.
    """
    from aletheia.graph import loading

    return loading.load(spec, search_dirs=search_dirs)


def summary(graph: KnowledgeGraph, *, communities: bool = True) -> GraphSummary:
    """Sum a graph up: counts, hubs, aliases, communities, warnings, digest."""
    from aletheia.graph import summarise

    return summarise.summary(graph, communities=communities)
