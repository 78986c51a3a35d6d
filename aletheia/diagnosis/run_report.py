"""What the diagnoses of a benchmark run came to: cells, rates, and what to do most often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from aletheia.diagnosis.rates import Share, trace_rates
from aletheia.schema.diagnosis import Diagnosis
from aletheia.schema.proportion import wilson
from aletheia.schema.report import DetailedResult
from aletheia.schema.run_diagnosis import (
    DiagnosisReport,
    RangedRate,
    ReasonCount,
    SuggestionCount,
)


def diagnosis_report(
    rows: Sequence[DetailedResult], judge: Mapping[str, str]
) -> DiagnosisReport | None:
    """Count the cells of a run; None where it had no judge.

    A rejected reply and one that never came have no cell, and are in no rate but `healthy_of_all`,
    which takes every rejected reply as not healthy.
    """
    if not judge:
        return None
    diagnoses = [row.diagnosis for row in rows if row.diagnosis is not None]
    rates = trace_rates(diagnoses)
    cells = [item for item in diagnoses if item.failure_cell is not None]
    rejected = sum(row.category != "error" and row.grounding_rejected for row in rows)
    healthy = rates.healthy.rate
    threshold, source = _threshold(diagnoses)
    return DiagnosisReport(
        judge=dict(judge),
        threshold=threshold,
        threshold_source=source,
        total=len(rows),
        diagnosed=len(cells),
        tentative=sum(item.tentative for item in cells),
        cells=rates.cells,
        tentative_cells=rates.tentative_cells,
        not_diagnosed=_reasons(rows),
        healthy=_ranged(rates.healthy),
        adjusted=_ranged(rates.adjusted),
        honest_abstention=_ranged(rates.honest_abstention),
        over_refusal=_ranged(rates.over_refusal),
        healthy_of_all=wilson(healthy.numerator, healthy.denominator + rejected),
        suggestions=_suggestions(rows),
    )


def _threshold(diagnoses: Sequence[Diagnosis]) -> tuple[float | None, str | None]:
    """Return the threshold of the run: it is the same for every row."""
    first = next(iter(diagnoses), None)
    return (None, None) if first is None else (first.threshold, first.threshold_source)


def _reasons(rows: Sequence[DetailedResult]) -> tuple[ReasonCount, ...]:
    counts = Counter(row.not_diagnosed for row in rows if row.not_diagnosed is not None)
    return tuple(
        ReasonCount(reason=reason, count=count)
        for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _suggestions(rows: Sequence[DetailedResult]) -> tuple[SuggestionCount, ...]:
    given = [row.suggestion for row in rows if row.suggestion is not None]
    titles = {item.slug: item.title for item in given}
    counts = Counter(item.slug for item in given)
    return tuple(
        SuggestionCount(slug=slug, title=titles[slug], count=count)
        for slug, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _ranged(share: Share) -> RangedRate:
    return RangedRate(
        rate=share.rate,
        total=share.total,
        low=None if share.low is None else round(share.low, 6),
        high=None if share.high is None else round(share.high, 6),
        tentative=share.tentative,
    )
