"""The gold answer against the answer and the evidence, all with one matcher.

`aletheia.diagnosis.abstention.gold_in_evidence` finds a gold answer or an alias as whole words,
whatever the case, the accents and the way a date is written; of a list all parts.
"""

from __future__ import annotations

import re
from typing import Final

from aletheia.diagnosis import abstention
from aletheia.grounding.numbering import number
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.question import Question
from aletheia.schema.report import AbstentionKind

_FIRST_WORD: Final = re.compile(r"\W*(\w+)")
_POLAR: Final = {"yes": True, "true": True, "correct": True, "no": False, "false": False}


def is_correct(question: Question, answer: str | None) -> bool | None:
    """Whether the answer holds the gold answer or an alias.

    None where there is no answer, or where it cannot be told. An answer to a question that has
    none is wrong. A gold `yes` or `no` is compared with the first word, if that is one too.
    """
    if answer is None:
        return None
    if not question.answerable:
        return False
    wanted, said = _polar(question.answer), _polar(answer)
    if wanted is not None and said is not None:
        return wanted is said
    return abstention.gold_in_evidence(question.answer, question.answer_aliases, number([answer]))


def gold_in_evidence(question: Question, evidence: EvidenceSet) -> bool | None:
    """Whether retrieval brought the answer: all facts that make it, where they are known.

    None where it cannot be told. An unanswerable question has no answer to bring.
    """
    if not question.answerable:
        return False
    if question.supporting_facts and any(unit.facts for unit in evidence):
        brought = {fact for unit in evidence for fact in unit.facts}
        return brought.issuperset(question.supporting_facts)
    return abstention.gold_in_evidence(question.answer, question.answer_aliases, evidence)


def abstention_kind(
    question: Question, evidence: EvidenceSet, *, abstained: bool
) -> AbstentionKind | None:
    """Whether an abstention was warranted; None where there was none."""
    if not abstained:
        return None
    if not question.answerable or not evidence:
        return "warranted"
    held = gold_in_evidence(question, evidence)
    if held is None:
        return "undecided"
    return "over_refusal" if held else "warranted"


def _polar(text: str) -> bool | None:
    first = _FIRST_WORD.match(text)
    return None if first is None else _POLAR.get(first.group(1).casefold())
