"""`aletheia compare`: one run in three modes, or several runs over the same questions."""

from __future__ import annotations

import json as json_library
import os
import tempfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aletheia.cli import output
from aletheia.errors import DataError, StoreError, UsageError

if TYPE_CHECKING:
    from aletheia.reports.comparison_modes import Readings
    from aletheia.schema.comparison import Comparison
    from aletheia.schema.report import BenchmarkReport, DetailedResult

__all__ = ["AllowOption", "compare", "load_report", "read_report", "read_text", "write_file"]


class AllowOption(StrEnum):
    """What runs may differ in."""

    QUESTIONS = "questions"
    GRAPH = "graph"
    JUDGE = "judge"


def compare(
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORT...", help="Reports of `evaluate-ragas` (JSON).")
    ],
    allow_different: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="What may differ: a list of `questions`, `graph`, `judge`.",
        ),
    ] = "",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the resampling.")] = 0,
    output_file: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Also write the comparison as JSON."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Show one run in every mode, or compare runs with the first of them.

    One report: strict, lenient and off from the same replies, and the signs of answers from
    memory. Two or more: differences with intervals and tests, and every question that ended
    otherwise. No model is asked.

    Exit codes: 0 compared; 2 a file that is no report, or runs that may not be compared.
    """
    from aletheia.reports.comparison_document import to_json
    from aletheia.reports.comparison_text import render_comparison

    allowed = _allowed(allow_different)
    named = [(str(path), read_report(path)) for path in reports]
    if len(named) == 1 and allowed:
        raise UsageError("`--allow-different` needs at least two reports")
    found = _compared(named, allowed, seed)
    body = to_json(found)
    if output_file is not None:
        write_file(output_file, body, "--output")
    if json:
        output.data(body)
    else:
        output.block(render_comparison(found, style=output.styled).rstrip("\n"))


def _allowed(names: str) -> list[AllowOption]:
    found = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        try:
            found.append(AllowOption(name))
        except ValueError:
            listed = ", ".join(f"`{item}`" for item in AllowOption)
            raise UsageError(
                f"`--allow-different {name}` is not known", hint=f"there are {listed}"
            ) from None
    return found


def _compared(
    named: list[tuple[str, BenchmarkReport]], allowed: list[AllowOption], seed: int
) -> Comparison:
    if len(named) > 1:
        from aletheia.reports.comparison import compare_runs

        return compare_runs(named, allowed=[item.value for item in allowed], seed=seed)
    from aletheia.reports.comparison_modes import compare_modes

    file, report = named[0]
    return compare_modes(report, file, reader=_read_again)


def _read_again(row: DetailedResult) -> Readings | None:
    """Verify the reply of a row once more, as strict reads citations and as lenient does."""
    from aletheia.grounding.modes import judge
    from aletheia.grounding.numbering import number
    from aletheia.grounding.verify import VerifyOptions, verify_reply
    from aletheia.schema.evidence import EvidenceText
    from aletheia.schema.verification import Mode

    if row.raw_reply is None:
        return None
    units = number(
        [
            EvidenceText(text=u.text, source=u.source, aliases=u.aliases, facts=u.facts)
            for u in row.evidence
        ]
    )
    if units.ids != tuple(unit.id for unit in row.evidence):
        return None
    return {
        mode: judge(
            verify_reply(
                units,
                row.raw_reply,
                question=row.question,
                options=VerifyOptions(lenient=mode is Mode.LENIENT),
            ),
            mode,
        )
        for mode in Mode
    }


def read_report(path: Path) -> BenchmarkReport:
    """Read a result file. Raises `DataError` that names the file and what is wrong with it."""
    return load_report(read_text(path), path)


def load_report(text: str, path: Path) -> BenchmarkReport:
    """Read the text of a result file. Raises `DataError`, which names another file of ours."""
    from aletheia.reports.document import load_json
    from aletheia.reports.gate_rows import is_rows

    other = _OTHERS["rows"] if is_rows(text) else _OTHERS.get(_kind(text))
    if other is not None:
        what, hint = other
        raise DataError(f"this is {what}, and no report of `evaluate-ragas`", file=path, hint=hint)
    return load_json(text, path)


def _kind(text: str) -> str:
    """Return what a file of ours says that it is; empty where it says nothing."""
    try:
        found = json_library.loads(text)
    except ValueError:
        return ""
    if not isinstance(found, dict):
        return ""
    return "questions" if "questions" in found and "kind" not in found else str(found.get("kind"))


_OTHERS: Final[Mapping[str, tuple[str, str]]] = {
    "probe": (
        "a result of `aletheia probe`",
        "`aletheia gate REPORT --probes FILE` takes it beside the report of the same run",
    ),
    "rows": ("a file of rows of `aletheia eval`", "`aletheia gate` takes such a file"),
    "modes": ("a comparison", "give the reports that it compares"),
    "runs": ("a comparison", "give the reports that it compares"),
    "report": ("a decision of `aletheia gate`", "give the report that it is about"),
    "questions": ("a question set", "`aletheia evaluate-ragas` makes a report from it"),
}
"""Files of ours that are easily taken for a report: what each is, and what to do."""


def read_text(path: Path) -> str:
    """Read a UTF-8 file whole. Raises `DataError` that says why it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise DataError(f"it cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError as error:
        raise DataError(f"it is not UTF-8: byte {error.start}", file=path) from None


def write_file(path: Path, text: str, option: str) -> None:
    """Write UTF-8 text whole or not at all. Raises `UsageError` or `StoreError`."""
    if path.is_dir():
        raise UsageError(f"`{option} {path}` is a directory", hint="name a file")
    if not path.parent.is_dir():
        raise UsageError(f"`{option} {path}`: there is no directory `{path.parent}`")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(text.encode("utf-8"))  # a pipe or device, which nothing may replace
            return
        _replace(path, text.encode("utf-8"))
    except OSError as error:
        raise StoreError(f"`{option} {path}` cannot be written: {error.strerror}") from None


def _replace(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
        part.chmod(0o644)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
