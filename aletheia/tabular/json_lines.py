"""JSON Lines: one object a line. Lines end at line feeds only."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from typing import IO, Final

from aletheia.errors import DataError
from aletheia.tabular.base import Format, Row, Scan
from aletheia.tabular.values import decode_object


class LinesTable:
    """A file of one JSON object a line."""

    format: Final = Format.JSONL
    columns: Final = None
    text_cells: Final = False

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self.blank = 0

    def scan(self) -> Scan:
        """Digest the file and count the lines that are not blank."""
        digest, rows = hashlib.sha256(), 0
        self._handle.seek(0)
        for raw in self._handle:
            digest.update(raw)
            rows += bool(raw.strip())
        return Scan(digest=digest.hexdigest(), rows=rows)

    def rows(self, only: Collection[str] | None = None) -> Iterator[Row]:
        """Read line by line; a line that holds no object is a row with its error."""
        del only
        self._handle.seek(0)
        self.blank = index = 0
        for line, raw in enumerate(self._handle, start=1):
            if not raw.strip():
                self.blank += 1
                continue
            index += 1
            try:
                yield Row(index=index, line=line, record=decode_object(raw))
            except DataError as error:
                yield Row(index=index, line=line, error=error)
