"""What a quantity is, and how a claimed one can stand to the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from aletheia.grounding.number_words import Approx, hedge_before, noun_after
from aletheia.grounding.numerals import Reading
from aletheia.grounding.units import Exact, Kind

Outcome = Literal[
    "exact", "converted", "rounded", "derived", "within_range", "contradicted", "absent"
]
SMALL: Final = 12
"""Counts up to this may be made by counting what a sentence lists."""


class Quantity(NamedTuple):
    """A number with what stands beside it, at `source[start:end]`.

    `value` is exact (scale words applied, cents as hundredths); `exponent` is the power of ten of
    the last digit that was given. `others` are further readings of an ambiguous numeral. A range
    or pair has `high`; `value` is its low or first end. `ends_count` says that each end is a fact
    by itself (`rose from 10 to 15`). `unit` is canonical, `currency` a code or an ambiguous sign.
    `soft` marks words that need not be meant as numbers. What only a doubtful case needs, the
    hedge before and the noun behind, is read from `source` when it is asked for.

    A named tuple, because every text makes a dozen: a frozen dataclass of this size takes five
    times as long to create.
    """

    start: int
    end: int
    source: str
    kind: Kind
    value: Exact
    exponent: int = 0
    others: tuple[Reading, ...] = ()
    unit: str | None = None
    currency: str | None = None
    high: Exact | None = None
    is_word: bool = False
    soft: bool = False
    ends_count: bool = False
    scaled: bool = False

    def __repr__(self) -> str:
        return f"Quantity({self.text!r}, {self.start}, {self.kind}, {self.value}, {self.unit})"

    @property
    def text(self) -> str:
        """The words as they stand in the folded text."""
        return self.source[self.start : self.end]

    @property
    def approx(self) -> Approx | None:
        """What the words before it say: about, nearly, over, at_least, under, at_most."""
        if self.source[self.end - 1] == "+":
            return "at_least"
        return hedge_before(self.source, self.start)

    @property
    def noun(self) -> str | None:
        """The plain word right behind a number without a unit: `people` in `412 people`."""
        if self.unit is not None or self.kind == "money":
            return None
        return noun_after(self.source, self.end)

    @property
    def low(self) -> Exact:
        """The lower end; the value itself when it is no range."""
        return self.value

    @property
    def hedged(self) -> bool:
        """Whether a word makes it approximate or a bound."""
        return self.approx is not None

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.value > 0) - (self.value < 0)

    @property
    def small(self) -> bool:
        """A bare count that an answer may have made by counting."""
        return (
            (self.kind == "number" or self.unit == "times")
            and self.high is None
            and isinstance(self.value, int)
            and 0 <= self.value <= SMALL
        )

    def with_unit(self, unit: str | None, kind: Kind) -> Quantity:
        """Return the same number under a column header that gives the unit (`%`, `kg`)."""
        return self._replace(unit=unit, kind=kind)


@dataclass(frozen=True, slots=True)
class QuantityMatch:
    """How a claimed quantity stands to the evidence.

    `index` is the quantity matched or nearest. `soft` marks a failure that is no more than a hint:
    a small count, or a word that need not be a number. `note` names what is worth saying
    (`hedge_dropped`, `invented_precision`, `unit_differs`, `currency_differs`, `sign_differs`).
    """

    outcome: Outcome
    index: int | None = None
    soft: bool = False
    note: str | None = None

    @property
    def supported(self) -> bool:
        """Whether the evidence carries the quantity."""
        return self.outcome in ("exact", "converted", "rounded", "derived")
