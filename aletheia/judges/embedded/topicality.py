"""How well a claim fits a question: words, kinds of answer, what its pronouns stand for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from aletheia.grounding.numbering import number
from aletheia.grounding.polarity import stem
from aletheia.judges.embedded.evidence import Evidence
from aletheia.judges.embedded.questions import QUESTION_WORDS, topic
from aletheia.judges.embedded.tokens import Token, tokens
from aletheia.judges.embedded.words import word_table
from aletheia.schema.trace import Claim, SubQuestion

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

COMMON: Final = 0.2
"""Weight of words that several sub-questions share: they tell nothing of which one is answered."""
TYPED: Final = 0.25
"""What the right kind of answer (a date for `when`) adds, and the wrong kind takes away."""
_SAME_CONCEPT: Final = 0.85
_PRONOUN: Final = 0.5
"""Among several questions about one thing a pronoun tells little of which one is answered."""
_OTHER_SUBJECT: Final = 0.5
_STOPS: Final = ".!?。！？।؟"
_BARE: Final = 12
_LEAST: Final = 3
"""Words of content below which nobody can tell what a claim is about."""
_PARALLEL: Final = 0.12
"""Share of the question's words (halved) from which another subject makes a claim an extra."""

_LEAD_IN = (
    r"(?:(?:however|but|and|also|in addition|for (?:example|instance)|then|today|still|yet|"
    r"moreover|furthermore|additionally|overall|so|thus|note that|e\.g\.),?\s+)*"
)
_REFERS: Final = re.compile(
    rf"\A{_LEAD_IN}(?:it|its|they|their|he|she|his|her|this|that|these|those|the (?:former|latter)|both|"
    r"each|some|most|many|others?|one|here|there|such|"
    r"er|sie|es|diese[rsmn]?|dies|ihre?[rnms]?|seine?[rnms]?|"
    r"él|ella|ellos|este|esta|esto|estos|estas|su|sus|il|elle|ils|elles|ce|cette|ces|cela|son|sa|ses)\b"
    r"|\A(?:它|他|她|这|那|该|其|此)",
    re.IGNORECASE,
)
"""How a sentence begins that speaks on about what was spoken of before."""
_POINTS_BACK: Final = re.compile(r"\b(?:it|they|them|its|their|him|his)\b", re.IGNORECASE)
_GENERIC: Final = frozenset(
    "term word name concept idea method process measure metric company firm firms group team "
    "organisation organization city town country place region system device product book film work "
    "event war match game law rule author disease condition patient substance building bridge "
    "museum school university river mountain formula figure number value result study report "
    "first second third last latter former main only other rest same following current".split()
)
_THE: Final = re.compile(rf"\A{_LEAD_IN}the\s+", re.IGNORECASE)
_ASIDE: Final = re.compile(
    r"\b(?:examples?|instance|e\.g|such as|typical|typically|usually|generally|however|note|depends?|depending|"
    r"vary|varies|originally|historically|history|coined|formula|then|next|finally|afterwards|you|your|please|consult|"
    r"zum Beispiel|z\. ?B|allerdings|beispielsweise|hängt|por ejemplo|sin embargo|depende|par exemple|"
    r"cependant)\b|例如|比如|但是|不过|然而",
    re.IGNORECASE,
)
"""An example, a caveat, advice, the history of what was asked."""

_WHEN: Final = re.compile(
    r"\b(?:when|(?:what|which) (?:year|date|day|month|century)|wann|quand|cuándo)\b|什么时候|何时|哪年|几年",
    re.IGNORECASE,
)
_COUNT: Final = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|high|big|large|deep|wide|heavy|fast|hot|cold)\b"
    r"|\b(?:wie (?:viele?|lang|hoch|alt|groß|weit)|combien|cuánt[oa]s?)\b|多少|几个|多长|多高",
    re.IGNORECASE,
)
_WHO: Final = re.compile(r"\b(?:who|whom|wer|wen|wem|qui|quién(?:es)?)\b|谁", re.IGNORECASE)
_WHERE: Final = re.compile(r"\b(?:where|wo|où|dónde)\b|哪里|哪儿|何处", re.IGNORECASE)
_WHY: Final = re.compile(r"\b(?:why|warum|wieso|pourquoi|por qué)\b|为什么", re.IGNORECASE)

