"""What is true of a trace, each by itself, from verdicts that may be missing.

Three values: True, False, and None for what is not known. A missing verdict turns a flag into
None or leaves it as it is; it never turns it over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from aletheia.schema.diagnosis import CompletenessVerdict, FailureCell, Flags
from aletheia.schema.judgement import Verdict

Coverage = Literal["grounded", "topical"]
"""What covers a sub-question. `topical`: a claim that speaks of it. `grounded`: not if all those
claims are unsupported and the evidence does not hold the answer either."""

CONFLICT: Final = "conflict"
"""Warning of a judgment: the evidence contradicts itself on the claim."""

MISCITED: Final = "miscited"
"""Warning of a judgment: the claim is supported, but not by what it cites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One trace as far as it is known.

    `sufficiency` and `faithfulness` have every sub-question and every graded claim as a key; None
    = unmeasured. `covering` has the claims that speak of a sub-question, None where the alignment
    is not known. `extra` says of each claim whether it was not asked for. `low` are the items
    whose verdict is of low confidence: `("sufficiency", id)` or `("faithfulness", id)`.
    `claims_known` is False where the response could not be cut.
    """

    sufficiency: Mapping[int, Verdict | None] = field(default_factory=dict)
    faithfulness: Mapping[int, Verdict | None] = field(default_factory=dict)
    covering: Mapping[int, tuple[int, ...] | None] = field(default_factory=dict)
    extra: Mapping[int, bool | None] = field(default_factory=dict)
    low: frozenset[tuple[str, int]] = frozenset()
    claims_known: bool = True
    abstained: bool = False
    empty: bool = False
    miscited: bool | None = None
    conflict: bool | None = None
    coverage: Coverage = "grounded"

    def with_low(self, verdict: Verdict) -> Facts:
        """Return the same trace with every verdict of low confidence replaced by `verdict`."""
        return replace(
            self,
            sufficiency=self._replaced("sufficiency", self.sufficiency, verdict),
            faithfulness=self._replaced("faithfulness", self.faithfulness, verdict),
        )

    def _replaced(
        self, metric: str, verdicts: Mapping[int, Verdict | None], verdict: Verdict
    ) -> dict[int, Verdict | None]:
        return {key: verdict if (metric, key) in self.low else was for key, was in verdicts.items()}


def covered(facts: Facts, sub_question: int) -> bool | None:
    """Whether a sub-question is covered; None where a verdict that decides it is missing."""
    if facts.abstained or facts.empty:
        return False
    claims = facts.covering.get(sub_question)
    if not claims:
        return None if claims is None else False
    if facts.coverage == "topical":
        return True
    verdicts = {facts.faithfulness.get(claim) for claim in claims}
    sufficient = facts.sufficiency.get(sub_question)
    if "Y" in verdicts or sufficient == "Y":
        return True
    return None if None in verdicts or sufficient is None else False


def flags_of(facts: Facts) -> Flags:
    """Return the flags. `over_refused` is left to who knows what counts as sufficient."""
    return Flags(
        missing=_missing(facts),
        extra=_extra(facts),
        ungrounded=_ungrounded(facts),
        miscited=facts.miscited,
        abstained=facts.abstained,
        over_refused=None if facts.abstained else False,
        conflict=facts.conflict,
    )


def completeness_of(flags: Flags) -> CompletenessVerdict | None:
    """Return the view of two flags: incomplete before extra before complete."""
    if flags.missing:
        return "incomplete"
    if flags.missing is None or flags.extra is None:
        return None
    return "extra" if flags.extra else "complete"


def cell_of(flags: Flags) -> FailureCell | None:
    """Return the cell the flags add up to; None where a flag that decides it is not known."""
    completeness = completeness_of(flags)
    if completeness is None or flags.ungrounded is None:
        return None
    return FailureCell(f"{completeness}_{'ungrounded' if flags.ungrounded else 'grounded'}")


def any_of(values: Iterable[bool | None]) -> bool | None:
    """True if any is; None if one that is not known could be; else False."""
    found = set(values)
    return True if True in found else None if None in found else False


def _missing(facts: Facts) -> bool | None:
    if not facts.sufficiency:
        return True if facts.empty else None
    return any_of(_not(covered(facts, item)) for item in facts.sufficiency)


def _extra(facts: Facts) -> bool | None:
    if not facts.claims_known:
        return None
    return any_of(facts.extra.values())


def _ungrounded(facts: Facts) -> bool | None:
    """No claims are grounded claims, unless there is no response or nobody could cut it."""
    if facts.empty or not facts.claims_known:
        return None
    return any_of(None if item is None else item == "N" for item in facts.faithfulness.values())


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value
