"""Reading a file of questions: every fault is one `DataError` that says where it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from pydantic import ValidationError

from aletheia.errors import DataError
from aletheia.schema.answer import ABSTENTION
from aletheia.schema.question import Question, QuestionSet

_REQUIRED: Final = ("id", "question", "answer")
_LISTS: Final = ("answer_aliases", "supporting_facts")
_SHAPE: Final = 'it reads `{"questions": [{"id", "question", "answer"}]}`'
_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("_id", "qid", "question_id"),
    "question": ("query", "user_input", "input", "text"),
    "answer": ("gold", "gold_answer", "ground_truth", "reference", "expected", "label"),
}
_WHITE: Final = " \t\n\r"
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One element of the list, with where it stands."""

    value: object
    line: int
    position: int


def load_questions(path: str | Path) -> QuestionSet:
    """Read a question file (UTF-8 JSON, section 1.5 of the contract; a bare list works too).

    Unknown types and unknown fields are kept. Raises `DataError` with file, line and field.
    """
    path = Path(path)
    raw = _bytes(path)
    text = _decoded(raw, path)
    entries = tuple(_entries(text, _parsed(text, path), path))
    if not entries:
        raise DataError("the list of questions is empty", file=path, field="questions", hint=_SHAPE)
    questions = tuple(_question(entry, path) for entry in entries)
    _reject_repeats(questions, entries, path)
    digest = hashlib.sha256(raw).hexdigest()
    return QuestionSet(name=path.stem, digest=f"sha256:{digest}", questions=questions)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError("there is no such file", file=path) from None
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}", file=path) from None


def _decoded(raw: bytes, path: Path) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        other = "it looks like UTF-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "it is not"
        raise DataError(
            f"the file must be UTF-8, and {other}: byte {error.start} is 0x{raw[error.start]:02x}",
            file=path,
            line=raw.count(b"\n", 0, error.start) + 1,
            hint="save it as UTF-8",
        ) from None


def _parsed(text: str, path: Path) -> object:
    try:
        value: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise DataError(
            f"this is not JSON: {error.msg} at column {error.colno}", file=path, line=error.lineno
        ) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"this cannot be read as JSON: {error}", file=path) from None
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"the key `{key}` stands twice in one object")
        made[key] = value
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"`{name}` is no JSON number")


def _entries(text: str, value: object, path: Path) -> Iterator[_Entry]:
    items = value.get("questions") if isinstance(value, dict) else value
    if isinstance(value, dict) and "questions" not in value:
        raise DataError("it is missing", file=path, field="questions", hint=_SHAPE)
    if not isinstance(items, list):
        field = "questions" if isinstance(value, dict) else None
        raise DataError(
            f"a list is needed, not {_kind(items)}", file=path, field=field, hint=_SHAPE
        )
    starts = _starts(text, nested=isinstance(value, dict))
    for position, (item, start) in enumerate(zip(items, starts, strict=True), 1):
        yield _Entry(value=item, line=text.count("\n", 0, start) + 1, position=position)


def _starts(text: str, *, nested: bool) -> Iterator[int]:
    """Where each question begins in a text that is known to be valid."""
    at = _skip(text, 0)
    if nested:
        at = _skip(text, at + 1)
        while True:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
            if key == "questions":
                break
            at = _skip(text, _skip(text, _end(text, at)) + 1)
    at = _skip(text, at + 1)
    while text[at] != "]":
        yield at
        at = _skip(text, _end(text, at))
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _WHITE:
        at += 1
    return at


def _end(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]


def _question(entry: _Entry, path: Path) -> Question:
    item = entry.value
    if not isinstance(item, dict):
        raise _fault(entry, path, f"an object is needed, not {_kind(item)}", hint=_SHAPE)
    for name in _REQUIRED:
        if name not in item:
            raise _fault(entry, path, "it is missing", name, hint=_renamed(name, item))
    try:
        question = Question.model_validate(_with_tuples(item), strict=True)
    except ValidationError as error:
        raise _invalid(entry, path, error) from None
    return _coherent(question, entry, path)


def _with_tuples(item: Mapping[str, object]) -> dict[str, object]:
    # Strict reading takes no list for a tuple, and JSON knows only lists.
    return {
        name: tuple(value) if name in _LISTS and isinstance(value, list) else value
        for name, value in item.items()
    }


def _renamed(name: str, item: Mapping[str, Any]) -> str:
    found = next((other for other in _OTHER_NAMES[name] if other in item), None)
    return f"it has `{found}`: rename that to `{name}`" if found else _SHAPE


def _invalid(entry: _Entry, path: Path, error: ValidationError) -> DataError:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    value = first["input"]
    if isinstance(value, str) and not value.strip():
        return _fault(entry, path, "it is blank", field)
    more = f", and {error.error_count() - 1} more faults" if error.error_count() > 1 else ""
    wanted = first["msg"].removeprefix("Input ").replace("should be", "must be")
    return _fault(entry, path, f"it {wanted}, not {_kind(value)}{more}", field)


def _coherent(question: Question, entry: _Entry, path: Path) -> Question:
    """Answer and `answerable` must say the same; the abstention as the answer decides alone."""
    abstains = question.answer.strip() == ABSTENTION
    said = "answerable" in question.model_fields_set
    if not question.answer.strip():
        hint = f"the answer of a question without one is `{ABSTENTION}`"
        raise _fault(entry, path, "it is blank", "answer", hint=hint)
    if said and question.answerable == abstains:
        raise _fault(
            entry,
            path,
            f"`answerable` is {str(question.answerable).lower()}, and the answer is "
            f"{'' if abstains else 'not '}`{ABSTENTION}`",
            "answerable",
        )
    return question.model_copy(update={"answerable": False}) if abstains else question


def _reject_repeats(questions: Sequence[Question], entries: Sequence[_Entry], path: Path) -> None:
    first: dict[str, _Entry] = {}
    for question, entry in zip(questions, entries, strict=True):
        earlier = first.setdefault(question.id, entry)
        if earlier is not entry:
            message = (
                f"`{question.id}` is the id of question {entry.position}, "
                f"and already of question {earlier.position} in line {earlier.line}"
            )
            raise DataError(message, file=path, line=entry.line, field="id", hint="ids are unique")


def _fault(
    entry: _Entry, path: Path, message: str, field: str | None = None, *, hint: str | None = None
) -> DataError:
    name = f"questions[{entry.position - 1}]"
    field = name if field is None else f"{name}.{field}"
    return DataError(message, file=path, line=entry.line, field=field, hint=hint)


def _kind(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        tuple: "a list",
        str: "a string",
        bool: "true or false",
        int: "a number",
        float: "a number",
        type(None): "null",
    }
    return names.get(type(value), type(value).__name__)
