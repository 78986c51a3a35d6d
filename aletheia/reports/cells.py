"""The diagnosis of a run as plain values for people: cells, rates, advice, and one row of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from aletheia.reports import numbers
from aletheia.schema.diagnosis import Diagnosis, FailureCell
from aletheia.schema.report import DetailedResult, Rate
from aletheia.schema.run_diagnosis import DiagnosisReport, ItemVerdict, RangedRate

CELLS: Final[Mapping[FailureCell, str]] = {
    FailureCell.COMPLETE_GROUNDED: "everything asked is answered, and every claim is grounded",
    FailureCell.COMPLETE_UNGROUNDED: "everything asked is answered, and a claim is not supported",
    FailureCell.INCOMPLETE_GROUNDED: "a part is not answered; what is said is grounded",
    FailureCell.INCOMPLETE_UNGROUNDED: "a part is not answered, and a claim is not supported",
    FailureCell.EXTRA_GROUNDED: "more is said than was asked, all of it grounded",
    FailureCell.EXTRA_UNGROUNDED: "more is said than was asked, and a claim is not supported",
}
"""What each cell means."""

THRESHOLDS: Final[Mapping[str, str]] = {
    "calibrated": "learned from healthy traces",
    "fallback_project": "not learned: the fallback of a stored project",
    "fallback_memory": "not learned: the fallback of a run that keeps nothing",
}
"""Where the threshold of sufficiency comes from."""

FLAGS: Final[Mapping[str, str]] = {
    "missing": "a part is not answered",
    "extra": "something was not asked",
    "ungrounded": "a claim is not supported",
    "miscited": "a claim is supported by other evidence than it cites",
    "abstained": "abstained",
    "over_refused": "abstained over sufficient evidence",
    "conflict": "the evidence contradicts itself",
}
"""What each flag means where it is true."""

TENTATIVE: Final = "tentative"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLine:
    """One cell of the distribution. `length` is its share of the diagnosed rows in percent."""

    cell: FailureCell
    name: str
    meaning: str
    count: int
    share: str
    tentative: int
    length: float


def cell_lines(report: DiagnosisReport) -> tuple[CellLine, ...]:
    """All six cells in their order, empty ones too."""
    return tuple(
        CellLine(
            cell=cell,
            name=cell.plain_name,
            meaning=CELLS[cell],
            count=report.cells[cell],
            share=numbers.percent(report.cells[cell], report.diagnosed),
            tentative=report.tentative_cells[cell],
            length=round(100 * report.cells[cell] / report.diagnosed, 3) if report.diagnosed else 0,
        )
        for cell in FailureCell
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRate:
    """A rate with its name. `span` is its interval, and the range where something is unmeasured."""

    name: str
    rate: Rate
    span: str


def rate_lines(report: DiagnosisReport) -> Iterator[CellRate]:
    """The rates of the run."""
    yield _rate("Healthy", report.healthy)
    yield _rate("Healthy, or rightly abstained", report.adjusted)
    yield CellRate(
        name="Healthy, of all replies",
        rate=report.healthy_of_all,
        span=_interval(report.healthy_of_all),
    )
    yield _rate("Honest abstention", report.honest_abstention)
    yield _rate("Over-refusal", report.over_refusal)


def _rate(name: str, ranged: RangedRate) -> CellRate:
    span = _interval(ranged.rate)
    if ranged.total > ranged.rate.denominator and ranged.low is not None:
        low, high = numbers.percent_of(ranged.low), numbers.percent_of(ranged.high)
        span += f"; {low} at worst, {high} at best" if low != high else ""
    return CellRate(name=name, rate=ranged.rate, span=span)


def _interval(rate: Rate) -> str:
    if rate.low is None or rate.high is None:
        return "no such reply"
    return f"95%: {numbers.percent_of(rate.low)} to {numbers.percent_of(rate.high)}"


def judge_words(making: Mapping[str, str]) -> str:
    """Name the judge: its kind, then its models."""
    roles = [name for name in making if name in ("judge", "decomposer") or name.endswith("_judge")]
    kinds = " and ".join(dict.fromkeys(making[name] for name in roles))
    models = [_model(name, making[name]) for name in making if name.endswith("_model")]
    return f"{kinds} ({', '.join(models)})" if models else kinds


def _model(name: str, model: str) -> str:
    role = name.removesuffix("_model")
    return model if role == "embedded" else f"{role} {model}"


def threshold_words(report: DiagnosisReport) -> str:
    """Say what `high` needs, and where that comes from."""
    if report.threshold is None or report.threshold_source is None:
        return "nothing was judged"
    source = THRESHOLDS.get(report.threshold_source, report.threshold_source)
    return f"{numbers.score(report.threshold)} ({source})"


def reason_words(reason: str) -> str:
    """Say why a row has no cell: codes stand as they are."""
    return reason.replace("_", " ") if reason.startswith("unmeasured") else reason


def row_cell(row: DetailedResult) -> str | None:
    """Name the cell of a row and what limits it, or why it has none; None without a judge."""
    found = row.diagnosis
    if found is None or found.failure_cell is None:
        return None if row.not_diagnosed is None else f"no cell ({reason_words(row.not_diagnosed)})"
    doubt = f", {TENTATIVE}" if found.tentative else ""
    return f"{found.failure_cell.plain_name}{doubt}"


def row_advice(row: DetailedResult) -> str | None:
    """Return the title of the suggestion, None where it repeats the name of the cell."""
    found, advice = row.diagnosis, row.suggestion
    if advice is None or found is None or found.failure_cell is None:
        return None
    return None if advice.title == found.failure_cell.plain_name else advice.title


def sufficiency_words(diagnosis: Diagnosis) -> str:
    """Say how much of what was asked the evidence answers."""
    if diagnosis.sufficiency_level is None:
        return "not known"
    doubt = f", {TENTATIVE}" if diagnosis.level_tentative else ""
    share = numbers.percent_of(diagnosis.sufficiency_fraction)
    return f"{diagnosis.sufficiency_level}{doubt} ({share} of what was asked)"


def flag_words(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Say which flags are true; one that is not known says nothing."""
    flags = diagnosis.flags.model_dump()
    return tuple(words for name, words in FLAGS.items() if flags[name] is True)


def verdict_words(item: ItemVerdict, yes: str, no: str) -> str:
    """Write one verdict; a missing one says why."""
    if item.verdict is None:
        return f"not measured: {item.problem}" if item.problem else "not graded"
    word = f"{yes} ({', '.join(item.evidence_ids)})" if item.verdict == "Y" else no
    if item.verdict == "Y" and not item.evidence_ids:
        word = yes
    return f"{word}, {TENTATIVE}" if item.confidence == "low" else word
