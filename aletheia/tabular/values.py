"""JSON read strictly and written so that every reader gets the same text back."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, Final

from aletheia.errors import DataError

UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
"""How a UTF-16 text begins."""

# Some readers end a line, and some terminals obey, at a character that JSON may hold as it is.
_UNSAFE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def decode_text(raw: bytes) -> str:
    """Decode UTF-8, with or without a mark at its start. Raises `DataError`."""
    if raw.startswith(UTF16_MARKS):
        raise DataError("the text is UTF-16, not UTF-8", hint="convert the file to UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"0x{raw[error.start]:02X}"
        message = f"the text is not UTF-8: byte {byte} at position {error.start + 1}"
        raise DataError(message, hint="convert the file to UTF-8") from None


def decode_object(raw: bytes) -> dict[str, Any]:
    """Read one line as a JSON object. Raises `DataError` for everything that is none.

    NaN, infinities, numbers too large for a float and a key with two values are errors.
    """
    text = decode_text(raw)
    try:
        value = DECODER.decode(text)
    except json.JSONDecodeError as error:
        message = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise DataError(
            f"the line is not JSON: {message} at character {error.pos + 1}",
            hint="write one record a line",
        ) from None
    except (RecursionError, ValueError):
        # Too many digits for an integer, or too many brackets.
        raise DataError("the line is nested too deeply or holds a number too long") from None
    if not isinstance(value, dict):
        raise DataError("the line holds no JSON object", hint="write one record a line")
    return value


def encode(value: object) -> str:
    """Write a value as JSON on one line, no NaN in it. Raises `DataError` for what is no JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"a value cannot be written as JSON: {error}") from None
    return text if text.isascii() else _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Read an object. A key with two values is an error: either reading could be wrong."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next((key for key, value in pairs if found[key] != value), None)
        if twice is not None:
            raise DataError(f"key {json.dumps(twice)[:60]} stands twice with different values")
    return found


def _finite(written: str) -> float:
    value = float(written)
    if not isfinite(value):
        raise DataError(f"`{written[:40]}` is too large a number")
    return value


def _refuse(name: str) -> object:
    raise DataError(f"`{name}` is not JSON", hint="write null for a missing value")


DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse
)
"""Reads JSON; raises `DataError` for a key with two values and for what is no finite number."""
