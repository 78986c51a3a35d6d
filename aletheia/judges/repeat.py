"""Many outcomes about one trace into one: the majority, and how stable it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeVar

from aletheia.judges.base import Failed, Judged, Outcome, Skipped
from aletheia.schema.judgement import CompletenessJudgment, Judgment

NO_MAJORITY: Final = "no_majority"

T = TypeVar("T")
J = TypeVar("J", bound=Judgment)


def majority(outcomes: Sequence[Outcome[tuple[J, ...]]]) -> Outcome[tuple[J, ...]]:
    """Join the verdicts of several repeats over the same items.

    A verdict stands when more than half of all repeats gave it; one that is missing counts for
    neither side. `agreement` of an item is the share of repeats that gave its verdict.
    """
    judged, other = _judged(outcomes)
    if other is not None:
        return other
    columns = zip(*(outcome.value for outcome in judged), strict=True)
    return Judged(
        value=tuple(_vote(column, len(outcomes)) for column in columns),
        findings=_findings(judged),
        message=_message(outcomes),
    )


def majority_alignment(
    outcomes: Sequence[Outcome[CompletenessJudgment]],
) -> Outcome[CompletenessJudgment]:
    """Join the alignments of several repeats: the one that more than half of all gave stands."""
    judged, other = _judged(outcomes)
    if other is not None:
        return other
    measured = [outcome.value for outcome in judged if outcome.value.problem is None]
    votes = Counter((item.alignments, item.extras) for item in measured)
    best, count = votes.most_common(1)[0] if votes else (None, 0)
    if count * 2 <= len(outcomes):
        first = next((o.value.problem for o in judged if o.value.problem), None)
        value = CompletenessJudgment(problem=NO_MAJORITY if measured else first or NO_MAJORITY)
    else:
        chosen = next(item for item in measured if (item.alignments, item.extras) == best)
        value = chosen.model_copy(update={"agreement": count / len(outcomes)})
    return Judged(value=value, findings=_findings(judged), message=_message(outcomes))


def _vote(column: tuple[J, ...], repeats: int) -> J:
    votes = Counter(item.verdict for item in column if item.verdict is not None)
    best, count = votes.most_common(1)[0] if votes else (None, 0)
    if count * 2 > repeats:
        agreeing = [item for item in column if item.verdict == best]
        # One repeat that was unsure makes the verdict unsure, whichever of them came first.
        unsure = any(item.confidence == "low" for item in agreeing)
        return agreeing[0].model_copy(
            update={
                "agreement": count / repeats,
                "confidence": "low" if unsure else agreeing[0].confidence,
                "warnings": tuple(dict.fromkeys(w for item in agreeing for w in item.warnings)),
            }
        )
    problem = NO_MAJORITY if votes else column[0].problem
    return column[0].model_copy(
        update={
            "verdict": None,
            "problem": problem,
            "evidence_ids": (),
            "reasoning": "",
            "score": None,
            "confidence": None,
        }
    )


def _judged(
    outcomes: Sequence[Outcome[T]],
) -> tuple[list[Judged[T]], Skipped | Failed | None]:
    """Return those with a judgement, or the outcome that stands for all where there is none."""
    judged = [outcome for outcome in outcomes if isinstance(outcome, Judged)]
    others = [outcome for outcome in outcomes if not isinstance(outcome, Judged)]
    return judged, None if judged else others[0]


def _findings(judged: Sequence[Judged[T]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for outcome in judged for code in outcome.findings))


def _message(outcomes: Sequence[Outcome[T]]) -> str | None:
    found = [getattr(outcome, "message", None) for outcome in outcomes]
    return "; ".join(dict.fromkeys(text for text in found if text)) or None
