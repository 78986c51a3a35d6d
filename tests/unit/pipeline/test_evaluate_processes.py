"""Rows judged in several processes: the same rows as in one, whatever becomes of a process."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from unit.judges.scripts import trace
from unit.pipeline.dying import Dying

from aletheia.diagnosis.calibrate import Threshold
from aletheia.pipeline.evaluate_many import INTERNAL, TraceItem, TraceOutcome, evaluate_many
from aletheia.pipeline.evaluate_processes import (
    ProcessOptions,
    chunk_size,
    evaluate_in_processes,
)

UNITS = ("The mill opened in 1911.", "The mill has a red roof.")
LEVEL = Threshold(value=0.37, source="calibrated", traces=30)


def items(count: int) -> list[TraceItem]:
    """Traces of their own, and one row that holds none."""
    made = [
        TraceItem(line=n, case=trace(f"The mill opened in 19{n:02}.", *UNITS, query="When?"))
        for n in range(count)
    ]
    return [*made, TraceItem(line=count, error="f:9: broken")]


def without_times(outcome: TraceOutcome) -> dict[str, Any]:
    left_out = ("created_at", "latency_ms")
    return {key: value for key, value in outcome.row.items() if key not in left_out}


def in_processes(
    count: int, options: ProcessOptions, each: Any = None, **more: Any
) -> tuple[dict[int, TraceOutcome], list[str]]:
    found: dict[int, TraceOutcome] = {}
    said: list[str] = []

    def commit(outcome: TraceOutcome) -> None:
        assert outcome.line not in found
        found[outcome.line] = outcome
        if each is not None:
            each(len(found))

    anyio.run(
        partial(
            evaluate_in_processes,
            items(count),
            options,
            processes=2,
            commit=commit,
            remark=said.append,
            **more,
        )
    )
    return found, said


def children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def test_a_process_that_is_killed_costs_no_row() -> None:
    """Its rows are judged once more, and all rows are those that one process gives."""
    options = ProcessOptions(threshold=LEVEL, results=True, making={"persisted": "p"})
    killed: list[int] = []

    def kill(done: int) -> None:
        if done >= 2 and not killed:
            killed.extend(children())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    found, said = in_processes(40, options, kill, size=2)
    alone: list[TraceOutcome] = []
    anyio.run(partial(evaluate_many, items(40), options.in_process(), commit=alone.append))

    assert len(killed) == 2
    assert 1 <= len(said) <= 2
    assert all("the process died" in text for text in said)
    assert {line: without_times(one) for line, one in found.items()} == {
        one.line: without_times(one) for one in alone
    }
    assert {one.result.diagnosis.threshold for one in found.values() if one.result} == {0.37}
    assert children() == []


def test_a_row_that_takes_its_process_with_it_twice_has_failed() -> None:
    found, said = in_processes(2, Dying(), size=2)

    assert [list(found[line].row["errors"]) for line in range(3)] == [[INTERNAL]] * 2 + [["input"]]
    assert [found[line].again for line in range(3)] == [True, True, False]
    assert said == ["rows 0 to 1: the process died, they are judged once more"]


@pytest.mark.parametrize(
    ("rows", "processes", "size"), [(1, 2, 1), (16, 2, 2), (10_000, 2, 8), (0, 4, 1)]
)
def test_chunks_are_small_enough_to_share(rows: int, processes: int, size: int) -> None:
    assert chunk_size(rows, processes) == size
