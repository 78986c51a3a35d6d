"""Many traces to their diagnoses over the embedded judges, in several processes.

These judges do nothing but compute, so that only more processes make more of them. Rows go out in
small chunks, and no more of them than the processes can take. A process that dies is told of, and
its rows are judged once more, one by one; a row that takes a process with it twice has failed.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import anyio

from aletheia.pipeline.evaluate_many import (
    INTERNAL,
    TIMEOUT,
    ManyOptions,
    TraceItem,
    TraceOutcome,
    bad_row,
    evaluate_many,
    unjudged,
)
from aletheia.pipeline.judge_setup import diagnose_options, embedded_judges
from aletheia.pipeline.runner import run_bounded

if TYPE_CHECKING:
    from aletheia.diagnosis.calibrate import Threshold

CHUNK: Final = 8
"""Rows that go to a process together."""

_WAITING: Final = 2
"""Chunks for each process: one at work, and one that is ready when it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """How the processes judge; it goes to them with every chunk. `making` goes into every result.

    With `results` each outcome brings its result back, for a store.
    """

    threshold: Threshold | None = None
    coverage: str = "grounded"
    repeat: int = 1
    decompose: bool = True
    results: bool = False
    row_timeout_s: float = 1800.0
    making: dict[str, str] = field(default_factory=dict)

    def in_process(self) -> ManyOptions:
        """Return the same options for the process that it is asked in; its judges are kept."""
        return ManyOptions(
            judges=embedded_judges(decompose=self.decompose),
            diagnose=diagnose_options(
                coverage=self.coverage, repeat=self.repeat, threshold=self.threshold
            ),
            making=self.making,
        )


def chunk_size(rows: int, processes: int) -> int:
    """Return how many rows go out together, so that all processes have some to the end."""
    return max(1, min(CHUNK, rows // (4 * processes)))


async def evaluate_in_processes(
    items: Iterable[TraceItem],
    options: ProcessOptions,
    *,
    processes: int,
    commit: Callable[[TraceOutcome], None],
    remark: Callable[[str], None],
    size: int = CHUNK,
) -> None:
    """Judge all items and hand each outcome to `commit`, never two at once, in any order.

    `remark` is told of a process that died. A cancelled run ends its processes at once.
    """
    run = _Run(options, anyio.CapacityLimiter(processes), commit, remark)
    await run_bounded(
        _chunks(items, size), run.judge, limit=_WAITING * processes, commit=run.commit
    )


def _chunks(items: Iterable[TraceItem], size: int) -> Iterator[tuple[TraceItem, ...]]:
    left = iter(items)
    while chunk := tuple(islice(left, size)):
        yield chunk


@dataclass(frozen=True, slots=True)
class _Run:
    options: ProcessOptions
    processes: anyio.CapacityLimiter
    on_outcome: Callable[[TraceOutcome], None]
    remark: Callable[[str], None]

    async def judge(self, chunk: Sequence[TraceItem]) -> list[TraceOutcome]:
        """Judge a chunk in one process; whatever it meets becomes its rows."""
        outcomes = [bad_row(item) for item in chunk if item.case is None]
        asked = tuple(item for item in chunk if item.case is not None)
        if not asked:
            return outcomes
        try:
            return outcomes + await self._sent(asked)
        except (anyio.BrokenWorkerProcess, TimeoutError):
            self.remark(f"{_spoken(asked)}: the process died, they are judged once more")
        return outcomes + [await self._alone(item) for item in asked]

    async def commit(self, _chunk: object, outcomes: Sequence[TraceOutcome]) -> bool:
        """Hand outcomes on."""
        for outcome in outcomes:
            self.on_outcome(outcome)
        return True

    async def _alone(self, item: TraceItem) -> TraceOutcome:
        try:
            return (await self._sent((item,)))[0]
        except anyio.BrokenWorkerProcess:
            return unjudged(item, INTERNAL, "the process that judged it died, twice")
        except TimeoutError:
            seconds = f"{self.options.row_timeout_s:g}"
            return unjudged(item, TIMEOUT, f"it was not judged within {seconds} seconds")

    async def _sent(self, items: tuple[TraceItem, ...]) -> list[TraceOutcome]:
        from anyio import to_process

        # What a store is to keep stays here.
        sent = tuple(replace(item, trace=None) for item in items)
        async with self.processes:
            with anyio.fail_after(self.options.row_timeout_s * len(items)):
                return await to_process.run_sync(
                    judge_here, self.options, sent, cancellable=True, limiter=_one()
                )


def _one() -> anyio.CapacityLimiter:
    """The number of processes is bounded before a call, so that waiting takes no row's time."""
    return anyio.CapacityLimiter(1)


def _spoken(items: Sequence[TraceItem]) -> str:
    first, last = items[0].line, items[-1].line
    return f"row {first}" if first == last else f"rows {first} to {last}"


def judge_here(options: ProcessOptions, items: Sequence[TraceItem]) -> list[TraceOutcome]:
    """Judge some rows in this process, which is one of several."""
    # Ctrl-C reaches every process of a terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    found: list[TraceOutcome] = []
    anyio.run(partial(evaluate_many, items, options.in_process(), commit=found.append))
    if options.results:
        return found
    return [replace(outcome, result=None) for outcome in found]
