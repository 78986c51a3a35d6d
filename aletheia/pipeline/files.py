"""Where a run writes: the directory is checked first, and a file appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from aletheia.errors import StoreError, UsageError
from aletheia.pipeline.journal import SUFFIX, Fingerprint, Journal
from aletheia.reports.document import stem

_TAKEN: Final = (".json", ".html", SUFFIX)
"""What a run may have left under its stem."""


def check_directory(directory: Path) -> None:
    """Make the directory if it is not there, and try it. Raises `UsageError`."""
    hint = "give another `--output-dir`"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except FileExistsError:
        raise UsageError(f"`{directory}` is not a directory", hint=hint) from None
    except NotADirectoryError as error:
        raise UsageError(f"`{error.filename}` is not a directory", hint=hint) from None
    except OSError as error:
        raise UsageError(
            f"nothing can be written into `{directory}`: {error.strerror}", hint=hint
        ) from None


def new_journal(directory: Path, at: datetime, fingerprint: Fingerprint) -> Journal:
    """Begin a journal under the first second from `at` that no run has; it keeps that name."""
    while True:
        at = _free(directory, at, own=None)
        try:
            return Journal.create(directory / f"{stem(at)}{SUFFIX}", fingerprint)
        except FileExistsError:
            at += timedelta(seconds=1)


def write_pair(
    directory: Path, at: datetime, texts: Mapping[str, Iterable[str]], *, own: Path
) -> tuple[Path, ...]:
    """Write the files of one run under one stem, by suffix; nothing that is there is replaced.

    The stem is the first second from `at` that no other run has; `own` is the journal of this one.
    """
    temporary = [_written(directory, suffix, pieces) for suffix, pieces in texts.items()]
    try:
        while True:
            at = _free(directory, at, own=own)
            names = [directory / f"{stem(at)}{suffix}" for suffix in texts]
            if _named(temporary, names):
                return tuple(names)
            at += timedelta(seconds=1)
    finally:
        for path in temporary:
            path.unlink(missing_ok=True)


def _free(directory: Path, at: datetime, *, own: Path | None) -> datetime:
    while any(
        (path := directory / f"{stem(at)}{suffix}") != own and path.exists() for suffix in _TAKEN
    ):
        at += timedelta(seconds=1)
    return at


def _written(directory: Path, suffix: str, pieces: Iterable[str]) -> Path:
    """Write UTF-8 text under a hidden name, down to the disk. Raises `StoreError`."""
    descriptor, name = tempfile.mkstemp(dir=directory, prefix=".ragas_", suffix=f"{suffix}.tmp")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as handle:
            handle.writelines(pieces)
            handle.flush()
            os.fsync(handle.fileno())
        path.chmod(0o666 & ~_umask())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise StoreError(f"`{directory}` cannot be written: {error.strerror}") from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _named(temporary: Sequence[Path], names: Sequence[Path]) -> bool:
    """Give the files their names; False, with none of them given, where one is taken."""
    done: list[Path] = []
    for path, name in zip(temporary, names, strict=True):
        try:
            _link(path, name)
        except FileExistsError:
            for given in done:
                given.unlink()
            return False
        done.append(name)
    return True


def _link(path: Path, name: Path) -> None:
    try:
        name.hardlink_to(path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: the name was free a moment ago.
        path.replace(name)


def _umask() -> int:
    """Return the mask for new files, which `mkstemp` does not follow."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
