"""What probes found out: what a model said under each condition, and where its answer came from."""

from __future__ import annotations

from typing import Final, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from aletheia.schema.comparison import ModeView, RateDifference, Sign
from aletheia.schema.cost import Cost
from aletheia.schema.diagnosis import FailureCell
from aletheia.schema.report import Rate, UnitRecord
from aletheia.schema.verification import Mode, RejectionReason

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

View = Literal[
    "strict",  # the base answers that strict keeps
    "lenient",  # the base answers that lenient keeps
    "base",  # all base answers: what the mode `off` keeps
    "closed_book",
    "counterfactual",
    "cited_removed",
    "holding_removed",
    "irrelevant_removed",
    "shuffled",
]
"""What answers are looked at: three modes over one reply, and one reply for each condition."""
VIEWS: Final[tuple[View, ...]] = get_args(View)

Standing = Literal[
    "right",
    "wrong",
    "abstained",
    "rejected",  # the mode keeps no answer
    "followed",  # another answer, which follows the changed evidence
    "kept",  # the old answer although the evidence says otherwise
    "unclear",  # neither the old nor the new answer
    "lost",  # no answer where only renamed evidence could tell
]
"""How a question ended in a view; the last four under other evidence only."""


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

    `kept` are the modes that keep the reply, and `rejection` is why strict does not; without
    evidence nothing can be verified and both are empty. `cell` is where the answer stands by the
    evidence that was shown (without any: by that of the base answer), `tentative` whether that
    rests on a verdict of low confidence; without one `not_diagnosed` says why, or nothing judged.
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
    kept: tuple[Mode, ...] = ()
    rejection: RejectionReason | None = None
    cell: FailureCell | None = None
    tentative: bool = False
    not_diagnosed: str | None = None

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


class CellCount(ProbeRecord):
    """The six cells of one view.

    `diagnosed` is the sum of `cells`, `tentative` of them rest on a verdict of low confidence.
    `not_diagnosed` counts the replies without a cell, by reason.
    """

    view: View
    cells: dict[FailureCell, int]
    diagnosed: int
    tentative: int
    not_diagnosed: dict[str, int] = Field(default_factory=dict)


class ProbeView(ProbeRecord):
    """How often the answer is right in one view, and what changes against the base answers.

    `right` is over the questions that have an answer and were asked. `change` is over those of
    them with a base answer too: the view minus the base. It is None for the base itself.
    """

    view: View
    right: ProbeRate
    change: RateDifference | None = None


class ProbeFlip(ProbeRecord):
    """A question that ends otherwise in some view than with evidence.

    `under` has every view that was measured; `changed` those that make the difference.
    """

    id: str
    changed: tuple[View, ...]
    under: dict[View, Standing]


class ProbeModes(ProbeRecord):
    """The base answers as strict, lenient and off show them, from the same replies.

    As `aletheia compare` shows one report: no call is made for it. `gap` are the replies that
    lenient keeps and strict rejects.
    """

    views: tuple[ModeView, ...]
    gap: Rate
    signs: tuple[Sign, ...]
    verdict: tuple[str, ...]


class ProbeProvenance(ProbeRecord):
    """What is needed to repeat the run. `judge` is empty where nothing judged."""

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
    judge: dict[str, str] = Field(default_factory=dict)


class ProbeReport(ProbeRecord):
    """The result file of `aletheia probe`.

    `modes`, `views`, `cells` and `flips` are empty in a file of a version before them.
    """

    schema_version: int = PROBE_SCHEMA_VERSION
    kind: Literal["probe"] = "probe"
    provenance: ProbeProvenance
    summary: ProbeSummary
    verdict: tuple[str, ...]
    cost: Cost
    stopped: str | None = None
    modes: ProbeModes | None = None
    views: tuple[ProbeView, ...] = ()
    cells: tuple[CellCount, ...] = ()
    flips: tuple[ProbeFlip, ...] = ()
    questions: tuple[QuestionProbe, ...]
