"""What the numbers of a run mean, in sentences. Every sentence follows from counted rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aletheia.reports import numbers
from aletheia.reports.tally import NOT_COMPUTED, accepted, answered, replied
from aletheia.reports.words import NOTES, REASONS, spoken
from aletheia.schema.proportion import wilson
from aletheia.schema.report import (
    AbstentionReport,
    DetailedResult,
    GroundingReport,
    MetricSummary,
)
from aletheia.schema.run_diagnosis import DiagnosisReport
from aletheia.schema.verification import Mode, RejectionReason

HIGH_PASS_PERCENT = 80
LOW_PASS_PERCENT = 60
GOOD_SCORE = 0.70
SMALL_RUN = 30
MANY_ABSTENTIONS = 0.25
MEMORY_SIMILARITY = 0.80
MEMORY_FAITHFULNESS = 0.50

SUSPECTED = "injection_suspected"
"""Reason of the notes on text that speaks to a model."""

Band = Literal["good", "moderate", "poor", "unmeasured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The verdict in words: a title, what stands behind it, what to do, and its band."""

    title: str
    detail: str
    action: str
    band: Band


def pass_band(report: GroundingReport) -> Band:
    """Return the contract's band, decided on exact counts and not on the rounded rate."""
    total, passed = report.summary.total_verified, report.summary.verification_passed
    if total == 0:
        return "unmeasured"
    if 100 * passed > HIGH_PASS_PERCENT * total:
        return "good"
    return "poor" if 100 * passed < LOW_PASS_PERCENT * total else "moderate"


def interpret(
    rows: Sequence[DetailedResult],
    grounding: GroundingReport,
    abstention: AbstentionReport,
    metrics: Mapping[str, MetricSummary],
    mode: Mode,
    diagnosis: DiagnosisReport | None = None,
) -> tuple[str, ...]:
    """Sentences about a run, the most important first."""
    return (
        *_pass_rate(rows, grounding, mode),
        *_errors(grounding, len(rows)),
        *_suspected(rows),
        *_abstentions(rows, abstention),
        *_lenient_gap(rows, grounding, mode),
        *_memory(rows, grounding),
        *(() if diagnosis is None else _cells(diagnosis)),
        *_scores(rows, metrics),
    )


def _pass_rate(
    rows: Sequence[DetailedResult], grounding: GroundingReport, mode: Mode
) -> Iterator[str]:
    summary = grounding.summary
    total, passed = summary.total_verified, summary.verification_passed
    if total == 0:
        yield _nothing_verified(rows, mode)
        return
    yield f"{numbers.count_of(passed, total)} replies passed verification " + _BAND_MEANS[
        pass_band(grounding)
    ].format(rate=numbers.percent(passed, total))
    if total < SMALL_RUN:
        rate = wilson(passed, total)
        low, high = numbers.percent_of(rate.low), numbers.percent_of(rate.high)
        yield (
            f"Only {numbers.plural(total, 'reply was', 'replies were')} verified: the true pass "
            f"rate may well lie anywhere from {low} to {high}."
        )
    if unverified := sum(replied(row) and row.verified is None for row in rows):
        yield f"{numbers.plural(unverified, 'reply was', 'replies were')} not verified."


_BAND_MEANS: Mapping[Band, str] = {
    "good": "({rate}, above 80%): retrieval works and the metrics can be trusted.",
    "moderate": "({rate}, moderate: between 60% and 80%): read the rejected answers before "
    "you rely on the metrics.",
    "poor": "({rate}, below 60%): the evidence is wrong, the questions need outside knowledge, "
    "or the generator ignores its instructions.",
}


def _suspected(rows: Sequence[DetailedResult]) -> Iterator[str]:
    """Say where a text may be meant for a model: it changed no verdict, and a reader should know."""
    held = sum(any(note.reason == SUSPECTED for note in row.notes) for row in rows)
    if held:
        yield (
            f"{numbers.plural(held, 'question holds', 'questions hold')} text that "
            f"{NOTES[SUSPECTED]}: the notes say where."
        )


def _nothing_verified(rows: Sequence[DetailedResult], mode: Mode) -> str:
    if not rows:
        return "Nothing was verified: there are no questions."
    if not any(replied(row) for row in rows):
        return "Nothing was verified: no question got a reply."
    if mode is Mode.OFF:
        return "Nothing was verified: grounding mode is `off`."
    return "Nothing was verified: no reply carries a verdict."


