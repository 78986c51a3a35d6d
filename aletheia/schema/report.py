"""The result file of a benchmark run: frozen, versioned, JSON without NaN."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from aletheia.schema.verification import Category, Mode, RejectionReason

SCHEMA_VERSION = 1
"""Raised when a field changes its meaning or goes away."""

METRICS = ("context_precision", "context_recall", "faithfulness", "answer_similarity")
"""The four RAGAS metrics of a run, in report order."""


class Record(BaseModel):
    """Base of everything in the file: frozen, no unknown fields, no NaN or infinity."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=()
    )


class MetricScore(Record):
    """One metric of one row. `value` None = unmeasured or not applicable, and `reason` says why.

    `implementation` names what computed it, such as `ragas:Faithfulness` or
    `embedded:...`; scores of different implementations are never averaged together.
    """

    value: float | None = Field(default=None, ge=0.0, le=1.0)
    implementation: str
    status: Literal["measured", "not_applicable", "unmeasured"]
    reason: str | None = None

    @model_validator(mode="after")
    def _value_fits_status(self) -> Self:
        if (self.value is not None) != (self.status == "measured"):
            raise ValueError(f"`status` is {self.status!r} but `value` is {self.value!r}")
        return self


class UnitRecord(Record):
    """An evidence unit as shown, and whether the answer cited it."""

    id: str
    text: str
    source: str | None = None
    aliases: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    duplicate_of: str | None = None
    cited: bool = False


class FindingRecord(Record):
    """A `Finding` in the file; offsets are code points of `answer`."""

    kind: str
    text: str
    start: int
    end: int
    reason: str
    found_in: str | None = None
    nearest: str | None = None


class NoteRecord(Record):
    """A `Note` in the file."""

    kind: str
    text: str
    start: int
    end: int
    reason: str
    detail: str | None = None


AbstentionKind = Literal["warranted", "over_refusal", "undecided"]


class DetailedResult(Record):
    """One question, everything that happened to it.

    `grounding_rejected` is what the mode decided; `verified` is the verdict itself and the same
    in every mode (None = not verified). `correct` compares the answer with the gold answer and its
    aliases (None = there was no answer to compare). `error` is a transport or provider failure.
    """

    id: str
    question: str
    type: str | None = None
    answerable: bool = True
    gold_answer: str
    gold_aliases: tuple[str, ...] = ()
    category: Category
    grounding_rejected: bool
    rejection_reason: RejectionReason | None = None
    rejection_reasons: tuple[RejectionReason, ...] = ()
    warnings: tuple[RejectionReason, ...] = ()
    verified: bool | None = None
    answer: str | None = None
    reasoning: str | None = None
    raw_reply: str | None = None
    cited_ids: tuple[str, ...] = ()
    evidence: tuple[UnitRecord, ...] = ()
    findings: tuple[FindingRecord, ...] = ()
    notes: tuple[NoteRecord, ...] = ()
    repairs: tuple[str, ...] = ()
    normalised: tuple[tuple[str, str], ...] = ()
    parse_problem: str | None = None
    abstained: bool = False
    abstention_kind: AbstentionKind | None = None
    gold_in_evidence: bool | None = None
    correct: bool | None = None
    metrics: dict[str, MetricScore] = Field(default_factory=dict)
    baseline_metrics: dict[str, MetricScore] = Field(default_factory=dict)
    timings_ms: dict[str, float] = Field(default_factory=dict)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None

    @model_validator(mode="after")
    def _failure_has_reason(self) -> Self:
        # The breakdown must add up to the failures, so a failure without a reason cannot be stored.
        if self.verified is False and self.category != "error" and self.first_reason is None:
            raise ValueError("`verified` is false but no reason says why")
        return self

    @property
    def first_reason(self) -> RejectionReason | None:
        """The first check that failed, whatever the mode made of it."""
        reasons = (self.rejection_reason, *self.rejection_reasons, *self.warnings)
        return next((reason for reason in reasons if reason is not None), None)


class Summary(Record):
    """Counts over verified replies. `pass_rate` has 2 decimals, None when nothing was verified."""

    total_verified: int
    verification_passed: int
    verification_failed: int
    pass_rate: float | None


class ResponseCategories(Record):
    """`errors` are transport or provider failures and stand outside `total_verified`."""

    grounded_answers: int
    insufficient_context: int
    errors: int


