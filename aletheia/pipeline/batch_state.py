"""The state of a batch run: one JSON file in the output directory, always whole.

What is paid for is on the disk before anything else happens: that a batch is about to be made,
before it is; what a batch brought, before the pipeline reads it. The name of the file follows from
what the run is, so the same command finds it again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aletheia.errors import DataError, StoreError, UsageError
from aletheia.llm.batch import Held
from aletheia.llm.batch_results import BatchResults, ItemFailure
from aletheia.llm.openai_wire import Shape
from aletheia.pipeline.journal import Fingerprint, differences
from aletheia.schema.report import RunCost

PREFIX: Final = "batch_"
SUFFIX: Final = ".state.json"
KIND: Final = "aletheia batch run"
VERSION: Final = 1

_WRONG: Final = (400, 422)

SentState = Literal["intended", "made", "collected", "cut_short"]
"""`cut_short` is a batch that ended before all its items were worked on."""


class SentBatch(BaseModel):
    """One batch of a run. `items` maps the ids of its items to the purpose of each call.

    `id` is None while it is not known whether the batch was made. `end` is the endpoint's own word
    for how it ended, `told` whether the user was told of a batch that was cut short.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str
    id: str | None = None
    round: int = Field(ge=1)
    model: str
    shape: Shape
    items: dict[str, str]
    state: SentState = "intended"
    end: str | None = None
    told: bool = False


class Document(BaseModel):
    """The file as a whole. `rounds` counts those that sent something."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["aletheia batch run"] = KIND
    version: Literal[1] = VERSION
    fingerprint: dict[str, str]
    rounds: int = Field(default=0, ge=0)
    sent: tuple[SentBatch, ...] = ()
    held: dict[str, Held] = {}
    failures: dict[str, ItemFailure] = {}
    shapes: dict[str, Shape] = {}
    cost: RunCost = RunCost()
    finished: bool = False


class BatchState:
    """The open state of one run, locked against other batch runs in the same directory.

    It is the `AnswerBook` of the run's models. Use it as a context manager. Every change is on the
    disk when the method returns; raises `StoreError` where it cannot be written.
    """

    def __init__(self, path: Path, document: Document, lock: int) -> None:
        self.path: Final = path
        self._document = document
        self._lock = lock

    @classmethod
    def open(cls, directory: Path, fingerprint: Fingerprint, *, resume: bool) -> Self:
        """Begin a batch run, or with `resume` go on with the one that has this fingerprint.

        Raises `UsageError` where a run would be begun twice, and paid for twice; `DataError`
        where there is nothing to resume or the file is damaged; `StoreError` where another
        process is at work.
        """
        path = directory / state_name(fingerprint)
        lock = _locked(directory)
        try:
            document = _opened(path, fingerprint, resume=resume)
        except BaseException:
            os.close(lock)
            raise
        made = cls(path, document, lock)
        if resume and document.finished:
            made.ask_failures_again()
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give up the lock; a file that holds nothing is removed."""
        if not self._document.sent:
            self.remove()
        os.close(self._lock)

    def remove(self) -> None:
        """Delete the file: the report holds everything now."""
        self.path.unlink(missing_ok=True)

    # --- what the models ask ---

    def held(self, item: str) -> Held | None:
        """Return the completion of an item, if there is one."""
        return self._document.held.get(item)

    def failed(self, item: str) -> ItemFailure | None:
        """Return why an item has no completion, if that is known."""
        return self._document.failures.get(item)

    # --- what the rounds ask ---

    @property
    def cost(self) -> RunCost:
        """What all batches so far cost, each item counted once."""
        return self._document.cost

    @property
    def rounds(self) -> int:
        """Rounds that sent something."""
        return self._document.rounds

    @property
    def failures(self) -> Mapping[str, ItemFailure]:
        """Items that have no completion, and why."""
        return self._document.failures

    @property
    def sent(self) -> tuple[SentBatch, ...]:
        """All batches, in the order in which they were made."""
        return self._document.sent

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """By model, in what shape it was found to accept requests."""
        return self._document.shapes

    def intend(self, batch: SentBatch, shapes: Mapping[str, Shape]) -> None:
        """Write down that a batch is about to be made, and what is known of its models."""
        rounds = max(self._document.rounds, batch.round)
        # An item that is asked in another way has not failed yet.
        failures = _without(self._document.failures, batch.items)
        sent = (*self._document.sent, batch)
        self._update(sent=sent, rounds=rounds, failures=failures, shapes=dict(shapes))

    def made(self, token: str, batch_id: str) -> None:
        """Write down that a batch was made."""
        self._change(token, id=batch_id, state="made")

    def withdraw(self, token: str) -> None:
        """Forget a batch that was not made."""
        sent = tuple(batch for batch in self._document.sent if batch.token != token)
        self._update(sent=sent)

    def collect(self, batch: SentBatch, end: str, results: BatchResults, cost: RunCost) -> None:
        """Keep what a batch brought, and what that cost; both or neither are on the disk."""
        document = self._document
        held = {item: Held(body=body, shape=batch.shape) for item, body in results.bodies.items()}
        self._change(
            batch.token,
            state="cut_short" if results.unanswered else "collected",
            end=end,
            rest={
                "held": {**document.held, **held},
                "failures": {**document.failures, **results.failures},
                "cost": document.cost + cost,
            },
        )

    def tell(self) -> tuple[SentBatch, ...]:
        """Return the batches that were cut short and not told of yet; they are told of now."""
        untold = tuple(b for b in self._document.sent if b.state == "cut_short" and not b.told)
        for batch in untold:
            self._change(batch.token, told=True)
        return untold

    def finish(self) -> None:
        """Write down that nothing is left to ask."""
        if self._document.sent and not self._document.finished:
            self._update(finished=True)

    def ask_failures_again(self) -> None:
        """Forget what failed, so that it is asked anew.

        A reply that came stays, and so does a request that was refused as wrong: the same one
        would be refused again.
        """
        kept = {
            item: failure
            for item, failure in self._document.failures.items()
            if failure.status in _WRONG
        }
        self._update(failures=kept, finished=False)

    def _change(
        self, token: str, *, rest: Mapping[str, object] | None = None, **values: object
    ) -> None:
        sent = tuple(
            batch.model_copy(update=values) if batch.token == token else batch
            for batch in self._document.sent
        )
        self._update(sent=sent, **(rest or {}))

    def _update(self, **values: object) -> None:
        document = self._document.model_copy(update=values)
        _write(self.path, document)
        self._document = document


