"""Ask all judges about one trace, each isolated from the others, rules first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Generic, TypeVar, TypeVarTuple, Unpack

import anyio
from anyio.abc import TaskGroup

from aletheia.errors import AletheiaError, ConfigError, UsageError
from aletheia.judges import rules
from aletheia.judges.base import (
    Failed,
    FusedJudge,
    Judges,
    Outcome,
    ResponsePieces,
    TraceCase,
    Verdicts,
)
from aletheia.judges.repeat import majority, majority_alignment
from aletheia.judges.together import together
from aletheia.schema.trace import Claim, SubQuestion

T = TypeVar("T")
V = TypeVar("V")
P = TypeVarTuple("P")

QUERY: Final = "decompose_query"
RESPONSE: Final = "decompose_response"
SUFFICIENCY: Final = "judge_sufficiency"
FAITHFULNESS: Final = "judge_faithfulness"
COMPLETENESS: Final = "judge_completeness"

Questions = Outcome[tuple[SubQuestion, ...]]
Pieces = Outcome[ResponsePieces]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopwatch:
    """Measures steps. `latency_ms` has the longest time of each, repeats being side by side."""

    clock: Callable[[], float]
    latency_ms: dict[str, float] = field(default_factory=dict)

    async def timed(self, call: Awaitable[T], *names: str) -> T:
        """Await `call`, and write its milliseconds down under `names`."""
        started = self.clock()
        try:
            return await call
        finally:
            spent = (self.clock() - started) * 1000
            for name in names:
                self.latency_ms[name] = max(spent, self.latency_ms.get(name, 0.0))


async def cut(
    case: TraceCase, judges: Judges | FusedJudge, watch: Stopwatch
) -> tuple[Questions, Pieces]:
    """Cut query and response, both at once; what a rule settles is not asked."""
    questions, pieces = rules.settled_query(case), rules.settled_response(case)
    if isinstance(judges, Judges):
        cutter = judges.decomposer
        async with anyio.create_task_group() as group:
            first = _start(group, questions, cutter.decompose_query, (case,), watch, QUERY)
            second = _start(group, pieces, cutter.decompose_response, (case,), watch, RESPONSE)
        return first.outcome, second.outcome
    if questions is not None and pieces is not None:
        return questions, pieces
    both = await _isolated(watch.timed(judges.decompose(case), QUERY, RESPONSE))
    if isinstance(both, Failed):
        both = (both, both)
    return questions or both[0], pieces or both[1]


async def judge_all(
    case: TraceCase,
    judges: Judges | FusedJudge,
    sub_questions: Sequence[SubQuestion],
    claims: Sequence[Claim],
    watch: Stopwatch,
    *,
    repeat: int = 1,
) -> Verdicts:
    """Ask the three judges at once, `repeat` times side by side; `claims` are the graded ones.

    With more than one repeat the majority of all decides.
    """

    async def one(number: int) -> Verdicts:
        again = replace(case, repeat=number)
        if isinstance(judges, Judges):
            return await _apart(again, judges, sub_questions, claims, watch)
        return await _fused(again, judges, sub_questions, claims, watch)

    done = await together([partial(one, number) for number in range(repeat)])
    if repeat == 1:
        return done[0]
    return Verdicts(
        sufficiency=majority([verdicts.sufficiency for verdicts in done]),
        faithfulness=majority([verdicts.faithfulness for verdicts in done]),
        completeness=majority_alignment([verdicts.completeness for verdicts in done]),
    )


async def _apart(
    case: TraceCase,
    judges: Judges,
    sub_questions: Sequence[SubQuestion],
    claims: Sequence[Claim],
    watch: Stopwatch,
) -> Verdicts:
    async with anyio.create_task_group() as group:
        sufficiency = _start(
            group,
            rules.settled_sufficiency(case, sub_questions),
            judges.sufficiency.judge_sufficiency,
            (case, sub_questions),
            watch,
            SUFFICIENCY,
        )
        faithfulness = _start(
            group,
            rules.settled_faithfulness(case, claims),
            judges.faithfulness.judge_faithfulness,
            (case, claims),
            watch,
            FAITHFULNESS,
        )
        completeness = _start(
            group,
            rules.settled_completeness(case, sub_questions, claims),
            judges.completeness.judge_completeness,
            (case, sub_questions, claims),
            watch,
            COMPLETENESS,
        )
    return Verdicts(
        sufficiency=sufficiency.outcome,
        faithfulness=faithfulness.outcome,
        completeness=completeness.outcome,
    )


async def _fused(
    case: TraceCase,
    judge: FusedJudge,
    sub_questions: Sequence[SubQuestion],
    claims: Sequence[Claim],
    watch: Stopwatch,
) -> Verdicts:
    """Ask once, where anything is left to ask; what a rule settles wins over the reply."""
    sufficiency = rules.settled_sufficiency(case, sub_questions)
    faithfulness = rules.settled_faithfulness(case, claims)
    completeness = rules.settled_completeness(case, sub_questions, claims)
    if sufficiency is not None and faithfulness is not None and completeness is not None:
        return Verdicts(
            sufficiency=sufficiency, faithfulness=faithfulness, completeness=completeness
        )
    call = judge.judge(case, sub_questions, claims)
    asked = await _isolated(watch.timed(call, SUFFICIENCY, FAITHFULNESS, COMPLETENESS))
    if isinstance(asked, Failed):
        asked = Verdicts(sufficiency=asked, faithfulness=asked, completeness=asked)
    return Verdicts(
        sufficiency=sufficiency or asked.sufficiency,
        faithfulness=faithfulness or asked.faithfulness,
        completeness=completeness or asked.completeness,
    )


@dataclass(slots=True)
class _Slot(Generic[T]):
    """Where the outcome of a task goes."""

    filled: Outcome[T] | None = None
    error: AletheiaError | None = None

    @property
    def outcome(self) -> Outcome[T]:
        """The outcome, when the group of the task has ended. Raises what the task met."""
        if self.error is not None:
            raise self.error
        if self.filled is None:
            raise RuntimeError("the task has not ended")
        return self.filled


def _start(
    group: TaskGroup,
    settled: Outcome[T] | None,
    judge: Callable[[Unpack[P]], Awaitable[Outcome[T]]],
    arguments: tuple[*P],
    watch: Stopwatch,
    name: str,
) -> _Slot[T]:
    """Start a judge unless its outcome is settled; the slot is filled when the group has ended."""
    slot = _Slot(settled)

    async def fill() -> None:
        try:
            slot.filled = await _isolated(watch.timed(judge(*arguments), name))
        except AletheiaError as error:
            slot.error = error

    if settled is None:
        group.start_soon(fill)
    return slot


async def _isolated(call: Awaitable[V]) -> V | Failed:
    """Turn what a judge meets into an outcome; a wrong call or setting is the caller's affair."""
    try:
        return await call
    except (UsageError, ConfigError):
        raise
    except AletheiaError as error:
        return Failed(code=type(error).__name__, message=str(error))