class RejectionCount(Record):
    """How often one reason was the first to fail; `rate` = count / total_verified, 2 decimals."""

    reason: RejectionReason
    count: int
    rate: float


class GroundingReport(Record):
    """Section 1.4 of the contract: passed + failed = total, grounded + insufficient = passed."""

    summary: Summary
    response_categories: ResponseCategories
    rejection_breakdown: tuple[RejectionCount, ...] = ()

    @model_validator(mode="after")
    def _counts_add_up(self) -> Self:
        summary, categories = self.summary, self.response_categories
        passed, failed = summary.verification_passed, summary.verification_failed
        if passed + failed != summary.total_verified:
            raise ValueError("passed + failed is not `total_verified`")
        if categories.grounded_answers + categories.insufficient_context != passed:
            raise ValueError("grounded + insufficient is not `verification_passed`")
        if sum(entry.count for entry in self.rejection_breakdown) != failed:
            raise ValueError("`rejection_breakdown` does not add up to `verification_failed`")
        return self


class Rate(Record):
    """A rate with its numerator, denominator and Wilson 95 % interval; no value over nothing."""

    value: float | None
    numerator: int
    denominator: int
    low: float | None = None
    high: float | None = None


class MetricSummary(Record):
    """One metric over the run.

    `mean` is over the `measured` rows among the `total` accepted answers it applies to; `low`
    and `high` put the unmeasured ones at 0 and at 1. `mean_rejected_as_zero` also counts every
    rejected answer as 0. `coverage` = measured / total.

    Scores of different implementations are never averaged: then `implementation` is `mixed`,
    the means and ranges are None, `note` says so and `parts` holds one summary for each.
    """

    implementation: str
    mean: float | None
    measured: int
    total: int
    coverage: float | None
    low: float | None
    high: float | None
    mean_rejected_as_zero: float | None
    not_applicable: int = 0
    note: str | None = None
    parts: tuple[MetricSummary, ...] = ()


class AbstentionReport(Record):
    """Both kinds of error together, so that neither can be gamed alone.

    `correct_abstention`: abstained / questions whose evidence lacks the answer.
    `over_refusal`: abstained / questions whose evidence holds the answer.
    `accuracy_when_answered`: correct / answered (accepted answers only).
    `accuracy`: correct answers and warranted abstentions / all questions without errors.
    """

    warranted: int
    over_refusals: int
    undecided: int
    correct_abstention: Rate
    over_refusal: Rate
    accuracy_when_answered: Rate
    accuracy: Rate


class TypeBreakdown(Record):
    """The counts of one question type."""

    type: str
    total: int
    passed: int
    rejected: int
    abstained: int
    errors: int
    correct: int
    answered: int


class PairedDifference(Record):
    """One metric under two retrievals, over the same questions.

    `n` pairs have both values from one implementation, `total` questions have at least one side
    that applies. `low` and `high` are a 95 % bootstrap interval of the mean difference (None when
    it cannot be estimated), `p_value` is a paired permutation test.
    """

    metric: str
    mean: float | None
    baseline_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    n: int
    total: int
    verdict: str


class Provenance(Record):
    """What is needed to repeat the run."""

    aletheia_version: str
    created_at: str
    command: tuple[str, ...] = ()
    mode: Mode
    graph: str
    graph_digest: str
    graph_nodes: int
    graph_edges: int
    questions: str
    questions_digest: str
    questions_total: int
    generator: str
    generator_model: str
    generator_note: str | None = None
    metrics_by: str
    embedder: str
    prompt_digest: str | None = None
    structured_output: str | None = None
    seed: int = 0
    settings: dict[str, Any] = Field(default_factory=dict)
    packages: dict[str, str] = Field(default_factory=dict)
    python: str
    resumed: int = 0


class BenchmarkReport(Record):
    """The whole result file."""

    schema_version: int = SCHEMA_VERSION
    aggregate_scores: dict[str, float | None]
    aggregate_details: dict[str, MetricSummary]
    grounding_report: GroundingReport
    abstention_report: AbstentionReport
    by_type: tuple[TypeBreakdown, ...] = ()
    baseline_comparison: tuple[PairedDifference, ...] = ()
    interpretation: tuple[str, ...] = ()
    provenance: Provenance
    detailed_results: tuple[DetailedResult, ...]
