"""Runs side by side: one run in three modes, or several runs over the same questions."""

from __future__ import annotations

from typing import Literal

from aletheia.schema.report import MetricSummary, Rate, Record
from aletheia.schema.verification import Category, Mode, RejectionReason

COMPARISON_VERSION = 1
"""Raised when a field of a comparison changes its meaning or goes away."""

Allowance = Literal["questions", "graph", "judge"]
"""What two runs may differ in, if the caller says so."""


class Source(Record):
    """A report that is compared: its file, and what made it."""

    file: str
    created_at: str
    mode: Mode
    generator: str
    metrics_by: str
    questions: int


class Sign(Record):
    """A sign of answers from memory: how often it shows, among the rows where it could.

    `ids` are the questions that show it. `low` of the rate is the least share that agrees with
    the counts: a sign is no proof.
    """

    name: str
    meaning: str
    rate: Rate
    ids: tuple[str, ...] = ()


# --- one run in three modes -------------------------------------------------------------------


class ModeView(Record):
    """What a mode makes of the replies of a run.

    `kept` and `rejected` are replies, `unverified` those of them for which no verdict is known.
    `kept_failed` are kept although they failed. `accuracy` counts a rejected answer as wrong,
    `accuracy_when_answered` leaves it out.
    """

    mode: Mode
    kept: int
    rejected: int
    unverified: int
    kept_failed: int
    errors: int
    pass_rate: Rate
    accuracy: Rate
    accuracy_when_answered: Rate
    abstention: Rate
    metrics: dict[str, MetricSummary]


class ReadingDifference(Record):
    """A reply that strict and lenient read differently, with the reason on each side."""

    id: str
    strict: RejectionReason | None
    lenient: RejectionReason | None


class ModesComparison(Record):
    """One run as strict, lenient and off show it, from the same replies.

    `reread` replies were verified again from the file; of the others the verdict in the file
    counts for every mode. `changed` are questions whose verdict in the file is not the one that
    this version gives. `gap` are replies that lenient keeps and strict rejects, among the
    verified ones.
    """

    schema_version: int = COMPARISON_VERSION
    kind: Literal["modes"] = "modes"
    report: Source
    views: tuple[ModeView, ...]
    reread: int
    not_reread: int
    readings: tuple[ReadingDifference, ...] = ()
    changed: tuple[str, ...] = ()
    gap: Rate
    signs: tuple[Sign, ...]
    verdict: tuple[str, ...]


# --- two runs over the same questions ----------------------------------------------------------


class Difference(Record):
    """One measure in two runs, over the rows that carry it in both: second minus first.

    Of the `total` matched questions to which it applies on a side, `n` have it on both. `low` and
    `high` are a 95 % interval of the difference, `detectable` the size that would have been found
    with a chance of 80 %. None where a figure cannot be estimated.
    """

    name: str
    n: int
    total: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    detectable: float | None
    verdict: str


class MeanDifference(Difference):
    """A metric: means, bootstrap interval, paired permutation test."""

    first: float | None
    second: float | None
    implementations: tuple[str, ...] = ()


class RateDifference(Difference):
    """A rate: Wilson intervals of both, exact McNemar test over the rows that changed."""

    first: Rate
    second: Rate
    gained: int
    lost: int


class Side(Record):
    """What happened to a question in one run; `reason` is the first check that failed."""

    category: Category
    passed: bool | None
    correct: bool | None
    reason: RejectionReason | None = None
    finding: str | None = None
    error: str | None = None
    answer: str | None = None


class Flip(Record):
    """A question whose outcome is another one: `passed`, `correct`, `abstained` or `replied`."""

    id: str
    question: str
    changed: tuple[str, ...]
    first: Side
    second: Side


class Matching(Record):
    """How the questions of two runs fit: matched by id and text."""

    matched: int
    total: int
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    other_text: tuple[str, ...] = ()


class PairComparison(Record):
    """Two runs. `notes` say what differs between them although they may be compared."""

    first: Source
    second: Source
    matching: Matching
    notes: tuple[str, ...] = ()
    metrics: tuple[MeanDifference, ...]
    rates: tuple[RateDifference, ...]
    first_signs: tuple[Sign, ...]
    second_signs: tuple[Sign, ...]
    flips: tuple[Flip, ...]
    verdict: tuple[str, ...]


class RunsComparison(Record):
    """Several runs: each is compared with the first."""

    schema_version: int = COMPARISON_VERSION
    kind: Literal["runs"] = "runs"
    allowed: tuple[Allowance, ...] = ()
    pairs: tuple[PairComparison, ...]


Comparison = ModesComparison | RunsComparison
