"""How good the judge in use is: its verdicts beside those of people, and what that does to rates.

Three kinds of labels are kept apart: of whole responses, of single claims, of the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from aletheia.diagnosis.agreement import (
    Agreement,
    FittedThreshold,
    LabelledItem,
    agreement,
    fit_threshold,
    in_first_half,
)
from aletheia.diagnosis.correction import Estimate, corrected_rate
from aletheia.errors import UsageError
from aletheia.judges import rules
from aletheia.judges.base import Failed, Judged, Judges, Skipped, TraceCase
from aletheia.llm.budget import Budget, budget_scope
from aletheia.pipeline.diagnose import DiagnoseOptions, diagnose
from aletheia.pipeline.judge_setup import identity, identity_differences
from aletheia.pipeline.runner import run_bounded
from aletheia.reports.trace_json import faithfulness_score, sufficiency_score
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.judgement import FaithfulnessJudgment, Judgment, Verdict
from aletheia.schema.proportion import wilson
from aletheia.schema.report import Rate
from aletheia.schema.trace import Claim

Kind = Literal["response", "claim", "sufficiency"]
"""What a label is about."""

KINDS: Final[tuple[Kind, ...]] = ("response", "claim", "sufficiency")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledClaim:
    """A claim and the label of a person."""

    claim: Claim
    label: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTrace:
    """A trace with labels: of the response as a whole, of claims in it, of its evidence."""

    id: str
    case: TraceCase
    response: Verdict | None = None
    claims: tuple[LabelledClaim, ...] = ()
    sufficient: Verdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """A rate of verdicts N as the judge gives it, and corrected by its errors.

    `labelled` is the rate by people over the same items, None where there are no labels.
    """

    name: str
    apparent: Rate
    corrected: Estimate
    labelled: Rate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindReport:
    """All figures over the labels of one kind.

    `check` corrects the rate of one half by the errors on the other, where people say what is
    right; `rates` are those of rows without labels.
    """

    kind: Kind
    agreement: Agreement
    threshold: FittedThreshold
    check: CorrectedRate | None
    rates: tuple[CorrectedRate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """A judge, the labels it was measured on, and how it did."""

    judge: Mapping[str, str]
    labels: str
    policy: str | None
    traces: int
    kinds: tuple[KindReport, ...]
    messages: tuple[str, ...] = ()

    @property
    def unmeasured(self) -> int:
        """Labels without a verdict."""
        return sum(len(kind.agreement.unmeasured) for kind in self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationOptions:
    """How labelled traces are judged; `labels` is the digest of their file."""

    judges: Judges
    diagnose: DiagnoseOptions
    concurrency: int = 1
    budget_usd: float | None = None
    labels: str = ""
    policy: str | None = None


@dataclass(slots=True)
class _Found:
    """Labelled items by kind, and what judges said that failed."""

    items: dict[Kind, list[LabelledItem]] = field(
        default_factory=lambda: {kind: [] for kind in KINDS}
    )
    messages: dict[str, None] = field(default_factory=dict)


async def calibrate_judge(
    traces: Sequence[LabelledTrace],
    options: CalibrationOptions,
    rows: Iterable[Mapping[str, object]] = (),
) -> CalibrationReport:
    """Judge all traces and compare. `rows` of `aletheia eval` get their rates corrected.

    Raises `UsageError` where a row is of another judge: errors of one say nothing of another.
    """
    flagged = _flagged(rows, identity(options.judges))
    found = _Found()
    budget = None if options.budget_usd is None else Budget(options.budget_usd, scope="run")

    async def work(trace: LabelledTrace) -> _Found:
        return await _judged(trace, options)

    async def commit(_trace: LabelledTrace, one: _Found) -> bool:
        for kind, items in one.items.items():
            found.items[kind] += items
        found.messages.update(one.messages)
        return True

    with budget_scope(budget):
        await run_bounded(traces, work, limit=options.concurrency, commit=commit)
    return CalibrationReport(
        judge=identity(options.judges),
        labels=options.labels,
        policy=options.policy,
        traces=len(traces),
        kinds=tuple(
            _kind_report(kind, sorted(items, key=lambda item: item.id), flagged.get(kind))
            for kind, items in found.items.items()
            if items
        ),
        messages=tuple(found.messages),
    )


async def _judged(trace: LabelledTrace, options: CalibrationOptions) -> _Found:
    found = _Found()
    if trace.response is not None or trace.sufficient is not None:
        result = await diagnose(trace.case, options.judges, options.diagnose)
        found.messages.update(dict.fromkeys(result.errors.values()))
        if trace.response is not None:
            found.items["response"].append(_response_item(trace.id, trace.response, result))
        if trace.sufficient is not None:
            found.items["sufficiency"].append(_evidence_item(trace.id, trace.sufficient, result))
    if trace.claims:
        found.items["claim"] += await _claim_items(trace, options.judges, found)
    return found


def _response_item(name: str, label: Verdict, result: EvaluationResult) -> LabelledItem:
    graded = sum(claim.kind != "conversational" for claim in result.claims)
    verdict = _all_of(result.faithfulness, graded)
    return LabelledItem(id=name, label=label, verdict=verdict, score=faithfulness_score(result))


def _evidence_item(name: str, label: Verdict, result: EvaluationResult) -> LabelledItem:
    verdict = _all_of(result.sufficiency, len(result.sub_questions))
    return LabelledItem(id=name, label=label, verdict=verdict, score=sufficiency_score(result))


def _all_of(judgments: Sequence[Judgment], items: int) -> Verdict | None:
    """Y where every item is Y; one N decides; what is missing otherwise leaves it open."""
    verdicts = [item.verdict for item in judgments]
    if "N" in verdicts:
        return "N"
    if not items or len(verdicts) < items or None in verdicts:
        return None
    return "Y"


async def _claim_items(trace: LabelledTrace, judges: Judges, found: _Found) -> list[LabelledItem]:
    claims = [item.claim for item in trace.claims]
    outcome = rules.settled_faithfulness(trace.case, claims)
    if outcome is None:
        outcome = await judges.faithfulness.judge_faithfulness(trace.case, claims)
    judged: dict[int, FaithfulnessJudgment] = {}
    match outcome:
        case Judged(value=value):
            judged = {item.claim_id: item for item in value}
        case Failed(message=message):
            found.messages[message] = None
        case Skipped():
            pass
    return [
        LabelledItem(
            id=f"{trace.id}#{item.claim.id}",
            label=item.label,
            verdict=None if (one := judged.get(item.claim.id)) is None else one.verdict,
            score=None if one is None else one.score,
        )
        for item in trace.claims
    ]


# --- figures ----------------------------------------------------------------------------------


def _kind_report(
    kind: Kind, items: Sequence[LabelledItem], flagged: tuple[int, int] | None
) -> KindReport:
    whole = agreement(items)
    rates = () if flagged is None else (_corrected(_ROWS[kind], *flagged, whole),)
    return KindReport(
        kind=kind,
        agreement=whole,
        threshold=fit_threshold(items),
        check=_check(kind, items),
        rates=rates,
    )


_ROWS: Final[Mapping[Kind, str]] = {
    "response": "responses with an unsupported claim",
    "claim": "unsupported claims",
    "sufficiency": "queries that the evidence does not answer",
}


def _check(kind: Kind, items: Sequence[LabelledItem]) -> CorrectedRate | None:
    """Correct the rate of one half by the errors on the other; None where one half is empty."""
    first = agreement(item for item in items if in_first_half(item.id))
    rest = [item for item in items if not in_first_half(item.id) and item.verdict is not None]
    if not rest or not first.confusion.measured:
        return None
    made = _corrected(_ROWS[kind], sum(item.verdict == "N" for item in rest), len(rest), first)
    return CorrectedRate(
        name=made.name,
        apparent=made.apparent,
        corrected=made.corrected,
        labelled=wilson(sum(item.label == "N" for item in rest), len(rest)),
    )


def _corrected(name: str, flagged: int, total: int, errors: Agreement) -> CorrectedRate:
    """Here N is what is found: its sensitivity is the specificity of Y."""
    return CorrectedRate(
        name=name,
        apparent=wilson(flagged, total),
        corrected=corrected_rate(
            flagged, total, sensitivity=errors.specificity, specificity=errors.sensitivity
        ),
    )


def _flagged(
    rows: Iterable[Mapping[str, object]], judge: Mapping[str, str]
) -> dict[Kind, tuple[int, int]]:
    """Count verdicts N and all verdicts in rows; a row without a verdict is in neither."""
    counts: dict[Kind, tuple[int, int]] = {}
    for at, row in enumerate(rows, start=1):
        if not row.get("making"):
            continue
        _same_judge(row, judge, at)
        claims = _verdicts(row.get("faithfulness"))
        questions = _verdicts(row.get("sufficiency"))
        for verdict in claims:
            _count(counts, "claim", verdict)
        _count(counts, "response", _worst(claims))
        _count(counts, "sufficiency", _worst(questions))
    return counts


def _same_judge(row: Mapping[str, object], judge: Mapping[str, str], at: int) -> None:
    making = row["making"]
    made = making if isinstance(making, Mapping) else {}
    named = {key: str(made[key]) for key in made if key in judge or _of_a_judge(key)}
    changed = identity_differences(named, judge)
    if changed:
        raise UsageError(
            f"row {at} is of another judge: {'; '.join(changed)}",
            hint="the errors of one judge say nothing of another: judge the traces again",
        )


def _of_a_judge(key: str) -> bool:
    return "judge" in key or key.endswith("_model") or key.startswith(("decomposer", "prompt_"))


def _verdicts(items: object) -> list[Verdict | None]:
    graded = [
        item
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, Mapping) and item.get("kind") != "conversational"
    ]
    return [_VERDICTS.get(item.get("verdict")) for item in graded]


_VERDICTS: Final[Mapping[object, Verdict]] = {"Y": "Y", "N": "N"}


def _worst(verdicts: Sequence[Verdict | None]) -> Verdict | None:
    if "N" in verdicts:
        return "N"
    return "Y" if verdicts and None not in verdicts else None


def _count(counts: dict[Kind, tuple[int, int]], kind: Kind, verdict: Verdict | None) -> None:
    if verdict is not None:
        flagged, total = counts.get(kind, (0, 0))
        counts[kind] = (flagged + (verdict == "N"), total + 1)
