"""Read the result file of `aletheia probe`, and what it says of a benchmark run."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from aletheia.errors import DataError, UsageError
from aletheia.schema.attribution import ProbeRate, ProbeReport
from aletheia.schema.report import BenchmarkReport


def load_probes(text: str, file: Path) -> ProbeReport:
    """Read a report of probes. Raises `DataError` that names file and field."""
    try:
        return ProbeReport.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise DataError(
            f"this is no report of `aletheia probe`: {first['msg']}",
            file=file,
            field=".".join(map(str, first["loc"])) or None,
        ) from None


def contamination_of(probes: ProbeReport, run: BenchmarkReport) -> ProbeRate:
    """Return the share of answers from memory, where the probes are about this very run.

    Raises `UsageError` for probes of another graph, generator or model, or of other questions.
    """
    there, here = probes.provenance, run.provenance
    asked_ids = frozenset(item.id for item in probes.questions)
    pairs: tuple[tuple[str, object, object], ...] = (
        ("questions", asked_ids, frozenset(row.id for row in run.detailed_results)),
        ("graph", there.graph_digest, here.graph_digest),
        ("question set", there.questions_digest, here.questions_digest),
        ("generator", there.generator, here.generator),
        ("model", there.generator_model, here.generator_model),
    )
    other = [name for name, asked, ran in pairs if asked != ran]
    if other:
        raise UsageError(
            f"the probes and the report differ in {', '.join(other)}",
            hint="run `aletheia probe` over the same graph and questions with the same model",
        )
    return probes.summary.contamination
