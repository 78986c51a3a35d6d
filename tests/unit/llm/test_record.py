"""Ledgers: what was sent is counted, once, and takes no more room for it."""

from __future__ import annotations

import threading
import tracemalloc
from dataclasses import dataclass

import anyio
import pytest
from stub_server import Step, StubServer

from aletheia.errors import AletheiaError, ConfigError, ModelUnavailable, UsageError
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.pricing import Pricer
from aletheia.llm.record import CallLedger, CallRecord, RecordingModel, cached_call
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.llm.tracking import CostScope, record_call
from aletheia.schema.cost import Cost
from aletheia.schema.model import Prompt, Reply, Usage

PLAIN = Prompt(system="", user="hello", max_output_tokens=10)


@dataclass(frozen=True)
class Own:
    """A dollar for a token makes sums easy to read."""

    price_input_usd: float | None = 1e6
    price_output_usd: float | None = 1e6


def call(**values: object) -> CallRecord:
    given: dict[str, object] = {
        "model": "m",
        "usage": Usage(prompt_tokens=3, completion_tokens=2),
        "seconds": 0.1,
        "usd": 5.0,
    }
    return CallRecord(**{**given, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("records", "cost"),
    [
        ([], Cost()),
        ([call()], Cost(calls=1, requests=1, prompt_tokens=3, completion_tokens=2, usd=5.0)),
        (
            [call(usd=None)],
            Cost(calls=1, requests=1, prompt_tokens=3, completion_tokens=2, unpriced=1, usd=None),
        ),
        (
            [call(), call(usd=None)],
            Cost(calls=2, requests=2, prompt_tokens=6, completion_tokens=4, unpriced=1, usd=5.0),
        ),
        (
            [call(usage=Usage(prompt_tokens=3), usd=None, error="ModelUnavailable")],
            Cost(
                calls=1, failed=1, requests=1, prompt_tokens=3, unreported=1, unpriced=1, usd=None
            ),
        ),
        ([cached_call("m", purpose="judge")], Cost(calls=1, cached=1, usd=0.0)),
        (
            [call(batched=True, usage=Usage(prompt_tokens=1, completion_tokens=1, calls=3))],
            Cost(calls=1, batched=1, requests=3, prompt_tokens=1, completion_tokens=1, usd=5.0),
        ),
    ],
)
def test_the_sums_of_a_ledger(records: list[CallRecord], cost: Cost) -> None:
    ledger = CallLedger()
    for record in records:
        ledger.add(record)
    assert ledger.totals() == cost


def test_sums_are_by_model_and_purpose() -> None:
    ledger = CallLedger()
    for model, purpose in [("a", "judge"), ("a", "decompose"), ("b", "judge")]:
        ledger.add(call(model=model, purpose=purpose))

    assert ledger.totals("a").calls == 2
    assert ledger.totals("a", purpose="judge").calls == 1
    assert ledger.totals(purpose="judge").calls == 2
    assert ledger.totals("c") == Cost()
    assert {name: cost.calls for name, cost in ledger.by_model().items()} == {"a": 2, "b": 1}
    assert {name: cost.usd for name, cost in ledger.by_purpose().items()} == {
        "decompose": 5.0,
        "judge": 10.0,
    }
    ledger.reset()
    assert (ledger.totals(), ledger.by_model()) == (Cost(), {})


def test_money_adds_up_exactly_in_any_order() -> None:
    """A tenth, ten times, is one."""
    ledger = CallLedger()
    for _ in range(10):
        ledger.add(call(usd=0.1))
    assert ledger.totals().usd == 1.0


def test_records_are_kept_only_where_asked() -> None:
    keeping = CallLedger(keep_records=True)
    keeping.add(call(model="a"))
    keeping.add(call(model="b"))
    assert [item.model for item in keeping.records] == ["a", "b"]
    with pytest.raises(UsageError, match="sums only"):
        _ = CallLedger().records


def test_a_ledger_of_many_calls_is_as_small_as_one_of_few() -> None:
    ledger = CallLedger()

    def add(count: int) -> int:
        for _ in range(count):
            ledger.add(call())
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        few, many = add(100), add(10_000)
    finally:
        tracemalloc.stop()
    assert many - few < 10_000
    assert ledger.totals().calls == 10_100


def test_no_call_is_lost_between_threads() -> None:
    ledger = CallLedger()

    def work() -> None:
        for _ in range(500):
            ledger.add(call())
            assert ledger.totals().calls > 0

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.totals().calls == 4000
    assert ledger.totals().usd == 20_000.0


def test_a_record_that_comes_while_the_sums_are_read_is_not_lost() -> None:
    """As from a finalizer, which runs in a thread that may be inside the ledger already."""
    ledger = CallLedger()

    class Odd(str):
        """A model name that calls back while the ledger compares it."""

        __slots__ = ()
        seen = False

        def __eq__(self, other: object) -> bool:
            if not Odd.seen:
                Odd.seen = True
                ledger.add(call(model="late"))
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    ledger.add(call(model="first"))
    assert ledger.totals(Odd("first")).calls == 1
    assert ledger.totals().calls == 2


def test_one_call_counts_once_in_each_ledger() -> None:
    ledger = CallLedger()
    with CostScope() as scope:
        record_call(call(), ledger, ledger)
    assert (ledger.totals().calls, scope.calls) == (1, 1)


class TestRecordingModel:
    """Every try is written down, whatever becomes of it."""

    def run(
        self, line: Line, expected: type[AletheiaError] | None = None, pricer: Pricer | None = None
    ) -> CallRecord:
        ledger = CallLedger(keep_records=True)
        model = RecordingModel(
            ScriptedModel([line], name="asked"), ledger, pricer, base_url="http://x/v1"
        )
        if expected is None:
            anyio.run(model.complete, PLAIN)
        else:
            with pytest.raises(expected):
                anyio.run(model.complete, PLAIN)
        (record,) = ledger.records
        return record

    def test_a_reply(self) -> None:
        usage = Usage(prompt_tokens=2, completion_tokens=1)
        reply = Reply(text="x", model="other", usage=usage, structured="json_object")
        record = self.run(reply, pricer=Pricer(Own()))
        assert (record.model, record.usage, record.usd) == ("asked", usage, 3.0)
        assert (record.structured, record.purpose, record.base_url, record.error) == (
            "json_object",
            "generate",
            "http://x/v1",
            None,
        )

    def test_a_reply_through_a_batch_costs_half(self) -> None:
        usage = Usage(prompt_tokens=2, completion_tokens=2)
        reply = Reply(text="x", model="m", usage=usage, source="batch")
        record = self.run(reply, pricer=Pricer(Own()))
        assert (record.batched, record.usd) == (True, 2.0)

    def test_without_prices_there_is_none(self) -> None:
        assert self.run("x").usd is None

    def test_a_failure_costs_what_the_endpoint_said(self) -> None:
        usage = Usage(prompt_tokens=4, completion_tokens=0, calls=2)
        record = self.run(ModelUnavailable("down", usage=usage), ModelUnavailable, Pricer(Own()))
        assert (record.error, record.usage, record.usd) == ("ModelUnavailable", usage, 4.0)

    def test_a_failure_that_says_nothing_is_not_free(self) -> None:
        record = self.run(ModelUnavailable("down"), ModelUnavailable, Pricer(Own()))
        assert (record.usage, record.usd) == (Usage(), None)

    def test_what_was_never_sent_is_no_call(self) -> None:
        ledger = CallLedger()
        model = RecordingModel(ScriptedModel([ConfigError("no")]), ledger)
        with pytest.raises(ConfigError):
            anyio.run(model.complete, PLAIN)
        assert ledger.totals() == Cost()

    def test_a_cancelled_call_was_sent(self) -> None:
        ledger = CallLedger()

        async def cancelled(url: str) -> None:
            inner = OpenAIChatModel("gpt-4o-mini", base_url=url)
            model = RecordingModel(inner, ledger, Pricer(), base_url=url)
            with anyio.move_on_after(0.2):
                await model.complete(PLAIN)

        with StubServer([Step(text="late", delay=30.0)]) as server:
            anyio.run(cancelled, server.base_url)
        assert ledger.totals() == Cost(
            calls=1, failed=1, requests=1, unreported=1, unpriced=1, usd=None
        )
