"""The classifier is total, and a missing verdict never makes a trace look better."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from unit.diagnosis.cases import alignment, faithfulness, pieces, sufficiency

from aletheia.diagnosis.classify import ClassifyOptions, classify
from aletheia.diagnosis.flags import cell_of
from aletheia.diagnosis.rates import trace_rates
from aletheia.diagnosis.suggest import suggest
from aletheia.schema.diagnosis import FailureCell

IDS = st.integers(0, 4)
LETTERS = "YNyn"


@st.composite
def measured(draw: st.DrawFn) -> dict[str, Any]:
    """A trace of which every item has a verdict, and every id exists."""
    sufficient = draw(st.text(LETTERS, min_size=1, max_size=3))
    faithful = draw(st.text(LETTERS, max_size=4))
    claims = range(len(faithful))
    extras = draw(st.sets(st.sampled_from(claims), max_size=2)) if faithful else set()
    useful = [claim for claim in claims if claim not in extras]
    some = st.lists(st.sampled_from(useful), unique=True, max_size=3) if useful else st.just([])
    covering = {item: draw(some) for item in range(len(sufficient))}
    return {
        "decomposition": pieces(len(sufficient), len(faithful)),
        "sufficiency": sufficiency(sufficient),
        "faithfulness": faithfulness(faithful),
        "completeness": alignment(covering, sorted(extras), confidence=draw(st.sampled_from(["high", "low"]))),
        "abstained": not faithful and draw(st.booleans()),
        "options": ClassifyOptions(coverage=draw(st.sampled_from(["grounded", "topical"]))),
    }  # fmt: skip


@st.composite
def hostile(draw: st.DrawFn) -> dict[str, Any]:
    """Anything that fits the types: ids that do not exist, duplicates, failures, contradictions."""
    shuffled = draw(st.permutations(faithfulness(draw(st.text(LETTERS + "?", max_size=4)))))
    return {
        "decomposition": pieces(draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(st.integers(0, 2))),
        "sufficiency": sufficiency(draw(st.text(LETTERS + "?", max_size=4))),
        "faithfulness": (*shuffled, *shuffled[: draw(st.integers(0, 2))]),
        "completeness": draw(
            st.none()
            | st.just(alignment({}, problem="failed"))
            | st.builds(alignment, st.dictionaries(IDS, st.lists(IDS, max_size=3)), st.lists(IDS, max_size=3))
        ),
        "unmeasured": draw(st.sets(st.sampled_from(["sufficiency", "faithfulness", "completeness", "decompose_query", "decompose_response"]), max_size=2)),
        "abstained": draw(st.booleans()),
        "empty_response": draw(st.booleans()),
        "has_query": draw(st.booleans()),
        "has_evidence": draw(st.booleans()),
    }  # fmt: skip


def without(trace: dict[str, Any], metric: str, at: int, how: str) -> dict[str, Any]:
    """The same trace, of which one verdict is missing, or one whole judge."""
    if metric == "completeness":
        gone = None if how == "drop" else alignment({}, problem="failed")
        return {**trace, "completeness": gone}
    items = list(trace[metric])
    if how == "drop":
        del items[at % len(items)]
    elif how == "double":
        items.append(items[at % len(items)])
    else:
        broken = {"verdict": None, "problem": "failed", "evidence_ids": (), "confidence": None}
        items[at % len(items)] = items[at % len(items)].model_copy(update=broken)
    return {**trace, metric: tuple(items)}


LOSSES = st.tuples(
    st.sampled_from(["sufficiency", "faithfulness", "completeness"]),
    st.integers(0, 3),
    st.sampled_from(["drop", "fail", "double"]),
)


@given(hostile())
def test_classify_is_total(trace: dict[str, Any]) -> None:
    """Every outcome has a diagnosis: a cell, or problems that say why there is none."""
    found = classify(**trace)

    assert (found.failure_cell is None) == bool(found.problems)
    assert found.failure_cell in (None, cell_of(found.flags))
    assert (suggest(found) is None) == (found.failure_cell is None)
    assert 0 <= (found.sufficiency_fraction or 0) <= 1
    trace_rates([found])


@given(measured())
def test_a_measured_trace_has_a_cell_and_a_level(trace: dict[str, Any]) -> None:
    found = classify(**trace)

    assert found.failure_cell is not None
    assert found.sufficiency_level is not None
    assert (found.problems, found.n_unmeasured) == ((), 0)


@given(measured(), LOSSES)
def test_a_missing_verdict_turns_no_flag_over(
    trace: dict[str, Any], loss: tuple[str, int, str]
) -> None:
    """It leaves a flag as it was or makes it unknown; a trace with a gap has no cell, no level."""
    if loss[0] == "faithfulness" and not trace["faithfulness"]:
        return
    if loss[0] == "completeness" and not trace["faithfulness"]:
        return  # without claims nothing is covered, and no judge is needed to say so
    whole, partial = classify(**trace), classify(**without(trace, *loss))

    assert partial.failure_cell is None
    for name, known in whole.flags:
        assert getattr(partial.flags, name) in (None, known)
    assert partial.completeness in (None, whole.completeness)
    assert partial.sufficiency_level in (None, whole.sufficiency_level)
    assert partial.sufficiency_level is None or loss[0] != "sufficiency"


@given(st.lists(st.tuples(measured(), st.none() | LOSSES), min_size=1, max_size=5))
def test_missing_verdicts_only_widen_the_range_of_a_rate(
    rows: list[tuple[dict[str, Any], tuple[str, int, str] | None]],
) -> None:
    whole = [classify(**trace) for trace, _ in rows]
    partial = [
        classify(**(without(trace, *loss) if loss and trace["faithfulness"] else trace))
        for trace, loss in rows
    ]
    before, after = trace_rates(whole), trace_rates(partial)

    for name in ("healthy", "adjusted", "honest_abstention", "over_refusal"):
        known, left = getattr(before, name), getattr(after, name)
        assert known.low == known.high
        assert left.low <= known.low <= left.high
        assert left.total == known.total


@given(measured(), st.randoms())
def test_the_order_of_items_does_not_matter(trace: dict[str, Any], shuffler: Any) -> None:
    def mixed(values: Any) -> tuple[Any, ...]:
        found = list(values)
        shuffler.shuffle(found)
        return tuple(found)

    cut, completeness = trace["decomposition"], trace["completeness"]
    again = {
        **trace,
        "decomposition": cut.model_copy(
            update={"claims": mixed(cut.claims), "sub_questions": mixed(cut.sub_questions)}
        ),
        "sufficiency": mixed(trace["sufficiency"]),
        "faithfulness": mixed(trace["faithfulness"]),
        "completeness": completeness.model_copy(
            update={"alignments": mixed(completeness.alignments), "extras": mixed(completeness.extras)}
        ),
    }  # fmt: skip

    assert classify(**again) == classify(**trace)


@given(measured(), st.integers(0, 3))
def test_better_verdicts_never_make_a_worse_cell(trace: dict[str, Any], at: int) -> None:
    """Turning one claim from unsupported to supported adds no fault."""
    items = list(trace["faithfulness"])
    if not items:
        return
    better = {"verdict": "Y", "evidence_ids": ("E1",)}
    items[at % len(items)] = items[at % len(items)].model_copy(update=better)
    before, after = classify(**trace), classify(**{**trace, "faithfulness": tuple(items)})

    assert after.flags.ungrounded <= before.flags.ungrounded
    assert after.flags.missing <= before.flags.missing
    if before.failure_cell is FailureCell.COMPLETE_GROUNDED:
        assert after.failure_cell is FailureCell.COMPLETE_GROUNDED


@given(measured())
def test_tentative_is_exactly_what_another_reading_would_change(trace: dict[str, Any]) -> None:
    """The two tries of the classifier agree with trying every combination."""
    found = classify(**trace)
    low = [
        (metric, at)
        for metric in ("sufficiency", "faithfulness")
        for at, item in enumerate(trace[metric])
        if item.confidence == "low"
    ]
    cells = set()
    for choice in range(2 ** len(low)):
        tried = {
            "sufficiency": list(trace["sufficiency"]),
            "faithfulness": list(trace["faithfulness"]),
        }
        for bit, (metric, at) in enumerate(low):
            yes = choice >> bit & 1
            update = {"verdict": "Y" if yes else "N", "evidence_ids": ("E1",) if yes else ()}
            tried[metric][at] = tried[metric][at].model_copy(update=update)
        cells.add(classify(**{**trace, **{k: tuple(v) for k, v in tried.items()}}).failure_cell)

    doubtful = trace["completeness"].confidence == "low" and bool(trace["faithfulness"])
    assert found.tentative is (len(cells) > 1 or doubtful)
