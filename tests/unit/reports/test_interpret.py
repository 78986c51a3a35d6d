"""What the numbers mean, in words."""

import pytest
from unit.reports.samples import (
    ABSTAINED,
    GROUNDED,
    measured,
    rejected,
    row,
    sample_report,
    without_value,
)

from aletheia.reports.interpret import headline, pass_band
from aletheia.reports.tally import grounding_report
from aletheia.schema.verification import Mode, RejectionReason

ANSWER = {**GROUNDED, "answer": "x"}
REJECTED = rejected(RejectionReason.UNCITED_ENTITIES)
ERROR = {"category": "error", "grounding_rejected": False, "error": "timeout"}


def rows_of(count, **fields):
    return [row(f"r{number}", "q?", "g", **fields) for number in range(count)]


def reading(rows, mode=Mode.STRICT):
    return "\n".join(sample_report(rows, mode=mode).interpretation)


@pytest.mark.parametrize(
    ("passed", "failed", "band"),
    [
        (81, 19, "good"),
        (80, 20, "moderate"),
        (801, 199, "good"),
        (60, 40, "moderate"),
        (59, 41, "poor"),
        (0, 0, "unmeasured"),
    ],
)
def test_bands_are_decided_on_exact_counts(passed, failed, band):
    rows = [*rows_of(passed, **ANSWER), *rows_of(failed, **REJECTED)]

    assert pass_band(grounding_report(rows)) == band


@pytest.mark.parametrize(
    ("rows", "mode", "sentence"),
    [
        (rows_of(0), Mode.STRICT, "Nothing was verified: there are no questions."),
        (rows_of(3, **ERROR), Mode.STRICT, "Nothing was verified: no question got a reply."),
        (
            rows_of(2, category="grounded_answer", grounding_rejected=False, answer="x"),
            Mode.OFF,
            "Nothing was verified: grounding mode is `off`.",
        ),
        (rows_of(40, **ANSWER), Mode.STRICT, "above 80%"),
        ([*rows_of(7, **ANSWER), *rows_of(3, **REJECTED)], Mode.STRICT, "moderate"),
        (rows_of(9, **REJECTED), Mode.STRICT, "below 60%"),
        (rows_of(9, **REJECTED), Mode.STRICT, "No metric has a value: no reply was accepted."),
        (rows_of(5, **ANSWER), Mode.STRICT, "Only 5 replies were verified"),
        ([*rows_of(9, **ANSWER), *rows_of(1, **ERROR)], Mode.STRICT, "1 of 10 questions got no"),
        (rows_of(4, **ABSTAINED), Mode.STRICT, "4 of 4 replies are abstentions"),
        (
            rows_of(2, **ABSTAINED, abstention_kind="over_refusal", gold_in_evidence=True),
            Mode.STRICT,
            "2 abstentions came although the evidence held the answer",
        ),
        (
            rows_of(1, **ANSWER, metrics=measured(answer_similarity=0.95, faithfulness=0.4)),
            Mode.STRICT,
            "Sign of memory: 1 answer close to the gold answer but not faithful",
        ),
        (
            rows_of(1, **REJECTED, answer="x", correct=True),
            Mode.STRICT,
            "Sign of memory: 1 right answer where retrieval had not brought the answer",
        ),
        (rows_of(2, **REJECTED), Mode.STRICT, "2 replies with contents the cited evidence lacks"),
        (
            rows_of(1, **{**REJECTED, "grounding_rejected": False}),
            Mode.LENIENT,
            "1 of 1 replies were kept that strict mode rejects",
        ),
        (rows_of(1, **ANSWER), Mode.STRICT, "Not measured at all: context precision, context"),
        (
            rows_of(2, **ANSWER, metrics=without_value("faithfulness", "unmeasured", "429")),
            Mode.STRICT,
            "Faithfulness: nothing was measured (0 of 2).",
        ),
        (
            rows_of(1, **ANSWER, metrics=measured(faithfulness=0.7)),
            Mode.STRICT,
            "Faithfulness is 0.70; good is above 0.70.",
        ),
    ],
)
def test_sentences(rows, mode, sentence):
    assert sentence in reading(rows, mode)


def test_a_good_run_has_no_warnings():
    rows = rows_of(
        40,
        **ANSWER,
        correct=True,
        gold_in_evidence=True,
        metrics=measured(
            context_precision=0.9, context_recall=0.9, faithfulness=0.9, answer_similarity=0.9
        ),
    )

    (only,) = sample_report(rows).interpretation

    assert only.startswith("40 of 40 replies passed verification (100%, above 80%)")


@pytest.mark.parametrize(
    ("rows", "title", "action"),
    [
        (rows_of(3, **ANSWER), "3 of 3 replies are answers that came from", "No reply failed."),
        (rows_of(3, **REJECTED), "0 of 3 replies are answers that came from", "Read the marked"),
        (rows_of(3, **ERROR), "None of 3 questions was verified", "Run `aletheia doctor`"),
        (
            rows_of(3, **ABSTAINED, abstention_kind="over_refusal", gold_in_evidence=True),
            "0 of 3 replies are answers that came from",
            "the prompt is too cautious",
        ),
    ],
)
def test_headlines(rows, title, action):
    report = sample_report(rows)
    head = headline(rows, report.grounding_report, report.abstention_report, Mode.STRICT)

    assert head.title.startswith(title)
    assert action in head.action
