"""Is a run worse than an earlier one? One-sided paired tests, one level for all of them.

The difference itself decides nothing: two runs of the same system differ. The level is shared
over the measures by Holm's method, so that a gate over five measures does not fail five times as
often by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aletheia.reports import numbers
from aletheia.reports.compare import Pair, paired_statistics
from aletheia.reports.comparison import metric_pair
from aletheia.reports.comparison_match import NamedReport, RowPair, check_comparable, match_rows
from aletheia.reports.comparison_modes import seen
from aletheia.reports.comparison_rates import (
    Test,
    changes_of,
    has_passed,
    is_healthy,
    is_right,
)
from aletheia.reports.gate import DEFAULT_COVERAGE, GateCheck, plain
from aletheia.reports.gate_rows import (
    FAITHFULNESS,
    SUFFICIENCY,
    TraceRow,
    check_rows_comparable,
    grounded,
    healthy,
    rows_by_id,
)
from aletheia.reports.words import spoken
from aletheia.schema.comparison import Matching
from aletheia.schema.report import METRICS

NamedRows = tuple[str, Sequence[TraceRow]]
"""Rows and the file they came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """One measure against the baseline; `p_value` is that of a drop as large by chance."""

    name: str
    n: int
    total: int
    difference: float | None
    p_value: float | None
    detectable: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """All measures against a baseline: the checks, and the metrics that they rest on."""

    checks: tuple[GateCheck, ...]
    metrics: tuple[str, ...]


def regression(
    report: NamedReport, baseline: NamedReport, *, alpha: float = 0.05, seed: int = 0
) -> Regression:
    """Test every measure that both runs have for a drop.

    Raises `DataError` where the two were made over different questions or graphs, or judged by
    different judges: no such difference is a regression.
    """
    check_comparable(baseline, report)
    rows, matching = match_rows(baseline, report)
    # A mode is a view: the baseline is seen in the mode of the run that is held against it.
    mode = report[1].provenance.mode
    rows = [(seen(one, mode), two) for one, two in rows]
    names = [name for name in METRICS if _carried(rows, name)]
    rates: dict[str, Test] = {"pass rate": has_passed, "accuracy": is_right}
    if any(is_healthy(one) is not None for one, _ in rows):
        rates["healthy rate"] = is_healthy
    tests = len(rates) + len(names)
    drops = [
        *(_rate_drop(name, rows, test, alpha / tests) for name, test in rates.items()),
        *(_metric_drop(name, rows, alpha / tests, seed) for name in names),
    ]
    adjusted = holm([drop.p_value for drop in drops])
    checks = (_check(drop, p, alpha) for drop, p in zip(drops, adjusted, strict=True))
    return Regression(checks=(_matched(matching), *checks), metrics=tuple(names))


def row_regression(
    rows: NamedRows, baseline: NamedRows, *, alpha: float = 0.05, seed: int = 0
) -> Regression:
    """Test rows of `aletheia eval` for a drop, matched by id.

    Raises `DataError` for rows without ids, of other traces or of another judge.
    """
    check_rows_comparable(rows[1], rows[0], baseline[1], baseline[0])
    before, after = rows_by_id(baseline[1], baseline[0]), rows_by_id(rows[1], rows[0])
    pairs = [(row, after[name]) for name, row in before.items() if name in after]
    lost = tuple(row.name for name, row in before.items() if name not in after)
    scores: dict[str, Callable[[TraceRow], float | None]] = {
        FAITHFULNESS: lambda row: row.faithfulness_score,
        SUFFICIENCY: lambda row: row.sufficiency_score,
    }
    carried = [name for name in scores if any(scores[name](one) is not None for one, _ in pairs)]
    tests = {"healthy rate": healthy, "pass rate": grounded}
    level = alpha / (len(tests) + len(carried))
    drops = [
        _sides_drop(name, [(test(one), test(two)) for one, two in pairs], level)
        for name, test in tests.items()
    ]
    for name in carried:
        sides = [(scores[name](one), scores[name](two)) for one, two in pairs]
        applied = [side for side in sides if side != (None, None)]
        both = [(two, one) for one, two in applied if one is not None and two is not None]
        drops.append(_mean_drop(name, both, len(applied), level, seed))
    adjusted = holm([drop.p_value for drop in drops])
    checks = (_check(drop, p, alpha) for drop, p in zip(drops, adjusted, strict=True))
    return Regression(
        checks=(_covered("traces of the baseline", len(pairs), lost), *checks),
        metrics=tuple(carried),
    )


