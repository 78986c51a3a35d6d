"""Rows of a run over a file, on disk as each is finished, and put in order at the end.

The first line says what the run is; each other line is `<number> <state> <row>`, in the order in
which rows were finished. A later row of the same number replaces an earlier one. A last line that
was cut by a crash is dropped, and that trace is judged again.
"""

from __future__ import annotations

import fcntl
import json
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from aletheia.errors import DataError, StoreError
from aletheia.pipeline.journal import Fingerprint
from aletheia.tabular import Format, output_format, replacing, write_rows

VERSION: Final = 1
_NOTE: Final = 0
"""Number of a line that is no row; rows count from 1."""
_DONE: Final = b"done"
_OPEN: Final = b"open"
"""State of a row that should be judged again: a provider failed, or a budget was used up."""


class RowJournal:
    """An open journal, locked against other runs. Use it as a context manager."""

    def __init__(self, path: Path, handle: IO[bytes]) -> None:
        self.path: Final = path
        self._handle = handle
        # Where the row of each number stands; the first line of the file is the header, so 0 is
        # no place. Eight bytes a row, however many rows.
        self._places = array("q")
        self._rows = 0
        self._open: set[int] = set()
        self.extra: Mapping[str, str] = {}

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
        return self._rows

    @property
    def unfinished(self) -> int:
        """Rows that should be judged again."""
        return len(self._open)

    def is_done(self, line: int) -> bool:
        """Whether a line has a row that stands."""
        return self._has(line) and line not in self._open

    def row(self, line: int) -> bytes:
        """Return the row of a line as it was written, with its line feed."""
        here = self._handle.tell()
        self._handle.seek(self._places[line])
        raw = self._handle.readline()
        self._handle.seek(here)
        return raw.split(b" ", 2)[2]

    def note(self, facts: Mapping[str, str]) -> None:
        """Write down what a run that goes on should know; `extra` gives it back."""
        self._write(b"%d %s %s\n" % (_NOTE, _DONE, json.dumps(dict(facts)).encode()))
        self.extra = facts

    def append(self, line: int, row: bytes, *, again: bool, sync: bool = True) -> None:
        """Write one row, which ends in a line feed; with `sync` it is on the disk on return."""
        raw = b"%d %s %s" % (line, _OPEN if again else _DONE, row)
        place = self._handle.tell()
        self._write(raw, sync=sync)
        self._note(raw, place)

    def sync(self) -> None:
        """Bring to the disk what was appended."""
        self._write(b"")

    def in_order(self) -> Iterator[bytes]:
        """Yield the rows in the order of their lines."""
        for line in range(len(self._places)):
            if self._has(line):
                yield self.row(line)

    def write_to(self, target: Path, *, columns: Sequence[str] | None = None) -> None:
        """Write the rows in order to `target` in the format of its suffix, whole or not at all.

        `columns` are the keys of all rows; where they are not given they are looked for first.
        """
        if output_format(target) is Format.JSONL:
            with replacing(target) as handle:
                handle.writelines(self.in_order())
            return
        write_rows(target, map(json.loads, self.in_order()), columns=columns)

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

    def _has(self, line: int) -> bool:
        return 0 <= line < len(self._places) and self._places[line] > 0

    def _note(self, raw: bytes, place: int) -> None:
        try:
            number, state, _ = raw.split(b" ", 2)
            line = int(number)
        except ValueError:
            raise DataError("a line of the journal is damaged", file=self.path) from None
        if line == _NOTE:
            self.extra = json.loads(raw.split(b" ", 2)[2])
            return
        if line >= len(self._places):
            self._places.extend([0] * (line + 1 - len(self._places)))
        self._rows += not self._places[line]
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

    def _write(self, raw: bytes, *, sync: bool = True) -> None:
        try:
            self._handle.write(raw)
            if sync:
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
