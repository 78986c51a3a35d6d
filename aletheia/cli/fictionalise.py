"""`aletheia fictionalise`: a graph in which every name, date and number is another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aletheia.cli import output

KINDS = "names,dates,numbers"


def fictionalise(
    graph: Annotated[
        str, typer.Argument(metavar="GRAPH", help="Knowledge graph: a name or a file.")
    ],
    output_file: Annotated[
        Path, typer.Option("--output", metavar="FILE", help="Write the graph here, as JSON.")
    ],
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives other names.")] = 0,
    replace: Annotated[
        str, typer.Option("--replace", metavar="KINDS", help="What to replace.")
    ] = KINDS,
    questions: Annotated[
        str | None,
        typer.Option("--questions", metavar="FILE", help="Rename this question set alike."),
    ] = None,
    questions_output: Annotated[
        Path | None,
        typer.Option("--questions-output", metavar="FILE", help="Write the question set here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Replace every name, date and number of a graph, so that no model can know it.

    The same graph and seed give the same file. A card (`.md`) is written beside it. Exit status:
    0 done, 1 an old name is left, 2 bad usage or a broken file.
    """
    from aletheia.config import settings
    from aletheia.pipeline import locate
    from aletheia.pipeline.fictionalise import FictionaliseRequest, summary
    from aletheia.pipeline.fictionalise import fictionalise as run

    done = run(
        FictionaliseRequest(
            knowledge_graph=graph,
            output=output_file,
            seed=seed,
            kinds=tuple(part.strip() for part in replace.split(",") if part.strip()),
            questions=questions,
            questions_output=questions_output,
            force=force,
            graph_dirs=locate.graph_dirs(settings.graph_path),
        )
    )
    for line in summary(done):
        output.note(line)
    raise typer.Exit(done.exit_code)
