"""The short summary of a run for a terminal: at most 80 columns, no escape from data reaches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from aletheia.reports import numbers
from aletheia.reports.cells import (
    cell_lines,
    judge_words,
    rate_lines,
    reason_words,
    threshold_words,
)
from aletheia.reports.interpret import Headline, headline
from aletheia.reports.spending import CostRow, cost_rows, remarks
from aletheia.reports.visible import cells, fit, one_line, pad, wrap
from aletheia.reports.words import CATEGORIES, REASONS, spoken
from aletheia.schema.report import BenchmarkReport, MetricSummary, Rate, TypeBreakdown
from aletheia.schema.run_diagnosis import DiagnosisReport

WIDTH = 80
_INDENT = "  "

Role = Literal["title", "heading", "good", "moderate", "poor", "unmeasured", "dim", "plain"]

Style = Callable[[str, Role], str]
"""Adds colour to one finished line. It is given plain text and must not change its width."""


def unstyled(text: str, role: Role) -> str:
    """Return the line as it is."""
    del role
    return text


def render_text(report: BenchmarkReport, *, style: Style = unstyled) -> str:
    """Write the summary; lines end in line feeds and hold no control characters from data."""
    return "".join(f"{style(line, role)}\n" for line, role in _lines(report))


Line = tuple[str, Role]


def _lines(report: BenchmarkReport) -> Iterator[Line]:
    run = report.provenance
    head = headline(
        report.detailed_results, report.grounding_report, report.abstention_report, run.mode
    )
    yield from _verdict(head)
    yield from _section("Run", _run(report))
    yield from _section("Replies", _categories(report))
    if report.grounding_report.rejection_breakdown:
        yield from _section("Why replies failed", _reasons(report))
    yield from _section("Metrics (accepted answers)", _metrics(report))
    if report.baseline_comparison:
        yield from _section("Against the baseline", _baseline(report))
    yield from _section("Abstention and accuracy", _abstention(report))
    if report.diagnosis_report is not None:
        yield from _section("Diagnosis of accepted replies", _cells(report.diagnosis_report))
        if report.diagnosis_report.suggestions:
            yield from _section("Most frequent advice", _advice(report.diagnosis_report))
    if report.by_type:
        yield from _section("By question type", _types(report))
    if report.cost.total.calls:
        yield from _section("Model calls", _cost(report))
    yield from _section("Reading", _reading(report))


def _section(title: str, lines: Iterator[str]) -> Iterator[Line]:
    yield "", "plain"
    yield title, "heading"
    for line in lines:
        yield fit(line.rstrip(), WIDTH), "plain"


def _verdict(head: Headline) -> Iterator[Line]:
    for line in _wrapped(head.title, ""):
        yield line, head.band
    for line in _wrapped(head.detail, ""):
        yield line, "plain"
    for line in _wrapped(f"Next: {head.action}", ""):
        yield line, "plain"


def _wrapped(text: str, indent: str = _INDENT, first: str | None = None) -> list[str]:
    first = indent if first is None else first
    lines = wrap(one_line(text), WIDTH - cells(first))
    return [f"{indent if number else first}{line}" for number, line in enumerate(lines)]


def _pairs(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Lay out names and values; a value that is too long goes on in its own column."""
    width = max(cells(name) for name, _ in rows)
    for name, value in rows:
        lead = f"{_INDENT}{pad(name, width)}  "
        yield from _wrapped(value, " " * len(lead), lead) or [lead]


def _run(report: BenchmarkReport) -> Iterator[str]:
    run = report.provenance
    generator = run.generator_model
    if run.generator_model != run.generator:
        generator = f"{run.generator}, {run.generator_model}"
    size = f"{numbers.count(run.graph_nodes)} nodes, {numbers.count(run.graph_edges)} edges"
    rows = [
        ("generator", generator),
        ("metrics by", run.metrics_by),
        ("mode", str(run.mode)),
        ("graph", f"{run.graph} ({size})"),
        ("questions", f"{run.questions} ({numbers.count(run.questions_total)})"),
    ]
    if run.generator_note:
        rows.insert(1, ("note", run.generator_note))
    if run.resumed:
        rows.append(("resumed", f"{numbers.plural(run.resumed, 'question')} from an earlier run"))
    return _pairs(rows)


def _categories(report: BenchmarkReport) -> Iterator[str]:
    summary = report.grounding_report.summary
    categories = report.grounding_report.response_categories
    total, passed = summary.total_verified, summary.verification_passed
    counts = [
        ("passed", passed),
        (f"  {CATEGORIES['grounded_answer'].lower()}", categories.grounded_answers),
        (f"  {CATEGORIES['insufficient_context'].lower()}", categories.insufficient_context),
        ("failed", summary.verification_failed),
    ]
    for name, number in counts:
        yield f"{_INDENT}{name:<14}{numbers.count(number):>7}  {numbers.percent(number, total):>5}"
    yield f"{_INDENT}{'verified':<14}{numbers.count(total):>7}"
    yield f"{_INDENT}{'no reply':<14}{numbers.count(categories.errors):>7}  (in no rate)"


def _reasons(report: BenchmarkReport) -> Iterator[str]:
    total = report.grounding_report.summary.total_verified
    for entry in report.grounding_report.rejection_breakdown:
        share = numbers.percent(entry.count, total)
        label = f"{REASONS[entry.reason].label} ({entry.reason})"
        yield f"{_INDENT}{numbers.count(entry.count):>6}  {share:>4}  {label}"


def _metrics(report: BenchmarkReport) -> Iterator[str]:
    for name, metric in report.aggregate_details.items():
        yield from _metric(one_line(spoken(name)), metric)
        for part in metric.parts:
            yield from _metric("", part)


