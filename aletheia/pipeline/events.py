"""What a run tells while it goes on. The command line decides how to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aletheia.schema.verification import Category


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """`total` questions, of which `resumed` are done already. `journal` is where rows are kept."""

    total: int
    resumed: int
    journal: str
    kind: Literal["started"] = "started"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDone:
    """One more question is done and kept. `done` counts the resumed ones too."""

    index: int
    id: str
    category: Category
    done: int
    total: int
    seconds: float
    error: str | None = None
    kind: Literal["row"] = "row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something a person should know: a torn line that was dropped, another unfinished run."""

    text: str
    kind: Literal["remark"] = "remark"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStopped:
    """The same failure came too often in a row, or the budget was used up; `left` were not asked."""

    reason: str
    left: int
    kind: Literal["stopped"] = "stopped"


Event = RunStarted | RowDone | Remark | RunStopped
Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Do nothing with an event."""
    del event
