"""What a gate can ask of the rows of `aletheia eval --output`, one diagnosed trace each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from aletheia.errors import DataError, UsageError
from aletheia.reports.gate import Rules
from aletheia.reports.gate_facts import Facts, Measure, RejectedQuestion, measure_of
from aletheia.reports.trace_json import INPUT
from aletheia.schema.diagnosis import Diagnosis, FailureCell
from aletheia.schema.proportion import wilson_bounds
from aletheia.schema.trace import ClaimKind

ROWS: Final = "rows of `aletheia eval`"
FAITHFULNESS: Final = "faithfulness"
SUFFICIENCY: Final = "sufficiency"
NAMED: Final = 160
"""Characters of a claim that are shown."""


class RowClaim(BaseModel):
    """One claim of a row, as far as a gate looks at it."""

    model_config = ConfigDict(frozen=True)

    claim: str
    kind: ClaimKind
    verdict: str | None


class TraceRow(BaseModel):
    """One row. Keys that a gate does not look at are passed over."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    id: str | int | float | None
    failure_cell: FailureCell | None
    tentative: bool | None
    sufficiency_score: float | None
    faithfulness: tuple[RowClaim, ...]
    faithfulness_score: float | None
    diagnosis: Diagnosis | None
    errors: dict[str, str]
    making: dict[str, str]
    line: int | None = None

    @property
    def name(self) -> str:
        """The id, or the line where there is none."""
        return f"line {self.line}" if self.id is None else str(self.id)

    @property
    def empty(self) -> bool:
        """Whether the response is empty: decided by rule, and not healthy."""
        return self.diagnosis is not None and self.diagnosis.empty_response

    @property
    def refuses(self) -> bool:
        """Whether the response refuses to answer, so that there is no claim to grade."""
        return self.diagnosis is not None and self.diagnosis.flags.abstained is True


def is_rows(text: str) -> bool:
    """Tell whether a text holds rows: its first line is an object with a cell and errors."""
    try:
        first = json.loads(next(filter(str.strip, text.split("\n")), ""))
    except ValueError:
        return False
    return isinstance(first, dict) and {"failure_cell", "errors", "making"} <= first.keys()


def load_rows(text: str, file: Path) -> tuple[TraceRow, ...]:
    """Read the rows. Raises `DataError` that names file, line and field."""
    # Not `splitlines`: the separators U+2028 and U+0085 may stand inside a JSON string.
    lines = enumerate(text.split("\n"), start=1)
    return tuple(_row(line, number, file) for number, line in lines if line.strip())


def _row(line: str, number: int, file: Path) -> TraceRow:
    try:
        return TraceRow.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        raise DataError(
            f"this is no row of `aletheia eval --output`: {first['msg']}",
            file=file,
            line=number,
            field=".".join(map(str, first["loc"])) or None,
        ) from None


_NOT_IN_ROWS: Final[Mapping[str, Callable[[Rules], object]]] = {
    "--min-accuracy": lambda rules: rules.min_accuracy,
    "--max-rejections": lambda rules: rules.max_rejections,
    "--max-contamination": lambda rules: rules.max_contamination,
}


def check_row_rules(rules: Rules) -> None:
    """Refuse rules about what no row holds. Raises `UsageError` that names them."""
    lacking = [name for name, rule in _NOT_IN_ROWS.items() if rule(rules) is not None]
    lacking += [
        f"--min-{name.replace('_', '-')}" for name in rules.min_metrics if name != FAITHFULNESS
    ]
    if lacking:
        raise UsageError(
            f"{ROWS} hold nothing for {', '.join(f'`{name}`' for name in lacking)}",
            hint="they take `--min-healthy-rate`, `--min-pass-rate`, `--max-ungrounded`, "
            "`--min-faithfulness`, `--max-unmeasured`, `--min-coverage` and `--baseline`",
        )


def healthy(row: TraceRow) -> bool | None:
    """Tell whether a trace is complete and grounded; None without a cell."""
    if row.empty:
        return False
    return None if row.failure_cell is None else row.failure_cell is FailureCell.COMPLETE_GROUNDED


def grounded(row: TraceRow) -> bool | None:
    """Tell whether every claim is supported; None where that is not known."""
    if row.diagnosis is None or row.diagnosis.flags.ungrounded is None:
        return None
    return not row.diagnosis.flags.ungrounded


def confident(test: Callable[[TraceRow], bool | None]) -> Callable[[TraceRow], bool | None]:
    """Count what is tentative as not known."""
    return lambda row: None if row.tentative else test(row)


