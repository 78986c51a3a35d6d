"""How much sufficiency counts as `high`: learned from healthy traces, or a fallback."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from aletheia.errors import UsageError
from aletheia.schema.diagnosis import Diagnosis, FailureCell

ThresholdSource = Literal["calibrated", "fallback_project", "fallback_memory"]

MIN_TRACES: Final = 20
FALLBACK_PROJECT: Final = 1.0
FALLBACK_MEMORY: Final = 0.8

# Fractions such as 2/3 lose their last digit where a percentile is interpolated.
_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """The sufficiency that `high` needs, where it comes from, and over how many healthy traces.

    `traces` is the number of usable traces, also where it was too small to learn from.
    """

    value: float
    source: ThresholdSource
    traces: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:
            raise UsageError(f"the threshold is {self.value}", hint="it lies between 0 and 1")

    def reached(self, fraction: float) -> bool:
        """Whether a sufficiency fraction counts as `high`."""
        return fraction >= self.value - _TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationOptions:
    """What holds where there is not enough to learn from. Raises UsageError for `traces` < 2."""

    traces: int = MIN_TRACES
    project: float = FALLBACK_PROJECT
    memory: float = FALLBACK_MEMORY

    def __post_init__(self) -> None:
        if self.traces < 2:
            raise UsageError(f"`traces` is {self.traces}", hint="a percentile needs at least 2")


def fallback(*, persisted: bool, options: CalibrationOptions | None = None) -> Threshold:
    """Return the threshold of a stored project, or of a run that keeps nothing."""
    options = options or CalibrationOptions()
    if persisted:
        return Threshold(value=options.project, source="fallback_project")
    return Threshold(value=options.memory, source="fallback_memory")


def calibrate(
    diagnoses: Iterable[Diagnosis],
    *,
    persisted: bool = True,
    options: CalibrationOptions | None = None,
) -> Threshold:
    """Return the 10th percentile (linear interpolation) of the sufficiency of healthy traces.

    Healthy is `complete_grounded`. Traces with no sufficiency at all are left out: they teach
    that nothing is needed. With fewer than `options.traces` left it is the fallback. A threshold
    decides the level of sufficiency, never the cell.
    """
    options = options or CalibrationOptions()
    usable = [
        item.sufficiency_fraction
        for item in diagnoses
        if item.failure_cell is FailureCell.COMPLETE_GROUNDED and item.sufficiency_fraction
    ]
    if len(usable) < options.traces:
        held = fallback(persisted=persisted, options=options)
        return Threshold(value=held.value, source=held.source, traces=len(usable))
    tenth = statistics.quantiles(usable, n=10, method="inclusive")[0]
    value = min(max(tenth, min(usable)), max(usable))
    return Threshold(value=value, source="calibrated", traces=len(usable))
