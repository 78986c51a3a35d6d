"""The result file of a benchmark run: frozen, versioned, JSON without NaN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from aletheia.schema.cost import Cost, total
from aletheia.schema.diagnosis import Diagnosis, Suggestion
from aletheia.schema.record import Rate as Rate
from aletheia.schema.record import Record as Record
from aletheia.schema.run_diagnosis import DiagnosisReport, Judgements
from aletheia.schema.verification import Category, Mode, RejectionReason

SCHEMA_VERSION = 1
"""Raised when a field changes its meaning or goes away."""

METRICS = ("context_precision", "context_recall", "faithfulness", "answer_similarity")
"""The four RAGAS metrics of a run, in report order."""


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

    `diagnosis` is that of an accepted reply, with the `suggestion` for its cell and the
    `judgements` behind it. `not_diagnosed` says why there is no cell; it is None too where the run
    had no judge.

    `cost` sums all model calls of the question; the same calls by purpose and by model stand in
    `cost_by_purpose` and `cost_by_model`. `cached` says that there were calls and every one was
    answered by the reply cache.
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
    diagnosis: Diagnosis | None = None
    suggestion: Suggestion | None = None
    not_diagnosed: str | None = None
    judgements: Judgements | None = None
    timings_ms: dict[str, float] = Field(default_factory=dict)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: Cost = Field(default_factory=Cost)
    cost_by_purpose: dict[str, Cost] = Field(default_factory=dict)
    cost_by_model: dict[str, Cost] = Field(default_factory=dict)
    cached: bool = False
    error: str | None = None

    @model_validator(mode="after")
    def _failure_has_reason(self) -> Self:
        # The breakdown must add up to the failures, so a failure without a reason cannot be stored.
        if self.verified is False and self.category != "error" and self.first_reason is None:
            raise ValueError("`verified` is false but no reason says why")
        return self

    @model_validator(mode="after")
    def _no_cell_has_a_reason(self) -> Self:
        cell = None if self.diagnosis is None else self.diagnosis.failure_cell
        if cell is not None and self.not_diagnosed is not None:
            raise ValueError("`not_diagnosed` is set, but there is a cell")
        if cell is None and (self.suggestion or self.diagnosis) and self.not_diagnosed is None:
            raise ValueError("there is no cell, and `not_diagnosed` does not say why")
        return self

    @model_validator(mode="after")
    def _costs_add_up(self) -> Self:
        _check_parts("cost_by_purpose", self.cost_by_purpose, self.cost)
        _check_parts("cost_by_model", self.cost_by_model, self.cost)
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


_COUNTS = tuple(name for name in Cost.model_fields if name != "usd")


class RunCost(Record):
    """What the model calls of a run cost together, by purpose and by model.

    `total` is the cost of all rows and of all batches. `batches` is the part of it that went through
    batches: their replies come to the rows as a cache would bring them, so these calls are in no
    row. Calls of a question that was under way when a run was killed are in no row, so not in here.
    """

    total: Cost = Field(default_factory=Cost)
    by_purpose: dict[str, Cost] = Field(default_factory=dict)
    by_model: dict[str, Cost] = Field(default_factory=dict)
    batches: Cost = Field(default_factory=Cost)

    @model_validator(mode="after")
    def _parts_add_up(self) -> Self:
        _check_parts("by_purpose", self.by_purpose, self.total)
        _check_parts("by_model", self.by_model, self.total)
        if any(getattr(self.batches, name) > getattr(self.total, name) for name in _COUNTS):
            raise ValueError("`batches` is more than `total`")
        return self

    def __add__(self, other: RunCost) -> RunCost:
        return RunCost(
            total=self.total + other.total,
            by_purpose=summed_by_name((self.by_purpose, other.by_purpose)),
            by_model=summed_by_name((self.by_model, other.by_model)),
            batches=self.batches + other.batches,
        )


def summed_by_name(several: Iterable[Mapping[str, Cost]]) -> dict[str, Cost]:
    """Add up costs that have one name, sorted by name."""
    found: dict[str, Cost] = {}
    for costs in several:
        for name, cost in costs.items():
            found[name] = found.get(name, Cost()) + cost
    return dict(sorted(found.items()))


def _check_parts(name: str, parts: Mapping[str, Cost], whole: Cost) -> None:
    """Compare the counts; money is a sum of fractions, and may differ in its last digit."""
    summed = total(parts.values())
    if any(getattr(summed, count) != getattr(whole, count) for count in _COUNTS):
        raise ValueError(f"`{name}` does not add up")


class Capability(Record):
    """What a model was found to take: how replies were constrained, what had to be left out.

    `structured` lists `json_schema`, `json_object` or `none`; more than one where it changed.
    """

    model: str
    structured: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class Provenance(Record):
    """What is needed to repeat the run.

    `judge` is what made the diagnoses: kinds, models, digests of prompts; empty = there was none.
    """

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
    capabilities: tuple[Capability, ...] = ()
    seed: int = 0
    judge: dict[str, str] = Field(default_factory=dict)
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
    diagnosis_report: DiagnosisReport | None = None
    by_type: tuple[TypeBreakdown, ...] = ()
    baseline_comparison: tuple[PairedDifference, ...] = ()
    interpretation: tuple[str, ...] = ()
    cost: RunCost = Field(default_factory=RunCost)
    provenance: Provenance
    detailed_results: tuple[DetailedResult, ...]