def _errors(grounding: GroundingReport, total: int) -> Iterator[str]:
    errors = grounding.response_categories.errors
    if errors:
        yield (
            f"{errors} of {numbers.plural(total, 'question')} got no reply (transport or provider "
            "failure). The figures describe the others only."
        )


def _abstentions(rows: Sequence[DetailedResult], abstention: AbstentionReport) -> Iterator[str]:
    replies = sum(map(replied, rows))
    abstained = sum(row.abstained for row in rows if replied(row))
    if replies and abstained >= MANY_ABSTENTIONS * replies:
        yield (
            f"{numbers.count_of(abstained, replies)} replies are abstentions. That is not bad in "
            "itself: see whether retrieval should have found the answer."
        )
    if refused := abstention.over_refusals:
        yield (
            f"{numbers.plural(refused, 'abstention')} came although the evidence held the answer "
            "(over-refusal)."
        )
    lacking = abstention.correct_abstention
    if invented := lacking.denominator - lacking.numerator:
        yield (
            f"{numbers.plural(invented, 'question')} whose evidence lacks the answer did not end "
            f"in a clean abstention (of {lacking.denominator})."
        )


def _lenient_gap(
    rows: Sequence[DetailedResult], grounding: GroundingReport, mode: Mode
) -> Iterator[str]:
    kept = sum(row.verified is False and accepted(row) for row in rows)
    if mode is not Mode.LENIENT or not kept:
        return
    total = grounding.summary.total_verified
    yield (
        f"{numbers.count_of(kept, total)} replies were kept that strict mode rejects. A large gap "
        "suggests answers from the model's own memory."
    )


def _memory(rows: Sequence[DetailedResult], grounding: GroundingReport) -> Iterator[str]:
    """Name the signs of answers from memory, each with its count."""
    if alike := sum(map(_alike_but_unfaithful, rows)):
        yield (
            f"Sign of memory: {numbers.plural(alike, 'answer')} close to the gold answer but not "
            f"faithful to the evidence (similarity {MEMORY_SIMILARITY:.2f} or more, faithfulness "
            f"{MEMORY_FAITHFULNESS:.2f} or less)."
        )
    if lucky := sum(_right_without_evidence(row) for row in rows):
        yield (
            f"Sign of memory: {numbers.plural(lucky, 'right answer')} where retrieval had not "
            "brought the answer."
        )
    counts = {entry.reason: entry.count for entry in grounding.rejection_breakdown}
    entities = counts.get(RejectionReason.UNCITED_ENTITIES, 0)
    bare = counts.get(RejectionReason.ANSWER_WITHOUT_CITATIONS, 0)
    if entities or bare:
        yield (
            f"Possible sign of memory: {numbers.plural(entities, 'reply', 'replies')} with "
            f"contents the cited evidence lacks, {bare} without any citation."
        )


def _cells(diagnosis: DiagnosisReport) -> Iterator[str]:
    rate = diagnosis.healthy.rate
    if not rate.denominator:
        yield "Nothing was diagnosed: no accepted reply could be judged in full."
        return
    yield (
        f"{numbers.count_of(rate.numerator, rate.denominator)} diagnosed replies came out healthy: "
        "everything asked is answered, and every claim is grounded."
    )
    advice = [item for item in diagnosis.suggestions if item.slug not in _NO_ADVICE]
    if advice:
        top = advice[0]
        yield (
            f"The most frequent advice is “{top.title}” "
            f"({numbers.plural(top.count, 'reply', 'replies')})."
        )
    if diagnosis.tentative:
        doubtful = numbers.plural(diagnosis.tentative, "cell is", "cells are")
        yield (
            f"{doubtful} tentative (of {numbers.count(diagnosis.diagnosed)}): a verdict of low "
            f"confidence decided{_how_often_wrong(diagnosis)}."
        )


def _how_often_wrong(diagnosis: DiagnosisReport) -> str:
    known = diagnosis.judge.get("judge_error")
    return f"; {known}" if known else ""


_NO_ADVICE = frozenset(("complete_grounded_high",))
"""Slugs of suggestions that ask for nothing."""


