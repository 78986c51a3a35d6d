"""A run through the Batch API: the ordinary pipeline in rounds, until a round asks nothing new.

In a round the pipeline runs with models that answer from what earlier batches brought and collect
what is missing. Then all that was collected goes out as batches. A run of two dependent calls for
each question takes two batches and three rounds, the last of which has every reply.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from aletheia.errors import ConfigError, DataError, ModelError, ModelRefused
from aletheia.llm.base import EndpointIdentity
from aletheia.llm.batch import CollectingModel, Collector, Wanted, chunks
from aletheia.llm.batch_cost import BatchCost
from aletheia.llm.batch_results import BatchResults
from aletheia.llm.batch_status import BatchStatus
from aletheia.llm.ledger import CallLedger, CallRecord
from aletheia.llm.openai_batch import BatchClient
from aletheia.llm.openai_wire import Parameters, Shape
from aletheia.llm.pricing import Pricer
from aletheia.llm.tracking import record_call
from aletheia.pipeline.batch_state import BatchState, SentBatch
from aletheia.schema.report import RunCost

PENDING: Final = 75
"""Exit code of a run that waits for its batches: try again later, as in sysexits.h."""

CUT_SHORT: Final = 1
"""Exit code of a run with a batch that ended early."""

MAX_ROUNDS: Final = 100
"""More prompts in a row than this are not asked for one question: a pipeline that goes on makes
other prompts in every round."""

_FIRST_POLL_S: Final = 15.0
_LONGEST_POLL_S: Final = 120.0
_POLL_GROWTH: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Batches are under way. `submitted` says that they were made just now."""

    batches: tuple[BatchStatus, ...]
    submitted: bool = False
    exit_code: int = PENDING

    def lines(self) -> tuple[str, ...]:
        """Say it to a person: one line a batch, then how to go on."""
        told = tuple(str(batch) for batch in self.batches)
        return (*told, "it may take up to 24 hours: the same command with `--resume` looks again")


