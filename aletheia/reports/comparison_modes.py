"""One run as each mode shows it. No model is asked again.

A mode is a view: the verdict over a reply is the same in each. Only the reading of citations
differs: lenient reads forms such as `(E1)` that strict does not, so the two can come to different
verdicts over one reply. Where a reader is given, every reply in the file is read both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aletheia.reports import numbers
from aletheia.reports.comparison_match import rows_by_id
from aletheia.reports.comparison_signs import all_reasons, memory_signs, memory_verdict
from aletheia.reports.tally import abstention_report, accepted, metric_summaries, replied
from aletheia.schema.comparison import ModesComparison, ModeView, ReadingDifference, Sign, Source
from aletheia.schema.proportion import wilson
from aletheia.schema.report import BenchmarkReport, DetailedResult, Rate
from aletheia.schema.verification import Category, Judged, Mode, RejectionReason

Readings = Mapping[Mode, Judged]
Reader = Callable[[DetailedResult], Readings | None]
"""Verifies a row's reply again in every mode; None where the row holds no reply to read."""


def source_of(report: BenchmarkReport, file: str) -> Source:
    """Say what a report is and who made it."""
    run = report.provenance
    generator = run.generator_model
    if run.generator_model != run.generator:
        generator = f"{run.generator}, {run.generator_model}"
    return Source(
        file=file,
        created_at=run.created_at,
        mode=run.mode,
        generator=generator,
        metrics_by=run.metrics_by,
        questions=len(report.detailed_results),
    )


