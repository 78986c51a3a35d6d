"""Traces with the verdicts of people: the lines of a file of labels.

Each line is a trace with at least one label: `label` for the whole response, `claims` with a label
for each claim, `sufficient` for the evidence. `policy` names the rule that the labels follow; it
stands in a line of its own, or in every record, and is the same in the whole file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from aletheia.errors import DataError
from aletheia.pipeline.calibration import LabelledClaim, LabelledTrace
from aletheia.schema.judgement import Verdict
from aletheia.schema.trace import Claim
from aletheia.sdk.evidence import text_of
from aletheia.sdk.trace_lines import decode_object, read_trace_record

__all__ = ["LabelFile", "read_labels"]

_WORDS: Final[Mapping[object, Verdict]] = {
    "Y": "Y",
    "N": "N",
    "supported": "Y",
    "unsupported": "N",
    "sufficient": "Y",
    "insufficient": "N",
}
"""Every label that is read, and its verdict; nothing else is one."""


@dataclass(slots=True, kw_only=True)
class LabelFile:
    """What a file of labels held; `errors` name the lines that could not be read."""

    traces: list[LabelledTrace] = field(default_factory=list)
    errors: list[DataError] = field(default_factory=list)
    policy: str | None = None


def read_labels(lines: Iterable[bytes], *, file: str) -> LabelFile:
    """Read all lines; a bad one is kept as an error. Two policies in one file are an error too."""
    found = LabelFile()
    seen: set[str] = set()
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            _read_line(raw, number, found, seen)
        except DataError as error:
            placed = DataError(error.message, file=file, line=number, hint=error.hint)
            found.errors.append(placed)
    return found


def _read_line(raw: bytes, number: int, found: LabelFile, seen: set[str]) -> None:
    record = decode_object(raw)
    if "policy" in record:
        policy = text_of(record["policy"], "policy")
        if found.policy is not None and policy != found.policy:
            raise DataError(
                f"it is {policy!r}, and {found.policy!r} before",
                field="policy",
                hint="labels of two rules do not belong into one figure: make two files",
            )
        found.policy = policy
        if len(record) == 1:
            return
    name = str(record.get("id", f"line {number}"))
    if name in seen:
        raise DataError(f"{name!r} stands on an earlier line", field="id")
    trace, _ = read_trace_record(record)
    labelled = LabelledTrace(
        id=name,
        case=trace.case,
        response=_label(record.get("label"), "label"),
        claims=_claims(record.get("claims"), trace.response),
        sufficient=_label(record.get("sufficient"), "sufficient"),
    )
    if labelled.response is None and labelled.sufficient is None and not labelled.claims:
        raise DataError(
            "it is missing, and so are `claims` and `sufficient`",
            field="label",
            hint="a record needs at least one label",
        )
    if labelled.sufficient is not None and trace.query is None:
        raise DataError("it is missing, and `sufficient` speaks of it", field="query")
    seen.add(name)
    found.traces.append(labelled)


def _label(value: object, where: str) -> Verdict | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in _WORDS:
        listed = ", ".join(f"`{word}`" for word in _WORDS)
        raise DataError(f"{value!r} is no label", field=where, hint=f"labels are {listed}")
    return _WORDS[value]


def _claims(value: object, response: str) -> tuple[LabelledClaim, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise DataError(f"it is a `{type(value).__name__}`", field="claims", hint="give a list")
    return tuple(_claim(item, at, response) for at, item in enumerate(value))


def _claim(item: object, at: int, response: str) -> LabelledClaim:
    where = f"claims[{at}]"
    if not isinstance(item, dict):
        raise DataError("it is no object", field=where, hint="give `text` or `start`, `end`")
    label = _label(item.get("label"), f"{where}.label")
    if label is None:
        raise DataError("it has no `label`", field=where)
    start, end = _span(item, where, response)
    text = text_of(item.get("text", response[start:end]), f"{where}.text")
    claim = Claim(id=at, text=text, start=start, end=end)
    return LabelledClaim(claim=claim, label=label)


def _span(item: Mapping[str, object], where: str, response: str) -> tuple[int, int]:
    """Find the place of a claim; a text that does not stand there is about the whole response."""
    start, end = item.get("start"), item.get("end")
    if start is None and end is None:
        text = text_of(item.get("text"), f"{where}.text")
        place = response.find(text)
        return (place, place + len(text)) if place >= 0 else (0, len(response))
    if not isinstance(start, int) or not isinstance(end, int) or isinstance(start, bool):
        raise DataError("`start` and `end` are no whole numbers", field=where)
    if not 0 <= start < end <= len(response):
        raise DataError(
            f"[{start}, {end}) lies outside the response of {len(response)} characters",
            field=where,
        )
    return start, end
