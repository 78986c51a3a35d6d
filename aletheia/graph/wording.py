"""Facts as English: a predicate becomes a verb phrase, values become a list.

The rules look at the form of a predicate only (auxiliary, participle, preposition, ending); the
tables below hold grammar, not subjects. What fits no rule reads "The <predicate> of X is Y".
Names and values are kept verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from aletheia.graph.store import Pairs

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAK = re.compile(r"[\s_\-./:]+")
_DATE = re.compile(r"-?\d{1,4}(?:-\d{2}){0,2}(?:[T ]\d{2}:\d{2}.*)?")
_YEAR_OR_MONTH = re.compile(r"-?\d{1,4}(?:-\d{2})?")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_AUXILIARIES = _set("is are was were be has have had can may might must will did does")
_PREPOSITIONS = _set(
    """about above across after against along among around as at before behind below beside
    between     beyond by during for from in inside into near of off on onto opposite outside
    over past per     since through to toward towards under until upon via with within without"""
)
_STATES = _set(
    """affiliated aligned allied associated based bordered classified comprised composed
    connected     dedicated headquartered inhabited known linked located married named opposed
    protected related     situated stationed surrounded twinned used written"""
)
_EVENTS = _set(
    """abolished accused acquired adopted annexed appointed arrested assassinated assigned
    attacked     awarded banned born built buried called captured caused closed commissioned
    completed convicted     created crowned demolished deposed derived described designated
    designed destroyed developed     directed disbanded discovered dissolved educated elected
    employed established executed exiled     expelled formed founded funded held imprisoned
    incorporated indicted influenced inspired     introduced invented killed launched listed
    made merged opened ordained painted proscribed     published purchased recognised
    recognized recorded registered released renamed replaced     restored sanctioned sentenced
    signed sold started stolen succeeded suspended trained     transferred translated
    wounded"""
)
_PAST = _set(
    """became began bought built came died drew fell fought found gave grew held hid knew led
    left lost     made met paid ran sang saw sank sent sold spoke split stole taught told took went
    won wore wrote"""
)
_BARE_NOUNS = _set("part capital head north south east west home birthplace")
_PLURAL_LOOK = _set("headquarters series species news means status basis process")
_FROM = _set("from start start_date startdate started valid_from begin begins")
_UNTIL = _set("until till end end_date enddate ended valid_to valid_until to")
_ON = _set("date on when year at_time point_in_time")
_PREFIXED = _set("since until from in on as before after by")
PROVENANCE = _set(
    """source source_note source_url source_id url reference references ref citation
    provenance retrieved retrieved_at publisher publisher_url note_source"""
)
"""Attribute keys that say where a fact comes from. They stay with the fact, out of its text."""


@lru_cache(maxsize=4_096)
def words_of(predicate: str) -> str:
    """A predicate or attribute key as words: `founded_in`, `foundedIn`, an IRI's last part."""
    if "://" in predicate:
        predicate = re.split(r"[/#]", predicate.rstrip("/#"))[-1]
    predicate = predicate.strip()
    if predicate.isupper() and ("_" in predicate or len(predicate) > 4):
        predicate = predicate.lower()
    parts = [p for p in _BREAK.split(_HUMP.sub(" ", predicate)) if p]
    return " ".join(map(_uncapital, parts)) or predicate or "value"


def _uncapital(word: str) -> str:
    return word if word.isupper() and len(word) > 1 else word[:1].lower() + word[1:]


def stop(text: str) -> str:
    """End a sentence, unless it ends already."""
    return text if text.endswith((".", "!", "?", "\u3002")) else f"{text}."


def join(items: Sequence[str]) -> str:
    """A list in prose. Semicolons part items that hold a comma or an "and" themselves."""
    if len(items) < 2:
        return "".join(items)
    if any("," in item or " and " in item for item in items):
        return "; ".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def qualify(name: str, attributes: Pairs) -> str:
    """Add the attributes of an edge to a name: `United States (since 1997-10-08)`."""
    notes = [_note(key, value) for key, value in attributes if not is_provenance(key)]
    return f"{name} ({', '.join(notes)})" if notes else name


def is_provenance(key: str) -> bool:
    """Tell whether an attribute says where a fact comes from, and not what is true."""
    return _slug(key) in PROVENANCE


def has_ended(attributes: Pairs) -> bool:
    """Tell whether an edge says when it stopped being true."""
    return any(_slug(key) in _UNTIL for key, _ in attributes)


def _slug(key: str) -> str:
    return words_of(key).casefold().replace(" ", "_")


def _note(key: str, value: str) -> str:
    slug = _slug(key)
    if slug in _ON and _DATE.fullmatch(value):
        return f"{_at(value)} {value}"
    if slug in _FROM:
        return f"from {value}"
    if slug in _UNTIL:
        return f"until {value}"
    if slug in _PREFIXED:
        return f"{slug} {value}"
    return f"{words_of(key)}: {value}"


