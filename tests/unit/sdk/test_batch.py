"""A run over many lines: what is written, said and counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aletheia.schema.verification import Mode
from aletheia.sdk.batch import Totals, Verifier

EVIDENCE = ["The pump runs at 40 Hz."]


def record(record_id: object, answer: str = "The pump runs at 40 Hz.", **more: object) -> bytes:
    reply = {"answer": answer, "evidence_ids": [] if answer == "INSUFFICIENT_CONTEXT" else ["E1"]}
    return (
        json.dumps({"id": record_id, "evidence": EVIDENCE, "reply": reply, **more}).encode() + b"\n"
    )


GOOD = record("good")
ABSTAINED = record("abstained", "INSUFFICIENT_CONTEXT")
WRONG = record("wrong", "The pump runs at 50 Hz.")
BAD = b"{\n"


def run(*lines: bytes, **options: Any) -> tuple[Totals, list[dict[str, Any]], list[str]]:
    said: list[str] = []
    rows: list[dict[str, Any]] = []
    verifier = Verifier(name="f.jsonl", say=said.append, **options)
    totals = verifier.run(lines, lambda raw: rows.append(json.loads(raw)))
    return totals, rows, said


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ((GOOD,), 0),
        ((GOOD, ABSTAINED), 0),
        ((GOOD, b"\n", b" \r\n"), 0),
        ((GOOD, WRONG), 3),
        ((GOOD, BAD), 2),
        ((WRONG, BAD), 2),
        ((), 1),
        ((b"\n",), 1),
        ((BAD,), 1),
        ((BAD, BAD), 1),
    ],
)
def test_the_exit_status_names_the_worst_that_happened(lines: tuple[bytes, ...], code: int) -> None:
    assert run(*lines)[0].exit_code == code


def test_lenient_mode_passes_with_a_warning() -> None:
    totals, rows, _ = run(WRONG, mode=Mode.LENIENT)

    assert (totals.exit_code, rows[0]["warnings"]) == (0, ["uncited_entities"])
    assert "passed with a warning that strict mode rejects: 1" in totals.summary("f", Mode.LENIENT)


def test_there_is_a_row_for_every_line_that_is_not_blank() -> None:
    _, rows, said = run(GOOD, b"\n", BAD, WRONG)

    assert [(row["line"], row["category"]) for row in rows] == [
        (1, "grounded_answer"),
        (3, "error"),
        (4, "rejected"),
    ]
    assert len(said) == 1
    assert said[0].startswith("f.jsonl:3: ")


def test_an_id_that_stands_twice_is_checked_twice_and_told() -> None:
    totals, rows, said = run(GOOD, GOOD, record(1), record("1"))

    assert [row["id"] for row in rows] == ["good", "good", 1, "1"]
    assert said == ["f.jsonl:2: id 'good' stands on an earlier line too"]
    assert (totals.repeated, totals.exit_code) == (1, 0)


def test_only_the_first_repeats_are_told_one_by_one() -> None:
    totals, _, said = run(*[GOOD] * 100)

    assert (len(said), totals.repeated) == (5, 99)


@pytest.mark.parametrize(("limit", "read"), [(None, 4), (0, 1), (1, 2), (2, 4), (9, 4)])
def test_reading_stops_after_more_bad_lines_than_allowed(limit: int | None, read: int) -> None:
    totals, rows, _ = run(BAD, BAD, GOOD, GOOD, max_bad_rows=limit)

    assert len(rows) == read
    assert (totals.stopped_at is None) is (read == 4)


def test_a_file_in_utf_16_is_one_error() -> None:
    text = GOOD.decode().encode("utf-16")

    totals, rows, said = run(*text.splitlines(keepends=True), b"more\n")

    assert (len(rows), len(said), totals.exit_code) == (1, 1, 1)
    assert "UTF-16" in said[0]


def test_the_summary_counts_what_happened() -> None:
    lines = (GOOD, WRONG, ABSTAINED, BAD, b"\n", record("x", extra=1), GOOD)
    totals, _, _ = run(*lines)

    assert list(totals.summary("f.jsonl", Mode.STRICT)) == [
        "f.jsonl, strict: 4 of 5 records passed",
        "categories: grounded_answer 3, rejected 1, insufficient_context 1, error 1",
        "reasons: uncited_entities 1",
        "lines without a valid record: 1 of 6",
        "blank lines skipped: 1",
        "ids that stood on an earlier line: 1; `line` tells the rows apart",
        "keys that are not read: `extra`",
    ]


def test_units_that_moved_up_are_told() -> None:
    totals, rows, _ = run(record("a", evidence=["", *EVIDENCE]))

    assert rows[0]["dropped"] == [0]
    assert any("blank evidence: 1" in line for line in totals.summary("f", Mode.STRICT))


def test_a_run_holds_no_more_for_many_lines_than_for_few() -> None:
    """Nothing but a hash of each id stays: the counters do not grow with the lines."""
    totals = run(*[record(n, **{f"key{n}": 1}) for n in range(300)])[0]

    assert len(totals.unread) == 10
    assert totals.lines == 300
