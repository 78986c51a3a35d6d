"""Rows of a run over a file, on disk as each is finished, and put in order at the end.

The first line says what the run is; each other line is `<line> <state> <row>`, in the order in
which rows were finished. A later row of the same line replaces an earlier one. A last line that
was cut by a crash is dropped, and that trace is judged again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from aletheia.errors import DataError, StoreError
from aletheia.pipeline.journal import Fingerprint

VERSION: Final = 1
_DONE: Final = b"done"
_OPEN: Final = b"open"
"""State of a row that should be judged again: a provider failed, or a budget was used up."""


class RowJournal:
    """An open journal, locked against other runs. Use it as a context manager."""

    def __init__(self, path: Path, handle: IO[bytes]) -> None:
        self.path: Final = path
        self._handle = handle
        self._places: dict[int, int] = {}
        self._open: set[int] = set()

    @classmethod
    def create(cls, path: Path, fingerprint: Fingerprint) -> Self:
        """Begin a journal; one that is there is replaced. Raises `StoreError`."""
        made = cls(path, _opened(path))
        made._lock()
        made._handle.truncate(0)
        header = {"kind": "rows", "version": VERSION, "fingerprint": dict(fingerprint)}
        made._write(json.dumps(header).encode() + b"\n")
        return made

    @classmethod
    def reopen(cls, path: Path) -> tuple[Self, Fingerprint]:
        """Go on with a journal; what is torn is cut off. Raises `DataError` or `StoreError`."""
        made = cls(path, _opened(path))
        made._lock()
        try:
            return made, made._read()
        except BaseException:
            made._handle.close()
            raise

    def _read(self) -> Fingerprint:
        """Read what is there, and cut off what is torn."""
        fingerprint = _header(self._handle.readline(), self.path)
        end = self._handle.tell()
        for raw in self._handle:
            if not raw.endswith(b"\n"):
                break
            self._note(raw, end)
            end += len(raw)
        self._handle.truncate(end)
        self._handle.seek(end)
        return fingerprint

    @property
    def rows(self) -> int:
        """Lines that have a row."""
        return len(self._places)

    @property
    def unfinished(self) -> int:
        """Rows that should be judged again."""
        return len(self._open)

    def is_done(self, line: int) -> bool:
        """Whether a line has a row that stands."""
        return line in self._places and line not in self._open

    def row(self, line: int) -> bytes:
        """Return the row of a line as it was written, with its line feed."""
        here = self._handle.tell()
        self._handle.seek(self._places[line])
        raw = self._handle.readline()
        self._handle.seek(here)
        return raw.split(b" ", 2)[2]

    def append(self, line: int, row: bytes, *, again: bool) -> None:
        """Write one row, which ends in a line feed; it is on the disk when this returns."""
        raw = b"%d %s %s" % (line, _OPEN if again else _DONE, row)
        place = self._handle.tell()
        self._write(raw)
        self._note(raw, place)

    def in_order(self) -> Iterator[bytes]:
        """Yield the rows in the order of their lines."""
        for line in sorted(self._places):
            yield self.row(line)

    def write_to(self, target: Path) -> None:
        """Write the rows in order to `target`, which appears whole or not at all."""
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with temporary.open("wb") as handle:
                handle.writelines(self.in_order())
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(target)
        except OSError as error:
            raise StoreError(f"`{target}` cannot be written: {error.strerror}") from None
        finally:
            temporary.unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the file: the output holds everything now."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._handle.close()

    def _note(self, raw: bytes, place: int) -> None:
        try:
            number, state, _ = raw.split(b" ", 2)
            line = int(number)
        except ValueError:
            raise DataError("a line of the journal is damaged", file=self.path) from None
        self._places[line] = place
        if state == _OPEN:
            self._open.add(line)
        else:
            self._open.discard(line)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._handle.close()
            raise StoreError(
                f"`{self.path}` is being written by another run", hint="wait until it has ended"
            ) from None
        except OSError:
            # A file system without locks: two runs at once are then up to the user.
            return

    def _write(self, raw: bytes) -> None:
        try:
            self._handle.write(raw)
            self._handle.flush()
            os.fsync(self._handle.fileno())
        except OSError as error:
            raise StoreError(f"`{self.path}` cannot be written: {error.strerror}") from None


def _opened(path: Path) -> IO[bytes]:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror}") from None
    return os.fdopen(descriptor, "r+b")


def _header(raw: bytes, path: Path) -> Fingerprint:
    try:
        value = json.loads(raw)
    except ValueError:
        value = None
    match value:
        case {"kind": "rows", "version": int(version), "fingerprint": Mapping() as fingerprint}:
            if version == VERSION:
                return {str(name): str(item) for name, item in fingerprint.items()}
    raise DataError(
        "the first line is no header of a journal of rows", file=path, line=1, hint="delete it"
    )
