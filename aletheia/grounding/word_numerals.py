"""Numerals in words: English, six more European languages, Chinese characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from aletheia.grounding.units import listed

_UNITS = {
    "en": "zero one two three four five six seven eight nine",
    "de": "null eins zwei drei vier fünf sechs sieben acht neun",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve",
    "it": "zero uno due tre quattro cinque sei sette otto nove",
    "pt": "zero um dois três quatro cinco seis sete oito nove",
    "nl": "nul één twee drie vier vijf zes zeven acht negen",
}
_TEENS = {
    "en": "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "de": "zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
    "fr": "dix onze douze treize quatorze quinze seize",
    "es": "diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve",
    "it": "dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove",
    "pt": "dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove",
    "nl": "tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "it": "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "pt": "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    "nl": "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
}
_SCALE_WORDS = {
    "en": "hundred:2 thousand:3 million:6 billion:9 trillion:12 lakh:5 crore:7",
    "de": "hundert:2 tausend:3 million:6 millionen:6 milliarde:9 milliarden:9",
    "fr": "cent:2 cents:2 mille:3 million:6 millions:6 milliard:9 milliards:9",
    "es": "cien:2 ciento:2 cientos:2 mil:3 millón:6 millones:6",
    "it": "cento:2 mille:3 mila:3 milione:6 milioni:6 miliardo:9 miliardi:9",
    "pt": "cem:2 cento:2 mil:3 milhão:6 milhões:6",
    "nl": "honderd:2 duizend:3 miljoen:6 miljard:9",
}
_ORDINALS = (
    "first:1 second:2 third:3 fourth:4 fifth:5 sixth:6 seventh:7 eighth:8 ninth:9 tenth:10 "
    "eleventh:11 twelfth:12 thirteenth:13 fourteenth:14 fifteenth:15 sixteenth:16 seventeenth:17 "
    "eighteenth:18 nineteenth:19 twentieth:20 thirtieth:30 fortieth:40 fiftieth:50 sixtieth:60 "
    "seventieth:70 eightieth:80 ninetieth:90 hundredth:100 thousandth:1000"
)
_DENOMINATORS = (
    "half:2 halves:2 third:3 thirds:3 quarter:4 quarters:4 fourth:4 fourths:4 fifth:5 fifths:5 "
    "sixth:6 sixths:6 seventh:7 sevenths:7 eighth:8 eighths:8 ninth:9 ninths:9 tenth:10 tenths:10 "
    "hundredth:100 hundredths:100"
)


class Word(NamedTuple):
    """A number word. `role`: unit, teen, tens, whole (21 to 99 in one word), scale, dozen."""

    value: int
    role: str
    languages: frozenset[str]


def _pairs(listing: str) -> dict[str, int]:
    return {name: int(value) for name, value in (item.split(":") for item in listing.split())}


def _compounds() -> dict[str, tuple[int, str]]:
    """Numbers of two digits that some languages write in one word."""
    found: dict[str, tuple[int, str]] = {}
    for unit in range(1, 10):
        for ten in range(2, 10):
            value = ten * 10 + unit
            german = "ein" if unit == 1 else _UNITS["de"].split()[unit]
            found[f"{german}und{_TENS['de'].split()[ten - 2]}"] = (value, "de")
            dutch = _UNITS["nl"].split()[unit].replace("é", "e")
            link = "ën" if dutch.endswith("e") else "en"
            found[f"{dutch}{link}{_TENS['nl'].split()[ten - 2]}"] = (value, "nl")
            italian, tail = _TENS["it"].split()[ten - 2], _UNITS["it"].split()[unit]
            stem = italian[:-1] if unit in (1, 8) else italian
            found[stem + ("tré" if unit == 3 else tail)] = (value, "it")
    spanish = "veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
    for offset, word in enumerate((spanish + "veintiocho veintinueve").split(), 21):
        found[word] = (offset, "es")
    for value, (german, dutch) in enumerate(
        zip(_UNITS["de"].split()[2:], _UNITS["nl"].split()[2:], strict=True), 2
    ):
        found[german + "hundert"], found[german + "tausend"] = (
            (value * 100, "de"),
            (value * 1000, "de"),
        )
        found[dutch + "honderd"], found[dutch + "duizend"] = (
            (value * 100, "nl"),
            (value * 1000, "nl"),
        )
    return found


def _vocabulary() -> dict[str, Word]:
    entries: dict[str, tuple[int, str, set[str]]] = {}

    def add(word: str, value: int, role: str, language: str) -> None:
        known = entries.setdefault(word, (value, role, set()))
        known[2].add(language)

    for language in _UNITS:
        for value, word in enumerate(_UNITS[language].split()):
            add(word, value, "unit", language)
        for value, word in enumerate(_TEENS[language].split(), 10):
            add(word, value, "teen", language)
        for value, word in enumerate(_TENS[language].split(), 2):
            add(word, value * 10, "tens", language)
        for word, power in _pairs(_SCALE_WORDS[language]).items():
            add(word, 10**power, "scale", language)
    for word, (value, language) in _compounds().items():
        add(word, value, "whole", language)
    for word, value in (("dreissig", 30), ("vingts", 20), ("quatre-vingts", 80)):
        add(word, value, "tens", "de" if value == 30 else "fr")
    add("dozen", 12, "dozen", "en")
    add("dozens", 12, "dozen", "en")
    return {word: Word(v, role, frozenset(langs)) for word, (v, role, langs) in entries.items()}


WORDS: Final[dict[str, Word]] = _vocabulary()
ORDINALS: Final[dict[str, int]] = _pairs(_ORDINALS)
DENOMINATORS: Final[dict[str, int]] = _pairs(_DENOMINATORS)
HOMOGRAPHS: Final = frozenset(
    listed(
        "once seize elf due sei cent cents sept mil mille dix un uno um dos tre otto nove onze "
        "million null ten six sex acht vent cien see"
    )
)
"""Words that are number words in one language and something else in another."""
LINKS: Final = frozenset({"and", "et", "y", "e", "und", "en"})


def read_words(words: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Split a run of number words into `(first, end, value, exponent)` items.

    `words` hold only entries of `WORDS` and `LINKS`. `forty two` is one item, `two three` two.
    """
    items: list[tuple[int, int, int, int]] = []
    position = 0
    while position < len(words):
        if words[position] not in WORDS:
            position += 1
            continue
        end, value, exponent = _read_one(words, position)
        items.append((position, end, value, exponent))
        position = end
    return items


