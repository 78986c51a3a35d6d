"""A positive verdict needs a unit that exists and carries what the claim says by name and number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from aletheia.grounding.cited_ids import BadElement, read_cited
from aletheia.grounding.verify import verify_answer
from aletheia.schema.answer import ParsedAnswer
from aletheia.schema.evidence import EvidenceSet

NO_VALID_UNIT: Final = "no_valid_unit"
UNKNOWN_UNIT: Final = "unknown_unit"
LACKS_LITERALS: Final = "citation_lacks_literals"

JUDGE_OVERRULED: Final = "judge_overruled"
"""Warning: a number, name, sign or other fact of the text decided against what the judge said."""

_LITERAL_KINDS: Final = frozenset(
    ("name", "number", "date", "quotation", "link", "identifier", "polarity")
)


def read_units(value: object, evidence: EvidenceSet) -> tuple[tuple[str, ...], bool]:
    """Return the units of `value` that exist, each once, and whether it names others as well."""
    cited = read_cited(value, [])
    if isinstance(cited, BadElement):
        return (), True
    ids = tuple(dict.fromkeys(unit for _, units in cited for unit in units))
    valid = tuple(unit for unit in ids if unit in evidence)
    return valid, len(valid) < len(ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedClaim:
    """A claim with the units that are said to carry it.

    `own` is the span of the response: what `text` has beyond it was put in to make it stand alone,
    and is not held against the claim.
    """

    text: str
    own: str
    units: tuple[str, ...]


def lacking(
    claims: Sequence[CitedClaim], evidence: EvidenceSet, *, question: str | None = None
) -> list[tuple[str, ...]]:
    """Return, for each claim, its names, numbers and other literals that its units do not carry."""
    found: list[tuple[str, ...]] = [()] * len(claims)
    # Claims on the same units are checked together: reading the units is what costs.
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, claim in enumerate(claims):
        groups.setdefault(tuple(sorted(claim.units)), []).append(at)
    for units, members in groups.items():
        cited = EvidenceSet(units=tuple(unit for unit in evidence if unit.id in units))
        missing = _missing([claims[at] for at in members], units, cited, question)
        for at, texts in zip(members, missing, strict=True):
            found[at] = texts
    return found


def _missing(
    claims: Sequence[CitedClaim], units: tuple[str, ...], cited: EvidenceSet, question: str | None
) -> list[tuple[str, ...]]:
    lines = [_line(claim.text) for claim in claims]
    starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    answer = ParsedAnswer(answer="\n".join(lines), evidence_ids=units)
    found: list[list[str]] = [[] for _ in claims]
    for item in verify_answer(cited, answer, question=question).findings:
        at = bisect_right(starts, item.start) - 1
        if item.kind in _LITERAL_KINDS and item.text.casefold() in claims[at].own.casefold():
            found[at].append(item.text)
    return [tuple(texts) for texts in found]


def _line(text: str) -> str:
    """Write a claim as a sentence of its own, so that it is not read as a heading."""
    line = " ".join(text.split())
    return f"{line}." if line[-1:].isalnum() else line
