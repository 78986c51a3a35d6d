"""Traces and results for the tests of the store: plain ones, and any there can be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from aletheia.schema.cost import Cost
from aletheia.schema.diagnosis import Diagnosis, EvaluationResult, FailureCell, Flags, Suggestion
from aletheia.schema.judgement import (
    Alignment,
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.stored import NewTrace, StoredTrace
from aletheia.schema.trace import Claim, ContextChunk, SubQuestion

NOW = datetime(2026, 5, 4, 12, 30, 15, 123456, tzinfo=UTC)


def trace(**values: Any) -> NewTrace:
    """A small trace; `values` replace its fields."""
    plain = {
        "query": "How fast is the pump?",
        "chunks": (ContextChunk(text="The pump runs at 40 Hz.", rank=0, source="manual"),),
        "response": "It runs at 40 Hz.",
    }
    return NewTrace(**{**plain, **values})


def result_of(found: NewTrace, **values: Any) -> EvaluationResult:
    """A result of a trace; `values` replace its fields, those of the diagnosis included."""
    named = set(Diagnosis.model_fields) - set(EvaluationResult.model_fields)
    of_diagnosis = {name: values.pop(name) for name in named if name in values}
    diagnosis = {"failure_cell": FailureCell.COMPLETE_GROUNDED, "sufficiency_fraction": 1.0}
    plain = {
        "query": found.query,
        "response": found.response,
        "sub_questions": (SubQuestion(id=0, text="How fast is the pump?"),),
        "claims": (Claim(id=0, text="It runs at 40 Hz.", start=0, end=17),),
        "sufficiency": (SufficiencyJudgment(sub_question_id=0, verdict="Y", evidence_ids=("E1",)),),
        "faithfulness": (FaithfulnessJudgment(claim_id=0, verdict="Y", evidence_ids=("E1",)),),
        "completeness": CompletenessJudgment(
            alignments=(Alignment(sub_question_id=0, claim_ids=(0,)),)
        ),
        "diagnosis": Diagnosis(**{**diagnosis, **of_diagnosis}),
        "created_at": NOW,
        "making": {"judge": "embedded"},
    }
    return EvaluationResult(**{**plain, **values})


def given(found: StoredTrace) -> NewTrace:
    """What was stored, without what the store adds."""
    return NewTrace(**{name: getattr(found, name) for name in NewTrace.model_fields})


TEXTS = st.text(alphabet=st.characters(codec=None), max_size=12) | st.sampled_from(
    [
        "\x00",
        "\x1a",
        "\x1a0000",
        "\x1a001a",
        "a\x00b",
        "\ud83d",
        "\udc00\ud83d",
        "😀",
        "\x1f|;\u2028",
    ]
)
"""Any text there is in Python, with what databases trip over more often than chance has it."""

WHOLE = st.integers(0, 2**63 - 1)
SHARES = st.none() | st.floats(0, 1)
WORDS = st.lists(TEXTS, max_size=3).map(tuple)
TIMES = st.datetimes(
    min_value=NOW.replace(year=2, tzinfo=None),
    max_value=NOW.replace(year=9998, tzinfo=None),
    timezones=st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m))),
)
CONFIDENCE = st.sampled_from([None, "high", "low"])

CHUNKS = st.lists(
    st.builds(
        ContextChunk,
        text=TEXTS,
        rank=WHOLE,
        source=st.none() | TEXTS,
        score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    ),
    max_size=3,
).map(tuple)

TRACES = st.builds(
    NewTrace,
    query=st.none() | TEXTS,
    chunks=CHUNKS,
    response=TEXTS,
    project=TEXTS.filter(str.strip),
    external_id=st.none() | TEXTS,
    source=TEXTS,
    notes=st.dictionaries(TEXTS, TEXTS, max_size=2),
    created_at=TIMES,
)


def _judgements(kind: type[Any], **more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Judgements with a verdict, and those that say why there is none."""
    common = {
        "reasoning": TEXTS,
        "evidence_ids": WORDS,
        "score": SHARES,
        "confidence": CONFIDENCE,
        "warnings": WORDS,
        "agreement": SHARES,
        **more,
    }
    judged = st.builds(kind, verdict=st.sampled_from(["Y", "N"]), problem=st.none(), **common)
    failed = st.builds(kind, verdict=st.none(), problem=TEXTS, **common)
    return st.lists(judged | failed, max_size=3).map(tuple)


_CLAIM_IDS = st.lists(WHOLE, max_size=3).map(tuple)

RESULTS = st.builds(
    EvaluationResult,
    trace_id=st.none(),
    query=st.none(),
    response=st.just(""),
    sub_questions=st.lists(st.builds(SubQuestion, id=WHOLE, text=TEXTS), max_size=3).map(tuple),
    claims=st.lists(st.builds(Claim, id=WHOLE, text=TEXTS, start=WHOLE, end=WHOLE), max_size=3).map(
        tuple
    ),
    sufficiency=_judgements(SufficiencyJudgment, sub_question_id=WHOLE),
    faithfulness=_judgements(
        FaithfulnessJudgment,
        claim_id=WHOLE,
        unsupported=st.lists(st.tuples(WHOLE, WHOLE), max_size=2).map(tuple),
    ),
    completeness=st.none()
    | st.builds(
        CompletenessJudgment,
        alignments=st.lists(
            st.builds(Alignment, sub_question_id=WHOLE, claim_ids=_CLAIM_IDS), max_size=3
        ).map(tuple),
        extras=_CLAIM_IDS,
        reasoning=TEXTS,
        confidence=CONFIDENCE,
        problem=st.none() | TEXTS,
        agreement=SHARES,
    ),
    diagnosis=st.builds(
        Diagnosis,
        flags=st.builds(Flags),
        sufficiency_fraction=SHARES,
        faithfulness_fraction=SHARES,
        n_sub_questions=WHOLE,
        threshold=SHARES,
        threshold_source=st.none() | TEXTS,
        problems=WORDS,
        failure_cell=st.none() | st.sampled_from(FailureCell),
    ),
    suggestion=st.none()
    | st.builds(Suggestion, slug=TEXTS, title=TEXTS, body=TEXTS, actions=WORDS),
    created_at=TIMES,
    errors=st.dictionaries(TEXTS, TEXTS, max_size=2),
    findings=WORDS,
    latency_ms=st.dictionaries(TEXTS, st.floats(allow_nan=False, allow_infinity=False), max_size=2),
    cost=st.builds(
        Cost,
        **{name: WHOLE for name in Cost.model_fields if name != "usd"},
        usd=st.none() | st.floats(0, allow_nan=False, allow_infinity=False),
    ),
    making=st.dictionaries(TEXTS | st.sampled_from(["judge", "prompt_x"]), TEXTS, max_size=3),
)
"""Any result; its texts have to be set to those of its trace."""
