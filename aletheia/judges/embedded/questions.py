"""Cutting a query into the questions it asks, each so that it stands alone.

Cautious on purpose: a query is cut only where it asks again, and nothing is put into a part but
what its pronoun or its missing words stand for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from aletheia.grounding.sentences import sentences
from aletheia.judges.embedded.tokens import Token, tokens

_ENGLISH: Final = r"(?:who|whom|whose|what|when|where|why|how|which)"
_FOREIGN: Final = (
    r"(?:wer|wem|wen|was|wann|wo|warum|wieso|wie|welche[rsmn]?|qui|que|quoi|quand|où|pourquoi|"
    r"comment|combien|quel(?:le)?s?|quién(?:es)?|qué|cuándo|dónde|cómo|cuál(?:es)?|cuánt[oa]s?|"
    r"por qué)"
)
_ASKS: Final = rf"(?:{_ENGLISH}|{_FOREIGN})"
_BEFORE: Final = r"(?:in |at |for |by |to |from |on |with |since |until |seit |bis |de |en |por )?"
_AUX: Final = (
    r"(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|should|must|may|might)"
)
_AGAIN: Final = re.compile(
    rf"[,;]?\s+(?:and|und|et|y|as well as)\s+(?:also\s+)?(?={_BEFORE}¿?{_ASKS}\b)"
    rf"|;\s+(?={_BEFORE}{_ASKS}\b)"
    # `, who is` may go on about what stands before it; `, when did` asks.
    rf"|,\s+(?=(?:(?:when|where|why|what)\s+{_AUX}|how(?:\s+\w+){{1,3}}\s+{_AUX}|how\s+{_AUX})\b)"
    rf"|,\s+(?=(?:since|until|by|for) (?:when|what|whom|which)\b)"
    rf"|,?\s+and\s+(?={_AUX}\s+(?:it|they|he|she|there|I|we|you|this|that)\b)",
    re.IGNORECASE,
)
_BEGINS: Final = re.compile(
    rf"[\s¿¡]*(?:(?:and|so|then|also|but)\s+)?{_BEFORE}(?:{_ASKS}|{_AUX}\s+\w+)\b", re.IGNORECASE
)
QUESTION_WORDS: Final = frozenset(
    "who whom whose what when where why how which wer wem wen was wann wo warum wieso wie welche "
    "welcher welches welchen welchem qui que quoi quand où pourquoi comment combien quel quelle "
    "quels quelles quién quiénes qué cuándo dónde cómo cuál cuáles cuánto cuánta cuántos cuántas".split()
)
"""Words that ask, in the languages whose questions are cut."""
_QUESTION_SIGNS: Final = ("?", "？", "؟")
_PRONOUN: Final = re.compile(
    r"\b(?:it(?!\s+(?:takes?|took|means?|matters?|possible)\b)|they|them|he|him|she|her|its|their|his)\b",
    re.IGNORECASE,
)
_OWNS: Final = frozenset(("its", "their", "his"))
_FOREIGN_PRONOUN: Final = re.compile(
    r"\b(?:sie|er|es|ihn|ihm|ihre?[nrms]?|seine?[nrms]?|il|elle|ils|elles|él|ella|ellos|ellas|su|sus)\b"
)
_BARE: Final = re.compile(
    rf"{_BEFORE}{_ASKS}(?:\s+(?:year|date|place|city|country|exactly|else))?", re.IGNORECASE
)
_POINTS: Final = re.compile(r"\b(?:the|this|that|these|those)\s+[a-z]")
_DETERMINER: Final = frozenset("the a an my your our this that these those".split())
_WITH_VERB: Final = frozenset("does do did has have had can could will would should".split())
_BE: Final = frozenset("is are was were".split())
_PARTICIPLES: Final = {
    "wrote": "written", "won": "won", "built": "built", "made": "made", "led": "led",
    "took": "taken", "sang": "sung", "drew": "drawn", "began": "begun", "gave": "given",
    "found": "found", "bought": "bought", "sold": "sold", "lost": "lost", "held": "held",
    "told": "told", "taught": "taught", "wore": "worn", "broke": "broken", "chose": "chosen",
    "stole": "stolen", "shot": "shot", "beat": "beaten", "said": "said", "paid": "paid",
    "left": "left", "read": "read", "set": "set", "spoke": "spoken", "threw": "thrown",
    "spread": "spread", "grew": "grown", "ran": "run", "saw": "seen", "knew": "known",
    "got": "got", "met": "met", "kept": "kept", "sent": "sent", "spent": "spent",
}  # fmt: skip
_ENDS_AS_PARTICIPLE: Final = frozenset((*_PARTICIPLES.values(), "born", "done"))
_SUBJECT_QUESTION: Final = re.compile(
    r"[\s¿¡]*(?:who|what|which\s+\w+)\s+(?P<verb>[a-z]+)\s+(?P<rest>.+)", re.IGNORECASE
)
_ADVERBIAL: Final = re.compile(
    rf"[\s¿¡]*(?:when|where|why|how)\s+(?P<rest>{_AUX}\s.+)", re.IGNORECASE
)
_PREPOSITION: Final = re.compile(r"\s+(?:in|at|on|for|with|from|by|to|during|before|after)\s+")
_MOST_OBJECT_WORDS: Final = 5
_WIDEST_GAP: Final = 8
"""Characters between two words of one name: `University of the North`."""
_TASK: Final = re.compile(
    r"\s*(?:please\s+|(?:can|could) you\s+(?:please\s+)?)?(?:summari[sz]e|write|rewrite|rephrase|paraphrase|translate|"
    r"describe|draft|create|generate|compose|extract|fasse|schreibe|übersetze|resume|resumir|escribe|traduce|"
    r"résume|écris|traduis)\b|\s*(?:总结|概括|翻译|写)",
    re.IGNORECASE,
)


def is_task(query: str) -> bool:
    """Whether a text is to be made (`Summarize the article.`): all of it is then what was asked."""
    return _TASK.match(query) is not None


def sub_questions(query: str) -> list[str]:
    """The questions a query asks, each with what it is about."""
    asked = [query[start:end] for start, end in sentences(query)]
    with_sign = [text for text in asked if text.rstrip().endswith(_QUESTION_SIGNS)]
    parts = [part for text in (with_sign or [query]) for part in _parts(text.strip())]
    if not parts:
        return [query.strip()]
    return [part if at == 0 else _alone(part, parts[:at]) for at, part in enumerate(parts)]


def topic(question: str) -> str:
    """What a question is about, as it is written there: its names, or the noun it asks of."""
    found = tokens(question)
    noun = _noun(question, found)
    names = [token for token in found if token.kind in ("name", "pair")]
    if not names:
        return noun
    last = next((a for a, b in pairwise(names) if b.start - a.end > _WIDEST_GAP), names[-1])
    named = question[names[0].start : last.end]
    # In `the population of Brekk` a pronoun stands for the name, in `the Arden engine` for both.
    return noun if named in noun and " of " not in noun else named


def _parts(text: str) -> list[str]:
    """Cut before `and when`, `und wer`, where the part before asks something too."""
    pieces: list[str] = []
    position = 0
    for match in _AGAIN.finditer(text):
        if _BEGINS.match(text, position) is None:
            continue
        pieces.append(text[position : match.start()].strip(" ,;"))
        position = match.end()
    pieces.append(text[position:].strip(" ,;"))
    return [piece for piece in pieces if any(map(str.isalnum, piece))]


def _noun(question: str, found: Sequence[Token]) -> str:
    """The noun after `is`, `does`, `the ...`, or the object of `who wrote the ...`."""
    lowered = [token.word for token in found]
    for at, word in enumerate(lowered[:4]):
        if word in _BE or word in _WITH_VERB:
            return _run(question, found, at + 1, ends_in_verb=word in _WITH_VERB)
    asked = _SUBJECT_QUESTION.match(question)
    if asked is None or asked["verb"] in _DETERMINER:
        return ""
    start = asked.start("rest")
    first = next((at for at, token in enumerate(found) if token.start >= start), len(found))
    return _run(question, found, first, ends_in_verb=False)


def _run(question: str, found: Sequence[Token], at: int, *, ends_in_verb: bool) -> str:
    """The article and the content words from word `at` on; the verb behind them is left out."""
    begin = at
    if at < len(found) and found[at].word in _DETERMINER:
        at += 1
    end = at
    while end < len(found) and found[end].kind in ("word", "name"):
        end += 1
    last = found[end - 1].word if end > at else ""
    if end - at > 1 and (ends_in_verb or last.endswith("ed") or last in _ENDS_AS_PARTICIPLE):
        end -= 1
    elif end + 1 < len(found) and found[end].word == "of":
        end = next(
            (i for i in range(end + 1, len(found)) if found[i].kind not in ("word", "name")),
            len(found),
        )
    return question[found[begin].start : found[end - 1].end] if end > at else ""


def _alone(part: str, before: Sequence[str]) -> str:
    """The part with what its pronoun, its article or its missing words stand for."""
    bare = part.rstrip("?？؟ ")
    if _BARE.fullmatch(bare):
        return _completed(bare, before[0])
    about = next((found for found in map(topic, reversed(before)) if found), "")
    if _is_foreign(bare):
        # Which noun a pronoun stands for depends on genders that are not known here.
        return f"{bare} ({before[0].rstrip('?')})?" if _FOREIGN_PRONOUN.search(bare) else part
    pronoun = _PRONOUN.search(bare)
    if pronoun is not None:
        return _resolved(bare, pronoun, about) or f"{bare} ({before[0].rstrip('?')})?"
    named = any(token.kind in ("name", "pair") for token in tokens(bare))
    points = _POINTS.search(bare) is not None and any(map(str.isupper, about))
    return f"{bare} ({about})?" if points and not named else part


def _is_foreign(bare: str) -> bool:
    return re.match(rf"[\s¿¡]*{_BEFORE}{_FOREIGN}\b", bare, re.IGNORECASE) is not None


def _resolved(bare: str, pronoun: re.Match[str], about: str) -> str:
    if not about:
        return ""
    word = pronoun.group().lower()
    following = tokens(bare, pronoun.end())
    owns = word in _OWNS or (word == "her" and following and following[0].kind == "word")
    return f"{bare[: pronoun.start()]}{about}{_OWNER if owns else ''}{bare[pronoun.end() :]}?"


_OWNER: Final = "'s"


def _completed(bare: str, first: str) -> str:
    """A question word that stands alone, with the words of the first question that it lacks."""
    first = first.rstrip("?？؟ ")
    adverbial = _ADVERBIAL.match(first)
    if adverbial is not None and not _is_foreign(bare):
        helper, *_, last = adverbial["rest"].lower().split()
        if helper not in _BE or last.endswith("ed") or last in _ENDS_AS_PARTICIPLE:
            return f"{bare} {adverbial['rest']}?"
    passive = _passive(first)
    return f"{bare} {passive}?" if passive else f"{bare} ({first})?"


def _passive(first: str) -> str:
    """`was X founded` for `Who founded X`; empty where the verb is no known past form."""
    asked = _SUBJECT_QUESTION.match(first)
    if asked is None:
        return ""
    verb = asked["verb"].lower()
    participle = _PARTICIPLES.get(verb) or (verb if verb.endswith("ed") else "")
    thing, *rest = _PREPOSITION.split(asked["rest"], maxsplit=1)
    if not participle or not thing or len(thing.split()) > _MOST_OBJECT_WORDS:
        return ""
    tail = asked["rest"][len(thing) :] if rest else ""
    many = thing.startswith("the ") and thing.endswith("s") and not thing.endswith(("ss", "us"))
    return f"{'were' if many else 'was'} {thing} {participle}{tail}"
