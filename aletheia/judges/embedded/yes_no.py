"""A bare yes or no says what its question asks: the question is judged as a statement."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_YES: Final = "yes|yeah|yep|ja|oui|sí|si|sim|да|はい|是的?|对|有|存在|네|예|نعم|हाँ"
_NO: Final = "no|nope|nein|non|não|nao|нет|いいえ|不是|不|否|没有|아니요|لا|नहीं"
_PRONOUN: Final = "it|they|he|she|there|that|this|we|you"
_AUX: Final = "is|are|was|were|does|do|did|has|have|had|can|could|will|would|should|must|may|might"
_ECHO: Final = rf"(?:(?:{_PRONOUN})\s+(?:{_AUX})(?:\s+not|n['’]t)?)"
_ANSWER: Final = re.compile(
    rf"\W*(?:(?P<yes>{_YES})|(?P<no>{_NO}))(?:\W+{_ECHO})?\W*", re.IGNORECASE
)
_ASKED: Final = re.compile(r"(?P<question>.+[?？؟])\s*(?P<answer>[^?？؟]+)", re.DOTALL)
_OPENING: Final = re.compile(
    rf"[\s¿]*(?:(?:{_AUX})\s+(?:there\s+(?:be\s+)?)?|gibt es\s+|hay\s+|y a-t-il\s+)", re.IGNORECASE
)
_EXIST: Final = re.compile(
    r"\b(?:exist(?:s|ed|e|en|ieren|iert|ierte|ía|iste)?|esiste|существует)\b|存在|有没有",
    re.IGNORECASE,
)
_THERE: Final = re.compile(
    rf"[\s¿]*(?:{_AUX})\s+there\b|[\s¿]*(?:gibt es|hay|y a-t-il)\b", re.IGNORECASE
)
_WHETHER: Final = re.compile(r"[吗嗎?？؟]")


_LEADS: Final = re.compile(rf"\s*(?:{_YES}|{_NO})\s*[,，、–—]\s*(?=\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a yes affirms and a no denies: the question without its opening and its sign.

    `existence` is set where it only asks whether there is such a thing; `thing` is then its name.
    """

    statement: str
    yes: bool
    existence: bool
    thing: str


def is_bare(text: str) -> bool:
    """Whether a text is a yes or a no and nothing else, such as `No, there is not`."""
    return _ANSWER.fullmatch(text) is not None


def answered(claim: str) -> Answered | None:
    """Read a claim that is a question and a bare yes or no; None for any other."""
    found = _ASKED.fullmatch(claim.strip())
    answer = _ANSWER.fullmatch(found["answer"]) if found is not None else None
    if found is None or answer is None:
        return None
    question = found["question"]
    statement = _OPENING.sub("", _WHETHER.sub("", question), count=1).strip()
    return Answered(
        statement=statement[:1].upper() + statement[1:],
        yes=answer["yes"] is not None,
        existence=_EXIST.search(question) is not None or _THERE.match(question) is not None,
        thing=_EXIST.sub(" ", statement).strip(),
    )


def without_answer(text: str) -> str:
    """The text with a leading `No,` as white space: what follows says by itself what is denied."""
    found = _LEADS.match(text)
    return text if found is None else " " * found.end() + text[found.end() :]
