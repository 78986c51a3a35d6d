"""What the store promises to those who write, claim, list and count."""

from __future__ import annotations

from datetime import timedelta

import pytest
from made_traces import NOW, given, result_of, trace

from aletheia.errors import StoreError, UsageError
from aletheia.schema.cost import Cost, total
from aletheia.schema.diagnosis import FailureCell, Flags
from aletheia.schema.stored import TraceFilter, TraceStatus
from aletheia.schema.trace import ContextChunk
from aletheia.store import TraceStore, open_store

PENDING, EVALUATED, FAILED = TraceStatus.PENDING, TraceStatus.EVALUATED, TraceStatus.FAILED
HEALTHY, GAP = FailureCell.COMPLETE_GROUNDED, FailureCell.INCOMPLETE_GROUNDED


def evaluated(store: TraceStore, *, trace_of: dict | None = None, **values: object) -> int:
    """Store a trace with a result, and return its id."""
    found = trace(**(trace_of or {}))
    (trace_id,) = store.add([found])
    store.save([(trace_id, result_of(found, **values))])
    return trace_id


def ids(found) -> list[int]:
    return [item.id for item in found]


# --- writing ----------------------------------------------------------------------------------


def test_ids_come_in_the_order_of_the_traces_and_grow(store: TraceStore):
    first = store.add([trace(query=str(n)) for n in range(5)])
    second = store.add([trace(query="last")])

    assert [store.get(trace_id).query for trace_id in first] == ["0", "1", "2", "3", "4"]
    assert list(first) == sorted(first)
    assert second[0] > first[-1]
    assert store.add([]) == ()


def test_an_external_id_that_is_known_replaces_the_trace_under_its_id(store: TraceStore):
    trace_id = evaluated(store, trace_of={"external_id": "line 1"})
    two = tuple(ContextChunk(text=f"chunk {n}", rank=n) for n in range(2))
    again = trace(
        external_id="line 1", query="Another?", chunks=two, source="import", created_at=NOW
    )

    assert store.add([again]) == (trace_id,)
    stored = store.get(trace_id)
    assert given(stored) == again
    assert (stored.status, stored.result, stored.attempts) == (PENDING, None, 0)
    assert store.count() == {PENDING: 1, EVALUATED: 0, FAILED: 0}


def test_an_external_id_is_one_of_its_project(store: TraceStore):
    one, other, none, none_too = store.add(
        [
            trace(project="a", external_id="b1"),
            trace(project="ab", external_id="1"),
            trace(project="a"),
            trace(project="a"),
        ]
    )

    assert len({one, other, none, none_too}) == 4
    assert store.find("a", "b1") == one
    assert store.find("b", "b1") is None


def test_of_two_traces_with_one_external_id_the_later_holds(store: TraceStore):
    first, second = store.add([trace(external_id="x"), trace(external_id="x", chunks=())])

    assert first == second
    assert store.get(first).chunks == ()


def test_a_second_result_replaces_all_of_the_first(store: TraceStore):
    trace_id = evaluated(store, errors={"completeness": "no reply"})
    found = given(store.get(trace_id))
    less = result_of(
        found,
        claims=(),
        sub_questions=(),
        sufficiency=(),
        faithfulness=(),
        completeness=None,
        failure_cell=None,
        sufficiency_fraction=None,
    )
    store.save([(trace_id, less)])

    assert store.get(trace_id).result == less.model_copy(update={"trace_id": trace_id})


def test_a_result_of_a_trace_that_changed_or_went_is_told_and_the_others_are_kept(
    store: TraceStore,
):
    gone, changed, there = store.add(
        [trace(), trace(external_id="e", created_at=NOW - timedelta(1)), trace()]
    )
    store.add([trace(external_id="e", response="It runs at 50 Hz.")])
    result = result_of(trace())

    with pytest.raises(StoreError, match="2 of 3 results were not kept") as caught:
        store.save([(gone + 100, result), (changed, result), (there, result)])

    assert f"there is no trace {gone + 100}" in str(caught.value)
    assert f"trace {changed} has another query or response" in str(caught.value)
    assert store.get(changed).status is PENDING
    assert store.get(there).status is EVALUATED


