"""Judges over chat models: the isolated three, and the one that does it in two calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from aletheia.judges.asking import Asker, Read, making
from aletheia.judges.base import (
    Failed,
    Judged,
    Outcome,
    ResponsePieces,
    TraceCase,
    Verdicts,
)
from aletheia.judges.case import ItemVerdict, JudgeCase, Reading
from aletheia.judges.decompose import (
    Unread,
    ask_both,
    ask_query,
    ask_response,
    read_query,
    read_response,
)
from aletheia.judges.prompts import told
from aletheia.judges.verdicts import COMPLETENESS, FAITHFULNESS, FUSED, SUFFICIENCY
from aletheia.schema.judgement import (
    Alignment,
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.model import Prompt, Reply
from aletheia.schema.trace import Claim, SubQuestion

T = TypeVar("T")

_NAME: Final = "llm"


class LLMDecomposer:
    """`Decomposer` over a chat model. A reply that cannot be read is asked for once more."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    @property
    def name(self) -> str:
        """Which kind of decomposer this is."""
        return _NAME

    @property
    def making(self) -> Mapping[str, str]:
        """Model and prompts."""
        asker = self._asker
        return {
            "decomposer": self.name,
            **making(
                "decomposer", asker.model, asker.prompts, "decompose_query", "decompose_response"
            ),
        }

    async def decompose_query(self, case: TraceCase) -> Outcome[tuple[SubQuestion, ...]]:
        """Return the sub-questions."""
        prompt = ask_query(case, self._asker.delimiter(), self._asker.prompts)
        return await _decomposed(self._asker, prompt, lambda reply: read_query(case, reply))

    async def decompose_response(self, case: TraceCase) -> Outcome[ResponsePieces]:
        """Return the claims."""
        prompt = ask_response(case, self._asker.delimiter(), self._asker.prompts)
        return await _decomposed(self._asker, prompt, lambda reply: read_response(case, reply))


