"""Thresholds that are learned from a store, and what counts as a failed evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aletheia.config import Settings
from aletheia.diagnosis.calibrate import CalibrationOptions, calibrate
from aletheia.pipeline import stored
from aletheia.pipeline.judge_setup import judge_id
from aletheia.pipeline.stored import (
    close_stores,
    failure_of,
    note_saved,
    store_for,
    threshold_for,
)
from aletheia.schema.diagnosis import Diagnosis, EvaluationResult, FailureCell
from aletheia.schema.judgement import CompletenessJudgment, FaithfulnessJudgment


class Counted:
    """What a threshold asks of a store, and how often it did."""

    def __init__(self, fractions: Mapping[float, int], url: str = "sqlite:///a.db") -> None:
        self.fractions = dict(fractions)
        self.url = url
        self.asked: list[tuple[str, str | None]] = []

    def healthy_fractions(self, project: str, *, judge: str | None = None) -> Mapping[float, int]:
        self.asked.append((project, judge))
        return self.fractions


@pytest.fixture(autouse=True)
def _fresh() -> None:
    close_stores()


@given(
    st.dictionaries(
        st.floats(min_value=0.0, max_value=1.0), st.integers(min_value=0, max_value=40), max_size=8
    )
)
def test_the_threshold_over_counts_is_the_one_over_diagnoses(fractions: dict[float, int]) -> None:
    options = CalibrationOptions(traces=20)
    diagnoses = [
        Diagnosis(failure_cell=FailureCell.COMPLETE_GROUNDED, sufficiency_fraction=fraction)
        for fraction, count in fractions.items()
        for _ in range(count)
    ]
    learned, expected = stored._learned(fractions, options), calibrate(diagnoses, options=options)

    assert (learned.source, learned.traces) == (expected.source, expected.traces)
    assert learned.value == pytest.approx(expected.value)


def test_a_threshold_is_read_again_as_its_project_grows() -> None:
    """Every time while it is small, and then when it grew by a twentieth."""
    store: Any = Counted({1.0: 100})
    now = Settings()

    for _ in range(5):
        threshold_for(store, now, "a", "embedded")
        note_saved(store, "a", "embedded")
    assert store.asked == [("a", "embedded")]
    note_saved(store, "a", "embedded", 5)
    threshold_for(store, now, "a", "embedded")
    threshold_for(store, now, "b", "embedded")
    assert store.asked == [("a", "embedded"), ("a", "embedded"), ("b", "embedded")]


def test_a_threshold_of_few_traces_is_read_after_each_that_was_saved() -> None:
    store: Any = Counted({1.0: 2})
    for _ in range(3):
        threshold_for(store, Settings(), "a", "embedded")
        note_saved(store, "a", "embedded")

    assert len(store.asked) == 3


def test_other_settings_are_another_threshold() -> None:
    store: Any = Counted({0.5: 10})
    few, many = Settings(calibration_min_traces=5), Settings(calibration_min_traces=50)

    found = [threshold_for(store, now, "a", "embedded") for now in (few, many, few)]
    assert [(item.source, item.value) for item in found] == [
        ("calibrated", 0.5),
        ("fallback_project", 1.0),
        ("calibrated", 0.5),
    ]


@pytest.mark.parametrize(
    ("making", "name"),
    [
        ({"judge": "llm", "judge_model": "gpt-4o"}, "llm gpt-4o"),
        ({"judge": "llm gpt-4o", "judge_model": "gpt-4o"}, "llm gpt-4o"),
        ({"sufficiency_judge": "embedded", "embedded_model": "7"}, "embedded 7"),
        ({}, "unnamed"),
    ],
)
def test_a_judge_is_named_by_its_kind_and_its_model(making: dict[str, str], name: str) -> None:
    assert judge_id(making) == name


def result(**values: Any) -> EvaluationResult:
    return EvaluationResult(
        query="q", response="r", diagnosis=Diagnosis(), created_at="2026-01-01T00:00:00Z", **values
    )


DOWN = {"decompose_query": "down", "sufficiency": "down too"}
UNMEASURED = FaithfulnessJudgment(claim_id=0, problem="model_unavailable")


@pytest.mark.parametrize(
    ("made", "failure"),
    [
        (result(), None),
        (result(errors=DOWN), "down"),
        (result(errors=DOWN, faithfulness=(UNMEASURED,)), "down"),
        (result(errors=DOWN, faithfulness=(FaithfulnessJudgment(claim_id=0, verdict="N"),)), None),
        (result(errors=DOWN, completeness=CompletenessJudgment()), None),
        (result(errors=DOWN, completeness=CompletenessJudgment(problem="x")), "down"),
        (result(errors={"calibration": "the store is away"}), None),
    ],
)
def test_a_result_without_any_verdict_has_failed_where_a_judge_did(
    made: EvaluationResult, failure: str | None
) -> None:
    assert failure_of(made) == failure


def test_one_store_serves_a_process_until_it_is_closed(tmp_path: Path) -> None:
    """The same file by another name is the same store."""
    now = Settings(db_path=tmp_path / "a.db")
    same = Settings(db_path=tmp_path / "x" / ".." / "a.db", model="other")
    first = store_for(now)

    assert store_for(same) is first
    close_stores()
    assert store_for(now) is not first
