"""`aletheia audit-judge`: what changes the judge's mind and should not."""

from __future__ import annotations

import json as json_library
from collections.abc import Iterator
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aletheia.cli import output
from aletheia.cli.eval import JudgeChoiceOption, JudgeOption
from aletheia.cli.evaluate_ragas import BudgetOption

if TYPE_CHECKING:
    from aletheia.config import Settings
    from aletheia.judges.base import TraceCase
    from aletheia.pipeline.audit import AuditReport, Flips
    from aletheia.schema.report import Rate

__all__ = ["audit_judge"]

NO_FILE: Final = 1
UNMEASURED: Final = 2
_BUILT_IN: Final = "audit_traces.jsonl"


def audit_judge(
    traces: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON Lines of traces; without it a small set."),
    ] = None,
    judge: JudgeChoiceOption = JudgeOption.AUTO,
    repeats: Annotated[
        int, typer.Option(min=2, max=99, metavar="K", help="Times each trace is judged as it is.")
    ] = 3,
    shuffles: Annotated[
        int, typer.Option(min=1, max=99, metavar="N", help="Other orders of the units.")
    ] = 3,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the orders.")] = 0,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Take only the first N traces.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Traces at once.")
    ] = None,
    budget: BudgetOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls it takes, and make none.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Find out whether order, length, another try or an order in the evidence move the judge.

    Needs no labels. Canaries are claims whose verdict is known: copied from the evidence, or about
    a name that does not exist.

    Exit codes: 0 audited; 1 no file or no valid trace; 2 no verdict could be had.
    """
    from aletheia.config import settings

    changed = {} if budget is None else {"run_budget_usd": budget}
    with settings.override(**changed) as now:
        cases = _read(traces)[:limit]
        report = _report(
            now,
            cases,
            choice=judge.value,
            repeats=repeats,
            shuffles=shuffles,
            seed=seed,
            concurrency=concurrency,
            dry_run=dry_run,
        )
    if report is None:
        return
    _show(report, as_json=json)
    if not report.measured:
        raise typer.Exit(UNMEASURED)


def _report(
    now: Settings,
    cases: list[tuple[str, TraceCase]],
    *,
    choice: str,
    repeats: int,
    shuffles: int,
    seed: int,
    concurrency: int | None,
    dry_run: bool,
) -> AuditReport | None:
    import anyio

    from aletheia.pipeline.audit import AuditOptions
    from aletheia.pipeline.audit import audit_judge as audited
    from aletheia.pipeline.judge_setup import judge_kind, open_judges

    kind = judge_kind(now, choice)
    at_once = 1 if kind == "embedded" else concurrency or now.concurrency
    with open_judges(now, kind, concurrency=at_once) as judges:
        options = AuditOptions(
            judges=judges,
            repeats=repeats,
            shuffles=shuffles,
            seed=seed,
            concurrency=at_once,
            budget_usd=now.run_budget_usd,
        )
        _tell_calls(now, kind, len(cases), options.calls_a_trace)
        return None if dry_run else anyio.run(partial(audited, cases, options))


def _tell_calls(now: Settings, kind: str, traces: int, calls: int) -> None:
    if kind == "llm":
        model = f"`{now.judge_model}` and `{now.decomposer_model}`"
        output.note(f"{traces} traces, about {traces * calls} calls to {model}")
    else:
        output.note(f"{traces} traces, the embedded judges, no calls")


def _read(path: Path | None) -> list[tuple[str, TraceCase]]:
    from aletheia.sdk.trace_lines import read_trace_line

    name = "the built-in traces" if path is None else str(path)
    found = []
    for at, raw in enumerate(_lines(path), start=1):
        if not raw.strip():
            continue
        line = read_trace_line(raw, at, file=name)
        if line.error is not None:
            output.note(str(line.error))
        elif line.trace is not None:
            found.append((str(line.id or f"line {at}"), line.trace.case))
    if not found:
        output.error(f"`{name}` holds no valid trace")
        raise typer.Exit(NO_FILE)
    return found


def _lines(path: Path | None) -> list[bytes]:
    if path is None:
        source = resources.files("aletheia.pipeline") / "data" / _BUILT_IN
        return source.read_bytes().split(b"\n")
    try:
        return path.read_bytes().split(b"\n")
    except OSError as error:
        output.error(f"`{path}` cannot be read: {error.strerror}")
        raise typer.Exit(NO_FILE) from None


def _show(report: AuditReport, *, as_json: bool) -> None:
    if as_json:
        from pydantic import TypeAdapter

        from aletheia.pipeline.audit import AuditReport

        body = TypeAdapter(AuditReport).dump_python(report, mode="json")
        output.data(json_library.dumps(body, ensure_ascii=False, indent=2) + "\n")
        return
    for line in _text(report):
        output.text(line)


def _text(report: AuditReport) -> Iterator[str]:
    from aletheia.pipeline.judge_setup import spoken_identity

    yield f"judge: {spoken_identity(report.judge)}"
    yield f"traces: {report.traces}, seed {report.seed}"
    yield ""
    yield "Verdicts that changed, although nothing about the item had"
    yield f"  units in another order   {_flips(report.order)}"
    yield f"  units about nothing      {_flips(report.length)}"
    stable = report.repeat
    yield f"  another try              {_rate(stable.flip_rate)}"
    if stable.mean_agreement is not None:
        yield f"    agreement of repeats   {stable.mean_agreement:.2f}"
    for flips in (report.order, report.length):
        for flip in flips.examples:
            yield f"    {flip.trace} {flip.item}: {flip.before} became {flip.after}"
    yield ""
    yield "Canaries that got the verdict they have to get"
    for canary in report.canaries:
        lost = f", {canary.unmeasured} unmeasured" if canary.unmeasured else ""
        yield f"  {canary.name:<38} {_rate(canary.right)}{lost}"
    for message in report.messages:
        yield f"a judge failed: {message}"


def _flips(flips: Flips) -> str:
    ways = f" ({flips.to_supported} to Y, {flips.to_unsupported} to N)" if flips.examples else ""
    lost = f", {flips.unmeasured} unmeasured" if flips.unmeasured else ""
    return f"{_rate(flips.rate)}{ways}{lost}"


def _rate(rate: Rate) -> str:
    from aletheia.reports import numbers

    if rate.value is None or rate.low is None or rate.high is None:
        return "nothing to compare"
    low, high = numbers.percent_of(rate.low), numbers.percent_of(rate.high)
    return f"{rate.numerator} of {rate.denominator} [{low}–{high}]"
