"""Look up phrases of refusals and small talk; the phrases themselves are in `data/phrases.toml`."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

_SCRIPTS: Final = (
    (re.compile(r"[\u0400-\u04ff]"), ("ru", "other")),
    (re.compile(r"[\u4e00-\u9fff]"), ("zh", "ja")),
    (re.compile(r"[\u3040-\u30ff]"), ("ja",)),
    (re.compile(r"[\uac00-\ud7af]"), ("ko",)),
    (re.compile(r"[\u0600-\u06ff]"), ("ar", "other")),
    (re.compile(r"[\u0900-\u097f]"), ("hi",)),
    (re.compile(r"[\u0370-\u03ff\u0590-\u05ff\u0e00-\u0e7f]"), ("other",)),
)
_STRIP_SIGNS: Final = str.maketrans(dict.fromkeys('.,;:!?"“”«»()*`…', " ") | {"’": "'", "‘": "'"})
_EMPHASIS: Final = re.compile(r"[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}(?!\w)")
_FINAL: Final = " \t\n.!?…。！？．｡।؟،,;:\u200b"
_SPACES: Final = re.compile(r"\s+")
_FRAGMENT: Final = re.compile(r"<([A-Z]+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phrases:
    """The table of one language. Patterns are compiled when they are first needed."""

    opening: str
    refusals: tuple[str, ...]
    small_talk: tuple[str, ...]
    triggers: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lexicon:
    """All languages; `languages_of` says which of them a word can start a phrase of."""

    languages: Mapping[str, _Phrases]
    languages_of: Mapping[str, tuple[str, ...]]
    words: frozenset[str]
    forbidden: re.Pattern[str]


def phrase_languages(text: str) -> tuple[str, ...]:
    """Languages of which `text` can hold a phrase: usually none, and found so cheaply."""
    lexicon = _lexicon()
    words = text.casefold().translate(_STRIP_SIGNS).split()
    found: dict[str, None] = {}
    if not lexicon.words.isdisjoint(words):
        for word in words:
            found.update(dict.fromkeys(lexicon.languages_of.get(word, ())))
    if not text.isascii():
        for script, languages in _SCRIPTS:
            if script.search(text) is not None:
                found.update(dict.fromkeys(languages))
    return tuple(found)


def fold_phrase(text: str) -> str:
    """Bring a clause into the form the patterns are written in."""
    folded = unicodedata.normalize("NFC", text).replace("’", "'").replace("‘", "'")
    folded = _EMPHASIS.sub("", folded).casefold().replace("i̇", "i").replace("weiss", "weiß")
    folded = "".join(char for char in folded if not "\u064b" <= char <= "\u0652")
    return _SPACES.sub(" ", folded.strip(_FINAL)).strip()


def refusal_language(folded: str, languages: Iterable[str]) -> str | None:
    """Which of `languages` the refusal is in that the clause consists of; None if it is none."""
    for language in languages:
        match = _refusal(language).fullmatch(folded)
        if match is not None and not _holds_more(folded, match.end("opening")):
            return language
    return None


def is_small_talk(folded: str, languages: Iterable[str]) -> bool:
    """Whether the clause is a greeting, a closing or another courtesy and nothing else."""
    return any(_small_talk(language).fullmatch(folded) is not None for language in languages)


def _holds_more(folded: str, start: int) -> bool:
    """Whether the tail of a refusal goes on to claim something (`..., because it closed`)."""
    return _lexicon().forbidden.search(folded, start) is not None


@cache
def _refusal(language: str) -> re.Pattern[str]:
    phrases = _lexicon().languages[language]
    return re.compile(rf"(?P<opening>{phrases.opening})(?:{'|'.join(phrases.refusals)})")


@cache
def _small_talk(language: str) -> re.Pattern[str]:
    one = "|".join(_lexicon().languages[language].small_talk or (r"(?!)",))
    return re.compile(rf"(?:{one})(?:(?:,| and|!|，|、) ?(?:{one}))*")


@cache
def _lexicon() -> _Lexicon:
    source = resources.files("aletheia.grounding") / "data" / "phrases.toml"
    tables = tomllib.loads(source.read_text(encoding="utf-8"))
    fragments: dict[str, str] = tables.pop("fragments")
    languages = {name: _phrases(table, fragments) for name, table in tables.items()}
    words = frozenset(word for phrases in languages.values() for word in phrases.triggers)
    return _Lexicon(
        languages=languages,
        languages_of={
            word: tuple(name for name, phrases in languages.items() if word in phrases.triggers)
            for word in words
        },
        words=words,
        forbidden=re.compile(fragments["FORBIDDEN"]),
    )


def _phrases(table: Mapping[str, object], fragments: Mapping[str, str]) -> _Phrases:
    def filled(pattern: object) -> str:
        # Every other letter of a pattern is lower case, so `T` can only be the tail.
        named = re.sub(r"T(?![A-Z>])", "<TAIL>", str(pattern))
        return _FRAGMENT.sub(lambda match: filled_fragment(match.group(1)), named)

    def filled_fragment(name: str) -> str:
        return _FRAGMENT.sub(lambda match: filled_fragment(match.group(1)), fragments[name])

    def listed(name: str) -> tuple[str, ...]:
        patterns = table[name]
        return tuple(map(filled, patterns)) if isinstance(patterns, list) else ()

    return _Phrases(
        opening=filled(table["opening"]),
        refusals=listed("refusals"),
        small_talk=listed("small_talk"),
        triggers=frozenset(str(table["triggers"]).split()),
    )
