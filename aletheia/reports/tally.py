"""Counts and rates over the rows of a run.

Grounding counts follow the verdict itself (`verified`), which is the same in every mode. Scores,
abstentions and accuracy follow the mode: an answer counts as accepted when the mode let it
through. Rows without a reply (`error`) are counted apart and never in a rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import get_args

from aletheia.reports.numbers import rounded_rate
from aletheia.schema.cost import Cost, total
from aletheia.schema.proportion import wilson
from aletheia.schema.question import QuestionType
from aletheia.schema.report import (
    METRICS,
    AbstentionReport,
    DetailedResult,
    GroundingReport,
    MetricScore,
    MetricSummary,
    RejectionCount,
    ResponseCategories,
    RunCost,
    Summary,
    TypeBreakdown,
    summed_by_name,
)
from aletheia.schema.verification import RejectionReason

UNTYPED = "untyped"
"""Name of the group of questions that carry no type."""

NOT_COMPUTED = "none"
"""Implementation of a metric that no row carries."""

MIXED = "mixed"
"""Implementation of a metric whose rows were scored by more than one."""

_TYPE_ORDER: tuple[str, ...] = get_args(QuestionType)
_REASON_ORDER = tuple(RejectionReason)


def replied(row: DetailedResult) -> bool:
    """Tell whether a reply arrived at all."""
    return row.category != "error"


def accepted(row: DetailedResult) -> bool:
    """Tell whether the mode let the reply through, as an answer or an abstention."""
    return replied(row) and not row.grounding_rejected


def answered(row: DetailedResult) -> bool:
    """Tell whether the row is an accepted answer that is no abstention."""
    return accepted(row) and not row.abstained and row.answer is not None


def grounding_report(rows: Sequence[DetailedResult]) -> GroundingReport:
    """Build section 1.4 of the contract. Rows with `verified` None stand outside the total."""
    judged = [row for row in rows if replied(row) and row.verified is not None]
    passed = [row for row in judged if row.verified]
    abstained = sum(row.abstained for row in passed)
    return GroundingReport(
        summary=Summary(
            total_verified=len(judged),
            verification_passed=len(passed),
            verification_failed=len(judged) - len(passed),
            pass_rate=rounded_rate(len(passed), len(judged)),
        ),
        response_categories=ResponseCategories(
            grounded_answers=len(passed) - abstained,
            insufficient_context=abstained,
            errors=sum(not replied(row) for row in rows),
        ),
        rejection_breakdown=_breakdown(judged),
    )


def _breakdown(judged: Sequence[DetailedResult]) -> tuple[RejectionCount, ...]:
    """Count by first reason, most frequent first; ties stand in the order of the checks."""
    counts = Counter(row.first_reason for row in judged if not row.verified)
    reasons = sorted(
        (reason for reason in counts if reason is not None),
        key=lambda reason: (-counts[reason], _REASON_ORDER.index(reason)),
    )
    return tuple(
        RejectionCount(
            reason=reason,
            count=counts[reason],
            rate=rounded_rate(counts[reason], len(judged)) or 0.0,
        )
        for reason in reasons
    )


def evidence_holds_answer(row: DetailedResult) -> bool | None:
    """Tell whether retrieval brought the answer. An unanswerable question has none to bring."""
    if row.gold_in_evidence is None and not row.answerable:
        return False
    return row.gold_in_evidence


def abstention_report(rows: Sequence[DetailedResult]) -> AbstentionReport:
    """Count both kinds of abstention and accuracy, over all rows with a reply."""
    rows = [row for row in rows if replied(row)]
    abstained = [row for row in rows if row.abstained]
    kinds = Counter(row.abstention_kind or "undecided" for row in abstained)
    holds = [row for row in rows if evidence_holds_answer(row) is True]
    lacks = [row for row in rows if evidence_holds_answer(row) is False]
    answers = [row for row in rows if answered(row)]
    right = sum(row.correct is True for row in answers)
    return AbstentionReport(
        warranted=kinds["warranted"],
        over_refusals=kinds["over_refusal"],
        undecided=kinds["undecided"],
        correct_abstention=wilson(sum(row.abstained for row in lacks), len(lacks)),
        over_refusal=wilson(sum(row.abstained for row in holds), len(holds)),
        accuracy_when_answered=wilson(right, len(answers)),
        accuracy=wilson(right + kinds["warranted"], len(rows)),
    )


def by_type(rows: Iterable[DetailedResult]) -> tuple[TypeBreakdown, ...]:
    """Write one line per question type: the known types in their order, then others by name."""
    groups: dict[str, list[DetailedResult]] = {}
    for row in rows:
        groups.setdefault(row.type or UNTYPED, []).append(row)
    return tuple(_type_line(name, groups[name]) for name in sorted(groups, key=_type_key))


def _type_key(name: str) -> tuple[int, str]:
    if name in _TYPE_ORDER:
        return _TYPE_ORDER.index(name), name
    return len(_TYPE_ORDER) + (name == UNTYPED), name


def _type_line(name: str, rows: Sequence[DetailedResult]) -> TypeBreakdown:
    replies = [row for row in rows if replied(row)]
    answers = [row for row in replies if answered(row)]
    return TypeBreakdown(
        type=name,
        total=len(rows),
        passed=sum(row.verified is True for row in replies),
        rejected=sum(row.verified is False for row in replies),
        abstained=sum(row.abstained for row in replies),
        errors=len(rows) - len(replies),
        correct=sum(row.correct is True for row in answers),
        answered=len(answers),
    )


def metric_summaries(rows: Sequence[DetailedResult]) -> dict[str, MetricSummary]:
    """Summarise every metric of the contract, then any other that a row carries."""
    extra = sorted({name for row in rows for name in row.metrics} - set(METRICS))
    return {name: metric_summary(name, rows) for name in (*METRICS, *extra)}


def metric_summary(name: str, rows: Sequence[DetailedResult]) -> MetricSummary:
    """Summarise one metric over the accepted replies.

    A row that does not carry the metric is unmeasured. One that says it does not apply (such as
    faithfulness of an abstention) is counted apart.
    """
    kept = [row for row in rows if accepted(row)]
    scores = [row.metrics.get(name) for row in kept]
    rejected = sum(replied(row) and row.grounding_rejected for row in rows)
    known = [score for score in scores if score is not None]
    makers = sorted({score.implementation for score in known if score.status == "measured"})
    if len(makers) > 1:
        return _mixed(scores, makers, rejected)
    named = makers or sorted({score.implementation for score in known}) or [NOT_COMPUTED]
    return _summary(" or ".join(named), scores, rejected)


def _summary(
    implementation: str, scores: Sequence[MetricScore | None], rejected: int
) -> MetricSummary:
    values = [score.value for score in scores if score is not None and score.value is not None]
    inapplicable = sum(score is not None and score.status == "not_applicable" for score in scores)
    total, measured = len(scores) - inapplicable, len(values)
    best = math.fsum([*values, *([1.0] * (total - measured))])
    unknown = total > 0 and measured == 0
    return MetricSummary(
        implementation=implementation,
        mean=_mean(math.fsum(values), measured),
        measured=measured,
        total=total,
        coverage=_mean(measured, total),
        low=_mean(math.fsum(values), total),
        high=_mean(best, total),
        mean_rejected_as_zero=None if unknown else _mean(math.fsum(values), measured + rejected),
        not_applicable=inapplicable,
    )


def _mixed(
    scores: Sequence[MetricScore | None], makers: Sequence[str], rejected: int
) -> MetricSummary:
    """Summarise a metric that two implementations scored: no mean over both, one part for each."""
    whole = _summary(MIXED, scores, rejected)
    return whole.model_copy(
        update={
            "mean": None,
            "low": None,
            "high": None,
            "mean_rejected_as_zero": None,
            "note": f"scored by {len(makers)} implementations, which are not averaged",
            "parts": tuple(_part(maker, scores, rejected) for maker in makers),
        }
    )


def _part(maker: str, scores: Sequence[MetricScore | None], rejected: int) -> MetricSummary:
    own = [score for score in scores if score is not None and score.implementation == maker]
    return _summary(maker, own, rejected)


def _mean(total: float, number: int) -> float | None:
    """Return a mean to six decimals, which also removes an excess of one ulp over 1."""
    return None if number == 0 else round(total / number, 6)


def run_cost(rows: Sequence[DetailedResult], batched: RunCost | None = None) -> RunCost:
    """Sum the model calls of all rows, in row order, so that two equal runs give equal sums.

    `batched` is what the batches of the run cost, which is in no row.
    """
    of_rows = RunCost(
        total=total(row.cost for row in rows),
        by_purpose=summed_by_name(row.cost_by_purpose for row in rows),
        by_model=summed_by_name(row.cost_by_model for row in rows),
    )
    whole = of_rows if batched is None else of_rows + batched
    return RunCost(
        total=_exact(whole.total),
        by_purpose={name: _exact(cost) for name, cost in whole.by_purpose.items()},
        by_model={name: _exact(cost) for name, cost in whole.by_model.items()},
        batches=_exact(whole.batches),
    )


def _exact(cost: Cost) -> Cost:
    """Take the noise of floating sums out: no price is finer than a picodollar."""
    return cost if cost.usd is None else cost.model_copy(update={"usd": round(cost.usd, 12)})
