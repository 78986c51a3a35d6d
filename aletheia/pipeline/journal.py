"""The journal of a run: one line for each finished question, on disk before the next is begun.

The first line says what the run is (its fingerprint); the others are rows in the order in which
they were finished. A later row of the same question replaces an earlier one. A last line that was
cut by a crash is dropped, and that question is asked again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from pydantic import ValidationError

from aletheia.errors import DataError, StoreError
from aletheia.schema.report import Capability, DetailedResult

SUFFIX: Final = ".partial.jsonl"
VERSION: Final = 1

Fingerprint = Mapping[str, str]
"""What must be the same for a run to go on: name → value, both as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One finished question. `structured` is how its reply was constrained, if it was asked for.

    `incomplete` says that a provider failed or a budget was used up, and the question should be
    asked again. `capabilities` is what the run had found out about its models by then.
    """

    index: int
    row: DetailedResult
    structured: str | None = None
    incomplete: bool = False
    capabilities: tuple[Capability, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A journal as read. `size` is the number of bytes that are whole lines."""

    path: Path
    fingerprint: Fingerprint
    entries: Mapping[int, Entry] = field(default_factory=dict)
    size: int
    torn: bool = False


class Journal:
    """An open journal, locked against other runs. Use it as a context manager."""

    def __init__(self, path: Path, handle: IO[bytes], rows: int = 0) -> None:
        self.path: Final = path
        self._handle = handle
        self._rows = rows

    @classmethod
    def create(cls, path: Path, fingerprint: Fingerprint) -> Self:
        """Begin a journal. Raises `FileExistsError`, or `StoreError` if it cannot be written."""
        try:
            handle = path.open("xb")
        except FileExistsError:
            raise
        except OSError as error:
            raise StoreError(f"`{path}` cannot be written: {error.strerror}") from None
        made = cls(path, handle)
        made._lock()
        made._write(
            {"kind": "header", "version": VERSION, "fingerprint": dict(fingerprint)},
        )
        _sync_directory(path.parent)
        return made

    @classmethod
    def reopen(cls, contents: Contents) -> Self:
        """Go on with a journal that was read; what is torn is cut off. Raises `StoreError`."""
        try:
            handle = contents.path.open("r+b")
        except OSError as error:
            raise StoreError(f"`{contents.path}` cannot be written: {error.strerror}") from None
        made = cls(contents.path, handle, len(contents.entries))
        made._lock()
        handle.truncate(contents.size)
        handle.seek(contents.size)
        return made

    def append(self, entry: Entry) -> None:
        """Write one row; it is on the disk when this returns. Raises `StoreError`."""
        self._rows += 1
        self._write(
            {
                "kind": "row",
                "index": entry.index,
                "structured": entry.structured,
                "incomplete": entry.incomplete,
                "capabilities": [item.model_dump() for item in entry.capabilities],
                "row": entry.row.model_dump(),
            }
        )

    def remove_if_empty(self) -> None:
        """Delete the file if no row was ever written: then there is nothing to go on with."""
        if self._rows == 0:
            self.remove()

    def remove(self) -> None:
        """Delete the file: the report holds everything now."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file and give up the lock."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._handle.close()
            raise StoreError(
                f"`{self.path}` is being written by another run", hint="wait until it has ended"
            ) from None
        except OSError:
            # A file system without locks: two resumes at once are then up to the user.
            return

    def _write(self, value: Mapping[str, object]) -> None:
        # ASCII escapes keep half a UTF-16 pair, which UTF-8 could not hold.
        line = json.dumps(value, ensure_ascii=True, allow_nan=False) + "\n"
        try:
            self._handle.write(line.encode("ascii"))
            self._handle.flush()
            os.fsync(self._handle.fileno())
        except OSError as error:
            raise StoreError(f"`{self.path}` cannot be written: {error.strerror}") from None


def read(path: Path) -> Contents:
    """Read a journal. Raises `DataError` where a line other than the last is damaged."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"the journal cannot be read: {error.strerror}", file=path) from None
    whole, _, rest = raw.rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    if not lines:
        raise DataError("the journal has no first line", file=path, line=1, hint="delete it")
    fingerprint = _header(_object(lines[0], path, 1), path)
    entries: dict[int, Entry] = {}
    for number, line in enumerate(lines[1:], 2):
        entry = _entry(_object(line, path, number), path, number)
        entries[entry.index] = entry
    return Contents(
        path=path,
        fingerprint=fingerprint,
        entries=entries,
        size=len(whole) + 1,
        torn=bool(rest),
    )


def headers(directory: Path) -> tuple[tuple[Path, Fingerprint], ...]:
    """Journals in a directory with their fingerprints, the newest first.

    One whose first line is not whole or not ours holds nothing that could be used, and is left
    out.
    """
    paths = sorted(directory.glob(f"*{SUFFIX}"), key=lambda path: path.name, reverse=True)
    found = ((path, _fingerprint(path)) for path in paths)
    return tuple((path, item) for path, item in found if item is not None)


def differences(earlier: Fingerprint, now: Fingerprint) -> tuple[str, ...]:
    """Say in which fields two runs differ, one phrase for each."""
    names = [name for name in {**earlier, **now} if earlier.get(name) != now.get(name)]
    return tuple(
        f"{name} was {_shown(earlier.get(name))}, now {_shown(now.get(name))}" for name in names
    )


def _shown(value: str | None) -> str:
    return "not recorded" if value is None else f"`{value}`"


def _fingerprint(path: Path) -> Fingerprint | None:
    with path.open("rb") as handle:
        line = handle.readline()
    if not line.endswith(b"\n"):
        return None
    try:
        return _header(_object(line, path, 1), path)
    except DataError:
        return None


def _object(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        raise DataError("this line of the journal is damaged", file=path, line=number) from None
    if not isinstance(value, dict):
        raise DataError("this line of the journal is no object", file=path, line=number)
    return value


def _header(value: Mapping[str, Any], path: Path) -> Fingerprint:
    fingerprint = value.get("fingerprint")
    if value.get("kind") != "header" or not isinstance(fingerprint, dict):
        raise DataError("the first line is no header of a journal", file=path, line=1)
    if value.get("version") != VERSION:
        message = f"the journal has version {value.get('version')!r}, this program reads {VERSION}"
        raise DataError(message, file=path, line=1)
    return {str(name): str(item) for name, item in fingerprint.items()}


def _entry(value: Mapping[str, Any], path: Path, number: int) -> Entry:
    try:
        return Entry(
            index=int(value["index"]),
            row=DetailedResult.model_validate(value["row"]),
            structured=value["structured"],
            incomplete=bool(value["incomplete"]),
            capabilities=tuple(map(Capability.model_validate, value.get("capabilities", ()))),
        )
    except (KeyError, TypeError, ValueError, ValidationError):
        raise DataError("this line of the journal is no row", file=path, line=number) from None


def _sync_directory(directory: Path) -> None:
    """Make the new name itself last through a crash."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
