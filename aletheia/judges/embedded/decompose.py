"""Cutting a query into sub-questions and a response into claims without a model.

Cautious on purpose: a claim is a sentence, or a clause of one that says two things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from aletheia.grounding.refusal import idle_spans, statements
from aletheia.judges.base import Judged, Outcome, ResponsePieces, TraceCase
from aletheia.judges.embedded.clauses import Clause, clauses
from aletheia.judges.embedded.questions import sub_questions
from aletheia.judges.embedded.yes_no import is_bare
from aletheia.judges.locate import introduction, word_count
from aletheia.judges.rules import settled_query, settled_response
from aletheia.schema.trace import Claim, ClaimKind, SubQuestion

_MARKER: Final = re.compile(r"\s*[\[⟦(]\^?(?:[EeＥ]|T\d+\.E)\s?\d[^\]⟧)\n]{0,40}[\]⟧)]")
_CITED: Final = re.compile(r"[\[⟦【]\^?(?:[EeＥ]\s?)?\d[^\]⟧】\n]{0,40}[\]⟧】]")
_BULLET: Final = re.compile(r"\A\s*(?:[-*•▪‣◦–]|\d{1,3}[.)])\s+")
_STOPS: Final = ".!?。！？।؟"
_BARE_WORDS: Final = 4


class EmbeddedDecomposer:
    """`Decomposer` that cuts by signs and question words, in any language as far as they show."""

    @property
    def name(self) -> str:
        """Which kind of decomposer this is."""
        return "embedded"

    @property
    def making(self) -> Mapping[str, str]:
        """What results keep of it."""
        return {"decomposer": self.name}

    async def decompose_query(self, case: TraceCase) -> Outcome[tuple[SubQuestion, ...]]:
        """Return the sub-questions; a part without a topic of its own names that of the first."""
        settled = settled_query(case)
        if settled is not None:
            return settled
        texts = dict.fromkeys(sub_questions(case.query or ""))
        return Judged(value=tuple(SubQuestion(id=at, text=text) for at, text in enumerate(texts)))

    async def decompose_response(self, case: TraceCase) -> Outcome[ResponsePieces]:
        """Return one claim for each statement; small talk and questions are conversational."""
        settled = settled_response(case)
        if settled is not None:
            return settled
        return Judged(value=ResponsePieces(claims=tuple(_claims(case))))


def _claims(case: TraceCase) -> Iterator[Claim]:
    idle = set(idle_spans(case.response))
    at = 0
    found = statements(case.response)
    # What introduces a list stands in each of its items, and claims nothing by itself.
    idle |= {
        (item.start, item.end)
        for item, following in pairwise(found)
        if item.text[-1:] in ":：" and _BULLET.match(following.text)
    }
    for item in found:
        if item.kind in ("heading", "refusal") or _is_marks_only(item.text):
            continue
        talk = item.kind == "small_talk" or (item.start, item.end) in idle
        kind: ClaimKind = "conversational" if talk else "answer"
        whole = [Clause(start=item.start, end=item.end)]
        for clause in whole if talk else clauses(case.response, item.start, item.end):
            text = _standing_alone(case, clause.start, clause.end)
            yield Claim(
                id=at, text=f"{clause.subject} {text}".lstrip(), kind=kind,
                start=clause.start, end=clause.end,
            )  # fmt: skip
            at += 1


def _is_marks_only(text: str) -> bool:
    """Whether there is no word and no figure but those of citations."""
    return not any(map(str.isalnum, _CITED.sub("", text)))


def _standing_alone(case: TraceCase, start: int, end: int) -> str:
    """The statement without markers; an item of a list with its stem, a bare answer with the question."""
    text = " ".join(_BULLET.sub("", _MARKER.sub("", case.response[start:end])).split())
    stem = introduction(case.response, start)
    if stem:
        return f"{stem} {text}"
    alone = case.response.strip() == case.response[start:end].strip()
    bare = alone and word_count(text) <= _BARE_WORDS and text[-1:] not in _STOPS
    bare = bare or word_count(text) <= 2 or is_bare(text)
    return f"{(case.query or '').strip()} {text}".strip() if bare else text
