"""Traces, their chunks and their results."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
)

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_COUNT = BigInteger().with_variant(Integer, "sqlite")
_INSTANT = DateTime(timezone=True)
_FLAGS = (*("missing", "extra", "ungrounded", "miscited", "abstained", "over_refused", "conflict"),)
_COUNTS = (
    *("calls", "cached", "batched", "failed", "requests", "prompt_tokens", "completion_tokens"),
    *("unreported", "unpriced"),
)


def upgrade() -> None:
    """Make all tables."""
    _traces()
    _chunks()
    _pieces()
    _judgements()
    _completeness()


def _traces() -> None:
    op.create_table(
        "traces",
        Column("id", _COUNT, nullable=False, autoincrement=True),
        Column("project", Text, nullable=False),
        Column("status", String(16), nullable=False),
        Column("attempts", _COUNT, nullable=False),
        Column("revision", _COUNT, nullable=False),
        Column("source", Text, nullable=False),
        Column("external_key", String(64)),
        Column("owner", Text),
        Column("lease_until", _INSTANT),
        Column("created_at", _INSTANT, nullable=False),
        Column("evaluated_at", _INSTANT),
        Column("failure_cell", String(32)),
        Column("overall_verdict", String(16)),
        Column("sufficiency_level", String(8)),
        Column("sufficiency_fraction", Double),
        Column("faithfulness_fraction", Double),
        Column("tentative", Boolean),
        Column("level_tentative", Boolean),
        Column("empty_response", Boolean),
        Column("abstention", String(16)),
        *(Column(f"flag_{name}", Boolean) for name in _FLAGS),
        Column("threshold", Double),
        Column("threshold_source", Text),
        *(Column(f"cost_{name}", _COUNT) for name in _COUNTS),
        Column("cost_usd", Double),
        *(Column(name, Text) for name in ("judge", "judge_model", "decomposer_model")),
        *(Column(name, JSON) for name in ("prompts", "latency_ms")),
        *(Column(name, Text) for name in ("external_id", "error", "query")),
        Column("response", Text, nullable=False),
        Column("notes", JSON, nullable=False),
        *(Column(name, JSON) for name in ("diagnosis", "suggestion", "errors", "findings")),
        *(Column(name, JSON) for name in ("making", "more")),
        PrimaryKeyConstraint("id", name="pk_traces"),
        UniqueConstraint("external_key", name="uq_traces_external_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_traces_status_id", "traces", ["status", "id"])
    op.create_index(
        "ix_traces_project_failure_cell_sufficiency_fraction_judge",
        "traces",
        ["project", "failure_cell", "sufficiency_fraction", "judge"],
    )
    op.create_index("ix_traces_failure_cell", "traces", ["failure_cell"])
    op.create_index("ix_traces_created_at", "traces", ["created_at"])


def _of_trace(name: str, *columns: Column[object], key: tuple[str, ...] = ("position",)) -> None:
    """Make a table whose rows belong to a trace."""
    op.create_table(
        name,
        Column("trace_id", _COUNT, nullable=False),
        *(
            Column(part, String(16) if part == "judgement" else _COUNT, nullable=False)
            for part in key
        ),
        *columns,
        PrimaryKeyConstraint("trace_id", *key, name=f"pk_{name}"),
        ForeignKeyConstraint(
            ["trace_id"], ["traces.id"], ondelete="CASCADE", name=f"fk_{name}_trace_id"
        ),
        sqlite_with_rowid=name == "context_chunks",
    )


def _chunks() -> None:
    _of_trace(
        "context_chunks",
        Column("rank", _COUNT, nullable=False),
        Column("evidence_id", String(24)),
        Column("source", Text),
        Column("score", Double),
        Column("text", Text, nullable=False),
    )


def _pieces() -> None:
    _of_trace(
        "sub_questions",
        Column("sub_question_id", _COUNT, nullable=False),
        Column("text", Text, nullable=False),
    )
    _of_trace(
        "claims",
        Column("claim_id", _COUNT, nullable=False),
        Column("kind", String(16), nullable=False),
        Column("span_start", _COUNT, nullable=False),
        Column("span_end", _COUNT, nullable=False),
        Column("text", Text, nullable=False),
    )


def _judgement() -> tuple[Column[object], ...]:
    return (
        Column("verdict", String(1)),
        Column("reasoning", Text, nullable=False),
        Column("score", Double),
        Column("confidence", String(8)),
        Column("warnings", JSON, nullable=False),
        Column("problem", Text),
        Column("agreement", Double),
    )


def _judgements() -> None:
    _of_trace("sufficiency", Column("sub_question_id", _COUNT, nullable=False), *_judgement())
    _of_trace(
        "faithfulness",
        Column("claim_id", _COUNT, nullable=False),
        *_judgement(),
        Column("unsupported", JSON, nullable=False),
    )
    _of_trace(
        "grounding",
        Column("evidence_id", Text, nullable=False),
        key=("judgement", "judgement_position", "position"),
    )


def _completeness() -> None:
    _of_trace(
        "completeness",
        Column("reasoning", Text, nullable=False),
        Column("confidence", String(8)),
        Column("problem", Text),
        Column("agreement", Double),
        key=(),
    )
    _of_trace(
        "completeness_mappings",
        Column("sub_question_id", _COUNT, nullable=False),
        Column("claim_id", _COUNT),
        key=("position", "claim_position"),
    )
    _of_trace("completeness_extras", Column("claim_id", _COUNT, nullable=False))
