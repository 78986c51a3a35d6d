"""`aletheia gate`: hold a report against rules, for CI."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aletheia.cli import output
from aletheia.cli.compare import read_report, read_text, write_file
from aletheia.errors import UsageError

if TYPE_CHECKING:
    from aletheia.reports.gate import GateResult, Rules
    from aletheia.schema.attribution import ProbeRate
    from aletheia.schema.report import BenchmarkReport

__all__ = ["gate"]

_RULES: Final = (
    "`--min-pass-rate`, `--min-accuracy`, `--min-healthy-rate`, `--min-coverage`, `--max-unmeasured`, "
    "`--max-rejections`, `--min-context-precision`, `--min-context-recall`, "
    "`--min-faithfulness`, `--min-answer-similarity`, `--max-contamination`, `--baseline`"
)


def gate(
    report: Annotated[
        Path, typer.Argument(metavar="REPORT", help="A report of `evaluate-ragas` (JSON).")
    ],
    min_pass_rate: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="X", help="Least share of replies that pass."),
    ] = None,
    min_accuracy: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="X", help="Least share of right answers and right abstentions."
        ),
    ] = None,
    min_healthy_rate: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="X", help="Least share of diagnosed replies that are healthy."
        ),
    ] = None,
    min_coverage: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="X",
            help="Least share measured, of every measure. Without it 0.9, of those in the rules.",
        ),
    ] = None,
    max_unmeasured: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="X", help="Most questions without a reply, verdict or score."
        ),
    ] = None,
    max_rejections: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Most replies that fail verification.")
    ] = None,
    min_context_precision: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="X", help="Least mean of this metric.")
    ] = None,
    min_context_recall: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="X", help="Least mean of this metric.")
    ] = None,
    min_faithfulness: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="X", help="Least mean of this metric.")
    ] = None,
    min_answer_similarity: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="X", help="Least mean of this metric.")
    ] = None,
    max_contamination: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="X", help="Most answers shown to come from memory."),
    ] = None,
    probes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Result of `aletheia probe` for the same run: contamination."
        ),
    ] = None,
    use_interval: Annotated[
        bool,
        typer.Option("--use-interval", help="Hold the worse bound of the 95 % interval to it."),
    ] = False,
    confident_only: Annotated[
        bool, typer.Option("--confident-only", help="Count a tentative cell as none.")
    ] = False,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="OLD.json", help="An earlier report that nothing may be worse than."),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(min=0.001, max=0.5, metavar="A", help="Level of all tests against it."),
    ] = 0.05,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a Markdown summary.")
    ] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Also print annotations for GitHub Actions.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the decision as JSON.")] = False,
) -> None:
    """Hold a report against rules: every rule has to be met, and a missing figure meets none.

    At least one rule is needed. Rates and scores are between 0 and 1, and the bound itself is
    enough. With `--baseline` the pass rate, the accuracy and every metric are tested for a drop
    over the same questions, one-sided, at one level for all.

    Exit codes: 0 every rule is met; 3 one is not met, or what it asks was not measured; 2 bad
    usage, a file that is no report, or a baseline that may not be compared with.
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
        max_contamination=max_contamination,
        min_metrics={name: bound for name, bound in metrics.items() if bound is not None},
        use_interval=use_interval,
        confident_only=confident_only,
    )
    _check_rules(rules, baseline)
    result = _decided((str(report), read_report(report)), rules, baseline, alpha, probes)
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
        "contamination": rules.max_contamination,
    }
    for name, bound in bounds.items():
        # Not a number lies between any two bounds, as the options see it.
        if isinstance(bound, float) and not math.isfinite(bound):
            raise UsageError(f"the bound of {name} is `{bound}`", hint="give one from 0 to 1")


def _decided(
    named: tuple[str, BenchmarkReport],
    rules: Rules,
    baseline: Path | None,
    alpha: float,
    probes: Path | None,
) -> GateResult:
    from aletheia.reports.gate import decide
    from aletheia.reports.gate_facts import facts_of

    found_by = None if probes is None else _contamination(probes, named[1])
    facts = facts_of(named[1], named[0], contamination=found_by)
    if baseline is None:
        return decide(facts, rules)
    from aletheia.reports.gate_baseline import regression

    found = regression(named, (str(baseline), read_report(baseline)), alpha=alpha)
    return decide(
        facts, rules, against=found.checks, baseline=str(baseline), compared=found.metrics
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
