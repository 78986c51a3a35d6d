"""How Alembic runs the scripts: on the connection it is given, and on tables of ours only."""

from __future__ import annotations

from alembic import context

from aletheia.store.tables import METADATA, VERSION_TABLE


def is_ours(name: str | None, kind: str, parents: object) -> bool:  # noqa: ARG001
    """Whether a comparison looks at it: the reply cache and others share the database."""
    return kind != "table" or name in METADATA.tables


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    include_name=is_ours,
)
with context.begin_transaction():
    context.run_migrations()
