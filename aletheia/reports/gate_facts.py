"""What a gate can ask of a run. Another kind of run needs only another function to `Facts`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aletheia.reports.comparison_rates import is_healthy, is_right
from aletheia.reports.exact import exact
from aletheia.reports.tally import accepted, replied
from aletheia.reports.words import finding_words, kind_words
from aletheia.schema.attribution import ProbeRate
from aletheia.schema.proportion import wilson, wilson_bounds
from aletheia.schema.report import BenchmarkReport, DetailedResult, MetricSummary, Record


class RejectedQuestion(Record):
    """A question whose reply failed verification."""

    id: str
    reason: str
    finding: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A figure of a run, its 95 % bounds, and how many of the rows it applies to have it.

    `count` is the numerator of a rate.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    total: int
    count: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a gate can ask of a run.

    `verdicts` is the pass rate with all questions as its total, `failed` the replies that failed
    (None = nothing was verified). `incomplete` are questions that lack a reply, a verdict or a
    score. `contamination` is None where the run does not have it, `healthy` where no reply was
    diagnosed; `confident_healthy` counts tentative cells as none. `ungrounded` is the share with a
    claim that nothing supports. `rows` says that these are traces, not questions.
    """

    file: str
    questions: int
    verdicts: Measure
    accuracy: Measure
    failed: int | None
    metrics: Mapping[str, Measure]
    incomplete: tuple[str, ...]
    rejected: tuple[RejectedQuestion, ...]
    contamination: Measure | None = None
    healthy: Measure | None = None
    confident_healthy: Measure | None = None
    ungrounded: Measure | None = None
    confident_ungrounded: Measure | None = None
    rows: bool = False


def facts_of(
    report: BenchmarkReport, file: str, *, contamination: ProbeRate | None = None
) -> Facts:
    """Collect the figures of a benchmark run, all counted from its rows.

    `contamination` comes from probes of the same run; answers they could not decide are
    unmeasured.
    """
    rows = report.detailed_results
    known = [row for row in rows if replied(row) and row.verified is not None]
    failed = [row for row in known if not row.verified]
    told = [right for row in rows if (right := is_right(row)) is not None]
    return Facts(
        file=file,
        questions=len(rows),
        verdicts=measure_of(len(known) - len(failed), len(known), len(rows)),
        accuracy=measure_of(sum(told), len(told), len(rows)),
        failed=len(failed) if known else None,
        metrics={name: _of_metric(item) for name, item in report.aggregate_details.items()},
        incomplete=tuple(row.id for row in rows if _is_incomplete(row)),
        rejected=tuple(_rejected(row) for row in failed),
        healthy=_of_cells(rows, is_healthy, confident_only=False),
        confident_healthy=_of_cells(rows, is_healthy, confident_only=True),
        ungrounded=_of_cells(rows, _is_ungrounded, confident_only=False),
        confident_ungrounded=_of_cells(rows, _is_ungrounded, confident_only=True),
        contamination=None if contamination is None else _of_probes(contamination),
    )


def _of_cells(
    rows: Sequence[DetailedResult],
    test: Callable[[DetailedResult], bool | None],
    *,
    confident_only: bool,
) -> Measure | None:
    """Count among the accepted replies; one without a diagnosis of that is unmeasured."""
    kept = [row for row in rows if accepted(row)]
    if all(row.diagnosis is None for row in kept):
        return None
    told = [
        found
        for row in kept
        if row.diagnosis is not None and not (confident_only and row.diagnosis.tentative)
        if (found := test(row)) is not None
    ]
    return measure_of(sum(told), len(told), len(kept))


def _is_ungrounded(row: DetailedResult) -> bool | None:
    return None if row.diagnosis is None else row.diagnosis.flags.ungrounded


def measure_of(numerator: int, denominator: int, total: int) -> Measure:
    """Make a measure of two counts, with its Wilson interval."""
    rate = wilson(numerator, denominator)
    value = numerator / denominator if denominator else None
    return Measure(
        value=value, low=rate.low, high=rate.high, n=denominator, total=total, count=numerator
    )


def _of_probes(found: ProbeRate) -> Measure:
    """Bound the rate exactly, whatever interval the file of an earlier version holds."""
    made = measure_of(found.rate.numerator, found.rate.denominator, found.total)
    rate = exact(found.rate.numerator, found.rate.denominator)
    return replace(made, low=rate.low, high=rate.high)


def _of_metric(metric: MetricSummary) -> Measure:
    """Bound a mean as a share of the same size, rounded down and up: too wide, never too narrow."""
    low = high = None
    if metric.mean is not None and metric.measured:
        sum_of = round(metric.mean * metric.measured, 6)
        low = wilson_bounds(math.floor(sum_of), metric.measured)[0]
        high = wilson_bounds(math.ceil(sum_of), metric.measured)[1]
    return Measure(
        value=metric.mean,
        low=low,
        high=high,
        n=metric.measured,
        total=metric.total,
        note=metric.note,
    )


def _is_incomplete(row: DetailedResult) -> bool:
    if not replied(row) or row.verified is None:
        return True
    unmeasured = any(score.status == "unmeasured" for score in row.metrics.values())
    return accepted(row) and (unmeasured or not row.metrics)


def _rejected(row: DetailedResult) -> RejectedQuestion:
    finding = None
    if row.findings:
        first = row.findings[0]
        named = f"{kind_words(first.kind)} `{first.text}`: " if first.text else ""
        finding = f"{named}{finding_words(first.reason)}"
    return RejectedQuestion(id=row.id, reason=row.first_reason or "unknown", finding=finding)
