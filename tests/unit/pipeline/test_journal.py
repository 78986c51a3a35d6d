"""The journal: rows survive a crash, a torn line is dropped, nobody else writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aletheia.errors import DataError, StoreError
from aletheia.pipeline import journal
from aletheia.pipeline.journal import SUFFIX, Entry, Journal
from aletheia.schema.report import DetailedResult, FindingRecord, MetricScore
from aletheia.schema.verification import RejectionReason

PRINT = {"graph": "sha256:1", "mode": "strict"}


def row(number: int, **more: object) -> DetailedResult:
    values: dict[str, object] = {
        "id": f"q{number}",
        "question": "Où est-ce? \u2028 \ud83d half",
        "gold_answer": "x",
        "category": "rejected",
        "grounding_rejected": True,
        "rejection_reason": RejectionReason.UNCITED_ENTITIES,
        "rejection_reasons": (RejectionReason.UNCITED_ENTITIES,),
        "verified": False,
        "answer": "y \x00",
        "findings": (FindingRecord(kind="name", text="y", start=0, end=1, reason="absent"),),
        "metrics": {"faithfulness": MetricScore(value=0.5, implementation="i", status="measured")},
        "normalised": (("e1", "E1"),),
    }
    return DetailedResult.model_validate({**values, **more})


def begun(directory: Path, *rows: Entry) -> Path:
    path = directory / f"ragas_20260101_000000{SUFFIX}"
    with Journal.create(path, PRINT) as opened:
        for entry in rows:
            opened.append(entry)
    return path


def test_what_is_written_is_read_back_equal(tmp_path: Path) -> None:
    entries = [
        Entry(index=1, row=row(1), structured="json_schema"),
        Entry(index=0, row=row(0), incomplete=True),
    ]

    found = journal.read(begun(tmp_path, *entries))

    assert found.fingerprint == PRINT
    assert dict(found.entries) == {1: entries[0], 0: entries[1]}
    assert not found.torn


def test_a_later_row_replaces_an_earlier_one(tmp_path: Path) -> None:
    path = begun(
        tmp_path,
        Entry(index=0, row=row(0, error="down", category="error"), incomplete=True),
        Entry(index=0, row=row(0)),
    )

    assert not journal.read(path).entries[0].incomplete


@pytest.mark.parametrize("cut", [1, 2, 40, 300])
def test_a_torn_last_line_is_dropped_and_the_next_row_does_not_join_it(
    tmp_path: Path, cut: int
) -> None:
    path = begun(tmp_path, Entry(index=0, row=row(0)), Entry(index=1, row=row(1)))
    path.write_bytes(path.read_bytes()[:-cut])

    found = journal.read(path)
    assert found.torn
    assert set(found.entries) == {0}

    with Journal.reopen(found) as opened:
        opened.append(Entry(index=2, row=row(2)))
    again = journal.read(path)
    assert set(again.entries) == {0, 2}
    assert not again.torn


def test_damage_in_the_middle_is_named_and_not_skipped(tmp_path: Path) -> None:
    path = begun(tmp_path, Entry(index=0, row=row(0)), Entry(index=1, row=row(1)))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], lines[1][:50], *lines[2:]]))

    with pytest.raises(DataError, match="damaged") as caught:
        journal.read(path)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "line",
    ["[]", '{"index": 0}', '{"index": 0, "row": {}, "structured": null, "incomplete": false}'],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str) -> None:
    path = begun(tmp_path)
    with path.open("a", encoding="ascii") as handle:
        handle.write(line + "\n")

    with pytest.raises(DataError) as caught:
        journal.read(path)
    assert caught.value.line == 2


def test_two_runs_never_write_into_one_journal(tmp_path: Path) -> None:
    path = begun(tmp_path, Entry(index=0, row=row(0)))
    contents = journal.read(path)

    with Journal.reopen(contents), pytest.raises(StoreError, match="another run"):
        Journal.reopen(contents)
    Journal.reopen(contents).close()


def test_a_journal_is_never_begun_over_another(tmp_path: Path) -> None:
    path = begun(tmp_path)
    with pytest.raises(FileExistsError):
        Journal.create(path, PRINT)


def test_headers_come_newest_first_and_without_what_is_no_journal(tmp_path: Path) -> None:
    for name, text in (
        ("ragas_20260102_000000", json.dumps({"kind": "header", "version": 1, "fingerprint": {}})),
        ("ragas_20260103_000000", "no json"),
        ("ragas_20260104_000000", json.dumps({"kind": "header", "version": 99, "fingerprint": {}})),
    ):
        (tmp_path / f"{name}{SUFFIX}").write_text(text + "\n", encoding="ascii")
    (tmp_path / f"ragas_20260105_000000{SUFFIX}").write_text('{"kind": "hea', encoding="ascii")
    begun(tmp_path)

    names = [path.name.removesuffix(SUFFIX) for path, _ in journal.headers(tmp_path)]

    assert names == ["ragas_20260102_000000", "ragas_20260101_000000"]


def test_differences_name_only_what_differs() -> None:
    said = journal.differences(PRINT, {"graph": "sha256:2", "mode": "strict", "hops": "2"})

    assert said == ("graph was `sha256:1`, now `sha256:2`", "hops was not recorded, now `2`")


def test_a_journal_without_rows_is_removed(tmp_path: Path) -> None:
    path = tmp_path / f"a{SUFFIX}"
    with Journal.create(path, PRINT) as opened:
        opened.remove_if_empty()
    assert not path.exists()

    path = begun(tmp_path, Entry(index=0, row=row(0)))
    with Journal.reopen(journal.read(path)) as opened:
        opened.remove_if_empty()
    assert path.exists()
