"""The result file: built from rows, written as JSON text, read back. Text in, text out: no disk."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from aletheia.errors import DataError
from aletheia.reports.compare import paired_differences
from aletheia.reports.interpret import interpret
from aletheia.reports.tally import (
    abstention_report,
    by_type,
    grounding_report,
    metric_summaries,
    run_cost,
)
from aletheia.reports.visible import without_surrogates
from aletheia.schema.report import (
    METRICS,
    SCHEMA_VERSION,
    BenchmarkReport,
    DetailedResult,
    Provenance,
    RunCost,
)
from aletheia.schema.run_diagnosis import DiagnosisReport

_log = logging.getLogger(__name__)

# JSON lets these stand in strings, but a terminal or an editor would obey them.
_ACTING = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def stem(created_at: datetime) -> str:
    """Return the file name of a run without its suffix: `ragas_YYYYMMDD_HHMMSS`."""
    return f"ragas_{created_at:%Y%m%d_%H%M%S}"


def build_report(
    results: Sequence[DetailedResult],
    provenance: Provenance,
    *,
    diagnosis: DiagnosisReport | None = None,
    batched: RunCost | None = None,
) -> BenchmarkReport:
    """Tally the rows of a run. Rows keep their order; the mode and seed come from `provenance`.

    `diagnosis` is what the cells of the rows came to (None = there was no judge), `batched` what
    the batches of the run cost.
    """
    grounding = grounding_report(results)
    abstention = abstention_report(results)
    metrics = metric_summaries(results)
    return BenchmarkReport(
        aggregate_scores={name: summary.mean for name, summary in metrics.items()},
        aggregate_details=metrics,
        grounding_report=grounding,
        abstention_report=abstention,
        diagnosis_report=diagnosis,
        by_type=by_type(results),
        baseline_comparison=paired_differences(results, seed=provenance.seed),
        interpretation=interpret(
            results, grounding, abstention, metrics, provenance.mode, diagnosis
        ),
        cost=run_cost(results, batched),
        provenance=provenance,
        detailed_results=tuple(results),
    )


def dump_json(report: BenchmarkReport) -> str:
    """Write the file's text: indented, in the order of the schema, ending in a line feed.

    An unpaired surrogate, which UTF-8 cannot hold, becomes U+FFFD one for one, so offsets stay
    right; how many were replaced is logged. Characters that a terminal would obey are escaped.
    Raises `DataError` when a setting is not a JSON value or not a finite number.
    """
    try:
        # Not `mode="json"`: that turns NaN into null without a word.
        data = _ordered(report.model_dump())
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2)
    except (TypeError, ValueError) as error:
        raise DataError(f"the report cannot be written as JSON: {error}") from error
    text, replaced = without_surrogates(text)
    if replaced:
        _log.warning("%d unpaired surrogates in the report were replaced by U+FFFD", replaced)
    return _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _ordered(data: dict[str, Any]) -> dict[str, Any]:
    """Put free keys in a fixed order, so that a resumed run writes the same bytes."""
    for row in data["detailed_results"]:
        for field in ("metrics", "baseline_metrics", "timings_ms"):
            row[field] = _by_key(row[field])
    for field in ("settings", "packages"):
        data["provenance"][field] = _by_key(data["provenance"][field])
    return data


def _by_key(values: Mapping[str, Any]) -> dict[str, Any]:
    known = [name for name in METRICS if name in values]
    return {name: values[name] for name in [*known, *sorted(set(values) - set(known))]}


def load_json(text: str, file: str | Path) -> BenchmarkReport:
    """Read a result file. Raises `DataError` with the file, and the line or field that is wrong."""
    data = _parsed(text, file)
    if not isinstance(data, dict):
        raise DataError("a result file is one JSON object", file=file, line=1)
    version = data.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise DataError(
            f"`schema_version` is {version!r}, this program reads {SCHEMA_VERSION}",
            file=file,
            field="schema_version",
            hint="it is no result file of `evaluate-ragas`, or another version wrote it",
        )
    try:
        return BenchmarkReport.model_validate(data)
    except ValidationError as error:
        _reject(error, file)


def _parsed(text: str, file: str | Path) -> object:
    try:
        parsed: object = json.loads(text.removeprefix("\ufeff"), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", file=file, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"not a result file: {error}", file=file) from error
    return parsed


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"`{name}` is not a JSON number")


def _reject(error: ValidationError, file: str | Path) -> NoReturn:
    """Name the first wrong field; count the others."""
    first, others = error.errors()[0], error.error_count() - 1
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if others:
        message += f", and {others} more"
    raise DataError(message, file=file, field=field or None) from error
