"""What the adapters share: how a run of somebody's pipeline becomes a trace that is logged.

An adapter watches and never takes part: nothing here raises into the pipeline that is watched.
What cannot be kept is counted by reason, and the first of each reason is logged as a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real
from threading import RLock
from typing import Final, Protocol

from aletheia.schema.trace import ContextChunk

__all__ = [
    "NO_QUERY",
    "NO_RESPONSE",
    "FinishedRun",
    "Record",
    "Recorder",
    "finite",
    "renumbered",
    "source_of",
]

_log = logging.getLogger(__name__)

NO_QUERY: Final = "not found in the input"
"""Value of the note `query` where nothing is known of what was asked."""

NO_RESPONSE: Final = "no response found in the output"
"""Why a run that ended is no trace."""

_SOURCE_KEYS: Final = ("source", "url", "file_path", "file_name", "path", "title", "id", "doc_id")


class Record(Protocol):
    """What keeps a trace: `aletheia.log`, or a function of the same form."""

    def __call__(
        self,
        query: str | None,
        context: Sequence[ContextChunk],
        response: str,
        *,
        source: str,
        external_id: str | None,
        notes: Mapping[str, str],
    ) -> object:
        """Keep one trace; what it returns is not read."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """One run from the question to the answer; `external_id` is its id where it ran."""

    query: str | None
    chunks: tuple[ContextChunk, ...]
    response: str
    external_id: str | None
    notes: Mapping[str, str] = field(default_factory=dict)


class Recorder:
    """Hands finished runs to `record` and counts what becomes of them. Safe from threads.

    `record` None = `aletheia.log`, looked up when the first run ends.
    """

    __slots__ = ("_counts", "_lock", "_record", "_source")

    def __init__(self, source: str, record: Record | None = None) -> None:
        self._source = source
        self._record = record
        # A stream that is collected as garbage may end in the middle of our own work.
        self._lock = RLock()
        self._counts: dict[str, int] = {}

    @property
    def recorded(self) -> int:
        """How many traces were handed over."""
        return self._counts.get("", 0)

    @property
    def skipped(self) -> Mapping[str, int]:
        """Why runs are no traces, and how many each."""
        with self._lock:
            counts = dict(self._counts)
        return {reason: count for reason, count in counts.items() if reason}

    def keep(self, run: FinishedRun) -> None:
        """Record one run. Never raises."""
        try:
            record = self._record or _default()
            record(
                run.query,
                run.chunks,
                run.response,
                source=self._source,
                external_id=run.external_id,
                notes=run.notes,
            )
        except Exception as error:  # noqa: BLE001 - the border to somebody's running pipeline
            self.skip("it could not be logged", f"{type(error).__name__}: {error}")
        else:
            self._count("")

    def skip(self, reason: str, detail: str = "", *, expected: bool = False) -> None:
        """Count a run that is no trace; an `expected` one is not worth a warning."""
        first = self._count(reason) == 1
        level = logging.WARNING if first and not expected else logging.DEBUG
        _log.log(level, "a %s run is no trace: %s", self._source, f"{reason} {detail}".strip())

    def _count(self, reason: str) -> int:
        with self._lock:
            self._counts[reason] = self._counts.get(reason, 0) + 1
            return self._counts[reason]


def _default() -> Record:
    from aletheia.sdk.log import log

    return log


def renumbered(parts: Sequence[Sequence[ContextChunk]]) -> tuple[ContextChunk, ...]:
    """Join retrievals into one context, ranks from 0 in their order."""
    chunks = [chunk for part in parts for chunk in part]
    return tuple(
        chunk if chunk.rank == rank else chunk.model_copy(update={"rank": rank})
        for rank, chunk in enumerate(chunks)
    )


def source_of(metadata: object, otherwise: object = None) -> str | None:
    """Find where a document came from in its metadata; `otherwise` is its id."""
    values: list[object] = []
    if isinstance(metadata, Mapping):
        values = [metadata.get(key) for key in _SOURCE_KEYS]
    named = (str(value) for value in (*values, otherwise) if isinstance(value, str | int))
    return next((value for value in named if value.strip()), None)


def finite(value: object) -> float | None:
    """Return a score as a float; None for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    number = float(value)
    return number if isfinite(number) else None
