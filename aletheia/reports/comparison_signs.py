"""Signs that answers came from the model's memory: each counted where it could show.

A sign is no proof, and where none shows, the interval says how large a share could have stayed
unseen. Rows are looked at as strict mode shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from aletheia.reports import numbers
from aletheia.reports.interpret import MEMORY_FAITHFULNESS, MEMORY_SIMILARITY
from aletheia.reports.tally import replied
from aletheia.schema.comparison import Sign
from aletheia.schema.proportion import wilson
from aletheia.schema.report import DetailedResult
from aletheia.schema.verification import RejectionReason

FROM_MEMORY: Final = (
    RejectionReason.UNCITED_ENTITIES,
    RejectionReason.ANSWER_WITHOUT_CITATIONS,
)
"""Rejections that an answer from memory runs into."""


def shows_memory(row: DetailedResult) -> bool | None:
    """Tell whether an answer shows any sign; None without an answer, or where none could show."""
    if not _is_answer(row):
        return None
    told = [test(row) for test in (_lucky, _alike, _unsupported)]
    return any(told) if told != [None, None, None] else None


def memory_signs(rows: Iterable[DetailedResult]) -> tuple[Sign, ...]:
    """Count the three signs, each among the answers in which it could show."""
    answers = [row for row in rows if _is_answer(row)]
    return (
        _sign(
            "right_without_evidence",
            "right answers although retrieval had not brought the answer",
            answers,
            _lucky,
        ),
        _sign(
            "similar_but_unfaithful",
            f"similarity {MEMORY_SIMILARITY:.2f} or more with faithfulness "
            f"{MEMORY_FAITHFULNESS:.2f} or less",
            answers,
            _alike,
        ),
        _sign(
            "right_but_unsupported",
            "right answers that the evidence they cite does not carry",
            answers,
            _unsupported,
        ),
    )


def _sign(
    name: str,
    meaning: str,
    answers: Sequence[DetailedResult],
    test: Callable[[DetailedResult], bool | None],
) -> Sign:
    told = [(row, shows) for row in answers if (shows := test(row)) is not None]
    ids = tuple(row.id for row, shows in told if shows)
    return Sign(name=name, meaning=meaning, rate=wilson(len(ids), len(told)), ids=ids)


def all_reasons(row: DetailedResult) -> tuple[RejectionReason, ...]:
    """All reasons that the file holds for a row, whichever mode it was written in."""
    return row.rejection_reasons or row.warnings or tuple(filter(None, (row.rejection_reason,)))


def _is_answer(row: DetailedResult) -> bool:
    readable = row.answer is not None and row.parse_problem is None
    return replied(row) and readable and not row.abstained


def _lucky(row: DetailedResult) -> bool | None:
    """Right where retrieval lacks the answer; None where it has it, or nothing is known."""
    lacks = row.gold_in_evidence is False or (row.gold_in_evidence is None and not row.evidence)
    return row.correct if lacks and row.answerable else None


def _alike(row: DetailedResult) -> bool | None:
    alike, faithful = (_value(row, name) for name in ("answer_similarity", "faithfulness"))
    if alike is None or faithful is None:
        return None
    return alike >= MEMORY_SIMILARITY and faithful <= MEMORY_FAITHFULNESS


def _value(row: DetailedResult, metric: str) -> float | None:
    found = row.metrics.get(metric)
    return None if found is None else found.value


def _unsupported(row: DetailedResult) -> bool | None:
    if row.verified is None or row.correct is None:
        return None
    failed = not row.verified and any(reason in FROM_MEMORY for reason in all_reasons(row))
    return failed and row.correct


def memory_verdict(rows: Sequence[DetailedResult], signs: Sequence[Sign]) -> tuple[str, ...]:
    """Say in sentences how much looks as if it came from memory."""
    told = [shows for row in rows if (shows := shows_memory(row)) is not None]
    if not told:
        return ("Nothing can be said about memory: no answer could have shown a sign of it.",)
    rate = wilson(sum(told), len(told))
    counts = numbers.count_of(rate.numerator, rate.denominator)
    blind = [sign for sign in signs if not sign.rate.denominator]
    lines = [f"Not looked for, as no answer shows it either way: {sign.meaning}." for sign in blind]
    if not rate.numerator:
        said = (
            f"No sign of answers from memory in {numbers.plural(rate.denominator, 'answer')}; up to "
            f"{numbers.percent_of(rate.high)} of such answers may still show one (95%)."
        )
        return (said, *lines)
    said = (
        f"{counts} answers show a sign of memory ({numbers.percent_of(rate.value)}, 95%: "
        f"{numbers.percent_of(rate.low)} to {numbers.percent_of(rate.high)}). A sign is no proof."
    )
    return (said, *lines)
