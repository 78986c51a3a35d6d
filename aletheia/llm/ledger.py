"""What calls cost, summed as they end: one sum for each model and purpose, whatever the number."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from queue import Empty, SimpleQueue
from typing import Final

from aletheia.errors import UsageError
from aletheia.schema.cost import Cost, known_sum
from aletheia.schema.model import Usage

_PICO: Final = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call.

    `error` is the class of the error it ended with, None for a reply. `cached` says that the
    reply came from the reply cache, `batched` that it came through a batch. `usd` is its price,
    None = not known. `purpose` is that of the prompt.
    """

    model: str
    usage: Usage
    seconds: float
    structured: str | None = None
    error: str | None = None
    cached: bool = False
    batched: bool = False
    purpose: str = "generate"
    usd: float | None = None
    base_url: str | None = None


def picodollars(usd: float) -> int:
    """Dollars as whole picodollars: sums of them are exact, in any order and after any refund."""
    return round(usd * _PICO)


def from_picodollars(pico: int) -> float:
    """Dollars of whole picodollars."""
    return pico / _PICO


@dataclass(slots=True)
class _Sums:
    """Running sums; the names are those of `Cost`, money is in picodollars."""

    calls: int = 0
    cached: int = 0
    batched: int = 0
    failed: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unreported: int = 0
    unpriced: int = 0
    pico: int = 0

    def count(self, record: CallRecord) -> None:
        usage = record.usage
        self.calls += 1
        self.cached += record.cached
        self.batched += record.batched
        self.failed += record.error is not None
        self.requests += usage.calls
        self.prompt_tokens += usage.prompt_tokens or 0
        self.completion_tokens += usage.completion_tokens or 0
        self.unreported += usage.prompt_tokens is None or usage.completion_tokens is None
        self.unpriced += record.usd is None
        self.pico += picodollars(record.usd or 0.0)

    def add(self, other: _Sums) -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))

    def cost(self) -> Cost:
        counts = {item.name: getattr(self, item.name) for item in fields(self)}
        pico = counts.pop("pico")
        usd = known_sum(
            from_picodollars(pico), calls=self.calls, cached=self.cached, unpriced=self.unpriced
        )
        return Cost(**counts, usd=usd)


@dataclass(frozen=True, slots=True)
class _Key:
    model: str
    purpose: str


class CallLedger:
    """Sums over the calls of one run. Safe to use from threads, and from a finalizer.

    It holds one sum for each pair of model and purpose, so its size does not grow with the run.
    With `keep_records` it keeps every call as well.
    """

    def __init__(self, *, keep_records: bool = False) -> None:
        self._kept: list[CallRecord] | None = [] if keep_records else None
        self._sums: dict[_Key, _Sums] = {}
        self._inbox: SimpleQueue[CallRecord] = SimpleQueue()
        self._lock = threading.Lock()

    def add(self, record: CallRecord) -> None:
        """Write one call down."""
        # The garbage collector may end a stream, and so get here, while this thread has the lock.
        # Who has it, or who reads next, takes over what is left in the queue.
        self._inbox.put(record)
        if self._lock.acquire(blocking=False):
            try:
                self._take_over()
            finally:
                self._lock.release()

    @property
    def records(self) -> tuple[CallRecord, ...]:
        """All calls in the order in which they ended. Raises `UsageError` if they are not kept."""
        if self._kept is None:
            raise UsageError(
                "this ledger keeps sums only",
                hint="`CallLedger(keep_records=True)` keeps the calls",
            )
        with self._reading():
            return tuple(self._kept)

    def totals(self, model: str | None = None, *, purpose: str | None = None) -> Cost:
        """Sum all calls, or those of one model, of one purpose, or of both."""
        with self._reading():
            return _summed(
                sums
                for key, sums in self._sums.items()
                if model in (None, key.model) and purpose in (None, key.purpose)
            )

    def by_model(self) -> dict[str, Cost]:
        """Sums for each model, sorted by name."""
        return self._grouped(lambda key: key.model)

    def by_purpose(self) -> dict[str, Cost]:
        """Sums for each purpose, sorted by name."""
        return self._grouped(lambda key: key.purpose)

    def reset(self) -> None:
        """Forget all calls."""
        with self._reading():
            self._sums.clear()
            if self._kept is not None:
                self._kept.clear()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            self._take_over()
            yield

    def _take_over(self) -> None:
        with suppress(Empty):
            while True:
                record = self._inbox.get_nowait()
                key = _Key(record.model, record.purpose)
                self._sums.setdefault(key, _Sums()).count(record)
                if self._kept is not None:
                    self._kept.append(record)

    def _grouped(self, name_of: Callable[[_Key], str]) -> dict[str, Cost]:
        with self._reading():
            groups: dict[str, list[_Sums]] = {}
            for key, sums in self._sums.items():
                groups.setdefault(name_of(key), []).append(sums)
            return {name: _summed(groups[name]) for name in sorted(groups)}


def _summed(several: Iterable[_Sums]) -> Cost:
    total = _Sums()
    for sums in several:
        total.add(sums)
    return total.cost()
