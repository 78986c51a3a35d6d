"""The ask/read pairs of the three judges, and of the one that does all three in one call.

Everything here is a function of its arguments. `ask_*` writes the prompt of a case; `read`
makes a reading of any reply to it, with an entry for every item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from aletheia.grounding.relaxed_json import NumberText
from aletheia.judges.case import OBEYED, ItemAlignment, ItemVerdict, JudgeCase, Reading
from aletheia.judges.prompts import PromptName, PromptSet, evidence_data
from aletheia.judges.reply import Fields, ItemsRead, decode, read_id, read_items
from aletheia.judges.roster import Item, Roster
from aletheia.judges.support import (
    JUDGE_OVERRULED,
    LACKS_LITERALS,
    NO_VALID_UNIT,
    UNKNOWN_UNIT,
    CitedClaim,
    lacking,
    read_units,
)
from aletheia.judges.words import read_verdict
from aletheia.schema.model import Prompt, Reply

CANARY: Final = "canary"
NO_CANARY: Final = "canary_missing"
_CUT: Final = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one call asks for: which prompt, and which answers are read of it."""

    prompt: PromptName
    evidence: bool = True
    questions: bool = False
    claims: bool = False
    alignment: bool = False

    @property
    def shows_questions(self) -> bool:
        """Whether sub-questions stand in the prompt."""
        return self.questions or self.alignment

    @property
    def shows_claims(self) -> bool:
        """Whether claims stand in the prompt."""
        return self.claims or self.alignment


SUFFICIENCY: Final = Task(prompt="sufficiency", questions=True)
FAITHFULNESS: Final = Task(prompt="faithfulness", claims=True)
COMPLETENESS: Final = Task(prompt="completeness", evidence=False, alignment=True)
FUSED: Final = Task(prompt="fused", questions=True, claims=True, alignment=True)


def ask(task: Task, case: JudgeCase, delimiter: str, prompts: PromptSet) -> Prompt:
    """Write the prompt of `task` about `case`; `delimiter` is the random token of the call."""
    sections = [evidence_data(case.trace.evidence)] if task.evidence else []
    if task.shows_questions:
        sections.append(case.questions_asked.section)
    if task.shows_claims:
        sections.append(case.claims_asked.section)
    return prompts.prompt(task.prompt, delimiter, *sections, repeat=case.trace.repeat)


def read(task: Task, case: JudgeCase, reply: Reply | str, *, strict: bool = True) -> Reading:
    """Read any reply to `ask(task, case, ...)`. Never raises.

    In strict, a verdict without the check of its item, and a positive one whose units lack the
    claim's own literals, are problems; else they are warnings.
    """
    text, cut = (
        (reply, False) if isinstance(reply, str) else (reply.text, reply.finish_reason == _CUT)
    )
    return _Reader(task=task, case=case, strict=strict).read(text, cut=cut)


