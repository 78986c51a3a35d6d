"""Put together what a model said about evidence that it was shown in groups.

All groups abstain: so does the whole. One answers: that is the answer. Several answer: the
question is asked once more over the units they cite. A reply that cannot be read decides, so that
the whole cannot be read either: what it would have said is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aletheia.grounding.citations import find_markers
from aletheia.grounding.refusal import is_abstention_literal, refusal
from aletheia.schema.answer import ParsedAnswer, ParsedReply
from aletheia.schema.evidence import EvidenceUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was said about one group of units."""

    units: tuple[EvidenceUnit, ...]
    parsed: ParsedReply

    @property
    def answers(self) -> bool:
        """Whether it is an answer, readable and no abstention."""
        if not isinstance(self.parsed, ParsedAnswer):
            return False
        answer = self.parsed.answer
        return not is_abstention_literal(answer) and refusal(answer) is None

    @property
    def readable(self) -> bool:
        """Whether it could be read."""
        return isinstance(self.parsed, ParsedAnswer)


def deciding(said: Sequence[Said]) -> int | None:
    """Index of the group whose reply is that of the whole, None where several answer."""
    unreadable = [index for index, one in enumerate(said) if not one.readable]
    answering = [index for index, one in enumerate(said) if one.answers]
    if unreadable:
        return unreadable[0]
    if not answering:
        return 0
    return answering[0] if len(answering) == 1 else None


def cited_units(said: Sequence[Said]) -> tuple[EvidenceUnit, ...]:
    """Units that the answering groups cite, in their order; all of a group that cites none."""
    return tuple(unit for one in said if one.answers for unit in _cited(one))


def span(units: Sequence[EvidenceUnit]) -> str:
    """Name a run of units for a person, such as `E1 to E4`."""
    first, last = units[0].id, units[-1].id
    return first if first == last else f"{first} to {last}"


def _cited(said: Said) -> tuple[EvidenceUnit, ...]:
    if not isinstance(said.parsed, ParsedAnswer):
        return ()
    ids = set(said.parsed.evidence_ids)
    highest = max(int(unit.id.removeprefix("E")) for unit in said.units)
    for marker in find_markers(said.parsed.answer, highest, lenient=True):
        ids.update(marker.ids)
    return tuple(unit for unit in said.units if unit.id in ids) or said.units
