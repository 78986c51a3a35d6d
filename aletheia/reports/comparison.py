"""Two runs over the same questions, pair by pair: what differs, and what only seems to.

Questions are matched by id. Runs over other questions, another graph or with another judge are
refused unless the caller allows it: their figures would differ for another reason than the one
in question. All differences are the second run minus the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from aletheia.reports import numbers
from aletheia.reports.compare import NO_DIFFERENCE, NOT_MEASURED, TOO_FEW, Pair, paired_statistics
from aletheia.reports.comparison_match import (
    NamedReport,
    RowPair,
    check_comparable,
    match_rows,
    notes,
)
from aletheia.reports.comparison_modes import seen, source_of
from aletheia.reports.comparison_rates import (
    HIGHER,
    LOWER,
    RATES,
    Test,
    has_abstained,
    has_passed,
    is_right,
    rate_difference,
    verdict_of,
)
from aletheia.reports.comparison_signs import memory_signs, memory_verdict
from aletheia.reports.tally import replied
from aletheia.reports.words import spoken
from aletheia.schema.comparison import (
    Allowance,
    Difference,
    Flip,
    Matching,
    MeanDifference,
    PairComparison,
    RateDifference,
    RunsComparison,
    Side,
)
from aletheia.schema.report import METRICS, DetailedResult, MetricScore
from aletheia.schema.verification import Mode


def compare_runs(
    reports: Sequence[NamedReport], *, allowed: Collection[Allowance] = (), seed: int = 0
) -> RunsComparison:
    """Compare every report with the first. Raises `DataError` where that would mislead."""
    first, *others = reports
    pairs = tuple(compare_pair(first, other, allowed=allowed, seed=seed) for other in others)
    return RunsComparison(allowed=tuple(sorted(set(allowed))), pairs=pairs)


def compare_pair(
    first: NamedReport, second: NamedReport, *, allowed: Collection[Allowance] = (), seed: int = 0
) -> PairComparison:
    """Compare two reports. Raises `DataError` that names the file and the field that differs."""
    check_comparable(first, second, allowed)
    rows, matching = match_rows(first, second)
    metrics = tuple(metric_differences(rows, seed=seed, mixed="judge" in allowed))
    rates = tuple(
        found
        for name, test in RATES.items()
        if (found := rate_difference(name, rows, test)).total or name != "healthy"
    )
    ours, theirs = ([seen(row, Mode.STRICT) for row in side] for side in _unzipped(rows))
    signs = memory_signs(ours), memory_signs(theirs)
    return PairComparison(
        first=source_of(first[1], first[0]),
        second=source_of(second[1], second[0]),
        matching=matching,
        notes=tuple(notes(first[1], second[1])),
        metrics=metrics,
        rates=rates,
        first_signs=signs[0],
        second_signs=signs[1],
        flips=tuple(_flips(rows)),
        verdict=(
            *_verdict(matching, metrics, rates),
            *(f"First run: {line}" for line in memory_verdict(ours, signs[0])),
            *(f"Second run: {line}" for line in memory_verdict(theirs, signs[1])),
        ),
    )


def _unzipped(rows: Sequence[RowPair]) -> tuple[list[DetailedResult], list[DetailedResult]]:
    return [one for one, _ in rows], [two for _, two in rows]


# --- metrics ----------------------------------------------------------------------------------


def metric_differences(
    rows: Sequence[RowPair], *, seed: int = 0, mixed: bool = False
) -> Iterator[MeanDifference]:
    """Compare every metric that a row of either run carries.

    Rejected replies are in it: a mode that rejects more would otherwise look better for the rows
    it left out. `mixed` pairs scores of two implementations, which is refused otherwise.
    """
    named = {name for pair in rows for row in pair for name in row.metrics}
    for name in (*METRICS, *sorted(named - set(METRICS))):
        if name in named:
            yield _metric_difference(name, rows, seed, mixed=mixed)


def _metric_difference(
    name: str, rows: Sequence[RowPair], seed: int, *, mixed: bool
) -> MeanDifference:
    sides = [(one.metrics.get(name), two.metrics.get(name)) for one, two in rows]
    sides = [side for side in sides if any(map(_applies, side))]
    pairs = [pair for side in sides if (pair := metric_pair(*side, mixed=mixed))]
    found = paired_statistics(pairs, seed=seed)
    makers = {
        item.implementation for side in sides for item in side if item and item.value is not None
    }
    return MeanDifference(
        name=name,
        n=found.n,
        total=len(sides),
        first=found.baseline_mean,
        second=found.mean,
        difference=found.difference,
        low=found.low,
        high=found.high,
        p_value=found.p_value,
        detectable=found.detectable,
        verdict=verdict_of(found.n, found.difference, found.p_value),
        implementations=tuple(sorted(makers)),
    )


def _applies(score: MetricScore | None) -> bool:
    return score is not None and score.status != "not_applicable"


def metric_pair(
    first: MetricScore | None, second: MetricScore | None, *, mixed: bool = False
) -> Pair | None:
    """Return both values, the second first; None where one lacks, or two implementations made them."""
    if first is None or second is None or first.value is None or second.value is None:
        return None
    if first.implementation != second.implementation and not mixed:
        return None
    return second.value, first.value


# --- questions that ended otherwise -----------------------------------------------------------


def _flips(rows: Sequence[RowPair]) -> Iterator[Flip]:
    for one, two in rows:
        changed = tuple(
            name
            for name, test in _OUTCOMES.items()
            if test(one) is not None and test(two) is not None and test(one) != test(two)
        )
        if changed:
            yield Flip(
                id=one.id,
                question=one.question,
                changed=changed,
                first=_side(one),
                second=_side(two),
            )


_OUTCOMES: Final[dict[str, Test]] = {
    "replied": replied,
    "passed": has_passed,
    "correct": is_right,
    "abstained": has_abstained,
}


def _side(row: DetailedResult) -> Side:
    finding = next(iter(row.findings), None) if row.verified is False else None
    return Side(
        category=row.category,
        passed=has_passed(row),
        correct=is_right(row),
        reason=None if row.verified is not False else row.first_reason,
        finding=None if finding is None else f"{finding.kind} {finding.text}: {finding.reason}",
        error=row.error,
        answer=row.answer,
    )


# --- in words ---------------------------------------------------------------------------------


def _verdict(
    matching: Matching,
    metrics: Sequence[MeanDifference],
    rates: Sequence[RateDifference],
) -> Iterator[str]:
    if not matching.matched:
        yield "No question stands in both runs: there is nothing to compare."
        return
    measures = [*rates, *metrics]
    moved = [item for item in measures if item.verdict in (HIGHER, LOWER)]
    for item in moved:
        yield (
            f"{_name(item.name)} is {item.verdict} in the second run: "
            f"{numbers.signed(item.difference)} ({numbers.p_value(item.p_value)}, "
            f"n = {numbers.count(item.n)})."
        )
    still = [item for item in measures if item.verdict == NO_DIFFERENCE]
    if still:
        yield (
            f"No detectable difference: {', '.join(map(_could, still))}. In brackets: the size "
            "that would have been found with a chance of 80%."
        )
    for verdict in (TOO_FEW, NOT_MEASURED):
        names = [spoken(item.name) for item in measures if item.verdict == verdict]
        if names:
            yield f"{verdict.capitalize()}: {', '.join(names)}."


def _name(name: str) -> str:
    return spoken(name).capitalize()


def _could(item: Difference) -> str:
    """Say how large a difference would have been found: without it, silence says little."""
    if item.detectable is not None:
        return f"{spoken(item.name)} ({numbers.score(min(item.detectable, 1.0))})"
    return f"{spoken(item.name)} ({'no pair differs' if item.p_value == 1 else 'none'})"
