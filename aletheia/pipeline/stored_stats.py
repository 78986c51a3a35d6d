"""What a store holds, counted: statuses, cells, rates, cost, and the threshold of each project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from aletheia.config import Settings
from aletheia.diagnosis.rates import TraceRates, trace_rates
from aletheia.pipeline.rate_text import cell_lines, rate_lines
from aletheia.reports import numbers
from aletheia.reports.cells import THRESHOLDS
from aletheia.schema.cost import Cost
from aletheia.schema.stored import TraceFilter, TraceStatus

if TYPE_CHECKING:
    from aletheia.diagnosis.calibrate import Threshold
    from aletheia.store import TraceStore

_INDENT: Final = " " * 13


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStats:
    """Counts over the traces that a filter means.

    `thresholds` are by project and judge; they are learned from all traces of the two.
    """

    statuses: Mapping[TraceStatus, int]
    projects: Mapping[str, int]
    rates: TraceRates
    cost: Cost
    thresholds: Mapping[tuple[str, str], Threshold]

    @property
    def total(self) -> int:
        """All traces meant, whatever their status."""
        return sum(self.statuses.values())


def stats_of(
    store: TraceStore,
    settings: Settings,
    where: TraceFilter | None = None,
    *,
    confident_only: bool = False,
) -> StoredStats:
    """Count the traces that `where` means. With `confident_only` a tentative cell is none."""
    from aletheia.pipeline.stored import threshold_for

    where = where or TraceFilter()
    statuses = store.count(where)
    kinds = store.diagnoses(where)
    judges = store.judges(where)
    projects: Counter[str] = Counter()
    for (project, _), count in judges.items():
        projects[project] += count
    return StoredStats(
        statuses=statuses,
        projects=projects,
        rates=trace_rates(
            (kind for kind, count in kinds.items() for _ in range(count)),
            pending=statuses.get(TraceStatus.PENDING, 0),
            failed=statuses.get(TraceStatus.FAILED, 0),
            confident_only=confident_only,
        ),
        cost=store.cost(where),
        thresholds={
            (project, judge): threshold_for(store, settings, project, judge)
            for project, judge in judges
            if judge is not None
        },
    )


def stats_lines(stats: StoredStats) -> Iterator[str]:
    """Write the counts for a person, at most 80 columns."""
    counts = ", ".join(
        f"{numbers.count(stats.statuses.get(status, 0))} {status}" for status in TraceStatus
    )
    yield f"{numbers.plural(stats.total, 'trace')}: {counts}"
    if not stats.total:
        return
    if stats.rates.evaluated:
        yield ""
        yield from cell_lines(stats.rates)
    yield ""
    yield from rate_lines(stats.rates)
    if stats.rates.tentative:
        told = numbers.count_of(stats.rates.tentative, stats.rates.evaluated)
        yield f"{'tentative':<20}{told} cells"
    cost = stats.cost
    if cost.calls:
        floor = "at least " if cost.unpriced and cost.usd is not None else ""
        money = numbers.money(cost.usd, "price not known")
        yield f"{'models':<20}{numbers.plural(cost.calls, 'call')}, {floor}{money}"
    yield from _projects(stats)


def _projects(stats: StoredStats) -> Iterator[str]:
    yield ""
    yield "projects"
    for name, count in stats.projects.items():
        yield f"  {numbers.count(count):>9}  {name}"
        for (project, judge), threshold in stats.thresholds.items():
            if project == name:
                said = (
                    f"judged by {judge}: sufficiency is high from "
                    f"{numbers.score(threshold.value)}, {THRESHOLDS[threshold.source]}"
                )
                yield from wrap(said, 78, initial_indent=_INDENT, subsequent_indent=_INDENT)


def stats_json(stats: StoredStats) -> dict[str, Any]:
    """Return the counts as plain values for JSON."""
    return {
        "total": stats.total,
        "statuses": {status.value: stats.statuses.get(status, 0) for status in TraceStatus},
        "projects": {
            name: {
                "traces": count,
                "judges": {
                    judge: {
                        "threshold": threshold.value,
                        "threshold_source": threshold.source,
                        "healthy_traces": threshold.traces,
                    }
                    for (project, judge), threshold in stats.thresholds.items()
                    if project == name
                },
            }
            for name, count in stats.projects.items()
        },
        "rates": stats.rates.model_dump(mode="json"),
        "cost": stats.cost.model_dump(mode="json"),
    }
