"""The embedded completeness judge: which claims speak of what a sub-question asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from aletheia.judges.base import Judged, Outcome, TraceCase
from aletheia.judges.embedded.questions import is_task
from aletheia.judges.embedded.topicality import Fit, Topicality, gated
from aletheia.judges.embedded.trees import model
from aletheia.judges.rules import settled_completeness
from aletheia.schema.judgement import Alignment, CompletenessJudgment
from aletheia.schema.trace import Claim, SubQuestion

ANSWERS: Final = 0.45
"""Fit from which a claim answers a sub-question."""
FOREIGN: Final = 0.15
"""Relation to all that was asked and answered below which a claim speaks of another topic."""
_PRONOUN_NEAR: Final = 0.05
"""The same for a claim that a pronoun ties to what was asked."""
_NEARLY: Final = 0.8


class EmbeddedCompletenessJudge:
    """Aligns claims with sub-questions by their words, without a model behind it.

    Every alignment has low confidence, but that of one sub-question with claims of its topic.
    """

    @property
    def name(self) -> str:
        """Which kind of judge this is."""
        return "embedded"

    @property
    def making(self) -> Mapping[str, str]:
        """What results keep of it."""
        return {"completeness_judge": self.name, "embedded_model": model().version}

    async def judge_completeness(
        self, case: TraceCase, sub_questions: Sequence[SubQuestion], claims: Sequence[Claim]
    ) -> Outcome[CompletenessJudgment]:
        """Return the alignment of the whole trace."""
        settled = settled_completeness(case, sub_questions, claims)
        if settled is not None:
            return settled
        return Judged(value=align(sub_questions, claims))


def align(sub_questions: Sequence[SubQuestion], claims: Sequence[Claim]) -> CompletenessJudgment:
    """Which claims answer which sub-question, and which speak of another topic.

    A claim answers the sub-question it fits best, and others it fits nearly as well. What is left
    of both is matched in the order of the response.
    """
    if is_task(sub_questions[0].text):
        return _all_of_it(sub_questions, claims)
    found = Topicality(sub_questions, claims)
    chosen = {item.id: _chosen(item, found.fits) for item in sub_questions}
    for item in sub_questions:
        if not chosen[item.id]:
            chosen[item.id] = _left_over(item, found, chosen)
    used = {at for places in chosen.values() for at in places}
    extras = tuple(
        claim.id
        for at, claim in enumerate(claims)
        if at not in used and _is_foreign(found, at, used)
    )
    plain = len(sub_questions) == 1 and bool(used) and not extras
    return CompletenessJudgment(
        alignments=tuple(
            Alignment(sub_question_id=key, claim_ids=tuple(claims[at].id for at in places))
            for key, places in chosen.items()
        ),
        extras=extras,
        reasoning=_reasoning(found.fits),
        confidence="high" if plain else "low",
    )


def _all_of_it(
    sub_questions: Sequence[SubQuestion], claims: Sequence[Claim]
) -> CompletenessJudgment:
    ids = tuple(claim.id for claim in claims)
    return CompletenessJudgment(
        alignments=tuple(
            Alignment(sub_question_id=item.id, claim_ids=ids) for item in sub_questions
        ),
        reasoning="a text was asked for: all of it answers",
        confidence="low",
    )


def _chosen(item: SubQuestion, fits: Mapping[int, Sequence[Fit]]) -> list[int]:
    """Places of the claims that fit this sub-question, and no other one much better."""
    return [
        at
        for at, fit in enumerate(fits[item.id])
        if fit.score >= ANSWERS
        and fit.score >= _NEARLY * max(row[at].score for row in fits.values())
        and (fit.typed is not False or not gated(item.text))
    ]


def _left_over(
    item: SubQuestion, found: Topicality, chosen: Mapping[int, Sequence[int]]
) -> list[int]:
    """The best of the claims that answer nothing yet, where it could answer this sub-question."""
    used = {at for places in chosen.values() for at in places}
    fits = found.fits[item.id]
    left = [
        at
        for at in range(len(found.claims))
        if at not in used
        and (fits[at].typed is not False or not gated(item.text))
        and _may_answer(found, item, at)
    ]
    best = max(left, key=lambda at: (round(fits[at].score, 1), -at), default=None)
    return _second_use(fits) if best is None else [best]


def _second_use(fits: Sequence[Fit]) -> list[int]:
    """A claim that answers another sub-question better may answer this one too."""
    fitting = [at for at, fit in enumerate(fits) if fit.score >= ANSWERS and fit.typed is not False]
    return sorted(fitting, key=lambda at: -fits[at].score)[:1]


def _may_answer(found: Topicality, item: SubQuestion, at: int) -> bool:
    """Whether the claim is near the question, or speaks on about what was asked."""
    if len(found.claims) == len(found.sub_questions) == 1 and found.is_bare(at):
        return True
    fit = found.fits[item.id][at]
    near = fit.related >= FOREIGN or (found.refers(at) and len(found.sub_questions) == 1)
    return near or (found.refers(at) and (fit.typed is True or fit.related >= _PRONOUN_NEAR))


def _is_foreign(found: Topicality, at: int, used: set[int]) -> bool:
    """Whether the claim has nothing to do with the questions and what answers them."""
    if not used or found.refers(at) or found.is_aside(at) or found.says_little(at):
        return False
    if found.is_parallel(at, used):
        return True
    return found.relation(at, sorted(used)) < FOREIGN


def _reasoning(fits: Mapping[int, Sequence[Fit]]) -> str:
    best = [f"{max(fit.score for fit in row):.2f}" for row in fits.values()]
    return f"best fit of each sub-question: {', '.join(best)}"
