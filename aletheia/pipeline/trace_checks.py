"""What code knows of the claims of a trace that a judge cannot decide, or must not.

Evidence that contradicts itself, citations of a unit that does not carry the claim, and judges
that disagree with a number, name or sign: each is a warning of its claim and a finding of the
trace. Nothing here asks a model.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aletheia.diagnosis.flags import CONFLICT, MISCITED, any_of
from aletheia.grounding.case import blank
from aletheia.grounding.citations import Marker, find_markers
from aletheia.grounding.conflict import ClaimConflicts, find_conflicts
from aletheia.grounding.sentences import sentences
from aletheia.judges.base import TraceCase
from aletheia.judges.support import JUDGE_OVERRULED, LACKS_LITERALS, CitedClaim, lacking
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.judgement import FaithfulnessJudgment
from aletheia.schema.trace import Claim

_SCORED: Final = re.compile(r"score (?P<score>[01]\.\d\d); (?P<why>.+)", re.DOTALL)
_JUST_AFTER: Final = 2
"""Characters between a claim and the marker that still belongs to it: a stop and a space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The judgments with their warnings, the findings of the trace, and two flags."""

    judgments: tuple[FaithfulnessJudgment, ...]
    findings: tuple[str, ...] = ()
    miscited: bool | None = None
    conflict: bool | None = None


def check_claims(
    case: TraceCase,
    claims: Sequence[Claim],
    judgments: Sequence[FaithfulnessJudgment],
    *,
    cited: Sequence[str] = (),
) -> Checked:
    """Check the judged claims of a trace.

    `cited` are units that the whole response cites beside its text; a marker in the text counts
    before them. A flag is None where nothing could be decided.
    """
    by_id = {claim.id: claim for claim in claims}
    known = [(by_id[item.claim_id], item) for item in judgments if item.claim_id in by_id]
    if not len(case.evidence) or len(known) < len(judgments):
        return Checked(judgments=tuple(judgments))
    markers = find_markers(case.response, len(case.evidence), lenient=True)
    conflicts = find_conflicts(
        case.evidence, [_without_markers(claim.text, case) for claim, _ in known]
    )
    stated = [_conflicting(item, found) for (_, item), found in zip(known, conflicts, strict=True)]
    supported = [
        (claim, item) for (claim, _), item in zip(known, stated, strict=True) if item.verdict == "Y"
    ]
    wrong = _miscited(case, supported, _Citations(case.response, markers, tuple(cited)))
    made = tuple(_warned(item, MISCITED) if wrong.get(item.claim_id) else item for item in stated)
    return Checked(
        judgments=made,
        findings=(*_conflict_findings(conflicts), *_judge_findings(made)),
        miscited=_flag([wrong.get(claim.id) for claim, _ in supported]),
        conflict=_conflict_flag(stated, conflicts),
    )


def _without_markers(text: str, case: TraceCase) -> str:
    return blank(text, find_markers(text, len(case.evidence), lenient=True))


def _flag(values: Sequence[bool | None]) -> bool | None:
    """No claim is no claim that could be looked at."""
    return any_of(values) if values else None


def _warned(item: FaithfulnessJudgment, *codes: str) -> FaithfulnessJudgment:
    warnings = tuple(dict.fromkeys((*item.warnings, *codes)))
    return item.model_copy(update={"warnings": warnings})


# --- evidence that contradicts itself -----------------------------------------------------------


def _conflicting(item: FaithfulnessJudgment, found: ClaimConflicts) -> FaithfulnessJudgment:
    """Warn, and let a claim stand that one unit states word for word, whatever another says."""
    if not found.conflicts or item.verdict is None:
        return item
    said = "; ".join(conflict.text for conflict in found.conflicts)
    if item.verdict == "N" and found.stated_by is not None:
        why = f"the judge said N, but {found.stated_by} states the claim"
        return _warned(
            item.model_copy(
                update={
                    "verdict": "Y",
                    "score": None,
                    "confidence": "low",
                    "evidence_ids": (found.stated_by,),
                    "unsupported": (),
                    "reasoning": f"{why}; {said}",
                }
            ),
            JUDGE_OVERRULED,
            CONFLICT,
        )
    reasoning = f"{item.reasoning}; {said}" if item.reasoning else said
    return _warned(item.model_copy(update={"reasoning": reasoning}), CONFLICT)


def _conflict_findings(found: Sequence[ClaimConflicts]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.text for one in found for item in one.conflicts))


def _conflict_flag(
    judged: Sequence[FaithfulnessJudgment], found: Sequence[ClaimConflicts]
) -> bool | None:
    """True where any claim is contested; False only where each supported one was looked at."""
    if any(CONFLICT in item.warnings for item in judged):
        return True
    pairs = zip(judged, found, strict=True)
    return _flag([one.found for item, one in pairs if item.verdict == "Y"])


# --- judges that disagree with a constraint -----------------------------------------------------


def _judge_findings(judged: Sequence[FaithfulnessJudgment]) -> tuple[str, ...]:
    return tuple(
        f"{code}: claim {item.claim_id}: {_spoken(item.reasoning)}"
        for item in judged
        for code in (JUDGE_OVERRULED, LACKS_LITERALS)
        if code in item.warnings
    )


def _spoken(reasoning: str) -> str:
    match = _SCORED.match(reasoning)
    return reasoning if match is None else f"the judge gave {match['score']}, but {match['why']}"


# --- citations ----------------------------------------------------------------------------------


class _Citations:
    """Which units each part of a response cites."""

    def __init__(self, response: str, markers: Sequence[Marker], beside: tuple[str, ...]) -> None:
        self._markers = [marker for marker in markers if marker.ids]
        self._sentences = sentences(response)
        self._starts = [start for start, _ in self._sentences]
        self._beside = beside

    def of(self, claim: Claim) -> tuple[str, ...]:
        """Return the units of the markers in the claim, else behind it in its sentence."""
        end = self._sentence_end(claim)
        own = [m for m in self._markers if claim.start <= m.start <= claim.end + _JUST_AFTER]
        later = [m for m in self._markers if claim.end <= m.start < end]
        chosen = [m for m in own if m.start < end] or later[:1]
        if not chosen:
            return self._beside
        return tuple(dict.fromkeys(unit for marker in chosen for unit in marker.ids))

    def _sentence_end(self, claim: Claim) -> int:
        at = bisect_right(self._starts, max(claim.start, claim.end - 1)) - 1
        return self._sentences[at][1] if at >= 0 else claim.end


def _miscited(
    case: TraceCase,
    supported: Sequence[tuple[Claim, FaithfulnessJudgment]],
    citations: _Citations,
) -> dict[int, bool | None]:
    """Say of each supported claim whether it cites other units than those that carry it."""
    cited = {claim.id: _known(citations.of(claim), case.evidence) for claim, _ in supported}
    pairs = [(claim, item) for claim, item in supported if cited[claim.id]]
    mine = _lacking(case, [(claim, cited[claim.id]) for claim, _ in pairs])
    theirs = _lacking(case, [(claim, item.evidence_ids) for claim, item in pairs])
    return {
        claim.id: _is_miscited(
            bool(lost),
            bool(missing),
            bool(_known(item.evidence_ids, case.evidence) & cited[claim.id]),
        )
        for (claim, item), lost, missing in zip(pairs, mine, theirs, strict=True)
    }


def _is_miscited(lost: bool, missing: bool, shared: bool) -> bool | None:
    """`lost`: the cited units lack a literal; `missing`: the supporting ones do."""
    if not lost:
        return False if shared else None
    return True if not shared and not missing else None


def _known(ids: Sequence[str], evidence: EvidenceSet) -> frozenset[str]:
    """The ids that exist; copies of one text are one unit."""
    units = [unit for unit in map(evidence.get, ids) if unit is not None]
    return frozenset(unit.duplicate_of or unit.id for unit in units)


def _lacking(
    case: TraceCase, claims: Sequence[tuple[Claim, Sequence[str] | frozenset[str]]]
) -> list[tuple[str, ...]]:
    return lacking(
        [
            CitedClaim(
                text=_without_markers(claim.text, case),
                own=case.response[claim.start : claim.end],
                units=tuple(sorted(units)),
            )
            for claim, units in claims
        ],
        case.evidence,
        question=case.query,
    )
