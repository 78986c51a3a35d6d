"""The diagnosis of a benchmark run: the judgements of one row, and what all rows came to."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from aletheia.schema.diagnosis import CompletenessVerdict, FailureCell
from aletheia.schema.judgement import CompletenessJudgment, Confidence, Verdict
from aletheia.schema.record import Rate, Record
from aletheia.schema.trace import ClaimKind


class ItemVerdict(Record):
    """The verdict on one item. None = unmeasured, and `problem` says why, or not graded at all."""

    verdict: Verdict | None = None
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    confidence: Confidence | None = None
    evidence_ids: tuple[str, ...] = ()
    reasoning: str = ""
    warnings: tuple[str, ...] = ()
    agreement: float | None = Field(default=None, ge=0.0, le=1.0)
    problem: str | None = None


class QuestionVerdict(ItemVerdict):
    """Whether the evidence is enough for one sub-question."""

    sub_question: str


class ClaimVerdict(ItemVerdict):
    """Whether the evidence carries one claim; offsets are code points of `answer`.

    A `conversational` claim is not graded.
    """

    claim: str
    kind: ClaimKind
    start: int
    end: int
    unsupported: tuple[tuple[int, int], ...] = ()


class AlignmentVerdict(CompletenessJudgment):
    """Which claims answer which sub-question, and what that comes to."""

    verdict: CompletenessVerdict | None = None


class Judgements(Record):
    """What the judges said of one answer, in the words of a row of `aletheia eval --output`.

    `errors` has a message for each metric that failed, `findings` are codes about judge and
    evidence.
    """

    sufficiency: tuple[QuestionVerdict, ...] = ()
    sufficiency_score: float | None = Field(default=None, ge=0.0, le=1.0)
    faithfulness: tuple[ClaimVerdict, ...] = ()
    faithfulness_score: float | None = Field(default=None, ge=0.0, le=1.0)
    completeness: AlignmentVerdict | None = None
    errors: dict[str, str] = Field(default_factory=dict)
    findings: tuple[str, ...] = ()


class ReasonCount(Record):
    """How many rows have no cell for one reason."""

    reason: str
    count: int


class SuggestionCount(Record):
    """How many rows got one suggestion."""

    slug: str
    title: str
    count: int


class RangedRate(Record):
    """A rate over the evaluated rows; `low` and `high` say what it could be over all `total`.

    `total` counts those too whose judges left something unmeasured. `tentative` of the numerator
    rest on verdicts of low confidence.
    """

    rate: Rate
    total: int
    low: float | None
    high: float | None
    tentative: int = 0


class DiagnosisReport(Record):
    """The cells of a run.

    `total` rows = `diagnosed` + those of `not_diagnosed`; `cells` has all six cells, and their sum
    is `diagnosed`. `healthy`, `adjusted` (healthy or an honest abstention), `honest_abstention` and
    `over_refusal` are over the accepted replies, `healthy_of_all` counts every rejected reply as
    not healthy. `judge` names who judged, with models and digests of prompts; `threshold` is the
    sufficiency that `high` needs, and `threshold_source` where it comes from (None where no row was
    judged). `suggestions` stand most frequent first.
    """

    judge: dict[str, str]
    threshold: float | None
    threshold_source: str | None
    total: int
    diagnosed: int
    tentative: int
    cells: dict[FailureCell, int]
    tentative_cells: dict[FailureCell, int]
    not_diagnosed: tuple[ReasonCount, ...] = ()
    healthy: RangedRate
    adjusted: RangedRate
    honest_abstention: RangedRate
    over_refusal: RangedRate
    healthy_of_all: Rate
    suggestions: tuple[SuggestionCount, ...] = ()

    @model_validator(mode="after")
    def _counts_add_up(self) -> Self:
        if sum(self.cells.values()) != self.diagnosed:
            raise ValueError("`cells` do not add up to `diagnosed`")
        if sum(self.tentative_cells.values()) != self.tentative:
            raise ValueError("`tentative_cells` do not add up to `tentative`")
        if self.diagnosed + sum(entry.count for entry in self.not_diagnosed) != self.total:
            raise ValueError("`diagnosed` and `not_diagnosed` do not add up to `total`")
        return self