@dataclass(frozen=True, slots=True, kw_only=True)
class CutShort:
    """Batches ended before all their items were worked on; what they answered is kept."""

    batches: tuple[SentBatch, ...]
    reasons: tuple[str, ...]
    exit_code: int = CUT_SHORT

    def lines(self) -> tuple[str, ...]:
        """Say it to a person: one line a batch, then how to go on."""
        return (*self.reasons, "the same command with `--resume` sends what is left again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """A round asked nothing new: the pipeline has every reply.

    `cost` is what all batches of the run cost. `failed` prompts have an error instead. The pipeline is run once more, for its report, with the
    same models, and then the run is concluded.
    """

    cost: RunCost
    rounds: int
    failed: int


Outcome = Waiting | CutShort | Complete


def ignore(_text: str) -> None:
    """Say nothing."""


@dataclass(slots=True, kw_only=True)
class BatchRounds:
    """The rounds of one run over one endpoint.

    `say` is given sentences for a person as things happen, `ledgers` what batches cost. Money
    comes from `pricer` at the price of a batch; the budgets open at the time of the call hold.
    `sleep` and `new_token` are those of the process unless a test gives others.
    """

    state: BatchState
    client: BatchClient
    pricer: Pricer
    say: Callable[[str], None] = ignore
    ledgers: Sequence[CallLedger] = ()
    max_rounds: int = MAX_ROUNDS
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    new_token: Callable[[], str] = lambda: secrets.token_hex(16)
    _collector: Collector = field(default_factory=Collector)

    def __post_init__(self) -> None:
        for model, shape in self.state.shapes.items():
            self._collector.memory.learn((self.client.base_url, model), shape, shape)

    def model(
        self, identity: EndpointIdentity, *, parameters: Parameters | None = None
    ) -> CollectingModel:
        """Return a model for the pipeline, to be wrapped in the reply cache.

        `identity` and `parameters` are those of the adapter it stands in for.
        """
        return CollectingModel(identity, self.state, self._collector, parameters=parameters)

    async def advance(
        self, rehearse: Callable[[], Awaitable[object]], *, wait: bool = False
    ) -> Outcome:
        """Go on as far as possible: look at batches, fetch them, run rounds, make batches.

        `rehearse` runs the pipeline over all questions with the models of `model`; what it
        returns does not count, and it must not stop at errors. With `wait` the batches are waited
        for. Raises `ConfigError` (no Batch API), `BudgetExceeded` (nothing is sent), `DataError`
        (rounds without end) and `ModelError` (the endpoint fails; nothing is lost).
        """
        await self._recover()
        poll_s = _FIRST_POLL_S
        while True:
            waiting = await self._look()
            if waiting and not wait:
                return Waiting(batches=waiting)
            if waiting:
                for status in waiting:
                    self.say(str(status))
                await self.sleep(poll_s)
                poll_s = min(poll_s * _POLL_GROWTH, _LONGEST_POLL_S)
                continue
            if (cut := self._cut_short()) is not None:
                return cut
            wanted = await self._round(rehearse)
            if not wanted:
                return self._complete()
            made = await self._submit(wanted)
            if not wait:
                return Waiting(batches=made, submitted=True)
            poll_s = _FIRST_POLL_S

    def conclude(self, *, complete: bool) -> None:
        """End the run once its report is written.

        Where it is not `complete` the state stays, and `--resume` asks again what failed.
        """
        if complete:
            self.state.remove()
        else:
            self.state.finish()

    def _complete(self) -> Complete:
        failed = len(self._collector.failed)
        return Complete(cost=self.state.cost, rounds=self.state.rounds, failed=failed)

    # --- what is under way ---

    async def _recover(self) -> None:
        """Find out about batches that were being made when an earlier process ended."""
        for batch in [batch for batch in self.state.sent if batch.state == "intended"]:
            found = await self.client.find(batch.token)
            if found is None:
                self.state.withdraw(batch.token)
                self.say("a batch was not made before the run was stopped: it is collected again")
            else:
                self.state.made(batch.token, found.id)
                self.say(f"batch `{found.id}` was made before the run was stopped: it is used")

    async def _look(self) -> tuple[BatchStatus, ...]:
        """Look at the batches that are under way and keep what ended ones brought."""
        waiting = []
        for batch in [batch for batch in self.state.sent if batch.state == "made"]:
            status = await self.client.status(batch.id or "")
            if status.ended:
                await self._collect(batch, status)
            else:
                waiting.append(status)
        return tuple(waiting)

    async def _collect(self, batch: SentBatch, status: BatchStatus) -> None:
        results = await self.client.results(status, batch.items.keys(), shape=batch.shape)
        records = list(self._costs.records(batch.model, batch.shape, batch.items, results))
        self.state.collect(batch, str(status), results, _sums(records))
        # After the state: a call that is counted twice is worse than one counted by the state only.
        for record in records:
            record_call(record, *self.ledgers)
        for remark in results.remarks:
            self.say(remark)
        self.say(_told(status, results))

    def _cut_short(self) -> CutShort | None:
        untold = self.state.tell()
        reasons = tuple(batch.end or "" for batch in untold)
        return CutShort(batches=untold, reasons=reasons) if untold else None

    # --- a round ---

    async def _round(self, rehearse: Callable[[], Awaitable[object]]) -> tuple[Wanted, ...]:
        self._collector.begin()
        await rehearse()
        return tuple(self._collector.wanted.values())

    async def _submit(self, wanted: Sequence[Wanted]) -> tuple[BatchStatus, ...]:
        number = self.state.rounds + 1
        if number > self.max_rounds:
            raise DataError(
                f"after {self.max_rounds} rounds the pipeline still asks new questions",
                hint="its prompts must be the same in every round",
            )
        self._costs.require_room(wanted, self.state.cost.total.usd or 0.0)
        made = [await self._make(chunk, number) for chunk in chunks(wanted)]
        for status in made:
            self.say(f"round {number}: batch `{status.id}` was made")
        return tuple(made)

    async def _make(self, chunk: Sequence[Wanted], number: int) -> BatchStatus:
        """Make one batch, with the intention on the disk before."""
        token = self.new_token()
        first = chunk[0]
        items = {wanted.item: wanted.prompt.purpose for wanted in chunk}
        self.state.intend(
            SentBatch(token=token, round=number, model=first.model, shape=first.shape, items=items),
            self._shapes(),
        )
        try:
            status = await self.client.submit([wanted.request() for wanted in chunk], token)
        except (ModelRefused, ConfigError):
            self.state.withdraw(token)
            raise
        except ModelError as error:
            error.hint = "the same command with `--resume` finds out whether the batch was made"
            raise
        self.state.made(token, status.id)
        return status

    @property
    def _costs(self) -> BatchCost:
        return BatchCost(pricer=self.pricer, base_url=self.client.base_url)

    def _shapes(self) -> dict[str, Shape]:
        return {model: shape for (_, model), shape in self._collector.memory.known().items()}


def _sums(records: Sequence[CallRecord]) -> RunCost:
    ledger = CallLedger()
    for record in records:
        ledger.add(record)
    whole = ledger.totals()
    return RunCost(
        total=whole, by_purpose=ledger.by_purpose(), by_model=ledger.by_model(), batches=whole
    )


def _told(status: BatchStatus, results: BatchResults) -> str:
    counts = [f"{len(results.bodies)} replies"]
    if results.failures:
        counts.append(f"{len(results.failures)} failures")
    if results.unanswered:
        counts.append(f"{len(results.unanswered)} not worked on")
    return f"batch `{status.id}` is {status.state}: {', '.join(counts)}"
