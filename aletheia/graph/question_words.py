"""Relations and attributes as questions: verb forms, question words, articles.

Everything starts from the sentence that `wording` makes of a fact, so that a question and its
evidence speak of a thing in the same words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from aletheia.graph import wording
from aletheia.grounding.lexicon import is_common

SUBJECT, OBJECT = "\ue000", "\ue001"
"""Stand-ins for the two ends of a relation."""

_AUXILIARIES: Final = frozenset("is are was were has have had can may might must will".split())
_PLURAL: Final = {"is": "are", "was": "were", "has": "have"}
_BASES: Final = {
    past: base
    for past, _, base in (
        pair.partition(":")
        for pair in """became:become began:begin bought:buy built:build came:come died:die drew:draw
    fell:fall fought:fight found:find gave:give grew:grow held:hold hid:hide knew:know led:lead
    left:leave lost:lose made:make met:meet paid:pay ran:run sang:sing sank:sink saw:see sent:send
    sold:sell spoke:speak split:split stole:steal taught:teach told:tell took:take went:go won:win
    wore:wear wrote:write lay:lie rose:rise""".split()
    )
}
_PARTICIPLES: Final = {
    base: past
    for past, base in _BASES.items()
    if base in "buy build find hold lead leave lose make meet pay sell send teach tell win".split()
} | {"run": "run", "lie": "lain", "write": "written", "take": "taken", "own": "owned"}
_DATE: Final = re.compile(r"-?\d{4}(?:-\d{2}){0,2}")
_YEAR: Final = re.compile(r"\d{4}")
_HAS_TIME: Final = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b"
)
_HAS_NOUN: Final = re.compile(r"(?:has|have) (?:a|an|the) ")
_OF_KIND: Final = re.compile(r"\bthe (\w+) of$")
_PLURAL_COUNTRIES: Final = frozenset("philippines netherlands bahamas maldives".split())
_PREPOSITIONS: Final = frozenset(
    "in on since at from until of by to into with for after over under".split()
)
_NO_ARTICLE: Final = frozenset(
    """person town village city country district product company ship mountain lake play painting
    book composition food plant insect mineral game currency""".split()
)
_HEADS_LAST: Final = frozenset(
    """agency alliance army association bank battalion bridge brigade brigades bureau canal charter
    church club committee company congress convention cooperative council courant current court dock
    fair federation festival fire fleet force forces foundation freeze front gallery government
    group guild gulf hospital infirmary institute islands league library line medal ministry
    movement museum network observatory office organisation organization party prize process
    province race railway river sea society strip treaty tribunal tunnel corps school union war""".split()
)
_HEADS_FIRST: Final = frozenset(
    """accord army authority bank battle bay bellhouse board body church city confederation council
    court department feast federation front government guild gulf hall home house institute
    institution isle isles kingdom league ministry movement museum office order organisation
    organization parliament party republic revolutionary river school sea society state states
    treaty union united university war armed communist popular""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A relation as a verb: `aux` (`was`, or None for a full verb), and what follows.

    `was born in` has `aux="was", rest="born in"`; `invented` has `aux=None, rest="invented"`.
    """

    aux: str | None
    rest: str

    @property
    def words(self) -> str:
        """The verb as it stands between subject and object."""
        return self.rest if self.aux is None else f"{self.aux} {self.rest}".strip()

    @property
    def takes_noun(self) -> bool:
        """Whether a noun follows: such a verb has no plural that reads well."""
        return self.aux is not None and self.rest.split(" ")[0] in ("a", "an", "the")


def verb(predicate: str, *, ended: bool = False) -> Verb | None:
    """The verb of a relation, or None for a noun such as `capital`."""
    if _HAS_NOUN.match(wording.words_of(predicate)):
        return None
    sentence = wording.relation(SUBJECT, predicate, [OBJECT], ended=ended)
    if not (sentence.startswith(f"{SUBJECT} ") and sentence.endswith(f" {OBJECT}.")):
        return None
    return _verb(sentence[2:-3])


def attribute_verb(key: str, value: str) -> Verb | None:
    """The verb of an attribute that reads as an event: `founded`, `was first held in`."""
    sentence = wording.attribute(SUBJECT, key, [value])
    end = f" {wording.stop(value)}"
    if not (sentence.startswith(f"{SUBJECT} ") and sentence.endswith(end)):
        return None
    return _verb(sentence[2 : -len(end)])


def _verb(phrase: str) -> Verb:
    first, _, rest = phrase.partition(" ")
    if first in _AUXILIARIES:
        return Verb(aux=first, rest=rest)
    return Verb(aux=None, rest=phrase)


def noun(key: str) -> str:
    """A relation or attribute that is a noun, as words."""
    return _HAS_NOUN.sub("", wording.words_of(key))


def base(word: str) -> str | None:
    """The base form of a verb in the past or third person; None if it cannot be told."""
    if word in _BASES:
        return _BASES[word]
    if word.endswith("ed") and len(word) > 3:
        stem = word[:-2]
        doubled = len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "sl"
        options: tuple[str, ...] = (
            word[:-3] + "y" if word.endswith("ied") else "",
            stem + "e",
            stem,
        )
        if doubled:
            options = (stem[:-1],)
        elif not stem.endswith(("c", "s", "v", "u", "iz", "at", "ut", "as")):
            options = (options[0], stem, stem + "e")
        return next((o for o in options if o and is_common(o)), None)
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else None


def participle(word: str) -> str | None:
    """The past participle of a base form."""
    if word in _PARTICIPLES:
        return _PARTICIPLES[word]
    if word in _BASES.values() or not is_common(word):
        return None
    if word.endswith("e"):
        return f"{word}d"
    ends_in_y = word.endswith("y") and word[-2:-1] not in "aeiou"
    return f"{word[:-1]}ied" if ends_in_y else f"{word}ed"


def plural(verb_: Verb) -> str | None:
    """The verb for several subjects."""
    if verb_.takes_noun:
        return None
    if verb_.aux is not None:
        return f"{_PLURAL.get(verb_.aux, verb_.aux)} {verb_.rest}".strip()
    first, _, rest = verb_.rest.partition(" ")
    if first in _BASES or first.endswith("ed"):
        return verb_.rest
    form = base(first)
    return None if form is None else f"{form} {rest}".strip()


def asked(question_word: str, verb_: Verb, subject: str, *, past: bool = False) -> str | None:
    """Ask for the object: `In which town was X born?`, `Which lamp did X invent?`.

    `past` puts a full verb into the past. None where its base form cannot be told.
    """
    verb_, preposition = _parted(verb_, question_word.split(" ")[-1])
    if preposition and question_word.startswith("Who"):
        verb_, preposition = Verb(aux=verb_.aux, rest=f"{verb_.rest} {preposition}"), ""
    if preposition:
        question_word = f"{preposition.capitalize()} {question_word[:1].lower()}{question_word[1:]}"
    if verb_.aux is not None:
        return _joined(question_word, verb_.aux, subject, verb_.rest) + "?"
    first, _, rest = verb_.rest.partition(" ")
    form = base(first)
    if form is None:
        return None
    past = past or first in _BASES or first.endswith("ed")
    return _joined(question_word, "did" if past else "does", subject, form, rest) + "?"


def object_phrase(kind: str, verb_: Verb, subject: str) -> str:
    """The object of a relation as a noun phrase: `the town in which X is based`."""
    word = type_words(kind)
    verb_, preposition = _parted(verb_, word)
    said = verb_.words
    if preposition:
        pronoun = "whom" if word == "person" else "which"
        return _joined(f"the {word} {preposition} {pronoun}", subject, said)
    return _joined(f"the {word} that", subject, said)


def subject_phrase(kind: str, verb_: Verb, object_: str) -> str:
    """The subject of a relation as a noun phrase: `the person who invented X`."""
    word = type_words(kind)
    return _joined(f"the {word} {'who' if word == 'person' else 'that'}", verb_.words, object_)


def _parted(verb_: Verb, kind: str) -> tuple[Verb, str]:
    """Part a verb from its last preposition; `in the district of` a district is just `in` it."""
    match = _OF_KIND.search(verb_.rest)
    rest = verb_.rest
    if match is not None and match[1] == kind.lower():
        rest = rest[: match.start()].rstrip()
    head, _, last = rest.rpartition(" ")
    if last not in _PREPOSITIONS or (verb_.aux is None and not head):
        return Verb(aux=verb_.aux, rest=rest), ""
    return Verb(aux=verb_.aux, rest=head), last


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def which(kind: str | None, *, noun_follows: bool = True) -> str:
    """The question word for a thing of a type: `Who`, `Which town`, `What`."""
    if kind is None:
        return "What"
    if type_words(kind) == "person":
        return "Who"
    return f"Which {type_words(kind)}" if noun_follows else "What"


def type_words(kind: str | None) -> str:
    """A node type in running text: small letters, but acronyms as they are."""
    words = wording.words_of(kind) if kind else "thing"
    return " ".join(w if w.isupper() and len(w) > 1 else w.lower() for w in words.split(" "))


def plural_noun(word: str) -> str:
    """The plural of a type."""
    if word.endswith("person"):
        return f"{word[:-6]}people"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"


def with_article(word: str) -> str:
    """`a town`, `an island`."""
    return f"{'an' if word[:1].lower() in 'aeio' else 'a'} {word}"


def mention(name: str, kind: str | None) -> str:
    """A name in running text, with `the` where English has it."""
    words = [w.lower() for w in re.findall(r"[\w'&-]+", name)]
    if not words or words[0] in ("the", "a", "an") or not name[:1].isupper():
        return name
    if words[-1] in _PLURAL_COUNTRIES:
        return f"the {name}"
    if _is_common_noun(name):
        return f"the {name[:1].lower()}{name[1:]}" if is_common(words[0]) else f"the {name}"
    if kind is not None and type_words(kind) in _NO_ARTICLE and "of" not in words[1:3]:
        last = words[-1] in ("company", "islands", "union")
        return f"the {name}" if last else name
    if len(words) > 1 and (words[-1] in _HEADS_LAST or _opens_with_head(words)):
        return f"the {name}"
    return name


def _opens_with_head(words: list[str]) -> bool:
    """Whether a name is of the form `Guild of X` or `Islamic Movement of X`."""
    heads = _HEADS_FIRST | _HEADS_LAST
    if any(a in heads and b in ("of", "for") for a, b in pairwise(words)):
        return True
    return words[0] in ("united", "river", "gulf")


def _is_common_noun(name: str) -> bool:
    """Whether a name is a thing of a kind, as `Tidal lamp`: its last word is small."""
    last = name.rsplit(" ", 1)[-1]
    return " " in name and last.isascii() and last.isalpha() and last.islower()


def is_date(value: str) -> bool:
    """Whether a value is a year, a month or a day in ISO form."""
    return _DATE.fullmatch(value) is not None


def is_year(value: str) -> bool:
    """Whether a value is a year."""
    return _YEAR.fullmatch(value) is not None


def tells_time(value: str) -> bool:
    """Whether a value names a month or weekday, as `last Sunday of April`."""
    return _HAS_TIME.search(value) is not None


def when(value: str) -> str:
    """The question words for a date of this precision."""
    return "In which year" if is_year(value) else "When"


def without_preposition(verb_: Verb) -> Verb:
    """The verb without `in` or `on` at its end, for a question that starts with `when`."""
    words = verb_.rest.split(" ")
    if words[-1] in ("in", "on"):
        return Verb(aux=verb_.aux, rest=" ".join(words[:-1]))
    return verb_


def ends_in_preposition(text: str) -> bool:
    """Whether a phrase ends in a preposition."""
    return text.rsplit(" ", 1)[-1] in _PREPOSITIONS


def spoken_date(value: str) -> str | None:
    """A day or month as people write it: `14 March 1841`."""
    from calendar import month_name

    parts = value.split("-")
    if not is_date(value) or len(parts) < 2 or not 1 <= int(parts[1]) <= 12:
        return None
    day = f"{int(parts[2])} " if len(parts) > 2 else ""
    return f"{day}{month_name[int(parts[1])]} {parts[0]}"
