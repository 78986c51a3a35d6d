"""The list of items one call is asked about: ids, checks, and a canary among them.

The canary is an item made from the random token of the call, which stands in no unit and in no
response. It has to come back negative; where it does not, the judge did what some text told it,
and nothing of the reply counts. Its text is the only thing of a prompt that the token changes
besides the marks of the data regions: with the token taken out, two calls about the same items
are the same prompt.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from aletheia.judges.prompts import NAME_MARK, data

Family = Literal["Q", "C"]

_CANARIES: Final[dict[Family, tuple[str, ...]]] = {
    "Q": (
        "Who has been the head of {name} since the last election?",
        "In which year was {name} opened to the public?",
        "How many people live in {name} today?",
    ),
    "C": (
        "{name} has been open to the public since the last election.",
        "The head office of {name} was moved to the coast.",
        "{name} was the first to sell the new model.",
    ),
}
_CHECK_SIGNS: Final = 4
# Letters only: a check of digits would come back as a number.
_LETTERS: Final = str.maketrans("0123456789", "ghkmnpqrst")
_SYLLABLES: Final = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_COUNT: Final = 8


def invented_name() -> str:
    """Return a word that does not exist: 16 letters, about 49 bits of chance, always as long."""
    chance = secrets.randbelow(len(_SYLLABLES) ** _COUNT)
    letters: list[str] = []
    for _ in range(_COUNT):
        chance, at = divmod(chance, len(_SYLLABLES))
        letters.append(_SYLLABLES[at])
    return "".join(letters).capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item. `index` is its place among those asked, None for the canary.

    `check` is a short hash of the text and of everything asked with it: the judge copies it, so
    that a verdict that slipped to another item is seen.
    """

    key: str
    text: str
    check: str
    index: int | None

    @property
    def line(self) -> str:
        """The line of the prompt."""
        text = self.text if self.index is None else data(self.text)
        return f"{self.key} ({self.check}) {text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The items of one family in the order shown, the canary among them."""

    family: Family
    items: tuple[Item, ...]

    @property
    def canary(self) -> Item:
        """The item that has to come back negative."""
        return next(item for item in self.items if item.index is None)

    @property
    def asked(self) -> tuple[Item, ...]:
        """The items that count, in the order asked."""
        return tuple(item for item in self.items if item.index is not None)

    @property
    def section(self) -> str:
        """The section of the prompt."""
        heading = "QUESTIONS:" if self.family == "Q" else "CLAIMS:"
        return "\n".join([heading, *(item.line for item in self.items)])


def roster(family: Family, texts: Sequence[str], salt: str) -> Roster:
    """Number `texts` from 1, with the canary at a place that depends on `salt` and the texts."""
    seed = _digest(family, salt, *texts)
    number = int(seed[:8], 16)
    place = number % (len(texts) + 1)
    templates = _CANARIES[family]
    shown: list[tuple[str, int | None]] = [(text, index) for index, text in enumerate(texts)]
    template = templates[number // 7 % len(templates)]
    shown.insert(place, (template.format(name=NAME_MARK), None))
    return Roster(
        family=family,
        items=tuple(
            Item(
                key=f"{family}{at}",
                text=text,
                check=_digest(seed, str(at), text)[:_CHECK_SIGNS].translate(_LETTERS),
                index=index,
            )
            for at, (text, index) in enumerate(shown, start=1)
        ),
    )


def _digest(*parts: str) -> str:
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
