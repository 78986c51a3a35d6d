"""Ages and moments on a command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from aletheia.cli.times import age_of, moment_of
from aletheia.errors import UsageError

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("45m", timedelta(minutes=45)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("2w", timedelta(weeks=2)),
    ],
)
def test_an_age_is_a_number_and_a_unit(text: str, age: timedelta) -> None:
    assert age_of(text, "--older-than") == age
    assert moment_of(text, "--since", now=NOW) == NOW - age


@pytest.mark.parametrize("text", ["", "d", "30", "-3d", "3 d", "3y", "1.5h", "٣d", "999999d"])
def test_what_is_no_age_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="--older-than"):
        age_of(text, "--older-than")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-02-28", datetime(2026, 2, 28, tzinfo=UTC)),
        ("2026-02-28T08:30", datetime(2026, 2, 28, 8, 30, tzinfo=UTC)),
        ("2026-02-28T08:30+02:00", datetime(2026, 2, 28, 6, 30, tzinfo=UTC)),
        ("2026-02-28 08:30:01Z", datetime(2026, 2, 28, 8, 30, 1, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, moment: datetime) -> None:
    assert moment_of(text, "--since", now=NOW) == moment


@pytest.mark.parametrize("text", ["yesterday", "2026-02-30", "28.02.2026", ""])
def test_what_is_no_time_is_an_error_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="--until") as caught:
        moment_of(text, "--until", now=NOW)
    assert "`7d`" in str(caught.value.hint)
