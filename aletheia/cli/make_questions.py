"""`aletheia make-questions`: a question set from a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aletheia.cli import output


def make_questions(
    graph: Annotated[
        str, typer.Argument(metavar="GRAPH", help="Knowledge graph: a name or a file.")
    ],
    output_file: Annotated[
        Path, typer.Option("--output", metavar="FILE", help="Write the question set here.")
    ],
    n: Annotated[int, typer.Option("--n", min=1, metavar="N", help="How many questions.")] = 100,
    types: Annotated[
        str | None,
        typer.Option("--types", metavar="A,B", help="Only these types, parted by commas."),
    ] = None,
    unanswerable: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, metavar="SHARE", help="Share of questions without an answer."
        ),
    ] = 0.2,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed asks other questions.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Make questions that a graph answers, and some that it does not.

    Each answer is the only one in the graph, and each question names the facts that give it. The
    same graph and seed give the same set. Exit status: 0 done, 2 bad usage or no question at all.
    """
    from aletheia.config import settings
    from aletheia.pipeline import locate
    from aletheia.pipeline.make_questions import MakeRequest, made_lines, make_set

    request = MakeRequest(
        knowledge_graph=graph,
        output=output_file,
        n=n,
        types=tuple(part.strip() for part in (types or "").split(",") if part.strip()),
        unanswerable=unanswerable,
        seed=seed,
        force=force,
        graph_dirs=locate.graph_dirs(settings.graph_path),
    )
    for line in made_lines(make_set(request), request):
        output.note(line)
