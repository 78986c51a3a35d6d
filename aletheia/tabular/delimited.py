"""CSV and TSV: rows of cells below one row of names, quoted as RFC 4180 says."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Final

from aletheia.errors import DataError
from aletheia.tabular.base import Format, Row, Scan
from aletheia.tabular.values import UTF16_MARKS

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS: Final = (",", ";", "\t", "|")
_SAMPLE: Final = 1 << 16
_PIECE: Final = 1 << 20
_DECLARED: Final = re.compile(r"sep=(.)\r?\n")
"""A first line that spreadsheets write and read: it names the delimiter."""
_BAD_BYTES: Final = re.compile("[\udc80-\udcff]+")


class DelimitedTable:
    """A file of cells. The row of names decides the delimiter, unless it is given.

    `known` are names that are likely to stand there. Raises `DataError` where there is no row of
    names, or where two delimiters would do equally well.
    """

    text_cells: Final = True

    def __init__(
        self,
        handle: IO[bytes],
        kind: Format,
        *,
        delimiter: str | None = None,
        known: Collection[str] = (),
    ) -> None:
        self.format: Final = kind
        self._handle = handle
        self.blank = 0
        sample = _sample(handle)
        declared = _DECLARED.match(sample)
        self._declared = declared is not None
        if declared is not None:
            sample = sample[declared.end() :]
        given = delimiter or (declared[1] if declared else "\t" if kind is Format.TSV else None)
        self._delimiter = given or _delimiter(sample, known)
        self.columns: Final = _header(sample, self._delimiter)

    def scan(self) -> Scan:
        """Digest the file and count the rows below the names."""
        digest = hashlib.sha256(self._delimiter.encode())
        self._handle.seek(0)
        while piece := self._handle.read(_PIECE):
            digest.update(piece)
        return Scan(digest=digest.hexdigest(), rows=sum(1 for _ in self.rows(())))

    def rows(self, only: Collection[str] | None = None) -> Iterator[Row]:
        """Read row by row; one with too few or too many cells is a row with its error."""
        names = self.columns
        wanted = [at for at, name in enumerate(names) if only is None or name in only]
        self.blank = index = 0
        with self._reader() as reader:
            while True:
                line = reader.line_num + 1 + self._declared
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    index += 1
                    yield Row(index=index, line=line, error=_broken(error, reader, line))
                    continue
                if not cells:
                    self.blank += 1
                    continue
                index += 1
                yield self._row(cells, wanted, index, line)

    def _row(self, cells: list[str], wanted: list[int], index: int, line: int) -> Row:
        if len(cells) != len(self.columns):
            said = f"it has {len(cells)} cells, and the first row has {len(self.columns)}"
            hint = "quote cells that hold the delimiter or a line end"
            return Row(index=index, line=line, error=DataError(said, hint=hint))
        found = {self.columns[at]: cells[at] for at in wanted}
        error = _bad_bytes(found)
        return Row(index=index, line=line, record=None if error else found, error=error)

    @contextmanager
    def _reader(self) -> Iterator[Reader]:
        self._handle.seek(0)
        # A cell with many chunks is longer than what the module allows by default.
        csv.field_size_limit(sys.maxsize)
        text = io.TextIOWrapper(
            self._handle, encoding="utf-8-sig", errors="surrogateescape", newline=""
        )
        try:
            if self._declared:
                text.readline()
            reader = csv.reader(text, delimiter=self._delimiter, strict=True)
            next(reader)
            yield reader
        finally:
            # Closing the wrapper would close the file under it.
            text.detach()


def _sample(handle: IO[bytes]) -> str:
    handle.seek(0)
    raw = handle.read(_SAMPLE)
    if raw.startswith(UTF16_MARKS):
        raise DataError("the text is UTF-16, not UTF-8", hint="convert the file to UTF-8")
    return raw.decode("utf-8-sig", "surrogateescape")


def _header(sample: str, delimiter: str) -> tuple[str, ...]:
    try:
        names = next(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), [])
    except csv.Error as error:
        raise DataError(f"the row of names cannot be read: {error}", line=1) from None
    if not names:
        raise DataError("there is no row of names", line=1, hint="name the columns in it")
    return tuple(names)


def _delimiter(sample: str, known: Collection[str]) -> str:
    """Take the delimiter that finds most known names, then most columns, in the first row."""
    scores: dict[str, tuple[int, int]] = {}
    for delimiter in DELIMITERS:
        names = _header(sample, delimiter)
        scores[delimiter] = (sum(name.strip() in known for name in names), len(names))
    best = max(scores.values())
    found = [delimiter for delimiter, score in scores.items() if score == best]
    if len(found) == 1 or best[1] == 1:
        return found[0]
    named = " and ".join(f"`{delimiter!r}`".replace("'", "") for delimiter in found)
    raise DataError(
        f"{named} would divide the row of names equally well", line=1, hint="`--delimiter` decides"
    )


def _broken(error: csv.Error, reader: Reader, line: int) -> DataError:
    last = reader.line_num
    through = f", up to line {last}" if last > line else ""
    hint = "inside a quoted cell a quote is written twice"
    return DataError(f"the row is not CSV{through}: {error}", hint=hint)


def _bad_bytes(record: Mapping[str, str]) -> DataError | None:
    for name, cell in record.items():
        if match := _BAD_BYTES.search(cell):
            byte = f"0x{ord(match[0][0]) - 0xDC00:02X}"
            said = f"the text is not UTF-8: byte {byte}"
            return DataError(said, field=name, hint="convert the file to UTF-8")
    return None
