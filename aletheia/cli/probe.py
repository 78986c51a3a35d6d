"""`aletheia probe`: the same questions under other conditions, to where answers came from."""

from __future__ import annotations

import sys
from contextlib import closing
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aletheia.cli import output
from aletheia.cli.evaluate_ragas import BudgetOption, CacheOption, DryRunOption, GeneratorOption

if TYPE_CHECKING:
    from aletheia.config import Settings
    from aletheia.pipeline.probes import ProbesFinished
    from aletheia.pipeline.request import Request
    from aletheia.schema.attribution import Probe


class ProbeJudgeOption(StrEnum):
    """Who puts answers into cells."""

    EMBEDDED = "embedded"
    NONE = "none"


UNMEASURED: Final = 1
ALL: Final = "closed-book,counterfactual,ablation,shuffle"


def probe(
    knowledge_graph: Annotated[
        str, typer.Option(metavar="NAME|PATH", help="Knowledge graph: a name or a file.")
    ],
    questions: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="Questions: a JSON file or a shipped name.")
    ],
    output_dir: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for the report; made if missing.")
    ] = Path("results"),
    probes: Annotated[
        str, typer.Option(metavar="NAMES", help="Which probes: a list of their names.")
    ] = ALL,
    generator: Annotated[
        GeneratorOption, typer.Option(help="What answers; `auto` asks a model if one is set.")
    ] = GeneratorOption.AUTO,
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="Model that answers (`ALETHEIA_MODEL`).")
    ] = None,
    judge: Annotated[
        ProbeJudgeOption, typer.Option(help="What puts answers into cells; it asks no model.")
    ] = ProbeJudgeOption.EMBEDDED,
    hops: Annotated[
        int, typer.Option(min=1, max=10, metavar="N", help="Edges walked from a named node.")
    ] = 2,
    max_units: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Most evidence units for a question.")
    ] = 12,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Probe only the first N questions.")
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, metavar="N", help="Questions at once (`ALETHEIA_CONCURRENCY`)."
        ),
    ] = None,
    stop_after: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Stop asking after N equal failures in a row; 0 never stops."
        ),
    ] = 5,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the new names and of the order.")
    ] = 0,
    budget: BudgetOption = None,
    cache: CacheOption = None,
    dry_run: DryRunOption = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON instead of the summary.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Ask every question again under other conditions, and trace where its answer came from.

    The conditions: no evidence (`closed-book`), other names, dates and numbers in the evidence
    (`counterfactual`), without the units that are cited, hold the answer or are irrelevant
    (`ablation`), another order (`shuffle`). Writes `probe_YYYYMMDD_HHMMSS.json` and `.html`.
    Replies are kept in the reply cache: after an interruption the same command pays for nothing
    twice.

    Exit codes: 0 every reply came; 1 the report is written, but a failure or the budget kept
    replies away; 2 bad input; 130 interrupted.
    """
    from aletheia.config import settings
    from aletheia.pipeline.answer import Options
    from aletheia.pipeline.assemble import Choice
    from aletheia.pipeline.probe_setup import chosen_probes
    from aletheia.pipeline.request import Request

    chosen = chosen_probes(probes)
    request = Request(
        knowledge_graph=knowledge_graph,
        questions=questions,
        output_dir=output_dir,
        options=Options(hops=hops, max_units=max_units),
        choice=Choice(generator=generator.value, model=model, judge=judge.value),
        limit=limit,
        concurrency=concurrency,
        stop_after=stop_after,
        seed=seed,
        command=("aletheia", *sys.argv[1:]),
    )
    changed = {"run_budget_usd": budget, "cache_enabled": cache}
    with settings.override(**{name: v for name, v in changed.items() if v is not None}) as now:
        if dry_run:
            _show_estimate(now, request, chosen, as_json=json)
            return
        finished = _run(now, request, chosen, quiet=quiet)
    _show(finished, as_json=json)
    if not finished.complete:
        raise typer.Exit(UNMEASURED)


def _show_estimate(
    now: Settings, request: Request, chosen: frozenset[Probe], *, as_json: bool
) -> None:
    import anyio

    from aletheia.pipeline.dry_run import estimate_json, estimate_lines
    from aletheia.pipeline.probe_estimate import rehearse_probes

    estimate = anyio.run(partial(rehearse_probes, now, request, probes=chosen))
    if as_json:
        output.data(estimate_json(estimate))
        return
    for line in estimate_lines(estimate):
        output.text(line)


def _run(
    now: Settings, request: Request, chosen: frozenset[Probe], *, quiet: bool
) -> ProbesFinished:
    import anyio

    from aletheia.cli.progress import Display
    from aletheia.pipeline.events import Remark
    from aletheia.pipeline.probe_setup import prepare_probes
    from aletheia.pipeline.probes import run_probes

    with (
        Display(quiet=quiet) as display,
        closing(prepare_probes(now, request, probes=chosen)) as setup,
    ):
        if setup.note:
            display(Remark(text=setup.note))
        return anyio.run(partial(run_probes, setup, listener=display))


def _show(finished: ProbesFinished, *, as_json: bool) -> None:
    from aletheia.reports.attribution_text import render_probes
    from aletheia.reports.comparison_document import to_json

    if as_json:
        output.data(to_json(finished.report))
    else:
        output.block(render_probes(finished.report, style=output.styled).rstrip("\n"))
    tell = output.note if as_json else output.text
    tell("")
    tell(f"report: {finished.json_path}")
    tell(f"page:   {finished.html_path}")
    if not finished.complete:
        lacking = "1 question lacks"
        if finished.unmeasured > 1:
            lacking = f"{finished.unmeasured} questions lack"
        output.note(f"{lacking} a reply: see the report")
        output.note("")
        output.note("hint: the same command asks again only what is not in the reply cache")
