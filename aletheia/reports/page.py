"""What the HTML page shows of the whole run, as plain values: the template only lays it out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from aletheia.reports import numbers, words
from aletheia.reports.questions import Tone, anchor_of, group_of
from aletheia.reports.tally import accepted, evidence_holds_answer, replied
from aletheia.schema.report import (
    BenchmarkReport,
    DetailedResult,
    MetricSummary,
    Rate,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One part of a bar: where it starts and how long it is, in percent."""

    label: str
    count: int
    share: str
    tone: Tone
    start: float
    length: float


def bar(parts: Iterable[tuple[str, int, Tone]]) -> tuple[Slice, ...]:
    """Lay the non-empty parts side by side over 100 percent."""
    kept = [part for part in parts if part[1] > 0]
    total = sum(count for _, count, _ in kept)
    slices, done = [], 0
    for label, count, tone in kept:
        slices.append(
            Slice(
                label=label,
                count=count,
                share=numbers.percent(count, total),
                tone=tone,
                start=round(100 * done / total, 3),
                length=round(100 * count / total, 3),
            )
        )
        done += count
    return tuple(slices)


def outcome_bar(report: BenchmarkReport) -> tuple[Slice, ...]:
    """All questions by what became of them."""
    summary = report.grounding_report.summary
    categories = report.grounding_report.response_categories
    rows = len(report.detailed_results)
    return bar(
        (
            ("Grounded answers", categories.grounded_answers, "good"),
            ("Abstained", categories.insufficient_context, "calm"),
            ("Failed verification", summary.verification_failed, "bad"),
            ("Not verified", rows - summary.total_verified - categories.errors, "warn"),
            ("No reply", categories.errors, "grey"),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One line of the rejection breakdown, with the questions it names."""

    code: str
    words: words.ReasonWords
    count: int
    share: str
    length: float
    questions: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A link to a question."""

    anchor: str
    id: str
    question: str


def reasons(report: BenchmarkReport) -> tuple[Reason, ...]:
    """Why replies failed, most frequent first; bars are relative to the most frequent."""
    total = report.grounding_report.summary.total_verified
    breakdown = report.grounding_report.rejection_breakdown
    named: dict[str, list[Entry]] = {}
    for number, row in enumerate(report.detailed_results, 1):
        if row.first_reason is not None and group_of(row) == "rejected":
            entry = Entry(anchor=anchor_of(number), id=row.id, question=row.question)
            named.setdefault(row.first_reason, []).append(entry)
    return tuple(
        Reason(
            code=entry.reason,
            words=words.REASONS[entry.reason],
            count=entry.count,
            share=numbers.percent(entry.count, total),
            length=round(100 * entry.count / breakdown[0].count, 3),
            questions=tuple(named.get(entry.reason, ())),
        )
        for entry in breakdown
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLine:
    """One line of the metric table; a part of a mixed metric has no name of its own."""

    name: str
    meaning: str
    summary: MetricSummary
    length: float | None


def metric_lines(report: BenchmarkReport) -> Iterator[MetricLine]:
    """Every metric, each followed by its parts when implementations were mixed."""
    for name, summary in report.aggregate_details.items():
        yield _metric_line(words.metric_name(name), words.METRICS.get(name, ""), summary)
        for part in summary.parts:
            yield _metric_line("", "", part)


def _metric_line(name: str, meaning: str, summary: MetricSummary) -> MetricLine:
    length = None if summary.mean is None else round(100 * summary.mean, 2)
    return MetricLine(name=name, meaning=summary.note or meaning, summary=summary, length=length)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstentionLine:
    """What became of the questions whose evidence holds, lacks or may hold the answer."""

    evidence: str
    answered: int
    abstained: int
    rejected: int
    total: int


def abstention_lines(rows: Sequence[DetailedResult]) -> tuple[AbstentionLine, ...]:
    """Questions by evidence and outcome; a line without questions is left out."""
    kinds = ((True, "holds the answer"), (False, "lacks the answer"), (None, "could not be told"))
    lines = []
    for holds, label in kinds:
        own = [row for row in rows if replied(row) and evidence_holds_answer(row) is holds]
        abstained = sum(row.abstained for row in own)
        rejected = sum(not accepted(row) for row in own)
        line = AbstentionLine(
            evidence=label,
            answered=len(own) - abstained - rejected,
            abstained=abstained,
            rejected=rejected,
            total=len(own),
        )
        lines.append(line)
    return tuple(line for line in lines if line.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTile:
    """A rate with a name a person understands."""

    name: str
    rate: Rate
    share: str
    span: str


def rate_tiles(report: BenchmarkReport) -> tuple[RateTile, ...]:
    """Show both kinds of abstention and both accuracies, which only mean something together."""
    abstention = report.abstention_report
    named = (
        ("Abstained when the evidence lacked the answer", abstention.correct_abstention),
        ("Abstained although the evidence held it", abstention.over_refusal),
        ("Right when answered", abstention.accuracy_when_answered),
        ("Right, or right to abstain", abstention.accuracy),
    )
    return tuple(_tile(name, rate) for name, rate in named)


def _tile(name: str, rate: Rate) -> RateTile:
    span = "no such question"
    if rate.low is not None and rate.high is not None:
        span = f"95% interval {numbers.percent_of(rate.low)} to {numbers.percent_of(rate.high)}"
    share = numbers.percent(rate.numerator, rate.denominator)
    return RateTile(name=name, rate=rate, share=share, span=span)
