"""What the page of a probe run shows, as plain values: the template only lays it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from aletheia.reports import numbers
from aletheia.reports.attribution_sides import (
    VIEW_NAMES,
    kept_text,
    record_cell,
    view_meaning,
)
from aletheia.reports.attribution_text import ATTRIBUTION_NAMES, CONDITION_NAMES, outcomes_text
from aletheia.schema.attribution import (
    Attribution,
    ConditionRecord,
    ProbeRate,
    ProbeReport,
    ProbeSummary,
    QuestionProbe,
)
from aletheia.schema.report import Rate

MEANINGS: Final[Mapping[Attribution | None, str]] = MappingProxyType(
    {
        "from_evidence": "it follows the evidence, and the model does not give it without",
        "from_memory": "it does not follow the evidence, and the model gives it without",
        "both_possible": "it follows the evidence, and the model gives it without, too",
        "neither": "an abstention, or an answer that nothing accounts for",
        None: "an observation that would decide is missing",
    }
)
TONES: Final[Mapping[Attribution | None, str]] = MappingProxyType(
    {
        "from_evidence": "good",
        "from_memory": "bad",
        "both_possible": "calm",
        "neither": "grey",
        None: "warn",
    }
)
_ORDER: Final[tuple[Attribution | None, ...]] = (
    "from_memory",
    None,
    "both_possible",
    "from_evidence",
    "neither",
)
"""Groups of questions, what needs a look first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One line of the table of attributions."""

    name: str
    meaning: str
    tone: str
    count: int
    share: str
    length: float


def sources(summary: ProbeSummary) -> Iterator[Source]:
    """Every attribution and the undecided, with their share of all questions."""
    counts: list[tuple[Attribution | None, int]] = list(summary.attributions.items())
    for name, count in (*counts, (None, summary.undecided)):
        yield Source(
            name=ATTRIBUTION_NAMES[name],
            meaning=MEANINGS[name],
            tone=TONES[name],
            count=count,
            share=numbers.percent(count, summary.questions),
            length=_percent(count / summary.questions) if summary.questions else 0.0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One line of an interval plot, in percent; None where there is nothing to draw.

    `low` to `high` is the 95 % interval, `least` to `most` the range over the undecided.
    """

    name: str
    meaning: str
    text: str
    value: float | None
    low: float
    high: float
    least: float
    most: float


def rates(summary: ProbeSummary) -> tuple[Interval, ...]:
    """Show the rates of the run as intervals."""
    ranged: tuple[tuple[str, str, ProbeRate], ...] = (
        ("Contamination", "answers that came from memory", summary.contamination),
        ("Known beforehand", "right without evidence", summary.known_beforehand),
        ("Accuracy", "right with evidence", summary.accuracy),
        ("Right, from evidence", "right, and from the evidence alone", summary.right_from_evidence),
        (
            "Outlives its citations",
            "the answer stays without cited units",
            summary.outlives_citations,
        ),
        ("Stable citations", "same answer and citations when shuffled", summary.stable_citations),
    )
    lines = [_interval(name, meaning, found) for name, meaning, found in ranged]
    corrected = _of_rate(
        "Corrected accuracy", "right, of answers that depend on the evidence", summary.corrected
    )
    return (*lines[:3], corrected, *lines[3:])


def views(report: ProbeReport) -> tuple[Interval, ...]:
    """Show how often the answer is right in each view that was asked."""
    return tuple(
        _interval(VIEW_NAMES[item.view].capitalize(), view_meaning(item), item.right)
        for item in report.views
    )


def _interval(name: str, meaning: str, found: ProbeRate) -> Interval:
    line = _of_rate(name, meaning, found.rate)
    if found.low is None or found.high is None:
        return line
    return Interval(
        name=name,
        meaning=meaning,
        text=_with_range(line.text, found),
        value=line.value,
        low=line.low,
        high=line.high,
        least=_percent(found.low),
        most=_percent(found.high),
    )


def _of_rate(name: str, meaning: str, rate: Rate) -> Interval:
    low, high = rate.low or 0.0, rate.high or 0.0
    return Interval(
        name=name,
        meaning=meaning,
        text=numbers.missing("nothing to count")
        if rate.value is None
        else f"{numbers.percent(rate.numerator, rate.denominator)} "
        f"({numbers.count_of(rate.numerator, rate.denominator)}), "
        f"95% {numbers.percent_of(low)} to {numbers.percent_of(high)}",
        value=None if rate.value is None else _percent(rate.value),
        low=_percent(low),
        high=_percent(high),
        least=_percent(rate.value or 0.0),
        most=_percent(rate.value or 0.0),
    )


def _with_range(text: str, found: ProbeRate) -> str:
    if found.rate.denominator == found.total:
        return text
    low, high = numbers.percent_of(found.low), numbers.percent_of(found.high)
    return f"{text}; {low} to {high} of all {numbers.count(found.total)}"


def _percent(share: float) -> float:
    return round(100 * share, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Questions of one attribution, with the number each has in the run."""

    key: str
    name: str
    meaning: str
    tone: str
    questions: tuple[tuple[int, QuestionProbe], ...]


def groups(report: ProbeReport) -> Iterator[Group]:
    """Group the questions, what needs a look first; empty groups are left out."""
    numbered = list(enumerate(report.questions, 1))
    for name in _ORDER:
        own = tuple((number, item) for number, item in numbered if item.attribution == name)
        if own:
            yield Group(
                key=name or "undecided",
                name=ATTRIBUTION_NAMES[name],
                meaning=MEANINGS[name],
                tone=TONES[name],
                questions=own,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One condition of one question. `said` is the answer, or why there is none."""

    name: str
    record: ConditionRecord
    outcome: str
    said: str
    answered: bool
    cited: str
    kept: str
    cell: str


def rows(item: QuestionProbe) -> Iterator[Row]:
    """Every condition that was tried, or says why it could not be."""
    for record in item.conditions:
        if record.status != "not_asked":
            yield Row(
                name=CONDITION_NAMES[record.condition],
                record=record,
                outcome=record.outcome or record.status.replace("_", " "),
                said=_said(record),
                answered=record.answer is not None,
                cited=", ".join((*record.cited, *record.cited_unknown)) or numbers.MISSING,
                kept=kept_text(record),
                cell=record_cell(record),
            )


def _said(record: ConditionRecord) -> str:
    if record.answer is not None:
        return record.answer
    return "abstained" if record.abstained else record.reason or "no answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One line of the table of conditions."""

    name: str
    text: str


def conditions(summary: ProbeSummary) -> Iterator[Seen]:
    """Say how often each outcome of a condition was seen."""
    for item in summary.conditions:
        yield Seen(name=CONDITION_NAMES[item.condition], text=outcomes_text(item))


def changed_texts(item: QuestionProbe) -> Sequence[tuple[str, str]]:
    """Pair the ids of units with the texts that the counterfactual condition showed instead."""
    record = item.condition("counterfactual")
    return list(zip(record.shown, record.texts, strict=False))
