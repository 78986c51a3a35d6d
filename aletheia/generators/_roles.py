"""How a name stands to the word of a relation: who does it, to whom it is done, whose it is.

Only plain cases are read; a role that is not plain is None and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from aletheia.generators._terms import Token

Role = Literal["agent", "patient", "of", "not-of"]
"""`of` is NAME in `mayor of NAME`, `not-of` where it is mayor of somebody else."""

Voice = Literal["active", "passive"]

BE: Final = frozenset("is are was were be been being".split())
_DO: Final = frozenset("do does did has have had".split())
_PARTICIPLES: Final = frozenset(
    """born built made led won written held bought sold sunk found sung drawn known spoken taught
    shot stolen sent bound hung grown run set_up taken_over overseen begun worn struck""".split()
)
_PAST: Final = frozenset(
    """built made led won wrote held bought sold sank found sang drew spoke taught shot stole sent
    bound hung grew ran began wore struck""".split()
)
_BETWEEN: Final = frozenset(
    "first later also originally formerly then now still jointly the a an once ever".split()
)
_LISTED: Final = frozenset("and or the of".split())
_ON_THE_WAY: Final = BE | _DO | _BETWEEN
_WITHIN: Final = _BETWEEN | {"of", "and"}
_SUBJECTS: Final = frozenset("who which that what he she it they".split())
_LOCATIVE: Final = frozenset("in at on near from to into with for under after during since".split())


def role(tokens: Sequence[Token], verb: int, first: int, last: int) -> Role | None:
    """The role that the name at `tokens[first:last]` has for the word at `verb`."""
    if first <= verb < last:
        return None
    if _word(tokens, verb + 1) == "of":
        return _role_of(tokens, verb, first)
    if not _is_verb(tokens, verb):
        return None
    voice = _voice(tokens, verb)
    if voice is None:
        return None
    if first > verb:
        return _role_after(tokens, verb, first, passive=voice == "passive")
    if _is_led_in(tokens, first) or not _is_reached(tokens, last, verb, allowed=_ON_THE_WAY):
        return None
    return "patient" if voice == "passive" else "agent"


def conflict(asked: Role | None, said: Role | None) -> bool:
    """Whether two roles contradict each other."""
    return (asked, said) == ("of", "not-of") or {asked, said} == {"agent", "patient"}


def converse_conflict(asked: Role | None, said: Role | None) -> bool:
    """The same where the two words are converses: `mother of X` and `X is a son of`."""
    return asked == "of" and said == "of"


def _is_led_in(tokens: Sequence[Token], first: int) -> bool:
    """Whether a preposition makes the name a part of another phrase."""
    before = [token.folded for token in tokens[max(0, first - 2) : first]]
    return bool(set(before) & (_LOCATIVE | {"of", "by"}))


def _role_of(tokens: Sequence[Token], noun: int, first: int) -> Role | None:
    """`of` for every name of `member of A, B and C`; before the noun or behind its names, not."""
    if first < noun:
        return "not-of"
    if first - noun <= 3 or _is_reached(tokens, noun + 2, first, allowed=_LISTED, names=True):
        return "of"
    return "not-of" if tokens[noun + 2].is_capital else None


def _role_after(tokens: Sequence[Token], verb: int, first: int, *, passive: bool) -> Role | None:
    between = [token.folded for token in tokens[verb + 1 : first]]
    if passive:
        return _agent_after_by(tokens, verb, first)
    if set(between) & _LOCATIVE or not _is_reached(tokens, verb + 1, first, allowed=_BETWEEN):
        return None
    return "patient"


def _agent_after_by(tokens: Sequence[Token], verb: int, first: int) -> Role | None:
    """The names listed behind `by`."""
    listed = _is_reached(tokens, verb + 2, first, allowed=_BETWEEN | _LISTED, names=True)
    return "agent" if _word(tokens, verb + 1) == "by" and listed else None


def _is_reached(
    tokens: Sequence[Token], start: int, stop: int, *, allowed: frozenset[str], names: bool = False
) -> bool:
    """Whether nothing but `allowed` words (and other names) lies between."""
    return all(t.folded in allowed or (names and t.is_capital) for t in tokens[start:stop])


def _is_verb(tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    word, previous = token.folded, _word(tokens, index - 1)
    if previous in ("a", "an", "the", "of"):
        return False
    if word.endswith("ed") or word in _PARTICIPLES or word in _PAST:
        return True
    if any(t.folded in _DO for t in tokens[:index]):
        return True
    subject = tokens[index - 1] if index else None
    return word.endswith("s") and (
        previous in ("who", "what", "which", "that") or bool(subject and subject.is_capital)
    )


def _voice(tokens: Sequence[Token], verb: int) -> Voice | None:
    """`was founded` and `founded by` are passive; in a question `be` stands before the name."""
    if _word(tokens, verb + 1) == "by":
        return "passive"
    for index in range(verb - 1, max(-1, verb - 9), -1):
        token = tokens[index]
        if token.folded in BE:
            return "passive"
        if token.folded in _DO or token.folded in _SUBJECTS:
            return "active"
        if not (token.is_capital or token.is_number or token.folded in _WITHIN):
            return None
    return "active"


def _word(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].folded if 0 <= index < len(tokens) else ""
