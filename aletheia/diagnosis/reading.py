"""Judgements matched with the items they are about, one to one.

What does not fit is a problem of that item alone: two judgements about it, none, a positive verdict
without a unit, a claim that does not exist. Such an item is unmeasured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from aletheia.schema.judgement import Alignment, CompletenessJudgment, Judgment, Verdict

NOT_JUDGED: Final = "not_judged"
"""Problem of an item of which no judgment says anything."""

DUPLICATE: Final = "duplicate"
"""Problem of an item that several judgments claim to be about."""

NO_VALID_UNIT: Final = "no_valid_unit"
"""Problem of a positive verdict that names no unit: it is no support."""

UNKNOWN_CLAIM: Final = "unknown_claim"
"""Problem of a sub-question that a claim which does not exist is said to answer."""

CONTRADICTORY: Final = "contradictory"
"""Problem of a claim that is said both to answer a sub-question and to be off the topic."""

J = TypeVar("J", bound=Judgment)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictsRead:
    """Judgments of one metric, one entry an item; an item without a verdict has a problem."""

    verdicts: dict[int, Verdict | None]
    problems: dict[int, str]
    low: frozenset[int]

    @property
    def fraction(self) -> float | None:
        """Share of Y among measured items; None where there is none."""
        measured = [verdict for verdict in self.verdicts.values() if verdict is not None]
        return measured.count("Y") / len(measured) if measured else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentRead:
    """The alignment; None and a problem for what it leaves open."""

    covering: dict[int, tuple[int, ...] | None]
    extra: dict[int, bool | None]
    problems: tuple[str, ...]
    low: bool


def read_verdicts(
    asked: Sequence[int],
    judged: Sequence[tuple[int, J]],
    *,
    failed: bool,
    has_evidence: bool,
) -> VerdictsRead:
    """Match judgments and items one to one; a verdict that does not stand is a missing one."""
    if not has_evidence:
        return VerdictsRead(verdicts=dict.fromkeys(asked, "N"), problems={}, low=frozenset())
    found: dict[int, list[J]] = {item: [] for item in asked}
    for key, judgment in judged:
        if key in found:
            found[key].append(judgment)
    problems = {
        item: problem
        for item, judgments in found.items()
        if (problem := _problem(judgments, failed=failed)) is not None
    }
    return VerdictsRead(
        verdicts={
            item: None if item in problems else judgments[0].verdict
            for item, judgments in found.items()
        },
        problems=problems,
        low=frozenset(
            item
            for item, judgments in found.items()
            if item not in problems and judgments[0].confidence == "low"
        ),
    )


def _problem(judgments: Sequence[Judgment], *, failed: bool) -> str | None:
    if not judgments:
        return NOT_JUDGED
    if len(judgments) > 1:
        return DUPLICATE
    judgment = judgments[0]
    if judgment.verdict == "Y" and not judgment.evidence_ids:
        return NO_VALID_UNIT
    return judgment.problem or (NOT_JUDGED if failed else None)


def read_alignment(
    questions: Sequence[int],
    claims: Sequence[int],
    known: Collection[int],
    judgment: CompletenessJudgment | None,
    *,
    by_rule: bool,
) -> AlignmentRead:
    """Read the alignment. Without claims nothing is covered, whatever a judge said."""
    if not claims or (by_rule and judgment is None):
        covering: dict[int, tuple[int, ...] | None] = dict.fromkeys(questions, ())
        return AlignmentRead(covering=covering, extra=dict.fromkeys(claims), problems=(), low=False)
    if judgment is None or judgment.problem is not None:
        problem = NOT_JUDGED if judgment is None else judgment.problem
        return AlignmentRead(
            covering=dict.fromkeys(questions),
            extra=dict.fromkeys(claims),
            problems=(f"completeness is unmeasured: `{problem}`",),
            low=False,
        )
    return _read_entries(questions, claims, known, judgment)


def _read_entries(
    questions: Sequence[int],
    claims: Sequence[int],
    known: Collection[int],
    judgment: CompletenessJudgment,
) -> AlignmentRead:
    answering = {claim for item in judgment.alignments for claim in item.claim_ids}
    both = answering & set(judgment.extras) & set(claims)
    covering: dict[int, tuple[int, ...] | None] = {}
    problems: dict[int, str] = {}
    for question in questions:
        entries = [item for item in judgment.alignments if item.sub_question_id == question]
        stands = {claim for entry in entries for claim in entry.claim_ids if claim in claims} - both
        problem = _entry_problem(entries, known) or _only(entries, both, stands)
        covering[question] = tuple(sorted(stands)) if problem is None else None
        if problem is not None:
            problems[question] = problem
    return AlignmentRead(
        covering=covering,
        extra={claim: None if claim in both else claim in judgment.extras for claim in claims},
        problems=(
            *strangers(
                "sub-question", (item.sub_question_id for item in judgment.alignments), questions
            ),
            *strangers("claim", judgment.extras, known),
            *item_problems("coverage of sub-question", problems),
            *item_problems("topic of claim", dict.fromkeys(sorted(both), CONTRADICTORY)),
        ),
        low=judgment.confidence == "low",
    )


def _entry_problem(entries: Sequence[Alignment], known: Collection[int]) -> str | None:
    if len(entries) != 1:
        return DUPLICATE if entries else NOT_JUDGED
    return None if set(entries[0].claim_ids) <= set(known) else UNKNOWN_CLAIM


def _only(
    entries: Sequence[Alignment], both: Collection[int], stands: Collection[int]
) -> str | None:
    """A sub-question that only contradictory claims answer may be covered, and may not be."""
    return CONTRADICTORY if not stands and set(entries[0].claim_ids) & set(both) else None


def strangers(what: str, named: Iterable[int], known: Collection[int]) -> tuple[str, ...]:
    """Say which ids a judgement names that do not exist."""
    unknown = sorted(set(named) - set(known))
    return tuple(f"a judgement is about {what} {item}, which does not exist" for item in unknown)


def repeated(what: str, ids: Sequence[int]) -> tuple[str, ...]:
    """Say which ids stand twice.

    Two items of one id would share a verdict, and one of them would never be judged.
    """
    twice = sorted(item for item, count in Counter(ids).items() if count > 1)
    return tuple(f"{what} {item} stands more than once" for item in twice)


def item_problems(what: str, problems: dict[int, str]) -> tuple[str, ...]:
    """One sentence for each reason, naming the items it holds for."""
    groups: dict[str, list[int]] = {}
    for item in sorted(problems):
        groups.setdefault(problems[item], []).append(item)
    return tuple(
        f"{what}{'s' if len(items) > 1 else ''} {', '.join(map(str, items))} is unmeasured: `{why}`"
        for why, items in groups.items()
    )
