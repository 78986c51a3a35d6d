"""What the generator decided: sentences to quote, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from aletheia.generators._passages import Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An answer: the sentences in order, an opening `Yes. ` or nothing, and why."""

    passages: tuple[Passage, ...]
    opening: str = ""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoChoice:
    """Nothing fits, and why."""

    why: str
