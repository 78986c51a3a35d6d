"""A row is done when the store and the journal hold it, and not before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from unit.judges.scripts import good_reply, isolated, scripted, trace

from aletheia.errors import ModelUnavailable, StoreError
from aletheia.pipeline.evaluate_keep import Before, Intake, Keeper, external_id
from aletheia.pipeline.evaluate_many import ManyOptions, TraceItem, TraceOutcome, evaluate_many
from aletheia.pipeline.judge_setup import diagnose_options
from aletheia.pipeline.row_journal import RowJournal
from aletheia.schema.stored import NewTrace, TraceStatus
from aletheia.schema.trace import ContextChunk
from aletheia.store import TraceStore, open_store

UNIT = "The mill opened in 1911."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    with open_store(tmp_path / "a.db") as opened:
        yield opened


def items(*lines: int) -> list[TraceItem]:
    return [
        TraceItem(
            line=line,
            id=f"t{line}",
            case=trace(UNIT, UNIT, query="When?"),
            trace=NewTrace(
                query="When?",
                chunks=(ContextChunk(text=UNIT, rank=0),),
                response=UNIT,
                external_id=external_id("d" * 64, line, f"t{line}"),
            ),
        )
        for line in lines
    ]


def judge(found: Any, commit: Any, line: Any = good_reply, **making: str) -> None:
    options = ManyOptions(
        judges=isolated(scripted(line)), diagnose=diagnose_options(), making=making
    )

    async def go() -> None:
        await evaluate_many(found, options, commit=commit)

    anyio.run(go)


def test_rows_are_told_of_when_both_places_hold_them(tmp_path: Path, store: TraceStore) -> None:
    """They share transactions, and what is told of survives a kill at that moment."""
    seen: list[tuple[int, int]] = []
    with RowJournal.create(tmp_path / "rows.partial", {"data": "d"}) as journal:

        def done(outcome: TraceOutcome) -> None:
            on_disk = (tmp_path / "rows.partial").read_bytes().count(b"\n") - 1
            seen.append((on_disk, store.count()[TraceStatus.EVALUATED]))
            assert outcome.result is None

        keeper = Keeper(done=done, store=store, journal=journal, together=2)
        judge(Intake(store=store, together=2)(items(1, 2, 3)), keeper)
        assert seen == [(2, 2)] * 2
        keeper.flush()
        assert seen == [(2, 2)] * 2 + [(3, 3)]
        assert keeper.stored == 3


def test_a_trace_that_was_not_judged_waits_and_one_that_failed_says_why(store: TraceStore) -> None:
    """A refused trace is not written at all; a bad row neither."""
    keeper = Keeper(done=lambda _outcome: None, store=store)
    first, second = items(1, 2)
    refused = TraceItem(line=3, case=first.case, refused="it could cost too much")
    bad = TraceItem(line=4, error="f:4: broken")
    kept = list(Intake(store=store)([first, second, refused, bad]))
    judge(kept[:1], keeper, lambda _prompt: ModelUnavailable("the endpoint is down"))
    judge(kept[2:], keeper)
    keeper.flush()

    assert [(item.status, item.error) for item in store.traces()] == [
        (TraceStatus.FAILED, "the endpoint is down"),
        (TraceStatus.PENDING, None),
    ]


def test_only_results_of_this_very_run_are_found_again(store: TraceStore) -> None:
    keeper = Keeper(done=lambda _outcome: None, store=store)
    judge(Intake(store=store)(items(1, 2)), keeper, run="one")
    keeper.flush()
    before = Before.of(store, "default", "d" * 64)
    names = [external_id("d" * 64, line, f"t{line}") for line in (1, 3)]

    assert [before.result(store, name, "one") is not None for name in names] == [True, False]
    assert before.result(store, names[0], "two") is None
    assert before.threshold(store, "one") == before.threshold(store, "one")
    assert before.threshold(store, "two") is None
    assert Before.of(store, "other", "d" * 64).ids == {}


def test_a_store_that_cannot_be_written_ends_the_run(store: TraceStore) -> None:
    """Nothing that was not kept is told of."""
    told: list[TraceOutcome] = []
    keeper = Keeper(done=told.append, store=store, together=1)
    found = list(Intake(store=store)(items(1)))
    store.close()
    with pytest.raises(StoreError):
        judge(found, keeper)
    assert told == []


def test_the_journal_gives_back_what_a_run_noted(tmp_path: Path) -> None:
    """Numbers may be far apart; a note is no row."""
    path = tmp_path / "rows.partial"
    with RowJournal.create(path, {"data": "d"}) as journal:
        journal.note({"threshold": "0.5"})
        journal.append(7, b'{"n": 7}\n', again=False, sync=False)
        journal.append(2, b'{"n": 2}\n', again=True, sync=False)
        journal.sync()
    journal, _ = RowJournal.reopen(path)
    with journal:
        assert (journal.extra, journal.rows, journal.unfinished) == ({"threshold": "0.5"}, 2, 1)
        assert [json.loads(row)["n"] for row in journal.in_order()] == [2, 7]
        assert [journal.is_done(n) for n in (0, 2, 7, 8)] == [False, False, True, False]