_TIME: Final = re.compile(
    r"(?<!\d)(?:1\d|20)\d\d(?!\d)|\b\d{1,2}[:.]\d\d\b|\d(?:st|nd|rd|th)\b|\d\s?(?:bc|ad|am|pm|a\.m|p\.m)\b"
    r"|\b(?:in|im|en|um|año|year|jahr) (?:the year )?\d|\b\d{1,2}[./]\d{1,2}[./]|\b(?:january|february|march|april|june|july|august|september|october|november|december|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|century|ago|yesterday|tomorrow|"
    r"today|noon|midnight|spring|summer|autumn|winter|decade|januar|februar|märz|mai|juni|juli|"
    r"oktober|dezember|enero|febrero|marzo|abril|mayo|junio|julio|agosto|octubre|noviembre|"
    r"diciembre)\b|年|月|世纪",
    re.IGNORECASE,
)
_AMOUNT: Final = re.compile(
    r"\b(?:several|few|many|various|different|none|verschiedene|mehrere|varios)\b"
    r"|\b(?:an?|half an?|one|some|most|all|no|dozens|hundreds|thousands|millions|various|different|verschiedene)\s+"
    r"(?:of\b|second|minute|hour|day|week|month|year|decade|centur|dozen|hundred|thousand|million)"
    r"|\b(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|"
    r"diez|deux|trois|quatre|cinq|huit|neuf|dix)\b|[一二两三四五六七八九十百千万]",
    re.IGNORECASE,
)
_PEOPLE: Final = re.compile(
    r"\b(?:people|persons?|players?|members?|users?|students?|patients?|scientists?|researchers?|everyone|everybody|"
    r"anyone|nobody|somebody|someone|owners?|parents?|children|workers?|voters?|citizens?|government|family)\b",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"(?:1\d|20)\d\d\Z")
