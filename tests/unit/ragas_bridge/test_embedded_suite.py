"""The offline suite, through ragas's own formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio
import numpy as np
import numpy.typing as npt
import pytest

from aletheia.errors import ModelUnavailable
from aletheia.ragas_bridge import EmbeddedSuite, MetricSample, MetricSuite, Scores, Support
from aletheia.ragas_bridge.base import Measured, NotApplicable, Unmeasured
from aletheia.ragas_bridge.embedded_suite import faithfulness
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit
from aletheia.schema.report import METRICS


class Plane:
    """An embedder in two dimensions: each text is an angle in degrees; counts its calls."""

    name = "plane"

    def __init__(self, angles: Mapping[str, float]) -> None:
        self._angles = angles
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.batches.append(list(texts))
        radians = np.radians([self._angles.get(text, 0.0) for text in texts])
        return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def no_support(answer: str, evidence: EvidenceSet, cited: tuple[str, ...]) -> Support:
    return Support(0, 0, 0)


def row(pattern: str, *, facts: tuple[str, ...] = ("f",), **more: object) -> MetricSample:
    """One unit per character: 1 carries the fact `f`, any other digit `f<digit>`, 0 none."""
    units = tuple(
        EvidenceUnit(
            id=f"E{n}",
            text=f"text {n}",
            key=f"k{n}",
            position=n - 1,
            facts=("other",) if char == "0" else ("f",) if char == "1" else (f"f{char}",),
        )
        for n, char in enumerate(pattern, 1)
    )
    values: dict[str, object] = {
        "question": "Where?",
        "answer": "Leeds",
        "gold_answer": "Leeds",
        "evidence": EvidenceSet(units=units),
        "supporting_facts": facts,
    }
    return MetricSample(**{**values, **more})  # type: ignore[arg-type]


def run(suite: EmbeddedSuite, *samples: MetricSample) -> list[Scores]:
    return anyio.run(suite.score_many, samples)


def suite(angles: Mapping[str, float] | None = None) -> EmbeddedSuite:
    return EmbeddedSuite(embedder=Plane(angles or {}), support=no_support)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("1", 1.0),
        ("0", 0.0),
        ("10", 1.0),  # a plain ratio would be 1/2
        ("01", 1 / 2),
        ("101", (1 / 1 + 2 / 3) / 2),
        ("011", (1 / 2 + 2 / 3) / 2),
        ("0001", 1 / 4),
        ("110010", (1 + 1 + 3 / 5) / 3),
        ("000", 0.0),
    ],
)
def test_precision_is_rank_weighted_average_precision(pattern: str, expected: float) -> None:
    score = run(suite(), row(pattern))[0]["context_precision"]
    assert score.status == "measured"
    assert score.value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("pattern", ["1", "0110", "10101", "0000", "111", "00100110"])
def test_precision_equals_the_formula_of_ragas_itself(pattern: str) -> None:
    from aletheia.ragas_bridge.adapters import PreparedJudge
    from aletheia.ragas_bridge.library import load

    own = load().context_precision(llm=PreparedJudge([]))
    expected = own._calculate_average_precision([int(char) for char in pattern])  # type: ignore[attr-defined]
    assert run(suite(), row(pattern))[0]["context_precision"].value == pytest.approx(
        expected, abs=1e-9
    )


@pytest.mark.parametrize(
    ("pattern", "facts", "expected"),
    [
        ("1", ("f",), 1.0),
        ("0", ("f",), 0.0),
        ("12", ("f", "f2"), 1.0),
        ("10", ("f", "f2", "f3"), 1 / 3),
        ("11", ("f", "f2"), 1 / 2),  # the same fact twice is one fact
    ],
)
def test_recall_is_the_share_of_supporting_facts_retrieved(
    pattern: str, facts: tuple[str, ...], expected: float
) -> None:
    score = run(suite(), row(pattern, facts=facts))[0]["context_recall"]
    assert score.value == pytest.approx(expected, abs=1e-9)
    assert score.reason is not None
    assert "by supporting facts" in score.reason


def test_undecidable_gold_is_unmeasured_and_touches_no_other_metric() -> None:
    scores = run(suite(), row("0", facts=(), gold_answer="Yes", answer="Yes"))[0]
    assert scores["context_precision"].status == scores["context_recall"].status == "unmeasured"
    assert "`Yes`" in (scores["context_recall"].reason or "")
    assert scores["answer_similarity"].value == 1.0


@pytest.mark.parametrize(
    ("angle", "value"), [(0, 1.0), (60, 0.5), (90, 0.0), (180, 0.0), (120, 0.0)]
)
def test_similarity_is_the_cosine_and_never_below_zero(angle: float, value: float) -> None:
    scores = run(suite({"York": angle}), row("1", answer="York"))[0]
    score = scores["answer_similarity"]
    assert score.value == pytest.approx(value, abs=1e-6)
    assert ("below the scale" in (score.reason or "")) is (angle > 90)


def test_similarity_takes_the_closest_of_gold_and_aliases_and_says_so() -> None:
    angles = {"York": 10.0, "Eboracum": 10.0, "Leeds": 80.0}
    score = run(suite(angles), row("1", answer="York", gold_aliases=("Eboracum", " ")))[0]
    assert score["answer_similarity"].value == pytest.approx(1.0, abs=1e-6)
    assert score["answer_similarity"].reason == "closest to the alias `Eboracum`"


def test_many_rows_are_embedded_in_one_batch_without_repeats() -> None:
    plane = Plane({})
    tested = EmbeddedSuite(embedder=plane, support=no_support)
    rows = [row("1", answer=f"York {n}") for n in range(5)]
    assert len(run(tested, *rows, replace(rows[0], abstained=True))) == 6
    assert plane.batches == [["York 0", "Leeds", "York 1", "York 2", "York 3", "York 4"]]


class Broken:
    name = "broken"

    def __init__(self, vector: Sequence[float] | None) -> None:
        self._vector = vector

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if self._vector is None:
            raise ModelUnavailable("the endpoint did not answer")
        return np.array([self._vector] * len(texts), dtype=np.float32)


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (None, "provider: broken: the endpoint did not answer"),
        ((0.0, 0.0), "no direction"),
        ((float("nan"), 1.0), "no direction"),
        ((float("inf"), 1.0), "no direction"),
    ],
)
def test_an_embedder_that_fails_leaves_only_similarity_unmeasured(
    vector: Sequence[float] | None, words: str
) -> None:
    scores = run(EmbeddedSuite(embedder=Broken(vector), support=no_support), row("1"))[0]
    assert scores["answer_similarity"].status == "unmeasured"
    assert words in (scores["answer_similarity"].reason or "")
    assert scores["context_precision"].value == 1.0


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((2, 2, 0), 1.0),
        ((1, 4, 0), 0.25),
        ((2, 5, 3), 0.4),  # three unknown are not three supported
        ((0, 2, 1), 0.0),
        ((0, 3, 3), Unmeasured),
        ((0, 0, 0), NotApplicable),
        ((3, 2, 0), Unmeasured),
        ((1, 2, 2), Unmeasured),
        ((-1, 2, 0), Unmeasured),
    ],
)
def test_faithfulness_never_counts_an_undecided_statement_as_supported(
    counts: tuple[int, int, int], expected: float | type
) -> None:
    found = faithfulness(*counts)
    if isinstance(expected, float):
        assert isinstance(found, Measured)
        assert found.value == expected
        assert ("undecided" in (found.remark or "")) is (counts[2] > 0)
    else:
        assert isinstance(found, expected)


def test_faithfulness_asks_the_verification_it_was_given() -> None:
    seen: list[tuple[str, int, tuple[str, ...]]] = []

    def support(answer: str, evidence: EvidenceSet, cited: tuple[str, ...]) -> Support:
        seen.append((answer, len(evidence), cited))
        return Support(1, 2, 0)

    tested = EmbeddedSuite(embedder=Plane({}), support=support)
    rows = [row("11", cited_ids=("E2",)), row("1", abstained=True), row("")]
    scores = [found["faithfulness"] for found in run(tested, *rows)]
    assert [score.value for score in scores] == [0.5, None, 0.0]
    assert seen == [("Leeds", 2, ("E2",))]


def test_text_that_no_encoding_takes_is_still_scored() -> None:
    scores = run(suite(), row("1", question="\ud83d", answer="\ud83d"))[0]
    assert scores["context_precision"].value == 1.0


def test_every_score_names_its_implementation_and_describe_lists_the_same() -> None:
    tested: MetricSuite = suite()
    scores = anyio.run(tested.score, row("1"))
    assert tuple(scores) == METRICS
    assert tested.describe() == tuple(f"{m}: {scores[m].implementation}" for m in METRICS)
    assert all(score.implementation.startswith("embedded:") for score in scores.values())
    assert "SemanticSimilarity(plane) via ragas 0.4.3" in scores["answer_similarity"].implementation
