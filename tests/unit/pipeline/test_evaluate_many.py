"""Many traces: each its own row, whatever it meets; counts that no missing verdict improves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from unit.judges.scripts import changed, good_reply, isolated, scripted, trace

from aletheia.errors import BudgetExceeded, ConfigError, DataError, ModelUnavailable, StoreError
from aletheia.judges.base import Judges
from aletheia.llm.scripted import Line
from aletheia.pipeline.evaluate_many import ManyOptions, TraceItem, TraceOutcome, evaluate_many
from aletheia.pipeline.evaluate_totals import (
    EvaluateTotals,
    run_items,
    summary_json,
    summary_lines,
)
from aletheia.pipeline.judge_setup import diagnose_options
from aletheia.pipeline.row_journal import RowJournal
from aletheia.schema.model import Prompt

UNITS = ("The mill opened in 1911.", "The mill has a red roof.")


def item(
    line: int, response: str = UNITS[0], query: str | None = "The mill opened when?"
) -> TraceItem:
    return TraceItem(line=line, id=f"t{line}", case=trace(response, *UNITS, query=query))


def options(judges: Judges | None = None, **values: Any) -> ManyOptions:
    return ManyOptions(
        judges=judges or isolated(scripted(good_reply)), diagnose=diagnose_options(), **values
    )


def run(
    items: Any, chosen: ManyOptions, totals: EvaluateTotals | None = None
) -> tuple[list[TraceOutcome], str | None]:
    found: list[TraceOutcome] = []

    def commit(outcome: TraceOutcome) -> None:
        found.append(outcome)
        if totals is not None:
            totals.add(outcome)

    async def go() -> str | None:
        return await evaluate_many(items, chosen, commit=commit)

    return found, anyio.run(go)


def raising(error: Exception) -> Callable[[Prompt], Line]:
    def say(prompt: Prompt) -> Line:
        if "POISON" in prompt.user:
            raise error
        return good_reply(prompt)

    return say


# --- one trace, one row -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), StoreError("no disk"), DataError("odd"), ModelUnavailable("x")]
)
@pytest.mark.parametrize("limit", [1, 3])
def test_whatever_one_trace_meets_is_its_own_row(error: Exception, limit: int) -> None:
    """Field case 154: an error does not stick to later rows."""
    judges = isolated(scripted(raising(error)))
    found, stopped = run(
        [item(1), item(2, "The mill: POISON."), item(3)], options(judges, concurrency=limit)
    )

    assert stopped is None
    assert {outcome.line: bool(outcome.failed) for outcome in found} == {
        1: False,
        2: True,
        3: False,
    }
    assert [outcome.again for outcome in sorted(found, key=lambda one: one.line)] == [
        False,
        True,
        False,
    ]


def test_a_wrong_setting_ends_the_run() -> None:
    judges = isolated(scripted(raising(ConfigError("half a price"))))
    with pytest.raises(ConfigError):
        run([item(1, "POISON")], options(judges))


def test_a_bad_line_is_a_row_that_is_not_judged_again() -> None:
    found, _ = run([TraceItem(line=4, id="x", error="f:4: broken")], options())

    assert found[0].row["errors"] == {"input": "f:4: broken"}
    assert (found[0].row["id"], found[0].again) == ("x", False)


def test_a_trace_that_could_cost_too_much_is_a_row_and_nothing_is_called() -> None:
    model = scripted(good_reply)

    def guard(_case: object) -> None:
        raise BudgetExceeded(2.0, 1.0)

    found, _ = run([item(1)], options(isolated(model), guard=guard))
    assert (list(found[0].row["errors"]), model.history) == (["budget"], [])


def test_a_trace_that_takes_too_long_is_unmeasured() -> None:
    class Sleeper:
        name = "sleeper"

        async def complete(self, prompt: Prompt) -> Any:
            await anyio.sleep(60)

    found, _ = run([item(1)], options(isolated(Sleeper()), row_timeout_s=0.05))  # type: ignore[arg-type]
    assert list(found[0].row["errors"]) == ["timeout"]


def test_items_are_drawn_one_by_one() -> None:
    """Field case 164: of a long file nothing is held but what is under way."""
    drawn: list[int] = []
    ahead: list[int] = []

    def lines() -> Iterator[TraceItem]:
        for number in range(1, 30):
            drawn.append(number)
            yield item(number)

    async def go() -> None:
        done = 0

        def commit(_outcome: TraceOutcome) -> None:
            nonlocal done
            done += 1
            ahead.append(len(drawn) - done)

        await evaluate_many(lines(), options(concurrency=3), commit=commit)

    anyio.run(go)
    assert max(ahead) <= 3


# --- counts -----------------------------------------------------------------------------------


def no_faithfulness(prompt: Prompt) -> Line:
    return "{}" if prompt.schema_name == "faithfulness" else good_reply(prompt)


def test_a_missing_verdict_lowers_the_worst_case_and_never_raises_the_rate() -> None:
    """Field case 23: 1 of 1 evaluated is healthy, and of 2 judged it may be 1 or 2."""
    totals = EvaluateTotals()
    run([item(1)], options(), totals)
    run([item(2)], options(isolated(scripted(no_faithfulness))), totals)
    healthy = totals.rates.healthy

    assert (healthy.rate.numerator, healthy.rate.denominator, healthy.total) == (1, 1, 2)
    assert (healthy.low, healthy.high) == (0.5, 1.0)
    assert (totals.failed, totals.exit_code) == (1, 2)
    text = "\n".join(summary_lines(totals))
    assert "1 of 1" in text
    assert "50% at worst, 100% at best" in text
    assert "1 of 2 traces" in text


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([], 1),
        ([TraceItem(line=1, error="bad")], 1),
        ([item(1)], 0),
        ([item(1, query=None)], 0),
        ([item(1, "")], 0),
        ([item(1), TraceItem(line=2, error="bad")], 2),
    ],
)
def test_one_counter_gives_summary_and_exit_status(items: list[TraceItem], code: int) -> None:
    """Field case 29."""
    totals = EvaluateTotals()
    run(items, options(), totals)

    assert (totals.exit_code, summary_json(totals)["exit_code"]) == (code, code)
    assert totals.lines == len(items) == totals.records + totals.bad


def test_a_tentative_cell_is_none_where_only_confident_ones_count() -> None:
    from aletheia.pipeline.judge_setup import embedded_judges

    hard = item(1, "The mill, which belongs to the town, started work long before the war.")
    for confident, code in ((False, 0), (True, 2)):
        totals = EvaluateTotals(confident_only=confident)
        found, _ = run([hard], options(embedded_judges()), totals)
        assert found[0].row["tentative"] is True
        assert totals.exit_code == code
        assert totals.rates.evaluated == (0 if confident else 1)


def test_over_refusals_are_shown() -> None:
    totals = EvaluateTotals()
    run([item(1, "INSUFFICIENT_CONTEXT")], options(), totals)

    assert totals.rates.over_refusal.rate.numerator == 1
    assert totals.rates.healthy.rate.numerator == 0


def test_ids_that_stand_twice_are_counted() -> None:
    totals = EvaluateTotals()
    twice = TraceItem(line=2, id="t1", case=item(1).case)
    run([item(1), twice, TraceItem(line=3, case=item(1).case)], options(), totals)
    assert totals.repeated == 1


# --- stopping ---------------------------------------------------------------------------------


def test_a_judge_that_says_nonsense_does_not_stop_the_run() -> None:
    """Only calls that fail speak of the provider."""
    judges = isolated(scripted(changed(lambda entry: None)))
    found, stopped = run([item(n) for n in range(1, 9)], options(judges, stop_after=3))

    assert stopped is None
    assert all(outcome.row["failure_cell"] is None for outcome in found)


# --- the journal ------------------------------------------------------------------------------

PRINT = {"data": "sha256:1"}


def test_rows_come_back_in_order_and_a_later_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "out.partial"
    with RowJournal.create(path, PRINT) as journal:
        journal.append(3, b'{"n": 3}\n', again=True)
        journal.append(1, b'{"n": 1}\n', again=False)
        journal.append(3, b'{"n": 33}\n', again=False)

        assert (journal.rows, journal.unfinished) == (2, 0)
        journal.write_to(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b'{"n": 1}\n{"n": 33}\n'


@pytest.mark.parametrize("torn", [b"", b"2", b"2 done", b'2 done {"n'])
def test_a_torn_last_line_is_dropped_and_judged_again(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "out.partial"
    with RowJournal.create(path, PRINT) as journal:
        journal.append(1, b'{"n": 1}\n', again=False)
    path.write_bytes(path.read_bytes() + torn)

    journal, fingerprint = RowJournal.reopen(path)
    with journal:
        assert (fingerprint, journal.is_done(1), journal.is_done(2)) == (PRINT, True, False)
        journal.append(2, b'{"n": 2}\n', again=False)
        assert list(journal.in_order()) == [b'{"n": 1}\n', b'{"n": 2}\n']


@pytest.mark.parametrize("content", [b"", b"{}\n", b"x\n", b'{"kind": "rows", "version": 9}\n'])
def test_what_is_no_journal_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "out.partial"
    path.write_bytes(content)
    with pytest.raises(DataError, match="no header"):
        RowJournal.reopen(path)


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "out.partial"
    with RowJournal.create(path, PRINT), pytest.raises(StoreError, match="another run"):
        RowJournal.create(path, PRINT)
    assert path.read_bytes() != b""


def test_rows_of_an_earlier_run_are_counted_and_not_judged(tmp_path: Path) -> None:
    from aletheia.sdk.records import to_line

    first, _ = run([item(1)], options())
    model = scripted(good_reply)
    totals = EvaluateTotals()
    with RowJournal.create(tmp_path / "p", PRINT) as journal:
        journal.append(1, to_line(dict(first[0].row)), again=False)
        items = run_items([item(1), item(2)], totals, journal)
        found, _ = run(items, options(isolated(model)), totals)

    assert [outcome.line for outcome in found] == [2]
    assert (totals.lines, totals.resumed, totals.rates.healthy.rate.numerator) == (2, 1, 2)
