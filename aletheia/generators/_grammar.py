"""The shape of a question: its kind, and what each of its words is there for.

The rules look at word order and at short lists of function words; none knows a subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aletheia.generators._lexis import (
    ABOUT_ANSWER,
    ABOUT_EVIDENCE,
    AUXILIARIES,
    COUNTING,
    KIND_WORDS,
    LIGHT,
    NEGATIONS,
    PERSON_NOUNS,
    PLACE_NOUNS,
    STOPWORDS,
    TIME_NOUNS,
    Kind,
)
from aletheia.generators._linking import Name
from aletheia.generators._passages import Evidence
from aletheia.generators._relations import PREPOSITIONAL
from aletheia.generators._terms import Token

COPULA: Final = frozenset("is are was were ist sind liegt est son está".split())
CALLED: Final = frozenset("called named known nicknamed titled known_as".split())
RELATIVE: Final = frozenset("where that which who".split())
_EXISTENCE: Final = frozenset(
    {
        ("is", "there"),
        ("are", "there"),
        ("was", "there"),
        ("were", "there"),
        ("have", "you"),
        ("do", "you"),
    }
)
_EXISTS: Final = frozenset("exist exists existed real".split())
_NUMBER_WORDS: Final = frozenset("two three four five six seven eight nine ten all".split())
_DETERMINERS: Final = frozenset("the a an this that".split())
_IMPERATIVES: Final = frozenset("list name give find tell describe explain".split())
_HEAD_ENDS: Final = frozenset("of for in at on to from by per".split())
_AFTER_ANSWER: Final = ABOUT_ANSWER | {"of", "about", "on", ""}
_HOW_MANY: Final = frozenset("many much".split())
_NO_QUESTION_WORDS: Final = frozenset("was que ou wo".split())
"""Question words of one language that are ordinary words in another; they count only in front."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrasing:
    """The tokens of a question; `named` are the indexes of those inside names."""

    tokens: tuple[Token, ...]
    named: frozenset[int]

    def word(self, index: int) -> str:
        """The folded word at `index`, empty beyond the ends."""
        return self.tokens[index].folded if 0 <= index < len(self.tokens) else ""

    def words(self, start: int, stop: int) -> list[str]:
        """The folded words from `start` up to `stop`."""
        return [token.folded for token in self.tokens[max(0, start) : max(0, stop)]]

    @property
    def first(self) -> str:
        """The first word."""
        return self.word(0)

    @property
    def is_yes_no(self) -> bool:
        """Whether it opens with an auxiliary."""
        return self.first in AUXILIARIES

    @property
    def is_imperative(self) -> bool:
        """Whether it opens with `describe`, `list` and the like."""
        return self.first in _IMPERATIVES

    def about(self, vocabulary: frozenset[str]) -> bool:
        """Whether a word outside names is of `vocabulary`."""
        return any(t.folded in vocabulary for i, t in enumerate(self.tokens) if i not in self.named)

    # --- the whole question ---------------------------------------------------------------------

    def kind(self) -> Kind:
        """The kind of answer asked for."""
        for index, token in enumerate(self.tokens):
            if index in self.named or token.folded not in KIND_WORDS:
                continue
            if index <= 2 or token.folded not in _NO_QUESTION_WORDS:
                return _refined(token.folded, self.word(index + 1))
        return "what"

    def asks_time(self) -> bool:
        """Whether a word of the question asks for a time."""
        return any(
            t.folded in TIME_NOUNS or KIND_WORDS.get(t.folded) == "when" for t in self.tokens
        )

    def asks_what_is(self) -> bool:
        """`Who was X`, `what kind of ship is X`, `what does X do`: the verb is an auxiliary."""
        return self.first in KIND_WORDS and bool(AUXILIARIES & set(self.words(1, 6)))

    def asks_existence(self) -> bool:
        """`Is there X`, `does X exist`, `a railway called X`."""
        outside = [t.folded for i, t in enumerate(self.tokens) if i not in self.named]
        opening = (self.first, self.word(1)) in _EXISTENCE
        return opening or bool(_EXISTS & set(outside[-2:])) or self._introduces_name()

    def _introduces_name(self) -> bool:
        starts = [i for i in self.named if i - 1 not in self.named]
        return any(CALLED & set(self.words(start - 3, start)) for start in starts)

    def claims_type(self, names: Sequence[Name]) -> bool:
        """`Is X a river`, `Was X an engineer`."""
        return bool(names) and self.first in COPULA and self.word(names[-1].last) in ("a", "an")

    def wants_many(self) -> bool:
        """A list is asked for: by a plural after `which`, a number word, an imperative."""
        if self.first in ("list", "name"):
            return True
        return any(
            word in ("which", "what", "who") and index not in self.named and self._is_plural(index)
            for index, word in enumerate(self.words(0, len(self.tokens)))
        )

    def _is_plural(self, index: int) -> bool:
        following = self.words(index + 1, index + 4)
        if _NUMBER_WORDS & set(following) or (
            following[:1] == ["are"] and self.word(index) != "what"
        ):
            return True
        head = following[0] if following else ""
        if head in ("people", "men", "women", "children"):
            return True
        plural = len(head) > 3 and head.endswith("s") and not head.endswith(("ss", "us", "is"))
        return plural and head not in AUXILIARIES

    # --- single words ---------------------------------------------------------------------------

    def is_content(self, index: int) -> bool:
        """Whether the word says something of the subject or the relation."""
        token = self.tokens[index]
        if index in self.named or not token.keys or token.is_number:
            return False
        return not (self._shapes(index) or self._speaks_of_form(index) or self._introduces(index))

    def _shapes(self, index: int) -> bool:
        word, previous = self.word(index), self.word(index - 1)
        if word in KIND_WORDS or word in NEGATIONS or word in _NUMBER_WORDS:
            return True
        if word in TIME_NOUNS or word in PERSON_NOUNS:
            return previous in KIND_WORDS or previous in _NUMBER_WORDS
        if word in PREPOSITIONAL:
            return not self.asks_time()
        return word in _HOW_MANY and previous == "how"

    def _speaks_of_form(self, index: int) -> bool:
        """Words for the answer, for the evidence, for being there at all."""
        word = self.word(index)
        if word in _EXISTS or (index == 0 and word in _IMPERATIVES):
            return True
        if word in ABOUT_ANSWER:
            return self.word(index + 1) in _AFTER_ANSWER
        return word in ABOUT_EVIDENCE and self.is_yes_no

    def _introduces(self, index: int) -> bool:
        """`named X`, `called the X` where a type stands before it."""
        if self.word(index) not in ("named", "called", "titled") or index == 0:
            return False
        article = index + 2 in self.named and self.word(index + 1) == "the"
        return (index + 1 in self.named or article) and bool(self.tokens[index - 1].keys)

    def is_light(self, index: int) -> bool:
        """A word that says little, an adverb in -ly, a complement (`as a refuge`), a measure."""
        word = self.word(index)
        if word in LIGHT or (word.endswith("ly") and len(word) > 5):
            return True
        return self._is_complement(index) or self._is_measure(index)

    def _is_complement(self, index: int) -> bool:
        for before in range(index - 1, max(0, index - 4), -1):
            if self.word(before) in ("a", "an"):
                return before - 1 in self.named or self.word(before - 1) == "as"
            if self.word(before) in STOPWORDS or before in self.named:
                return False
        return False

    def _is_measure(self, index: int) -> bool:
        """`How large is the workforce of X` asks for the workforce."""
        ahead = self.words(index + 1, index + 5)
        of_noun = len(ahead) == 4 and ahead[0] in COPULA and ahead[3] == "of"
        return self.word(index - 1) == "how" and of_noun and index + 3 not in self.named

    # --- types ----------------------------------------------------------------------------------

    def is_type(self, index: int, evidence: Evidence, names: Sequence[Name]) -> bool:
        """Whether the word says what sort of thing is meant, not what is asked about it."""
        if self._after_which(index) or self._beside_name(index):
            return True
        keys = self.tokens[index].keys
        if keys & evidence.declared and self._is_antecedent(index):
            return True
        owner = next((name for name in names if name.first in (index + 2, index + 3)), None)
        if self.word(index + 1) != "of" or owner is None:
            return False
        return any(keys & evidence.types.get(form, frozenset()) for form in owner.forms)

    def _after_which(self, index: int) -> bool:
        """In the noun phrase after `which` or `what`: up to its verb, or the first word only."""
        if "@alias" in self.tokens[index].keys or index + 1 in self.named:
            return False
        for before in range(index - 1, max(-1, index - 5), -1):
            word = self.word(before)
            if before in self.named or word in AUXILIARIES:
                return False
            if KIND_WORDS.get(word) == "what" and word != "how":
                between = self.tokens[before + 1 : index]
                first = all(t.folded in _NUMBER_WORDS or not t.keys for t in between)
                return first or bool(AUXILIARIES & set(self.words(index + 1, index + 4)))
        return False

    def _beside_name(self, index: int) -> bool:
        """`the painting Nine Arches`: a noun between the article and the name it introduces."""
        return index + 1 in self.named and self.word(index - 1) == "the"

    def _is_antecedent(self, index: int) -> bool:
        """`the town where`, `a ship called X`: a declared type used as one."""
        following = self.word(index + 1)
        return following in RELATIVE | CALLED | {"also", "on", "in", "at", "from"} or (
            index + 1 in self.named
        )

    # --- words that cannot be left out --------------------------------------------------------

    def is_required(self, index: int) -> bool:
        """What is counted or wanted of a name, the main verb; all signs of a solid script."""
        return (
            self.tokens[index].is_solid
            or self._is_counted(index)
            or self._is_of_name(index)
            or self._ends_what_is(index)
            or self._is_owned(index)
            or self._is_main_verb(index)
        )

    def _is_counted(self, index: int) -> bool:
        """`how many sick days`: the words up to the first plural or function word."""
        for before in range(index - 1, -1, -1):
            word = self.word(before)
            if word in _HOW_MANY and self.word(before - 1) == "how":
                return True
            if before in self.named or word in STOPWORDS or word.endswith("s"):
                return False
        return False

    def _is_of_name(self, index: int) -> bool:
        """`the depth of X`."""
        article = self.word(index + 2) in _DETERMINERS
        return self.word(index + 1) == "of" and index + 2 + article in self.named

    def _ends_what_is(self, index: int) -> bool:
        """The head of `what is the default port`, up to a preposition or the end."""
        if index + 1 < len(self.tokens) and self.word(index + 1) not in _HEAD_ENDS:
            return False
        for before in range(index - 1, max(0, index - 5), -1):
            if before in self.named:
                return False
            if self.word(before) in _DETERMINERS:
                opening = self.word(before - 2)
                return self.word(before - 1) in COPULA and opening in ("what", "who")
        return False

    def _is_owned(self, index: int) -> bool:
        """The head of `X's husband`."""
        before = index - 1
        while before > 0 and before not in self.named and self.tokens[before].keys:
            before -= 1
        owned = before in self.named and self.tokens[before].text[-2:].casefold() in ("'s", "’s")
        return owned and (index + 1 == len(self.tokens) or self.word(index + 1) in _HEAD_ENDS)

    def _is_main_verb(self, index: int) -> bool:
        """The word right behind `who`, or behind a name that an auxiliary stands before."""
        if self.word(index - 1) in ("who", "whom"):
            return True
        if index - 1 not in self.named:
            return False
        start = next((i for i in range(index - 1, -1, -1) if i not in self.named), -1)
        if self.word(start) in _DETERMINERS:
            start -= 1
        return self.word(start) in AUXILIARIES

    # --- being somewhere ----------------------------------------------------------------------

    def place_clause(self) -> tuple[int, int] | None:
        """Copula and end of the main clause of `where is X`, `in which town is the school that`."""
        word = self.first
        asks = word == "where" or (
            word in ("in", "at", "on") and KIND_WORDS.get(self.word(1)) == "what"
        )
        copula = next((i for i in range(1, 6) if self.word(i) in COPULA), None)
        if not asks or copula is None:
            return None
        later = range(copula + 2, len(self.tokens))
        end = next((i for i in later if self.word(i) in RELATIVE), len(self.tokens))
        if end < len(self.tokens) and self.word(end - 2) in _DETERMINERS:
            end -= 1  # the antecedent belongs to the clause behind it
        return copula, end


def _refined(word: str, head: str) -> Kind:
    kind = KIND_WORDS[word]
    if word == "how" and head in COUNTING:
        return "number"
    if word == "wie" and head in ("viel", "viele", "lang", "hoch", "groß"):
        return "number"
    if kind == "what" and head in TIME_NOUNS:
        return "when"
    if kind == "what" and head in PERSON_NOUNS:
        return "who"
    return "where" if kind == "what" and head in PLACE_NOUNS else kind
