"""Supporting facts of a question set, found in the facts that evidence was made from.

A question set names a link as `source|relation|target` and everything else about a node as
`node|attribute`, without the value. The graph names each value: `node|attribute|value`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from aletheia.schema.evidence import EvidenceText

_OTHER_NAMES: Final = {"aliases": "alias", "name": "type"}
"""What a graph may call it instead. A node's name is introduced together with its type."""


def with_references(
    units: Iterable[EvidenceText], supporting: Sequence[str]
) -> tuple[EvidenceText, ...]:
    """Add to each unit the supporting facts that it was made from, as the question names them."""
    starts = {reference: _starts(reference) for reference in supporting}
    return tuple(_referred(unit, starts) for unit in units)


def _referred(unit: EvidenceText, starts: dict[str, tuple[str, ...]]) -> EvidenceText:
    found = tuple(
        reference
        for reference, accepted in starts.items()
        if reference not in unit.facts and any(fact.startswith(accepted) for fact in unit.facts)
    )
    return replace(unit, facts=unit.facts + found) if found else unit


def _starts(reference: str) -> tuple[str, ...]:
    """List how the id of such a fact may begin; `#2` marks the second of two equal links."""
    node, _, attribute = reference.partition("|")
    other = _OTHER_NAMES.get(attribute)
    return (f"{reference}|", f"{reference}#", *([f"{node}|{other}|"] if other else []))
