"""Ages and moments as people write them on a command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from aletheia.errors import UsageError

__all__ = ["age_of", "moment_of"]

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE: Final = re.compile(r"([0-9]{1,5})([mhdw])")


def age_of(text: str, option: str) -> timedelta:
    """Read `30d`, `12h`, `45m` or `2w`. Raises UsageError that names the option."""
    match = _AGE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"`{option} {text}` is no age", hint="a number and a unit: `30d`, `12h`, `45m`, `2w`"
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def moment_of(text: str, option: str, *, now: datetime | None = None) -> datetime:
    """Read an ISO date or time, UTC where it names no zone, or an age before `now`.

    Raises UsageError that names the option.
    """
    moment = now or datetime.now(UTC)
    match = _AGE.fullmatch(text)
    try:
        if match is not None:
            return moment - age_of(text, option)
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"`{option} {text}` is no time",
            hint="a date `2026-11-30`, a time `2026-11-30T08:00`, or an age `7d`, `12h`",
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
