"""Verification over JSON Lines: one record a line in, one row a line out.

A line that cannot be read becomes a row of category `error` beside its message, so that there are
as many rows as lines that are not blank.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from aletheia.errors import DataError
from aletheia.grounding.relaxed_json import NumberText
from aletheia.schema.verification import Mode
from aletheia.sdk.api import verify
from aletheia.sdk.evidence import UNIT_KEYS
from aletheia.sdk.result import VerifyResult

__all__ = ["RECORD_KEYS", "UTF16_MARKS", "CheckedLine", "check_line", "to_line"]

RECORD_KEYS: Final = ("id", "question", "evidence", "reply")
"""The keys of a record; `question` may be missing, others are not read."""

RecordId = str | int | float

_REQUIRED: Final = ("id", "evidence", "reply")
_OTHER_NAMES: Final = {
    "id": ("_id", "uid", "trace_id", "question_id", "record_id"),
    "evidence": ("context", "contexts", "retrieved_contexts", "chunks", "documents", "passages"),
    "reply": ("response", "answer", "output", "completion", "prediction", "raw"),
}
"""What other tools call a field, for the hint."""

UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
"""How a UTF-16 text begins; cut at line ends, such a text makes no sense."""

_LARGEST_ID: Final = 200
# Some readers end a line, and some terminals obey, at a character that JSON may hold as it is.
_UNSAFE: Final = re.compile("[\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedLine:
    """What became of line `number`: a `result`, or the `error` that says why there is none.

    `id` is None where it could not be read. `unread` are keys that nothing looked at.
    """

    number: int
    id: RecordId | None
    result: VerifyResult | None = None
    error: DataError | None = None
    unread: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return the output record, keys in their fixed order."""
        if self.result is not None:
            return {"id": self.id, **self.result.to_dict(), "line": self.number, "error": None}
        return {"id": self.id, **_NO_RESULT, "line": self.number, "error": str(self.error)}


_NO_RESULT: Final[dict[str, Any]] = {
    "passed": False,
    "category": "error",
    "rejection_reason": None,
    "rejection_reasons": [],
    "answer": None,
    "cited_ids": [],
    "findings": [],
    "mode": None,
    "verified": None,
    "warnings": [],
    "notes": [],
    "problem": None,
    "repairs": [],
    "normalised_from": [],
    "dropped": [],
    "checked": 0,
    "unchecked": 0,
}


def check_line(
    raw: bytes,
    number: int,
    *,
    file: str,
    mode: Mode = Mode.STRICT,
    exempt_question_entities: bool = False,
) -> CheckedLine:
    """Verify the record in line `number` (from 1) of `file`. Never raises for any line."""
    record_id: RecordId | None = None
    try:
        record = _decode(raw)
        record_id = _id_in(record)
        _require(record)
        result = verify(
            record["evidence"],
            record["reply"],
            record.get("question"),
            mode,
            exempt_question_entities=exempt_question_entities,
        )
    except DataError as error:
        return CheckedLine(number=number, id=record_id, error=_placed(error, file, number))
    return CheckedLine(number=number, id=record_id, result=result, unread=_unread(record))


def to_line(row: dict[str, Any]) -> bytes:
    """One line of UTF-8 JSON, without NaN, that every reader takes for one line.

    Unpaired surrogates are written as JSON escapes.
    """
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    if not text.isascii():
        text = _UNSAFE.sub(_escape, text)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _placed(error: DataError, file: str, number: int) -> DataError:
    placed = DataError(error.message, file=file, line=number, hint=error.hint)
    placed.field = error.field
    return placed


# --- reading ----------------------------------------------------------------------------------


def _refuse(name: str) -> object:
    raise DataError(f"`{name}` is not JSON", hint="write null for a missing value")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Read an object. A key with two values is an error: either reading of it could be wrong."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for key, value in pairs:
            if found[key] != value:
                raise DataError(f"key {_quoted(key)} stands twice with different values")
    return found


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=NumberText, parse_int=NumberText, parse_constant=_refuse
)


def _decode(raw: bytes) -> dict[str, Any]:
    value = _parse(_text(raw))
    if not isinstance(value, dict):
        raise DataError("the line holds no JSON object", hint="write one record a line")
    return value


def _text(raw: bytes) -> str:
    if raw.startswith(UTF16_MARKS):
        raise DataError("the text is UTF-16, not UTF-8", hint="convert the file to UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"0x{raw[error.start]:02X}"
        raise DataError(
            f"the text is not UTF-8: byte {byte} at position {error.start + 1}",
            hint="convert the file to UTF-8",
        ) from None


def _parse(text: str) -> object:
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        message = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        message = f"{message} at character {error.pos + 1}"
        hint = "write one record a line" if text.strip() in ("{", "[") else None
        raise DataError(f"the line is not JSON: {message}", hint=hint) from None
    except RecursionError:
        raise DataError("the line is nested too deeply") from None
    return value


def _id_in(record: dict[str, Any]) -> RecordId | None:
    """Read the id as it was written; None where the key is missing."""
    if "id" not in record:
        return None
    value = record["id"]
    if isinstance(value, NumberText):
        return _number(value)
    if not isinstance(value, str) or not value.strip():
        said = "blank" if isinstance(value, str) else json.dumps(value)[:_LARGEST_ID]
        raise DataError(f"it is {said}", field="id", hint="give a text or a number")
    return value


def _number(written: str) -> int | float:
    try:
        value: int | float = json.loads(written) if len(written) <= _LARGEST_ID else float("inf")
    except ValueError:
        value = float("inf")
    if not isfinite(value):
        raise DataError("the number is too large", field="id", hint="give a text or a number")
    return value


def _require(record: dict[str, Any]) -> None:
    missing = [key for key in _REQUIRED if key not in record]
    if missing:
        others = "".join(f", and so is `{key}`" for key in missing[1:])
        raise DataError(f"it is missing{others}", field=missing[0], hint=_hint(missing, record))


def _hint(missing: Sequence[str], record: dict[str, Any]) -> str | None:
    """Name the keys of the record that are likely to be meant."""
    lowered = {key.lower(): key for key in record if key not in RECORD_KEYS}
    renames = []
    for key in missing:
        found = next((lowered[name] for name in (key, *_OTHER_NAMES[key]) if name in lowered), None)
        if found is not None:
            renames.append(f"rename {_quoted(found)} to `{key}`")
    return "; ".join(renames) or None


def _unread(record: dict[str, Any]) -> tuple[str, ...]:
    keys = [key for key in record if key not in RECORD_KEYS]
    evidence = record["evidence"]
    for item in evidence if isinstance(evidence, list) else ():
        if isinstance(item, dict) and len(item) > 1:
            keys += [f"evidence.{key}" for key in item if key not in UNIT_KEYS]
    return tuple(dict.fromkeys(keys))


def _quoted(key: str) -> str:
    """Show a key of the data in backticks, on one line and not too long."""
    shown = json.dumps(key if len(key) <= 40 else key[:39] + "…", ensure_ascii=False)
    return f"`{_UNSAFE.sub(_escape, shown[1:-1])}`"
