"""The tables of the store, one to one with what a trace and its result are made of.

Rows of a trace go with it (`ON DELETE CASCADE`). `position` is the index in the tuple the row came
from. The columns of `traces` that repeat what stands in `diagnosis` and `making` are there to be
filtered and counted; the JSON is what results are read back from.

Large values stand last in `traces`: what stands before them is read without them.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

from aletheia.schema.cost import Cost
from aletheia.schema.diagnosis import Flags
from aletheia.store.types import Count, Instant, Json, Real, Verbatim

VERSION_TABLE: Final = "trace_store_version"
"""Where the revision of these tables stands; other tables of the database have versions of their
own."""

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

COST_PREFIX: Final = "cost_"
FLAG_PREFIX: Final = "flag_"


def _cost_columns() -> list[Column[object]]:
    return [
        Column(f"{COST_PREFIX}{name}", Real if name == "usd" else Count)
        for name in Cost.model_fields
    ]


def _flag_columns() -> list[Column[object]]:
    return [Column(f"{FLAG_PREFIX}{name}", Boolean) for name in Flags.model_fields]


TRACES: Final = Table(
    "traces",
    METADATA,
    Column("id", Count, primary_key=True, autoincrement=True),
    Column("project", Verbatim, nullable=False),
    Column("status", String(16), nullable=False),
    Column("attempts", Count, nullable=False),
    # How often the trace was replaced by one of the same external id.
    Column("revision", Count, nullable=False),
    Column("source", Verbatim, nullable=False),
    # Digest of project and external id: an index over a text has a limit to its length.
    Column("external_key", String(64)),
    Column("owner", Verbatim),
    Column("lease_until", Instant),
    Column("created_at", Instant, nullable=False),
    Column("evaluated_at", Instant),
    Column("failure_cell", String(32)),
    Column("overall_verdict", String(16)),
    Column("sufficiency_level", String(8)),
    Column("sufficiency_fraction", Real),
    Column("faithfulness_fraction", Real),
    Column("tentative", Boolean),
    Column("level_tentative", Boolean),
    Column("empty_response", Boolean),
    Column("abstention", String(16)),
    *_flag_columns(),
    Column("threshold", Real),
    Column("threshold_source", Verbatim),
    *_cost_columns(),
    Column("judge", Verbatim),
    Column("judge_model", Verbatim),
    Column("decomposer_model", Verbatim),
    Column("prompts", Json),
    Column("latency_ms", Json),
    Column("external_id", Verbatim),
    Column("error", Verbatim),
    Column("query", Verbatim),
    Column("response", Verbatim, nullable=False),
    Column("notes", Json, nullable=False),
    Column("diagnosis", Json),
    Column("suggestion", Json),
    Column("errors", Json),
    Column("findings", Json),
    Column("making", Json),
    # Fields of a result that have no column of their own.
    Column("more", Json),
    UniqueConstraint("external_key"),
    Index(None, "status", "id"),
    Index(None, "project", "failure_cell", "sufficiency_fraction", "judge"),
    Index(None, "failure_cell"),
    Index(None, "created_at"),
    # An id is never given twice, also after the newest trace was removed.
    sqlite_autoincrement=True,
)


def _of_trace() -> Column[int]:
    return Column("trace_id", Count, ForeignKey(TRACES.c.id, ondelete="CASCADE"), primary_key=True)


def _position(name: str = "position") -> Column[int]:
    return Column(name, Count, primary_key=True, autoincrement=False)


def _judgement() -> list[Column[object]]:
    return [
        Column("verdict", String(1)),
        Column("reasoning", Verbatim, nullable=False),
        Column("score", Real),
        Column("confidence", String(8)),
        Column("warnings", Json, nullable=False),
        Column("problem", Verbatim),
        Column("agreement", Real),
    ]


CONTEXT_CHUNKS: Final = Table(
    "context_chunks",
    METADATA,
    _of_trace(),
    _position(),
    Column("rank", Count, nullable=False),
    # What judges cite it by, NULL for a blank chunk: `grounding` joins on it.
    Column("evidence_id", String(24)),
    Column("source", Verbatim),
    Column("score", Real),
    Column("text", Verbatim, nullable=False),
)

SUB_QUESTIONS: Final = Table(
    "sub_questions",
    METADATA,
    _of_trace(),
    _position(),
    Column("sub_question_id", Count, nullable=False),
    Column("text", Verbatim, nullable=False),
    sqlite_with_rowid=False,
)

CLAIMS: Final = Table(
    "claims",
    METADATA,
    _of_trace(),
    _position(),
    Column("claim_id", Count, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("span_start", Count, nullable=False),
    Column("span_end", Count, nullable=False),
    Column("text", Verbatim, nullable=False),
    sqlite_with_rowid=False,
)

SUFFICIENCY: Final = Table(
    "sufficiency",
    METADATA,
    _of_trace(),
    _position(),
    Column("sub_question_id", Count, nullable=False),
    *_judgement(),
    sqlite_with_rowid=False,
)

FAITHFULNESS: Final = Table(
    "faithfulness",
    METADATA,
    _of_trace(),
    _position(),
    Column("claim_id", Count, nullable=False),
    *_judgement(),
    Column("unsupported", Json, nullable=False),
    sqlite_with_rowid=False,
)

GROUNDING: Final = Table(
    "grounding",
    METADATA,
    _of_trace(),
    # `sufficiency` or `faithfulness`, and the position of the row there.
    Column("judgement", String(16), primary_key=True),
    _position("judgement_position"),
    _position(),
    Column("evidence_id", Verbatim, nullable=False),
    sqlite_with_rowid=False,
)

COMPLETENESS: Final = Table(
    "completeness",
    METADATA,
    _of_trace(),
    Column("reasoning", Verbatim, nullable=False),
    Column("confidence", String(8)),
    Column("problem", Verbatim),
    Column("agreement", Real),
    sqlite_with_rowid=False,
)

COMPLETENESS_MAPPINGS: Final = Table(
    "completeness_mappings",
    METADATA,
    _of_trace(),
    _position(),
    _position("claim_position"),
    Column("sub_question_id", Count, nullable=False),
    # NULL in the only row of a sub-question that no claim answers.
    Column("claim_id", Count),
    sqlite_with_rowid=False,
)

COMPLETENESS_EXTRAS: Final = Table(
    "completeness_extras",
    METADATA,
    _of_trace(),
    _position(),
    Column("claim_id", Count, nullable=False),
    sqlite_with_rowid=False,
)

RESULT_TABLES: Final = (
    SUB_QUESTIONS,
    CLAIMS,
    SUFFICIENCY,
    FAITHFULNESS,
    GROUNDING,
    COMPLETENESS,
    COMPLETENESS_MAPPINGS,
    COMPLETENESS_EXTRAS,
)
"""What a result is made of beside its columns in `traces`."""

_NOT_OF_RESULT: Final = frozenset(
    {
        *("id", "project", "status", "attempts", "revision", "source", "external_key", "owner"),
        *("lease_until", "created_at", "external_id", "error", "query", "response", "notes"),
    }
)
RESULT_COLUMNS: Final = tuple(
    column.name for column in TRACES.columns if column.name not in _NOT_OF_RESULT
)
"""Columns of `traces` that are NULL until there is a result."""

SUMMARY_COLUMNS: Final = (
    TRACES.c.id,
    TRACES.c.project,
    TRACES.c.status,
    TRACES.c.external_id,
    TRACES.c.source,
    TRACES.c.query,
    TRACES.c.response,
    TRACES.c.failure_cell,
    TRACES.c.tentative,
    TRACES.c.sufficiency_level,
    TRACES.c.sufficiency_fraction,
    TRACES.c.faithfulness_fraction,
    TRACES.c.error,
    TRACES.c.created_at,
    TRACES.c.evaluated_at,
)
