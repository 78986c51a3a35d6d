"""What is stored comes back as the same values, whatever they hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import Phase, settings
from hypothesis import given as over
from hypothesis import strategies as st
from made_traces import NOW, RESULTS, TEXTS, TRACES, given, result_of, trace

from aletheia.errors import StoreError, UsageError
from aletheia.schema.cost import Cost
from aletheia.schema.diagnosis import EvaluationResult, Flags
from aletheia.schema.judgement import (
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.stored import NewTrace, StoredTrace, TraceFilter, TraceStatus, TraceSummary
from aletheia.schema.trace import Claim, ContextChunk, SubQuestion
from aletheia.store import TraceStore, open_store
from aletheia.store.tables import (
    CLAIMS,
    COMPLETENESS,
    CONTEXT_CHUNKS,
    COST_PREFIX,
    FAITHFULNESS,
    FLAG_PREFIX,
    SUB_QUESTIONS,
    SUFFICIENCY,
)
from aletheia.store.tables import (
    TRACES as TRACES_TABLE,
)
from aletheia.store.types import escape, unescape


@pytest.fixture(scope="module")
def shared(new_place):
    with open_store(new_place()) as opened:
        yield opened


@settings(max_examples=20, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@over(found=TRACES, made=RESULTS)
def test_any_trace_and_any_result_come_back_the_same(
    shared: TraceStore, found: NewTrace, made: EvaluationResult
):
    made = made.model_copy(update={"query": found.query, "response": found.response})
    (trace_id,) = shared.add([found])
    shared.save([(trace_id, made)])
    stored = shared.get(trace_id)

    assert stored is not None
    assert given(stored) == found
    assert stored.result == made.model_copy(update={"trace_id": trace_id})
    assert stored.status is TraceStatus.EVALUATED
    assert stored.evaluated_at == made.created_at


@over(TEXTS)
def test_escaped_text_holds_nothing_a_database_refuses(text: str):
    kept = escape(text)

    assert unescape(kept) == text
    assert "\x00" not in kept
    assert kept.encode().decode() == kept


@over(st.lists(TEXTS, min_size=2, max_size=2, unique=True))
def test_no_two_texts_are_stored_as_one(texts: list[str]):
    assert escape(texts[0]) != escape(texts[1])


def test_texts_of_a_megabyte_come_back_whole(store: TraceStore):
    big = "a long text, 長い文章 😀\n" * 60_000
    found = trace(
        query=big, response=big[::-1], chunks=(ContextChunk(text=big, rank=0),), created_at=NOW
    )
    (trace_id,) = store.add([found])
    made = result_of(found, claims=(Claim(id=0, text=big, start=0, end=9),))
    store.save([(trace_id, made)])
    stored = store.get(trace_id)

    assert stored is not None
    assert given(stored) == found
    assert stored.result == made.model_copy(update={"trace_id": trace_id})


def test_a_result_without_verdicts_keeps_why(store: TraceStore):
    """All three judges failed: the items are there, unmeasured, and the trace is evaluated."""
    found = trace()
    (trace_id,) = store.add([found])
    made = result_of(
        found,
        sufficiency=(SufficiencyJudgment(sub_question_id=0, problem="reply_cut"),),
        faithfulness=(FaithfulnessJudgment(claim_id=0, problem="reply_cut"),),
        completeness=CompletenessJudgment(problem="reply_cut"),
        failure_cell=None,
        sufficiency_fraction=None,
        problems=("sufficiency", "faithfulness", "completeness"),
        errors={"sufficiency": "the reply was cut"},
    )
    store.save([(trace_id, made)])
    stored = store.get(trace_id)

    assert stored is not None
    assert stored.result == made.model_copy(update={"trace_id": trace_id})
    assert store.count(TraceFilter(undiagnosed=True))[TraceStatus.EVALUATED] == 1


def test_a_trace_that_was_only_logged_is_pending(store: TraceStore):
    before = datetime.now(UTC)
    (trace_id,) = store.add([trace(notes={"context": "was one text"}, external_id="a|b;c")])
    stored = store.get(trace_id)

    assert stored is not None
    assert (stored.status, stored.attempts, stored.result, stored.error) == (
        *(TraceStatus.PENDING, 0, None, None),
    )
    assert before <= stored.created_at <= datetime.now(UTC)
    assert stored.created_at.tzinfo is UTC


def test_an_unknown_id_has_no_trace(store: TraceStore):
    assert store.get(1) is None


def test_times_of_any_zone_are_kept_as_instants(store: TraceStore):
    there = NOW.astimezone(timezone(timedelta(hours=-9, minutes=-30)))
    (trace_id,) = store.add([trace(created_at=there)])
    stored = store.get(trace_id)

    assert stored is not None
    assert stored.created_at == NOW
    assert store.summaries(TraceFilter(since=there))[0].created_at == NOW


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (trace(created_at=NOW.replace(tzinfo=None)), "has no zone"),
        (trace(created_at=NOW.max.replace(tzinfo=timezone(-timedelta(hours=1)))), "in UTC"),
        (trace(project=""), "no name of a project"),
        (trace(project=" \t"), "no name of a project"),
        (trace(project="p" * 201), "no name of a project"),
    ],
)
def test_what_cannot_be_stored_is_refused_before_anything_is(
    store: TraceStore, found: NewTrace, says: str
):
    with pytest.raises(UsageError, match=says):
        store.add([trace(), found])

    assert sum(store.count().values()) == 0


def test_a_number_beyond_64_bits_is_an_error_and_not_another_number(store: TraceStore):
    with pytest.raises(StoreError):
        store.add([trace(chunks=(ContextChunk(text="a", rank=2**63),))])

    assert sum(store.count().values()) == 0


PARTS = [
    (Cost, TRACES_TABLE, lambda name: f"{COST_PREFIX}{name}", set()),
    (Flags, TRACES_TABLE, lambda name: f"{FLAG_PREFIX}{name}", set()),
    (ContextChunk, CONTEXT_CHUNKS, str, set()),
    (SubQuestion, SUB_QUESTIONS, lambda name: "sub_question_id" if name == "id" else name, set()),
    (
        Claim,
        CLAIMS,
        lambda name: {"id": "claim_id", "start": "span_start", "end": "span_end"}.get(name, name),
        set(),
    ),
    (SufficiencyJudgment, SUFFICIENCY, str, {"evidence_ids"}),
    (FaithfulnessJudgment, FAITHFULNESS, str, {"evidence_ids"}),
    (CompletenessJudgment, COMPLETENESS, str, {"alignments", "extras"}),
    (NewTrace, TRACES_TABLE, str, {"chunks"}),
    (StoredTrace, TRACES_TABLE, str, {"chunks", "result"}),
    (TraceSummary, TRACES_TABLE, str, set()),
]


@pytest.mark.parametrize(("model", "table", "named", "elsewhere"), PARTS)
def test_every_field_has_a_column(model, table, named, elsewhere):
    """A field that is added without a column would be lost. `EvaluationResult` and `Diagnosis`
    need none: what has no column stands in JSON.
    """
    fields = {named(name) for name in set(model.model_fields) - elsewhere}

    assert fields <= set(table.columns.keys())