def row_facts(rows: Sequence[TraceRow], file: str) -> Facts:
    """Collect the figures of diagnosed traces, all counted from the rows."""
    # An empty response is neither grounded nor ungrounded: those figures do not apply to it.
    told = [row for row in rows if not row.empty]
    failed = [row for row in told if grounded(row) is False]
    known = sum(grounded(row) is not None for row in told)
    return Facts(
        file=file,
        questions=len(rows),
        verdicts=_counted(told, grounded),
        accuracy=measure_of(0, 0, len(rows)),
        failed=len(failed) if known else None,
        metrics={
            FAITHFULNESS: _mean([row for row in told if not row.refuses], _faithfulness),
            SUFFICIENCY: _mean(told, _sufficiency),
        },
        incomplete=tuple(row.name for row in rows if _is_incomplete(row)),
        rejected=tuple(map(_rejected, failed)),
        healthy=_counted(rows, healthy),
        confident_healthy=_counted(rows, confident(healthy)),
        ungrounded=_counted(told, _ungrounded),
        confident_ungrounded=_counted(told, confident(_ungrounded)),
        rows=True,
    )


def _ungrounded(row: TraceRow) -> bool | None:
    found = grounded(row)
    return None if found is None else not found


def _counted(rows: Sequence[TraceRow], test: Callable[[TraceRow], bool | None]) -> Measure:
    told = [found for row in rows if (found := test(row)) is not None]
    return measure_of(sum(told), len(told), len(rows))


def _faithfulness(row: TraceRow) -> float | None:
    return row.faithfulness_score


def _sufficiency(row: TraceRow) -> float | None:
    return row.sufficiency_score


def _mean(rows: Sequence[TraceRow], score: Callable[[TraceRow], float | None]) -> Measure:
    """Average the scores; bounds are those of a share of this size, too wide, never too narrow."""
    values = [value for row in rows if (value := score(row)) is not None]
    if not values:
        return Measure(value=None, low=None, high=None, n=0, total=len(rows))
    total = round(math.fsum(values), 6)
    return Measure(
        value=math.fsum(values) / len(values),
        low=wilson_bounds(math.floor(total), len(values))[0],
        high=wilson_bounds(math.ceil(total), len(values))[1],
        n=len(values),
        total=len(rows),
    )


def _is_incomplete(row: TraceRow) -> bool:
    return bool(row.errors) or (row.failure_cell is None and not row.empty)


def _rejected(row: TraceRow) -> RejectedQuestion:
    claims = [item.claim for item in row.faithfulness if item.verdict == "N"]
    named = claims[0] if claims else None
    if named is not None and len(named) > NAMED:
        named = f"{named[:NAMED]}…"
    count = f"{len(claims)} of {len(row.faithfulness)} claims are not supported"
    return RejectedQuestion(id=row.name, reason=count, finding=named)


# --- two files of rows ------------------------------------------------------------------------


def rows_by_id(rows: Sequence[TraceRow], file: str) -> dict[str | int | float, TraceRow]:
    """Return rows by id, in order. Raises `DataError` for a row without one, or one twice.

    The row of a line that held no record has none, and is left out.
    """
    found: dict[str | int | float, TraceRow] = {}
    for row in (item for item in rows if INPUT not in item.errors):
        if row.id is None:
            raise DataError(
                "a row has no id, so rows cannot be matched with a baseline",
                file=file,
                line=row.line,
                field="id",
                hint="give each record an `id`",
            )
        if row.id in found:
            raise DataError(
                f"the id {row.id!r} stands twice, so rows cannot be matched",
                file=file,
                line=row.line,
                field="id",
            )
        found[row.id] = row
    return found


def judges_of(rows: Sequence[TraceRow], file: str) -> dict[str, str]:
    """Return what makes the judge of all rows. Raises `DataError` where rows have several."""
    first: dict[str, str] | None = None
    for row in rows:
        made = dict(_judge(row.making))
        if not made:
            continue
        if first is not None and made != first:
            raise DataError(
                f"its rows were judged by different judges: {_difference(first, made)}",
                file=file,
                line=row.line,
                field="making",
            )
        first = made
    return first or {}


def _judge(making: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in making.items():
        if name in _JUDGE or name.endswith(("_judge", "_model")) or name.startswith("prompt_"):
            yield name, value


_JUDGE: Final = ("judge", "decomposer", "coverage", "repeat")


def _difference(one: Mapping[str, Any], two: Mapping[str, Any]) -> str:
    names = [name for name in {**one, **two} if one.get(name) != two.get(name)]
    shown = (f"`{name}` {one.get(name, 'not set')}, {two.get(name, 'not set')}" for name in names)
    return "; ".join(shown)


def check_rows_comparable(
    rows: Sequence[TraceRow], file: str, baseline: Sequence[TraceRow], baseline_file: str
) -> None:
    """Refuse rows of another judge, or about other traces. Raises `DataError`."""
    ours, theirs = judges_of(rows, file), judges_of(baseline, baseline_file)
    if ours and theirs and ours != theirs:
        raise DataError(
            f"it cannot be compared with `{baseline_file}`, judged by another judge: "
            f"{_difference(theirs, ours)}",
            file=file,
            field="making",
            hint="figures of different judges differ for that reason alone: make a new baseline",
        )
    known = rows_by_id(baseline, baseline_file).keys()
    if known and not known & rows_by_id(rows, file).keys():
        raise DataError(
            f"it has no id in common with `{baseline_file}`",
            file=file,
            field="id",
            hint="a baseline is an earlier run over the same traces",
        )
