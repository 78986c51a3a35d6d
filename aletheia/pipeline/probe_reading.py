"""What a reply under a condition says, next to the base answer: one word for each condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aletheia.diagnosis.abstention import is_abstention_literal
from aletheia.diagnosis.attribution import Base, ClosedBook, Counterfactual, Removal
from aletheia.graph.text import fold
from aletheia.grounding.verify import VerifyOptions, verify_reply
from aletheia.pipeline import gold
from aletheia.pipeline.outcome import answer_of
from aletheia.pipeline.probe_conditions import Counterfact, Shown
from aletheia.schema.attribution import Condition, ConditionRecord, Status
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.question import Question

NOT_TOLD = "it cannot be told whether this answer is right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A reply as read. `answer` is None for an abstention, and for a reply that is no answer.

    `problem` says why it is none. `correct` compares with the gold answer of `question`.
    """

    question: Question
    raw: str
    answer: str | None
    abstained: bool
    problem: str | None
    verified: bool
    correct: bool | None
    cited: tuple[str, ...]


def read(question: Question, evidence: EvidenceSet, raw: str) -> Said:
    """Read a reply as a benchmark does."""
    found = verify_reply(evidence, raw, question=question.question, options=VerifyOptions())
    answer = answer_of(found)
    # An abstention that cites something is rejected, but it is no answer all the same.
    literal = answer is not None and is_abstention_literal(answer)
    answer = None if literal else answer
    return Said(
        question=question,
        raw=raw,
        answer=answer,
        abstained=found.abstained or literal,
        problem=None if found.problem is None else f"the reply is no answer: {found.problem}",
        verified=found.verified,
        correct=gold.is_correct(question, answer),
        cited=found.cited_ids,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseAnswer:
    """The answer that is traced. `forms` are the texts that count as the same answer."""

    question: Question
    said: Said
    evidence: EvidenceSet

    @property
    def right(self) -> bool:
        """Whether it is right."""
        return self.said.correct is True

    @property
    def forms(self) -> tuple[str, ...]:
        """The gold answer and its aliases where it is right, else its own words."""
        if self.right:
            return (self.question.answer, *self.question.answer_aliases)
        return (self.said.answer or "",)

    @property
    def outcome(self) -> Base | None:
        """Right, wrong or abstained; None where it cannot be told."""
        if self.said.abstained:
            return "abstained"
        if self.said.correct is None:
            return None
        return "right" if self.said.correct else "wrong"

    def same(self, said: Said) -> bool | None:
        """Whether another reply gives the same answer; None where it cannot be told."""
        if said.answer is None:
            return None
        if fold(said.answer) == fold(self.said.answer or ""):
            return True
        return gold.is_correct(self.question, said.answer) if self.right else False


def closed_book_outcome(base: BaseAnswer, said: Said) -> ClosedBook | None:
    """Compare the answer without evidence."""
    if said.abstained:
        return "abstained"
    same = base.same(said)
    return None if same is None else "same" if same else "other"


def removal_outcome(base: BaseAnswer, said: Said) -> Removal | None:
    """Compare the answer with fewer units, or with the same in another order."""
    if said.abstained:
        return "abstained"
    same = base.same(said)
    return None if same is None else "same" if same else "changed"


def counterfactual_outcome(
    base: BaseAnswer, said: Said, made: Counterfact
) -> Counterfactual | None:
    """Say whether the answer follows the other evidence, or stays the old one."""
    if said.answer is None and not said.abstained:
        return None
    follows = _gives(made.wanted, said.answer, exact=not base.right)
    if made.renamed:
        return "followed" if follows else "lost"
    stays = _gives(made.before, said.answer, exact=not base.right)
    if follows == stays:
        return "unclear"
    return "followed" if follows else "kept"


def _gives(forms: Sequence[str], answer: str | None, *, exact: bool) -> bool:
    if answer is None:
        return False
    if exact:
        return fold(answer) == fold(forms[0])
    return gives(forms, answer) is True


def record(
    condition: Condition, shown: Shown | None, said: Said, outcome: str | None
) -> ConditionRecord:
    """Write down one reply. Without an `outcome` it is unmeasured."""
    known, unknown = shown.base_ids(said.cited) if shown else ((), said.cited)
    return ConditionRecord(
        condition=condition,
        status="unmeasured" if outcome is None else "measured",
        outcome=outcome,
        reason=(said.problem or NOT_TOLD) if outcome is None else None,
        question=said.question.question,
        answer=said.answer,
        correct=said.correct,
        abstained=said.abstained,
        verified=said.verified if shown else None,
        shown=shown.ids if shown else (),
        texts=tuple(unit.text for unit in shown.evidence) if shown and shown.replaced else (),
        cited=known,
        cited_unknown=unknown,
        raw_reply=said.raw,
    )


def absent(
    condition: Condition, reason: str, *, asked: bool = True, possible: bool = True
) -> ConditionRecord:
    """Write down that there is no reply: not asked for, not possible, or it did not come."""
    status: Status = "unmeasured" if possible else "not_applicable"
    return ConditionRecord(
        condition=condition, status=status if asked else "not_asked", reason=reason
    )


def gives(forms: Sequence[str], answer: str | None) -> bool | None:
    """Whether an answer holds one of these forms, by the matcher of gold answers."""
    asked = Question(id="-", question="-", answer=forms[0], answer_aliases=tuple(forms[1:]))
    return gold.is_correct(asked, answer)


def with_wanted(item: ConditionRecord, made: Counterfact) -> ConditionRecord:
    """Add which answer follows the evidence, and which one is the old one."""
    return item.model_copy(update={"wanted": made.wanted, "wanted_before": made.before})
