"""`aletheia eval`: diagnose the traces of a JSON Lines file."""

from __future__ import annotations

import json as json_library
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aletheia.cli import output
from aletheia.cli.evaluate_ragas import BudgetOption, CacheOption

if TYPE_CHECKING:
    from aletheia.pipeline.evaluate_totals import EvaluateTotals

__all__ = ["eval_traces"]


class JudgeOption(StrEnum):
    """Who judges."""

    AUTO = "auto"
    EMBEDDED = "embedded"
    LLM = "llm"


class CoverageOption(StrEnum):
    """What covers a sub-question."""

    GROUNDED = "grounded"
    TOPICAL = "topical"


JudgeChoiceOption = Annotated[
    JudgeOption,
    typer.Option("--judge", help="Who judges; `auto` asks a model if an endpoint is set."),
]
DecomposeOption = Annotated[
    bool,
    typer.Option(
        "--decompose/--no-decompose", help="Cut the response into claims, or take it as one."
    ),
]


def eval_traces(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON Lines file, `-` for standard input.")
    ],
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, max=1000, metavar="N", help="Traces at once (`ALETHEIA_CONCURRENCY`)."),
    ] = None,
    no_persist: Annotated[
        bool, typer.Option("--no-persist", help="Keep nothing but the output.")
    ] = False,
    judge: JudgeChoiceOption = JudgeOption.AUTO,
    output_file: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE.jsonl", help="Write one row a line to this file."),
    ] = None,
    decompose: DecomposeOption = True,
    repeat: Annotated[
        int, typer.Option(min=1, max=99, metavar="K", help="Judge K times and take the majority.")
    ] = 1,
    coverage: Annotated[
        CoverageOption,
        typer.Option(help="What covers a sub-question: a supported claim, or any about it."),
    ] = CoverageOption.GROUNDED,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Judge only the first N lines.")
    ] = None,
    max_bad_rows: Annotated[
        int | None,
        typer.Option(
            "--max-bad-rows", min=0, metavar="N", help="Stop after more than N bad lines."
        ),
    ] = None,
    renames: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="FIELD=KEY", help="Read `query`, `context` or `response` from KEY."
        ),
    ] = None,
    confident_only: Annotated[
        bool, typer.Option("--confident-only", help="Count a tentative cell as none.")
    ] = False,
    stop_after: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Stop after N equal failures in a row; 0 never stops."
        ),
    ] = 5,
    budget: BudgetOption = None,
    cache: CacheOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an unfinished run to the same output.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Say of each trace what its response left out, what it made up, and which layer to mend.

    Each line of FILE is `{"id"?, "query"?, "context": [text | {"text", "rank"?, "source"?,
    "score"?}], "response"}`. The summary goes to standard output, the rows to `--output`, one for
    every line in the order of the lines.

    Exit codes: 0 every trace is judged; 1 no file or no valid record; 2 a line was bad, a trace
    was not judged in full, or bad usage; 130 interrupted.
    """
    from aletheia.cli.eval_run import EvalRun
    from aletheia.config import settings
    from aletheia.sdk.trace_lines import parse_map

    changed = {"run_budget_usd": budget, "cache_enabled": cache}
    with settings.override(**{name: v for name, v in changed.items() if v is not None}) as now:
        run = EvalRun(
            settings=now,
            file=file,
            target=_checked_target(output_file, file, resume=resume),
            choice=judge.value,
            concurrency=concurrency,
            decompose=decompose,
            repeat=repeat,
            coverage=coverage.value,
            limit=limit,
            max_bad_rows=max_bad_rows,
            stop_after=stop_after,
            names=parse_map(renames or ()),
            persist=not no_persist,
            confident_only=confident_only,
            resume=resume,
            quiet=quiet,
        )
        totals = run.run()
    _show(totals, as_json=json)
    raise typer.Exit(totals.exit_code)


def _show(totals: EvaluateTotals, *, as_json: bool) -> None:
    from aletheia.pipeline.evaluate_totals import summary_json, summary_lines

    if as_json:
        body = json_library.dumps(summary_json(totals), ensure_ascii=False, indent=2)
        output.data(body + "\n")
        return
    for line in summary_lines(totals):
        output.text(line)


def _checked_target(path: Path | None, source: str, *, resume: bool) -> Path | None:
    from aletheia.errors import UsageError

    if path is None:
        if resume:
            raise UsageError("`--resume` needs the `--output` of the unfinished run")
        return None
    if path.exists() and not path.is_file():
        raise UsageError(f"`--output {path}` is no regular file", hint="name another one")
    if not path.parent.is_dir():
        raise UsageError(f"`--output {path}`: there is no directory `{path.parent}`")
    if source != "-" and path.exists() and Path(source).exists() and path.samefile(source):
        raise UsageError(f"`--output {path}` is the file that is read", hint="name another one")
    return path
