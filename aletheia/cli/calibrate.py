"""`aletheia calibrate`: measure the judge in use against labels of people."""

from __future__ import annotations

import hashlib
import json as json_library
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from aletheia.cli import output
from aletheia.cli.eval import DecomposeOption, JudgeChoiceOption, JudgeOption
from aletheia.cli.evaluate_ragas import BudgetOption

if TYPE_CHECKING:
    from aletheia.config import Settings
    from aletheia.pipeline.calibration import CalibrationReport
    from aletheia.sdk.labels import LabelFile

__all__ = ["calibrate"]

NO_FILE: Final = 1
UNMEASURED: Final = 2
GATE_FAILED: Final = 3


def calibrate(
    labels: Annotated[
        Path, typer.Option(metavar="FILE", help="JSON Lines: traces with verdicts of people.")
    ],
    judge: JudgeChoiceOption = JudgeOption.AUTO,
    decompose: DecomposeOption = True,
    rows: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows of `aletheia eval` whose rates are corrected."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier report (`--json`) of the same judge."),
    ] = None,
    min_kappa: Annotated[
        float | None,
        typer.Option(
            min=-1, max=1, metavar="K", help="Fail where the interval of kappa begins below K."
        ),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Traces at once.")
    ] = None,
    budget: BudgetOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Measure the judge in use against labels of people, and correct its rates.

    Each line of the file is a trace with `label` (`Y` or `N`: the evidence carries the whole
    response), `claims` (a list of `{"text" | "start", "end", "label"}`) or `sufficient` (`Y` or
    `N`: the evidence answers the query). `policy` names the rule that the labels follow.

    Exit codes: 0 measured; 1 no file or no valid record; 2 a line was bad, a verdict is missing,
    or the judge is another than that of `--rows` or `--against`; 3 below `--min-kappa`.
    """
    from aletheia.config import settings
    from aletheia.pipeline.calibration_text import against as compared
    from aletheia.pipeline.calibration_text import gate_failures

    changed = {} if budget is None else {"run_budget_usd": budget}
    with settings.override(**changed) as now:
        found, digest = _read(labels)
        report = _report(
            now,
            found,
            digest,
            choice=judge.value,
            decompose=decompose,
            rows=rows,
            concurrency=concurrency,
        )
    comparison = list(compared(report, _earlier(against))) if against is not None else []
    _show(report, comparison, as_json=json)
    failures = () if min_kappa is None else gate_failures(report, min_kappa)
    for line in failures:
        output.note(line)
    if report.unmeasured or found.errors:
        raise typer.Exit(UNMEASURED)
    if failures:
        raise typer.Exit(GATE_FAILED)


def _show(report: CalibrationReport, comparison: list[str], *, as_json: bool) -> None:
    from aletheia.pipeline.calibration_text import calibration_json, calibration_lines

    if as_json:
        body = json_library.dumps(calibration_json(report), ensure_ascii=False, indent=2)
        output.data(body + "\n")
    else:
        for line in calibration_lines(report):
            output.text(line)
    tell = output.note if as_json else output.text
    for line in comparison:
        tell(line)


def _read(path: Path) -> tuple[LabelFile, str]:
    from aletheia.sdk.labels import read_labels

    try:
        raw = path.read_bytes()
    except OSError as error:
        output.error(f"`{path}` cannot be read: {error.strerror}")
        raise typer.Exit(NO_FILE) from None
    found = read_labels(raw.split(b"\n"), file=str(path))
    for bad in found.errors:
        output.note(str(bad))
    if not found.traces:
        output.error(f"`{path}` holds no valid record")
        raise typer.Exit(NO_FILE)
    return found, f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _report(
    now: Settings,
    found: LabelFile,
    digest: str,
    *,
    choice: str,
    decompose: bool,
    rows: Path | None,
    concurrency: int | None,
) -> CalibrationReport:
    import anyio

    from aletheia.pipeline.calibration import CalibrationOptions, calibrate_judge
    from aletheia.pipeline.judge_setup import diagnose_options, judge_kind, open_judges

    kind = judge_kind(now, choice)
    at_once = 1 if kind == "embedded" else concurrency or now.concurrency
    with open_judges(now, kind, concurrency=at_once, decompose=decompose) as judges:
        options = CalibrationOptions(
            judges=judges,
            diagnose=diagnose_options(),
            concurrency=at_once,
            budget_usd=now.run_budget_usd,
            labels=digest,
            policy=found.policy,
        )
        read = () if rows is None else _rows(rows)
        return anyio.run(partial(calibrate_judge, found.traces, options, read))


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    from aletheia.errors import DataError
    from aletheia.sdk.trace_lines import decode_object

    try:
        with path.open("rb") as handle:
            for number, raw in enumerate(handle, start=1):
                try:
                    yield decode_object(raw)
                except DataError as error:
                    raise DataError(error.message, file=path, line=number) from None
    except OSError as error:
        raise DataError(f"it cannot be read: {error.strerror}", file=path) from None


def _earlier(path: Path) -> Mapping[str, Any]:
    from aletheia.errors import DataError

    try:
        value = json_library.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"the earlier report cannot be read: {error}", file=path) from None
    if not isinstance(value, dict):
        raise DataError("the earlier report is no JSON object", file=path)
    return value
