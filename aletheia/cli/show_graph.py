"""`aletheia show-graph`: what a knowledge graph holds."""

from __future__ import annotations

from typing import Annotated

import typer

from aletheia.cli import output


def show_graph(
    knowledge_graph: Annotated[
        str, typer.Argument(metavar="NAME|PATH", help="Knowledge graph: a name or a file.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show what a knowledge graph holds: nodes, edges, types, relations, and some facts."""
    from aletheia import graph
    from aletheia.config import settings
    from aletheia.pipeline import locate
    from aletheia.pipeline.queries import summary_json, summary_lines

    loaded = graph.load(knowledge_graph, search_dirs=locate.graph_dirs(settings.graph_path))
    if json:
        output.data(summary_json(loaded))
        return
    for line in summary_lines(loaded):
        output.text(line)
