"""When two words are the same name written differently.

No similarity threshold separates true variants from other names (Austria/Australia 87.5,
Type 1/Type 2 93.3 against John Smith/J. Smith 77.8), so each kind of variant has its own rule,
and rapidfuzz only measures edits inside those rules.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from rapidfuzz.distance import OSA

from aletheia.grounding.lexicon import (
    DEMONYMS,
    PLACES,
    SPELLINGS_OF_ONE_NAME,
    SURNAMES_IN_S,
    is_common,
)
from aletheia.grounding.text import cached_by_word, plain

Variant = Literal["exact", "accent_folded", "inflected", "demonym", "transliterated", "typo"]

_DEMONYM_OF = {form: base for base, forms in DEMONYMS.items() for form in forms}
_DEMONYM_ENDINGS = (
    "ians",
    "ian",
    "ans",
    "an",
    "ns",
    "n",
    "ese",
    "ish",
    "i",
    "is",
    "ic",
    "ite",
    "ites",
)
_PLURALS = ("s", "es")

# One rule a line: spellings that different romanisations choose for one sound.
_SOUNDS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"sch|sh|ş", "S"),
        (r"tch|tsch|ch(?=ai|ek|ov)", "C"),
        (r"kh|ck|q|c(?=[aouklr])|^c(?![ehiy])", "k"),
        (r"gh", "g"),
        (r"dh|th(?=[aeiou]d)", "d"),
        (r"ph", "f"),
        (r"tz|ts|zz", "z"),
        (r"w", "v"),
        (r"off$|ow$", "ov"),
        (r"eff$|ew$", "ev"),
        (r"ay|ei|ey|ai|ae", "e"),
        (r"ou|oo", "u"),
        (r"ii|iy|ij|yy|ee", "i"),
        (r"j(?=[aeiou]?[rt]?[aeiou])", "j"),
        (r"y", "i"),
        (r"(?<=[aeiou])h$", ""),
    )
)
_DOUBLED = re.compile(r"(.)\1+")
# What marks a romanised Arabic, Persian or Turkic word: there short vowels are a matter of choice.
_ARABIC = re.compile(
    r"q|kh|gh|dh|llah|[aeiou]h$|^al|^abu|^abd|^ibn|mm|ss|dd|ff|zb|^mu|^mo|hus|^has|^us?am|^os?am"
)
_VOWELS = re.compile(r"[aeiou]+")


@cached_by_word
def sound_key(word: str) -> str:
    """A spelling-independent key of a lower-case word; vowels stay."""
    key = plain(word).lower()
    for pattern, replacement in _SOUNDS:
        key = pattern.sub(replacement, key)
    return _DOUBLED.sub(r"\1", key.lower())


@cached_by_word
def _skeleton(word: str) -> tuple[str, int]:
    """Consonants of the sound key and the number of its vowel groups."""
    key = sound_key(word)
    return _VOWELS.sub(".", key), len(_VOWELS.findall(key))


def transliterated(a: str, b: str) -> bool:
    """Whether two lower-case words are romanisations of one name."""
    if min(len(a), len(b)) < 4:
        return False
    if is_common(a) or is_common(b):
        return False
    if any(a in group and b in group for group in SPELLINGS_OF_ONE_NAME):
        return True
    if sound_key(a) == sound_key(b):
        return True
    if not (_ARABIC.search(a) and _ARABIC.search(b)):
        return False
    skeleton, _ = _skeleton(a)
    consonants = skeleton.replace(".", "")
    return skeleton == _skeleton(b)[0] and len(consonants) >= 2 and min(len(a), len(b)) >= 5


def same_people(a: str, b: str) -> bool:
    """Whether one lower-case word is the people or adjective of the other (Iran, Iranian).

    Suffixes prove it only for places: Julian is not the adjective of Julia.
    """
    one, other = _singular(a), _singular(b)
    if _DEMONYM_OF.get(one, one) == _DEMONYM_OF.get(other, other):
        return one != a or other != b or one != other
    short, long = sorted((one, other), key=len)
    if short not in PLACES:
        return False
    return any(_base_of(long, ending, short) for ending in _DEMONYM_ENDINGS)


def _singular(word: str) -> str:
    """A people in the singular: Iranians → iranian, Kurds → kurd; other words stay."""
    one = word.removesuffix("s")
    return one if one in _DEMONYM_OF or one.endswith(("an", "i", "ite")) else word


def _base_of(long: str, ending: str, short: str) -> bool:
    stem = long.removesuffix(ending)
    if stem == long or len(stem) < 3:
        return False
    if stem == short:
        # Niger + ian would be Nigeria's people.
        return ending != "ian" or short + "ia" not in PLACES
    # Italy → Italian, Canada → Canadian, China → Chinese.
    return len(stem) >= 4 and short[-1] in "aeoy" and stem == short[:-1]


def inflected(a: str, b: str) -> bool:
    """Whether two lower-case words differ by a plural ending; Roberts is no plural of Robert."""
    short, long = sorted((a, b), key=len)
    if len(short) < 3 or short in SURNAMES_IN_S:
        return False
    if len(short) < 5 and not is_common(short):
        return False
    return any(long == short + ending for ending in _PLURALS) or (
        long.endswith("ies") and long[:-3] == short[:-1] and short.endswith("y")
    )


# Case endings of Russian, Ukrainian and Bulgarian names, longest first.
_CYRILLIC = re.compile(r"^[\u0400-\u04ff]+$")
_CYRILLIC_ENDING = re.compile(
    r"(?:ами|ями|ого|ему|ому|ыми|ими|ской|ский|ская|ской|ой|ей|ом|ем|ам|ях|ах|ую|ая|ий|ый|[аеёиоуыьюяй])$"
)
_GREEK = re.compile(r"^[\u0370-\u03ff\u1f00-\u1fff]+$")
_GREEK_ENDING = re.compile(r"(?:ους|ων|ος|ου|ον|ες|ας|ης|ις|α|η|ο|ι|ε|ς)$")


_DERIVED = ("ism", "ist", "ists", "ite", "ity", "esque")
_GERMAN_ENDINGS = ("n", "en", "e", "er", "es", "ern", "em", "innen", "in")


def derived(a: str, b: str) -> bool:
    """Whether one lower-case word is formed from the other: Nazi, Nazism."""
    short, long = sorted((a, b), key=len)
    bases = (short, short[:-1]) if short[-1:] in ("a", "e", "i", "o", "y") else (short,)
    return len(short) >= 4 and any(long == base + ending for base in bases for ending in _DERIVED)


def german_case(a: str, b: str) -> bool:
    """Whether two lower-case words are cases of one German noun (Einwanderer, Einwanderern)."""
    short, long = sorted((plain(a), plain(b)), key=len)
    return len(short) >= 5 and any(long == short + ending for ending in _GERMAN_ENDINGS)


def declined(a: str, b: str) -> bool:
    """Whether two Cyrillic or Greek words (lower case) are cases of one name."""
    for script, ending in ((_CYRILLIC, _CYRILLIC_ENDING), (_GREEK, _GREEK_ENDING)):
        if script.match(a) and script.match(b):
            one, other = ending.sub("", plain(a)), ending.sub("", plain(b))
            return one == other and len(one) >= 3
    return False


_LATIN_OF = str.maketrans(
    {"а": "a", "б": "b", "в": "v", "г": "g", "ґ": "g", "д": "d", "е": "e", "ё": "e", "є": "e",
     "ж": "zh", "з": "z", "и": "i", "і": "i", "ї": "i", "й": "i", "к": "k", "л": "l", "м": "m",
     "н": "n", "о": "o", "п": "p", "р": "r", "с": "s", "т": "t", "у": "u", "ф": "f", "х": "kh",
     "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ы": "y", "ь": "", "э": "e", "ю": "yu",
     "я": "ya", "α": "a", "β": "v", "γ": "g", "δ": "d", "ε": "e", "ζ": "z", "η": "i", "θ": "th",
     "ι": "i", "κ": "k", "λ": "l", "μ": "m", "ν": "n", "ξ": "x", "ο": "o", "π": "p", "ρ": "r",
     "σ": "s", "ς": "s", "τ": "t", "υ": "y", "φ": "f", "χ": "ch", "ψ": "ps", "ω": "o"}
)  # fmt: skip


def romanised(word: str) -> str:
    """A lower-case Cyrillic or Greek word in Latin letters; other words stay."""
    return word if word.isascii() else plain(word).translate(_LATIN_OF)


_SPELLINGS = (("isation", "ization"), ("ise", "ize"), ("our", "or"), ("tre", "ter"), ("ence", "ense"),
              ("yse", "yze"), ("ogue", "og"), ("ae", "e"), ("ll", "l"), ("sation", "zation"))  # fmt: skip


def respelled(a: str, b: str) -> bool:
    """Whether two words are British and American spellings of one."""
    return any(a.replace(x, y) == b.replace(x, y) for x, y in _SPELLINGS if x in a or x in b)


def typo(a: str, b: str) -> bool:
    """Whether one slip separates two long words that are not words of their own.

    One edit at most, eight letters at least, never in the first or the last two letters (where
    names differ: Valentin, Valentina), and a replaced letter only in words of ten or more.
    """
    if min(len(a), len(b)) < 8 or abs(len(a) - len(b)) > 1 or a[0] != b[0]:
        return False
    if is_common(a) or is_common(b) or OSA.distance(a, b) != 1:
        return False
    if a[-2:] != b[-2:]:
        return False
    return len(a) != len(b) or sorted(a) == sorted(b) or len(a) >= 10


_LONGEST_CACHED = 128


def variant(claimed: str, available: str) -> Variant | None:
    """How `available` is the same word as `claimed` (both lower case), or None."""
    if len(claimed) + len(available) > _LONGEST_CACHED:
        return _variant(claimed, available)
    return _cached_variant(claimed, available)


def _variant(claimed: str, available: str) -> Variant | None:
    if claimed == available:
        return "exact"
    if plain(claimed) == plain(available):
        return "accent_folded"
    if inflected(claimed, available):
        return "inflected"
    if same_people(claimed, available):
        return "demonym"
    if declined(claimed, available) or derived(claimed, available):
        return "inflected"
    if respelled(claimed, available):
        return "inflected"
    if transliterated(romanised(claimed), romanised(available)):
        return "transliterated"
    return "typo" if typo(claimed, available) else None


_cached_variant = lru_cache(maxsize=16384)(_variant)