def _value(row: DetailedResult, metric: str) -> float | None:
    score = row.metrics.get(metric)
    return None if score is None else score.value


def _alike_but_unfaithful(row: DetailedResult) -> bool:
    similarity, faithfulness = _value(row, "answer_similarity"), _value(row, "faithfulness")
    if similarity is None or faithfulness is None:
        return False
    return similarity >= MEMORY_SIMILARITY and faithfulness <= MEMORY_FAITHFULNESS


def _right_without_evidence(row: DetailedResult) -> bool:
    if not (replied(row) and row.answerable and row.correct) or row.abstained:
        return False
    return row.gold_in_evidence is False or (row.gold_in_evidence is None and not row.evidence)


def _scores(rows: Sequence[DetailedResult], metrics: Mapping[str, MetricSummary]) -> Iterator[str]:
    if not any(map(accepted, rows)):
        yield "No metric has a value: no reply was accepted."
        return
    missing = [name for name, metric in metrics.items() if metric.implementation == NOT_COMPUTED]
    if missing:
        yield f"Not measured at all: {_listed(missing)}."
    for name, metric in metrics.items():
        if name not in missing:
            yield from _score(name, metric)


def _score(name: str, metric: MetricSummary) -> Iterator[str]:
    label = spoken(name).capitalize()
    if metric.note is not None:
        yield f"{label}: {metric.note}."
    elif metric.total and not metric.measured:
        yield f"{label}: nothing was measured ({numbers.count_of(0, metric.total)})."
    elif metric.measured < metric.total:
        yield (
            f"{label}: {numbers.count_of(metric.measured, metric.total)} measured; with the rest "
            f"at worst and at best the mean is {numbers.interval(metric.low, metric.high)}."
        )
    if metric.mean is not None and metric.mean <= GOOD_SCORE:
        yield f"{label} is {numbers.score(metric.mean)}; good is above {GOOD_SCORE:.2f}."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(spoken(name) for name in names)


def headline(
    rows: Sequence[DetailedResult],
    grounding: GroundingReport,
    abstention: AbstentionReport,
    mode: Mode,
) -> Headline:
    """How many answers came from the evidence, what failed, and what to do next."""
    summary, categories = grounding.summary, grounding.response_categories
    band = pass_band(grounding)
    if band == "unmeasured":
        kept = sum(map(answered, rows))
        title = f"None of {numbers.plural(len(rows), 'question')} was verified"
        detail = f"{_nothing_verified(rows, mode)} {numbers.plural(kept, 'answer')} came back."
    else:
        total = numbers.count(summary.total_verified)
        title = f"{numbers.count(categories.grounded_answers)} of {total} replies are answers "
        title += "that came from the evidence"
        detail = _detail(grounding, mode)
    return Headline(title=title, detail=detail, action=_action(grounding, abstention), band=band)


def _detail(grounding: GroundingReport, mode: Mode) -> str:
    summary, categories = grounding.summary, grounding.response_categories
    parts = [f"{numbers.count(categories.insufficient_context)} abstained"]
    failed = numbers.count(summary.verification_failed)
    parts.append(f"{failed} failed verification" + (" and were kept" * (mode is Mode.LENIENT)))
    if categories.errors:
        parts.append(f"{numbers.plural(categories.errors, 'more question')} got no reply")
    text = f"{', '.join(parts[:-1])} and {parts[-1]}."
    if grounding.rejection_breakdown:
        top = grounding.rejection_breakdown[0]
        text += f" Most frequent failure ({top.count}): {REASONS[top.reason].meaning}."
    return text


def _action(grounding: GroundingReport, abstention: AbstentionReport) -> str:
    summary, errors = grounding.summary, grounding.response_categories.errors
    if errors > summary.total_verified:
        return "Most questions got no reply. Run `aletheia doctor`, mend the endpoint, and repeat."
    if grounding.rejection_breakdown:
        return REASONS[grounding.rejection_breakdown[0].reason].advice
    if summary.total_verified == 0:
        return "Run again with `--grounding-mode strict` to see which answers come from evidence."
    if abstention.over_refusals:
        return (
            "Read the abstentions whose evidence held the answer: the prompt is too cautious, "
            "or the evidence is phrased so that the answer is hard to see."
        )
    return "No reply failed. Look at the metrics, and at answers that differ from the gold answer."
