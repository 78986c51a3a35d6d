"""`aletheia verify`: check replies from a JSON Lines file against their evidence."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

from aletheia.cli import output
from aletheia.errors import StoreError, UsageError
from aletheia.schema.verification import Mode
from aletheia.sdk.api import parse_mode
from aletheia.sdk.batch import Verifier

__all__ = ["verify"]

NO_FILE: Final = 1

Write = Callable[[bytes], object]


def verify(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON Lines file, `-` for standard input.")
    ],
    grounding_mode: Annotated[
        str,
        typer.Option(
            "--grounding-mode",
            metavar="strict|lenient|off",
            help="What a failed check does: reject, warn, or only report.",
        ),
    ] = Mode.STRICT.value,
    exempt_question_entities: Annotated[
        bool,
        typer.Option(
            "--exempt-question-entities", help="Let names of the question pass without evidence."
        ),
    ] = False,
    max_bad_rows: Annotated[
        int | None,
        typer.Option(
            "--max-bad-rows", min=0, metavar="N", help="Stop after more than N bad lines."
        ),
    ] = None,
    output_file: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write the rows to this file."),
    ] = None,
) -> None:
    """Check that replies say nothing that the evidence they cite does not carry.

    Each line of FILE is `{"id", "question"?, "evidence": [text | {"text", "source"?, "aliases"?}],
    "reply"}`; one JSON row a line is written. Exit status: 0 all passed, 3 some rejected, 2 a bad
    line or bad usage, 1 no file or no valid record.
    """
    verifier = Verifier(
        name="standard input" if file == "-" else file,
        mode=parse_mode(grounding_mode),
        exempt_question_entities=exempt_question_entities,
        max_bad_rows=max_bad_rows,
        say=output.note,
    )
    raise typer.Exit(_run(verifier, file, output_file))


def _run(verifier: Verifier, file: str, output_file: Path | None) -> int:
    try:
        with _source(file) as lines, _sink(output_file, file) as write:
            totals = verifier.run(lines, write)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(f"the run stopped: {error}") from error
    for line in totals.summary(verifier.name, verifier.mode):
        output.note(line)
    return totals.exit_code


# --- where lines come from and where rows go --------------------------------------------------


@contextmanager
def _source(file: str) -> Iterator[BinaryIO]:
    if file == "-" and sys.stdin is not None:
        yield sys.stdin.buffer
        return
    try:
        stream = Path(file).open("rb")  # noqa: SIM115 - only a failure to open means "no file"
    except OSError as error:
        output.error(f"`{file}` cannot be read: {error.strerror}")
        raise typer.Exit(NO_FILE) from None
    with stream:
        yield stream


@contextmanager
def _sink(path: Path | None, source: str) -> Iterator[Write]:
    if path is None:
        yield _write_to_stdout
        return
    _check_target(path, source)
    target = path if _is_device(path) else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        stream = target.open("wb")
    except OSError as error:
        raise UsageError(f"`--output {path}` cannot be written: {error.strerror}") from None
    try:
        with stream:
            yield stream.write
        # Moved at the end, so that nothing half-written ever has the final name.
        if target != path:
            target.replace(path)
    finally:
        if target != path:
            target.unlink(missing_ok=True)


def _write_to_stdout(row: bytes) -> None:
    """Write a row at once, so that a reader down a pipe sees it."""
    output.data(row.decode("utf-8"))


def _check_target(path: Path, source: str) -> None:
    if path.is_dir():
        raise UsageError(f"`--output {path}` is a directory", hint="name a file")
    if not path.parent.is_dir():
        raise UsageError(f"`--output {path}`: there is no directory `{path.parent}`")
    if source != "-" and path.exists() and path.samefile(source):
        raise UsageError(f"`--output {path}` is the file that is read", hint="name another one")


def _is_device(path: Path) -> bool:
    """Whether it is a pipe or device, which must not be replaced by a file."""
    return path.exists() and not stat.S_ISREG(path.stat().st_mode)