_REASON: Final = re.compile(
    r"\b(?:because|due to|since|so that|in order to|as a result|owing to|reason|caus\w+|to \w+|for "
    r"(?:the|a|its|their|safety|lack)|weil|wegen|da|damit|um|porque|debido|para|parce|car|afin)\b|因为|由于",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(
    r"\b(?:in|at|near|on|above|below|between|outside|inside|next to|from|bei|auf|über|en|cerca|à|dans|près)\b"
    r"|在|位于",
    re.IGNORECASE,
)

_CONCEPTS: Final = tuple(
    frozenset(map(stem, group.split()))
    for group in (
        "found establish start creat set begin began launch form open set-up origin",
        "lead led head run direct director manag manager chief ceo executiv boss chair chairman president run",
        "own owner belong property",
        "cost price pay paid fee charg expens ticket euro dollar pound",
        "live resident inhabit inhabitant people population popul",
        "long length last duration hour minut year month km kilometr mile metr meter run",
        "tall high height elevat metr meter feet",
        "weigh weight heavy kilogram kg gram ton pound",
        "born birth nativ",
        "die dead death decease",
        "locat situat base headquart head office place site seat stand",
        "rise source spring origin begin",
        "write wrote author pen book",
        "paint painter artist",
        "compos composer write music",
        "direct director film shot",
        "build built construct erect",
        "work function operat",
        "use purpos serv",
        "spread transmit carry pass infect",
        "cure treat recover heal therapy drug",
        "prevent avoid protect keep stop",
        "apply send submit form request fill",
        "win won beat defeat victory champion",
        "buy bought acquir purchas take",
        "plane aircraft airplan jet fleet",
        "car vehicl auto",
        "doctor physician",
        "side effect symptom adverse common",
        "first earliest initial begin",
        "end finish over clos stop conclud",
        "climb ascent reach summit",
        "come releas premier appear publish came",
        "marry married wife husband spous wed",
        "child children son daughter",
        "call name known",
        "today current currently now present",
        "mean defin definition refer",
        "invent inventor develop discover creat",
        "play match took place held venu",
        "employ staff work worker employee job people",
    )
)
"""Stems of words that ask of and answer the same thing."""
_CONCEPTS_OF: Final = {
    form: tuple(concept for concept in _CONCEPTS if form in concept)
    for form in frozenset[str]().union(*_CONCEPTS)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How a claim stands to a question. `typed` None = the question asks no known kind of thing.

    `of_others` is true where it names others, and nobody whom the question names.
    """

    words: float
    typed: bool | None
    related: float
    of_others: bool = False

    @property
    def score(self) -> float:
        """In [0, 1]."""
        kind = 0.0 if self.typed is None else TYPED if self.typed else -TYPED
        return min(1.0, max(0.0, self.words + kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bag:
    """The words of a text: forms, and the sum of their vectors by how rare they are."""

    content: tuple[Token, ...]
    all_forms: frozenset[str]
    total: npt.NDArray[np.float32]

    @classmethod
    def of(cls, words: Sequence[Token]) -> _Bag:
        import numpy as np

        table = word_table()
        content = tuple(token for token in words if token.kind != "function")
        listed = [token.word for token in content]
        rarity = np.array([table.rarity_of(word) for word in listed], dtype=np.float32)
        return cls(
            content=content,
            all_forms=frozenset(token.form for token in words),
            total=(table.vectors_of(listed) * rarity[:, None]).sum(axis=0),
        )

    @classmethod
    def joined(cls, bags: Sequence[_Bag]) -> _Bag:
        import numpy as np

        return cls(
            content=tuple(token for bag in bags for token in bag.content),
            all_forms=frozenset[str]().union(*(bag.all_forms for bag in bags)),
            total=np.sum([bag.total for bag in bags], axis=0),
        )

    @property
    def forms(self) -> list[str]:
        """What the content words are compared by."""
        return [token.form for token in self.content]

    def relation(self, other: _Bag) -> float:
        """The cosine of the sums, or twice the share of words that stand there too."""
        import numpy as np

        if not self.content or not other.content:
            return 0.0
        known = set(other.forms)
        shared = sum(t.form in known and t.kind != "number" for t in self.content)
        length = float(np.linalg.norm(self.total) * np.linalg.norm(other.total))
        cosine = float(self.total @ other.total) / length if length > 0 else 0.0
        return max(shared / len(self.content) * 2, cosine)


class Topicality:
    """Fits of all claims to all sub-questions of one trace."""

    def __init__(self, sub_questions: Sequence[SubQuestion], claims: Sequence[Claim]) -> None:
        self.sub_questions = sub_questions
        self.claims = claims
        self._words = [tokens(claim.text) for claim in claims]
        self._questions = [tokens(item.text) for item in sub_questions]
        self._said = [_Bag.of(words) for words in self._words]
        self._wanted = [_Bag.of(words) for words in self._questions]
        self._texts = Evidence(number([claim.text for claim in claims]))
        self._names = [{token.form for token in _names(words)} for words in self._words]
        self.fits = {item.id: self._fits(at) for at, item in enumerate(sub_questions)}

    @cached_property
    def _common(self) -> frozenset[str]:
        """Forms that more than one sub-question holds."""
        held = Counter(
            form for words in self._questions for form in {token.form for token in words}
        )
        return frozenset(form for form, times in held.items() if times > 1)

    @cached_property
    def _asked(self) -> frozenset[str]:
        return frozenset(form for bag in self._wanted for form in bag.forms)

    def refers(self, at: int) -> bool:
        """Whether the claim speaks on about what was spoken of before."""
        noun = self._noun_after_the(at)
        return self._stands_for(at) or (noun is not None and noun.form in self._asked)

    def _stands_for(self, at: int) -> bool:
        """Whether a pronoun, or a word like `the company`, stands for what was spoken of before."""
        text = self.claims[at].text
        if _REFERS.match(text) or _POINTS_BACK.search(text):
            return True
        noun = self._noun_after_the(at)
        return noun is not None and noun.word in _GENERIC

    def _noun_after_the(self, at: int) -> Token | None:
        article = _THE.match(self.claims[at].text)
        if article is None:
            return None
        return next((t for t in self._words[at] if t.start >= article.end()), None)

    def is_bare(self, at: int) -> bool:
        """Whether the claim is no sentence: it says nothing but what was asked for."""
        text = self.claims[at].text.rstrip()
        long = len(self._words[at]) > _BARE
        return not long and text[-1:] not in _STOPS

    def says_little(self, at: int) -> bool:
        """Whether the claim holds too few words to tell what it is about."""
        return sum(token.kind != "function" for token in self._words[at]) < _LEAST

    def is_aside(self, at: int) -> bool:
        """Whether the claim is an example, a caveat, advice or history of what was asked."""
        return _ASIDE.search(self.claims[at].text) is not None

    def is_parallel(self, at: int, used: Iterable[int]) -> bool:
        """Whether the claim says what was asked, of others than those who were asked about."""
        named = self.names_of(at)
        met = {form for place in used for form in self.names_of(place)} | self._asked
        nearest = max(row[at].words for row in self.fits.values())
        others = any(row[at].of_others for row in self.fits.values())
        return others and nearest >= _PARALLEL and not named & met

    def relation(self, at: int, claims: Iterable[int]) -> float:
        """How near the claim is to the questions and those claims: a cosine, or a share of words.

        Words without a vector tell by their forms only.
        """
        asked = _Bag.joined(self._wanted)
        with_answers = _Bag.joined([*self._wanted, *(self._said[place] for place in claims)])
        return max(self._said[at].relation(asked), self._said[at].relation(with_answers))

    def names_of(self, at: int) -> set[str]:
        """Forms of the names in the claim, and of a first word that looks like one."""
        return self._names[at]

    def _fits(self, place: int) -> list[Fit]:
        """The fit of each claim: the share of the question's words it carries, by their weight."""
        import numpy as np

        item, asked = self.sub_questions[place], self._questions[place]
        words = [t for t in asked if t.kind != "function" and t.word not in QUESTION_WORDS]
        kinds = [self._typed(place, at) for at in range(len(self.claims))]
        related = [bag.relation(self._wanted[place]) for bag in self._said]
        if not words:
            return [
                Fit(words=0.5, typed=kind, related=near)
                for kind, near in zip(kinds, related, strict=True)
            ]
        table = word_table()
        weights = np.array(
            [table.rarity_of(t.word) * (COMMON if t.form in self._common else 1.0) for t in words]
        )
        near = self._texts.match(words).near
        columns = np.asarray(self._texts.unit_of)
        about = self._carried_topic(item)
        found = []
        for at in range(len(self.claims)):
            share = near[:, columns == at].max(axis=1, initial=0.0)
            share = np.maximum(share, [self._carried(token, at, about) for token in words])
            covered = float((share * weights).sum() / weights.sum())
            others = self._is_of_another(words, at)
            covered *= _OTHER_SUBJECT if others else 1.0
            found.append(Fit(words=covered, typed=kinds[at], related=related[at], of_others=others))
        return found

    def _carried_topic(self, item: SubQuestion) -> set[str]:
        """What a pronoun can stand for: a name, what all ask about, what the first one asks about."""
        found = {token.form for token in tokens(topic(item.text)) if token.kind != "function"}
        if item is self.sub_questions[0]:
            return found
        names = {token.form for token in tokens(item.text) if token.kind == "name"}
        return found & (names | self._common)

    def _carried(self, asked: Token, at: int, about: set[str]) -> float:
        """By a word of the same concept, or by a pronoun that stands for the topic."""
        if asked.form in about and self._stands_for(at):
            return _SAME_CONCEPT if len(self.sub_questions) == 1 else _PRONOUN
        forms = self._said[at].all_forms
        same = _CONCEPTS_OF.get(asked.form, ())
        return _SAME_CONCEPT if any(forms & concept for concept in same) else 0.0

    def _is_of_another(self, asked: Sequence[Token], at: int) -> bool:
        """Whether the claim names others where the question names someone, and not them."""
        wanted = {token.form for token in asked if token.kind == "name"}
        named = self.names_of(at)
        forms = self._said[at].all_forms
        return bool(wanted and named) and not wanted & forms and not self.refers(at)

    def _typed(self, place: int, at: int) -> bool | None:
        """Whether the claim holds the kind of thing that was asked for."""
        question = self.sub_questions[place].text
        text, words = self.claims[at].text, self._words[at]
        # What stands in parentheses is another question, put there for its words.
        question = question.split(" (", 1)[0]
        if _WHEN.search(question):
            return _TIME.search(text) is not None
        if _COUNT.search(question):
            return _has_amount(words) or _AMOUNT.search(text) is not None
        new = self.names_of(at) - self._wanted[place].all_forms
        if _WHO.search(question):
            others = new or any(token.kind == "pair" for token in words)
            return bool(others) or _PEOPLE.search(text) is not None
        if _WHY.search(question):
            return _REASON.search(text) is not None
        if _WHERE.search(question):
            return bool(new) or _PLACE.search(text) is not None
        return None


def gated(question: str) -> bool:
    """Whether a claim without the right kind of thing cannot answer: a date, a number, a name."""
    own = question.split(" (", 1)[0]
    return any(sign.search(own) for sign in (_WHEN, _COUNT, _WHO))


def _has_amount(words: Sequence[Token]) -> bool:
    """Whether there is a number that is no year and no day of a month."""
    return any(
        token.kind == "number"
        and not _TIME.fullmatch(following.word)
        and (not _YEAR.match(token.word) or following.kind == "word")
        for token, following in pairwise([*words, _END])
    )


_END: Final = Token(word="", form="", kind="function", start=0, end=0)


def _names(words: Sequence[Token]) -> list[Token]:
    found = [token for token in words if token.kind == "name"]
    first = words[0] if words else None
    # The first word has a capital anyway; a plural is hardly anybody's name.
    if first is not None and first.kind == "word" and not first.word.endswith("s"):
        found.append(first)
    return found
