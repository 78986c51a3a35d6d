"""From judgements to a diagnosis: read what is known, derive the flags, take the cell from them.

A trace has a cell only where every item of every judge is measured. What is missing is named in
`problems`, with the reason; what is known all the same stays visible in flags and fractions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from aletheia.diagnosis.calibrate import Threshold, fallback
from aletheia.diagnosis.flags import (
    CONFLICT,
    MISCITED,
    Coverage,
    Facts,
    cell_of,
    completeness_of,
    covered,
    flags_of,
)
from aletheia.diagnosis.reading import (
    AlignmentRead,
    VerdictsRead,
    item_problems,
    read_alignment,
    read_verdicts,
    repeated,
    strangers,
)
from aletheia.schema.diagnosis import Abstention, Diagnosis, Flags, SufficiencyLevel
from aletheia.schema.judgement import (
    CompletenessJudgment,
    FaithfulnessJudgment,
    SufficiencyJudgment,
)
from aletheia.schema.trace import Decomposition

NO_QUERY: Final = "no_query"
NO_SUB_QUESTIONS: Final = "no_sub_questions"
NO_CLAIM_STANDS: Final = "no_claim_stands_on_the_response"
EMPTY_RESPONSE: Final = "empty_response"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifyOptions:
    """What `high` needs, and whether an unsupported claim covers what it speaks of."""

    threshold: Threshold = field(default_factory=lambda: fallback(persisted=False))
    coverage: Coverage = "grounded"


def classify(
    *,
    decomposition: Decomposition,
    sufficiency: Sequence[SufficiencyJudgment],
    faithfulness: Sequence[FaithfulnessJudgment],
    completeness: CompletenessJudgment | None,
    unmeasured: Collection[str] = (),
    abstained: bool = False,
    empty_response: bool = False,
    has_query: bool = True,
    has_evidence: bool = True,
    miscited: bool | None = None,
    conflict: bool | None = None,
    options: ClassifyOptions | None = None,
) -> Diagnosis:
    """Return the diagnosis of one trace; total over all judgements, whatever is missing.

    `unmeasured` names metrics that failed as a whole. An abstention and an empty response are
    known by rule and cover nothing; without evidence nothing is sufficient or supported, whatever
    a judge said. `miscited` and `conflict` are findings of others; a warning of that name on a
    claim sets them too.
    """
    case = _Case(
        decomposition=decomposition,
        sufficiency=tuple(sufficiency),
        faithfulness=tuple(faithfulness),
        completeness=completeness,
        unmeasured=tuple(dict.fromkeys(unmeasured)),
        abstained=abstained and not empty_response,
        empty=empty_response,
        has_query=has_query,
        has_evidence=has_evidence,
        miscited=miscited,
        conflict=conflict,
        options=options or ClassifyOptions(),
    )
    return _diagnose(case, _read(case))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What is given."""

    decomposition: Decomposition
    sufficiency: tuple[SufficiencyJudgment, ...]
    faithfulness: tuple[FaithfulnessJudgment, ...]
    completeness: CompletenessJudgment | None
    unmeasured: tuple[str, ...]
    abstained: bool
    empty: bool
    has_query: bool
    has_evidence: bool
    miscited: bool | None
    conflict: bool | None
    options: ClassifyOptions

    @property
    def questions(self) -> tuple[int, ...]:
        return tuple(item.id for item in self.decomposition.sub_questions)

    @property
    def claims(self) -> tuple[int, ...]:
        return tuple(item.id for item in self.decomposition.graded)

    @property
    def known_claims(self) -> tuple[int, ...]:
        return tuple(item.id for item in self.decomposition.claims)

    @property
    def alignment(self) -> CompletenessJudgment | None:
        """What a judge said that failed as a whole is not taken for known."""
        judgment = self.completeness
        failed = "completeness" in self.unmeasured
        return None if failed and judgment is not None and not judgment.problem else judgment

    @property
    def claims_known(self) -> bool:
        """No claims are good claims only where the response was cut, and holds none."""
        if self.claims or self.abstained:
            return True
        failed = {"decompose_response", "faithfulness"} & set(self.unmeasured)
        return not failed and not self.decomposition.discarded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What the judges say of it."""

    sufficient: VerdictsRead
    faithful: VerdictsRead
    aligned: AlignmentRead
    facts: Facts


def _read(case: _Case) -> _Known:
    sufficient = read_verdicts(
        case.questions,
        [(item.sub_question_id, item) for item in case.sufficiency],
        failed="sufficiency" in case.unmeasured,
        has_evidence=case.has_evidence,
    )
    faithful = read_verdicts(
        case.claims,
        [(item.claim_id, item) for item in case.faithfulness],
        failed="faithfulness" in case.unmeasured,
        has_evidence=case.has_evidence,
    )
    aligned = read_alignment(
        case.questions,
        case.claims,
        case.known_claims,
        case.alignment,
        by_rule=case.abstained or case.empty,
    )
    facts = Facts(
        sufficiency=sufficient.verdicts,
        faithfulness=faithful.verdicts,
        covering=aligned.covering,
        extra=aligned.extra,
        low=_low("sufficiency", sufficient) | _low("faithfulness", faithful),
        claims_known=case.claims_known,
        abstained=case.abstained,
        empty=case.empty,
        miscited=_noted(case.miscited, MISCITED, case.faithfulness),
        conflict=_noted(case.conflict, CONFLICT, case.faithfulness),
        coverage=case.options.coverage,
    )
    return _Known(sufficient=sufficient, faithful=faithful, aligned=aligned, facts=facts)


def _diagnose(case: _Case, known: _Known) -> Diagnosis:
    facts, threshold = known.facts, case.options.threshold
    problems = _problems(case, known)
    level = _level(facts, threshold)
    kind = _abstention(facts, level)
    flags = _flags(facts, kind)
    cell = None if problems else cell_of(flags)
    coverage = [covered(facts, item) for item in facts.sufficiency]
    extras: list[bool | None] = [*facts.extra.values()] if facts.claims_known else [None]
    return Diagnosis(
        failure_cell=cell,
        completeness=completeness_of(flags),
        flags=flags,
        sufficiency_level=level,
        sufficiency_fraction=known.sufficient.fraction,
        faithfulness_fraction=known.faithful.fraction,
        n_sub_questions=len(facts.sufficiency),
        n_claims=len(facts.faithfulness),
        n_uncovered_sub_questions=None if None in coverage else coverage.count(False),
        n_extra_claims=None if None in extras else extras.count(True),
        n_unmeasured=_unmeasured_items(known),
        abstention=kind,
        tentative=cell is not None and _is_tentative(known),
        level_tentative=level is not None and _level_may_turn(facts, threshold),
        empty_response=facts.empty,
        threshold=threshold.value,
        threshold_source=threshold.source,
        problems=problems,
    )


def _low(metric: str, read: VerdictsRead) -> frozenset[tuple[str, int]]:
    return frozenset((metric, item) for item in read.low)


def _noted(
    given: bool | None, warning: str, judgments: Iterable[FaithfulnessJudgment]
) -> bool | None:
    return True if any(warning in item.warnings for item in judgments) else given


# --- what follows from the facts --------------------------------------------------------------


def _level(facts: Facts, threshold: Threshold) -> SufficiencyLevel | None:
    """None while any sub-question is unmeasured: a failure is not `high`, and not `low` either."""
    verdicts = list(facts.sufficiency.values())
    if not verdicts or None in verdicts:
        return None
    return "high" if threshold.reached(verdicts.count("Y") / len(verdicts)) else "low"


def _abstention(facts: Facts, level: SufficiencyLevel | None) -> Abstention | None:
    """Honest where retrieval covered nothing, an over-refusal where it covered enough."""
    if not facts.abstained:
        return None
    fabricated = "N" in facts.faithfulness.values() or None in facts.faithfulness.values()
    if level is None or fabricated:
        return "undecided"
    if "Y" not in facts.sufficiency.values():
        return "honest"
    return "over_refusal" if level == "high" else "undecided"


def _flags(facts: Facts, kind: Abstention | None) -> Flags:
    flags = flags_of(facts)
    if kind is None:
        return flags
    refused = None if kind == "undecided" else kind == "over_refusal"
    return flags.model_copy(update={"over_refused": refused})


def _is_tentative(known: _Known) -> bool:
    by_alignment = known.aligned.low and not known.facts.abstained
    return by_alignment or _cell_may_turn(known.facts)


def _cell_may_turn(facts: Facts) -> bool:
    """Whether some other reading of the verdicts of low confidence gives another cell.

    No verdict can mend a flag by turning to N, or break one by turning to Y. So every reading
    lies between the one with Y everywhere and the one with N everywhere: two tries tell exactly.
    """
    return cell_of(flags_of(facts.with_low("Y"))) != cell_of(flags_of(facts.with_low("N")))


def _level_may_turn(facts: Facts, threshold: Threshold) -> bool:
    """The same for the level, and for the kind of an abstention."""
    most, least = facts.with_low("Y"), facts.with_low("N")
    levels = _level(most, threshold), _level(least, threshold)
    kinds = _abstention(most, levels[0]), _abstention(least, levels[1])
    return levels[0] != levels[1] or kinds[0] != kinds[1]


# --- problems ---------------------------------------------------------------------------------


def _problems(case: _Case, known: _Known) -> tuple[str, ...]:
    asked = [item.sub_question_id for item in case.sufficiency]
    claimed = [item.claim_id for item in case.faithfulness]
    return (
        *_problems_of_the_whole(case),
        *repeated("sub-question", case.questions),
        *repeated("claim", case.known_claims),
        *strangers("sub-question", asked, case.questions),
        *strangers("claim", claimed, case.known_claims),
        *item_problems("sufficiency of sub-question", known.sufficient.problems),
        *item_problems("faithfulness of claim", known.faithful.problems),
        *known.aligned.problems,
    )


def _problems_of_the_whole(case: _Case) -> Iterator[str]:
    yield from (f"`{metric}` is unmeasured" for metric in case.unmeasured)
    if not case.has_query:
        yield f"nothing is known of what was asked: `{NO_QUERY}`"
    elif not case.questions:
        yield f"the query has no sub-question: `{NO_SUB_QUESTIONS}`"
    if case.empty:
        yield f"the response is empty, so there is nothing to ground: `{EMPTY_RESPONSE}`"
    elif not case.claims_known and not case.unmeasured:
        yield f"no claim could be placed in the response: `{NO_CLAIM_STANDS}`"


def _unmeasured_items(known: _Known) -> int:
    """Count the items; the alignment is one."""
    items = len(known.sufficient.problems) + len(known.faithful.problems)
    return items + bool(known.aligned.problems)
