"""One run of `aletheia eval`: from traces to rows, results, messages and counts."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from aletheia.cli import output
from aletheia.cli.eval_identity import Earlier, EvalIdentity
from aletheia.cli.eval_options import EvalOptions
from aletheia.cli.eval_progress import EvalProgress
from aletheia.cli.eval_source import FileSource, Source, StoreSource

if TYPE_CHECKING:
    from aletheia.judges.base import TraceCase
    from aletheia.pipeline.evaluate_keep import Keeper
    from aletheia.pipeline.evaluate_many import ManyOptions, TraceItem, TraceOutcome
    from aletheia.pipeline.evaluate_processes import ProcessOptions
    from aletheia.pipeline.evaluate_totals import EvaluateTotals
    from aletheia.pipeline.judge_setup import JudgeKind
    from aletheia.pipeline.row_journal import RowJournal
    from aletheia.store import TraceStore

__all__ = ["EvalRun"]

_SQLITE: Final = "sqlite"

NO_FILE: Final = 1
INTERRUPTED: Final = 130


@dataclass(slots=True, kw_only=True)
class EvalRun:
    """One run of the command."""

    options: EvalOptions
    progress: EvalProgress
    totals: EvaluateTotals = field(init=False)
    keeper: Keeper = field(init=False)
    kind: JudgeKind = field(init=False)
    source: Source = field(init=False)
    identity: EvalIdentity = field(init=False)

    def run(self) -> EvaluateTotals:
        """Judge the whole source, keep what comes out, and write the output."""
        from aletheia.pipeline.evaluate_totals import EvaluateTotals
        from aletheia.pipeline.judge_setup import judge_id, judge_kind, open_judges
        from aletheia.pipeline.stored import note_saved

        options = self.options
        # That nothing waits in a store is good news; a file without a record is a mistake.
        self.totals = EvaluateTotals(
            confident_only=options.confident_only, may_be_empty=options.file is None
        )
        with ExitStack() as stack:
            self.source = stack.enter_context(self._opened())
            self.kind = judge_kind(options.settings, options.choice)
            store = self._store()
            judges = stack.enter_context(
                open_judges(
                    options.settings,
                    self.kind,
                    concurrency=self._at_once,
                    decompose=options.decompose,
                )
            )
            self.identity = EvalIdentity(options=options, digest=self.source.digest, judges=judges)
            journal = self.identity.journal(self.progress.say)
            if journal is not None:
                stack.enter_context(journal)
            before = self.identity.before(store, journal)
            self.totals.threshold = self.identity.threshold(store, journal, before)
            self._tell_begin(journal)
            self._judge(store, journal, self.identity.earlier(store, before))
            self._finish(journal)
            if store is not None:
                now = options.settings
                note_saved(store, now.project, judge_id(judges.making), self.totals.stored)
        return self.totals

    # --- the source and the store --------------------------------------------------------------

    @contextmanager
    def _opened(self) -> Iterator[Source]:
        if self.options.file is None:
            with self._pending() as waiting:
                yield waiting
            return
        from aletheia.errors import DataError

        with ExitStack() as stack:
            try:
                found = stack.enter_context(FileSource.opened(self.options))
            except DataError as error:
                output.error(error.message, error.hint)
                raise typer.Exit(NO_FILE) from None
            except OSError as error:
                output.error(f"`{self.options.file}` cannot be read: {error.strerror}")
                raise typer.Exit(NO_FILE) from None
            yield found

    @contextmanager
    def _pending(self) -> Iterator[StoreSource]:
        from aletheia.pipeline.stored import store_for

        source = StoreSource(
            options=self.options,
            store=store_for(self.options.settings),
            owner=f"eval {socket.gethostname()} {os.getpid()}",
        )
        source.open()
        try:
            yield source
        finally:
            source.close()

    def _store(self) -> TraceStore | None:
        if not self.options.persist:
            return None
        from aletheia.pipeline.stored import store_for

        store = store_for(self.options.settings)
        self.totals.store = _shown_place(store.url)
        self.totals.project = self.options.settings.project
        return store

    @property
    def _at_once(self) -> int:
        """Traces or processes at once: one process unless it is said otherwise."""
        now, asked = self.options.settings, self.options.concurrency
        if self.kind == "llm":
            return asked or now.concurrency
        said = now.concurrency if "concurrency" in now.model_fields_set else 1
        # They only compute: more of them than cores would take memory and give nothing.
        return min(asked or said, len(os.sched_getaffinity(0)))

    # --- judging -------------------------------------------------------------------------------

    def _judge(
        self, store: TraceStore | None, journal: RowJournal | None, earlier: Earlier | None
    ) -> None:
        from aletheia.pipeline.evaluate_keep import TOGETHER, Intake, Keeper
        from aletheia.pipeline.evaluate_totals import run_items

        guard = partial(_guard, self.options) if self.kind == "llm" else None
        items = self.source.items(self.totals, guard)
        items = run_items(items, self.totals, journal, self._told_of(earlier))
        intake = None
        if store is not None and self.options.file is not None:
            intake = Intake(store=store)
            items = intake(items)
        # A verdict of a model costs money: each is kept at once.
        together = 1 if self.kind == "llm" else TOGETHER
        self.keeper = Keeper(store=store, journal=journal, done=self._count, together=together)
        started = time.perf_counter()
        try:
            self.totals.stopped = self._judged(items) or self.source.stopped
        except KeyboardInterrupt:
            self.keeper.flush()
            self._interrupted(journal)
            raise typer.Exit(INTERRUPTED) from None
        finally:
            self.keeper.flush()
        self.totals.stored = self.keeper.stored
        self.totals.seconds = time.perf_counter() - started
        self.totals.keeping_seconds = self.keeper.seconds + (intake.seconds if intake else 0.0)

    def _told_of(self, earlier: Earlier | None) -> Earlier | None:
        """Count rows that were judged before where progress is shown."""
        if earlier is None:
            return None

        def found(item: TraceItem) -> TraceOutcome | None:
            outcome = earlier(item)
            self.progress.resumed(outcome is not None)
            return outcome

        return found

    def _judged(self, items: Iterator[TraceItem]) -> str | None:
        import anyio

        from aletheia.pipeline.evaluate_many import evaluate_many
        from aletheia.pipeline.evaluate_processes import chunk_size, evaluate_in_processes

        size = chunk_size(self.source.total, self._at_once)
        processes = min(self._at_once, -(-self.source.total // size))
        if self.kind == "llm" or processes <= 1:
            many = partial(evaluate_many, items, self._many(), commit=self.keeper)
            return anyio.run(many)
        anyio.run(
            partial(
                evaluate_in_processes,
                items,
                self._processes(),
                processes=processes,
                commit=self.keeper,
                remark=partial(self.progress.say, always=True),
                size=size,
            )
        )
        return None

    def _many(self) -> ManyOptions:
        from aletheia.pipeline.evaluate_many import ManyOptions
        from aletheia.pipeline.judge_setup import diagnose_options

        options, now = self.options, self.options.settings
        return ManyOptions(
            judges=self.identity.judges,
            diagnose=diagnose_options(
                coverage=options.coverage,
                repeat=options.repeat,
                threshold=self.totals.threshold,
            ),
            concurrency=self._at_once if self.kind == "llm" else 1,
            trace_budget_usd=now.per_trace_budget_usd,
            run_budget_usd=now.run_budget_usd,
            unknown_price=now.unknown_price,
            stop_after=options.stop_after,
            making=self.identity.making,
        )

    def _processes(self) -> ProcessOptions:
        from aletheia.pipeline.evaluate_processes import ProcessOptions

        options = self.options
        return ProcessOptions(
            threshold=self.totals.threshold,
            coverage=options.coverage,
            repeat=options.repeat,
            decompose=options.decompose,
            results=options.persist,
            making=self.identity.making,
        )

    def _finish(self, journal: RowJournal | None) -> None:
        from aletheia.reports.trace_json import ROW_KEYS

        self.progress.summary()
        if journal is None or self.options.target is None:
            return
        journal.write_to(self.options.target, columns=ROW_KEYS)
        if not journal.unfinished or self.options.file is None:
            journal.remove()
            return
        output.note(f"{journal.unfinished} rows are to be judged again: see `errors`")
        output.note("")
        output.note("hint: the same command with `--resume` judges only those")

    # --- what a person is told -----------------------------------------------------------------

    def _tell_begin(self, journal: RowJournal | None) -> None:
        resumed = journal.rows if journal is not None else 0
        done = f", {resumed} rows from an earlier run" if resumed else ""
        who, now = "the embedded judges", self.options.settings
        if self.kind == "llm":
            who = f"`{now.judging_model}`, cut by `{now.decomposing_model}`"
        elif self._at_once > 1:
            who += f" in {self._at_once} processes"
        if self.kind == "embedded" and (self.options.concurrency or 1) > self._at_once:
            self.progress.say(f"there are {self._at_once} cores for {self.options.concurrency}")
        total = self.source.total
        traces = "1 trace" if total == 1 else f"{total} traces"
        self.progress.begin(
            f"{traces}, judged by {who}{done}", total=total, resumed=resumed, judge=self.kind
        )
        self.progress.resumed(resumed - (journal.unfinished if journal is not None else 0))
        if journal is None and not self.options.persist:
            self.progress.say("the rows are not kept: `--output FILE.jsonl` keeps them")

    def _count(self, outcome: TraceOutcome) -> None:
        from aletheia.pipeline.evaluate_many import NOT_JUDGED

        place, row = f"{self.options.name}:{outcome.line}", outcome.row
        if isinstance(self.source, StoreSource):
            self.source.done(outcome.trace_id)
            place = f"trace {row['id']}"
        if self.totals.add(outcome):
            self.progress.repeated(place)
        errors = row["errors"]
        if outcome.failed is not None and NOT_JUDGED not in errors:
            where = next(iter(errors), "")
            metric = f"{where}: " if where and where != "input" else ""
            self.progress.failed(outcome.line, f"{place}: ", f"{metric}{outcome.failed}")
        self.progress.row(
            line=outcome.line,
            id=row["id"],
            failure_cell=row["failure_cell"],
            error=outcome.failed,
        )

    def _interrupted(self, journal: RowJournal | None) -> None:
        total = self.source.total
        kept = journal.rows if journal is not None else self.keeper.stored
        if not kept:
            output.note("interrupted: nothing is kept")
            return
        where = f"`{journal.path}`" if journal is not None else f"`{self.totals.store}`"
        output.note(f"interrupted: {kept} of {total} rows are in {where}")
        output.note("")
        again = "" if self.options.file is None else " with `--resume`"
        output.note(f"hint: the same command{again} goes on from there")


def _guard(options: EvalOptions, case: TraceCase) -> None:
    """Refuse a trace that could cost too much, before anything is stored or called."""
    from aletheia.schema.trace import ContextChunk
    from aletheia.sdk.budget import enforce_budget

    chunks = [
        ContextChunk(text=unit.text, rank=at, source=unit.source)
        for at, unit in enumerate(case.evidence)
    ]
    enforce_budget(
        case.query, chunks, case.response, repeat=options.repeat, settings=options.settings
    )


def _shown_place(url: str) -> str:
    """Name a store for a person; a file below the working directory by its path from there."""
    if not url.startswith(_SQLITE):
        return url
    path = Path(url.split(":///", 1)[1])
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
