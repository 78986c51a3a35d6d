"""The files of a batch, read sceptically: each item that was asked has exactly one outcome.

Lines come in any order. What does not fit is a problem of the item it names, and of no other.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from aletheia.errors import ModelBadReply, ModelError, ModelUnavailable
from aletheia.llm.base import requests_only
from aletheia.llm.failures import Complaint, complaint, failure, redacted
from aletheia.llm.openai_wire import Shape, read_completion
from aletheia.schema.model import Prompt, Usage

_LEFT_OVER: Final = frozenset({"batch_expired", "batch_cancelled"})
"""Codes of requests that were not worked on before their batch ended; they are not charged."""

_ANY: Final = Prompt(system="", user="")

FailureKind = Literal["http", "provider", "missing", "duplicate", "unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFailure:
    """Why one request of a batch has no completion.

    `http`: an error answer with `status`. `provider`: the batch says that the request failed.
    `missing`, `duplicate`: no line, several lines for it. `unreadable`: a line of another form.
    """

    kind: FailureKind
    message: str
    shape: Shape
    status: int | None = None
    param: str | None = None
    words: str = ""

    def error(self, where: str) -> ModelError:
        """Return the error that the same failure of a single call would be."""
        if self.status is not None:
            said = Complaint(message=self.message, param=self.param, words=self.words)
            return failure(self.status, said, where=where)
        told = f"`{where}`: {self.message}"
        if self.kind in ("duplicate", "unreadable"):
            return ModelBadReply(told, usage=requests_only(1))
        return ModelUnavailable(told, usage=requests_only(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResults:
    """What the files of a batch say about the items that were asked.

    Each item is in exactly one of `bodies`, `failures` and `unanswered`; the last were not worked
    on before the batch ended. `remarks` tell of lines that belong to no item.
    """

    bodies: Mapping[str, Any]
    failures: Mapping[str, ItemFailure]
    unanswered: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line for one item: a completion, a failure, or neither for an item that was left over."""

    body: Any = None
    failure: ItemFailure | None = None
    left_over: bool = False


def read_results(
    asked: Collection[str], files: Mapping[str, bytes], *, shape: Shape, whole: bool
) -> BatchResults:
    """Read the files of a batch, by name: output and errors, in any order of their lines.

    `whole` says that the batch was completed, so that an item without a line is a failure and not
    left over. An item with two lines has no reply: nobody knows which one is its own.
    """
    lines: dict[str, _Line] = {}
    counts: Counter[str] = Counter()
    remarks: list[str] = []
    for name, content in files.items():
        for where, raw in _numbered(name, content):
            item, line = _read_line(raw, shape)
            if item in asked and item is not None:
                counts[item] += 1
                lines[item] = line
            else:
                remarks.append(f"{where}: {_stray(item)}")
    for item, count in counts.items():
        if count > 1:
            lines[item] = _failed("duplicate", f"the batch holds {count} lines for it", shape)
    missing = "the files of the batch hold no line for it"
    absent = _failed("missing", missing, shape) if whole else _Line(left_over=True)
    return _sorted_out({item: lines.get(item, absent) for item in asked}, remarks)


def usage_of(body: Any, failure: ItemFailure | None = None) -> Usage:  # noqa: ANN401 - parsed JSON
    """Return what an item cost as far as the endpoint says so; an error answer is not charged."""
    if failure is not None:
        uncharged = failure.kind in ("http", "provider")
        return requests_only(1) if uncharged else Usage()
    try:
        return read_completion(body, model="", shape=Shape(), prompt=_ANY).usage
    except ModelError as error:
        return error.usage or Usage()


def answered_by(body: Any) -> str | None:  # noqa: ANN401 - parsed JSON
    """Return the model that a completion names."""
    named = body.get("model") if isinstance(body, Mapping) else None
    return named if isinstance(named, str) and named else None


def _sorted_out(lines: Mapping[str, _Line], remarks: list[str]) -> BatchResults:
    failures = {item: line.failure for item, line in lines.items() if line.failure is not None}
    unanswered = tuple(item for item, line in lines.items() if line.left_over)
    rest = lines.keys() - failures.keys() - set(unanswered)
    return BatchResults(
        bodies={item: line.body for item, line in lines.items() if item in rest},
        failures=failures,
        unanswered=unanswered,
        remarks=tuple(remarks),
    )


def _numbered(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Lines that are not blank, cut at line feeds only: texts may hold other separators."""
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if raw.strip():
            yield f"{name}, line {number}", raw


def _stray(item: str | None) -> str:
    if item is None:
        return "it cannot be read, and is left out"
    return f"it is for `{redacted(item, None)}`, which was not asked, and is left out"


def _read_line(raw: bytes, shape: Shape) -> tuple[str | None, _Line]:
    """Return the item a line is for (None = it does not say), and what it says."""
    try:
        value = json.loads(raw, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        return None, _Line()
    item = value.get("custom_id") if isinstance(value, dict) else None
    if not isinstance(item, str):
        return None, _Line()
    response, error = value.get("response"), value.get("error")
    if isinstance(response, Mapping):
        return item, _from_response(response, shape)
    if isinstance(error, Mapping):
        return item, _from_error(error, shape)
    return item, _failed("unreadable", "its line has neither response nor error", shape)


def _from_response(response: Mapping[str, Any], shape: Shape) -> _Line:
    status, body = response.get("status_code"), response.get("body")
    if not isinstance(status, int) or isinstance(status, bool):
        return _failed("unreadable", "its line names no status code", shape)
    hidden = isinstance(body, Mapping) and bool(body.get("error")) and not body.get("choices")
    if 200 <= status < 300 and not hidden:
        return _Line(body=body)
    said = complaint(body)
    return _Line(
        failure=ItemFailure(
            kind="http",
            message=redacted(said.message, None),
            shape=shape,
            status=_hidden_status(body) if 200 <= status < 300 else status,
            param=None if said.param is None else redacted(said.param, None),
            words=redacted(said.words, None),
        )
    )


def _hidden_status(body: Any) -> int:  # noqa: ANN401 - parsed JSON
    """Status of a failure that a gateway put into the body of a success."""
    inner = body["error"]
    code = inner.get("code") if isinstance(inner, Mapping) else None
    return code if isinstance(code, int) and 400 <= code <= 599 else 502


def _from_error(error: Mapping[str, Any], shape: Shape) -> _Line:
    if error.get("code") in _LEFT_OVER:
        return _Line(left_over=True)
    said = redacted(complaint(error).message, None)
    return _failed(
        "provider", f"the batch could not work on it: {said or 'no reason given'}", shape
    )


def _failed(kind: FailureKind, message: str, shape: Shape) -> _Line:
    return _Line(failure=ItemFailure(kind=kind, message=message, shape=shape))


def _no_number(text: str) -> float:
    raise ValueError(f"`{text}` is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)
