"""The options of `aletheia eval`: how they are written, and what they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from aletheia.config import Settings
    from aletheia.tabular import Format


class JudgeOption(StrEnum):
    """Who judges."""

    AUTO = "auto"
    EMBEDDED = "embedded"
    LLM = "llm"


class CoverageOption(StrEnum):
    """What covers a sub-question."""

    GROUNDED = "grounded"
    TOPICAL = "topical"


class FormatOption(StrEnum):
    """What a file holds."""

    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    DATASET = "dataset"


class ProgressOption(StrEnum):
    """How progress is shown."""

    AUTO = "auto"
    PLAIN = "plain"
    JSON = "json"
    NONE = "none"


FileArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE", help="File of traces, folder of a dataset, `-` for standard input."
    ),
]
PendingOption = Annotated[
    bool,
    typer.Option("--pending", help="Judge what waits in the store, or failed there, not a file."),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        "-c",
        min=1,
        max=1000,
        metavar="N",
        help="Traces at once with a model, processes with the embedded judges.",
    ),
]
PersistOption = Annotated[bool, typer.Option("--no-persist", help="Keep nothing but the output.")]
ProjectOption = Annotated[
    str | None, typer.Option("--project", metavar="NAME", help="Project in the store.")
]
JudgeChoiceOption = Annotated[
    JudgeOption,
    typer.Option("--judge", help="Who judges; `auto` asks a model if an endpoint is set."),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the rows: `.jsonl`, `.json`, `.csv`, `.tsv` or `.parquet`.",
    ),
]
InputFormatOption = Annotated[
    FormatOption | None, typer.Option("--format", help="What FILE holds, if it does not show.")
]
SplitOption = Annotated[
    str | None, typer.Option("--split", metavar="NAME", help="Split of a dataset folder.")
]
DelimiterOption = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="CHAR", help="What divides the cells of a CSV file."),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=KEY",
        help="Read `query`, `context`, `response` or `id` from KEY, such as `metadata.contexts`.",
    ),
]
DecomposeOption = Annotated[
    bool,
    typer.Option(
        "--decompose/--no-decompose", help="Cut the response into claims, or take it as one."
    ),
]
RepeatOption = Annotated[
    int, typer.Option(min=1, max=99, metavar="K", help="Judge K times and take the majority.")
]
CoverageChoiceOption = Annotated[
    CoverageOption,
    typer.Option(
        "--coverage", help="What covers a sub-question: a supported claim, or any about it."
    ),
]
LimitOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Judge only the first N rows.")
]
MaxBadRowsOption = Annotated[
    int | None,
    typer.Option("--max-bad-rows", min=0, metavar="N", help="Stop after more than N bad rows."),
]
ConfidentOption = Annotated[
    bool, typer.Option("--confident-only", help="Count a tentative cell as none.")
]
StopAfterOption = Annotated[
    int,
    typer.Option(min=0, metavar="N", help="Stop after N equal failures in a row; 0 never stops."),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on with an unfinished run over the same file.")
]
ProgressChoiceOption = Annotated[
    ProgressOption,
    typer.Option("--progress", help="A bar on a terminal, plain lines, JSON lines, or nothing."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress: `--progress none`.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions:
    """What one run of the command was asked for. `file` None = what waits in the store."""

    settings: Settings
    file: str | None
    target: Path | None = None
    choice: str = "auto"
    concurrency: int | None = None
    decompose: bool = True
    repeat: int = 1
    coverage: str = "grounded"
    limit: int | None = None
    max_bad_rows: int | None = None
    stop_after: int = 5
    names: Mapping[str, str]
    kind: Format | None = None
    split: str | None = None
    delimiter: str | None = None
    persist: bool = True
    confident_only: bool = False
    resume: bool = False
    progress: str = "auto"

    @property
    def name(self) -> str:
        """What stands for the source in messages."""
        if self.file is None:
            return f"project `{self.settings.project}`"
        return "standard input" if self.file == "-" else self.file


def checked(options: EvalOptions) -> EvalOptions:
    """Return the options if they fit together. Raises `UsageError` before anything is read."""
    from aletheia.errors import UsageError

    if options.file is None and not options.persist:
        raise UsageError("`--pending` and `--no-persist` exclude each other")
    if options.resume and options.file is None:
        raise UsageError("`--resume` goes on with a file: what waits in the store waits there")
    if options.resume and options.target is None and not options.persist:
        raise UsageError("`--resume` needs the store, or the `--output` of the unfinished run")
    if options.target is not None:
        _check_target(options.target, options.file)
    return options


def one_source(file: str | None, *, pending: bool) -> str | None:
    """Return the file, None for what waits in the store. Raises `UsageError` for both or none."""
    from aletheia.errors import UsageError

    if (file is None) != pending:
        said = "there is no FILE" if file is None else f"FILE `{file}` and `--pending` are two"
        raise UsageError(f"{said}: one of them says what to judge", hint="`-` reads standard input")
    return file


def _check_target(path: Path, source: str | None) -> None:
    from aletheia.errors import UsageError
    from aletheia.tabular import output_format

    if path.exists() and not path.is_file():
        raise UsageError(f"`--output {path}` is no regular file", hint="name another one")
    if not path.parent.is_dir():
        raise UsageError(f"`--output {path}`: there is no directory `{path.parent}`")
    read = None if source in (None, "-") else Path(str(source))
    if read is not None and path.exists() and read.exists() and path.samefile(read):
        raise UsageError(f"`--output {path}` is the file that is read", hint="name another one")
    output_format(path)