def _metric(name: str, metric: MetricSummary) -> Iterator[str]:
    reach = numbers.count_of(metric.measured, metric.total)
    span = ""
    if metric.measured < metric.total and metric.low is not None:
        span = f" [{numbers.interval(metric.low, metric.high)}]"
    value = numbers.score(metric.mean)
    figures = f"{_INDENT}{name:<18} {value:>5}  {reach}{span}"
    maker = one_line(metric.implementation)
    if cells(figures) + 2 + cells(maker) <= WIDTH:
        yield f"{figures}  {maker}"
    else:
        yield figures
        yield from _wrapped(maker, " " * 21)


def _baseline(report: BenchmarkReport) -> Iterator[str]:
    for pair in report.baseline_comparison:
        values = f"{numbers.score(pair.mean)} against {numbers.score(pair.baseline_mean)}"
        reach = numbers.count_of(pair.n, pair.total)
        difference = numbers.signed(pair.difference)
        yield f"{_INDENT}{spoken(pair.metric):<18} {values:<18} {difference:>6}  {reach}"
        span = numbers.signed_interval(pair.low, pair.high, "no interval")
        yield f"{_INDENT}{'':<18} {pair.verdict}, {span}, {numbers.p_value(pair.p_value)}"


def _abstention(report: BenchmarkReport) -> Iterator[str]:
    abstention = report.abstention_report
    rates = [
        ("abstained, evidence lacks the answer", abstention.correct_abstention),
        ("abstained, evidence holds the answer", abstention.over_refusal),
        ("right when answered", abstention.accuracy_when_answered),
        ("right or rightly abstained", abstention.accuracy),
    ]
    for name, rate in rates:
        yield f"{_INDENT}{name:<37}{_rate(rate)}"
    if abstention.undecided:
        yield f"{_INDENT}{'undecided abstentions':<37}{abstention.undecided:>4}"


def _rate(rate: Rate) -> str:
    share = numbers.percent(rate.numerator, rate.denominator)
    text = f"{share:>4}  {numbers.count_of(rate.numerator, rate.denominator)}"
    if rate.low is None:
        return text
    return f"{text}  (95%: {numbers.percent_of(rate.low)} to {numbers.percent_of(rate.high)})"


def _cells(diagnosis: DiagnosisReport) -> Iterator[str]:
    for line in cell_lines(diagnosis):
        doubt = f"  {numbers.count(line.tentative)} tentative" if line.tentative else ""
        yield f"{_INDENT}{line.name:<20}{numbers.count(line.count):>7}  {line.share:>5}{doubt}"
    yield f"{_INDENT}{'with a cell':<20}{numbers.count(diagnosis.diagnosed):>7}"
    for reason in diagnosis.not_diagnosed:
        words = one_line(reason_words(reason.reason))
        yield f"{_INDENT}{'no cell':<20}{numbers.count(reason.count):>7}  {words}"
    for rate in rate_lines(diagnosis):
        share = numbers.percent(rate.rate.numerator, rate.rate.denominator)
        reach = numbers.count_of(rate.rate.numerator, rate.rate.denominator)
        lead = f"{_INDENT}{rate.name:<31}{share:>4}  {reach}"
        yield from _wrapped(f"({rate.span})", " " * 33, f"{lead}  ")
    yield from _pairs(
        (
            ("judged by", judge_words(diagnosis.judge)),
            ("high sufficiency", threshold_words(diagnosis)),
        )
    )


def _advice(diagnosis: DiagnosisReport) -> Iterator[str]:
    for item in diagnosis.suggestions:
        share = numbers.percent(item.count, diagnosis.diagnosed)
        label = one_line(f"{item.title} ({item.slug})")
        yield f"{_INDENT}{numbers.count(item.count):>6}  {share:>4}  {label}"


def _types(report: BenchmarkReport) -> Iterator[str]:
    width = min(24, max(cells(one_line(spoken(line.type))) for line in report.by_type))
    heads = ("total", "passed", "failed", "abst.", "errors", "right")
    yield _INDENT + " " * width + "".join(f"{head:>8}" for head in heads)
    for line in report.by_type:
        yield _INDENT + pad(fit(one_line(spoken(line.type)), width), width) + _type(line)


def _type(line: TypeBreakdown) -> str:
    counts = (line.total, line.passed, line.rejected, line.abstained, line.errors)
    right = f"{line.correct}/{line.answered}"
    return "".join(f"{number:>8}" for number in counts) + f"{right:>8}"


def _cost(report: BenchmarkReport) -> Iterator[str]:
    heads = ("calls", "cached", "tokens in", "tokens out", "money")
    yield _cost_line("", heads)
    for row in cost_rows(report.cost):
        yield _cost_line(fit(one_line(row.name), 16), _cost_cells(row))
    for remark in remarks(report.cost.total):
        yield from _wrapped(remark)


def _cost_cells(row: CostRow) -> tuple[str, ...]:
    counts = (numbers.count(row.cost.calls), numbers.count(row.cost.cached))
    return (*counts, row.prompt_tokens, row.completion_tokens, row.money)


def _cost_line(name: str, cells_: Sequence[str]) -> str:
    widths = (9, 9, 15, 14, 13)
    padded = (f"{cell:>{width}}" for cell, width in zip(cells_, widths, strict=True))
    return f"{_INDENT}{pad(name, 16)}{''.join(padded)}"


def _reading(report: BenchmarkReport) -> Iterator[str]:
    for sentence in report.interpretation:
        yield from _wrapped(sentence, f"{_INDENT}  ", f"{_INDENT}- ")
