"""Where `aletheia eval` takes traces from: the rows of a file, or what waits in the store."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Final

from aletheia.cli.eval_options import EvalOptions

if TYPE_CHECKING:
    from aletheia.judges.base import TraceCase
    from aletheia.pipeline.evaluate_many import TraceItem
    from aletheia.pipeline.evaluate_totals import EvaluateTotals
    from aletheia.schema.stored import NewTrace
    from aletheia.sdk.trace_lines import TraceLine
    from aletheia.store import TraceStore
    from aletheia.tabular import Table

_COPY_BYTES: Final = 1 << 20

Guard = Callable[["TraceCase"], object]
"""Raises `BudgetExceeded` for a case that could cost too much."""


@dataclass(slots=True, kw_only=True)
class FileSource:
    """The rows of a file. `digest` names its content, `total` is how many rows are to be judged.

    `stopped` says why not all of it was read.
    """

    options: EvalOptions
    table: Table
    digest: str
    total: int
    stopped: str | None = None

    @classmethod
    @contextmanager
    def opened(cls, options: EvalOptions) -> Iterator[FileSource]:
        """Open the file, look at it once, and see that its columns are there.

        Raises `OSError` where it cannot be opened, `DataError` where it cannot be read as a whole.
        """
        from aletheia.sdk.trace_lines import find_columns

        with _table(options) as table:
            if table.columns is not None:
                find_columns(table, file=options.name, names=options.names)
            seen = table.scan()
            total = seen.rows if options.limit is None else min(seen.rows, options.limit)
            yield cls(options=options, table=table, digest=seen.digest, total=total)

    def items(self, totals: EvaluateTotals, guard: Guard | None) -> Iterator[TraceItem]:
        """Read the rows; stops at the limit, and after too many bad ones."""
        from aletheia.sdk.trace_lines import read_traces

        options, bad = self.options, 0
        for line in read_traces(self.table, file=options.name, names=options.names):
            if options.limit is not None and line.index > options.limit:
                break
            totals.renamed.update(line.renamed)
            totals.add_unread(line.unread)
            yield self._item(line, guard)
            bad += line.error is not None
            if options.max_bad_rows is not None and bad > options.max_bad_rows:
                self.stopped = (
                    f"{bad} bad lines, the last is {line.number}; what follows was not read"
                )
                break
        totals.blank = self.table.blank

    def _item(self, line: TraceLine, guard: Guard | None) -> TraceItem:
        from aletheia.errors import DataError
        from aletheia.pipeline.evaluate_keep import external_id
        from aletheia.pipeline.evaluate_many import TraceItem
        from aletheia.pipeline.stored import capture

        error = line.error
        if line.trace is not None:
            name = external_id(self.digest, line.number, line.id)
            try:
                trace = capture(
                    line.trace.query,
                    line.trace.chunks,
                    line.trace.response,
                    self.options.settings,
                    external_id=name if self.options.persist else None,
                    source="eval",
                    notes=line.trace.notes,
                )
            except DataError as found:
                error = DataError(found.message, file=self.options.name, line=line.number)
            else:
                return _judged(
                    trace, line=line.number, index=line.index, record_id=line.id, guard=guard
                )
        return TraceItem(line=line.number, index=line.index, id=line.id, error=str(error))


def _judged(
    trace: NewTrace,
    *,
    line: int,
    index: int,
    record_id: str | float | None,
    guard: Guard | None,
    trace_id: int | None = None,
) -> TraceItem:
    """Make the item of a trace; one that could cost too much is refused, and not stored."""
    from aletheia.errors import BudgetExceeded
    from aletheia.pipeline.diagnose import trace_case
    from aletheia.pipeline.evaluate_many import BUDGET, CONTEXT, TraceItem

    case = trace_case(trace.query, trace.chunks, trace.response)
    refused, refused_for = None, BUDGET
    if trace.context_unknown is not None:
        # A verdict over what happens to be empty would mean nothing.
        refused, refused_for = f"the context is not known: {trace.context_unknown}", CONTEXT
    elif guard is not None:
        try:
            guard(case)
        except BudgetExceeded as error:
            refused = str(error)
    kept = trace.external_id is not None and trace_id is None and refused is None
    return TraceItem(
        line=line,
        index=index,
        id=record_id,
        case=case,
        notes=trace.notes,
        trace=trace if kept else None,
        trace_id=trace_id,
        refused=refused,
        refused_for=refused_for,
    )


@dataclass(slots=True, kw_only=True)
class StoreSource:
    """Traces of one project that wait for their evaluation; those that failed wait again."""

    options: EvalOptions
    store: TraceStore
    owner: str
    total: int = 0
    digest: str = "pending"
    stopped: str | None = None
    _claimed: set[int] = field(default_factory=set)

    _TOGETHER = 64

    def open(self) -> None:
        """Let failed traces wait again, and count what waits."""
        from aletheia.schema.stored import TraceFilter, TraceStatus

        project = self.options.settings.project
        self.store.reopen(TraceFilter(project=project, statuses=(TraceStatus.FAILED,)))
        waiting = self.store.count(TraceFilter(project=project))[TraceStatus.PENDING]
        limit = self.options.limit
        self.total = waiting if limit is None else min(waiting, limit)

    def items(self, totals: EvaluateTotals, guard: Guard | None) -> Iterator[TraceItem]:
        """Claim some traces at a time, the oldest first; what others have claimed is theirs."""
        from aletheia.schema.stored import TraceFilter

        del totals
        where, index = TraceFilter(project=self.options.settings.project), 0
        left = self.total
        while left:
            some = self.store.claim(min(self._TOGETHER, left), owner=self.owner, where=where)
            if not some:
                return
            left -= len(some)
            self._claimed.update(trace.id for trace in some)
            for trace in some:
                index += 1
                yield _judged(
                    trace,
                    line=index,
                    index=index,
                    record_id=trace.id,
                    guard=guard,
                    trace_id=trace.id,
                )

    def done(self, trace_id: int | None) -> None:
        """Note that a claim was used."""
        self._claimed.discard(trace_id or 0)

    def close(self) -> None:
        """Give back what was claimed and not judged."""
        if self._claimed:
            self.store.release(sorted(self._claimed))


Source = FileSource | StoreSource


@contextmanager
def _table(options: EvalOptions) -> Iterator[Table]:
    """Open the file; standard input is copied first, as it is read twice."""
    from aletheia.sdk.trace_lines import is_trace
    from aletheia.sdk.trace_names import KNOWN_NAMES
    from aletheia.tabular import Format, open_handle, open_table

    known = KNOWN_NAMES | set(options.names.values())
    with ExitStack() as stack:
        if options.file != "-":
            yield stack.enter_context(
                open_table(
                    str(options.file),
                    kind=options.kind,
                    split=options.split,
                    delimiter=options.delimiter,
                    known=known,
                    is_row=is_trace,
                )
            )
            return
        stream: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
        shutil.copyfileobj(sys.stdin.buffer, stream, _COPY_BYTES)
        yield open_handle(
            stream,
            name=options.name,
            kind=options.kind or Format.JSONL,
            split=options.split,
            delimiter=options.delimiter,
            known=known,
            is_row=is_trace,
        )
