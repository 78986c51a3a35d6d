"""`aletheia evaluate-ragas`: a question set over a knowledge graph, to a report."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aletheia.cli import output
from aletheia.schema.verification import Mode

if TYPE_CHECKING:
    from aletheia.cli.progress import Display
    from aletheia.config import Settings
    from aletheia.pipeline.batch_rounds import CutShort, Waiting
    from aletheia.pipeline.benchmark import Finished
    from aletheia.pipeline.request import Request

INTERRUPTED: Final = 130
UNMEASURED: Final = 1


class ProgressOption(StrEnum):
    """How progress is shown."""

    AUTO = "auto"
    PLAIN = "plain"
    JSON = "json"


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


class JudgeOption(StrEnum):
    """Who puts answers into cells."""

    AUTO = "auto"
    EMBEDDED = "embedded"
    LLM = "llm"
    NONE = "none"


CacheOption = Annotated[
    bool | None,
    typer.Option("--cache/--no-cache", help="Reuse replies of models (`ALETHEIA_CACHE_ENABLED`)."),
]
BudgetOption = Annotated[
    float | None,
    typer.Option(
        min=0, metavar="USD", help="Most that the run may cost (`ALETHEIA_RUN_BUDGET_USD`)."
    ),
]
BatchOption = Annotated[
    bool,
    typer.Option("--batch", help="Ask through the Batch API: half the price, in up to 24 hours."),
]
BatchWaitOption = Annotated[
    bool, typer.Option("--batch-wait", help="With `--batch`: stay until the batches have ended.")
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Say what the run would cost, and neither ask nor write."),
]


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
    judge: Annotated[
        JudgeOption,
        typer.Option(help="What diagnoses; `auto` is `embedded`, `llm` asks a model five times."),
    ] = JudgeOption.AUTO,
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
    budget: BudgetOption = None,
    cache: CacheOption = None,
    batch: BatchOption = False,
    batch_wait: BatchWaitOption = False,
    dry_run: DryRunOption = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an unfinished run of the same kind.")
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the resampling statistics.")
    ] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON instead of the summary.")
    ] = False,
    progress: Annotated[
        ProgressOption,
        typer.Option(help="Progress on stderr: a bar on a terminal, lines, or one JSON a line."),
    ] = ProgressOption.AUTO,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Run a question set over a knowledge graph with verified grounding.

    Every accepted answer is also diagnosed: one of six cells, and what to do about it. Writes `ragas_YYYYMMDD_HHMMSS.json` and `.html` into the output directory. Every finished
    question is kept at once, so a stopped run can go on with `--resume`.

    Exit codes: 0 every question has its reply, its metrics and its diagnosis; 1 the report is
    written, but a failure or the budget kept some of them away, or a batch ended early; 2 bad input; 75 batches
    are under way; 130 interrupted.
    """
    from aletheia.cli.progress import Display
    from aletheia.config import settings
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
            judge=judge.value,
            model=model,
            judge_model=judge_model,
        ),
        limit=limit,
        concurrency=concurrency,
        stop_after=stop_after,
        seed=seed,
        command=("aletheia", *sys.argv[1:]),
    )
    changed = {"run_budget_usd": budget, "cache_enabled": cache}
    with settings.override(**{name: v for name, v in changed.items() if v is not None}) as now:
        how = _How(resume=resume, batch=_batch(batch, batch_wait), wait=batch_wait)
        if dry_run:
            _show_estimate(now, request, how, as_json=json)
            return
        display = Display(quiet=quiet, form=progress.value)
        finished = _run(now, request, display, how, as_json=json)
    _show(finished, as_json=json)
    if not finished.complete:
        raise typer.Exit(UNMEASURED)


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """How a run goes on, and how its prompts go out."""

    resume: bool
    batch: bool
    wait: bool


def _batch(batch: bool, wait: bool) -> bool:
    from aletheia.errors import UsageError

    if wait and not batch:
        raise UsageError("`--batch-wait` has no effect without `--batch`", hint="give both")
    return batch


def _show_estimate(now: Settings, request: Request, how: _How, *, as_json: bool) -> None:
    import anyio

    from aletheia.errors import UsageError
    from aletheia.pipeline.dry_run import estimate_json, estimate_lines, rehearse

    if how.resume:
        raise UsageError(
            "`--dry-run` looks at all questions, and `--resume` asks only what is missing",
            hint="leave one of them out",
        )
    estimate = anyio.run(partial(rehearse, now, request, batch=how.batch))
    if as_json:
        output.data(estimate_json(estimate))
        return
    for line in estimate_lines(estimate):
        output.text(line)


def _run(
    now: Settings, request: Request, display: Display, how: _How, *, as_json: bool
) -> Finished:
    from aletheia.pipeline.benchmark import Finished

    with display:
        try:
            reached = _asked(now, request, display, how)
        except KeyboardInterrupt:
            _interrupted(display, how)
            raise typer.Exit(INTERRUPTED) from None
    if isinstance(reached, Finished):
        return reached
    for line in reached.lines():
        (output.note if as_json else output.text)(line)
    raise typer.Exit(reached.exit_code)


def _asked(
    now: Settings, request: Request, display: Display, how: _How
) -> Finished | Waiting | CutShort:
    import anyio

    from aletheia.pipeline import assemble
    from aletheia.pipeline.batch_run import require_models, run_in_batches
    from aletheia.pipeline.benchmark import run_benchmark
    from aletheia.pipeline.events import Remark
    from aletheia.pipeline.queries import warning_text
    from aletheia.pipeline.request import prepare

    if how.batch:
        require_models(now, assemble.plan(now, request.choice))
    setup, plan = prepare(now, request)
    with closing(setup):
        used = ", ".join(f"{name}: {value}" for name, value in plan.lines())
        display(Remark(text=plan.note or used))
        for warning in setup.graph.warnings:
            display(Remark(text=f"graph: {warning_text(warning)}"))
        if how.batch:
            batches = partial(run_in_batches, now, setup, plan, wait=how.wait)
            return anyio.run(partial(batches, resume=how.resume, listener=display))
        return anyio.run(partial(run_benchmark, setup, resume=how.resume, listener=display))


def _interrupted(display: Display, how: _How) -> None:
    if how.batch:
        output.note("interrupted: batches that were made go on at the endpoint, and are kept")
        output.note("")
        output.note("hint: the same command with `--resume` looks again")
        return
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
        output.note(f"{lacking} a reply, a metric or a diagnosis: see the report")
        output.note("")
        output.note("hint: the same command with `--resume` asks only those again")
