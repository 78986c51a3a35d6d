"""`aletheia.verify`: the verdict as the API gives it."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields

import pytest

import aletheia
from aletheia import DataError, Mode, RejectionReason, UsageError, VerifyResult
from aletheia.testing import SAMPLE_EVIDENCE, answer_reply

EVIDENCE = ["The pump runs at 40 Hz.", "Mara Quint built the pump."]
GOOD = answer_reply("The pump runs at 40 Hz.", ["E1"])
WRONG = answer_reply("The pump runs at 50 Hz.", ["E1"])
UNCITED = answer_reply("The pump runs at 40 Hz.")
ABSTAINED = answer_reply("INSUFFICIENT_CONTEXT")
UNREADABLE = "The pump runs at 40 Hz."


@pytest.mark.parametrize(
    ("reply", "category", "reason"),
    [
        (GOOD, "grounded_answer", None),
        (json.loads(GOOD), "grounded_answer", None),
        (ABSTAINED, "insufficient_context", None),
        (WRONG, "rejected", RejectionReason.UNCITED_ENTITIES),
        (UNCITED, "rejected", RejectionReason.ANSWER_WITHOUT_CITATIONS),
        (answer_reply("The pump runs at 40 Hz.", ["E7"]), "rejected", "invalid_citation_ids"),
        (
            answer_reply("INSUFFICIENT_CONTEXT", ["E1"]),
            "rejected",
            "insufficient_context_with_citations",
        ),
        (UNREADABLE, "rejected", RejectionReason.PARSE_ERROR),
        ("", "rejected", RejectionReason.PARSE_ERROR),
        (None, "rejected", RejectionReason.PARSE_ERROR),
        ([1, 2], "rejected", RejectionReason.PARSE_ERROR),
    ],
)
def test_strict_mode_tells_the_category_and_the_first_reason(
    reply: str, category: str, reason: str | None
) -> None:
    result = aletheia.verify(EVIDENCE, reply)

    assert (result.category, result.rejection_reason) == (category, reason)
    assert result.passed is bool(result) is (reason is None)


def test_a_finding_says_what_is_wrong_where_and_what_stands_there_instead() -> None:
    result = aletheia.verify(EVIDENCE, WRONG)

    (finding,) = result.findings
    assert result.answer is not None
    assert result.answer[finding.start : finding.end] == finding.text
    assert (finding.kind, finding.nearest) == ("number", "40 Hz")


def test_a_finding_names_the_uncited_unit_that_carries_it() -> None:
    result = aletheia.verify(EVIDENCE, answer_reply("Mara Quint built the pump.", ["E1"]))

    assert {finding.found_in for finding in result.findings if finding.kind == "name"} == {"E2"}


@pytest.mark.parametrize(
    ("mode", "passed", "reasons", "warnings"),
    [
        ("strict", False, ("uncited_entities",), ()),
        (Mode.LENIENT, True, (), ("uncited_entities",)),
        ("off", True, (), ()),
    ],
)
def test_a_mode_changes_what_passes_and_not_the_verdict(
    mode: str, passed: bool, reasons: tuple[str, ...], warnings: tuple[str, ...]
) -> None:
    result = aletheia.verify(EVIDENCE, WRONG, mode=mode)

    assert (result.passed, result.rejection_reasons, result.warnings) == (passed, reasons, warnings)
    assert result.verified is False
    assert result.findings == aletheia.verify(EVIDENCE, WRONG).findings


@pytest.mark.parametrize("mode", ["strikt", "", "STRICT", None, 1])
def test_an_unknown_mode_is_an_error_that_lists_the_modes(mode: object) -> None:
    with pytest.raises(UsageError, match="`strict`, `lenient`, `off`"):
        aletheia.verify(EVIDENCE, GOOD, mode=mode)  # type: ignore[arg-type]


def test_a_mode_that_is_nearly_right_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean `strict`"):
        aletheia.verify(EVIDENCE, GOOD, mode="strikt")


@pytest.mark.parametrize(("exempt", "passed"), [(False, False), (True, True)])
def test_names_of_the_question_are_no_evidence_unless_exempt(exempt: bool, passed: bool) -> None:
    result = aletheia.verify(
        ["It backs Hezbollah."],
        answer_reply("Iran backs Hezbollah.", ["E1"]),
        "Does Iran back Hezbollah?",
        exempt_question_entities=exempt,
    )

    assert result.passed is passed


def test_missing_evidence_is_an_error_and_no_verdict() -> None:
    with pytest.raises(DataError) as caught:
        aletheia.verify(None, GOOD)

    assert caught.value.field == "evidence"


def test_a_question_that_is_no_text_is_an_error() -> None:
    with pytest.raises(DataError) as caught:
        aletheia.verify(EVIDENCE, GOOD, question=["Who?"])  # type: ignore[arg-type]

    assert caught.value.field == "question"


def test_the_places_of_blank_evidence_are_told() -> None:
    assert aletheia.verify(["", *EVIDENCE], GOOD).dropped == (0,)


def test_evidence_of_the_testing_module_can_be_given() -> None:
    reply = answer_reply("The lighthouse keeper of Port Ellery is M. Quint.", ["E3"])

    assert aletheia.verify(SAMPLE_EVIDENCE, reply).passed


def test_the_dictionary_has_every_field_in_order_and_is_plain_json() -> None:
    result = aletheia.verify(EVIDENCE, WRONG, mode="lenient")

    as_dict = result.to_dict()
    assert list(as_dict) == [field.name for field in fields(VerifyResult)]
    assert json.loads(json.dumps(as_dict, allow_nan=False)) == as_dict


def test_a_result_cannot_be_changed() -> None:
    result = aletheia.verify(EVIDENCE, WRONG)

    with pytest.raises(FrozenInstanceError):
        result.passed = True  # type: ignore[misc]
