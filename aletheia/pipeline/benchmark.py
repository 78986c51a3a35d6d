"""The use case: a question set over a knowledge graph, to a report, resumable at every row."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import anyio

from aletheia.diagnosis.run_report import diagnosis_report
from aletheia.errors import DataError
from aletheia.llm.budget import Budget, budget_scope
from aletheia.pipeline import events, files, journal
from aletheia.pipeline.answer import Outcome, answer_question, not_asked
from aletheia.pipeline.journal import Entry, Fingerprint, Journal
from aletheia.pipeline.observe import merged
from aletheia.pipeline.runner import run_bounded
from aletheia.pipeline.setup import Setup, provenance
from aletheia.reports.document import build_report, dump_json
from aletheia.reports.html import iter_html
from aletheia.schema.cost import total
from aletheia.schema.question import Question
from aletheia.schema.report import BenchmarkReport, Capability, DetailedResult, RunCost


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a run left behind.

    `journal_path` is None when nothing is left to ask. `stopped` says why questions were not
    asked. `unmeasured` counts questions without a reply, or with a metric or a diagnosis that a
    failure kept away.
    """

    report: BenchmarkReport
    json_path: Path
    html_path: Path
    journal_path: Path | None
    unmeasured: int
    stopped: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every question has its reply, its metrics and its diagnosis."""
        return self.unmeasured == 0


def unfinished(setup: Setup) -> Path | None:
    """Return the newest journal of an unfinished run of the same kind, if there is one."""
    found, fingerprint = journal.headers(setup.output_dir), setup.fingerprint()
    return next((path for path, other in found if other == fingerprint), None)


async def run_benchmark(
    setup: Setup,
    *,
    resume: bool = False,
    listener: events.Listener = events.ignore,
    batched: RunCost | None = None,
) -> Finished:
    """Ask all questions, or with `resume` those that an earlier run of the same kind lacks.

    `batched` is what was paid for batches before, where the models answer from those.
    Raises `UsageError` (output directory), `DataError` (nothing to resume, a damaged journal),
    `ConfigError` or `StoreError` (a part cannot be loaded). When it is cancelled, every finished
    question is in the journal.
    """
    files.check_directory(setup.output_dir)
    start = _opened(setup, resume=resume)
    with start.journal as opened:
        try:
            for text in start.remarks:
                listener(events.Remark(text=text))
            await setup.stages.suite.prepare()
            run = _Run(
                setup=setup,
                start=start,
                entries=dict(start.entries),
                listener=listener,
                batched=batched,
            )
            with budget_scope(_budget(setup, start.entries)):
                stopped = await run.all()
            return await anyio.to_thread.run_sync(run.finish, stopped)
        finally:
            opened.remove_if_empty()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """How a run begins: its moment, its journal and what is in it, and what to say about that."""

    at: datetime
    journal: Journal
    entries: Mapping[int, Entry]
    remarks: tuple[str, ...]


def _budget(setup: Setup, kept: Mapping[int, Entry]) -> Budget | None:
    """Make the budget of the run; what the kept questions cost is spent already."""
    if setup.budget_usd is None:
        return None
    made = Budget(setup.budget_usd, scope="run", unknown_price=setup.options.unknown_price)
    spent = total(entry.row.cost for entry in kept.values()).usd or 0.0
    # More may be spent than is allowed now: then the first call that is not free says so.
    made.reserve(min(spent, setup.budget_usd)).settle(spent)
    return made


def _opened(setup: Setup, *, resume: bool) -> _Start:
    at, fingerprint = setup.now(), setup.fingerprint()
    same = unfinished(setup)
    if not resume:
        opened = files.new_journal(setup.output_dir, at, fingerprint)
        return _Start(at=at, journal=opened, entries={}, remarks=_unfinished(same))
    if same is None:
        raise _nothing_to_resume(setup.output_dir, journal.headers(setup.output_dir), fingerprint)
    contents = journal.read(same)
    remarks: tuple[str, ...] = (f"going on with `{same}`",)
    if contents.torn:
        remarks += ("its last line was cut off: that question is asked again",)
    return _Start(
        at=at,
        journal=Journal.reopen(contents),
        entries=_whole(contents.entries),
        remarks=remarks,
    )


def _unfinished(same: Path | None) -> tuple[str, ...]:
    if same is None:
        return ()
    return (f"`{same}` is an unfinished run of the same kind: `--resume` goes on with it",)


def _whole(entries: Mapping[int, Entry]) -> dict[int, Entry]:
    return {index: entry for index, entry in entries.items() if not entry.incomplete}


def _nothing_to_resume(
    directory: Path, headers: Sequence[tuple[Path, Fingerprint]], fingerprint: Fingerprint
) -> DataError:
    if not headers:
        return DataError(
            f"there is no unfinished run in `{directory}`", hint="run without `--resume`"
        )
    newest, other = headers[0]
    return DataError(
        f"this unfinished run is another one: {'; '.join(journal.differences(other, fingerprint))}",
        file=newest,
        hint="give the same options and files, or run without `--resume`",
    )


@dataclass(slots=True, kw_only=True)
class _Run:
    """One run on its way."""

    setup: Setup
    start: _Start
    entries: dict[int, Entry]
    listener: events.Listener
    batched: RunCost | None = None
    failures: int = 0
    failure: str | None = None
    stopped: str | None = None
    resumed: int = 0

    @property
    def questions(self) -> tuple[Question, ...]:
        return self.setup.questions.questions

    async def all(self) -> str | None:
        """Ask what is missing; return why the run stopped early, if it did."""
        self.resumed = len(self.entries)
        self.listener(
            events.RunStarted(
                total=len(self.questions),
                resumed=self.resumed,
                journal=str(self.start.journal.path),
            )
        )
        missing = [index for index in range(len(self.questions)) if index not in self.entries]
        await run_bounded(missing, self._ask, limit=self.setup.concurrency, commit=self._commit)
        left = len(self.questions) - len(self.entries)
        if self.stopped is None or not left:
            return None
        self.listener(events.RunStopped(reason=self.stopped, left=left))
        return self.stopped

    def _ask(self, index: int) -> Awaitable[Outcome]:
        return answer_question(self.questions[index], self.setup.stages, self.setup.options)

    async def _commit(self, index: int, made: Outcome) -> bool:
        entry = Entry(
            index=index,
            row=made.row,
            structured=made.structured,
            incomplete=made.incomplete,
            capabilities=self.setup.stages.observed.capabilities,
        )
        # A row that is finished is kept, also when the run is cancelled at this moment.
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.start.journal.append, entry)
        self.entries[index] = entry
        self._tell(entry)
        return self._may_go_on(made)

    def _tell(self, entry: Entry) -> None:
        row = entry.row
        self.listener(
            events.RowDone(
                index=entry.index,
                id=row.id,
                category=row.category,
                done=len(self.entries),
                total=len(self.questions),
                seconds=sum(row.timings_ms.values()) / 1000,
                error=row.error,
            )
        )

    def _may_go_on(self, made: Outcome) -> bool:
        if made.ends_the_run:
            self.stopped = made.over_budget
            return False
        if made.failure is None or made.failure != self.failure:
            self.failures = 0
        self.failure = made.failure
        self.failures += made.failure is not None
        if not self.setup.stop_after or self.failures < self.setup.stop_after:
            return True
        said = made.row.error or made.failure
        self.stopped = f"{self.failures} failures of one kind in a row, the last: {said}"
        return False

    def finish(self, stopped: str | None) -> Finished:
        """Write the report, and delete the journal if nothing is left to ask."""
        setup = self.setup
        report = self._report(stopped)
        page, text = files.write_pair(
            setup.output_dir,
            self.start.at,
            {".html": iter_html(report), ".json": [dump_json(report)]},
            own=self.start.journal.path,
        )
        unmeasured = len(self.questions) - len(_whole(self.entries))
        if not unmeasured:
            self.start.journal.remove()
        return Finished(
            report=report,
            json_path=text,
            html_path=page,
            journal_path=self.start.journal.path if unmeasured else None,
            unmeasured=unmeasured,
            stopped=stopped,
        )

    def _report(self, stopped: str | None) -> BenchmarkReport:
        rows = self._rows(stopped)
        made = provenance(
            self.setup,
            self.start.at,
            structured=self._structured(),
            capabilities=self._capabilities(),
            resumed=self.resumed,
        )
        cells = diagnosis_report(rows, made.judge)
        return build_report(rows, made, diagnosis=cells, batched=self.batched)

    def _rows(self, stopped: str | None) -> list[DetailedResult]:
        reason = f"not asked, the run had stopped: {stopped}"
        return [
            self.entries[index].row
            if index in self.entries
            else not_asked(question, self.setup.stages, reason)
            for index, question in enumerate(self.questions)
        ]

    def _structured(self) -> str | None:
        """Name how replies were constrained: more than one way where the endpoint changed."""
        kinds = {entry.structured for entry in self.entries.values()} - {None}
        return ", ".join(sorted(map(str, kinds))) or None

    def _capabilities(self) -> tuple[Capability, ...]:
        kept = (item for entry in self.entries.values() for item in entry.capabilities)
        return merged((*kept, *self.setup.stages.observed.capabilities))