def compare_modes(
    report: BenchmarkReport, file: str, *, reader: Reader | None = None
) -> ModesComparison:
    """Show the replies of one run in every mode."""
    rows = tuple(rows_by_id((file, report)).values())
    read = {row.id: found for row in rows if reader and (found := _read(reader, row))}
    shown = show_modes(rows, read)
    return ModesComparison(
        report=source_of(report, file),
        views=shown.views,
        reread=len(read),
        not_reread=sum(replied(row) for row in rows) - len(read),
        readings=tuple(_reading_differences(read)),
        changed=tuple(_changed(rows, read, report.provenance.mode)),
        gap=shown.gap,
        signs=shown.signs,
        verdict=shown.verdict,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModesShown:
    """What every mode makes of the same replies; `gap` are those that only lenient keeps."""

    views: tuple[ModeView, ...]
    gap: Rate
    signs: tuple[Sign, ...]
    verdict: tuple[str, ...]


def show_modes(rows: Sequence[DetailedResult], read: Mapping[str, Readings]) -> ModesShown:
    """Show rows in every mode. `read` has replies verified in each; else the row's verdict counts."""
    strict = [seen(row, Mode.STRICT, read.get(row.id)) for row in rows]
    gap, signs = _gap(rows, read), memory_signs(strict)
    return ModesShown(
        views=tuple(mode_view(rows, mode, read) for mode in Mode),
        gap=gap,
        signs=signs,
        verdict=(*memory_verdict(strict, signs), *_gap_words(gap)),
    )


def _read(reader: Reader, row: DetailedResult) -> Readings | None:
    return reader(row) if replied(row) else None


def mode_view(rows: Sequence[DetailedResult], mode: Mode, read: Mapping[str, Readings]) -> ModeView:
    """Tally the rows as `mode` shows them."""
    shown = [seen(row, mode, read.get(row.id)) for row in rows]
    replies = [row for row in shown if replied(row)]
    known = [row for row in replies if row.verified is not None]
    found = abstention_report(shown)
    kept = sum(map(accepted, replies))
    return ModeView(
        mode=mode,
        kept=kept,
        rejected=len(replies) - kept,
        unverified=len(replies) - len(known),
        kept_failed=sum(accepted(row) and row.verified is False for row in replies),
        errors=len(shown) - len(replies),
        pass_rate=wilson(sum(row.verified is True for row in known), len(known)),
        accuracy=found.accuracy,
        accuracy_when_answered=found.accuracy_when_answered,
        abstention=wilson(sum(row.abstained for row in replies), len(replies)),
        metrics=metric_summaries(shown),
    )


def seen(row: DetailedResult, mode: Mode, read: Readings | None = None) -> DetailedResult:
    """Return the row as `mode` shows it; one without a reply stays as it is.

    `verified` stays the plain verdict, in mode `off` too, where only the effect is left out. A
    reply that holds no answer is rejected in every mode.
    """
    if not replied(row):
        return row
    if read is not None:
        return _from_reading(row, read[mode])
    failed = row.verified is False
    rejected = row.parse_problem is not None or (failed and mode is Mode.STRICT)
    reasons = all_reasons(row)
    return _with(
        row,
        rejected=rejected,
        reasons=reasons,
        warned=failed and mode is Mode.LENIENT,
        verified=row.verified,
        abstained=row.abstained,
    )


def _from_reading(row: DetailedResult, judged: Judged) -> DetailedResult:
    found = judged.verification
    return _with(
        row,
        rejected=not judged.passed,
        reasons=found.reasons,
        warned=bool(judged.warnings),
        verified=found.verified,
        abstained=found.abstained,
    )


def _with(
    row: DetailedResult,
    *,
    rejected: bool,
    reasons: tuple[RejectionReason, ...],
    warned: bool,
    verified: bool | None,
    abstained: bool,
) -> DetailedResult:
    kept: Category = "insufficient_context" if abstained else "grounded_answer"
    return row.model_copy(
        update={
            "category": "rejected" if rejected else kept,
            "grounding_rejected": rejected,
            "rejection_reason": reasons[0] if rejected and reasons else None,
            "rejection_reasons": reasons if rejected else (),
            "warnings": reasons if warned and not rejected else (),
            "verified": verified,
            "abstained": abstained,
        }
    )


def _reading_differences(read: Mapping[str, Readings]) -> Iterator[ReadingDifference]:
    for identifier, readings in read.items():
        strict = readings[Mode.STRICT].verification
        lenient = readings[Mode.LENIENT].verification
        if strict.reasons != lenient.reasons:
            yield ReadingDifference(
                id=identifier,
                strict=next(iter(strict.reasons), None),
                lenient=next(iter(lenient.reasons), None),
            )


def _changed(
    rows: Sequence[DetailedResult], read: Mapping[str, Readings], mode: Mode
) -> Iterator[str]:
    """Questions whose verdict in the file is not what this version reads in the run's own mode."""
    for row in rows:
        if row.id not in read or row.verified is None:
            continue
        if read[row.id][mode].verification.verified != row.verified:
            yield row.id


def _gap(rows: Sequence[DetailedResult], read: Mapping[str, Readings]) -> Rate:
    """Replies that lenient keeps and strict rejects, among those with a verdict."""
    pairs = [
        (seen(row, Mode.STRICT, found), seen(row, Mode.LENIENT, found))
        for row in rows
        if replied(row)
        for found in (read.get(row.id),)
    ]
    known = [pair for pair in pairs if pair[0].verified is not None]
    return wilson(sum(not accepted(one) and accepted(two) for one, two in known), len(known))


def _gap_words(gap: Rate) -> tuple[str, ...]:
    if not gap.denominator:
        return ("The gap between strict and lenient is not known: no reply has a verdict.",)
    counts = numbers.count_of(gap.numerator, gap.denominator)
    if not gap.numerator:
        total = numbers.plural(gap.denominator, "verified reply", "verified replies")
        return (f"There is no gap between strict and lenient over {total}.",)
    said = (
        f"Lenient keeps {counts} replies that strict rejects "
        f"({numbers.percent_of(gap.value)}, 95%: {numbers.percent_of(gap.low)} to "
        f"{numbers.percent_of(gap.high)}). A large gap suggests answers from memory."
    )
    return (said,)
