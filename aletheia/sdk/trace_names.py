"""What the fields of a trace are called: by us, by other tools, and by the caller."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from aletheia.errors import DataError, UsageError

__all__ = ["FIELDS", "KNOWN_NAMES", "OTHER_NAMES", "TRACE_KEYS", "Found", "find_keys", "is_trace"]

TRACE_KEYS: Final = ("query", "context", "response")
"""The fields of a trace beside `id`; without `query` only faithfulness is judged."""

FIELDS: Final = ("id", *TRACE_KEYS)

_REQUIRED: Final = ("context", "response")

OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("_id", "uid", "trace_id", "record_id", "question_id", "query_id", "sample_id"),
    "query": (
        *("question", "user_input", "input", "prompt", "main_input"),
        "attributes.input.value",
    ),
    "context": (
        *("contexts", "retrieved_contexts", "retrieval_context", "retrievalContext", "chunks"),
        *("documents", "passages", "evidence", "retrieved_documents", "retrieved_chunks"),
        "attributes.retrieval.documents",
    ),
    "response": (
        *("answer", "output", "actual_output", "actualOutput", "completion", "prediction"),
        *("reply", "main_output"),
        "attributes.output.value",
    ),
}
"""What other tools call a field; such a key is read where the one of the contract is missing.

ragas: `user_input`, `retrieved_contexts`, `response` (earlier `question`, `contexts`, `answer`);
deepeval: `input`, `retrieval_context`, `actual_output`; trulens: `input`, `output`, `record_id`,
`main_input`, `main_output`; langfuse: `input`, `output`, `metadata`; phoenix: `attributes.…`.
"""

NESTED_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "query": (
        *("input.query", "input.question", "input.user_input"),
        *("inputs.query", "inputs.question", "inputs.input"),
    ),
    "context": (
        *("metadata.contexts", "metadata.context", "metadata.retrieved_contexts"),
        *("metadata.documents", "output.contexts", "output.context", "output.documents"),
        *("input.contexts", "input.context"),
        *("outputs.contexts", "outputs.context", "outputs.documents"),
    ),
    "response": (
        *("output.response", "output.answer", "output.output"),
        *("outputs.response", "outputs.answer", "outputs.output"),
    ),
}
"""Paths that are looked at where no key of the record itself will do: langfuse and its like."""

KNOWN_NAMES: Final = frozenset(
    (*FIELDS, *(name for names in OTHER_NAMES.values() for name in names))
)
"""Every name of a field, for the row of names of a CSV file."""

_IDEAL_BESIDE: Final = {"context": ("retrieval_context", "retrievalContext")}
"""In deepeval `context` is the ideal one where these stand beside it with its own response."""
_NEEDS: Final = (
    "`--map context=KEY` reads another one; sufficiency needs `query` and `context`, faithfulness `context` and `response`, "
    "completeness all three"
)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a field stands, a key or a path of keys, and the value there.

    `listed` says that the value was written as Python shows a list.
    """

    key: str
    value: object = None
    listed: bool = False


def is_trace(record: Mapping[str, object]) -> bool:
    """Tell whether an object has the keys of a trace, whatever its values are."""
    return all(any(key in record for key in (name, *OTHER_NAMES[name])) for name in _REQUIRED)


def find_keys(
    names: Collection[str], mapped: Mapping[str, str], *, file: str | None = None
) -> dict[str, str]:
    """Say which column holds each field, for a file whose rows all have the same columns.

    Raises one `DataError` that names every field without a column, what may have been meant, and
    what there is.
    """
    record = dict.fromkeys(names)
    found = {name: _first(name, record, mapped, values=False) for name in FIELDS}
    missing = [
        name for name in FIELDS if found[name] is None and (name in _REQUIRED or name in mapped)
    ]
    if missing:
        raise missing_fields(missing, names, mapped, file=file)
    return {name: key for name, key in found.items() if key is not None}


def find_fields(record: Mapping[str, object], mapped: Mapping[str, str]) -> dict[str, Found]:
    """Find the fields in one record. Raises one `DataError` that names all that are missing."""
    found: dict[str, Found] = {}
    for name in FIELDS:
        key = _first(name, record, mapped)
        if key is not None:
            found[name] = Found(key, value_at(record, key))
    missing = [
        name for name in TRACE_KEYS if name not in found and (name in _REQUIRED or name in mapped)
    ]
    if missing:
        raise missing_fields(missing, list(map(str, record)), mapped)
    return found


