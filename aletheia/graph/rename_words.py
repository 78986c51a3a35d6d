"""Invented words: made of syllables by rule, unlike any word they must not be taken for."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterable
from typing import Final, Literal

from rapidfuzz.distance import OSA

from aletheia.graph.text import fold
from aletheia.grounding.lexicon import DEMONYMS, FUNCTION_WORDS, MONTHS_AND_DAYS, is_common

Kind = Literal["person", "place", "organisation", "work", "thing"]

_ONSETS: Final = (
    "b br d dr dw f fl g gr gw h j k kl kr l m n p pl pr qu r s sk sl st t th tr tw v vr y z zh"
).split()
_NUCLEI: Final = "a a e e i i o o u u ae ei ia y".split()
_CODAS: Final = "l m n r s sk rn lv nd rt mb x th k".split()
_ENDINGS: Final[dict[Kind, tuple[str, ...]]] = {
    "person": ("a", "en", "is", "or", "ek", "une", "ard", "iel"),
    "place": ("mar", "oth", "wyn", "ova", "aske", "und", "ile", "orra"),
    "organisation": ("ax", "eron", "ivo", "ustra", "ond", "ady"),
    "work": ("elle", "ane", "ymn", "ost", "ira"),
    "thing": ("ik", "ule", "orn", "ent", "asp", "ode"),
}
_KIND_OF: Final[dict[Kind, frozenset[str]]] = {
    "person": frozenset("person people human character individual politician author".split()),
    "place": frozenset(
        """place city town village country region district state county island river lake sea
        mountain forest bog street building bridge location continent province territory
        lighthouse dock planet""".split()
    ),
    "organisation": frozenset(
        """organisation organization company group party guild club authority agency school
        university hospital museum newspaper railway cooperative band team bank brand
        institution government""".split()
    ),
    "work": frozenset("work book play painting film song album composition poem game".split()),
    "thing": frozenset(),
}
_CONSONANTS: Final = "bdfgklmnprstvz"
_VOWELS: Final = "aeiou"
_TRIES: Final = 500
_TWIN_LENGTH: Final = 5
_CYRILLIC: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абкдефгхийклмнопкрстуввкиз")
_GREEK: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "αβκδεφγχιικλμνοπκρστυβωξυζ")


def kind_of(node_type: str | None) -> Kind:
    """Tell which kind of name a node type bears; `thing` where its words do not say."""
    words = set(fold(node_type or "").split(" "))
    return next((kind for kind, known in _KIND_OF.items() if words & known), "thing")


class WordMaker:
    """Makes words that are new: none of `taken`, no English word, none made before.

    A new word is not one typing error away from any of those either, unless `twin` asks for that.
    Words are lower case. The same seed and the same calls give the same words.
    """

    def __init__(self, seed: int, taken: Iterable[str]) -> None:
        self._random = random.Random(f"{seed}:words")  # noqa: S311 - no secret
        self._used = {word for word in taken if word}
        self._near: dict[str, list[str]] = {}
        for word in self._used:
            self._note(word)
        self._demonyms = {word for words in DEMONYMS.values() for word in words} | set(DEMONYMS)

    def word(self, old: str, kind: Kind) -> str:
        """Make a word that stands for `old`, in the script of `old` where that has an alphabet."""
        script = _script(old)
        if script in ("LATIN", "CYRILLIC", "GREEK"):
            table = {"CYRILLIC": _CYRILLIC, "GREEK": _GREEK}.get(script, {})
            return self._take(lambda: self._latin(kind).translate(table))
        return self._take(lambda: self._letters(old), near=False)

    def acronym(self, letters: str) -> str:
        """Take these letters if they are free, else as many others; digits stay digits."""
        if letters and self._is_free(letters, near=False) and letters not in FUNCTION_WORDS:
            self._keep(letters)
            return letters
        return self._take(lambda: "".join(map(self._letter, letters)), near=False)

    def twin(self, new: str) -> str:
        """Make a word one letter away from `new`, for an old word one letter away from another."""

        def change() -> str:
            at = self._random.randrange(1, len(new))
            pool = _VOWELS if new[at] in "aeiouy" else _CONSONANTS
            return f"{new[:at]}{self._random.choice(pool)}{new[at + 1 :]}"

        return self._take(change, near=False)

    def derived(self, new: str, ending: str) -> str:
        """Add an ending: the plural of `new`, or the people of a place."""
        stem = new.rstrip("aeiouy") if ending != "s" and len(new) > 4 else new
        return self._take(lambda: f"{stem}{ending}", near=False, fallback=new + ending)

    def _latin(self, kind: Kind) -> str:
        pick = self._random.choice
        middle = f"{pick(_ONSETS)}{pick(_NUCLEI)}{pick(_CODAS)}"
        extra = f"{pick(_NUCLEI)}{pick(_CONSONANTS)}" if self._random.random() < 0.1 else ""
        return f"{middle}{extra}{pick(_ENDINGS[kind])}"

    def _letter(self, old: str) -> str:
        if old.isdigit():
            return str((int(old) + 3) % 10)
        return self._random.choice("bcdfghjklmnpqrstvwxz")

    def _letters(self, old: str) -> str:
        """Other letters of the same script; marks stay where they are."""
        return "".join(
            self._random.choice(_alphabet(c)) if unicodedata.category(c) == "Lo" else c for c in old
        )

    def _take(
        self, make: Callable[[], str], *, near: bool = True, fallback: str | None = None
    ) -> str:
        for attempt in range(_TRIES):
            word = make()
            if attempt > _TRIES // 2:
                word = f"{word}{self._random.choice(_VOWELS)}{self._random.choice(_CONSONANTS)}"
            elif fallback is not None and attempt:
                word = f"{fallback}{self._random.choice(_VOWELS)}"
            if self._is_free(word, near=near):
                self._keep(word)
                return word
        raise RuntimeError("no free word was found")

    def _is_free(self, word: str, *, near: bool) -> bool:
        folded = fold(word).replace(" ", "")
        if word in self._used or folded in self._used or is_common(folded):
            return False
        if folded in self._demonyms or folded in MONTHS_AND_DAYS or folded in FUNCTION_WORDS:
            return False
        return not near or self.twin_of(word) is None

    def _keep(self, word: str) -> None:
        self._used.update((word, fold(word).replace(" ", "")))
        self._note(word)

    def _note(self, word: str) -> None:
        if len(word) >= _TWIN_LENGTH:
            for key in _shortened(word):
                self._near.setdefault(key, []).append(word)

    def twin_of(self, word: str) -> str | None:
        """Find a word in use that is one typing error away, if there is one."""
        return nearest(word, self._near)


def nearest(word: str, near: dict[str, list[str]]) -> str | None:
    """Find a word one edit away in an index of `shortened` forms."""
    if len(word) < _TWIN_LENGTH:
        return None
    found = (other for key in _shortened(word) for other in near.get(key, ()))
    return next(
        (o for o in found if o != word and OSA.distance(o, word, score_cutoff=1) == 1), None
    )


def index_twins(near: dict[str, list[str]], word: str) -> None:
    """Add a word to an index for `nearest`."""
    if len(word) >= _TWIN_LENGTH:
        for key in _shortened(word):
            near.setdefault(key, []).append(word)


def _shortened(word: str) -> set[str]:
    """Return the word, and the word without each one of its letters."""
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


def _script(word: str) -> str:
    letter = next((c for c in word if c.isalpha()), "a")
    return unicodedata.name(letter, "LATIN").split(" ")[0]


def _alphabet(letter: str) -> str:
    """Letters that may stand for this one: of its own script and block."""
    code = ord(letter)
    if 0x4E00 <= code <= 0x9FFF:
        low, high = 0x4E00, 0x9FA5
    elif 0xAC00 <= code <= 0xD7A3:
        low, high = 0xAC00, 0xD7A3
    else:
        low, high = code & ~0x7F, code | 0x7F
    if high - low > 256:
        return "".join(map(chr, range(low + code % 97, high, 97)))
    script = unicodedata.name(letter, "").split(" ")[0]
    pool = (chr(c) for c in range(low, high + 1))
    return "".join(
        c
        for c in pool
        if unicodedata.category(c) == "Lo"
        and unicodedata.name(c, "").startswith(script)
        and "SMALL" not in unicodedata.name(c)
    )