class LLMJudge:
    """The three isolated judges over one chat model, each with a call of its own."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    @property
    def name(self) -> str:
        """Which kind of judge this is."""
        return _NAME

    @property
    def making(self) -> Mapping[str, str]:
        """Model and prompts."""
        names = ("sufficiency", "faithfulness", "completeness")
        asker = self._asker
        return {"judge": self.name, **making("judge", asker.model, asker.prompts, *names)}

    async def judge_sufficiency(
        self, case: TraceCase, sub_questions: Sequence[SubQuestion]
    ) -> Outcome[tuple[SufficiencyJudgment, ...]]:
        """Return one judgment for each sub-question."""
        asked = JudgeCase(trace=case, sub_questions=tuple(sub_questions))
        done = await self._asker.judge(SUFFICIENCY, asked)
        return _outcome(done, _sufficiency(sub_questions, done.reading))

    async def judge_faithfulness(
        self, case: TraceCase, claims: Sequence[Claim]
    ) -> Outcome[tuple[FaithfulnessJudgment, ...]]:
        """Return one judgment for each claim."""
        done = await self._asker.judge(FAITHFULNESS, JudgeCase(trace=case, claims=tuple(claims)))
        return _outcome(done, _faithfulness(claims, done.reading))

    async def judge_completeness(
        self, case: TraceCase, sub_questions: Sequence[SubQuestion], claims: Sequence[Claim]
    ) -> Outcome[CompletenessJudgment]:
        """Return which claims answer which sub-question."""
        asked = JudgeCase(trace=case, sub_questions=tuple(sub_questions), claims=tuple(claims))
        done = await self._asker.judge(COMPLETENESS, asked)
        return _outcome(done, _completeness(sub_questions, claims, done.reading))


class LLMFusedJudge:
    """`FusedJudge`: one call cuts both texts, one more gives all three judgements.

    Cheaper than the isolated judges, and less careful: the judges see one another's items.
    """

    def __init__(self, asker: Asker, *, decomposer: Asker | None = None) -> None:
        self._asker = asker
        self._decomposer = decomposer or asker

    @property
    def name(self) -> str:
        """Which kind of judge this is."""
        return "llm_fused"

    @property
    def making(self) -> Mapping[str, str]:
        """Models and prompts."""
        cutter, asker = self._decomposer, self._asker
        return {
            "decomposer": self.name,
            "judge": self.name,
            **making("decomposer", cutter.model, cutter.prompts, "decompose"),
            **making("judge", asker.model, asker.prompts, "fused"),
        }

    async def decompose(
        self, case: TraceCase
    ) -> tuple[Outcome[tuple[SubQuestion, ...]], Outcome[ResponsePieces]]:
        """Return the sub-questions and the claims; what cannot be read is asked for once more."""
        asker = self._decomposer
        prompt = ask_both(case, asker.delimiter(), asker.prompts)
        reply = await asker.reply(prompt)
        if isinstance(reply, Failed):
            return reply, reply
        questions, pieces = read_query(case, reply), read_response(case, reply)
        problems = [item.problem for item in (questions, pieces) if isinstance(item, Unread)]
        if not problems:
            return _read_twice(questions), _read_twice(pieces)
        again = await asker.reply(replace(prompt, user=told(prompt, problems)))
        return (
            _second(questions, again, lambda reply: read_query(case, reply)),
            _second(pieces, again, lambda reply: read_response(case, reply)),
        )

    async def judge(
        self, case: TraceCase, sub_questions: Sequence[SubQuestion], claims: Sequence[Claim]
    ) -> Verdicts:
        """Return the outcomes of all three judgements."""
        asked = JudgeCase(trace=case, sub_questions=tuple(sub_questions), claims=tuple(claims))
        done = await self._asker.judge(FUSED, asked)
        reading = done.reading
        return Verdicts(
            sufficiency=_outcome(done, _sufficiency(sub_questions, reading)),
            faithfulness=_outcome(done, _faithfulness(claims, reading)),
            completeness=_outcome(done, _completeness(sub_questions, claims, reading)),
        )


async def _decomposed(
    asker: Asker, prompt: Prompt, read: Callable[[Reply], Judged[T] | Unread]
) -> Outcome[T]:
    reply = await asker.reply(prompt)
    if isinstance(reply, Failed):
        return reply
    found = read(reply)
    if isinstance(found, Unread):
        again = await asker.reply(replace(prompt, user=told(prompt, [found.problem])))
        if isinstance(again, Failed):
            return again
        found = read(again)
    return _read_twice(found)


def _second(
    first: Judged[T] | Unread, again: Reply | Failed, read: Callable[[Reply], Judged[T] | Unread]
) -> Outcome[T]:
    """What could be read the first time stands; the rest is read of the second reply."""
    if isinstance(first, Judged):
        return first
    return again if isinstance(again, Failed) else _read_twice(read(again))


def _read_twice(found: Judged[T] | Unread) -> Outcome[T]:
    if isinstance(found, Judged):
        return found
    return Failed(
        code="bad_reply", message=f"the reply holds no decomposition, twice: `{found.problem}`"
    )


def _outcome(done: Read, value: T) -> Outcome[T]:
    """Failed where no item got so far as to be read, else judged as far as it goes."""
    reading = done.reading
    groups = (reading.questions, reading.claims, reading.alignments)
    if done.failed and not any(item.problem is None for group in groups for item in group.values()):
        first = done.failed[0]
        return Failed(code=first.code, message=first.message, findings=reading.findings)
    return Judged(value=value, findings=reading.findings, message=done.message)


def _sufficiency(
    sub_questions: Sequence[SubQuestion], reading: Reading
) -> tuple[SufficiencyJudgment, ...]:
    return tuple(
        SufficiencyJudgment(
            sub_question_id=item.id,
            verdict=found.verdict,
            reasoning=found.reasoning,
            evidence_ids=found.evidence_ids,
            warnings=found.warnings,
            problem=found.problem,
        )
        for item in sub_questions
        for found in [reading.questions[item.id]]
    )


def _faithfulness(claims: Sequence[Claim], reading: Reading) -> tuple[FaithfulnessJudgment, ...]:
    return tuple(
        FaithfulnessJudgment(
            claim_id=item.id,
            verdict=found.verdict,
            reasoning=found.reasoning,
            evidence_ids=found.evidence_ids,
            warnings=found.warnings,
            problem=found.problem,
            unsupported=_unsupported(item, found),
        )
        for item in claims
        for found in [reading.claims[item.id]]
    )


def _unsupported(claim: Claim, found: ItemVerdict) -> tuple[tuple[int, int], ...]:
    return ((claim.start, claim.end),) if found.verdict == "N" else ()


def _completeness(
    sub_questions: Sequence[SubQuestion], claims: Sequence[Claim], reading: Reading
) -> CompletenessJudgment:
    problem = next((item.problem for item in reading.alignments.values() if item.problem), None)
    if problem is not None:
        return CompletenessJudgment(problem=problem)
    found = [(claim.id, reading.alignments[claim.id]) for claim in claims]
    return CompletenessJudgment(
        alignments=tuple(
            Alignment(
                sub_question_id=item.id,
                claim_ids=tuple(claim for claim, one in found if item.id in one.answers),
            )
            for item in sub_questions
        ),
        extras=tuple(claim for claim, one in found if one.off_topic),
    )
