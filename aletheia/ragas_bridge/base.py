"""What every metric suite takes and gives, and the rows that need no measuring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from aletheia.errors import (
    BudgetExceeded,
    ContextTooLong,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from aletheia.schema.answer import ABSTENTION
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit
from aletheia.schema.report import MetricScore

PROVIDER: Final = "provider: "
"""How the reason begins where the endpoint failed: asking again later may help."""

OVER_BUDGET: Final = "budget of the "
"""How the reason begins where a call was not made; the scope of the budget follows."""

Scores = dict[str, MetricScore]
"""One score per name in `aletheia.schema.report.METRICS`, always all four."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSample:
    """One row to score.

    `answer` is None when there is none. `supporting_facts` are ids of the graph facts that
    answer the question (empty: not known). `abstained` is the verdict of verification,
    `answerable` that of the question set.
    """

    question: str
    answer: str | None
    gold_answer: str
    gold_aliases: tuple[str, ...] = ()
    evidence: EvidenceSet
    supporting_facts: tuple[str, ...] = ()
    cited_ids: tuple[str, ...] = ()
    abstained: bool = False
    answerable: bool = True


class MetricSuite(Protocol):
    """The four metrics, all computed by one kind of machinery."""

    @property
    def name(self) -> str:
        """`ragas` or `embedded`."""
        ...

    def describe(self) -> tuple[str, ...]:
        """One line per metric: its name and its implementation string."""
        ...

    async def prepare(self) -> None:
        """Import ragas off the event loop; `ConfigError` when it cannot be imported."""
        ...

    async def score(self, sample: MetricSample) -> Scores:
        """All four scores of one row; a metric that fails is unmeasured, the others stand."""
        ...

    async def score_many(self, samples: Sequence[MetricSample]) -> list[Scores]:
        """Scores of many rows in order, embedded in one batch."""
        ...


class Support(NamedTuple):
    """Statements of one answer: how many are supported, how many there are, how many undecided."""

    supported: int
    total: int
    undecided: int


SupportCounter = Callable[[str, EvidenceSet, tuple[str, ...]], tuple[int, int, int]]
"""(answer, evidence, cited ids) → (supported, total, undecided) statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A value in 0..1, with a remark if there is something to say about it."""

    value: float
    remark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplicable:
    """The metric asks something that this row does not have."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """The metric applies, and could not be computed."""

    reason: str


Outcome = Measured | NotApplicable | Unmeasured


def failed_call(error: ModelError | BudgetExceeded, who: str | None = None) -> Unmeasured:
    """Say why a call (of `who`) gave no value: the endpoint, a budget, or this prompt or reply."""
    if isinstance(error, BudgetExceeded):
        return Unmeasured(reason=f"{OVER_BUDGET}{error.scope}: {error}")
    told = f"{who}: {error}" if who else str(error)
    # A prompt that is too long fails again, whenever it is asked.
    if isinstance(error, ContextTooLong):
        return Unmeasured(reason=f"the prompt is too long for the model: {told}")
    if isinstance(error, ModelUnavailable | ModelRefused):
        return Unmeasured(reason=f"{PROVIDER}{told}")
    return Unmeasured(reason=told)


def as_score(outcome: Outcome, implementation: str) -> MetricScore:
    """Turn an outcome into what goes into the result file."""
    match outcome:
        case Measured(value=value, remark=remark):
            return MetricScore(
                value=value, implementation=implementation, status="measured", reason=remark
            )
        case NotApplicable(reason=reason):
            return MetricScore(
                implementation=implementation, status="not_applicable", reason=reason
            )
        case Unmeasured(reason=reason):
            return MetricScore(implementation=implementation, status="unmeasured", reason=reason)


def settled(metric: str, sample: MetricSample, *, gold_needed: bool = True) -> Outcome | None:
    """Decide by rule what needs no measuring; None for the rest.

    `gold_needed=False` leaves a blank gold answer to a measure that can do without it.

    Nothing retrieved is a 0 for an answerable question, not a gap: a retrieval that returns
    nothing on the hard questions must not look better than one that tries.
    """
    if metric in ("context_precision", "context_recall"):
        return _settled_retrieval(sample, gold_needed)
    return _settled_answer(metric, sample)


def _settled_retrieval(sample: MetricSample, gold_needed: bool) -> Outcome | None:
    if not sample.answerable:
        return NotApplicable(reason="the question is marked unanswerable: nothing to retrieve")
    if not len(sample.evidence):
        return Measured(value=0.0, remark="no evidence was retrieved")
    if gold_needed and not sample.gold_answer.strip():
        return Unmeasured(reason="the question has no gold answer")
    return None


def _settled_answer(metric: str, sample: MetricSample) -> Outcome | None:
    answer = (sample.answer or "").strip()
    if sample.abstained or answer == ABSTENTION:
        return NotApplicable(reason="the answer is an abstention")
    if not answer:
        return NotApplicable(reason="there is no answer")
    if metric == "faithfulness":
        if len(sample.evidence):
            return None
        return Measured(value=0.0, remark="no evidence was retrieved: nothing can be supported")
    if not sample.answerable or sample.gold_answer.strip() == ABSTENTION:
        return NotApplicable(reason="the gold answer is the abstention: no text to compare with")
    if not sample.gold_answer.strip():
        return Unmeasured(reason="the question has no gold answer")
    return None


def context_of(unit: EvidenceUnit) -> str:
    """Show a unit as a judge reads it: its source, text and other names belong together."""
    lines = [unit.source] if unit.source else []
    lines.append(unit.text)
    if unit.aliases:
        lines.append(f"Also known as: {'; '.join(unit.aliases)}")
    return "\n".join(lines)