def _at(value: str) -> str:
    return "in" if _YEAR_OR_MONTH.fullmatch(value) else "on"


def _copula(first: str, *, ended: bool) -> str:
    return "was" if ended or first in _EVENTS else "is"


def relation(subject: str, predicate: str, objects: Sequence[str], *, ended: bool = False) -> str:
    """One sentence for the edges of a subject with one predicate."""
    phrase = words_of(predicate)
    verb = _verb_phrase(phrase, ended=ended)
    if verb is not None:
        return stop(f"{subject} {verb} {join(objects)}")
    return stop(f"The {phrase} of {subject} {'was' if ended else 'is'} {join(objects)}")


def _verb_phrase(phrase: str, *, ended: bool) -> str | None:
    """The words between subject and object, or None if the predicate is a noun."""
    parts = phrase.split()
    first, last = parts[0].casefold(), parts[-1].casefold()
    if first in _AUXILIARIES:
        return phrase
    if last in _PREPOSITIONS:
        return _prepositional(phrase, first, last, len(parts), ended=ended)
    if first in _PAST or (first.endswith("ed") and len(first) > 4):
        return phrase
    looks_third_person = first.endswith("s") and not first.endswith(("ss", "us", "is"))
    return phrase if looks_third_person and first not in _PLURAL_LOOK else None


def _prepositional(phrase: str, first: str, last: str, n_words: int, *, ended: bool) -> str:
    be = _copula(first, ended=ended)
    if n_words == 1 or first in _STATES or first in _EVENTS:
        return f"{be} {phrase}"
    if last == "by":
        return f"{'was' if first.endswith('ed') or ended else 'is'} {phrase}"
    if first in _PAST or first.endswith("ed"):
        return phrase
    if first.endswith("s") and not first.endswith(("ss", "us", "is")):
        return phrase
    if last == "of" and first not in _BARE_NOUNS:
        article = "an" if first[0] in "aeio" else "a"
        return f"{be} {article} {phrase}"
    return f"{be} {phrase}"


def inverse(target: str, predicate: str, subjects: Sequence[str]) -> str:
    """One sentence for the edges that reach a node, as in `Based in Lebanon: A and B.`."""
    phrase = words_of(predicate)
    if _verb_phrase(phrase, ended=False) is None:
        return stop(f"{target} is the {phrase} of {join(subjects)}")
    be, _, rest = phrase.partition(" ")
    if be in ("is", "are", "was", "were") and rest:
        phrase = rest
    return stop(f"{phrase[:1].upper()}{phrase[1:]} {target}: {join(subjects)}")


def attribute(subject: str, key: str, values: Sequence[str]) -> str:
    """One sentence for the values of one attribute of a node."""
    phrase = words_of(key)
    event = _event(phrase, values)
    if event is not None:
        return stop(f"{subject} {event} {join(values)}")
    parts = phrase.casefold().split()
    if parts[-1] in _PREPOSITIONS or parts[0] in _AUXILIARIES:
        return stop(f"{subject} {_verb_phrase(phrase, ended=False)} {join(values)}")
    be = "are" if phrase.endswith("s") and parts[-1] not in _PLURAL_LOOK else "is"
    return stop(f"The {phrase} of {subject} {be} {join(values)}")


def _event(phrase: str, values: Sequence[str]) -> str | None:
    """The verb of a key that names something that happened: `founded`, `first_held`, `died`."""
    parts = [p for p in phrase.split() if p.casefold() not in ("date", "year", "on", "in")]
    verb = parts[-1].casefold() if 0 < len(parts) < 3 else ""
    passive = verb in _EVENTS or verb in _STATES
    if not passive and verb not in _PAST and not (verb.endswith("ed") and len(verb) > 3):
        return None
    happened = " ".join(parts)
    if len(values) == 1 and _DATE.fullmatch(values[0]):
        return f"{'was ' if passive else ''}{happened} {_at(values[0])}"
    return f"is {happened}" if passive and len(parts) == 1 else None


def having(key: str, value: str, subjects: Sequence[str]) -> str:
    """One sentence for the nodes that share an attribute value, as in `Founded 1985: A and B.`."""
    phrase = words_of(key)
    return stop(f"{phrase[:1].upper()}{phrase[1:]} {value}: {join(subjects)}")


def introduction(name: str, kind: str | None, aliases: Sequence[str], texts: Sequence[str]) -> str:
    """What a node is: its type, its other names, its description."""
    article = "an" if kind and kind[0].casefold() in "aeio" else "a"
    parts = [f"{name} is {article} {words_of(kind)}."] if kind else []
    if aliases:
        parts.append(stop(f"{name} is also known as {join(aliases)}"))
    parts.extend(map(stop, texts))
    return " ".join(parts) or stop(name)
