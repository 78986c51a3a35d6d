"""Stored traces for a terminal: a list of them, and one with its evidence; at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from aletheia.reports import numbers
from aletheia.reports.text import WIDTH, Line, Role, Style, unstyled
from aletheia.reports.trace_json import ROW_KEYS, error_row, trace_row
from aletheia.reports.trace_text import render_trace
from aletheia.reports.visible import cells, fit, one_line, pad, wrap
from aletheia.schema.diagnosis import FailureCell
from aletheia.schema.stored import StoredTrace, TraceStatus, TraceSummary
from aletheia.schema.trace import ContextChunk

STORED_KEYS: Final = (
    *("id", "trace_id", "project", "status", "source", "query", "context", "response", "notes"),
    *("attempts", "logged_at", "evaluated_at"),
    *(key for key in ROW_KEYS if key not in ("id", "line")),
)
"""The keys of a stored trace as a row, in their order."""

_STATE: Final = 19
"""Columns of the state: the longest plain name and the mark of a tentative one."""

_SHOWN_LINES: Final = 4
"""Lines of a chunk that are shown where the whole was not asked for."""

TENTATIVE: Final = "~"


def render_list(
    found: Sequence[TraceSummary], *, style: Style = unstyled, with_project: bool = False
) -> str:
    """Write one line for each trace, under a heading; times are UTC."""
    width = max(len("id"), *(len(str(item.id)) for item in found), 0)
    names = max((cells(one_line(item.project)) for item in found), default=0)
    project = min(max(names, len("project")), 14) if with_project else 0
    lines = [_heading(width, project)]
    lines += [_summary(item, width, project) for item in found]
    if any(item.tentative for item in found):
        lines.append((f"{TENTATIVE} tentative: it rests on a verdict of low confidence", "dim"))
    return "".join(f"{style(line, role)}\n" for line, role in lines)


def state_of(item: TraceSummary) -> tuple[str, Role]:
    """Say where a trace stands: its cell, or what its evaluation came to."""
    if item.status is not TraceStatus.EVALUATED:
        return item.status.value, "poor" if item.status is TraceStatus.FAILED else "dim"
    if item.failure_cell is None:
        return "no cell", "unmeasured"
    doubt = f" {TENTATIVE}" if item.tentative else ""
    good = item.failure_cell is FailureCell.COMPLETE_GROUNDED
    return f"{item.failure_cell.plain_name}{doubt}", "good" if good and not doubt else "moderate"


def _heading(width: int, project: int) -> Line:
    named = f"{'project':<{project}}  " if project else ""
    return f"{'id':>{width}}  {'state':<{_STATE}}  {'created (UTC)':<16}  {named}query", "heading"


def _summary(item: TraceSummary, width: int, project: int) -> Line:
    state, role = state_of(item)
    named = f"{pad(fit(one_line(item.project), project), project)}  " if project else ""
    when = f"{item.created_at.astimezone(UTC):%Y-%m-%d %H:%M}"
    asked = one_line(" ".join((item.query if item.query is not None else "(no query)").split()))
    return fit(f"{item.id:>{width}}  {state:<{_STATE}}  {when}  {named}{asked}", WIDTH), role


def render_stored(trace: StoredTrace, *, full: bool = False, style: Style = unstyled) -> str:
    """Write a stored trace: where it stands in the store, its evidence, and its diagnosis.

    Without `full` a long chunk is cut, which is said.
    """
    head = [*_state_lines(trace)]
    evidence = [*_evidence(trace.chunks, full=full)]
    texts = [] if trace.result is not None else [*_texts(trace)]
    before = "".join(f"{style(line, role)}\n" for line, role in [*head, *texts])
    after = "".join(f"{style(line, role)}\n" for line, role in evidence)
    diagnosis = "" if trace.result is None else f"\n{render_trace(trace.result, style=style)}"
    return f"{before}{diagnosis}{after}"


def _state_lines(trace: StoredTrace) -> Iterator[Line]:
    yield fit(f"Trace {trace.id} of `{one_line(trace.project)}`", WIDTH), "title"
    attempts = f" after {numbers.plural(trace.attempts, 'attempt')}" if trace.attempts > 1 else ""
    yield from _item(f"{trace.status}{attempts}, created {_moment(trace.created_at)}")
    if trace.evaluated_at is not None:
        yield from _item(f"evaluated {_moment(trace.evaluated_at)}", "dim")
    origin = f"from {trace.source}"
    if trace.external_id is not None:
        origin += f", id there `{trace.external_id}`"
    yield from _item(origin, "dim")
    for name, note in trace.notes.items():
        yield from _item(f"{name.replace('_', ' ')}: {note}", "dim")
    if trace.error is not None:
        yield from _item(f"error: {trace.error}", "poor")


def _texts(trace: StoredTrace) -> Iterator[Line]:
    for title, text in (("Query", trace.query), ("Response", trace.response)):
        yield "", "plain"
        yield title, "heading"
        yield from _item("(none)" if text is None else text or "(empty)")


def _evidence(chunks: Sequence[ContextChunk], *, full: bool) -> Iterator[Line]:
    yield "", "plain"
    yield "Evidence", "heading"
    if not chunks:
        yield "  nothing was retrieved", "unmeasured"
    for chunk in chunks:
        yield from _chunk(chunk, full=full)


def _chunk(chunk: ContextChunk, *, full: bool) -> Iterator[Line]:
    lead = f"[E{chunk.rank + 1}] "
    told = [] if chunk.source is None else [one_line(chunk.source)]
    told += [] if chunk.score is None else [f"score {chunk.score:g}"]
    text = f"{', '.join(told)}: {chunk.text}" if told else chunk.text
    lines = wrap(one_line(text), WIDTH - 2 - len(lead))
    shown = lines if full else lines[:_SHOWN_LINES]
    for at, line in enumerate(shown):
        yield f"  {' ' * len(lead) if at else lead}{line}".rstrip(), "plain"
    if len(shown) < len(lines):
        more = numbers.plural(len(lines) - len(shown), "more line")
        yield f"  {' ' * len(lead)}… {more}; `--full` shows all", "dim"


def _item(text: str, role: Role = "plain") -> Iterator[Line]:
    for line in wrap(one_line(text), WIDTH - 2):
        yield f"  {line}".rstrip(), role


def _moment(when: datetime) -> str:
    return numbers.moment(when.astimezone(UTC).isoformat(timespec="minutes"))


def summary_row(item: TraceSummary) -> dict[str, Any]:
    """Return one line of a list as plain values for JSON."""
    plain = item.model_dump(mode="json")
    name = None if item.failure_cell is None else item.failure_cell.plain_name
    return {**plain, "plain_name": name}


def stored_row(trace: StoredTrace) -> dict[str, Any]:
    """Return a stored trace as plain values: what was logged, then the row of its diagnosis.

    `id` is the id that the trace had where it came from; `trace_id` is the store's. The keys are
    the same for every trace, and `aletheia eval` reads such a row again.
    """
    logged = {
        "trace_id": trace.id,
        "project": trace.project,
        "status": trace.status.value,
        "source": trace.source,
        "query": trace.query,
        "context": [chunk.model_dump(mode="json") for chunk in trace.chunks],
        "response": trace.response,
        "notes": dict(trace.notes),
        "attempts": trace.attempts,
        "logged_at": trace.created_at.isoformat(),
        "evaluated_at": None if trace.evaluated_at is None else trace.evaluated_at.isoformat(),
    }
    row = _diagnosis_row(trace)
    row.pop("line")
    return {"id": trace.external_id, **logged, **{k: v for k, v in row.items() if k != "id"}}


def _diagnosis_row(trace: StoredTrace) -> dict[str, Any]:
    if trace.result is not None:
        return trace_row(trace.result)
    row = error_row(trace.error or "", metric=trace.status.value)
    return row if trace.error is not None else {**row, "errors": {}}
