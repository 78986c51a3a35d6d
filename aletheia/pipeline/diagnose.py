"""One trace from its texts to its diagnosis: cut, judge three times, classify, advise.

The judges are isolated: one that fails leaves a message under its metric, and the others finish.
A verdict that is missing stays missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol, assert_never

from aletheia._version import __version__
from aletheia.errors import UsageError
from aletheia.grounding.numbering import number
from aletheia.judges import rules
from aletheia.judges.base import (
    Failed,
    FusedJudge,
    Judged,
    Judges,
    Outcome,
    ResponsePieces,
    Skipped,
    TraceCase,
    Verdicts,
)
from aletheia.judges.panel import Pieces, Questions, Stopwatch, cut, judge_all
from aletheia.pipeline.trace_checks import check_claims
from aletheia.schema.diagnosis import LATENCY_KEYS, Diagnosis, EvaluationResult, Suggestion
from aletheia.schema.evidence import EvidenceText
from aletheia.schema.judgement import (
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.trace import ContextChunk, Decomposition

NOT_CUT: Final = "not_decomposed"
"""Problem of a metric whose items are not known, because the text could not be cut."""


class Classify(Protocol):
    """From outcomes to a diagnosis; pure.

    `unmeasured` names the metrics that are not known as a whole: `sufficiency`, `faithfulness`,
    `completeness`. `abstained` and `empty_response` say what the response is, decided by rule.
    `miscited` and `conflict` are what the text itself shows, None where it shows nothing.
    """

    def __call__(
        self,
        *,
        decomposition: Decomposition,
        sufficiency: tuple[SufficiencyJudgment, ...],
        faithfulness: tuple[FaithfulnessJudgment, ...],
        completeness: CompletenessJudgment | None,
        unmeasured: tuple[str, ...],
        abstained: bool,
        empty_response: bool,
        has_query: bool,
        has_evidence: bool,
        miscited: bool | None,
        conflict: bool | None,
    ) -> Diagnosis:
        """Return the diagnosis."""
        ...


def _no_advice(_diagnosis: Diagnosis) -> Suggestion | None:
    return None


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnoseOptions:
    """How a trace is diagnosed.

    `repeat` is how often each judge is asked; with more than 1 the majority of all repeats
    decides an item. `clock` gives seconds, `now` the time a result is stamped with. Raises
    UsageError for a `repeat` below 1.
    """

    classify: Classify
    suggest: Callable[[Diagnosis], Suggestion | None] = _no_advice
    repeat: int = 1
    clock: Callable[[], float] = time.perf_counter
    now: Callable[[], datetime] = _now

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError(f"`repeat` is {self.repeat}", hint="a judge is asked at least once")


def trace_case(query: str | None, context: Sequence[ContextChunk], response: str) -> TraceCase:
    """Return the case of a trace; the chunks are numbered by rank, so that rank 0 is E1."""
    ordered = sorted(context, key=lambda chunk: chunk.rank)
    evidence = number([EvidenceText(text=chunk.text, source=chunk.source) for chunk in ordered])
    return TraceCase(query=query, evidence=evidence, response=response)


async def diagnose(
    case: TraceCase,
    judges: Judges | FusedJudge,
    options: DiagnoseOptions,
    *,
    cited: Sequence[str] = (),
) -> EvaluationResult:
    """Diagnose one trace, as far as its judges come.

    `cited` are units that the response cites beside its text, as a generator's reply does.

    With `Judges` at most two calls follow one another, with a `FusedJudge` at most two are made,
    unless a reply has to be asked for again. Raises `UsageError` and `ConfigError` only.
    """
    watch, notes = Stopwatch(clock=options.clock), _Notes()
    questions, pieces = await cut(case, judges, watch)
    notes.keep("decompose_query", questions)
    notes.keep("decompose_response", pieces)
    decomposition = _decomposition(questions, pieces, judges)
    verdicts = await judge_all(
        case,
        judges,
        decomposition.sub_questions,
        decomposition.graded,
        watch,
        repeat=options.repeat,
    )
    measured = _Measured.of(decomposition, _known(verdicts, questions, pieces), notes)
    checked = check_claims(case, decomposition.graded, measured.faithfulness, cited=cited)
    notes.findings.update(dict.fromkeys(checked.findings))
    diagnosis = options.classify(
        decomposition=decomposition,
        sufficiency=measured.sufficiency,
        faithfulness=checked.judgments,
        completeness=measured.completeness,
        unmeasured=tuple(notes.unmeasured),
        abstained=rules.is_abstention(case),
        empty_response=rules.is_empty(case),
        has_query=rules.has_query(case),
        has_evidence=len(case.evidence) > 0,
        miscited=checked.miscited,
        conflict=checked.conflict,
    )
    return EvaluationResult(
        query=case.query,
        response=case.response,
        sub_questions=decomposition.sub_questions,
        claims=decomposition.claims,
        sufficiency=measured.sufficiency,
        faithfulness=checked.judgments,
        completeness=measured.completeness,
        diagnosis=diagnosis,
        suggestion=options.suggest(diagnosis),
        created_at=options.now(),
        errors=notes.errors,
        findings=tuple(notes.findings),
        latency_ms={name: watch.latency_ms.get(name, 0.0) for name in LATENCY_KEYS},
        making={"package": __version__, **judges.making},
    )


@dataclass(slots=True, kw_only=True)
class _Notes:
    """What has to be said about the outcomes; keys keep their order and stand once."""

    errors: dict[str, str] = field(default_factory=dict)
    findings: dict[str, None] = field(default_factory=dict)
    unmeasured: dict[str, None] = field(default_factory=dict)

    def keep(self, metric: str, outcome: Outcome[Any]) -> None:
        match outcome:
            case Judged(findings=findings, message=message):
                self.findings.update(dict.fromkeys(findings))
                if message is not None:
                    self.errors[metric] = message
            case Failed(findings=findings, message=message):
                self.findings.update(dict.fromkeys(findings))
                self.errors[metric] = message
                self.unmeasured[metric] = None
            case Skipped():
                pass
            case _:
                assert_never(outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """The judgements of one trace; an item of a judge that failed is there, unmeasured."""

    sufficiency: tuple[SufficiencyJudgment, ...]
    faithfulness: tuple[FaithfulnessJudgment, ...]
    completeness: CompletenessJudgment | None

    @classmethod
    def of(cls, pieces: Decomposition, verdicts: Verdicts, notes: _Notes) -> _Measured:
        notes.keep("sufficiency", verdicts.sufficiency)
        notes.keep("faithfulness", verdicts.faithfulness)
        notes.keep("completeness", verdicts.completeness)
        completeness = _alignment(verdicts.completeness)
        if completeness is not None and completeness.problem is not None:
            notes.unmeasured["completeness"] = None
            notes.errors.setdefault("completeness", f"unmeasured: `{completeness.problem}`")
        return cls(
            sufficiency=_sufficiency(verdicts, pieces),
            faithfulness=_faithfulness(verdicts, pieces),
            completeness=completeness,
        )


def _known(verdicts: Verdicts, questions: Questions, pieces: Pieces) -> Verdicts:
    """A text that could not be cut leaves its metrics unmeasured; no items are not good items."""
    no_questions = _not_cut(questions, "the query")
    no_claims = _not_cut(pieces, "the response")
    return Verdicts(
        sufficiency=no_questions or verdicts.sufficiency,
        faithfulness=no_claims or verdicts.faithfulness,
        completeness=no_questions or no_claims or verdicts.completeness,
    )


def _not_cut(outcome: Questions | Pieces, what: str) -> Failed | None:
    if not isinstance(outcome, Failed):
        return None
    return Failed(code=NOT_CUT, message=f"{what} could not be cut: {outcome.message}")


def _decomposition(
    questions: Questions, pieces: Pieces, judges: Judges | FusedJudge
) -> Decomposition:
    cutter = judges.decomposer.name if isinstance(judges, Judges) else judges.name
    split = pieces.value if isinstance(pieces, Judged) else ResponsePieces()
    return Decomposition(
        sub_questions=questions.value if isinstance(questions, Judged) else (),
        claims=split.claims,
        discarded=split.discarded,
        method="whole" if cutter == "whole" else "llm" if cutter.startswith("llm") else "embedded",
    )


def _sufficiency(verdicts: Verdicts, pieces: Decomposition) -> tuple[SufficiencyJudgment, ...]:
    match verdicts.sufficiency:
        case Judged(value=value):
            return value
        case Failed(code=code):
            return tuple(
                SufficiencyJudgment(sub_question_id=item.id, problem=code)
                for item in pieces.sub_questions
            )
        case Skipped():
            return ()


def _faithfulness(verdicts: Verdicts, pieces: Decomposition) -> tuple[FaithfulnessJudgment, ...]:
    match verdicts.faithfulness:
        case Judged(value=value):
            return value
        case Failed(code=code):
            return tuple(
                FaithfulnessJudgment(claim_id=item.id, problem=code) for item in pieces.graded
            )
        case Skipped():
            return ()


def _alignment(outcome: Outcome[CompletenessJudgment]) -> CompletenessJudgment | None:
    match outcome:
        case Judged(value=value):
            return value
        case Failed(code=code):
            return CompletenessJudgment(problem=code)
        case Skipped():
            return None
