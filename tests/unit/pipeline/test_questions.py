"""Question files: what is read, and what each fault says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aletheia.errors import DataError
from aletheia.pipeline.questions import load_questions

GOOD = {"id": "q1", "question": "Where?", "answer": "Leeds"}


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_the_contract_format_is_read_in_order(tmp_path: Path) -> None:
    second = {"id": "q2", "question": "Who?", "answer": "Ann", "answer_aliases": ["A."]}
    found = load_questions(written(tmp_path / "set.json", {"questions": [GOOD, second]}))

    assert found.name == "set"
    assert found.digest.startswith("sha256:")
    assert [item.id for item in found.questions] == ["q1", "q2"]
    assert found.questions[1].answer_aliases == ("A.",)
    assert found.questions[0].answerable


def test_a_bare_list_is_read_too(tmp_path: Path) -> None:
    assert len(load_questions(written(tmp_path / "a.json", [GOOD])).questions) == 1


def test_unknown_types_and_fields_are_kept(tmp_path: Path) -> None:
    item = {**GOOD, "type": "riddle", "author": {"name": "x"}}
    found = load_questions(written(tmp_path / "a.json", {"questions": [item], "more": [1]}))

    assert found.questions[0].type == "riddle"
    assert found.questions[0].model_extra == {"author": {"name": "x"}}


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "bom.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"questions": [GOOD]}).encode())

    assert load_questions(path).questions[0].id == "q1"


def test_the_abstention_as_gold_answer_marks_the_question_unanswerable(tmp_path: Path) -> None:
    item = {**GOOD, "answer": "INSUFFICIENT_CONTEXT"}

    assert not load_questions(written(tmp_path / "a.json", [item])).questions[0].answerable


@pytest.mark.parametrize(
    ("items", "field", "said", "hint"),
    [
        pytest.param(
            [GOOD, {"id": "q2", "answer": "x"}],
            "questions[1].question",
            "is missing",
            "it reads",
            id="missing field",
        ),
        pytest.param(
            [{"id": "q", "query": "Where?", "answer": "x"}],
            "questions[0].question",
            "is missing",
            "rename that to `question`",
            id="missing field under another name",
        ),
        pytest.param([{**GOOD, "id": "  "}], "questions[0].id", "is blank", "", id="blank id"),
        pytest.param([{**GOOD, "id": ""}], "questions[0].id", "is blank", "", id="empty id"),
        pytest.param([{**GOOD, "question": "\t"}], "questions[0].question", "blank", "", id="q"),
        pytest.param([{**GOOD, "answer": ""}], "questions[0].answer", "blank", "INSUF", id="a"),
        pytest.param([{**GOOD, "id": 7}], "questions[0].id", "not a number", "", id="id number"),
        pytest.param([{**GOOD, "answer": None}], "questions[0].answer", "not null", "", id="null"),
        pytest.param(
            [{**GOOD, "answerable": "yes"}],
            "questions[0].answerable",
            "not a string",
            "",
            id="no bool",
        ),
        pytest.param(
            [{**GOOD, "answer_aliases": "x"}],
            "questions[0].answer_aliases",
            "not a string",
            "",
            id="alias no list",
        ),
        pytest.param(
            [{**GOOD, "answer_aliases": ["x", 1]}],
            "questions[0].answer_aliases.1",
            "not a number",
            "",
            id="alias number",
        ),
        pytest.param(["Where?"], "questions[0]", "not a string", "it reads", id="no object"),
        pytest.param([], "questions", "empty", "it reads", id="empty list"),
        pytest.param([GOOD, GOOD], "id", "question 2, and already of question 1", "", id="twice"),
        pytest.param(
            [{**GOOD, "answerable": False}], "questions[0].answerable", "not `INS", "", id="clash"
        ),
        pytest.param(
            [{**GOOD, "answer": "INSUFFICIENT_CONTEXT", "answerable": True}],
            "questions[0].answerable",
            "true",
            "",
            id="other clash",
        ),
        pytest.param(
            [{**GOOD, "question": "\ud83d"}],
            "questions[0].question",
            "",
            "",
            id="half a surrogate pair",
        ),
    ],
)
def test_a_fault_names_file_line_and_field(
    tmp_path: Path, items: list[object], field: str, said: str, hint: str
) -> None:
    path = written(tmp_path / "set.json", {"name": "x", "questions": items})

    with pytest.raises(DataError) as caught:
        load_questions(path)

    assert caught.value.field == field
    assert caught.value.file == str(path)
    assert said in caught.value.message
    assert hint in (caught.value.hint or "")
    assert "\n" not in caught.value.message


def test_the_line_is_that_of_the_question(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(
        '{"other": {"questions": [1, "]}"]},\n"questions": [\n'
        '  {"id": "a", "question": "q \\" ]", "answer": "x"},\n\n'
        '  {"id": "a", "question": "r", "answer": "y"}]}',
        encoding="utf-8",
    )

    with pytest.raises(DataError, match="already of question 1 in line 3") as caught:
        load_questions(path)

    assert caught.value.line == 5


@pytest.mark.parametrize(
    ("raw", "line", "said"),
    [
        pytest.param(b'{"questions": [\n{"id": }]}', 2, "column 8", id="not JSON"),
        pytest.param(b"", 1, "not JSON", id="empty file"),
        pytest.param(b'[\n"caf\xe9"]', 2, "byte 6 is 0xe9", id="Latin-1"),
        pytest.param("{}".encode("utf-16"), 1, "UTF-16", id="UTF-16"),
        pytest.param(b'{"questions": 3}', None, "a list is needed, not a number", id="no list"),
        pytest.param(b'"text"', None, "a list is needed, not a string", id="a string"),
        pytest.param(b"{}", None, "is missing", id="no questions"),
        pytest.param(b'{"questions": [], "questions": []}', None, "twice", id="key twice"),
        pytest.param(b'{"questions": [{"id": NaN}]}', None, "no JSON number", id="NaN"),
        pytest.param(b"[" * 100_000, None, "JSON", id="too deep"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(
    tmp_path: Path, raw: bytes, line: int | None, said: str
) -> None:
    path = tmp_path / "set.json"
    path.write_bytes(raw)

    with pytest.raises(DataError) as caught:
        load_questions(path)

    assert said in caught.value.message
    assert caught.value.line == line


def test_a_missing_file_and_a_directory_are_data_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load_questions(tmp_path / "none.json")
    with pytest.raises(DataError, match="cannot be read"):
        load_questions(tmp_path)
