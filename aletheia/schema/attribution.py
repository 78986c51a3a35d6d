"""What probes found out: what a model said under each condition, and where its answer came from."""

from __future__ import annotations

from typing import Final, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from aletheia.schema.cost import Cost
from aletheia.schema.report import Rate, UnitRecord

PROBE_SCHEMA_VERSION: Final = 1

Probe = Literal["closed-book", "counterfactual", "ablation", "shuffle"]
PROBES: Final[tuple[Probe, ...]] = get_args(Probe)

Condition = Literal[
    "base",  # the evidence as it was retrieved
    "closed_book",  # no evidence
    "counterfactual",  # other names, dates and numbers in the evidence
    "cited_removed",  # without the units that the answer cites
    "holding_removed",  # without every unit that holds the answer or is cited
    "irrelevant_removed",  # without the units that neither hold the answer nor are cited
    "shuffled",  # the same units in another order
]
CONDITIONS: Final[tuple[Condition, ...]] = get_args(Condition)

Attribution = Literal["from_evidence", "from_memory", "both_possible", "neither"]
ATTRIBUTIONS: Final[tuple[Attribution, ...]] = get_args(Attribution)

Status = Literal["measured", "unmeasured", "not_applicable", "not_asked"]


class ProbeRecord(BaseModel):
    """Base of all records of probes: frozen, no unknown fields, no NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ConditionRecord(ProbeRecord):
    """One question under one condition.

    `outcome` is the word the condition has for what was seen (see `aletheia.diagnosis.attribution`),
    None where nothing was; then `reason` says why. `question` is as it was asked. `wanted` is the
    gold answer under this condition, with its aliases; `wanted_before` the original one, where it
    is another. `shown` are the ids of the base units in the order in which they were shown;
    `texts` the texts shown in their place where they were other ones. `cited` are citations as base
    ids, `cited_unknown` ids that were not shown. `still_held` says whether what was left of the
    evidence holds the answer.
    """

    condition: Condition
    status: Status
    outcome: str | None = None
    reason: str | None = None
    question: str | None = None
    wanted: tuple[str, ...] = ()
    wanted_before: tuple[str, ...] = ()
    answer: str | None = None
    correct: bool | None = None
    abstained: bool = False
    verified: bool | None = None
    shown: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    cited_unknown: tuple[str, ...] = ()
    still_held: bool | None = None
    citations_stable: bool | None = None
    raw_reply: str | None = None

    @model_validator(mode="after")
    def _nothing_without_a_reason(self) -> Self:
        if (self.status == "measured") != (self.outcome is not None):
            raise ValueError("`outcome` is there exactly where the condition was measured")
        if self.status != "measured" and self.reason is None:
            raise ValueError("no outcome, and `reason` does not say why")
        return self


class QuestionProbe(ProbeRecord):
    """One question under all conditions.

    `attribution` None = undecided: `undecided` says why and `possible` what it may be. `because`
    are the observations that led there, one sentence each.
    """

    id: str
    question: str
    type: str | None = None
    answerable: bool = True
    gold_answer: str
    gold_aliases: tuple[str, ...] = ()
    evidence: tuple[UnitRecord, ...] = ()
    conditions: tuple[ConditionRecord, ...]
    attribution: Attribution | None
    possible: tuple[Attribution, ...]
    undecided: str | None = None
    because: tuple[str, ...] = ()
    cost: Cost = Field(default_factory=Cost)

    @model_validator(mode="after")
    def _undecided_has_a_reason(self) -> Self:
        if (self.attribution is None) != (self.undecided is not None):
            raise ValueError("`undecided` is there exactly where there is no attribution")
        return self

    def condition(self, name: Condition) -> ConditionRecord:
        """Return the record of one condition; every question has all of them."""
        return next(item for item in self.conditions if item.condition == name)


class ProbeRate(ProbeRecord):
    """A rate over what was decided, and what it could be over `total`, the undecided included.

    `low` and `high` put the undecided at the least and the most they may be, None over nothing.
    """

    rate: Rate
    total: int
    low: float | None
    high: float | None


class ConditionCount(ProbeRecord):
    """How often each outcome of one condition was seen, and why others were not measured."""

    condition: Condition
    outcomes: dict[str, int]
    right: ProbeRate
    unmeasured: int
    not_applicable: int
    not_asked: int
    reasons: dict[str, int]


class ProbeSummary(ProbeRecord):
    """What all questions come to.

    `contamination`: from memory / answers. `known_beforehand`: right without evidence / questions
    that have an answer. `accuracy`: right with evidence / questions that have an answer. `corrected`: right / answers shown
    to depend on the evidence (from it, or both possible). `right_from_evidence`: right and from the
    evidence alone / questions that have an answer. `outlives_citations`: the answer stays without
    the units it cites / answers that cite. `stable_citations`: same answer and citations in another order / answers that cite.
    """

    questions: int
    answers: int
    attributions: dict[Attribution, int]
    undecided: int
    undecided_reasons: dict[str, int]
    contamination: ProbeRate
    known_beforehand: ProbeRate
    accuracy: ProbeRate
    corrected: Rate
    right_from_evidence: ProbeRate
    outlives_citations: ProbeRate
    stable_citations: ProbeRate
    conditions: tuple[ConditionCount, ...]


class ProbeProvenance(ProbeRecord):
    """What is needed to repeat the run."""

    aletheia_version: str
    created_at: str
    command: tuple[str, ...]
    graph: str
    graph_digest: str
    questions: str
    questions_digest: str
    generator: str
    generator_model: str
    note: str | None
    probes: tuple[Probe, ...]
    seed: int
    hops: int
    max_units: int
    concurrency: int
    prompt_digests: dict[str, str]
    settings: dict[str, str]
    packages: dict[str, str]
    python: str


class ProbeReport(ProbeRecord):
    """The result file of `aletheia probe`."""

    schema_version: int = PROBE_SCHEMA_VERSION
    kind: Literal["probe"] = "probe"
    provenance: ProbeProvenance
    summary: ProbeSummary
    verdict: tuple[str, ...]
    cost: Cost
    stopped: str | None = None
    questions: tuple[QuestionProbe, ...]