def state_name(fingerprint: Fingerprint) -> str:
    """Return the name of the file for a run with this fingerprint."""
    text = json.dumps(sorted(fingerprint.items()))
    return f"{PREFIX}{hashlib.sha256(text.encode('ascii')).hexdigest()[:12]}{SUFFIX}"


def read_state(path: Path) -> Document:
    """Read the state of a batch run. Raises `DataError` for a file that is damaged or foreign."""
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"the state cannot be read: {error.strerror}", file=path) from None
    except (ValueError, RecursionError):
        raise _damaged("it is no JSON", path) from None
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise _damaged("it is no state of a batch run", path)
    if value.get("version") != VERSION:
        raise _damaged(
            f"it has version {value.get('version')!r}, this program reads {VERSION}", path
        )
    try:
        return Document.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _damaged(f"`{place}`: {first['msg']}", path) from None


def _damaged(what: str, path: Path) -> DataError:
    return DataError(
        f"the state of the batch run is damaged: {what}",
        file=path,
        hint="move it away to begin anew; batches that it names stay at the endpoint",
    )


def _opened(path: Path, fingerprint: Fingerprint, *, resume: bool) -> Document:
    document = read_state(path) if path.exists() else None
    if document is not None and document.fingerprint != dict(fingerprint):
        raise _damaged("its fingerprint is not that of its name", path)
    if resume and document is None:
        raise _nothing_to_resume(path.parent, fingerprint)
    if document is not None and not resume and not document.finished:
        raise UsageError(
            f"`{path}` is an unfinished batch run of the same kind",
            hint="`--resume` goes on with it; delete the file to pay for a new one",
        )
    begun = document if resume else None
    return begun or Document(fingerprint=dict(fingerprint))


def _nothing_to_resume(directory: Path, fingerprint: Fingerprint) -> DataError:
    others = sorted(directory.glob(f"{PREFIX}*{SUFFIX}"), key=lambda path: path.stat().st_mtime)
    if not others:
        return DataError(
            f"there is no unfinished batch run in `{directory}`", hint="run without `--resume`"
        )
    other = read_state(others[-1])
    return DataError(
        f"this batch run is another one: {'; '.join(differences(other.fingerprint, fingerprint))}",
        file=others[-1],
        hint="give the same options and files, or run without `--resume`",
    )


def _without(
    failures: Mapping[str, ItemFailure], items: Iterable[str]
) -> Mapping[str, ItemFailure]:
    dropped = set(items)
    return {item: failure for item, failure in failures.items() if item not in dropped}


def _locked(directory: Path) -> int:
    """Lock the directory and return its descriptor. Raises `StoreError`."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise StoreError(f"`{directory}` cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise StoreError(
            f"another batch run is at work in `{directory}`",
            hint="wait until it has ended, or give another `--output-dir`",
        ) from None
    except OSError:
        # A file system without locks: two resumes at once are then up to the user.
        return descriptor
    return descriptor


def _write(path: Path, document: Document) -> None:
    """Replace the file as a whole, down to the disk. Raises `StoreError`."""
    # ASCII escapes keep half a UTF-16 pair, which UTF-8 could not hold.
    text = json.dumps(_plain(document), ensure_ascii=True, allow_nan=False)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{PREFIX}", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(text.encode("ascii"))
                handle.flush()
                os.fsync(handle.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_directory(path.parent)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror}") from None


def _plain(document: Document) -> dict[str, Any]:
    return document.model_dump(mode="python")


def _sync_directory(directory: Path) -> None:
    """Make the new name itself last through a crash."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
