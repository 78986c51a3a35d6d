"""Faults of other tools that a run must not have; each test names its case."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import anyio
from unit.pipeline.worlds import honest, port_of, setup

from aletheia.generators.llm import LLMGenerator
from aletheia.llm.build import WindowedModel
from aletheia.llm.scripted import ScriptedModel
from aletheia.pipeline import journal
from aletheia.pipeline.benchmark import run_benchmark
from aletheia.pipeline.runner import run_bounded
from aletheia.reports.html import render_html


def test_case_28_a_skipped_row_keeps_its_status_and_reason_wherever_it_is_stored(
    tmp_path: Path,
) -> None:
    """A prompt beyond the window that is set: unmeasured in journal, report and page alike."""
    model = WindowedModel(ScriptedModel(honest), 256)
    made = setup(tmp_path, ScriptedModel([]), number=2)
    made = replace(made, stages=replace(made.stages, generator=LLMGenerator(model)))
    reason = "the window of `scripted` is set to 256"

    done = anyio.run(lambda: run_benchmark(made))

    assert done.journal_path is not None
    stored = journal.read(done.journal_path).entries[0].row
    written = json.loads(done.json_path.read_text(encoding="utf-8"))["detailed_results"][0]
    for status, said in (
        (stored.category, stored.error),
        (written["category"], written["error"]),
        (done.report.detailed_results[0].category, done.report.detailed_results[0].error),
    ):
        assert status == "error"
        assert reason in (said or "")
    assert "the window of" in render_html(done.report)
    assert {score["status"] for score in written["metrics"].values()} == {"unmeasured"}
    assert done.report.grounding_report.summary.total_verified == 0


def test_case_154_an_error_of_one_row_is_gone_with_the_next(tmp_path: Path) -> None:
    """Row 2 raises, rows 3 to 5 are fine, and nothing of the error is left in them."""

    def failing(prompt):
        if port_of(prompt) == "Vask":
            raise ZeroDivisionError("one by none")
        return honest(prompt)

    done = anyio.run(
        lambda: run_benchmark(setup(tmp_path, ScriptedModel(failing), number=5, concurrency=1))
    )

    rows = done.report.detailed_results
    assert [row.category == "error" for row in rows] == [False, True, False, False, False]
    assert [row.id for row in rows if row.error is not None] == ["q1"]


def test_case_164_twenty_thousand_rows_of_twenty_kilobytes_hold_only_those_under_way() -> None:
    """Items are drawn as workers come free, and a result that was handed on is let go."""
    rows, size, under_way, committed = 20_000, 20_000, 8, 0

    async def work(item: bytes) -> bytes:
        await anyio.lowlevel.checkpoint()
        return item[::-1]

    async def commit(_item: bytes, _result: bytes) -> bool:
        nonlocal committed
        committed += 1
        return True

    tracemalloc.start()
    try:
        items = (bytes(size) for _ in range(rows))
        anyio.run(lambda: run_bounded(items, work, limit=under_way, commit=commit))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert committed == rows
    assert peak < 10 * under_way * size, f"{peak} bytes"
