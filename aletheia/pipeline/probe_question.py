"""One question under every condition, and where its answer came from."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import anyio

from aletheia.diagnosis.attribution import Observations, attribute
from aletheia.errors import AletheiaError, BudgetExceeded, ModelError
from aletheia.generators.base import Generation, Generator
from aletheia.generators.closed_book import ClosedBook
from aletheia.grounding.numbering import number
from aletheia.llm.budget import Budget, budget_scope
from aletheia.llm.tracking import CostScope
from aletheia.pipeline import probe_conditions as conditions
from aletheia.pipeline import probe_reading as reading
from aletheia.pipeline.answer import Options, Retriever
from aletheia.pipeline.probe_conditions import Counterfacts, Shown
from aletheia.pipeline.probe_judging import ProbeJudging, Reread, base_row, judged
from aletheia.pipeline.probe_reading import BaseAnswer, Said
from aletheia.pipeline.references import with_references
from aletheia.schema.attribution import (
    CONDITIONS,
    Condition,
    ConditionRecord,
    Probe,
    QuestionProbe,
)
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.model import Embedder
from aletheia.schema.question import Question
from aletheia.schema.report import UnitRecord
from aletheia.schema.verification import Mode

_log = logging.getLogger(__name__)

NO_ANSWER: Final = "there is no answer to trace"
NOT_CHOSEN: Final = "this probe was not chosen"
NOT_NEEDED: Final = "the answer went with its citations"
NO_CITATIONS: Final = "the answer cites nothing that was shown"

CONDITIONS_OF: Final[dict[Probe, tuple[Condition, ...]]] = {
    "closed-book": ("closed_book",),
    "counterfactual": ("counterfactual",),
    "ablation": ("cited_removed", "holding_removed", "irrelevant_removed"),
    "shuffle": ("shuffled",),
}
"""Which conditions each probe asks for; `base` is asked for always."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeStages:
    """What probes work with: the same generator with and without evidence, and a renaming.

    `judging` says who looks at the replies afterwards.
    """

    graph: Retriever
    generator: Generator
    closed_book: ClosedBook
    counterfacts: Counterfacts
    embedder: Embedder | None
    probes: frozenset[Probe]
    seed: int = 0
    judging: ProbeJudging = field(default_factory=ProbeJudging)

    def asks(self, condition: Condition) -> bool:
        """Whether a condition was chosen."""
        return any(condition in CONDITIONS_OF[probe] for probe in self.probes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """A question that was probed. `failure` names what the endpoint failed at with the base answer.

    `over_budget` says that the budget of the run is used up. `base` is the base answer as a row.
    """

    probe: QuestionProbe
    base: Reread
    failure: str | None = None
    over_budget: str | None = None

    @property
    def incomplete(self) -> bool:
        """Whether a reply is missing that another try may bring."""
        return any(item.status == "unmeasured" for item in self.probe.conditions)


async def probe_question(question: Question, stages: ProbeStages, options: Options) -> Probed:
    """Ask one question under every chosen condition.

    Raises only what ends the run: a setting, a file, a missing package. What a model or a budget
    fails at is an unmeasured condition.
    """
    work = _Work(question=question, stages=stages, options=options)
    with budget_scope(_budget(options)), CostScope() as scope:
        await work.all()
        base = await work.judge()
    made = work.result().model_copy(update={"cost": scope.cost})
    return Probed(probe=made, base=base, failure=work.failure, over_budget=work.over_budget)


async def evidence_for(question: Question, stages: ProbeStages, options: Options) -> EvidenceSet:
    """Retrieve and number the evidence as a benchmark does."""
    found = await anyio.to_thread.run_sync(
        lambda: stages.graph.retrieve(
            question.question,
            hops=options.hops,
            max_units=options.max_units,
            embedder=stages.embedder,
            community=options.community,
        )
    )
    return number(with_references(found.units, question.supporting_facts))


def not_asked(question: Question, reason: str) -> QuestionProbe:
    """Make the record of a question that the run no longer asked."""
    items = tuple(reading.absent(name, reason) for name in CONDITIONS)
    return _result(question, EvidenceSet(), {item.condition: item for item in items}, None)


def _budget(options: Options) -> Budget | None:
    if options.budget_usd is None:
        return None
    return Budget(options.budget_usd, scope="trace", unknown_price=options.unknown_price)


@dataclass(slots=True, kw_only=True)
class _Work:
    """One question on its way through the conditions."""

    question: Question
    stages: ProbeStages
    options: Options
    evidence: EvidenceSet = field(default_factory=EvidenceSet)
    records: dict[Condition, ConditionRecord] = field(default_factory=dict)
    shown: dict[Condition, Shown] = field(default_factory=dict)
    base: BaseAnswer | None = None
    failure: str | None = None
    over_budget: str | None = None

    async def all(self) -> None:
        """Ask for the base answer, then for everything that is compared with it."""
        await self._base()
        if self.base is None:
            return
        todo: list[Callable[[], Awaitable[None]]] = []
        if self.stages.asks("closed_book"):
            todo.append(self._closed_book)
        if self.base.said.answer is not None:
            chosen = {"counterfactual": self._counterfactual, "shuffled": self._shuffled}
            todo += [work for name, work in chosen.items() if self.stages.asks(name)]  # type: ignore[arg-type]
            if self.stages.asks("cited_removed"):
                todo += [self._ablation, self._irrelevant]
        async with anyio.create_task_group() as group:
            for work in todo:
                group.start_soon(work)  # type: ignore[arg-type]

    async def judge(self) -> Reread:
        """Verify all replies in every mode and put them into cells; return the base as a row."""
        by = self.stages.judging
        for name, item in self.records.items():
            shown = self.shown.get(name)
            self.records[name] = await judged(
                item,
                shown.question if shown else self.question,
                shown.evidence if shown else self.evidence,
                by,
                blind=shown is None,
            )
        base = self.records["base"]
        return await base_row(base, self.question, self.evidence, by)

    def result(self) -> QuestionProbe:
        """Put the records together; a condition without one says why."""
        for name in CONDITIONS:
            if name not in self.records:
                self.records[name] = self._unasked(name)
        return _result(self.question, self.evidence, self.records, self.base)

    def _unasked(self, name: Condition) -> ConditionRecord:
        if not self.stages.asks(name):
            return reading.absent(name, NOT_CHOSEN, asked=False)
        answered = self.base is not None and self.base.said.answer is not None
        return reading.absent(name, NOT_NEEDED if answered else NO_ANSWER, asked=False)

    async def _base(self) -> None:
        said = await self._ask("base", self._generated_base)
        if said is None:
            return
        base = BaseAnswer(question=self.question, said=said, evidence=self.evidence)
        shown = conditions.as_it_is(self.question, self.evidence)
        self._keep("base", shown, said, base.outcome)
        if base.outcome is not None:
            self.base = base

    async def _generated_base(self) -> Said:
        self.evidence = await evidence_for(self.question, self.stages, self.options)
        return await self._generated(conditions.as_it_is(self.question, self.evidence))

    async def _generated(self, shown: Shown) -> Said:
        made = await self.stages.generator.generate(
            shown.question.question, shown.evidence, mode=Mode.STRICT
        )
        return reading.read(shown.question, shown.evidence, made.reply)

    async def _closed_book(self) -> None:
        async def without() -> Said:
            made: Generation = await self.stages.closed_book.generate(self.question.question)
            return reading.read(self.question, EvidenceSet(), made.reply)

        said = await self._ask("closed_book", without)
        if said is not None and self.base is not None:
            self._keep("closed_book", None, said, reading.closed_book_outcome(self.base, said))

    async def _counterfactual(self) -> None:
        if self.base is None:
            return
        made = self.stages.counterfacts.make(
            self.question, self.evidence, self.base.forms, right=self.base.right
        )
        if isinstance(made, str):
            self._impossible("counterfactual", made)
            return
        shown = made.shown
        said = await self._ask("counterfactual", lambda: self._generated(shown))
        if said is None:
            return
        outcome = reading.counterfactual_outcome(self.base, said, made)
        self._keep("counterfactual", shown, said, outcome)
        item = reading.with_wanted(self.records["counterfactual"], made)
        correct = reading.gives(made.wanted, said.answer) if self.base.right else None
        self.records["counterfactual"] = item.model_copy(update={"correct": correct})

    async def _shuffled(self) -> None:
        shown = conditions.shuffled(self.question, self.evidence, self.stages.seed)
        await self._compared("shuffled", shown)
        item = self.records["shuffled"]
        if self.base is not None and item.status == "measured" and self.base.said.cited:
            stable = item.outcome == "same" and set(item.cited) == set(self.base.said.cited)
            self.records["shuffled"] = item.model_copy(update={"citations_stable": stable})

    async def _ablation(self) -> None:
        """Remove what is cited; where the rest still holds the answer, that as well."""
        if self.base is None:
            return
        cited, holding = self._cited(), self._holding()
        if cited:
            await self._compared("cited_removed", self._without(cited))
            item = self.records["cited_removed"]
            held = bool(holding - cited)
            self.records["cited_removed"] = item.model_copy(update={"still_held": held})
            if item.outcome != "same" or not held:
                return
        else:
            self._impossible("cited_removed", NO_CITATIONS)
        if holding or cited:
            await self._compared("holding_removed", self._without(holding | cited))
        else:
            self._impossible("holding_removed", "no unit holds the answer")

    async def _irrelevant(self) -> None:
        relevant = self._cited() | self._holding()
        if relevant >= set(self.evidence.ids):
            self._impossible("irrelevant_removed", "no unit is irrelevant")
            return
        shown = conditions.only(self.question, self.evidence, relevant)
        await self._compared("irrelevant_removed", shown)

    def _cited(self) -> frozenset[str]:
        cited = self.base.said.cited if self.base else ()
        return frozenset(unit for unit in cited if unit in self.evidence)

    def _holding(self) -> frozenset[str]:
        if self.base is None:
            return frozenset()
        facts = self.question.supporting_facts if self.base.right else ()
        return conditions.holders(self.evidence, self.base.forms, facts)

    def _without(self, ids: Iterable[str]) -> Shown | str:
        return conditions.without(self.question, self.evidence, ids)

    async def _compared(self, name: Condition, shown: Shown | str) -> None:
        if isinstance(shown, str):
            self._impossible(name, shown)
            return
        said = await self._ask(name, lambda: self._generated(shown))
        if said is not None and self.base is not None:
            self._keep(name, shown, said, reading.removal_outcome(self.base, said))

    def _impossible(self, name: Condition, reason: str) -> None:
        self.records[name] = reading.absent(name, reason, possible=False)

    def _keep(self, name: Condition, shown: Shown | None, said: Said, outcome: str | None) -> None:
        self.records[name] = reading.record(name, shown, said, outcome)
        if shown is not None:
            self.shown[name] = shown

    async def _ask(self, name: Condition, ask: Callable[[], Awaitable[Said]]) -> Said | None:
        """Ask; what fails is an unmeasured condition with its reason."""
        try:
            return await ask()
        except BudgetExceeded as error:
            reason = f"over the budget: {error}"
            self.over_budget = str(error) if error.scope == "run" else self.over_budget
        except ModelError as error:
            reason = f"no reply: {error}"
            if name == "base":
                self.failure = f"{type(error).__name__} {error.status or error.message}"
        except AletheiaError:
            raise
        except Exception as error:  # noqa: BLE001 - the border of one question
            _log.debug("question `%s` failed", self.question.id, exc_info=True)
            reason = f"internal error: {type(error).__name__}: {error}"
        self.records[name] = reading.absent(name, reason)
        return None


def _result(
    question: Question,
    evidence: EvidenceSet,
    records: dict[Condition, ConditionRecord],
    base: BaseAnswer | None,
) -> QuestionProbe:
    found = attribute(observed(records))
    cited = frozenset(base.said.cited if base else ())
    return QuestionProbe(
        id=question.id,
        question=question.question,
        type=question.type,
        answerable=question.answerable,
        gold_answer=question.answer,
        gold_aliases=question.answer_aliases,
        evidence=tuple(
            UnitRecord(
                id=u.id,
                text=u.text,
                source=u.source,
                aliases=u.aliases,
                facts=u.facts,
                duplicate_of=u.duplicate_of,
                cited=u.id in cited,
            )
            for u in evidence
        ),
        conditions=tuple(records[name] for name in CONDITIONS),
        attribution=found.attribution,
        possible=found.possible,
        undecided=found.undecided,
        because=found.because,
    )


def observed(records: dict[Condition, ConditionRecord]) -> Observations:
    """Read the observations out of the records of one question."""
    outcomes = {name: item.outcome for name, item in records.items()}
    reasons = {name: item.reason for name, item in records.items() if item.reason is not None}
    return Observations(
        **outcomes,  # type: ignore[arg-type]
        still_held=records["cited_removed"].still_held,
        verified=records["base"].verified,
        missing={name: reason for name, reason in reasons.items() if reason != NOT_NEEDED},
    )