def nothing_read(task: Task, case: JudgeCase, problem: str) -> Reading:
    """Return the reading in which every item that `task` asks about has `problem`."""
    verdict, alignment = ItemVerdict(problem=problem), ItemAlignment(problem=problem)
    return Reading(
        questions={item.id: verdict for item in case.sub_questions} if task.questions else {},
        claims={item.id: verdict for item in case.claims} if task.claims else {},
        alignments={item.id: alignment for item in case.claims} if task.alignment else {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    task: Task
    case: JudgeCase
    strict: bool

    def read(self, text: str, *, cut: bool) -> Reading:
        questions, claims = self.case.questions_asked, self.case.claims_asked
        # The alignment shows questions too, and gets its answers under the claims.
        asked = [questions] if self.task.questions else []
        asked += [claims] if self.task.shows_claims else []
        found = read_items(decode(text, cut=cut), asked)
        none = ItemsRead()
        about_questions, about_claims = found.get("Q", none), found.get("C", none)
        problem = self._canaries(questions, claims, about_questions, about_claims)
        if problem is not None:
            reading = nothing_read(self.task, self.case, problem)
            return replace(reading, findings=(OBEYED,)) if problem == CANARY else reading
        return Reading(
            questions=self._question_verdicts(questions, about_questions),
            claims=self._claim_verdicts(claims, about_claims),
            alignments=self._alignments(claims, questions, about_claims),
        )

    def _canaries(
        self, questions: Roster, claims: Roster, about_questions: ItemsRead, about_claims: ItemsRead
    ) -> str | None:
        """`canary` where a canary came back positive, `canary_missing` where it did not at all."""
        read = [(questions, about_questions)] if self.task.questions else []
        read += [(claims, about_claims)] if self.task.shows_claims else []
        problems = [self._canary(asked, about) for asked, about in read]
        if self.task.alignment and _names(about_claims, questions.canary.key):
            return CANARY
        return CANARY if CANARY in problems else next(filter(None, problems), None)

    def _canary(self, asked: Roster, about: ItemsRead) -> str | None:
        fields = about.fields.get(asked.canary.key)
        if fields is None:
            return _no_canary(about, asked)
        if self.task.alignment and asked.family == "C" and fields.get("answers"):
            return CANARY
        if not (self.task.questions if asked.family == "Q" else self.task.claims):
            return None
        verdict = read_verdict(fields.get("verdict"))
        return NO_CANARY if verdict is None else CANARY if verdict == "Y" else None

    def _question_verdicts(self, asked: Roster, about: ItemsRead) -> dict[int, ItemVerdict]:
        if not self.task.questions:
            return {}
        found = [self._verdict(item, about) for item in asked.asked]
        return {
            item.id: verdict for item, verdict in zip(self.case.sub_questions, found, strict=True)
        }

    def _claim_verdicts(self, asked: Roster, about: ItemsRead) -> dict[int, ItemVerdict]:
        if not self.task.claims:
            return {}
        found = {
            claim.id: self._verdict(item, about)
            for claim, item in zip(self.case.claims, asked.asked, strict=True)
        }
        return {**found, **self._lacking(found)}

    def _verdict(self, item: Item, about: ItemsRead) -> ItemVerdict:
        problem = self._item_problem(item, about)
        if problem is not None:
            return ItemVerdict(problem=problem)
        fields = about.fields[item.key]
        verdict = read_verdict(fields.get("verdict"))
        if verdict is None:
            return ItemVerdict(problem="off_menu" if "verdict" in fields else "no_verdict")
        warnings = () if "check" in fields else ("check_missing",)
        found = ItemVerdict(verdict=verdict, reasoning=_why(fields), warnings=warnings)
        return found if verdict == "N" else self._on_units(found, fields)

    def _on_units(self, found: ItemVerdict, fields: Fields) -> ItemVerdict:
        """Let a positive verdict stand only on units that exist."""
        units, strange = read_units(fields.get("evidence_ids"), self.case.trace.evidence)
        if not units:
            return ItemVerdict(problem=NO_VALID_UNIT)
        warnings = (*found.warnings, UNKNOWN_UNIT) if strange else found.warnings
        return replace(found, evidence_ids=units, warnings=warnings)

    def _lacking(self, found: dict[int, ItemVerdict]) -> dict[int, ItemVerdict]:
        """Return the positive verdicts that do not stand, because their units lack a literal."""
        trace = self.case.trace
        positive = [claim for claim in self.case.claims if found[claim.id].verdict == "Y"]
        cited = [
            CitedClaim(
                text=claim.text,
                own=trace.response[claim.start : claim.end],
                units=found[claim.id].evidence_ids,
            )
            for claim in positive
        ]
        missing = lacking(cited, trace.evidence, question=trace.query)
        return {
            claim.id: self._doubted(found[claim.id], texts)
            for claim, texts in zip(positive, missing, strict=True)
            if texts
        }

    def _doubted(self, found: ItemVerdict, texts: tuple[str, ...]) -> ItemVerdict:
        """Say what decides against a positive verdict; in strict it does not stand."""
        units, lost = ", ".join(found.evidence_ids), ", ".join(f"`{text}`" for text in texts)
        why = f"the judge said Y on {units}, which lacks {lost}"
        if self.strict:
            return ItemVerdict(problem=LACKS_LITERALS, reasoning=why, warnings=(JUDGE_OVERRULED,))
        reasoning = f"{found.reasoning}; {why}" if found.reasoning else why
        return replace(found, reasoning=reasoning, warnings=(*found.warnings, LACKS_LITERALS))

    def _item_problem(self, item: Item, about: ItemsRead) -> str | None:
        problem = about.problems.get(item.key)
        if problem is None and self.strict and "check" not in about.fields[item.key]:
            return "check_missing"
        return problem

    def _alignments(
        self, asked: Roster, questions: Roster, about: ItemsRead
    ) -> dict[int, ItemAlignment]:
        if not self.task.alignment:
            return {}
        questions_shown = zip(questions.asked, self.case.sub_questions, strict=True)
        ids = {item.key: question.id for item, question in questions_shown}
        return {
            claim.id: self._alignment(item, about, ids)
            for claim, item in zip(self.case.claims, asked.asked, strict=True)
        }

    def _alignment(self, item: Item, about: ItemsRead, ids: dict[str, int]) -> ItemAlignment:
        problem = self._item_problem(item, about)
        if problem is not None:
            return ItemAlignment(problem=problem)
        fields = about.fields[item.key]
        answers = _answers(fields.get("answers"), ids)
        off_topic = read_verdict(fields.get("off_topic"))
        if isinstance(answers, str):
            return ItemAlignment(problem=answers)
        if off_topic is None:
            return ItemAlignment(problem="off_menu" if "off_topic" in fields else "no_verdict")
        if answers and off_topic == "Y":
            return ItemAlignment(problem="contradictory")
        return ItemAlignment(answers=answers, off_topic=off_topic == "Y")


def _no_canary(about: ItemsRead, asked: Roster) -> str | None:
    """A reply that was cut may lack the canary; one that leaves it out or garbles it may not."""
    problem = about.problems[asked.canary.key]
    if problem in ("missing", "duplicate_id", "duplicate_key", "check_mismatch"):
        return NO_CANARY
    return None if about.fields else problem


def _names(about: ItemsRead, key: str) -> bool:
    """Whether any claim is said to answer the canary among the questions."""
    for fields in about.fields.values():
        answers = fields.get("answers")
        for answer in answers if isinstance(answers, list) else [answers]:
            found = read_id(answer, "Q")
            if found is not None and f"Q{found[1]}" == key:
                return True
    return False


def _answers(value: object, ids: dict[str, int]) -> tuple[int, ...] | str:
    """Ids of the sub-questions named, or the problem with them."""
    if value is None:
        return "no_answers"
    found: dict[int, None] = {}
    for answer in value if isinstance(value, list) else [value] if value != "" else []:
        read = read_id(answer, "Q")
        if read is None or f"Q{read[1]}" not in ids:
            return "unknown_id"
        found[ids[f"Q{read[1]}"]] = None
    return tuple(found)


def _why(fields: Fields) -> str:
    why = fields.get("why")
    return why if isinstance(why, str) and not isinstance(why, NumberText) else ""
