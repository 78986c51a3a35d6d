"""Where an answer came from, as a table over what was observed.

Three questions are put to the observations, each with the answers yes, no and not known:

known       could memory alone give the answer?
    yes     the same answer without evidence, or although the evidence says otherwise, or after
            everything that holds it was removed
    no      another answer or none without evidence, and none of the above
depends     does the answer come from the evidence that is shown?
    yes     it follows other evidence; or it goes with the units that hold it, while it is seen to
            outlive another order or the loss of irrelevant units, and to outlive both as far as
            they were seen
    no      it stays the old one although the evidence says otherwise; or it is lost where only the
            evidence could give it, and memory could give the old one

    depends  known      attribution
    yes      no         from_evidence
    yes      yes        both_possible
    no       any        from_memory
    yes      not known  undecided: from_evidence or both_possible
    unknown  yes        undecided: from_memory or both_possible
    unknown  no         undecided: from_evidence or from_memory (a wrong answer: neither)
    unknown  not known  undecided: anything but neither (a wrong answer: anything)

An abstention is `neither`. What was not observed is not known: it never counts for the evidence.
A wrong answer that merely goes away may have been a guess: there `depends` is yes only if it
follows other evidence, or if the cited units carry it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from aletheia.schema.attribution import ATTRIBUTIONS, Attribution, Condition

Base = Literal["right", "wrong", "abstained"]
ClosedBook = Literal["same", "other", "abstained"]
Counterfactual = Literal["followed", "kept", "lost", "unclear"]
Removal = Literal["same", "changed", "abstained"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What was seen of one question; None = nothing, and `missing` says why for each condition.

    `counterfactual` is `kept` where the original answer came although the evidence says otherwise,
    `lost` where the renamed question, which nobody can remember, was not answered from the renamed
    evidence. `still_held` says whether the evidence holds the answer after the cited units are
    gone. `verified` says whether the cited units carry the base answer.
    """

    base: Base | None
    closed_book: ClosedBook | None = None
    counterfactual: Counterfactual | None = None
    cited_removed: Removal | None = None
    still_held: bool | None = None
    holding_removed: Removal | None = None
    irrelevant_removed: Removal | None = None
    shuffled: Removal | None = None
    verified: bool | None = None
    missing: Mapping[Condition, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributed:
    """`attribution` None = undecided, for the reason `undecided`; then several are `possible`."""

    attribution: Attribution | None
    possible: tuple[Attribution, ...]
    undecided: str | None = None
    because: tuple[str, ...] = ()


_SAID: Final[Mapping[tuple[str, str], str]] = {
    ("base", "right"): "with the evidence the answer is right",
    ("base", "wrong"): "with the evidence the answer is wrong",
    ("base", "abstained"): "with the evidence the model abstains",
    ("closed_book", "same"): "without evidence it gives the same answer",
    ("closed_book", "other"): "without evidence it gives another answer",
    ("closed_book", "abstained"): "without evidence it abstains",
    ("counterfactual", "followed"): "it follows evidence with other names, dates and numbers",
    ("counterfactual", "kept"): "it gives the old answer although the evidence says otherwise",
    ("counterfactual", "lost"): "it does not answer where only renamed evidence could tell",
    (
        "counterfactual",
        "unclear",
    ): "with other evidence it gives neither the old nor the new answer",
    ("cited_removed", "same"): "the answer stays without the units it cites",
    ("cited_removed", "changed"): "the answer changes without the units it cites",
    ("cited_removed", "abstained"): "it abstains without the units it cites",
    ("holding_removed", "same"): "the answer stays when nothing that holds it is left",
    ("holding_removed", "changed"): "the answer changes when nothing that holds it is left",
    ("holding_removed", "abstained"): "it abstains when nothing that holds the answer is left",
    ("irrelevant_removed", "same"): "the answer stays without the irrelevant units",
    ("irrelevant_removed", "changed"): "the answer changes without the irrelevant units",
    ("irrelevant_removed", "abstained"): "it abstains without the irrelevant units",
    ("shuffled", "same"): "the answer stays in another order",
    ("shuffled", "changed"): "the answer changes in another order",
    ("shuffled", "abstained"): "it abstains in another order",
}

_SEEN: Final[tuple[Condition, ...]] = (
    "base",
    "closed_book",
    "counterfactual",
    "cited_removed",
    "holding_removed",
    "irrelevant_removed",
    "shuffled",
)


def attribute(seen: Observations) -> Attributed:
    """Say where an answer came from, by the table at the top of this module."""
    because = tuple(_because(seen))
    if seen.base is None:
        return _undecided(seen, ATTRIBUTIONS, ("base",), because)
    if seen.base == "abstained":
        return _decided("neither", because)
    knows = known(seen)
    follows = depends(seen, knows=knows)
    match follows, knows:
        case True, False:
            return _decided("from_evidence", because)
        case True, True:
            return _decided("both_possible", because)
        case False, _:
            return _decided("from_memory", because)
        case True, None:
            return _undecided(seen, ("from_evidence", "both_possible"), _CLOSED, because)
        case None, True:
            return _undecided(seen, ("from_memory", "both_possible"), _EVIDENCE, because)
        case None, False:
            return _unknown_origin(seen, because)
    possible = ATTRIBUTIONS if seen.base == "wrong" else ATTRIBUTIONS[:3]
    return _undecided(seen, possible, (*_CLOSED, *_EVIDENCE), because)


_CLOSED: Final[tuple[Condition, ...]] = ("closed_book",)
_EVIDENCE: Final[tuple[Condition, ...]] = (
    "counterfactual",
    "cited_removed",
    "holding_removed",
    "irrelevant_removed",
    "shuffled",
)


def _unknown_origin(seen: Observations, because: tuple[str, ...]) -> Attributed:
    """Settle an answer that memory does not give and that is not seen to follow the evidence."""
    possible: tuple[Attribution, ...] = ("from_evidence", "from_memory")
    if seen.base == "right":
        return _undecided(seen, possible, _EVIDENCE, because)
    if seen.counterfactual is not None or removed(seen) is not None:
        return _decided("neither", because)
    return _undecided(seen, (*possible, "neither"), _EVIDENCE, because)


def removed(seen: Observations) -> Removal | None:
    """Return what became of the answer once nothing shown held it; None = not observed.

    An answer that is gone with its citations is gone, whatever was left. One that stays while
    other units hold it too says nothing.
    """
    if seen.holding_removed is not None:
        return seen.holding_removed
    if seen.cited_removed == "same" and seen.still_held is not False:
        return None
    return seen.cited_removed


def known(seen: Observations) -> bool | None:
    """Tell whether memory alone could give the answer."""
    signs = (
        seen.closed_book == "same",
        seen.counterfactual == "kept",
        removed(seen) == "same",
    )
    if any(signs):
        return True
    return None if seen.closed_book is None else False


def depends(seen: Observations, *, knows: bool | None) -> bool | None:
    """Tell whether the answer comes from the evidence that is shown."""
    if seen.counterfactual == "followed":
        return True
    if seen.counterfactual == "kept" or (seen.counterfactual == "lost" and knows):
        return False
    gone = removed(seen) in ("changed", "abstained")
    carried = seen.base == "right" or seen.verified is True
    return True if gone and carried and stable(seen) else None


def stable(seen: Observations) -> bool | None:
    """Tell whether the answer stays where nothing that matters changes; None = not observed.

    Of an answer that changes by itself it shows nothing that it went away.
    """
    others = [item for item in (seen.irrelevant_removed, seen.shuffled) if item is not None]
    return all(item == "same" for item in others) if others else None


def _because(seen: Observations) -> Iterator[str]:
    for name in _SEEN:
        value = getattr(seen, name)
        if value is not None:
            held = name == "cited_removed" and value == "same" and seen.still_held
            yield _SAID[name, value] + (", which other units hold too" if held else "")
    if stable(seen) is False:
        yield "it changes by itself, so that it goes away shows nothing"


def _decided(attribution: Attribution, because: tuple[str, ...]) -> Attributed:
    return Attributed(attribution=attribution, possible=(attribution,), because=because)


def _undecided(
    seen: Observations,
    possible: tuple[Attribution, ...],
    needed: tuple[Condition, ...],
    because: tuple[str, ...],
) -> Attributed:
    reasons = [
        f"{name.replace('_', ' ')}: {seen.missing[name]}" for name in needed if name in seen.missing
    ]
    undecided = "; ".join(dict.fromkeys(reasons)) or "the observations do not tell"
    return Attributed(attribution=None, possible=possible, undecided=undecided, because=because)
