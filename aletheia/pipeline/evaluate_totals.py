"""What a run over many traces came to: counts, cells and rates, in few lines or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, Final

from aletheia.diagnosis.rates import Share, TraceRates, trace_rates
from aletheia.pipeline.evaluate_many import TraceItem, TraceOutcome, has_no_query
from aletheia.pipeline.row_journal import RowJournal
from aletheia.reports import numbers
from aletheia.reports.trace_json import INPUT
from aletheia.schema.cost import Cost
from aletheia.schema.diagnosis import Diagnosis, FailureCell, Flags


@dataclass(slots=True, kw_only=True)
class EvaluateTotals:
    """Counts over the rows of a run. Ids are kept as hashes, diagnoses as one of each kind.

    With `confident_only` a tentative cell is as good as none. `judge_error` says how often the
    judge was wrong where it was measured.
    """

    confident_only: bool = False
    lines: int = 0
    bad: int = 0
    failed: int = 0
    blank: int = 0
    resumed: int = 0
    repeated: int = 0
    no_query: int = 0
    cost: Cost = field(default_factory=Cost)
    stopped: str | None = None
    renamed: Counter[tuple[str, str]] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    unjudged: int = 0
    judge_error: str | None = None
    _kinds: dict[Diagnosis, Diagnosis] = field(default_factory=dict, repr=False)
    _diagnoses: list[Diagnosis] = field(default_factory=list, repr=False)
    _seen: set[int] = field(default_factory=set, repr=False)

    @property
    def records(self) -> int:
        """Lines that held a record."""
        return self.lines - self.bad

    @property
    def exit_code(self) -> int:
        """0 clean, 1 no valid record, 2 a record failed or a line was bad."""
        if not self.records:
            return 1
        lacking = self.confident_only and any(item.tentative for item in self._diagnoses)
        return 2 if self.bad or self.failed or lacking or self.stopped else 0

    @property
    def rates(self) -> TraceRates:
        """Cells and rates; a trace without a query is in none of them."""
        return trace_rates(
            self._diagnoses, failed=self.unjudged, confident_only=self.confident_only
        )

    def add(self, outcome: TraceOutcome) -> bool:
        """Count one row. True if its id was there before."""
        row = outcome.row
        self.lines += 1
        if INPUT in row["errors"]:
            self.bad += 1
            return False
        self.failed += outcome.failed is not None
        if row["diagnosis"] is None:
            self.unjudged += 1
        else:
            self._add_diagnosis(row)
        return self._is_repeated(row["id"])

    def add_unread(self, keys: Iterable[str]) -> None:
        """Remember some of the keys that nothing reads."""
        for key in keys:
            if key in self.unread or len(self.unread) < _UNREAD_NAMED:
                self.unread[key] += 1

    def _add_diagnosis(self, row: Mapping[str, Any]) -> None:
        self.cost += Cost.model_validate(row["cost"])
        self.notes.update(key for key in _NOTED if key in row["making"])
        self.judge_error = row["making"].get("judge_error", self.judge_error)
        reduced = _reduced(row["diagnosis"])
        if has_no_query(row):
            self.no_query += 1
            return
        self._diagnoses.append(self._kinds.setdefault(reduced, reduced))

    def _is_repeated(self, record_id: object) -> bool:
        if record_id is None:
            return False
        key = hash(record_id)
        if key in self._seen:
            self.repeated += 1
            return True
        self._seen.add(key)
        return False


_UNREAD_NAMED: Final = 10
_NOTED: Final[Mapping[str, str]] = {
    "blank_chunks": "traces with blank chunks, which have no number",
    "ranks": "traces whose ranks were numbered anew",
    "replaced_characters": "traces with characters that are none, written as U+FFFD",
}


def _reduced(diagnosis: Mapping[str, Any]) -> Diagnosis:
    """Keep what rates look at: there are few different ones, however many traces."""
    return Diagnosis(
        failure_cell=diagnosis["failure_cell"],
        flags=Flags.model_validate(diagnosis["flags"]),
        sufficiency_level=diagnosis["sufficiency_level"],
        abstention=diagnosis["abstention"],
        tentative=diagnosis["tentative"],
        level_tentative=diagnosis["level_tentative"],
        empty_response=diagnosis["empty_response"],
    )


def run_items(
    items: Iterable[TraceItem], totals: EvaluateTotals, journal: RowJournal | None
) -> Iterator[TraceItem]:
    """Yield what is to be judged; lines that the journal has done are counted and passed over."""
    for item in items:
        if journal is None or not journal.is_done(item.line):
            yield item
            continue
        totals.resumed += 1
        totals.add(TraceOutcome(line=item.line, row=json.loads(journal.row(item.line))))


def summary_lines(totals: EvaluateTotals) -> Iterator[str]:
    """Write what a run came to, for a person, at most 80 columns."""
    rates = totals.rates
    yield f"{numbers.plural(totals.records, 'trace')}, {rates.evaluated} evaluated"
    if rates.evaluated:
        yield from _cell_lines(rates)
    yield ""
    yield from _rate_lines(rates)
    yield from _remarks(totals, rates)


def _cell_lines(rates: TraceRates) -> Iterator[str]:
    for cell in FailureCell:
        count, doubtful = rates.cells[cell], rates.tentative_cells[cell]
        doubt = f"  {doubtful} tentative" if doubtful else ""
        share = numbers.percent(count, rates.evaluated)
        yield f"  {cell.plain_name:<20}{numbers.count(count):>6}  {share:>4}{doubt}".rstrip()
    if rates.empty_responses:
        yield f"  {'Empty response':<20}{numbers.count(rates.empty_responses):>6}"


def _rate_lines(rates: TraceRates) -> Iterator[str]:
    rows = (
        ("healthy", rates.healthy),
        ("healthy or honest", rates.adjusted),
        ("honest abstention", rates.honest_abstention),
        ("over-refusal", rates.over_refusal),
    )
    for name, share in rows:
        yield f"{name:<20}{_share_text(share)}"
    if rates.unmeasured:
        yield f"{'unmeasured':<20}{numbers.count_of(rates.unmeasured, rates.total)} traces"


def _share_text(share: Share) -> str:
    rate = share.rate
    text = (
        f"{numbers.percent_of(rate.value):>4}  {numbers.count_of(rate.numerator, rate.denominator)}"
    )
    if rate.low is not None and rate.high is not None:
        low, high = numbers.percent_of(rate.low), numbers.percent_of(rate.high)
        text += f", 95 % interval {low}–{high}"
    if share.total > rate.denominator and share.low is not None and share.high is not None:
        low, high = numbers.percent_of(share.low), numbers.percent_of(share.high)
        text += f"; {low} at worst, {high} at best" if low != high else ""
    return text


def _remarks(totals: EvaluateTotals, rates: TraceRates) -> Iterator[str]:
    if rates.tentative:
        error = f": {totals.judge_error}" if totals.judge_error else ""
        told = f"tentative: {numbers.count_of(rates.tentative, rates.evaluated)} cells{error}"
        yield from wrap(told, width=78, subsequent_indent="  ")
    counts = (
        (totals.bad, "lines without a valid record"),
        (totals.failed, "records that were not judged in full"),
        (totals.no_query, "traces without a query: only faithfulness was judged"),
        (totals.resumed, "rows from an earlier run"),
        (totals.blank, "blank lines skipped"),
        (totals.repeated, "ids that stood on an earlier line; `line` tells the rows apart"),
    )
    for number, what in counts:
        if number:
            yield f"{what}: {numbers.count(number)}"
    for key, what in _NOTED.items():
        if totals.notes[key]:
            yield f"{what}: {numbers.count(totals.notes[key])}"
    for (name, key), number in totals.renamed.items():
        yield f"`{key}` was read as `{name}`: {numbers.plural(number, 'line')}"
    if totals.unread:
        yield f"keys that are not read: {', '.join(f'`{key}`' for key in totals.unread)}"
    if totals.cost.calls:
        cost = totals.cost
        floor = "at least " if cost.unpriced and cost.usd is not None else ""
        money = numbers.money(cost.usd, "price not known")
        yield f"models: {numbers.plural(cost.calls, 'call')}, {floor}{money}"
    if totals.stopped is not None:
        yield f"stopped: {totals.stopped}"


def summary_json(totals: EvaluateTotals) -> dict[str, Any]:
    """Return what a run came to as plain values for JSON."""
    names = ("lines", "records", "bad", "failed", "no_query", "resumed", "blank", "repeated")
    return {
        **{name: getattr(totals, name) for name in names},
        "rates": totals.rates.model_dump(mode="json"),
        "cost": totals.cost.model_dump(mode="json"),
        "stopped": totals.stopped,
        "renamed": {key: name for name, key in totals.renamed},
        "unread": list(totals.unread),
        "exit_code": totals.exit_code,
    }
