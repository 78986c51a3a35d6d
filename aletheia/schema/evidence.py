"""Evidence: the numbered units an answer may cite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceText:
    """One piece of context before it is numbered.

    `text` is kept byte for byte. `source` (a title, file name or URL) and `aliases`
    (other names of the things it speaks of) belong to the unit: a name they carry counts
    as carried by the unit. `facts` are ids of graph facts it was made from.
    """

    text: str
    source: str | None = None
    aliases: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceUnit:
    """One numbered piece of context, as it is shown to the generator.

    `id` is `E<n>`, n from 1 in display order. `key` is `sha256:<hex>` over text and source, so
    the same content has the same key in every run. `duplicate_of` is the id of the first unit
    with the same key, `position` the index in the caller's list (0-based, blanks counted).
    """

    id: str
    text: str
    key: str
    position: int
    source: str | None = None
    aliases: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    duplicate_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSet:
    """The numbered units of one question. `dropped` are positions of blank inputs."""

    units: tuple[EvidenceUnit, ...] = ()
    dropped: tuple[int, ...] = ()
    _by_id: dict[str, EvidenceUnit] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {unit.id: unit for unit in self.units})

    def __len__(self) -> int:
        return len(self.units)

    def __iter__(self) -> Iterator[EvidenceUnit]:
        return iter(self.units)

    def __contains__(self, unit_id: object) -> bool:
        return unit_id in self._by_id

    def get(self, unit_id: str) -> EvidenceUnit | None:
        """The unit with this canonical id, or None."""
        return self._by_id.get(unit_id)

    @property
    def ids(self) -> tuple[str, ...]:
        """All unit ids in display order."""
        return tuple(self._by_id)
