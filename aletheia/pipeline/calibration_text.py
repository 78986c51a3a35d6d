"""The calibration of a judge for people and as JSON, and its comparison with an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from aletheia.diagnosis.agreement import Agreement, FittedThreshold
from aletheia.diagnosis.correction import Estimate, difference
from aletheia.errors import DataError, UsageError
from aletheia.pipeline.calibration import CalibrationReport, CorrectedRate, KindReport
from aletheia.pipeline.judge_setup import identity_differences, spoken_identity
from aletheia.reports import numbers
from aletheia.reports.visible import one_line
from aletheia.schema.report import Rate

SCHEMA_VERSION: Final = 1

_NAMES: Final = {
    "response": "Whole responses: does the evidence carry all of it?",
    "claim": "Claims: does the evidence carry it?",
    "sufficiency": "Evidence: does it answer the query?",
}


def calibration_json(report: CalibrationReport) -> dict[str, Any]:
    """Return the report as plain values for JSON."""
    body: dict[str, Any] = TypeAdapter(CalibrationReport).dump_python(report, mode="json")
    return {"schema_version": SCHEMA_VERSION, **body}


def gate_failures(report: CalibrationReport, min_kappa: float) -> tuple[str, ...]:
    """Name the kinds of labels where kappa may lie below `min_kappa`, by its interval."""
    return tuple(
        f"{kind.kind}: kappa {_estimate(kind.agreement.kappa)}, at least {min_kappa:g} is asked for"
        for kind in report.kinds
        if kind.agreement.kappa.low is None or kind.agreement.kappa.low < min_kappa
    )


def against(report: CalibrationReport, earlier: Mapping[str, Any]) -> Iterator[str]:
    """Compare raw agreement with that of an earlier report.

    Raises `UsageError` where judge, labels or policy are others: then nothing can be compared;
    `DataError` where the earlier report cannot be read.
    """
    changed = identity_differences(_map(earlier, "judge"), report.judge)
    if changed:
        raise UsageError(
            f"the judge is another one: {'; '.join(changed)}",
            hint="figures of two judges are not compared; calibrate the new one and keep its report",
        )
    for name, now in (("labels", report.labels), ("policy", report.policy)):
        if earlier.get(name) != now:
            raise UsageError(f"the earlier report has other {name}: nothing can be compared")
    before = {str(kind["kind"]): kind for kind in earlier.get("kinds", ())}
    for kind in report.kinds:
        if kind.kind in before:
            old = Rate.model_validate(before[kind.kind]["agreement"]["raw"])
            new = kind.agreement.raw
            verdict = difference(new, old).verdict
            yield f"{kind.kind}: agreement {_rate(old)} before, {_rate(new)} now: {verdict}"


def _map(report: Mapping[str, Any], name: str) -> Mapping[str, str]:
    value = report.get(name)
    if not isinstance(value, Mapping):
        raise DataError("the earlier report cannot be read", field=name)
    return value


def calibration_lines(report: CalibrationReport, *, disagreements: int = 20) -> Iterator[str]:
    """Write the report, at most `disagreements` of each kind; `calibration_json` has all."""
    yield f"judge: {spoken_identity(report.judge)}"
    yield f"labels: {numbers.plural(report.traces, 'trace')}, policy: {report.policy or 'not stated'}"
    for kind in report.kinds:
        yield ""
        yield _NAMES[kind.kind]
        yield from _kind(kind, disagreements)
    for message in report.messages:
        yield f"a judge failed: {message}"


def _kind(kind: KindReport, most: int) -> Iterator[str]:
    found = kind.agreement
    table = found.confusion
    yield f"  items               {found.total}, measured {table.measured}"
    yield f"  kappa               {_estimate(found.kappa)}"
    yield f"  raw agreement       {_rate(found.raw)}"
    yield f"  always one label    {_share(found.constant)}"
    yield f"  base rate of Y      {_rate(found.base_rate)}"
    yield f"  balanced accuracy   {_share(found.balanced)}"
    yield "  confusion                 judge Y   judge N"
    yield f"    people Y          {table.true_positive:>11} {table.false_negative:>9}"
    yield f"    people N          {table.false_positive:>11} {table.true_negative:>9}"
    yield from _threshold(kind.threshold)
    if kind.check is not None:
        yield from _corrected(kind.check, "second half, corrected by the first")
    for rate in kind.rates:
        yield from _corrected(rate, "rows, corrected")
    yield from _disagreements(found, most)
    if found.unmeasured:
        yield f"  unmeasured: {', '.join(map(one_line, found.unmeasured[:most]))}"


def _threshold(fitted: FittedThreshold) -> Iterator[str]:
    if fitted.threshold is None:
        yield f"  threshold           none: {fitted.reason}"
        return
    tested = fitted.tested
    yield (
        f"  threshold           {fitted.threshold:.4f}, fitted on {fitted.fit_items}: "
        f"balanced accuracy {_share(fitted.fitted)}"
    )
    yield (
        f"    on the other {tested.confusion.measured}: balanced accuracy "
        f"{_share(tested.balanced)}, kappa {_estimate(tested.kappa)}"
    )


def _corrected(rate: CorrectedRate, how: str) -> Iterator[str]:
    yield f"  {rate.name}: {how}"
    said = "" if rate.labelled is None else f", people say {_rate(rate.labelled)}"
    yield f"    judge says {_rate(rate.apparent)}, corrected {_estimate(rate.corrected)}{said}"


def _disagreements(found: Agreement, most: int) -> Iterator[str]:
    if not found.disagreements:
        return
    more = len(found.disagreements) - most
    yield f"  disagreements: {len(found.disagreements)}"
    for item in found.disagreements[:most]:
        score = "" if item.score is None else f", score {numbers.score(item.score)}"
        yield f"    {one_line(item.id)}: people {item.label}, judge {item.verdict}{score}"
    if more > 0:
        yield f"    and {more} more: see `--json`"


def _rate(rate: Rate) -> str:
    text = numbers.count_of(rate.numerator, rate.denominator)
    if rate.value is None:
        return text
    return f"{numbers.score(rate.value)} [{numbers.interval(rate.low, rate.high)}], {text}"


def _estimate(found: Estimate) -> str:
    if found.value is None:
        return numbers.missing(found.reason)
    value = numbers.rounded(found.value)
    if found.low is None or found.high is None:
        return value
    return f"{value} [{numbers.rounded(found.low)} to {numbers.rounded(found.high)}]"


def _share(value: float | None) -> str:
    return numbers.score(value)
