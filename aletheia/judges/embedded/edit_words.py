"""The words that small changes of sense turn on: quantifiers, opposites, modality, kinds of one group."""

from __future__ import annotations

from typing import Final

from aletheia.grounding.polarity import is_listed_opposite


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


LEVELS: Final[dict[str, int]] = {
    **dict.fromkeys("all every each everyone everybody always entire whole".split(), 4),
    **dict.fromkeys("most majority mostly usually often".split(), 3),
    **dict.fromkeys("half".split(), 2),
    **dict.fromkeys("some several few many sometimes certain".split(), 1),
    **dict.fromkeys("no none nobody never neither".split(), 0),
}
POSSIBLE: Final = _set("may might could possibly perhaps suspect suspects believe believes think thinks possible plans plan intends")  # fmt: skip
CERTAIN: Final = _set("will certain certainly definitely proved proven proves confirmed confirms")
HEDGED: Final = _set(
    "likely probably maybe potentially potential appears seems suggests suggest if"
)
MODALS: Final = _set("may might could should")
ADJECTIVES: Final = _set("optional required mandatory necessary allowed obliged")
OPEN: Final = _set(
    "may might could would should wants want wanted hopes hope hoped plans plan planned intends "
    "intend intended expects aims seeks refused tries tried"
)
"""Words after which a verb tells of nothing that has happened yet."""
MUST: Final = _set("must required requires need needs has have obliged mandatory necessary shall")
ALLOWED: Final = _set("may can could optional allowed choose like")
IMPLICIT: Final = _set("nobody none never neither nor without forbidden impossible unable")
_GRADABLE: Final = 9
"""So many of the pairs, from the end, have forms such as `warmer` and `warmest`."""


def _grade(word: str, end: str) -> str:
    doubled = word + word[-1] if word in ("hot", "wet", "thin") else word
    return f"{doubled[:-1]}i{end}" if word.endswith("y") else f"{doubled.removesuffix('e')}{end}"


_PAIRS: Final = tuple(
    tuple(pair.split())
    for pair in (
        "severe mild|like dislike|liked disliked|lost defeated|lost won|lost beat|cheap expensive|"
        "cheaper expensive|large small|largest smallest|big small|allowed forbidden|"
        "required optional|mandatory optional|worked failed|approved rejected|appointed resigned|"
        "opened closed|hired dismissed|for against|remained closed|free costs|rise fall|rising falling|"
        "rose fell|increased fell|increased decreased|summer winter|day night|many few|over under|"
        "warm cold|hot cold|warm cool|deep shallow|thick thin|wet dry|heavy light|rich poor|wide narrow"
    ).split("|")
)
_GRADED: Final = tuple(
    (_grade(a, end), _grade(b, end))
    for a, b in (*_PAIRS[-_GRADABLE:], ("high", "low"), ("fast", "slow"), ("old", "young"))
    for end in ("er", "est")
)
_OPPOSITES: Final = frozenset(
    ordered for a, b in (*_PAIRS, *_GRADED) for ordered in ((a, b), (b, a))
)
EXCLUSIVE: Final = tuple(
    _set(group + " " + " ".join(f"{word}s" for word in group.split()))
    for group in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "january february march april june july august september october november december",
        "spring summer autumn winter fall",
        "red white blue green yellow black brown grey orange purple",
        "brother sister cousin father mother son daughter uncle aunt nephew niece",
        "metre meter foot feet inch mile kilometre kilometer yard",
        "second minute hour day week month year",
        "euro dollar pound franc crown yen cent",
        "kilogram gram pound ton tonne ounce",
        "hectare acre",
        "million billion trillion thousand",
        "north south east west",
        "gold silver bronze",
    )
)
"""Words of one group name different things of one kind."""


def are_opposites(one: str, other: str) -> bool:
    """Whether two lower-case words are opposites by either table."""
    return is_listed_opposite(one, other) or (one, other) in _OPPOSITES
