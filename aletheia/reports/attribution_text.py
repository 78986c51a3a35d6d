"""A probe run for a terminal: at most 80 columns, and nothing from data acts on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from aletheia.reports import numbers
from aletheia.reports.attribution_sides import (
    VIEW_NAMES,
    cell_rows,
    cell_text,
    change_text,
    mode_rows,
)
from aletheia.reports.text import Line, Style, unstyled
from aletheia.reports.visible import cells, fit, one_line, pad, wrap
from aletheia.schema.attribution import (
    Attribution,
    Condition,
    ConditionCount,
    ProbeRate,
    ProbeReport,
)
from aletheia.schema.report import Rate

WIDTH: Final = 80
_NAME: Final = 26
_SHOWN: Final = 10

CONDITION_NAMES: Final[Mapping[Condition, str]] = MappingProxyType(
    {
        "base": "with evidence",
        "closed_book": "closed book",
        "counterfactual": "counterfactual",
        "cited_removed": "cited units removed",
        "holding_removed": "all that holds it removed",
        "irrelevant_removed": "irrelevant units removed",
        "shuffled": "shuffled",
    }
)

ATTRIBUTION_NAMES: Final[Mapping[Attribution | None, str]] = MappingProxyType(
    {
        "from_evidence": "from evidence",
        "from_memory": "from memory",
        "both_possible": "both possible",
        "neither": "neither",
        None: "undecided",
    }
)


def render_probes(report: ProbeReport, *, style: Style = unstyled) -> str:
    """Write the report; lines end in line feeds and hold no control characters from data."""
    return "".join(f"{style(line, role)}\n" for line, role in _lines(report))


def _lines(report: ProbeReport) -> Iterator[Line]:
    run, summary = report.provenance, report.summary
    yield "From evidence or from memory", "title"
    for text in (
        f"{run.questions} over {run.graph}; {numbers.plural(summary.questions, 'question')}",
        f"{run.generator}: {run.generator_model}; probes: {', '.join(run.probes) or 'none'}",
    ):
        yield from ((line, "plain") for line in _wrapped(text))
    yield from _section("Verdict", _items(report.verdict))
    yield from _section("Where answers came from", _attributions(report))
    yield from _section("Rates (95% interval; range over the undecided)", _rates(report))
    yield from _section("Strict, lenient and off over the same replies", _modes(report))
    yield from _section("Right answers (95% interval; change against `off`)", _views(report))
    yield from _section("Conditions", _conditions(report))
    yield from _section("Cells", _cells(report))
    yield from _section("Answers from memory", _named(report))
    if report.stopped is not None:
        yield from _section("Stopped", _items([report.stopped]))
    yield from _section("Cost", [_cost(report)])


def _section(title: str, lines: Iterable[str]) -> Iterator[Line]:
    found = list(lines)
    if not found:
        return
    yield "", "plain"
    yield title, "heading"
    for line in found:
        yield fit(line.rstrip(), WIDTH), "plain"


def _wrapped(text: str, lead: str = "  ") -> Iterator[str]:
    for number, line in enumerate(wrap(one_line(text), WIDTH - cells(lead))):
        yield f"{' ' * cells(lead) if number else lead}{line}"


def _items(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from _wrapped(text, "  - ")


def _row(name: str, value: str) -> str:
    return f"  {pad(name, _NAME)}{value}"


def _attributions(report: ProbeReport) -> Iterator[str]:
    for name, count in report.summary.attributions.items():
        yield _row(ATTRIBUTION_NAMES[name], f"{numbers.count(count):>6}")
    yield _row(ATTRIBUTION_NAMES[None], f"{numbers.count(report.summary.undecided):>6}")
    for reason, count in list(report.summary.undecided_reasons.items())[:3]:
        yield from _wrapped(f"{numbers.count(count)}: {reason}", "    ")


def _rates(report: ProbeReport) -> Iterator[str]:
    summary = report.summary
    yield _row("contamination", ranged_text(summary.contamination))
    yield _row("known beforehand", ranged_text(summary.known_beforehand))
    yield _row("accuracy", ranged_text(summary.accuracy))
    yield _row("corrected accuracy", rate_text(summary.corrected))
    yield _row("right, from evidence", ranged_text(summary.right_from_evidence))
    yield _row("outlives its citations", ranged_text(summary.outlives_citations))
    yield _row("citations are stable", ranged_text(summary.stable_citations))


def rate_text(rate: Rate) -> str:
    """Write a rate: `33% (4 of 12; 14% to 61%)`."""
    if rate.value is None:
        return numbers.missing("nothing to count")
    share = numbers.percent(rate.numerator, rate.denominator)
    low, high = numbers.percent_of(rate.low), numbers.percent_of(rate.high)
    return f"{share} ({numbers.count_of(rate.numerator, rate.denominator)}; {low} to {high})"


def ranged_text(found: ProbeRate) -> str:
    """Write a rate with its range, where something is undecided."""
    if found.rate.denominator == found.total:
        return rate_text(found.rate)
    low, high = numbers.percent_of(found.low), numbers.percent_of(found.high)
    return f"{rate_text(found.rate)} [{low} to {high} of {numbers.count(found.total)}]"


def _modes(report: ProbeReport) -> Iterator[str]:
    rows = list(mode_rows(report))
    if not rows or report.modes is None:
        return
    yield _mode_line("", [view.mode.value for view in report.modes.views])
    for row in rows:
        yield _mode_line(row.name, row.values)
    yield from _items(report.modes.verdict)


def _mode_line(name: str, values: Sequence[str]) -> str:
    return f"  {pad(fit(name, 28), 28)}" + "".join(f"{value:>16}" for value in values)


def _views(report: ProbeReport) -> Iterator[str]:
    for item in report.views:
        yield _row(VIEW_NAMES[item.view], ranged_text(item.right))
        change = change_text(item.change)
        if change:
            yield _row("", change)


def _cells(report: ProbeReport) -> Iterator[str]:
    for row in cell_rows(report):
        yield from _wrapped(cell_text(row), f"  {pad(row.name, _NAME)}")


def _conditions(report: ProbeReport) -> Iterator[str]:
    for item in report.summary.conditions:
        yield from _wrapped(outcomes_text(item), f"  {pad(CONDITION_NAMES[item.condition], _NAME)}")


def outcomes_text(item: ConditionCount) -> str:
    """Write how often each outcome was seen, and what was not measured."""
    parts = [f"{name} {numbers.count(count)}" for name, count in item.outcomes.items()]
    rest = {
        "unmeasured": item.unmeasured,
        "not applicable": item.not_applicable,
        "not asked": item.not_asked,
    }
    parts += [f"{name} {numbers.count(count)}" for name, count in rest.items() if count]
    return ", ".join(parts)


def _named(report: ProbeReport) -> Iterator[str]:
    found = [item for item in report.questions if item.attribution == "from_memory"]
    for item in found[:_SHOWN]:
        yield fit(f"  {one_line(item.id)}  {one_line(item.question)}", WIDTH)
    if len(found) > _SHOWN:
        yield f"  and {numbers.count(len(found) - _SHOWN)} more: see the report"


def _cost(report: ProbeReport) -> str:
    cost = report.cost
    if not cost.calls:
        return "  no model was asked"
    money = numbers.money(cost.usd, "no price is known")
    floor = f", {numbers.count(cost.unpriced)} calls without a price" if cost.unpriced else ""
    return f"  {numbers.plural(cost.calls, 'call')}, {numbers.count(cost.cached)} from the cache, {money}{floor}"
