"""`aletheia gate`: hold a report against rules, for CI."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aletheia.cli import gate_options as options
from aletheia.cli import output
from aletheia.cli.compare import load_report, read_text, write_file
from aletheia.errors import DataError, UsageError

if TYPE_CHECKING:
    from aletheia.reports.gate import GateResult, Rules
    from aletheia.reports.gate_baseline import Regression
    from aletheia.reports.gate_facts import Facts
    from aletheia.schema.attribution import ProbeRate
    from aletheia.schema.report import BenchmarkReport

__all__ = ["gate"]

_RULES: Final = (
    "`--min-pass-rate`, `--min-accuracy`, `--min-healthy-rate`, `--min-coverage`, `--max-unmeasured`, "
    "`--max-rejections`, `--max-ungrounded`, `--min-context-precision`, `--min-context-recall`, "
    "`--min-faithfulness`, `--min-answer-similarity`, `--max-contamination`, `--baseline`"
)


def gate(
    report: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A report of `evaluate-ragas`, or the rows of `eval --output`."
        ),
    ],
    min_pass_rate: options.MinPassRate = None,
    min_accuracy: options.MinAccuracy = None,
    min_healthy_rate: options.MinHealthyRate = None,
    min_coverage: options.MinCoverage = None,
    max_unmeasured: options.MaxUnmeasured = None,
    max_rejections: options.MaxRejections = None,
    max_ungrounded: options.MaxUngrounded = None,
    min_context_precision: options.MinContextPrecision = None,
    min_context_recall: options.MinContextRecall = None,
    min_faithfulness: options.MinFaithfulness = None,
    min_answer_similarity: options.MinAnswerSimilarity = None,
    max_contamination: options.MaxContamination = None,
    probes: options.ProbesFile = None,
    use_interval: options.UseInterval = False,
    confident_only: options.ConfidentOnly = False,
    baseline: options.Baseline = None,
    alpha: options.Alpha = 0.05,
    junit: options.JUnitFile = None,
    markdown: options.MarkdownFile = None,
    github: options.GitHub = False,
    json: options.AsJson = False,
) -> None:
    """Hold a run against rules: every rule has to be met, and a missing figure meets none.

    At least one rule is needed. Rates and scores are between 0 and 1, and the bound itself is
    enough. With `--baseline` rates and metrics are tested for a drop over the same questions or
    traces, one-sided, at one level for all.

    Exit codes: 0 every rule is met; 3 one is not met, or what it asks was not measured; 2 bad
    usage, a file that is neither report nor rows, or a baseline that may not be compared with.
    """
    from aletheia.reports.gate import Rules

    metrics = {
        "context_precision": min_context_precision,
        "context_recall": min_context_recall,
        "faithfulness": min_faithfulness,
        "answer_similarity": min_answer_similarity,
    }
    rules = Rules(
        min_pass_rate=min_pass_rate,
        min_accuracy=min_accuracy,
        min_healthy_rate=min_healthy_rate,
        min_coverage=min_coverage,
        max_unmeasured=max_unmeasured,
        max_rejections=max_rejections,
        max_ungrounded=max_ungrounded,
        max_contamination=max_contamination,
        min_metrics={name: bound for name, bound in metrics.items() if bound is not None},
        use_interval=use_interval,
        confident_only=confident_only,
    )
    _check_rules(rules, baseline)
    result = _decided(report, rules, baseline, alpha, probes)
    _write(result, junit=junit, markdown=markdown)
    _show(result, github=github, as_json=json)
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _check_rules(rules: Rules, baseline: Path | None) -> None:
    if not rules.asks and baseline is None:
        raise UsageError("no rule is given, so there is nothing to decide", hint=f"give {_RULES}")
    bounds: Mapping[str, object] = {
        **rules.min_metrics,
        "pass rate": rules.min_pass_rate,
        "accuracy": rules.min_accuracy,
        "healthy rate": rules.min_healthy_rate,
        "coverage": rules.min_coverage,
        "unmeasured": rules.max_unmeasured,
        "ungrounded": rules.max_ungrounded,
        "contamination": rules.max_contamination,
    }
    for name, bound in bounds.items():
        # Not a number lies between any two bounds, as the options see it.
        if isinstance(bound, float) and not math.isfinite(bound):
            raise UsageError(f"the bound of {name} is `{bound}`", hint="give one from 0 to 1")


def _decided(
    file: Path, rules: Rules, baseline: Path | None, alpha: float, probes: Path | None
) -> GateResult:
    from aletheia.reports.gate import decide
    from aletheia.reports.gate_rows import is_rows

    text = read_text(file)
    if is_rows(text):
        facts, found = _of_rows(text, file, rules, baseline, alpha, probes)
    else:
        facts, found = _of_report(text, file, baseline, alpha, probes)
    if found is None:
        return decide(facts, rules)
    return decide(
        facts, rules, against=found.checks, baseline=str(baseline), compared=found.metrics
    )


def _of_report(
    text: str, file: Path, baseline: Path | None, alpha: float, probes: Path | None
) -> tuple[Facts, Regression | None]:
    from aletheia.reports.gate_baseline import regression
    from aletheia.reports.gate_facts import facts_of
    from aletheia.reports.gate_rows import is_rows

    run = load_report(text, file)
    by_probes = None if probes is None else _contamination(probes, run)
    facts = facts_of(run, str(file), contamination=by_probes)
    if baseline is None:
        return facts, None
    old = read_text(baseline)
    if is_rows(old):
        raise _other_kind(baseline, f"rows of `aletheia eval`, and `{file}` is a report")
    earlier = (str(baseline), load_report(old, baseline))
    return facts, regression((str(file), run), earlier, alpha=alpha)


def _of_rows(
    text: str, file: Path, rules: Rules, baseline: Path | None, alpha: float, probes: Path | None
) -> tuple[Facts, Regression | None]:
    from aletheia.reports.gate_baseline import row_regression
    from aletheia.reports.gate_rows import check_row_rules, is_rows, load_rows, row_facts

    check_row_rules(rules)
    if probes is not None:
        raise UsageError(
            f"`--probes {probes}` belongs to a report of `evaluate-ragas`, not to rows"
        )
    rows = load_rows(text, file)
    facts = row_facts(rows, str(file))
    if baseline is None:
        return facts, None
    old = read_text(baseline)
    if not is_rows(old):
        raise _other_kind(baseline, f"no rows of `aletheia eval`, and `{file}` does")
    earlier = (str(baseline), load_rows(old, baseline))
    return facts, row_regression((str(file), rows), earlier, alpha=alpha)


def _other_kind(baseline: Path, what: str) -> DataError:
    return DataError(
        f"it cannot be compared with: it holds {what}",
        file=baseline,
        hint="give a baseline that the same command wrote",
    )


def _contamination(file: Path, run: BenchmarkReport) -> ProbeRate:
    from aletheia.reports.attribution_document import contamination_of, load_probes

    return contamination_of(load_probes(read_text(file), file), run)


def _write(result: GateResult, *, junit: Path | None, markdown: Path | None) -> None:
    if junit is not None:
        from aletheia.reports.junit import render_junit

        write_file(junit, render_junit(result), "--junit")
    if markdown is not None:
        from aletheia.reports.markdown import render_markdown

        write_file(markdown, render_markdown(result), "--markdown")


def _show(result: GateResult, *, github: bool, as_json: bool) -> None:
    if as_json:
        from aletheia.reports.comparison_document import to_json

        output.data(to_json(result))
    else:
        from aletheia.reports.gate_text import render_gate

        output.block(render_gate(result, style=output.styled).rstrip("\n"))
    if github:
        from aletheia.reports.annotations import render_annotations

        for line in render_annotations(result):
            # GitHub reads both streams; standard output is for programs with `--json`.
            (output.note if as_json else output.text)(line)
