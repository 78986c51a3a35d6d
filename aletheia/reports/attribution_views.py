"""The views of a probe run side by side: right answers, cells, and questions that end otherwise.

A view is a mode over the base answers, or a condition. Everything is counted from the records of
the questions; what was not measured is in no rate and is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from aletheia.reports.attribution_tally import ranged
from aletheia.reports.comparison_rates import difference_of
from aletheia.schema.attribution import (
    VIEWS,
    CellCount,
    Condition,
    ConditionRecord,
    ProbeFlip,
    ProbeView,
    QuestionProbe,
    Standing,
    View,
)
from aletheia.schema.diagnosis import FailureCell
from aletheia.schema.verification import Mode

MODES: Final[Mapping[View, Mode]] = {
    "strict": Mode.STRICT,
    "lenient": Mode.LENIENT,
    "base": Mode.OFF,
}
"""The views that are modes over the base answers."""

NOT_JUDGED: Final = "not judged"


def record_of(item: QuestionProbe, view: View) -> ConditionRecord:
    """Return the record that a view looks at."""
    name: Condition = "base" if view == "strict" or view == "lenient" else view
    return item.condition(name)


def standing(item: QuestionProbe, view: View) -> Standing | None:
    """Say how a question ended in a view; None where that was not measured."""
    record = record_of(item, view)
    if record.status != "measured":
        return None
    if record.abstained:
        return "abstained"
    if view in MODES and view != "base" and MODES[view] not in record.kept:
        return "rejected"
    if view == "counterfactual" and not record.correct:
        return _followed(record)
    return "right" if record.correct else "wrong"


def _followed(record: ConditionRecord) -> Standing:
    match record.outcome:
        case "followed" | "kept" | "unclear" | "lost":
            return record.outcome
    return "wrong"


def is_right(item: QuestionProbe, view: View) -> bool | None:
    """Tell whether the answer is right in a view; None where that was not measured.

    Under other evidence only an answer that was right before can be told.
    """
    found = standing(item, view)
    if found is None or (view == "counterfactual" and item.condition("base").correct is not True):
        return None
    return found == "right"


def probe_views(questions: Sequence[QuestionProbe]) -> tuple[ProbeView, ...]:
    """Rate every view that some question was asked in, and compare it with the base answers."""
    answerable = [item for item in questions if item.answerable]
    return tuple(
        _view(view, asked)
        for view in VIEWS
        if (asked := [q for q in answerable if _was_asked(record_of(q, view))])
    )


def _was_asked(record: ConditionRecord) -> bool:
    return record.status in ("measured", "unmeasured")


def _view(view: View, asked: Sequence[QuestionProbe]) -> ProbeView:
    told = [item for item in asked if view != "counterfactual" or _can_follow(item)]
    sides = [(is_right(item, "base"), is_right(item, view)) for item in told]
    return ProbeView(
        view=view,
        right=ranged(second for _, second in sides),
        change=None if view == "base" else difference_of(view, sides),
    )


def _can_follow(item: QuestionProbe) -> bool:
    return item.condition("base").correct is True


def cell_counts(questions: Sequence[QuestionProbe]) -> tuple[CellCount, ...]:
    """Count the cells of every view with a reply; empty where nothing was judged."""
    found = [(view, _replies(questions, view)) for view in VIEWS]
    judged = any(r.cell or r.not_diagnosed for _, records in found for r in records)
    return tuple(_cells(view, records) for view, records in found if records) if judged else ()


def _replies(questions: Sequence[QuestionProbe], view: View) -> list[ConditionRecord]:
    records = (record_of(item, view) for item in questions)
    return [record for record in records if record.raw_reply is not None]


def _cells(view: View, records: Sequence[ConditionRecord]) -> CellCount:
    mode = None if view == "base" else MODES.get(view)
    kept = [r for r in records if mode is None or mode in r.kept]
    rejected = [r for r in records if mode is not None and mode not in r.kept]
    cells = Counter(record.cell for record in kept if record.cell is not None)
    reasons = Counter(r.not_diagnosed or NOT_JUDGED for r in kept if r.cell is None)
    reasons.update(f"rejected: {record.rejection or 'no answer'}" for record in rejected)
    return CellCount(
        view=view,
        cells={cell: cells[cell] for cell in FailureCell},
        diagnosed=cells.total(),
        tentative=sum(record.tentative for record in kept if record.cell is not None),
        not_diagnosed=dict(reasons.most_common()),
    )


def probe_flips(questions: Sequence[QuestionProbe]) -> Iterator[ProbeFlip]:
    """Name the questions that are right, or abstained from, in only one of base and a view."""
    yield from (flip for item in questions if (flip := flip_of(item)) is not None)


def flip_of(item: QuestionProbe) -> ProbeFlip | None:
    """Say in which views a question ends otherwise; None where it does in none."""
    under = {view: found for view in VIEWS if (found := standing(item, view)) is not None}
    base = under.get("base")
    if base is None:
        return None
    changed = tuple(view for view, found in under.items() if _differs(base, found))
    return ProbeFlip(id=item.id, changed=changed, under=under) if changed else None


def _differs(base: Standing, other: Standing) -> bool:
    return any((base == word) != (other == word) for word in ("right", "abstained"))
