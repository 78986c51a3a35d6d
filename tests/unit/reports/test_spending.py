"""What a run cost, for a person: an unknown price or count is said and never shown as nothing."""

import pytest
from unit.reports.samples import CACHED, cost, costing, row, sample_report, sample_rows

from aletheia.reports.html import render_html
from aletheia.reports.spending import in_words, money_of, remarks
from aletheia.reports.tally import run_cost
from aletheia.reports.text import WIDTH, render_text
from aletheia.schema.cost import Cost, total
from aletheia.schema.report import DetailedResult, RunCost

UNKNOWN = cost(2, None)
PARTLY = cost(1, 0.5) + UNKNOWN


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Cost(), "$0"),
        (CACHED, "$0"),
        (cost(1, 0.00001), "<$0.0001"),
        (cost(1, 0.0123), "$0.0123"),
        (cost(1, 12.345), "$12.35"),
        (UNKNOWN, "not known"),
        (PARTLY, "≥ $0.5000"),
    ],
)
def test_money_is_exact_a_floor_or_not_known(given: Cost, expected: str) -> None:
    assert money_of(given) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (cost(), []),
        (CACHED, ["2 calls answered from the reply cache, at no cost."]),
        (UNKNOWN, ["2 calls have no known price."]),
        (PARTLY, ["2 calls have no known price, so the money is a floor."]),
        (cost(failed=1), ["1 call ended without a reply."]),
        (cost(batched=1), ["1 call went through a batch, at its price."]),
        (
            cost(2, 0.1, unreported=1),
            ["1 call reported no tokens, so the tokens are a floor."],
        ),
    ],
)
def test_what_the_figures_leave_out_is_said(given: Cost, said: list[str]) -> None:
    assert list(remarks(given)) == said


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Cost(), "no model was called"),
        (cost(2, 0.25), "2 calls, 600 tokens in, 80 out, $0.2500"),
        (CACHED, "2 calls (2 from the cache), 0 tokens in, 0 out, $0"),
        (
            cost(1, None, unreported=1, prompt_tokens=0, completion_tokens=0),
            "1 call, tokens not known, price not known",
        ),
    ],
)
def test_the_calls_of_one_question_fit_on_a_line(given: Cost, expected: str) -> None:
    assert in_words(given) == expected


def test_a_run_costs_what_its_rows_cost_by_purpose_and_by_model() -> None:
    found = run_cost(sample_rows())

    assert found.total == total(item.cost for item in sample_rows())
    assert found.by_purpose["metric"].calls == 3
    assert found.by_model["small-model"] == found.by_purpose["generate"]


def test_batches_are_in_the_sums_and_in_no_row() -> None:
    batch = Cost(calls=2, batched=2, requests=2, usd=0.25)
    batched = RunCost(
        total=batch, by_purpose={"metric": batch}, by_model={"judge": batch}, batches=batch
    )
    rows = run_cost(sample_rows())

    found = run_cost(sample_rows(), batched)

    assert found.batches == batch
    assert found.total == rows.total + batch
    assert found.by_purpose == {**rows.by_purpose, "metric": rows.by_purpose["metric"] + batch}
    assert found.by_model["judge"].batched >= 2
    with pytest.raises(ValueError, match="`batches` is more than `total`"):
        RunCost(total=cost(1), by_purpose={"m": cost(1)}, by_model={"m": cost(1)}, batches=batch)


def test_parts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="`by_purpose` does not add up"):
        RunCost(total=cost(2), by_purpose={"generate": cost(1)}, by_model={"m": cost(2)})
    with pytest.raises(ValueError, match="`cost_by_purpose` does not add up"):
        row("a", "b", "c", category="error", grounding_rejected=False, cost=cost())


def unknown_only() -> tuple[DetailedResult, ...]:
    return tuple(
        row(f"q{n}", "Where?", "here", category="error", grounding_rejected=False, **asked)
        for n, asked in enumerate([costing(generate=UNKNOWN), costing(metric=cost(5, None))])
    )


def test_an_unknown_price_is_never_shown_as_money() -> None:
    report = sample_report(unknown_only())

    for written in (render_text(report), render_html(report)):
        assert "not known" in written
        assert "$0" not in written


def test_text_stays_within_its_width_for_a_large_run() -> None:
    huge = costing(generate=cost(1_234_567, 98_765.43), metric=cost(9_999_999, 1234.5, unpriced=3))
    report = sample_report([row("a", "b", "c", category="error", grounding_rejected=False, **huge)])

    lines = render_text(report).splitlines()

    assert all(len(line) <= WIDTH for line in lines)
    assert any("≥ $99,999.93" in line for line in lines)


def test_a_run_without_models_has_no_table_of_calls() -> None:
    report = sample_report([row("a", "b", "c", category="error", grounding_rejected=False)])

    assert "Model calls" not in render_text(report)
    assert 'id="cost"' not in render_html(report)
