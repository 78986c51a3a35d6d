"""How many traces are healthy, as a rate that missing verdicts cannot improve.

A trace is evaluated when it has a cell, or an empty response, which is decided by rule. Pending
and failed evaluations, and traces with an unmeasured judge, are counted beside the rate: it comes
with `n of N` and with the range between the worst and the best that the rest could turn out to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from aletheia.schema.diagnosis import Diagnosis, FailureCell
from aletheia.schema.proportion import wilson
from aletheia.schema.report import Rate
from aletheia.schema.trace import TraceRecord

Test = Callable[[Diagnosis], bool]


class Share(TraceRecord):
    """A rate over the evaluated traces, and what it could be over all that were judged.

    `rate` has the Wilson 95 % interval. `total` counts the unmeasured traces too; `low` and `high`
    are the least and the most the rate could be over all of them, None over nothing. `tentative`
    of the numerator rest on verdicts of low confidence.
    """

    rate: Rate
    total: int
    low: float | None
    high: float | None
    tentative: int = 0


class TraceRates(TraceRecord):
    """Counts and rates over many traces.

    `total` = `evaluated` + `unmeasured` + `pending` + `failed`. `cells` has all six cells, and
    their sum is `evaluated` - `empty_responses`. `adjusted` is the share of traces that are
    healthy or abstained honestly; no trace is both.
    """

    total: int
    evaluated: int
    unmeasured: int
    pending: int
    failed: int
    tentative: int
    empty_responses: int
    cells: dict[FailureCell, int]
    tentative_cells: dict[FailureCell, int]
    undecided_abstentions: int
    healthy: Share
    adjusted: Share
    honest_abstention: Share
    over_refusal: Share


def trace_rates(
    diagnoses: Iterable[Diagnosis],
    *,
    pending: int = 0,
    failed: int = 0,
    confident_only: bool = False,
) -> TraceRates:
    """Count traces and rate them.

    `pending` and `failed` evaluations are in no denominator. With `confident_only` a tentative
    cell is as good as none: it counts as unmeasured.
    """
    found = list(diagnoses)
    evaluated = [item for item in found if _is_evaluated(item, confident_only=confident_only)]
    tentative = [item for item in evaluated if item.tentative]
    share = partial(_share, found, confident_only=confident_only)
    return TraceRates(
        total=len(found) + pending + failed,
        evaluated=len(evaluated),
        unmeasured=len(found) - len(evaluated),
        pending=pending,
        failed=failed,
        tentative=len(tentative),
        empty_responses=sum(item.empty_response for item in evaluated),
        cells=_cells(evaluated),
        tentative_cells=_cells(tentative),
        undecided_abstentions=sum(item.abstention == "undecided" for item in evaluated),
        healthy=share(_is_healthy, _may_be_healthy),
        adjusted=share(_is_fine, _may_be_fine),
        honest_abstention=share(_is_honest, _may_be_honest),
        over_refusal=share(_is_over_refusal, _has_abstained),
    )


def _is_evaluated(diagnosis: Diagnosis, *, confident_only: bool) -> bool:
    if diagnosis.empty_response:
        return True
    return diagnosis.failure_cell is not None and not (confident_only and diagnosis.tentative)


def _cells(diagnoses: Sequence[Diagnosis]) -> dict[FailureCell, int]:
    counts = Counter(item.failure_cell for item in diagnoses)
    return {cell: counts[cell] for cell in FailureCell}


def _share(
    found: Sequence[Diagnosis], holds: Test, may_hold: Test, *, confident_only: bool
) -> Share:
    evaluated = [item for item in found if _is_evaluated(item, confident_only=confident_only)]
    rest = [item for item in found if not _is_evaluated(item, confident_only=confident_only)]
    yes = [item for item in evaluated if holds(item)]
    # What is tentative could be anything; of the others some flags are known.
    possible = sum(item.tentative or may_hold(item) for item in rest)
    return Share(
        rate=wilson(len(yes), len(evaluated)),
        total=len(found),
        low=len(yes) / len(found) if found else None,
        high=(len(yes) + possible) / len(found) if found else None,
        tentative=sum(item.tentative or item.level_tentative for item in yes),
    )


def _is_healthy(diagnosis: Diagnosis) -> bool:
    return diagnosis.failure_cell is FailureCell.COMPLETE_GROUNDED


def _may_be_healthy(diagnosis: Diagnosis) -> bool:
    flags = diagnosis.flags
    return True not in (flags.missing, flags.extra, flags.ungrounded, flags.abstained)


def _is_honest(diagnosis: Diagnosis) -> bool:
    return diagnosis.abstention == "honest"


def _may_be_honest(diagnosis: Diagnosis) -> bool:
    flags = diagnosis.flags
    return flags.abstained is True and True not in (flags.ungrounded, flags.over_refused)


def _is_over_refusal(diagnosis: Diagnosis) -> bool:
    return diagnosis.abstention == "over_refusal"


def _has_abstained(diagnosis: Diagnosis) -> bool:
    return diagnosis.flags.abstained is True


def _is_fine(diagnosis: Diagnosis) -> bool:
    return _is_healthy(diagnosis) or _is_honest(diagnosis)


def _may_be_fine(diagnosis: Diagnosis) -> bool:
    return _may_be_healthy(diagnosis) or _may_be_honest(diagnosis)