def missing_fields(
    missing: Iterable[str],
    names: Collection[str],
    mapped: Mapping[str, str],
    *,
    file: str | None = None,
) -> DataError:
    """Make the error about fields that nothing holds."""
    listed = list(missing)
    others = "".join(f", and so is `{name}`" for name in listed[1:])
    asked = "".join(
        f"; `--map {name}={mapped[name]}` names nothing" for name in listed if name in mapped
    )
    there = ""
    if file is not None:
        there = f"; the columns are {', '.join(f'`{name}`' for name in names)}"[:400]
    near = [hint for name in listed if (hint := _near(name, names, mapped))]
    hint = "; ".join(near) or (_NEEDS if file else "`context` may be `[]`, and it has to be there")
    return DataError(f"it is missing{others}{asked}{there}", file=file, field=listed[0], hint=hint)


def parse_map(pairs: Iterable[str]) -> dict[str, str]:
    """Read `field=KEY`. Raises `UsageError` for what is no such pair."""
    names: dict[str, str] = {}
    for pair in pairs:
        name, sign, key = pair.partition("=")
        if not sign or not key or name not in FIELDS:
            listed = ", ".join(f"`{field}=KEY`" for field in FIELDS)
            near = get_close_matches(name, FIELDS, n=1)
            meant = f"did you mean `{near[0]}`? " if near and near[0] != name else ""
            raise UsageError(f"`--map {pair}` names no field", hint=f"{meant}write {listed}")
        if names.get(name, key) != key:
            raise UsageError(f"`--map {pair}`: `{name}` is read from `{names[name]}` already")
        names[name] = key
    return names


def value_at(record: Mapping[str, object], path: str) -> object:
    """Return what stands at a key, or at a path of keys such as `metadata.contexts`, else None."""
    return next(_values_at(record, path), None)


def _values_at(record: Mapping[str, object], path: str) -> Iterator[object]:
    """Yield the value at the path, if there is one: a key that is the whole path comes first."""
    if path in record:
        yield record[path]
        return
    at = path.find(".")
    while at > 0:
        head, rest = path[:at], path[at + 1 :]
        inner = _opened(record[head]) if head in record else None
        if isinstance(inner, Mapping):
            yield from _values_at(inner, rest)
        elif isinstance(inner, list):
            yield from _values_at({str(n): item for n, item in enumerate(inner)}, rest)
        at = path.find(".", at + 1)


def _opened(value: object) -> object:
    """Read a text of JSON, as tables have where a value is nested."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        inner: object = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return inner


def _has(record: Mapping[str, object], path: str, *, values: bool) -> bool:
    if values:
        return next(iter([True for _ in _values_at(record, path)]), False)
    # Of columns only names are known: a path is there where its first column is.
    return path in record or path.partition(".")[0] in record


def _first(
    name: str, record: Mapping[str, object], mapped: Mapping[str, str], *, values: bool = True
) -> str | None:
    """Choose the key of a field: what the caller said, the contract's, another tool's."""
    if name in mapped:
        return mapped[name] if _has(record, mapped[name], values=values) else None
    taken = set(mapped.values())
    if name in record and name not in taken:
        return _ideal_or(name, record, mapped)
    others = [key for key in OTHER_NAMES[name] if key in record and key not in taken]
    if name != "id":
        # An object that other fields stand in is no text.
        others = (
            [key for key in others if not isinstance(record[key], Mapping)]
            or [
                key
                for key in NESTED_NAMES[name]
                if key in record or (values and _has(record, key, values=True))
            ]
            or others
        )
    if len(others) > 1 and name != "id":
        raise _ambiguous(name, others)
    return others[0] if others else None


def _ideal_or(name: str, record: Mapping[str, object], mapped: Mapping[str, str]) -> str:
    """Tell deepeval's `context`, the one there should have been, from what was retrieved."""
    beside = [key for key in _IDEAL_BESIDE.get(name, ()) if key in record]
    own = "response" not in record and any(
        key in record for key in ("actual_output", "actualOutput")
    )
    return beside[0] if len(beside) == 1 and own and not mapped.get("response") else name


def _ambiguous(name: str, keys: Iterable[str]) -> DataError:
    listed = list(keys)
    named = " and ".join(f"`{key}`" for key in listed)
    return DataError(
        f"it is missing, and {named} could each be meant",
        field=name,
        hint=f"`--map {name}={listed[0]}` decides",
    )


def _near(name: str, names: Collection[str], mapped: Mapping[str, str]) -> str | None:
    """Name the key that is most like the field, or like what other tools call it."""
    wanted = [mapped[name]] if name in mapped else [name, *OTHER_NAMES[name]]
    lowered = {str(key).lower(): str(key) for key in names}
    for word in wanted:
        close = get_close_matches(word.lower(), lowered, n=1, cutoff=0.7)
        if close:
            return f"`--map {name}={lowered[close[0]]}` reads `{lowered[close[0]]}` as `{name}`"
    return None