def test_a_failure_has_its_reason_until_the_trace_is_evaluated(store: TraceStore):
    (trace_id,) = store.add([trace()])
    store.claim(1, owner="me")
    store.fail(trace_id, "the endpoint said no\x00")
    stored = store.get(trace_id)

    assert (stored.status, stored.error) == (FAILED, "the endpoint said no\x00")
    assert store.claim(1, owner="me") == ()
    store.save([(trace_id, result_of(trace()))])
    assert (store.get(trace_id).status, store.get(trace_id).error) == (EVALUATED, None)


def test_a_late_failure_leaves_the_result_of_another(store: TraceStore):
    trace_id = evaluated(store)
    store.fail(trace_id, "the lease was over")

    assert store.get(trace_id).status is EVALUATED
    with pytest.raises(StoreError, match="there is no trace 999"):
        store.fail(999, "x")


def test_an_id_is_never_given_twice(store: TraceStore):
    *_, last = store.add([trace(created_at=NOW)] * 3)
    store.prune(until=NOW + timedelta(seconds=1))

    assert store.add([trace()])[0] > last


def test_work_of_one_caller_that_fails_leaves_no_part_behind(store: TraceStore):
    with pytest.raises(StoreError):
        store.add([trace(), trace(chunks=(ContextChunk(text="x", rank=2**70),))])

    assert sum(store.count().values()) == 0


# --- claims -----------------------------------------------------------------------------------


def test_claims_are_the_oldest_pending_and_never_shared(store: TraceStore):
    added = store.add([trace() for _ in range(5)])
    store.save([(added[0], result_of(trace()))])
    first = store.claim(2, owner="one")
    second = store.claim(9, owner="two")

    assert ids(first) == list(added[1:3])
    assert ids(second) == list(added[3:])
    assert {item.attempts for item in first + second} == {1}
    assert first[0].chunks == trace().chunks
    assert store.claim(9, owner="three") == ()


def test_a_claim_whose_lease_is_over_is_given_again(store: TraceStore):
    (trace_id,) = store.add([trace()])
    store.claim(1, owner="gone", lease_s=-1)

    (again,) = store.claim(1, owner="here")
    assert (again.id, again.attempts) == (trace_id, 2)


def test_a_claim_that_is_given_back_counts_as_none(store: TraceStore):
    added = store.add([trace(), trace()])
    store.claim(2, owner="me")
    store.release([added[0], 999])

    (again,) = store.claim(2, owner="you")
    assert (again.id, again.attempts) == (added[0], 1)


def test_only_what_the_filter_means_is_claimed(store: TraceStore):
    _, mine = store.add([trace(project="a"), trace(project="b")])

    assert ids(store.claim(5, owner="me", where=TraceFilter(project="b"))) == [mine]


def test_reopened_traces_are_pending_without_result_and_error(store: TraceStore):
    done = evaluated(store, trace_of={"project": "a"})
    broken, waiting, other = store.add([trace(project="a"), trace(project="a"), trace()])
    store.fail(broken, "no")
    store.fail(other, "no")
    store.claim(1, owner="me", where=TraceFilter(ids=(waiting,)))

    assert store.reopen(TraceFilter(project="a")) == 2
    for trace_id in (done, broken):
        stored = store.get(trace_id)
        assert (stored.status, stored.result, stored.error, stored.attempts) == (
            *(PENDING, None, None, 0),
        )
    assert store.get(waiting).attempts == 1
    assert store.get(other).status is FAILED
    assert store.reopen(TraceFilter(project="nothing")) == 0


# --- filters and lists ------------------------------------------------------------------------

MANY = TraceFilter(ids=tuple(range(1, 70_001)))


