"""What stands beside a numeral: the words after it (scale, unit, currency, noun) and before it."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from aletheia.grounding.lexicon import FUNCTION_WORDS
from aletheia.grounding.units import (
    LOOKUP,
    UNIT_STARTS,
    Suffix,
    is_dense,
    leading_suffix,
    listed,
    suffix,
)

Approx = Literal["about", "nearly", "over", "at_least", "under", "at_most"]

# The second pattern reads what the first cannot: compound units, signs, other scripts.
# A plain word behind a numeral; most say nothing about it, and one look-up tells.
PLAIN_NEXT = re.compile(r"([ -]?)([A-Za-z]++)(?![/^\d\u0080-\uffff])")
# A letter of a script without capitals; marks of Indic and Thai letters are no letters to `re`.
# Told by what is left out: `re` takes milliseconds to compile a range of many thousands.
_UNCASED = "[^\\x00-\u058f\u1100-\u2e7f]"
_CASED = f"(?:(?!{_UNCASED})[^\\W\\d_])"
_LETTER = "(?:[^\\W\\d_]|[\u0900-\u0dff\u0e00-\u0eff])"
_ANY_NEXT = re.compile(
    # `3.1kgです`: what is written together with another script ends where that begins.
    rf"( ?-?)({_CASED}++(?:/{_CASED}++)?(?:\^?[23](?!\d))?(?={_UNCASED})"
    '|[\u05d0-\u05ea]+["\u05f4][\u05d0-\u05ea]+'  # קמ"ש
    r"|[\u0900-\u097f]{2}\. ?(?:मी|ग्रा)(?:/[\u0900-\u097f]+)?(?![\u0900-\u097f])"
    r"|л\. ?с(?!\w)|[кКмМгГтТ]?[Вв]т[.-]?ч(?!\w)"
    rf"|{_LETTER}+(?:\.?/{_LETTER}+)?(?:\^?[23](?!\d))?"
    rf"|%-points\b|[%‰℃℉¢]|° ?[CFС](?!(?!{_UNCASED})\w)|°(?! ?[A-Za-z\d_])|[€£¥₹$₽₩₺₪₦฿₿₴₫])"
)
_MORE = re.compile(rf"(?:[ -]|(?<=кв|уб)\. ?)({_LETTER}+)(?:[ -]({_LETTER}+))?")

ORDINAL_ENDS: Final = frozenset({"st", "nd", "rd", "th"})
# An answer may state its own length (`a summary in 80 words`).
SELF_COUNTED: Final = frozenset({"word", "words", "characters", "sentences", "bullet"})
# `5 часов утра` is a time of day.
_HOUR = re.compile("час(?:а|ов)?$")
_DAY_PART = re.compile(" (?:утра|вечера|дня|ночи)(?!\\w)")
_DOTTED: Final = frozenset({"mio", "mrd", "tsd", "mill", "тыс", "млн", "млрд", "трлн", "тис"})
_ADJECTIVES: Final = frozenset(
    listed(
        "full consecutive calendar working business straight whole more additional extra academic "
        "fiscal financial long other"
    )
)
_MONEY_SCALES: Final = {"m": 6, "mm": 6, "b": 9, "t": 12}

_HEDGES: Final[dict[str, Approx]] = {
    **dict.fromkeys(
        listed(
            "about roughly around approximately approx approx. circa ca ca. c. some estimated ~ +- "
            "etwa rund ungefähr environ unos unas alrededor ongeveer cerca aproximadamente "
            "approximativement около примерно приблизительно लगभग करीब 약 대략 حوالي حدود ประมาณ ราว"
        ),
        "about",
    ),
    **dict.fromkeys(listed("nearly almost knapp presque casi quasi quase bijna почти"), "nearly"),
    **dict.fromkeys(listed("over above exceeding past > über ruim более свыше"), "over"),
    **dict.fromkeys(listed("under below < unter"), "under"),
    **dict.fromkeys(listed("minimum mindestens minstens >="), "at_least"),
    **dict.fromkeys(listed("maximum within höchstens hoogstens <="), "at_most"),
}
_HEDGE_PAIRS: Final[dict[tuple[str, str], Approx]] = {
    **dict.fromkeys(
        [(more, "than") for more in ("more", "greater", "higher", "larger", "longer", "better")]
        + [("upwards", "of"), ("excess", "of"), ("north", "of"), ("mehr", "als"), ("plus", "de")]
        + [("más", "de"), ("più", "di"), ("mais", "de"), ("meer", "dan")],
        "over",
    ),
    **dict.fromkeys(
        [(less, "than") for less in ("less", "fewer", "lower", "smaller", "shorter")]
        + [("weniger", "als"), ("moins", "de"), ("menos", "de"), ("meno", "di"), ("minder", "dan")],
        "under",
    ),
    **dict.fromkeys(
        [("at", "least"), ("minimum", "of"), ("au", "moins"), ("al", "menos"), ("almeno", "di")],
        "at_least",
    ),
    **dict.fromkeys(
        [("at", "most"), ("up", "to"), ("maximum", "of"), ("bis", "zu"), ("as", "many")],
        "at_most",
    ),
    **dict.fromkeys(
        [
            ("close", "to"),
            ("near", "to"),
            ("près", "de"),
            ("cerca", "de"),
            ("alrededor", "de"),
            ("environ", "de"),
        ],
        "about",
    ),
}
_SECOND_HALVES: Final = frozenset(last for _, last in _HEDGE_PAIRS)
_NEGATED: Final[dict[Approx, Approx]] = {"over": "at_most", "under": "at_least"}
_HAN_HEDGES: Final[dict[str, Approx]] = {"约": "about", "約": "about", "近": "nearly", "超": "over"}
_ARTICLES: Final = frozenset({"a", "an", "the", "another"})


SPEAKING: Final = LOOKUP | ORDINAL_ENDS | SELF_COUNTED | _ADJECTIVES
"""Words that say something about the numeral before them."""


class NextWord(NamedTuple):
    """The word after a numeral: what joins them (empty, space, hyphen), the word, its end."""

    gap: str
    word: str
    end: int


def is_uncased(char: str) -> bool:
    """Whether a letter is of a script without capitals, which makes no identifiers with digits."""
    return char >= "\u0590" and _IS_UNCASED.match(char) is not None


_IS_UNCASED: Final = re.compile(_UNCASED)


def next_word(text: str, end: int) -> NextWord | None:
    """Return the word or sign right after position `end`, or None."""
    match = PLAIN_NEXT.match(text, end) or _ANY_NEXT.match(text, end)
    return NextWord(match[1], match[2], match.end()) if match else None


def last_word(text: str, start: int) -> str:
    """Return the word before `start` in lower case with its punctuation; empty where none is."""
    if start < 2 or text[start - 1] not in " -":
        return ""
    return text[text.rfind(" ", max(0, start - 24), start - 1) + 1 : start - 1].lower()


def hedge_before(text: str, start: int) -> Approx | None:
    """Return what the words before `start` say about the number there."""
    last = last_word(text, start)
    if not last:
        char = text[start - 1 : start]
        if not char or char in " \n(":
            return None
        return _HEDGES.get(char) or _HAN_HEDGES.get(char)
    found = _HEDGES.get(last)
    if found is not None:
        return found
    if last in _ARTICLES or last in _SECOND_HALVES:
        return _far_hedge(text[max(0, start - 32) : start].lower().split())
    if last[0] == "(" and len(last) > 1:
        return _HEDGES.get(last[1:])
    return None


def noun_after(text: str, end: int) -> str | None:
    """Return the plain noun right behind a numeral, or None."""
    after = next_word(text, end)
    if after is None or after.gap != " ":
        return None
    word = after.word
    plain = len(word) > 2 and word.islower() and word not in FUNCTION_WORDS
    return word if plain else None


def _far_hedge(words: list[str]) -> Approx | None:
    if words[-1] in _ARTICLES and len(words) > 1:
        words = words[:-1]
        if words[-1] in _HEDGES:
            return _HEDGES[words[-1]]
    if len(words) < 2:
        return None
    found = _HEDGE_PAIRS.get((words[-2].lstrip("("), words[-1]))
    if found in _NEGATED and len(words) > 2 and words[-3] in ("no", "not"):
        return _NEGATED[found]
    return found


class Following(NamedTuple):
    """What the words after a numeral say, and where they end.

    `ordinal`: `st`, `nd`, `rd`, `th`. `soft`: the answer may be counting itself.
    """

    end: int
    suffixes: tuple[Suffix, ...] = ()
    ordinal: bool = False
    soft: bool = False


def following(text: str, end: int, *, money: bool) -> Following:
    """Read scale, unit and currency behind a numeral that ends at `end`."""
    after = next_word(text, end)
    found: tuple[Suffix, ...] = ()
    while after is not None and len(found) < 3:
        gap, word, stop = after
        if gap == "" and not found and word in ORDINAL_ENDS:
            return Following(stop, (), True)
        stop, item = named(text, after, money=money)
        if item is None or (gap and text[stop : stop + 1].isdigit()):
            return _behind_adjective(text, end, after, found)  # `the 2017 T20` has no unit
        if item.power and any(s.power and s.power <= item.power for s in found):
            break
        found = (*found, item)
        dotted = item.power and word.lower() in _DOTTED and text.startswith(". ", stop)
        end = stop + 1 if dotted else stop
        if item.kind is not None:
            break
        after = next_word(text, end)
    return Following(end, found)


def named(text: str, after: NextWord, *, money: bool = False) -> tuple[int, Suffix | None]:
    """Return the suffix that a word is, alone or with the words after it, and where it ends."""
    gap, word, stop = after
    lower = word.lower()
    if lower in UNIT_STARTS:
        joined = _joined_name(text, lower, stop)
        if joined is not None:
            return joined
    if money and word in _MONEY_SCALES:
        return stop, Suffix(power=_MONEY_SCALES[word])
    if word == "x":
        tail = text[stop : stop + 2].strip()
        return stop, None if tail[:1].isdigit() or gap else suffix("times", attached=False)
    if is_dense(word[0]):
        size, found = leading_suffix(word)
        return stop - len(word) + size if size else stop, found
    if word == "с" and not text[stop : stop + 2].strip()[:1].isalpha():
        return stop, suffix(word, attached=True)
    if _HOUR.match(word) and _DAY_PART.match(text, stop):
        return stop, None
    if " " in word:
        word = word.replace(" ", "")
    return stop, suffix(word, attached=gap == "")


def _joined_name(text: str, first: str, stop: int) -> tuple[int, Suffix] | None:
    """`percentage points`, `square metres`, `miles per hour`."""
    more = _MORE.match(text, stop)
    if more is None:
        return None
    for last in (2, 1):
        if more[last]:
            parts = (part.lower() for part in more.groups()[:last] if part)
            item = suffix("-".join((first, *parts)), attached=False)
            if item is not None:
                return more.end(last), item
    return None


def _behind_adjective(text: str, end: int, after: NextWord, found: tuple[Suffix, ...]) -> Following:
    """Find a unit behind an adjective (`5 full days`), or none."""
    gap, word, stop = after
    if word in _ADJECTIVES and gap:
        behind = next_word(text, stop)
        item = suffix(behind.word, attached=False) if behind and behind.gap else None
        if behind and item is not None and item.kind == "measure":
            return Following(behind.end, (*found, item))
    return Following(end, found, False, word in SELF_COUNTED)
