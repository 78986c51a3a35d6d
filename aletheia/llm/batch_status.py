"""What an endpoint shows of a batch, read sceptically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from aletheia.errors import ModelBadReply
from aletheia.llm.base import requests_only
from aletheia.llm.failures import redacted

TOKEN: Final = "aletheia_token"  # noqa: S105 - the name of a field, no secret
"""Name of the metadata field that holds the token of a batch."""

BatchState = Literal[
    "validating",
    "in_progress",
    "finalizing",
    "completed",
    "failed",
    "expired",
    "cancelling",
    "cancelled",
]

_STATES: Final[tuple[BatchState, ...]] = get_args(BatchState)
_ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """A batch as the endpoint shows it. `errors` say why its input file was not accepted."""

    id: str
    state: BatchState
    total: int = 0
    completed: int = 0
    failed: int = 0
    output_file_id: str | None = None
    error_file_id: str | None = None
    token: str | None = None
    errors: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in _ENDED

    def __str__(self) -> str:
        counts = f"{self.completed} of {self.total} requests done"
        failed = f", {self.failed} failed" if self.failed else ""
        why = f": {'; '.join(self.errors)}" if self.errors else ""
        return f"batch `{self.id}` is {self.state}, {counts}{failed}{why}"


def read_status(body: object) -> BatchStatus:
    """Read a batch as the endpoint shows it. Raises `ModelBadReply` for anything else."""
    fields = body if isinstance(body, Mapping) else {}
    batch_id = _text(fields.get("id"))
    state = next((known for known in _STATES if known == fields.get("status")), None)
    if batch_id is None or state is None:
        shown = redacted(str(body), None)[:80]
        raise ModelBadReply(f"this is no batch: {shown!r}", usage=requests_only(1))
    counts = fields.get("request_counts")
    counts = counts if isinstance(counts, Mapping) else {}
    metadata = fields.get("metadata")
    return BatchStatus(
        id=batch_id,
        state=state,
        total=_count(counts.get("total")),
        completed=_count(counts.get("completed")),
        failed=_count(counts.get("failed")),
        output_file_id=_text(fields.get("output_file_id")),
        error_file_id=_text(fields.get("error_file_id")),
        token=_text(metadata.get(TOKEN)) if isinstance(metadata, Mapping) else None,
        errors=_errors(fields.get("errors")),
    )


def read_page(page: object) -> tuple[tuple[BatchStatus, ...], bool]:
    """Read one page of the list of batches, and whether there are more.

    A batch in a form that is not known is left out: the list holds those of other programs too.
    """
    listed = page.get("data") if isinstance(page, Mapping) else None
    if not isinstance(page, Mapping) or not isinstance(listed, list):
        raise ModelBadReply("the list of batches is no list", usage=requests_only(1))
    readable = (_readable(item) for item in listed)
    return tuple(item for item in readable if item is not None), page.get("has_more") is True


def _readable(item: object) -> BatchStatus | None:
    try:
        return read_status(item)
    except ModelBadReply:
        return None


def _errors(errors: object) -> tuple[str, ...]:
    """Return the first complaints about the input file, and how many more there are."""
    listed = errors.get("data") if isinstance(errors, Mapping) else None
    items = [item for item in listed if isinstance(item, Mapping)] if listed else []
    told = [_error(item) for item in items[:_SHOWN]]
    more = len(items) - len(told)
    return (*told, *((f"and {more} more",) if more else ()))


def _error(item: Mapping[str, object]) -> str:
    line = f"line {item['line']}: " if isinstance(item.get("line"), int) else ""
    code = f" (`{item['code']}`)" if item.get("code") else ""
    return redacted(f"{line}{item.get('message') or 'no reason given'}{code}", None)


def _count(value: object) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count and isinstance(value, int) else 0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
