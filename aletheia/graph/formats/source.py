"""Reading text and JSON so that every error knows its line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NoReturn

from aletheia.errors import DataError

Json = str | bool | None | list["Json"] | dict[str, "Json"]
"""A decoded JSON value; numbers are kept as their digits."""

_SPACE = re.compile(r"[ \t\r\n]*")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def decode(raw: bytes, path: Path, first_line: int = 1) -> str:
    """UTF-8 text, with or without a byte order mark. Raises `DataError` with the line."""
    if raw.startswith(_UTF16):
        raise DataError("the file is UTF-16, not UTF-8", file=path, hint="save it as UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte 0x{raw[error.start]:02x} is not UTF-8",
            file=path,
            line=first_line + raw.count(b"\n", 0, error.start),
            hint="save the file as UTF-8",
        ) from None


def read_text(path: Path) -> str:
    """The whole file as text."""
    return decode(path.read_bytes(), path)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    r"""Non-blank lines with their numbers from 1. Only `\n` ends a line, never U+2028."""
    with path.open("rb") as handle:
        for number, raw in enumerate(handle, 1):
            text = decode(raw, path, number).strip(" \t\r\n")
            if text:
                yield number, text


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"`{name}` is not a JSON number")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    out = dict(pairs)
    if len(out) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key `{twice}` stands twice in one object")
    return out


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_constant=_reject_constant,
    parse_int=str,
    parse_float=str,
)


def line_of(text: str, offset: int) -> int:
    """The line (from 1) of a character offset."""
    return text.count("\n", 0, offset) + 1


def parse_at(text: str, offset: int, path: Path, first_line: int = 1) -> tuple[Json, int]:
    """One JSON value at `offset`, and where it ends. Raises `DataError` with the line."""
    try:
        value, end = _DECODER.raw_decode(text, offset)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise DataError(f"not valid JSON: {error.msg}", file=path, line=line) from None
    except (ValueError, RecursionError) as error:
        line = first_line - 1 + line_of(text, offset)
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DataError(f"not usable JSON: {what}", file=path, line=line) from None
    return value, end


def parse_line(text: str, path: Path, number: int) -> dict[str, Json]:
    """One line that must be one JSON object."""
    value, end = parse_at(text, 0, path, number)
    if not isinstance(value, dict):
        raise DataError("the line is not a JSON object", file=path, line=number)
    if end != len(text):
        raise DataError("text after the JSON object", file=path, line=number)
    return value


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _expect(text: str, offset: int, options: str, path: Path) -> int:
    """Skip blanks; the next character must be one of `options`."""
    offset = _skip(text, offset)
    if offset >= len(text):
        raise DataError("the file ends too early", file=path, line=line_of(text, offset))
    if text[offset] not in options:
        wanted = " or ".join(f"`{c}`" for c in options)
        message = f"not valid JSON: expected {wanted}, found {text[offset]!r}"
        raise DataError(message, file=path, line=line_of(text, offset))
    return offset


def stream(text: str, path: Path, arrays: frozenset[str]) -> Iterator[tuple[str, int, Json]]:
    """Walk the members of one top-level object as (key, offset of the value, value).

    An array under a key in `arrays` comes one element at a time, so that a large file never
    stands in memory as objects; an empty array or null yields nothing.
    """
    at = _expect(text, 0, "{", path) + 1
    seen: set[str] = set()
    at = _expect(text, at, '"}', path)
    while text[at] != "}":
        key, at = parse_at(text, at, path)
        if not isinstance(key, str) or key in seen:
            line = line_of(text, at)
            raise DataError(f"the key `{key}` stands twice in one object", file=path, line=line)
        seen.add(key)
        at = _skip(text, _expect(text, at, ":", path) + 1)
        if key in arrays and text[at : at + 1] == "[":
            at = yield from _elements(text, at, path, key)
        else:
            value, end = parse_at(text, at, path)
            if key in arrays and value is not None:
                raise DataError(f"`{key}` is not a list", file=path, line=line_of(text, at))
            if key not in arrays:
                yield key, at, value
            at = end
        at = _expect(text, at, ",}", path)
        if text[at] == ",":
            at = _expect(text, at + 1, '"', path)
    rest = _skip(text, at + 1)
    if rest != len(text):
        raise DataError("text after the JSON object", file=path, line=line_of(text, rest))


def _elements(
    text: str, at: int, path: Path, key: str
) -> Generator[tuple[str, int, Json], None, int]:
    """Walk the array at `at`; returns the offset after it."""
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return at + 1
    while True:
        value, end = parse_at(text, at, path)
        yield key, at, value
        at = _expect(text, end, ",]", path)
        if text[at] == "]":
            return at + 1
        at = _skip(text, at + 1)