@pytest.fixture(scope="module")
def listed(new_place):
    """Five traces, one of each kind that filters tell apart; `listed[1]` are their ids."""
    with open_store(new_place()) as opened:
        day = {n: {"created_at": NOW + timedelta(days=n)} for n in range(5)}
        made = [
            evaluated(opened, trace_of={**day[0], "query": "Wie schnell ist die PUMPE in Övre?"}),
            evaluated(opened, trace_of={**day[1], "project": "b"}, failure_cell=GAP),
            evaluated(opened, trace_of={**day[2], "query": None}, failure_cell=None),
            *opened.add([trace(**day[3], response="100 % КРАСНЫЙ_ΑΒΓ\x00\x1a")]),
            *opened.add([trace(**day[4], project="b")]),
        ]
        opened.fail(made[4], "no reply")
        yield opened, made


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (TraceFilter(), [4, 3, 2, 1, 0]),
        (TraceFilter(project="b"), [4, 1]),
        (TraceFilter(project="B"), []),
        (TraceFilter(cells=(HEALTHY, GAP)), [1, 0]),
        (TraceFilter(statuses=(PENDING, FAILED)), [4, 3]),
        (TraceFilter(undiagnosed=True), [2]),
        (TraceFilter(since=NOW + timedelta(days=2)), [4, 3, 2]),
        (TraceFilter(until=NOW + timedelta(days=2)), [1, 0]),
        (TraceFilter(project="b", statuses=(EVALUATED,)), [1]),
        (TraceFilter(text="pumpe in övre"), [0]),
        (TraceFilter(text="красный_αβγ"), [3]),
        (TraceFilter(text="100 %"), [3]),
        (TraceFilter(text="1_0"), []),
        (TraceFilter(text="\x00\x1a"), [3]),
        (TraceFilter(text="\x1a0000"), []),
        (TraceFilter(text="40 hz"), [4, 2, 1, 0]),
        (MANY, [4, 3, 2, 1, 0]),
    ],
)
def test_a_filter_means_the_same_in_lists_and_counts(listed, where: TraceFilter, expected):
    store, made = listed
    wanted = [made[n] for n in expected]

    assert ids(store.summaries(where)) == wanted
    assert ids(store.traces(where)) == wanted[::-1]
    assert sum(store.count(where).values()) == len(wanted)


def test_a_filter_by_ids(listed):
    store, made = listed

    assert ids(store.summaries(TraceFilter(ids=(made[3], 999, made[1])))) == [made[3], made[1]]


def test_lists_are_paged_from_the_newest(listed):
    store, made = listed
    first = store.summaries(limit=2)

    assert ids(first) == [made[4], made[3]]
    assert ids(store.summaries(limit=2, before=first[-1].id)) == [made[2], made[1]]
    assert store.summaries(before=made[0]) == ()


def test_a_summary_says_what_a_list_shows(listed):
    store, made = listed
    shown = {item.id: item for item in store.summaries()}
    healthy, failed, waiting = shown[made[0]], shown[made[4]], shown[made[3]]

    assert (healthy.failure_cell, healthy.sufficiency_fraction) == (HEALTHY, 1.0)
    assert (failed.status, failed.error, failed.project) == (FAILED, "no reply", "b")
    assert (waiting.status, waiting.tentative, waiting.evaluated_at) == (PENDING, False, None)


def test_a_filter_needs_times_with_a_zone(store: TraceStore):
    with pytest.raises(UsageError, match="no zone"):
        store.count(TraceFilter(since=NOW.replace(tzinfo=None)))


def test_all_traces_are_read_page_by_page(store: TraceStore):
    added = store.add([trace(query=str(n)) for n in range(150)])
    found = store.traces()
    first = next(found)
    late = store.add([trace()])

    assert [first.id, *ids(found)] == [*added, *late]


# --- counts -----------------------------------------------------------------------------------


def test_counts_have_every_status(store: TraceStore):
    assert store.count() == {PENDING: 0, EVALUATED: 0, FAILED: 0}
    assert store.projects() == {}
    assert store.diagnoses() == {}
    assert store.cost() == Cost()


