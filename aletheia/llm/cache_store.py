"""Replies on disk: one SQLite table in the user's own database.

Every call is one short transaction, so that threads and processes share the file. Blocking calls
are made on the event loop itself: a hit takes a small part of a millisecond, less than handing it
to a thread would.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from aletheia.llm.base import EndpointIdentity, wire_text
from aletheia.llm.cache_file import Database, has_cache, shrink
from aletheia.llm.written import read_prompt, read_reply, to_json
from aletheia.schema.model import Prompt, Reply, Usage

if TYPE_CHECKING:
    import sqlite3

_log = logging.getLogger(__name__)

_PUT: Final = """
    INSERT INTO model_replies
        (key, provider, base_url, model, parameters, prompt, reply, tokens, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET
        prompt = excluded.prompt, reply = excluded.reply, tokens = excluded.tokens,
        created_at = excluded.created_at
"""
_GROUPS: Final = """
    SELECT provider, base_url, model, COUNT(*), SUM(hits), SUM(hits * COALESCE(tokens, 0)),
        SUM(CASE WHEN tokens IS NULL THEN hits ELSE 0 END)
    FROM model_replies GROUP BY provider, base_url, model ORDER BY COUNT(*) DESC, base_url, model
"""
_BATCH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheGroup:
    """What is kept of one model at one endpoint.

    `tokens_saved` sums what each hit would have cost again; `hits_unreported` hits are of replies
    whose endpoint reported no tokens, so with it above 0 the sum is a floor.
    """

    provider: str
    base_url: str
    model: str
    entries: int
    hits: int
    tokens_saved: int
    hits_unreported: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """What the cache holds. `size_bytes` is the whole file, other tables and its log included."""

    path: Path
    size_bytes: int
    groups: tuple[CacheGroup, ...]

    @property
    def entries(self) -> int:
        """Replies kept."""
        return sum(group.entries for group in self.groups)

    @property
    def hits(self) -> int:
        """Calls that were answered from the cache and not sent."""
        return sum(group.hits for group in self.groups)

    @property
    def tokens_saved(self) -> int:
        """Tokens those calls would have cost, as far as endpoints reported them."""
        return sum(group.tokens_saved for group in self.groups)

    @property
    def hits_unreported(self) -> int:
        """Hits that are not in `tokens_saved`."""
        return sum(group.hits_unreported for group in self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """One kept reply, with everything that led to it."""

    key: str
    identity: EndpointIdentity
    prompt: Prompt
    reply: Reply
    created_at: datetime

    def to_line(self) -> str:
        """Return it as one line of JSON, in ASCII."""
        fields: dict[str, object] = {
            "key": self.key,
            "endpoint": self.identity.base_url,
            "provider": self.identity.provider,
            "model": self.identity.model,
            "parameters": dict(self.identity.parameters),
            "prompt": asdict(self.prompt),
            "reply": asdict(self.reply),
            "created_at": self.created_at.isoformat(),
        }
        return to_json(fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedRow:
    """A row that cannot be read any more, and why."""

    key: str
    problem: str


class ReplyCache:
    """Replies by key in the SQLite file `path`, made with the object.

    Safe to use from threads and from several processes at once, after a fork too. Raises
    `StoreError` where the file cannot be opened, read or written, is no SQLite database, or was
    written by a newer version; `busy_timeout_s` is how long a write waits while others write.
    """

    def __init__(self, path: Path | str, *, busy_timeout_s: float = 10.0) -> None:
        self._database = Database(Path(path), busy_timeout_s=busy_timeout_s)
        self._uncounted: Counter[str] = Counter()
        with self._database.connected():
            pass

    @classmethod
    def existing(cls, path: Path | str) -> Self | None:
        """Open the cache in `path`, or return None where none was ever made; makes nothing."""
        return cls(path) if has_cache(Path(path)) else None

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def get(self, key: str) -> Reply | None:
        """Return the reply as one from the cache (no call, no tokens), or None.

        A row that cannot be read is reported in the log and counts as not there.
        """
        with self._database.connected() as connection:
            row = connection.execute(
                "SELECT reply FROM model_replies WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            try:
                reply = read_reply(loads(row[0]))
            except (TypeError, ValueError, RecursionError) as error:
                _log.warning("`%s`: the cached reply %s is damaged: %s", self.path, key, error)
                return None
            self._count(connection, key)
        return as_cached(reply)

    def put(self, key: str, identity: EndpointIdentity, prompt: Prompt, reply: Reply) -> None:
        """Keep a reply; one that was kept under this key before is replaced."""
        values = (
            key,
            *(wire_text(text) for text in (identity.provider, identity.base_url, identity.model)),
            to_json(dict(identity.parameters)),
            to_json(asdict(prompt)),
            to_json(asdict(reply)),
            _tokens(reply.usage),
            _written(datetime.now(UTC)),
        )
        with self._database.connected() as connection:
            connection.execute(_PUT, values)

    def stats(self) -> CacheStats:
        """Count what is there."""
        with self._database.connected() as connection:
            self._count_all(connection)
            groups = tuple(_group(row) for row in connection.execute(_GROUPS))
        return CacheStats(path=self.path, size_bytes=self._database.size_bytes, groups=groups)

    def clear(self, *, model: str | None = None, older_than: timedelta | None = None) -> int:
        """Remove replies of `model` that are older than `older_than`; None means any.

        Returns how many there were. The file shrinks, unless somebody else is using it just then.
        """
        name = None if model is None else wire_text(model)
        before = None if older_than is None else _written(datetime.now(UTC) - older_than)
        with self._database.connected() as connection:
            removed = connection.execute(
                "DELETE FROM model_replies WHERE (?1 IS NULL OR model = ?1)"
                " AND (?2 IS NULL OR created_at < ?2)",
                (name, before),
            ).rowcount
            if removed:
                shrink(connection)
        return removed

    def export(self) -> Iterator[StoredReply | DamagedRow]:
        """Give every reply, the first kept first; memory holds a few at a time."""
        last = 0
        while True:
            with self._database.connected() as connection:
                rows = connection.execute(
                    "SELECT id, key, provider, base_url, model, parameters, prompt, reply,"
                    " created_at FROM model_replies WHERE id > ? ORDER BY id LIMIT ?",
                    (last, _BATCH),
                ).fetchall()
            if not rows:
                return
            yield from map(_stored, rows)
            last = rows[-1][0]

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._database.close(self._count_all)

    def _count(self, connection: sqlite3.Connection, key: str) -> None:
        """Count a hit. A number is not worth waiting for: where others write, it is added later."""
        self._uncounted[key] += 1
        with self._database.not_waiting(connection):
            self._count_all(connection)

    def _count_all(self, connection: sqlite3.Connection) -> None:
        import sqlite3

        try:
            for key, hits in list(self._uncounted.items()):
                connection.execute(
                    "UPDATE model_replies SET hits = hits + ? WHERE key = ?", (hits, key)
                )
                del self._uncounted[key]
        except sqlite3.OperationalError as error:
            _log.debug("`%s`: hits are counted later: %s", self.path, error)


def as_cached(reply: Reply) -> Reply:
    """Return a reply as one that cost nothing."""
    usage = Usage(prompt_tokens=0, completion_tokens=0, calls=0, cached_prompt_tokens=0)
    return replace(reply, source="cache", usage=usage)


def _written(time: datetime) -> str:
    """A time as text that sorts by time."""
    return time.isoformat(timespec="microseconds")


def _tokens(usage: Usage) -> int | None:
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens


def _group(row: Sequence[Any]) -> CacheGroup:
    provider, base_url, model, *counts = row
    entries, hits, saved, unreported = (int(count) for count in counts)
    return CacheGroup(
        provider=str(provider),
        base_url=str(base_url),
        model=str(model),
        entries=entries,
        hits=hits,
        tokens_saved=saved,
        hits_unreported=unreported,
    )


def _stored(row: Sequence[Any]) -> StoredReply | DamagedRow:
    _, key, provider, base_url, model, parameters, prompt, reply, created_at = row
    try:
        return StoredReply(
            key=key,
            identity=EndpointIdentity(
                provider=provider,
                base_url=base_url,
                model=model,
                parameters=tuple(sorted(loads(parameters).items())),
            ),
            prompt=read_prompt(loads(prompt)),
            reply=read_reply(loads(reply)),
            created_at=datetime.fromisoformat(created_at),
        )
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        return DamagedRow(key=str(key), problem=str(error))
