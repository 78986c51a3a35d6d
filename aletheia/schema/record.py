"""What every result file is made of: the base of its records, and a rate with its interval."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of everything in the file: frozen, no unknown fields, no NaN or infinity."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=()
    )


class Rate(Record):
    """A rate with its numerator, denominator and Wilson 95 % interval; no value over nothing."""

    value: float | None
    numerator: int
    denominator: int
    low: float | None = None
    high: float | None = None
