"""The views of a probe run side by side, as plain values: text and page only lay them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from aletheia.reports import numbers
from aletheia.reports.attribution_views import flip_of
from aletheia.reports.words import spoken
from aletheia.schema.attribution import (
    CellCount,
    ConditionRecord,
    ProbeReport,
    ProbeView,
    QuestionProbe,
    Standing,
    View,
)
from aletheia.schema.comparison import ModeView, RateDifference
from aletheia.schema.diagnosis import FailureCell
from aletheia.schema.report import MetricSummary, Rate

VIEW_NAMES: Final[Mapping[View, str]] = MappingProxyType(
    {
        "strict": "strict",
        "lenient": "lenient",
        "base": "off: all with evidence",
        "closed_book": "closed book",
        "counterfactual": "counterfactual",
        "cited_removed": "cited units removed",
        "holding_removed": "all that holds it removed",
        "irrelevant_removed": "irrelevant units removed",
        "shuffled": "shuffled",
    }
)
VIEW_MEANINGS: Final[Mapping[View, str]] = MappingProxyType(
    {
        "strict": "right, and its citations carry it",
        "lenient": "right; what fails is kept with a warning",
        "base": "right, verified or not",
        "closed_book": "right without any evidence",
        "counterfactual": "follows other names, dates and numbers; of the right answers",
        "cited_removed": "right without the units it cites",
        "holding_removed": "right without all units that hold it",
        "irrelevant_removed": "right with only the relevant units",
        "shuffled": "right over the same units in another order",
    }
)
STANDING_SIGNS: Final[Mapping[Standing, str]] = MappingProxyType(
    {
        "right": "✓",
        "wrong": "✗",
        "abstained": "○",
        "rejected": "⊘",
        "followed": "→",
        "kept": "●",
        "unclear": "?",
        "lost": "○",
    }
)
"""A sign beside each word, so that a column reads at a glance without colour."""


def change_text(change: RateDifference | None) -> str:
    """Say what changes against the base answers: `0 gained, 4 lost, p = 0.12 (n = 31)`."""
    if change is None or not change.n:
        return ""
    counts = f"{numbers.count(change.gained)} gained, {numbers.count(change.lost)} lost"
    return f"{counts}, {numbers.p_value(change.p_value)} (n = {numbers.count(change.n)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeRow:
    """One measure in every mode; `values` stand in the order of the modes."""

    name: str
    values: tuple[str, ...]


def mode_rows(report: ProbeReport) -> Iterator[ModeRow]:
    """Counts, rates and metric means of the base answers in each mode."""
    views = () if report.modes is None else report.modes.views
    if not views:
        return
    counted: tuple[tuple[str, Callable[[ModeView], int]], ...] = (
        ("kept", lambda view: view.kept),
        ("rejected", lambda view: view.rejected),
        ("kept although failed", lambda view: view.kept_failed),
        ("no reply", lambda view: view.errors),
    )
    rated: tuple[tuple[str, Callable[[ModeView], Rate]], ...] = (
        ("verification passed", lambda view: view.pass_rate),
        ("right, or rightly abstained", lambda view: view.accuracy),
        ("right when answered", lambda view: view.accuracy_when_answered),
        ("abstained", lambda view: view.abstention),
    )
    for name, count in counted:
        yield ModeRow(name=name, values=tuple(numbers.count(count(view)) for view in views))
    for name, rate in rated:
        yield ModeRow(name=name, values=tuple(_share(rate(view)) for view in views))
    for name in views[0].metrics:
        means = tuple(_mean(view.metrics[name]) for view in views)
        yield ModeRow(name=f"mean {spoken(name)}", values=means)


def _share(rate: Rate) -> str:
    if rate.value is None:
        return numbers.MISSING
    return (
        f"{numbers.percent(rate.numerator, rate.denominator)} {rate.numerator}/{rate.denominator}"
    )


def _mean(metric: MetricSummary) -> str:
    if metric.mean is None:
        return numbers.MISSING
    return f"{numbers.score(metric.mean)} {metric.measured}/{metric.total}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBox:
    """One cell in one view: how many, and what share of the diagnosed in percent."""

    name: str
    count: int
    share: str
    length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """The six cells of one view. `rest` says what has no cell, and why."""

    name: str
    boxes: tuple[CellBox, ...]
    diagnosed: int
    tentative: int
    rest: str


def cell_rows(report: ProbeReport) -> tuple[CellRow, ...]:
    """The cells of every view, in the order of the views."""
    return tuple(map(_cell_row, report.cells))


def _cell_row(found: CellCount) -> CellRow:
    total = found.diagnosed
    rest = (f"{numbers.count(n)} {reason}" for reason, n in found.not_diagnosed.items())
    boxes = (
        CellBox(
            name=cell.plain_name,
            count=found.cells[cell],
            share=numbers.percent(found.cells[cell], total),
            length=round(100 * found.cells[cell] / total, 2) if total else 0.0,
        )
        for cell in FailureCell
    )
    return CellRow(
        name=VIEW_NAMES[found.view],
        boxes=tuple(boxes),
        diagnosed=total,
        tentative=found.tentative,
        rest=", ".join(rest),
    )


def cell_text(row: CellRow) -> str:
    """Write the cells of a view in a line, empty ones left out."""
    parts = [f"{box.name} {numbers.count(box.count)}" for box in row.boxes if box.count]
    if row.tentative:
        parts.append(f"{numbers.count(row.tentative)} tentative")
    if row.rest:
        parts.append(f"no cell: {row.rest}")
    return ", ".join(parts) or "no cell"


def shown_views(report: ProbeReport) -> tuple[View, ...]:
    """The views that some question was asked in."""
    return tuple(item.view for item in report.views)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRow:
    """A question that ends otherwise: its number in the run and one mark for each shown view.

    `source` says where its answer came from.
    """

    number: int
    id: str
    question: str
    source: str
    marks: tuple[FlipMark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipMark:
    """How the question ended in a view; `text` is `–` where that was not measured."""

    name: str
    text: str
    changed: bool


def flip_rows(report: ProbeReport) -> Iterator[FlipRow]:
    """The questions that end otherwise in some view, in the order of the run."""
    views = shown_views(report)
    for number, item in enumerate(report.questions, 1):
        flip = flip_of(item)
        if flip is None:
            continue
        marks = tuple(
            FlipMark(
                name=VIEW_NAMES[view],
                text=standing_text(flip.under.get(view)),
                changed=view in flip.changed,
            )
            for view in views
        )
        yield FlipRow(
            number=number, id=item.id, question=item.question, source=_source(item), marks=marks
        )


def _source(item: QuestionProbe) -> str:
    return "undecided" if item.attribution is None else item.attribution.replace("_", " ")


def standing_text(found: Standing | None) -> str:
    """Write how a question ended, sign and word."""
    return numbers.MISSING if found is None else f"{STANDING_SIGNS[found]} {found}"


def kept_text(record: ConditionRecord) -> str:
    """Say what the modes make of a reply; empty where there was nothing to verify."""
    if not record.kept and record.rejection is None:
        return ""
    if record.rejection is None:
        return "verified"
    kept = ", ".join(mode.value for mode in record.kept)
    return f"strict rejects it ({record.rejection})" + (f"; {kept} keep it" if kept else "")


def record_cell(record: ConditionRecord) -> str:
    """Name the cell of a reply, or why it has none; empty where nothing judged."""
    if record.cell is not None:
        return record.cell.plain_name + (", tentative" if record.tentative else "")
    return f"no cell: {record.not_diagnosed}" if record.not_diagnosed else ""


def view_meaning(item: ProbeView) -> str:
    """Say what is right in a view, and what changes against the base answers."""
    change = change_text(item.change)
    return VIEW_MEANINGS[item.view] + (f"; {change}" if change else "")
