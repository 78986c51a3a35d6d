"""Why a sentence was chosen, or why none was, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from aletheia.generators._chains import Chain, terms_of
from aletheia.generators._match import Match
from aletheia.generators._question import Question


def why_chosen(question: Question, chosen: Sequence[Chain]) -> str:
    """Which units say what the question asks."""
    ids = list(dict.fromkeys(m.passage.unit.id for chain in chosen for m in chain.matches))
    said = [question.terms[i].text for i in sorted(chosen[0].terms)]
    names = [f"`{name.text}`" for name in question.names]
    parts = [f"names {_and(names)}" if names else "", f"says `{'`, `'.join(said)}`" if said else ""]
    text = " and ".join(part for part in parts if part) or "holds what is asked for"
    together = " together" if len(ids) > 1 else ""
    return f"{_and(ids)}{together}: {text}."


def why_nothing(question: Question, matches: Sequence[Match], *, found: bool) -> str:
    """What is missing; `found` says that the relation is there and the answer is not."""
    if found:
        return "Sentences on the subject are there, but none holds the kind of answer asked for."
    seen = terms_of(matches)
    missing = [t.text for i, t in enumerate(question.terms) if i not in seen and t.weight >= 1.0]
    names = [name.text for name in question.names]
    about = f" about `{'`, `'.join(names)}`" if names else ""
    if missing:
        return f"No sentence{about} says `{'`, `'.join(missing)}`."
    return f"No sentence, or chain of sentences,{about} says all that is asked."


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
