"""A trace as a store keeps it: what was logged, how far its evaluation came, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from aletheia.schema.diagnosis import EvaluationResult, FailureCell, SufficiencyLevel
from aletheia.schema.trace import ContextChunk, TraceRecord

DEFAULT_PROJECT = "default"

RETRIEVAL = "retrieval"
"""Key of the note that says how the context came about, where it was not simply retrieved."""

NO_RETRIEVER_EVENT = "no retriever event"
"""Value of that note: nothing is known of what was retrieved. The empty context is no finding."""

NO_DOCUMENT_TEXT = "no text of documents"
"""Value of that note: documents were found, and only their ids are known."""

NOTHING_RETRIEVED = "nothing was retrieved"
"""Value of that note: a retriever ran and found nothing."""


class TraceStatus(StrEnum):
    """How far the evaluation of a stored trace came.

    `failed`: it was tried and there is no result; `error` says why. A result whose judges failed
    in part is `evaluated`, with its `errors` and without a cell.
    """

    PENDING = "pending"
    EVALUATED = "evaluated"
    FAILED = "failed"


class NewTrace(TraceRecord):
    """A trace that is to be stored.

    `external_id` is its id where it came from (a line of a file, a span), unique within
    `project` where it is given: storing it again replaces the trace. `source` names where it came
    from (`log`, `trace`, `langchain`, `eval`, `import`). `notes` say what was changed while it was
    read. `created_at` None = now.
    """

    query: str | None
    chunks: tuple[ContextChunk, ...]
    response: str
    project: str = DEFAULT_PROJECT
    external_id: str | None = None
    source: str = "log"
    notes: Mapping[str, str] = Field(default_factory=dict)
    created_at: datetime | None = None

    @property
    def context_unknown(self) -> str | None:
        """Say why nobody knows what was retrieved; None where the context is what there was.

        No verdict over such an empty context means anything.
        """
        said = self.notes.get(RETRIEVAL)
        return said if said in (NO_RETRIEVER_EVENT, NO_DOCUMENT_TEXT) else None


class StoredTrace(NewTrace):
    """A stored trace. `attempts` counts evaluations that began, `error` says why one failed."""

    id: int
    created_at: datetime
    status: TraceStatus = TraceStatus.PENDING
    attempts: int = 0
    error: str | None = None
    evaluated_at: datetime | None = None
    result: EvaluationResult | None = None


class TraceSummary(TraceRecord):
    """One line of a list of traces. Texts are whole; whoever shows them cuts them."""

    id: int
    project: str
    status: TraceStatus
    external_id: str | None = None
    source: str = "log"
    query: str | None
    response: str
    failure_cell: FailureCell | None = None
    tentative: bool = False
    sufficiency_level: SufficiencyLevel | None = None
    sufficiency_fraction: float | None = None
    faithfulness_fraction: float | None = None
    error: str | None = None
    created_at: datetime
    evaluated_at: datetime | None = None


class TraceFilter(TraceRecord):
    """Which traces are meant; what is left empty does not restrict.

    `cells` are alternatives, and so are `statuses`. `since` is inclusive and `until` exclusive,
    both of `created_at`. `text` is looked for in query and response, ignoring case. `ids` are
    ids of the store.
    """

    project: str | None = None
    cells: tuple[FailureCell, ...] = ()
    statuses: tuple[TraceStatus, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None
    ids: tuple[int, ...] = ()
    undiagnosed: bool = False
    """Only evaluated traces without a cell."""
