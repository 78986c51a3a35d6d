"""What the questions of a probe run come to: counts, rates, and the verdict in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from aletheia.reports import numbers
from aletheia.reports.exact import exact
from aletheia.schema.attribution import (
    ATTRIBUTIONS,
    CONDITIONS,
    Condition,
    ConditionCount,
    ConditionRecord,
    ProbeRate,
    ProbeSummary,
    QuestionProbe,
)
from aletheia.schema.proportion import wilson
from aletheia.schema.report import Rate

Decided = bool | None
"""Whether something holds; None = undecided, and it may hold or not."""


def ranged(
    found: Iterable[Decided], *, cannot: int = 0, interval: Callable[[int, int], Rate] = wilson
) -> ProbeRate:
    """Make a rate of what was decided, with the range over the undecided.

    `cannot` of the undecided cannot turn out to hold. `interval` makes the rate of two counts.
    """
    values = list(found)
    yes, no = values.count(True), values.count(False)
    total, open_ = len(values), len(values) - yes - no
    return ProbeRate(
        rate=interval(yes, yes + no),
        total=total,
        low=round(yes / total, 4) if total else None,
        high=round((yes + open_ - cannot) / total, 4) if total else None,
    )


def summarise(questions: Sequence[QuestionProbe]) -> ProbeSummary:
    """Count attributions and conditions. Undecided questions stay in every total."""
    answers = _answers(questions)
    answerable = [item for item in questions if item.answerable]
    counts = Counter(item.attribution for item in questions)
    return ProbeSummary(
        questions=len(questions),
        answers=len(answers),
        attributions={name: counts[name] for name in ATTRIBUTIONS},
        undecided=counts[None],
        undecided_reasons=_ordered(item.undecided for item in questions if item.undecided),
        contamination=contamination(questions),
        known_beforehand=ranged(_right(item.condition("closed_book")) for item in answerable),
        accuracy=ranged(_right(item.condition("base")) for item in answerable),
        corrected=_corrected(questions),
        right_from_evidence=ranged(map(_right_from_evidence, answerable)),
        outlives_citations=_over(answers, "cited_removed", _stays),
        stable_citations=_over(answers, "shuffled", _stable),
        conditions=tuple(_counted(name, questions) for name in CONDITIONS),
    )


def contamination(questions: Sequence[QuestionProbe]) -> ProbeRate:
    """Rate the answers from memory among those that could be decided, with the exact interval."""
    answers = _answers(questions)
    open_ = [item for item in answers if item.attribution is None]
    return ranged(
        map(_from_memory, answers),
        cannot=sum("from_memory" not in item.possible for item in open_),
        interval=exact,
    )


def _answers(questions: Sequence[QuestionProbe]) -> list[QuestionProbe]:
    return [item for item in questions if item.condition("base").outcome != "abstained"]


def _from_memory(item: QuestionProbe) -> Decided:
    return None if item.attribution is None else item.attribution == "from_memory"


def _right(record: ConditionRecord) -> Decided:
    if record.abstained:
        return False
    return record.correct


def _right_from_evidence(item: QuestionProbe) -> Decided:
    right = _right(item.condition("base"))
    if right is False or item.attribution not in (None, "from_evidence"):
        return False
    return None if item.attribution is None or right is None else True


def _stays(record: ConditionRecord) -> Decided:
    return None if record.outcome is None else record.outcome == "same"


def _stable(record: ConditionRecord) -> Decided:
    return record.citations_stable


def _over(
    answers: Sequence[QuestionProbe],
    name: Condition,
    holds: Callable[[ConditionRecord], Decided],
) -> ProbeRate:
    """Rate the answers that cite something, as far as the condition is possible for them."""
    cite = [item.condition(name) for item in answers if item.condition("base").cited]
    return ranged(holds(record) for record in cite if record.status != "not_applicable")


def _corrected(questions: Sequence[QuestionProbe]) -> Rate:
    shown = [q for q in questions if q.attribution in ("from_evidence", "both_possible")]
    return wilson(sum(q.condition("base").correct is True for q in shown), len(shown))


def _counted(name: Condition, questions: Sequence[QuestionProbe]) -> ConditionCount:
    records = [item.condition(name) for item in questions]
    status = Counter(record.status for record in records)
    tried = [
        item.condition(name)
        for item in questions
        if item.answerable and item.condition(name).status in ("measured", "unmeasured")
    ]
    return ConditionCount(
        condition=name,
        outcomes=_ordered(record.outcome for record in records if record.outcome),
        right=ranged(_right(record) for record in tried),
        unmeasured=status["unmeasured"],
        not_applicable=status["not_applicable"],
        not_asked=status["not_asked"],
        reasons=_ordered(record.reason for record in records if record.reason),
    )


def _ordered(words: Iterable[str | None]) -> dict[str, int]:
    counts = Counter(word for word in words if word)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def verdict(summary: ProbeSummary) -> Iterator[str]:
    """Say in words what the rates mean, and what they do not."""
    rate = summary.contamination.rate
    if not summary.answers:
        yield "There is no answer to trace."
        return
    if rate.value is None:
        yield "Nothing was decided: no answer could be traced to evidence or memory."
    else:
        yield f"{_contamination(summary)} {_bounds(summary.contamination)}"
    if summary.undecided:
        yield (
            f"{numbers.plural(summary.undecided, 'question')} could not be decided. "
            "They count for neither side."
        )
    if summary.attributions["both_possible"]:
        both = numbers.plural(summary.attributions["both_possible"], "answer")
        yield f"{both} follow the evidence, and the model also knows them without it."
    known = summary.known_beforehand.rate
    if known.value is not None and known.numerator:
        yield (
            f"The model is right without evidence for "
            f"{numbers.count_of(known.numerator, known.denominator)} questions: "
            "their answers were known beforehand."
        )
    if summary.corrected.denominator:
        right, shown = summary.corrected.numerator, summary.corrected.denominator
        yield f"Of the answers shown to depend on the evidence, {numbers.count_of(right, shown)} are right."


def _contamination(summary: ProbeSummary) -> str:
    rate = summary.contamination.rate
    told = f"{numbers.count_of(rate.numerator, rate.denominator)} traced answers"
    if rate.numerator == 0:
        return (
            f"No answer from memory was found in {numbers.count(rate.denominator)} traced answers."
        )
    return f"{told} came from memory ({numbers.percent(rate.numerator, rate.denominator)})."


def _bounds(found: ProbeRate) -> str:
    low, high = numbers.percent_of(found.rate.low), numbers.percent_of(found.rate.high)
    text = f"95% interval {low} to {high}."
    if found.rate.denominator < found.total:
        lows, highs = numbers.percent_of(found.low), numbers.percent_of(found.high)
        text += f" Over all {numbers.count(found.total)} answers {lows} to {highs}."
    return text
