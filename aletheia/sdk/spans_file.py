"""A file of spans, cut into records: JSON Lines, one JSON value, or values printed one after another.

A value that stands in one line is read by itself. One that is printed over several lines ends
where its brackets close. A broken value costs only itself: the next line that begins a value at
its first column starts anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aletheia.errors import DataError
from aletheia.reports.visible import without_surrogates
from aletheia.sdk.records import UTF16_MARKS

__all__ = ["RawSpan", "SpanProblem", "raw_spans"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanProblem:
    """What could not be read or is no trace: where it stands, and why.

    `line` counts from 1; of a value over several lines it is the first. It is None for a trace id
    that is no trace. `field` and `trace_id` are None where the trouble is not theirs.
    """

    message: str
    line: int | None = None
    field: str | None = None
    trace_id: str | None = None

    def __str__(self) -> str:
        places = (
            f"line {self.line}" if self.line is not None else None,
            f"trace `{self.trace_id}`" if self.trace_id is not None else None,
            f"field `{self.field}`" if self.field is not None else None,
        )
        where = ": ".join(place for place in places if place is not None)
        return f"{where}: {self.message}" if where else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSpan:
    """One span as it was written, and the line where its value begins.

    `replaced` counts halves of UTF-16 pairs in the whole value, which became U+FFFD.
    """

    line: int
    value: Mapping[str, object]
    replaced: int = 0


# Text, or a bracket outside of text. Text of JSON never runs over a line end.
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_OPENING: Final = ("{", "[")

# Where formats keep their spans: OTLP in two spellings, an older OTLP, Tempo, pages of Phoenix.
_HOLDERS: Final = (
    *("resourceSpans", "resource_spans", "scopeSpans", "scope_spans"),
    *("instrumentationLibrarySpans", "batches", "spans", "data"),
)


def raw_spans(path: Path) -> Iterator[RawSpan | SpanProblem]:
    """Yield the spans of a file in its order, and a problem for each value that holds none.

    Raises DataError where the file cannot be read or is UTF-16.
    """
    for line, text in _values(path):
        if isinstance(text, SpanProblem):
            yield text
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            yield SpanProblem(message=_reason(error), line=line)
            continue
        replaced = 0
        if _SURROGATE.search(text):
            value, replaced = _cleaned(value)
        yield from _spans_in(value, line, replaced)


def _spans_in(value: object, line: int, replaced: int) -> Iterator[RawSpan | SpanProblem]:
    if isinstance(value, list):
        for item in value:
            yield from _spans_in(item, line, replaced)
        return
    if not isinstance(value, Mapping):
        said = type(value).__name__
        yield SpanProblem(message=f"a `{said}` stands where a span is expected", line=line)
        return
    holders = [key for key in _HOLDERS if isinstance(value.get(key), list)]
    if holders:
        for key in holders:
            yield from _spans_in(value[key], line, replaced)
    else:
        yield RawSpan(line=line, value=value, replaced=replaced)


def _cleaned(value: object) -> tuple[object, int]:
    """Replace halves of UTF-16 pairs, which no store could hold."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        items = [_cleaned(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        pairs = [(key, *_cleaned(item)) for key, item in value.items()]
        return {key: item for key, item, _ in pairs}, sum(count for *_, count in pairs)
    return value, 0


# --- values -----------------------------------------------------------------------------------


def _values(path: Path) -> Iterator[tuple[int, str | SpanProblem]]:
    """Yield the text of each value with the line it begins in."""
    held: list[str] = []
    start, depth = 0, 0
    for number, text in _lines(path):
        if isinstance(text, SpanProblem):
            yield number, text
            continue
        if held and held[0].startswith("{") and text.startswith("{"):
            # Printed JSON indents what is inside: this is the next value, the last one is broken.
            yield start, SpanProblem(message="the JSON value does not end", line=start)
            held, depth = [], 0
        if not held:
            if not text.strip():
                continue
            start = number
        held.append(text)
        whole = len(held) == 1 and _whole(text)
        depth += 0 if whole else _change(text)
        if depth <= 0:
            yield start, "".join(held)
            held, depth = [], 0
    if held:
        yield start, SpanProblem(message="the JSON value does not end", line=start)


def _change(text: str) -> int:
    tokens = _TOKENS.findall(text)
    return sum(1 if token in _OPENING else -1 for token in tokens if not token.startswith('"'))


def _whole(text: str) -> bool:
    """Whether a line ends like a value; one that was cut in the middle of a text does not."""
    return text.rstrip().endswith(("}", "]")) and text.startswith(_OPENING)


def _lines(path: Path) -> Iterator[tuple[int, str | SpanProblem]]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if number == 1 and raw.startswith(UTF16_MARKS):
                    raise DataError(
                        "the text is UTF-16, not UTF-8", file=path, hint="convert it to UTF-8"
                    )
                yield number, _decoded(raw, number)
    except OSError as error:
        raise DataError(f"it cannot be read: {error.strerror or error}", file=path) from None


def _decoded(raw: bytes, number: int) -> str | SpanProblem:
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        said = f"0x{raw[error.start]:02X} at position {error.start + 1}"
        return SpanProblem(message=f"the text is not UTF-8: byte {said}", line=number)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        message = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        place = f"character {error.colno}"
        if error.lineno > 1:
            place = f"line {error.lineno} of the value, {place}"
        return f"the value is not JSON: {message} at {place}"
    return "the value is nested too deeply or holds a number too long"
