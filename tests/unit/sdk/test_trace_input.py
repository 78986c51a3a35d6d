"""Lines of traces: every line is a trace or an error with its place, and an id stays as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aletheia.errors import UsageError
from aletheia.sdk.trace_lines import TraceLine, parse_map, read_trace_line

GOOD = {"query": "q", "context": ["a"], "response": "r"}


def read(raw: bytes | dict[str, Any], **options: Any) -> TraceLine:
    line = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    return read_trace_line(line, 3, file="in.jsonl", **options)


@pytest.mark.parametrize("given", ["a", "7", 7, 7.5, -1, 10**30, " x ", "a\nb", ""])
def test_an_id_is_kept_as_it_was_given(given: object) -> None:
    found = read({**GOOD, "id": given})
    assert (found.id, type(found.id), found.error) == (given, type(given), None)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "no JSON object"),
        (b"7", "no JSON object"),
        (b'"text"', "no JSON object"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
        (b'{"query": "\xff"}', "byte 0xFF at position 12"),
        (b'{"context": [], "response": "a", "response": "b"}', "stands twice"),
        (b'{"context": [], "response": NaN}', "`NaN` is not JSON"),
        (b'{"context": [], "response": "a", "x": 1e999}', "too large a number"),
        (b'{"context": [], "response": "a", "id": %s}' % (b"9" * 5000), "too long"),
        (b"[" * 100_000, "nested too deeply"),
        ({**GOOD, "id": ["a"]}, "field `id`"),
        ({**GOOD, "id": True}, "field `id`"),
        ({"query": "q"}, "field `context`: it is missing, and so is `response`"),
        ({"query": "q", "context": ["a"]}, "field `response`: it is missing"),
        ({**GOOD, "context": None}, "field `context`: it is null"),
        ({**GOOD, "response": None}, "field `response`: it is null"),
        ({**GOOD, "response": ["r"]}, "field `response`: it is a `list`"),
        ({**GOOD, "context": ["a", {"content": "b"}]}, "rename `content` to `text`"),
        ({"contxt": ["a"], "response": "r"}, "--map context=contxt"),
    ],
)
def test_a_line_that_is_no_trace_is_an_error_with_its_place(
    raw: bytes | dict[str, Any], message: str
) -> None:
    found = read(raw)

    assert found.trace is None
    assert str(found.error).startswith("in.jsonl:3: ")
    assert message in str(found.error)


def test_the_id_of_a_bad_record_is_kept() -> None:
    assert read({"id": 9, "query": "q"}).id == 9


def test_a_key_that_stands_twice_with_one_value_is_read() -> None:
    assert read(b'{"context": [], "response": "a", "response": "a"}').error is None


@pytest.mark.parametrize(
    ("record", "names", "renamed", "unread"),
    [
        ({**GOOD, "id": 1}, {}, (), ()),
        ({**GOOD, "score": 1}, {}, (), ("score",)),
        (
            {"question": "q", "contexts": ["a"], "answer": "r", "ground_truth": "g"},
            {},
            (("query", "question"), ("context", "contexts"), ("response", "answer")),
            ("ground_truth",),
        ),
        ({**GOOD, "answer": "gold"}, {}, (), ("answer",)),
        ({**GOOD, "answer": "r"}, {"response": "answer"}, (("response", "answer"),), ("response",)),
    ],
)
def test_keys_of_other_tools_are_read_and_told(
    record: dict[str, Any], names: dict[str, str], renamed: Any, unread: Any
) -> None:
    """Field case 139: the contract's own key wins unless the caller says otherwise."""
    found = read(record, names=names)
    assert (found.error, found.renamed, found.unread) == (None, renamed, unread)


def test_a_mapped_key_that_is_missing_is_not_replaced_by_another() -> None:
    found = read({**GOOD, "answer": "r"}, names={"response": "reply_text"})
    assert found.error is not None


def test_an_unpaired_half_is_replaced_one_for_one_and_told() -> None:
    found = read(b'{"context": ["a \\ud83d b"], "response": "\\ude00"}')

    assert found.trace is not None
    assert (found.trace.chunks[0].text, found.trace.response) == ("a \ufffd b", "\ufffd")
    assert found.trace.notes["replaced_characters"] == "2"


@pytest.mark.parametrize("pair", ["response", "=x", "response=", "ids=x", "reply=x"])
def test_a_map_that_names_no_field_is_refused(pair: str) -> None:
    with pytest.raises(UsageError):
        parse_map([pair])
