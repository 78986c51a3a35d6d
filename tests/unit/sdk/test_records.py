"""One line in, one row out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aletheia
from aletheia.sdk.records import check_line, to_line

REPLY = {"answer": "The pump runs at 40 Hz.", "evidence_ids": ["E1"]}
RECORD: dict[str, Any] = {"id": "a", "evidence": ["The pump runs at 40 Hz."], "reply": REPLY}

CONTRACT_KEYS = [
    *("id", "passed", "category", "rejection_reason", "rejection_reasons"),
    *("answer", "cited_ids", "findings"),
]
FINDING_KEYS = ["kind", "text", "start", "end", "reason", "found_in"]


def line(**changes: object) -> bytes:
    return json.dumps({**RECORD, **changes}, ensure_ascii=False).encode()


def without(*keys: str) -> bytes:
    return json.dumps({key: value for key, value in RECORD.items() if key not in keys}).encode()


def row(raw: bytes) -> dict[str, Any]:
    return check_line(raw, 7, file="f.jsonl").row()


def test_a_row_holds_the_keys_of_the_contract_first_and_in_order() -> None:
    found = row(line(reply={**REPLY, "answer": "The pump runs at 50 Hz."}))

    assert list(found)[: len(CONTRACT_KEYS)] == CONTRACT_KEYS
    assert list(found["findings"][0])[: len(FINDING_KEYS)] == FINDING_KEYS


def test_every_row_has_the_same_keys() -> None:
    assert list(row(line())) == list(row(b"{"))


def test_a_row_says_the_same_as_the_call() -> None:
    result = aletheia.verify(RECORD["evidence"], REPLY)

    assert row(line()) == {"id": "a", **result.to_dict(), "line": 7, "error": None}


@pytest.mark.parametrize("record_id", ["a", "a\nb", "\ud83d", 5, -1, 0, 1.5, 10**30])
def test_an_id_comes_back_as_it_was(record_id: object) -> None:
    raw = json.dumps({**RECORD, "id": record_id}).encode()

    assert row(raw)["id"] == record_id


@pytest.mark.parametrize(
    ("reply", "category"),
    [
        (json.dumps(REPLY), "grounded_answer"),
        ("```json\n" + json.dumps(REPLY) + "\n```", "grounded_answer"),
        ({"answer": "INSUFFICIENT_CONTEXT", "evidence_ids": []}, "insufficient_context"),
        ("no JSON", "rejected"),
        (None, "rejected"),
        (5, "rejected"),
        ([], "rejected"),
    ],
)
def test_any_value_of_reply_is_read_as_a_reply(reply: object, category: str) -> None:
    assert row(line(reply=reply))["category"] == category


def test_a_number_in_a_reply_stays_as_it_was_written() -> None:
    raw = (
        b'{"id": 1, "evidence": ["It is 1.50."], "reply": {"answer": 1.50, "evidence_ids": ["E1"]}}'
    )

    assert row(raw)["answer"] == "1.50"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"{", "f.jsonl:7: the line is not JSON"),
        (b"not json", "f.jsonl:7: the line is not JSON"),
        (b"5", "f.jsonl:7: the line holds no JSON object"),
        (b"[]", "f.jsonl:7: the line holds no JSON object"),
        (b"[" * 100_000, "f.jsonl:7: the line is nested too deeply"),
        (line() + b"x", "f.jsonl:7: the line is not JSON"),
        (b'{"id": NaN}', "f.jsonl:7: `NaN` is not JSON"),
        (line(reply={"answer": float("-inf")}), "f.jsonl:7: `-Infinity` is not JSON"),
        (b'{"id": 1, "id": 2}', "f.jsonl:7: key `id` stands twice"),
        (b'{"a\x1b": 1}', "f.jsonl:7: the line is not JSON"),
        (b'{"a\\u001b": 1, "a\\u001b": 2}', "key `a\\u001b` stands twice"),
        (b'{"id": "\xe9"}', "f.jsonl:7: the text is not UTF-8: byte 0xE9 at position 9"),
        (b"\xff\xfe{\x00", "f.jsonl:7: the text is UTF-16"),
        (without("id"), "f.jsonl:7: field `id`: it is missing"),
        (line(id=None), "f.jsonl:7: field `id`: it is null"),
        (line(id=True), "f.jsonl:7: field `id`: it is true"),
        (line(id=["a"]), 'f.jsonl:7: field `id`: it is ["a"]'),
        (line(id=" "), "f.jsonl:7: field `id`: it is blank"),
        (b'{"id": 1e999}', "f.jsonl:7: field `id`: the number is too large"),
        (b'{"id": ' + b"9" * 5000 + b"}", "f.jsonl:7: field `id`: the number is too large"),
        (without("evidence"), "f.jsonl:7: field `evidence`: it is missing"),
        (line(evidence=None), "f.jsonl:7: field `evidence`: it is null"),
        (line(evidence=5), "f.jsonl:7: field `evidence`: it is a number"),
        (line(evidence={"text": "a"}), "f.jsonl:7: field `evidence`: it is a `dict`"),
        (line(evidence=["a", 5]), "f.jsonl:7: field `evidence[1]`: it is a number, not text"),
        (line(evidence=[{"text": 5}]), "f.jsonl:7: field `evidence[0].text`: it is a number"),
        (line(question=5), "f.jsonl:7: field `question`: it is a number"),
        (without("reply"), "f.jsonl:7: field `reply`: it is missing"),
        (without("evidence", "reply"), "field `evidence`: it is missing, and so is `reply`"),
    ],
)
def test_a_line_that_holds_no_record_is_an_error_row_that_says_where_and_why(
    raw: bytes, said: str
) -> None:
    checked = check_line(raw, 7, file="f.jsonl")

    assert said in str(checked.error)
    found = checked.row()
    assert (found["category"], found["passed"], found["verified"]) == ("error", False, None)
    assert (found["line"], found["error"]) == (7, str(checked.error))


def test_an_error_row_keeps_the_id_that_could_be_read() -> None:
    assert row(without("reply"))["id"] == "a"


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ({"contexts": [], "response": ""}, "rename `contexts` to `evidence`; rename `response` to"),
        (
            {"Evidence": [], "Reply": ""},
            "rename `Evidence` to `evidence`; rename `Reply`",
        ),
    ],
)
def test_the_names_of_other_tools_are_recognised_in_the_hint(
    names: dict[str, object], hint: str
) -> None:
    checked = check_line(json.dumps({"id": 1, **names}).encode(), 1, file="f")

    assert hint in str(checked.error)


def test_keys_that_nothing_reads_are_told() -> None:
    checked = check_line(
        line(extra=1, evidence=[{"text": "a", "score": 1}, {"text": "b", "score": 2}]), 1, file="f"
    )

    assert checked.unread == ("extra", "evidence.score")


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf" + line(), line() + b"\r\n", b"  " + line()])
def test_byte_order_mark_and_line_end_do_not_count(raw: bytes) -> None:
    assert row(raw)["passed"] is True


@pytest.mark.parametrize(
    "text",
    ["a\u2028b", "a\u2029b", "a\x85b", "a\x1b[31mb", "\x9b31m", "\ud83d", "😀", "\x00", "\x7f"],
)
def test_a_row_is_one_safe_line_for_every_reader(text: str) -> None:
    written = to_line({"text": text})

    assert len(written.decode("utf-8").splitlines()) == 1
    assert json.loads(written) == {"text": text}
    assert b"\x1b" not in written
    assert b"\xc2\x9b" not in written


def test_other_scripts_are_written_as_they_are() -> None:
    assert to_line({"text": "Zürich 東京"}).decode("utf-8") == '{"text": "Zürich 東京"}\n'


@given(st.binary(max_size=80))
def test_no_line_raises(raw: bytes) -> None:
    json.loads(to_line(row(raw)))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_no_value_raises_whatever_the_field(value: object) -> None:
    for key in ("id", "question", "evidence", "reply"):
        found = json.loads(to_line(row(json.dumps({**RECORD, key: value}).encode())))
        assert found["category"] in ("grounded_answer", "insufficient_context", "rejected", "error")