def test_diagnoses_are_counted_by_what_rates_look_at(store: TraceStore):
    flags = Flags(missing=True, abstained=True)
    for fraction in (0.25, 0.75):
        evaluated(store, failure_cell=GAP, flags=flags, sufficiency_fraction=fraction)
    evaluated(store, failure_cell=None, empty_response=True, sufficiency_fraction=None)
    evaluated(store, tentative=True, level_tentative=True, sufficiency_level="low")
    store.add([trace()])
    found = {item.failure_cell: (item, times) for item, times in store.diagnoses().items()}

    assert found[GAP][1] == 2
    assert found[GAP][0].flags == flags
    assert found[GAP][0].sufficiency_fraction is None
    assert found[None][0].empty_response
    assert found[HEALTHY][0].tentative
    assert found[HEALTHY][0].sufficiency_level == "low"


def test_healthy_fractions_are_those_of_one_project_and_judge(store: TraceStore):
    third = 1 / 3
    for fraction, values in (
        (third, {}),
        (third, {}),
        (0.0, {}),
        (0.5, {"making": {"judge": "llm"}}),
        (0.7, {"failure_cell": GAP}),
        (None, {}),
    ):
        evaluated(store, sufficiency_fraction=fraction, **values)
    evaluated(store, trace_of={"project": "b"}, sufficiency_fraction=0.9)

    assert store.healthy_fractions("default") == {third: 2, 0.5: 1}
    assert store.healthy_fractions("default", judge="embedded") == {third: 2}
    assert store.healthy_fractions("b") == {0.9: 1}
    assert store.projects() == {"b": 1, "default": 6}
    assert store.judges() == {
        ("b", "embedded"): 1,
        ("default", "embedded"): 5,
        ("default", "llm"): 1,
    }


@pytest.mark.parametrize(
    "costs",
    [
        [Cost(calls=2, requests=3, prompt_tokens=10, usd=0.25), Cost(calls=1, usd=0.5)],
        [Cost(calls=1, unpriced=1, usd=None), Cost(calls=1, usd=0.5)],
        [Cost(calls=1, unpriced=1, usd=None), Cost(calls=2, unpriced=2, usd=None)],
        [Cost(calls=3, cached=3)],
    ],
)
def test_the_cost_of_many_is_the_sum_of_each(store: TraceStore, costs: list[Cost]):
    """An unknown price is never nothing."""
    for cost in costs:
        evaluated(store, cost=cost)
    store.add([trace()])

    assert store.cost() == total(costs)


# --- the end ----------------------------------------------------------------------------------


def test_pruning_removes_what_is_older_with_all_that_belongs_to_it(store: TraceStore):
    old = evaluated(store, trace_of={"created_at": NOW - timedelta(seconds=1)})
    (waiting,) = store.add([trace(created_at=NOW - timedelta(days=9))])
    other = evaluated(store, trace_of={"created_at": NOW - timedelta(days=9), "project": "b"})
    young = evaluated(store, trace_of={"created_at": NOW})

    assert store.prune(until=NOW, dry_run=True) == 3
    assert store.prune(until=NOW, project="b") == 1
    assert store.get(other) is None
    assert store.prune(until=NOW) == 2
    assert store.prune(until=NOW) == 0
    assert [store.get(old), store.get(waiting)] == [None, None]
    assert store.get(young).result is not None


def test_a_closed_store_says_so(place):
    store = open_store(place)
    store.add([trace()])
    store.close()
    store.close()

    with pytest.raises(StoreError, match="is closed"):
        store.count()


def test_a_store_opened_for_reading_sees_what_others_write_and_writes_nothing(place):
    with open_store(place) as writer, open_store(place, read_only=True) as reader:
        (trace_id,) = writer.add([trace()])

        assert reader.get(trace_id) == writer.get(trace_id)
        for write in (
            lambda: reader.add([trace()]),
            lambda: reader.claim(1, owner="me"),
            lambda: reader.prune(until=NOW),
        ):
            with pytest.raises(StoreError, match="opened for reading only"):
                write()
