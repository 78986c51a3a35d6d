"""What a run over many traces came to: counts, cells and rates, in few lines or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from textwrap import TextWrapper
from typing import Any, Final

from aletheia.diagnosis.calibrate import Threshold
from aletheia.diagnosis.rates import TraceRates, trace_rates
from aletheia.pipeline.evaluate_many import TraceItem, TraceOutcome, has_no_query
from aletheia.pipeline.rate_text import cell_lines, rate_lines
from aletheia.pipeline.row_journal import RowJournal
from aletheia.reports import numbers
from aletheia.reports.trace_json import INPUT
from aletheia.schema.cost import Cost
from aletheia.schema.diagnosis import Diagnosis, Flags


@dataclass(slots=True, kw_only=True)
class EvaluateTotals:
    """Counts over the rows of a run. Ids are kept as hashes, diagnoses as one of each kind.

    With `confident_only` a tentative cell is as good as none. With `may_be_empty` a run over no
    row at all is clean. `judge_error` says how often the
    judge was wrong where it was measured. `threshold` is what a high sufficiency needed. `stored`
    results were saved in the `project` of the `store`, which is None where nothing is kept. The
    run took `seconds`, and `keeping_seconds` of them went into store and output.
    """

    confident_only: bool = False
    may_be_empty: bool = False
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
    threshold: Threshold | None = None
    project: str | None = None
    store: str | None = None
    stored: int = 0
    seconds: float = 0.0
    keeping_seconds: float = 0.0
    _kinds: Counter[Diagnosis] = field(default_factory=Counter, repr=False)
    _seen: set[int] = field(default_factory=set, repr=False)

    @property
    def records(self) -> int:
        """Lines that held a record."""
        return self.lines - self.bad

    @property
    def exit_code(self) -> int:
        """0 clean, 1 no valid record, 2 a record failed or a line was bad."""
        if not self.records:
            return 0 if self.may_be_empty and not self.lines else 1
        lacking = self.confident_only and any(item.tentative for item in self._kinds)
        return 2 if self.bad or self.failed or lacking or self.stopped else 0

    @property
    def rates(self) -> TraceRates:
        """Cells and rates; a trace without a query is in none of them."""
        return trace_rates(
            self._kinds.elements(), failed=self.unjudged, confident_only=self.confident_only
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
        self._kinds[reduced] += 1

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
    "python_list": "traces whose context was a Python list; JSON is safer",
    "redacted": "traces that were redacted",
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
    items: Iterable[TraceItem],
    totals: EvaluateTotals,
    journal: RowJournal | None,
    earlier: Callable[[TraceItem], TraceOutcome | None] | None = None,
) -> Iterator[TraceItem]:
    """Yield what is to be judged; rows that are done are counted and passed over.

    The journal says which are, or `earlier`, where there is no journal.
    """
    for item in items:
        found = None
        if journal is not None and journal.is_done(item.place):
            row = json.loads(journal.row(item.place))
            found = TraceOutcome(line=item.line, place=item.place, row=row)
        elif journal is None and earlier is not None:
            found = earlier(item)
        if found is None:
            yield item
            continue
        totals.resumed += 1
        totals.add(found)


def summary_lines(totals: EvaluateTotals) -> Iterator[str]:
    """Write what a run came to, for a person, at most 80 columns."""
    rates = totals.rates
    yield f"{numbers.plural(totals.records, 'trace')}, {rates.evaluated} evaluated"
    if rates.evaluated:
        yield from cell_lines(rates)
    yield ""
    yield from rate_lines(rates)
    for remark in _remarks(totals, rates):
        yield from _WRAPPER.wrap(remark)


_WRAPPER: Final = TextWrapper(
    width=79, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
)


def _remarks(totals: EvaluateTotals, rates: TraceRates) -> Iterator[str]:
    if totals.threshold is not None and rates.evaluated:
        yield f"high sufficiency begins at {totals.threshold.value:.2f}: {_learned(totals.threshold)}"
    if rates.tentative:
        error = f": {totals.judge_error}" if totals.judge_error else ""
        yield f"tentative: {numbers.count_of(rates.tentative, rates.evaluated)} cells{error}"
    counts = (
        (totals.bad, "lines without a valid record"),
        (totals.failed, "records that were not judged in full"),
        (totals.no_query, "traces without a query: only faithfulness was judged"),
        (totals.resumed, "rows from an earlier run"),
        (totals.blank, "blank lines skipped"),
        (totals.repeated, "ids that stood on an earlier line; `line` tells the rows apart"),
        (totals.stored, f"stored in project `{totals.project}` of `{totals.store}`"),
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


def _learned(threshold: Threshold) -> str:
    match threshold.source:
        case "calibrated":
            return (
                f"calibrated{f' on {threshold.traces} healthy traces' if threshold.traces else ''}"
            )
        case "fallback_project":
            return "the fallback, too few traces are healthy"
        case "fallback_memory":
            return "the fallback where no store keeps them"


def summary_json(totals: EvaluateTotals) -> dict[str, Any]:
    """Return what a run came to as plain values for JSON."""
    names = ("lines", "records", "bad", "failed", "no_query", "resumed", "blank", "repeated")
    return {
        **{name: getattr(totals, name) for name in names},
        "rates": totals.rates.model_dump(mode="json"),
        "cost": totals.cost.model_dump(mode="json"),
        "stopped": totals.stopped,
        "threshold": None if totals.threshold is None else asdict(totals.threshold),
        "project": totals.project,
        "store": totals.store,
        "stored": totals.stored,
        "seconds": round(totals.seconds, 3),
        "keeping_seconds": round(totals.keeping_seconds, 3),
        "renamed": {key: name for name, key in totals.renamed},
        "unread": list(totals.unread),
        "exit_code": totals.exit_code,
    }
