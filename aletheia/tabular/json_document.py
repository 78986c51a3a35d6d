"""One JSON document: an array of objects, or an object that holds such an array.

The text is held whole; its rows are decoded one by one, so that a bad one is a bad row.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Final

from aletheia.errors import DataError
from aletheia.tabular.base import Format, Row, Scan
from aletheia.tabular.values import DECODER, decode_text

IsRow = Callable[[Mapping[str, object]], bool]
"""Tells an object that is itself a row from one that holds rows."""

WRAPPERS: Final = (
    *("data", "traces", "records", "rows", "examples", "samples", "items", "results"),
    *("test_cases", "goldens", "observations", "detailed_results"),
)
"""Keys under which exports keep their rows; another key is read where only one holds objects."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_LENIENT: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Span:
    """One value of the document. `problem` says why it could not be decoded."""

    start: int
    end: int
    problem: str | None = None


class DocumentTable:
    """A file that is one JSON document. Raises `DataError` where it holds no rows."""

    format: Final = Format.JSON
    columns: Final = None
    text_cells: Final = False
    blank: Final = 0

    def __init__(self, handle: IO[bytes], is_row: IsRow | None = None) -> None:
        handle.seek(0)
        raw = handle.read()
        self._digest = hashlib.sha256(raw).hexdigest()
        self._text = decode_text(raw)
        self._start, self._alone = _place(self._text, is_row)

    def scan(self) -> Scan:
        """Count the elements of the array."""
        rows = 1 if self._alone else sum(1 for _ in self._spans())
        return Scan(digest=self._digest, rows=rows)

    def rows(self, only: Collection[str] | None = None) -> Iterator[Row]:
        """Decode one element after the other; behind one that is no JSON nothing can be read."""
        del only
        spans = [_Span(self._start, len(self._text))] if self._alone else self._spans()
        for index, span in enumerate(spans, start=1):
            try:
                yield Row(index=index, line=index, record=self._record(span))
            except DataError as error:
                yield Row(index=index, line=index, error=error)

    def _record(self, span: _Span) -> dict[str, object]:
        if span.problem is not None:
            raise DataError(span.problem, hint="what follows in the file was not read")
        try:
            value, _ = DECODER.raw_decode(self._text, span.start)
        except (ValueError, RecursionError):
            raise DataError("it is nested too deeply or holds a number too long") from None
        if not isinstance(value, dict):
            raise DataError("the element is no JSON object")
        return value

    def _spans(self) -> Iterator[_Span]:
        """Yield the places of the elements of the array."""
        at = _after_space(self._text, self._start + 1)
        if self._text[at : at + 1] == "]":
            yield from self._trailing(at + 1)
            return
        while True:
            span = _value(self._text, at)
            yield span
            at = _after_space(self._text, span.end)
            sign = self._text[at : at + 1]
            if span.problem is not None:
                return
            if sign == "]":
                yield from self._trailing(at + 1)
                return
            if sign != ",":
                yield _Span(at, at, _broken(self._text, at))
                return
            at = _after_space(self._text, at + 1)

    def _trailing(self, at: int) -> Iterator[_Span]:
        """Find text behind an array that is the whole document: it is one bad row."""
        at = _after_space(self._text, at)
        if self._text[_after_space(self._text, 0)] == "[" and at < len(self._text):
            yield _Span(at, at, f"{_broken(self._text, at)}: the array has ended")


def _place(text: str, is_row: IsRow | None) -> tuple[int, bool]:
    """Find where the array begins, or the object that is the only row."""
    start = _after_space(text, 0)
    match text[start : start + 1]:
        case "[":
            return start, False
        case "{":
            whole = _value(text, start)
            end = _after_space(text, whole.end)
            if whole.problem is not None or end < len(text):
                hint = "write one document, or one record a line"
                raise DataError(whole.problem or _broken(text, end), hint=hint)
            members = _members(text, start)
            if is_row is not None and is_row(dict.fromkeys(members)):
                return start, True
            return _list_in(text, members), False
        case "":
            raise DataError("the file is empty")
    raise DataError("the file holds neither a JSON array nor a JSON object")


def _members(text: str, start: int) -> dict[str, int]:
    """Return where the value of each key of an object begins."""
    members: dict[str, int] = {}
    at = _after_space(text, start + 1)
    while text[at : at + 1] != "}":
        key = _value(text, at)
        colon = _after_space(text, key.end)
        if key.problem is not None or text[at] != '"' or text[colon : colon + 1] != ":":
            raise DataError(_broken(text, at))
        begins = _after_space(text, colon + 1)
        value = _value(text, begins)
        if value.problem is not None:
            raise DataError(value.problem)
        members[json.loads(text[key.start : key.end])] = begins
        at = _after_space(text, value.end)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
        elif text[at : at + 1] != "}":
            raise DataError(_broken(text, at))
    return members


def _list_in(text: str, members: Mapping[str, int]) -> int:
    """Find the array that holds the rows: one of `WRAPPERS`, or the only one of objects."""
    lists = {key: at for key, at in members.items() if text[at] == "["}
    known = [key for key in lists if key.lower() in WRAPPERS]
    of_objects = [key for key, at in lists.items() if text[_after_space(text, at + 1)] == "{"]
    found = known or of_objects
    if len(found) == 1:
        return lists[found[0]]
    named = ", ".join(f"`{key}`" for key in (found or members))[:200]
    said = "more than one array could be meant" if found else "it holds no array of objects"
    raise DataError(f"{said}: {named}", hint="write one array of objects, or one record a line")


def _value(text: str, at: int) -> _Span:
    try:
        _, end = _LENIENT.raw_decode(text, at)
    except json.JSONDecodeError as error:
        return _Span(at, at, _broken(text, error.pos))
    except (RecursionError, ValueError):
        return _Span(at, at, "it is nested too deeply or holds a number too long")
    return _Span(at, end)


def _broken(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return f"the file is not JSON at line {line}, character {column}"


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
