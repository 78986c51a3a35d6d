"""`aletheia evaluate-ragas`: a question set over a knowledge graph, to a report."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aletheia.cli import output
from aletheia.schema.verification import Mode

if TYPE_CHECKING:
    from aletheia.cli.progress import Display
    from aletheia.pipeline.benchmark import Finished
    from aletheia.pipeline.request import Request

INTERRUPTED: Final = 130
UNMEASURED: Final = 1


class GeneratorOption(StrEnum):
    """What answers the questions."""

    AUTO = "auto"
    LLM = "llm"
    EXTRACTIVE = "extractive"


class MetricsOption(StrEnum):
    """What computes the metrics."""

    AUTO = "auto"
    RAGAS = "ragas"
    EMBEDDED = "embedded"


def evaluate_ragas(
    knowledge_graph: Annotated[
        str, typer.Option(metavar="NAME|PATH", help="Knowledge graph: a name or a file.")
    ],
    questions: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="Questions: a JSON file or a shipped name.")
    ],
    output_dir: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for the report; made if missing.")
    ] = Path("results"),
    grounding_mode: Annotated[
        Mode, typer.Option(help="What a failed verification does to an answer.")
    ] = Mode.STRICT,
    use_community_search: Annotated[
        bool,
        typer.Option("--use-community-search", help="Add context from clusters of the graph."),
    ] = False,
    compare_baseline: Annotated[
        bool,
        typer.Option("--compare-baseline", help="Also score retrieval by similarity alone."),
    ] = False,
    generator: Annotated[
        GeneratorOption, typer.Option(help="What answers; `auto` asks a model if one is set.")
    ] = GeneratorOption.AUTO,
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="Model that answers (`ALETHEIA_MODEL`).")
    ] = None,
    metrics: Annotated[
        MetricsOption, typer.Option(help="What scores; `auto` asks a model if one is set.")
    ] = MetricsOption.AUTO,
    judge_model: Annotated[
        str | None, typer.Option(metavar="ID", help="Model that judges (`ALETHEIA_JUDGE_MODEL`).")
    ] = None,
    hops: Annotated[
        int, typer.Option(min=1, max=10, metavar="N", help="Edges walked from a named node.")
    ] = 2,
    max_units: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Most evidence units for a question.")
    ] = 12,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Ask only the first N questions.")
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, metavar="N", help="Questions at once (`ALETHEIA_CONCURRENCY`)."
        ),
    ] = None,
    row_timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Longest time for one question.")
    ] = 1800.0,
    stop_after: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Stop asking after N equal failures in a row; 0 never stops."
        ),
    ] = 5,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an unfinished run of the same kind.")
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the resampling statistics.")
    ] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON instead of the summary.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Run a question set over a knowledge graph with verified grounding.

    Writes `ragas_YYYYMMDD_HHMMSS.json` and `.html` into the output directory. Every finished
    question is kept at once, so a stopped run can go on with `--resume`.

    Exit codes: 0 every question has its reply and its metrics; 1 the report is written, but a
    failure kept some of them away; 2 bad input; 130 interrupted.
    """
    from aletheia.pipeline import assemble
    from aletheia.pipeline.answer import Options
    from aletheia.pipeline.request import Request

    request = Request(
        knowledge_graph=knowledge_graph,
        questions=questions,
        output_dir=output_dir,
        options=Options(
            mode=grounding_mode,
            hops=hops,
            max_units=max_units,
            community=use_community_search,
            baseline=compare_baseline,
            row_timeout_s=row_timeout,
        ),
        choice=assemble.Choice(
            generator=generator.value,
            metrics=metrics.value,
            model=model,
            judge_model=judge_model,
        ),
        limit=limit,
        concurrency=concurrency,
        stop_after=stop_after,
        seed=seed,
        command=("aletheia", *sys.argv[1:]),
    )
    finished = _run(request, resume=resume, quiet=quiet)
    _show(finished, as_json=json)
    if not finished.complete:
        raise typer.Exit(UNMEASURED)


def _run(request: Request, *, resume: bool, quiet: bool) -> Finished:
    from aletheia.cli.progress import Display

    with Display(quiet=quiet) as display:
        try:
            return _asked(request, display, resume=resume)
        except KeyboardInterrupt:
            _interrupted(display)
            raise typer.Exit(INTERRUPTED) from None


def _asked(request: Request, display: Display, *, resume: bool) -> Finished:
    import anyio

    from aletheia.config import settings
    from aletheia.pipeline.benchmark import run_benchmark
    from aletheia.pipeline.events import Remark
    from aletheia.pipeline.queries import warning_text
    from aletheia.pipeline.request import prepare

    setup, plan = prepare(settings.current(), request)
    used = ", ".join(f"{name}: {value}" for name, value in plan.lines())
    display(Remark(text=plan.note or used))
    for warning in setup.graph.warnings:
        display(Remark(text=f"graph: {warning_text(warning)}"))
    return anyio.run(partial(run_benchmark, setup, resume=resume, listener=display))


def _interrupted(display: Display) -> None:
    kept, total = display.kept
    if display.journal is None or not kept:
        output.note("interrupted before the first question was done: nothing is kept")
        return
    output.note(f"interrupted: {kept} of {total} questions are kept in `{display.journal}`")
    output.note("")
    output.note("hint: the same command with `--resume` goes on from there")


def _show(finished: Finished, *, as_json: bool) -> None:
    from aletheia.reports.document import dump_json
    from aletheia.reports.text import render_text

    if as_json:
        output.data(dump_json(finished.report))
    else:
        output.block(render_text(finished.report, style=output.styled))
    tell = output.note if as_json else output.text
    tell(f"report: {finished.json_path}")
    tell(f"page:   {finished.html_path}")
    if not finished.complete:
        lacking = (
            "1 question lacks"
            if finished.unmeasured == 1
            else f"{finished.unmeasured} questions lack"
        )
        output.note(f"{lacking} a reply or a metric: see `error` and `metrics` in the report")
        output.note("")
        output.note("hint: the same command with `--resume` asks only those again")
