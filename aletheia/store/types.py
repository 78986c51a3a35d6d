"""Column types: text, times and JSON that come back exactly as they went in, on every database."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from sqlalchemy import JSON, BigInteger, DateTime, Double, Integer, Text
from sqlalchemy.types import TypeDecorator

from aletheia.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

_ESCAPE: Final = "\x1a"
_NOT_HELD: Final = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED: Final = re.compile("\x1a([0-9a-f]{4})")


def escape(text: str) -> str:
    """Write what a database cannot hold as U+001A and four hex digits; `unescape` reads it.

    PostgreSQL holds no NUL, and nothing that is UTF-8 holds half a surrogate pair. U+001A itself
    is escaped too, so that no two texts are stored as one. All other text stays as it is.
    """
    if _NOT_HELD.search(text) is None:
        return text
    return _NOT_HELD.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    """Return the text that `escape` was given."""
    if _ESCAPE not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


class Verbatim(TypeDecorator[str]):
    """Any Python text, kept exactly."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Into the database."""
        return None if value is None else escape(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Out of the database."""
        return None if value is None else unescape(value)


class Instant(TypeDecorator[datetime]):
    """A time with a zone; UTC in the database, and when it is read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Into the database. Raises `UsageError` for a time without a zone."""
        if value is None:
            return None
        instant = utc(value)
        # SQLite keeps text without a zone.
        return instant.replace(tzinfo=None) if dialect.name == "sqlite" else instant

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Out of the database."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def utc(value: datetime) -> datetime:
    """Return the same instant in UTC. Raises `UsageError` for a time without a zone."""
    if value.tzinfo is None:
        raise UsageError(
            f"the time `{value.isoformat()}` has no zone",
            hint="give a time with a zone, such as `datetime.now(UTC)`",
        )
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"the time `{value.isoformat()}` cannot be told in UTC") from None


Count = BigInteger().with_variant(Integer, "sqlite")
"""A whole number of 64 bits; in SQLite it may be a primary key that counts by itself."""

Real: Double[float] = Double()
"""A float of 64 bits."""

Json = JSON(none_as_null=True)
"""A JSON value, written with `\\u` escapes: it holds any text. None is NULL."""
