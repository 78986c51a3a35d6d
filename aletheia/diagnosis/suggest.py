"""What to do about a diagnosed trace; the texts are in `data/suggestions.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from aletheia.schema.diagnosis import Diagnosis, FailureCell, SufficiencyLevel, Suggestion

_LEVELS: Final[tuple[SufficiencyLevel, ...]] = ("high", "low")


def suggest(diagnosis: Diagnosis) -> Suggestion | None:
    """Return the advice for the cell and its level of sufficiency.

    None where one of the two is not known: advice for the wrong level would send people to the
    wrong layer, and `diagnosis.problems` already say what is missing.
    """
    cell, level = diagnosis.failure_cell, diagnosis.sufficiency_level
    if cell is None or level is None:
        return None
    advice = _table()[cell, level]
    counts = _counts(diagnosis)
    body = (advice.body.format_map(counts), *_notes(diagnosis))
    return Suggestion(
        slug=f"{cell}_{level}",
        title=advice.title,
        body=" ".join(body),
        actions=tuple(action.format_map(counts) for action in advice.actions),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Advice:
    title: str
    body: str
    actions: tuple[str, ...]


@cache
def _tables() -> dict[str, dict[str, object]]:
    source = resources.files("aletheia.diagnosis") / "data" / "suggestions.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def _table() -> dict[tuple[FailureCell, SufficiencyLevel], _Advice]:
    tables = _tables()
    return {
        (cell, level): _advice(tables[cell][level]) for cell in FailureCell for level in _LEVELS
    }


def _advice(table: object) -> _Advice:
    match table:
        case {"title": str(title), "body": str(body), "actions": list(actions)}:
            return _Advice(title=title, body=body, actions=tuple(map(str, actions)))
    raise TypeError(f"`suggestions.toml` has {table!r} where a title, body and actions belong")


def _counts(diagnosis: Diagnosis) -> dict[str, str]:
    """The counts as they stand in a sentence. Fractions are over all items: a cell needs them."""
    asked, claims = diagnosis.n_sub_questions, diagnosis.n_claims
    thin = _rest(asked, diagnosis.sufficiency_fraction)
    unsupported = _rest(claims, diagnosis.faithfulness_fraction)
    return {
        "thin": "the sub-question" if thin == 1 else f"the {thin} sub-questions",
        "not_answered": _share(thin, asked, "sub-question", whole="any of the"),
        "open": _share(diagnosis.n_uncovered_sub_questions or 0, asked, "sub-question"),
        "unsupported": _share(unsupported, claims, "claim", whole="any of the"),
        "extra": _share(diagnosis.n_extra_claims or 0, claims, "claim"),
    }


def _rest(total: int, fraction: float | None) -> int:
    return 0 if fraction is None else total - round(fraction * total)


def _share(number: int, total: int, noun: str, *, whole: str = "all") -> str:
    """Write `1 of the 3 claims`, `all 3 claims`, `the only claim`."""
    if total == 1 and number == 1:
        return f"the only {noun}"
    return f"{whole} {total} {noun}s" if number == total else f"{number} of the {total} {noun}s"


def _notes(diagnosis: Diagnosis) -> Iterator[str]:
    notes = _tables()["notes"]
    if diagnosis.abstention is not None:
        yield str(notes[diagnosis.abstention])
    if diagnosis.flags.conflict:
        yield str(notes["conflict"])
    if diagnosis.flags.miscited:
        yield str(notes["miscited"])
    if diagnosis.tentative:
        yield str(notes["tentative"])
    if diagnosis.level_tentative:
        yield str(notes["level_tentative"])
