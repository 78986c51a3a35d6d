"""One run of `aletheia eval`: from the lines of a file to rows, messages and counts."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import typer

from aletheia.cli import output

if TYPE_CHECKING:
    from aletheia.config import Settings
    from aletheia.judges.base import Judges, TraceCase
    from aletheia.pipeline.evaluate_many import ManyOptions, TraceItem, TraceOutcome
    from aletheia.pipeline.evaluate_totals import EvaluateTotals
    from aletheia.pipeline.row_journal import RowJournal

__all__ = ["EvalRun"]

NO_FILE: Final = 1
INTERRUPTED: Final = 130
_LINES: Final = 10
"""About how many lines of progress a long run prints."""

_COPY_BYTES: Final = 1 << 20


@dataclass(slots=True, kw_only=True)
class EvalRun:
    """One run of the command. `choice` and `coverage` are as their options name them."""

    settings: Settings
    file: str
    target: Path | None
    choice: str
    concurrency: int | None
    decompose: bool
    repeat: int
    coverage: str
    limit: int | None
    max_bad_rows: int | None
    stop_after: int
    names: Mapping[str, str]
    persist: bool
    confident_only: bool
    resume: bool
    quiet: bool
    total: int = 0
    stopped: str | None = None
    told: int = 0
    totals: EvaluateTotals = field(init=False)

    @property
    def name(self) -> str:
        """What stands for the file in messages."""
        return "standard input" if self.file == "-" else self.file

    def run(self) -> EvaluateTotals:
        """Judge the whole file and write the output."""
        from aletheia.pipeline.evaluate_totals import EvaluateTotals
        from aletheia.pipeline.judge_setup import judge_kind, open_judges

        self.totals = EvaluateTotals(confident_only=self.confident_only)
        with ExitStack() as stack:
            source = stack.enter_context(_opened(self.file))
            kind = judge_kind(self.settings, self.choice)
            digest, self.total = _scan(source, self.limit)
            at_once = 1 if kind == "embedded" else self.concurrency or self.settings.concurrency
            judges = stack.enter_context(
                open_judges(self.settings, kind, concurrency=at_once, decompose=self.decompose)
            )
            journal = self._journal(judges, digest)
            if journal is not None:
                stack.enter_context(journal)
            self._tell_begin(kind, journal)
            self._judge(source, self._options(judges, kind, at_once), journal)
            self._finish(journal)
        return self.totals

    def _options(self, judges: Judges, kind: str, at_once: int) -> ManyOptions:
        from aletheia.pipeline.evaluate_many import ManyOptions
        from aletheia.pipeline.judge_setup import diagnose_options
        from aletheia.sdk.evaluate import persisted

        now = self.settings
        return ManyOptions(
            judges=judges,
            diagnose=diagnose_options(coverage=self.coverage, repeat=self.repeat),
            concurrency=at_once,
            guard=partial(_guard, now, self.repeat) if kind == "llm" else None,
            trace_budget_usd=now.per_trace_budget_usd,
            run_budget_usd=now.run_budget_usd,
            unknown_price=now.unknown_price,
            stop_after=self.stop_after,
            making={"persisted": persisted(persist=self.persist), **self._not_default()},
        )

    def _not_default(self) -> dict[str, str]:
        made = {"coverage": self.coverage, "repeat": str(self.repeat)}
        return {key: made[key] for key in made if made[key] not in ("grounded", "1")}

    def _judge(self, source: IO[bytes], options: ManyOptions, journal: RowJournal | None) -> None:
        import anyio

        from aletheia.pipeline.evaluate_many import evaluate_many
        from aletheia.pipeline.evaluate_totals import run_items
        from aletheia.sdk.records import to_line

        def commit(outcome: TraceOutcome) -> None:
            if journal is not None:
                row = to_line(dict(outcome.row))
                journal.append(outcome.line, row, again=outcome.again)
            self._count(outcome)

        items = run_items(self._items(source), self.totals, journal)
        try:
            stopped = anyio.run(partial(evaluate_many, items, options, commit=commit))
        except KeyboardInterrupt:
            self._interrupted(journal)
            raise typer.Exit(INTERRUPTED) from None
        self.totals.stopped = stopped or self.stopped

    def _items(self, source: IO[bytes]) -> Iterator[TraceItem]:
        """Read the lines that are not blank; stops after too many bad ones."""
        from aletheia.pipeline.evaluate_many import TraceItem
        from aletheia.sdk.trace_lines import read_trace_line

        read = bad = 0
        for number, raw in enumerate(source, start=1):
            if not raw.strip():
                self.totals.blank += 1
                continue
            found = read_trace_line(raw, number, file=self.name, names=self.names)
            self.totals.renamed.update(found.renamed)
            self.totals.add_unread(found.unread)
            trace = found.trace
            yield TraceItem(
                line=number,
                id=found.id,
                case=None if trace is None else trace.case,
                error=None if found.error is None else str(found.error),
                notes={} if trace is None else trace.notes,
            )
            read, bad = read + 1, bad + (found.error is not None)
            if self.max_bad_rows is not None and bad > self.max_bad_rows:
                self.stopped = f"{bad} bad lines, the last is {number}; what follows was not read"
                return
            if read == self.limit:
                return

    # --- the journal beside the output ---------------------------------------------------------

    def _journal(self, judges: Judges, digest: str) -> RowJournal | None:
        from aletheia.pipeline.row_journal import RowJournal

        if self.target is None:
            return None
        path = self.target.with_name(f"{self.target.name}.partial")
        fingerprint = self._fingerprint(judges, digest)
        if not path.exists():
            if self.resume:
                self._say(f"there is no unfinished run in `{path}`: this is a new one")
            return RowJournal.create(path, fingerprint)
        if not self.resume:
            self._say(f"the unfinished run in `{path}` is replaced; `--resume` would go on with it")
            return RowJournal.create(path, fingerprint)
        return _same_run(path, fingerprint)

    def _fingerprint(self, judges: Judges, digest: str) -> dict[str, str]:
        from aletheia import __version__
        from aletheia.pipeline.judge_setup import identity

        return {
            "data": digest,
            "aletheia": __version__,
            "coverage": self.coverage,
            "repeat": str(self.repeat),
            "map": ", ".join(f"{name}={key}" for name, key in sorted(self.names.items())),
            **{f"judges: {name}": value for name, value in identity(judges).items()},
        }

    def _finish(self, journal: RowJournal | None) -> None:
        if journal is None or self.target is None:
            return
        journal.write_to(self.target)
        if not journal.unfinished:
            journal.remove()
            return
        output.note(f"{journal.unfinished} rows are to be judged again: see `errors`")
        output.note("")
        output.note("hint: the same command with `--resume` judges only those")

    # --- what a person is told -----------------------------------------------------------------

    def _say(self, line: str) -> None:
        if not self.quiet:
            output.note(line)

    def _tell_begin(self, kind: str, journal: RowJournal | None) -> None:
        done = f", {journal.rows} rows from an earlier run" if journal and journal.rows else ""
        who = "the embedded judges"
        if kind == "llm":
            now = self.settings
            who = f"`{now.judging_model}`, cut by `{now.decomposing_model}`"
        traces = "1 trace" if self.total == 1 else f"{self.total} traces"
        self._say(f"{traces}, judged by {who}{done}")
        if kind == "embedded" and (self.concurrency or 1) > 1:
            self._say("the embedded judges take one trace after the other: they use one core")
        if journal is None:
            self._say("the rows are not kept: `--output FILE.jsonl` keeps them")

    def _count(self, outcome: TraceOutcome) -> None:
        from aletheia.pipeline.evaluate_many import NOT_JUDGED

        if self.totals.add(outcome):
            self._say(f"{self.name}:{outcome.line}: its id stands on an earlier line too")
        errors = outcome.row["errors"]
        if outcome.failed is not None and NOT_JUDGED not in errors:
            place = "" if "input" in errors else f"{self.name}:{outcome.line}: "
            where = next(iter(errors), "")
            metric = f"{where}: " if place and where else ""
            output.note(f"{place}{metric}{outcome.failed}")
        tenth = self.totals.lines * _LINES // max(1, self.total)
        if tenth > self.told and self.total > _LINES:
            self.told = tenth
            self._say(f"{self.totals.lines} of {self.total} traces done")

    def _interrupted(self, journal: RowJournal | None) -> None:
        if journal is None or not journal.rows:
            output.note("interrupted: nothing is kept")
            return
        output.note(f"interrupted: {journal.rows} of {self.total} rows are in `{journal.path}`")
        output.note("")
        output.note("hint: the same command with `--resume` goes on from there")


def _same_run(path: Path, fingerprint: Mapping[str, str]) -> RowJournal:
    from aletheia.errors import UsageError
    from aletheia.pipeline.journal import differences
    from aletheia.pipeline.row_journal import RowJournal

    journal, earlier = RowJournal.reopen(path)
    changed = differences(earlier, fingerprint)
    if changed:
        with journal:
            raise UsageError(
                f"the unfinished run in `{path}` was another one: {'; '.join(changed)}",
                hint="without `--resume` it is replaced",
            )
    return journal


def _guard(now: Settings, repeat: int, case: TraceCase) -> None:
    """Refuse a trace that could cost too much, before anything is called."""
    from aletheia.schema.trace import ContextChunk
    from aletheia.sdk.budget import enforce_budget

    chunks = [
        ContextChunk(text=unit.text, rank=at, source=unit.source)
        for at, unit in enumerate(case.evidence)
    ]
    enforce_budget(case.query, chunks, case.response, repeat=repeat, settings=now)


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """Open the file; standard input is copied first, as it is read twice."""
    with ExitStack() as stack:
        if file == "-":
            stream: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(sys.stdin.buffer, stream, _COPY_BYTES)
            stream.seek(0)
        else:
            try:
                stream = stack.enter_context(Path(file).open("rb"))
            except OSError as error:
                output.error(f"`{file}` cannot be read: {error.strerror}")
                raise typer.Exit(NO_FILE) from None
        yield stream


def _scan(source: IO[bytes], limit: int | None) -> tuple[str, int]:
    """Return the digest of the file and the number of lines that are to be judged."""
    digest, lines = hashlib.sha256(), 0
    for raw in source:
        digest.update(raw)
        lines += bool(raw.strip())
    source.seek(0)
    return f"sha256:{digest.hexdigest()}", lines if limit is None else min(lines, limit)
