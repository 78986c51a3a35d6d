"""Replies to the prompts of judges that can be read: made from a prompt, without judging anything.

A reply that follows the schema alone would be asked for again, since a judge has to answer every
item it is shown, by id and check. So a rehearsal gives each item its negative verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_lowercase
from typing import Final

from aletheia.schema.model import Prompt

_ITEM: Final = re.compile(r"^([QC]\d+) \((\w+)\) ", re.MULTILINE)
_FAMILIES: Final = {"questions": "Q", "claims": "C"}


def fitting(prompt: Prompt, made: object) -> object:
    """Return `made`, a reply from the schema of `prompt`, so that it fits what the prompt asks."""
    if not isinstance(made, Mapping):
        return made
    match prompt.purpose:
        case "judge":
            return {name: _judged(prompt, name, value) for name, value in made.items()}
        case "decompose":
            return {name: _distinct(value) for name, value in made.items()}
        case _:
            return made


def _judged(prompt: Prompt, name: str, value: object) -> object:
    """One entry for each item of the family, the canary included."""
    match value:
        case [Mapping() as entry, *_]:
            empty = {key: [] if isinstance(item, list) else item for key, item in entry.items()}
            return [
                {**empty, "id": key, "check": check, **_negative(entry)}
                for key, check in _ITEM.findall(prompt.user)
                if key.startswith(_FAMILIES[name])
            ]
    return value


def _negative(entry: Mapping[str, object]) -> dict[str, str]:
    return {name: "N" for name in ("verdict", "off_topic") if name in entry}


def _distinct(value: object) -> object:
    """Pieces that are alike would count as one."""
    if not isinstance(value, list):
        return value
    return [_named(piece, letter) for piece, letter in zip(value, ascii_lowercase, strict=False)]


def _named(piece: object, letter: str) -> object:
    if isinstance(piece, Mapping):
        return {**piece, "text": f"{piece['text']} {letter}"}
    return f"{piece} {letter}"