def _read_one(words: Sequence[str], first: int) -> tuple[int, int, int]:
    """End, value and exponent of the longest numeral that starts at `first`."""
    total = current = 0
    exponent = 0
    last_scale = 0
    role = ""
    index = end = first
    while index < len(words):
        word = WORDS.get(words[index])
        if word is None:
            index += 1
            if role in ("", "unit", "teen"):
                break
            continue
        follows = _follows(role, current, word, last_scale)
        if not follows:
            break
        if word.role in ("scale", "dozen"):
            if word.value >= 1000 and role:
                total += max(current, 1) * word.value
                current, last_scale = 0, word.value
            else:
                current = max(current, 1) * word.value
            exponent = len(str(word.value)) - 1 if word.role == "scale" else 0
        elif follows == "year":
            current, exponent = current * 100 + word.value, 0
        elif follows == "score":
            current, exponent = current * word.value, 0
        else:
            current, exponent = current + word.value, 0
        role = word.role
        index += 1
        end = index
    return end, total + current, exponent


def _follows(role: str, current: int, word: Word, last_scale: int) -> str:
    """How `word` continues a numeral whose last word had `role`; empty when it starts anew."""
    if not role:
        return "add"
    if word.role in ("scale", "dozen"):
        limit = not last_scale or word.value < last_scale
        return "add" if limit and (role != "scale" or word.value >= 1000) else ""
    if role == "scale":
        return "add"
    if role == "tens" and word.role == "unit" and word.value and current % 10 == 0:
        return "add"
    if role == "tens" and word.role == "teen" and "fr" in word.languages and current in (60, 80):
        return "add"
    if role == "unit" and current == 4 and word.value == 20 and "fr" in word.languages:
        return "score"
    if word.role in ("tens", "whole") and role in ("teen", "tens") and 10 < current <= 20:
        return "year"
    return ""


# --- Chinese and Japanese -------------------------------------------------------------------------

_HAN_DIGITS: Final = {char: value for value, char in enumerate("〇一二三四五六七八九")}
_HAN_DIGITS.update({"零": 0, "两": 2, "兩": 2})
_HAN_SCALES: Final = {"十": 10, "百": 100, "千": 1000}
_HAN_GROUPS: Final = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
HAN_NUMERAL: Final = re.compile(
    "[〇零一二三四五六七八九十两兩][〇零一二三四五六七八九十百千万萬亿億兆两兩]*"
)


def han_numeral(text: str) -> int | None:
    """Value of a numeral in Chinese characters (`三千五百`, `二〇一九`), or None."""
    if len(text) > 20:
        return None
    if all(char in _HAN_DIGITS for char in text):
        return int("".join(str(_HAN_DIGITS[char]) for char in text))
    total = section = digit = 0
    for char in text:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        elif char in _HAN_SCALES:
            section += (digit or 1) * _HAN_SCALES[char]
            digit = 0
        elif char in _HAN_GROUPS:
            total += (section + digit or 1) * _HAN_GROUPS[char]
            section = digit = 0
        else:
            return None
    return total + section + digit
