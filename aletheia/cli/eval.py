"""`aletheia eval`: diagnose the traces of a file, or those that wait in the store."""

from __future__ import annotations

import json as json_library
from typing import TYPE_CHECKING

import typer

from aletheia.cli import eval_options as given
from aletheia.cli import output
from aletheia.cli.eval_options import (
    CoverageOption,
    DecomposeOption,
    JudgeChoiceOption,
    JudgeOption,
    ProgressOption,
)
from aletheia.cli.evaluate_ragas import BudgetOption, CacheOption

if TYPE_CHECKING:
    from aletheia.pipeline.evaluate_totals import EvaluateTotals

__all__ = ["DecomposeOption", "JudgeChoiceOption", "JudgeOption", "eval_traces"]


def eval_traces(
    file: given.FileArgument = None,
    concurrency: given.ConcurrencyOption = None,
    no_persist: given.PersistOption = False,
    project: given.ProjectOption = None,
    pending: given.PendingOption = False,
    judge: JudgeChoiceOption = JudgeOption.AUTO,
    output_file: given.OutputOption = None,
    input_format: given.InputFormatOption = None,
    renames: given.MapOption = None,
    split: given.SplitOption = None,
    delimiter: given.DelimiterOption = None,
    decompose: DecomposeOption = True,
    repeat: given.RepeatOption = 1,
    coverage: given.CoverageChoiceOption = CoverageOption.GROUNDED,
    limit: given.LimitOption = None,
    max_bad_rows: given.MaxBadRowsOption = None,
    confident_only: given.ConfidentOption = False,
    stop_after: given.StopAfterOption = 5,
    budget: BudgetOption = None,
    cache: CacheOption = None,
    resume: given.ResumeOption = False,
    json: given.JsonOption = False,
    progress: given.ProgressChoiceOption = ProgressOption.AUTO,
    quiet: given.QuietOption = False,
) -> None:
    """Say of each trace what its response left out, what it made up, and which layer to mend.

    FILE is JSON Lines, JSON, CSV, TSV, Parquet, or a Hugging Face dataset in a folder. A row is
    `{"id"?, "query"?, "context": [text | {"text", "rank"?, "source"?, "score"?}], "response"}`;
    names of other tools are read too. Traces and results go into the store, the summary to
    standard output, the rows to `--output`, one for every row in the order of the file.

    Exit codes: 0 every trace is judged; 1 no file or no valid record; 2 a row was bad, a trace
    was not judged in full, or bad usage; 130 interrupted.
    """
    from aletheia.cli.eval_progress import EvalProgress
    from aletheia.cli.eval_run import EvalRun
    from aletheia.config import settings
    from aletheia.sdk.trace_lines import parse_map
    from aletheia.tabular import Format

    source = given.one_source(file, pending=pending)
    changed = {"run_budget_usd": budget, "cache_enabled": cache, "project": project}
    with settings.override(**{name: v for name, v in changed.items() if v is not None}) as now:
        options = given.checked(
            given.EvalOptions(
                settings=now,
                file=source,
                target=output_file,
                choice=judge.value,
                concurrency=concurrency,
                decompose=decompose,
                repeat=repeat,
                coverage=coverage.value,
                limit=limit,
                max_bad_rows=max_bad_rows,
                stop_after=stop_after,
                names=parse_map(renames or ()),
                kind=None if input_format is None else Format(input_format.value),
                split=split,
                delimiter=delimiter,
                persist=not no_persist,
                confident_only=confident_only,
                resume=resume,
            )
        )
        with EvalProgress("none" if quiet else progress.value) as shown:
            totals = EvalRun(options=options, progress=shown).run()
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