def _matched(found: Matching) -> GateCheck:
    """A run that leaves questions out is not better for it."""
    lost = (*found.only_first, *found.other_text)
    return _covered("questions of the baseline", found.matched, lost)


def _covered(name: str, matched: int, lost: Sequence[str]) -> GateCheck:
    known = matched + len(lost)
    enough = known > 0 and matched >= DEFAULT_COVERAGE * known
    named = f"; not in this run: {', '.join(lost)}" if lost else ""
    return GateCheck(
        name=name,
        status="met" if enough else "not_met" if known else "unmeasured",
        rule=f"at least {plain(DEFAULT_COVERAGE)} of them",
        value=numbers.percent(matched, known),
        detail=f"{numbers.count_of(matched, known)}{named}",
    )


def _carried(rows: Sequence[RowPair], name: str) -> bool:
    """Tell whether the baseline measured it: what it lacks cannot get worse."""
    before = (one.metrics.get(name) for one, _ in rows)
    return any(score is not None and score.value is not None for score in before)


def _rate_drop(name: str, rows: Sequence[RowPair], test: Test, alpha: float) -> Drop:
    return _sides_drop(name, [(test(one), test(two)) for one, two in rows], alpha)


def _sides_drop(name: str, sides: Sequence[tuple[bool | None, bool | None]], alpha: float) -> Drop:
    found, total = changes_of(sides)
    return Drop(
        name=name,
        n=found.n,
        total=total,
        difference=found.difference,
        p_value=found.p_value("less"),
        detectable=found.detectable("less", alpha),
    )


def _metric_drop(name: str, rows: Sequence[RowPair], alpha: float, seed: int) -> Drop:
    sides = [(one.metrics.get(name), two.metrics.get(name)) for one, two in rows]
    sides = [
        side for side in sides if any(s is not None and s.status != "not_applicable" for s in side)
    ]
    pairs = [pair for side in sides if (pair := metric_pair(*side))]
    return _mean_drop(name, pairs, len(sides), alpha, seed)


def _mean_drop(name: str, pairs: Sequence[Pair], total: int, alpha: float, seed: int) -> Drop:
    found = paired_statistics(pairs, seed=seed, alternative="less", alpha=alpha)
    return Drop(
        name=spoken(name),
        n=found.n,
        total=total,
        difference=found.difference,
        p_value=found.p_value,
        detectable=found.detectable,
    )


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for their number (Holm, 1979); None stays None and still counts."""
    order = sorted(
        (at for at, p in enumerate(p_values) if p is not None), key=lambda at: p_values[at] or 0.0
    )
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, at in enumerate(order):
        largest = max(largest, min(1.0, (p_values[at] or 0.0) * (len(p_values) - rank)))
        adjusted[at] = largest
    return adjusted


def _check(drop: Drop, adjusted: float | None, alpha: float) -> GateCheck:
    name = f"{drop.name} against the baseline"
    rule = f"no drop, one-sided at {alpha:g}"
    reach = f"n = {numbers.count_of(drop.n, drop.total)}"
    if adjusted is None or drop.difference is None or 0.5**drop.n > alpha:
        return GateCheck(
            name=name,
            status="unmeasured",
            rule=rule,
            value=numbers.signed(drop.difference),
            detail=f"{reach}: too few pairs for any drop to be detected",
        )
    worse = adjusted < alpha and drop.difference < 0
    parts = [reach, numbers.p_value(drop.p_value), f"{numbers.p_value(adjusted)} adjusted"]
    if drop.detectable is not None:
        parts.append(f"could detect {numbers.score(min(drop.detectable, 1.0))}")
    return GateCheck(
        name=name,
        status="not_met" if worse else "met",
        rule=rule,
        value=numbers.signed(drop.difference),
        detail=", ".join(parts) + ("" if worse else "; no detectable drop"),
    )
