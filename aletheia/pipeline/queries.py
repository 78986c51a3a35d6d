"""Questions about data that are no run: what a graph holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Final

from aletheia import graph

if TYPE_CHECKING:
    from aletheia.graph.knowledge import KnowledgeGraph
    from aletheia.graph.store import GraphWarning
    from aletheia.graph.summarise import GraphSummary

SAMPLE: Final = 5
"""How many facts are shown."""
MOST: Final = 12
"""How many types and relations are shown to a person."""
COMMUNITIES_UP_TO: Final = 100_000
"""Edges of the largest graph whose communities are counted; they cost the most."""


def summarise(loaded: KnowledgeGraph) -> GraphSummary:
    """Sum a graph up, its communities too unless it is large."""
    return graph.summary(loaded, communities=loaded.n_edges <= COMMUNITIES_UP_TO)


def summary_json(loaded: KnowledgeGraph) -> str:
    """Write the summary as JSON, in the order of its fields."""
    found = asdict(summarise(loaded))
    found["node_types"] = [{"type": name, "count": n} for name, n in found["node_types"]]
    found["predicates"] = [{"predicate": name, "count": n} for name, n in found["predicates"]]
    return json.dumps(found, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def summary_lines(loaded: KnowledgeGraph) -> Iterator[str]:
    """Write the summary for a person."""
    found = summarise(loaded)
    yield f"{found.name}: {found.nodes:,} nodes, {found.edges:,} edges, {found.facts:,} facts"
    yield f"file         {found.path or 'none'}"
    yield f"digest       {found.digest or 'none'}"
    yield f"aliases      {found.aliases:,}"
    yield f"attributes   {found.attributes:,}"
    if found.communities is not None:
        yield f"communities  {found.communities:,}"
    yield from _counts("Node types", [(name or "(no type)", n) for name, n in found.node_types])
    yield from _counts("Relations", found.predicates)
    yield from _counts("Best connected", [(hub.name, hub.degree) for hub in found.hubs])
    yield from ("", "Some facts")
    for fact in islice(loaded.facts(), SAMPLE):
        yield f"  {loaded.fact_text(fact)}"
    if found.warnings:
        yield from ("", "Warnings")
    for warning in found.warnings:
        yield f"  {warning_text(warning)}"


def warning_text(warning: GraphWarning) -> str:
    """Write what is odd in a graph file as one line."""
    place = "" if warning.line is None else f"line {warning.line}: "
    shown = ", ".join(f"`{value}`" for value in warning.examples)
    times = f" ({warning.count} times)" if warning.count > 1 else ""
    return f"{place}{warning.message}{times}{': ' + shown if shown else ''}"


def _counts(title: str, counts: Sequence[tuple[str, int]]) -> Iterator[str]:
    yield from ("", f"{title} ({len(counts)})")
    yield from (f"  {number:>8,}  {name}" for name, number in counts[:MOST])
    if len(counts) > MOST:
        yield f"  {'':>8}  and {len(counts) - MOST} more"
