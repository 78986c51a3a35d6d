"""What holds for every reply and every evidence."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from aletheia.grounding.modes import judge
from aletheia.grounding.numbering import number
from aletheia.grounding.verify import VerifyOptions, verify_reply
from aletheia.schema.verification import Mode, RejectionReason

TEXT = st.text(alphabet=st.characters(codec=None, categories=None), max_size=80)
PROSE = st.lists(
    st.sampled_from(
        "The Zürich “A…B” 12% İstanbul’da 😀 10–15 days [E1] (E2) 東京都 not Москва $1.5M J. Smith 5½ "
        "https://ex.org/a . , ; \n - Ilse ١٢٣ | 2019 Type 1".split(" ")
    ),
    max_size=14,
).map(" ".join)
ANSWER = st.one_of(TEXT, PROSE)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(ANSWER, max_size=4),
    ANSWER,
    st.lists(st.sampled_from(["E1", "E2", "E9", "x", 1])),
    st.booleans(),
)
def test_verification_never_raises_and_is_consistent(
    units: list[str], answer: str, cited: list[str | int], lenient: bool
) -> None:
    """Any reply gets a verdict; spans cut their text out; reasons and findings agree."""
    found = verify_reply(
        number(units), {"answer": answer, "evidence_ids": cited}, question="Why?",
        options=VerifyOptions(lenient=lenient),
    )  # fmt: skip

    assert found.verified == (not found.reasons)
    assert found.verified or found.findings
    assert list(found.reasons) == sorted(found.reasons, key=list(RejectionReason).index)
    for item in (*found.findings, *found.notes):
        if item.end > item.start and item.kind != "reply":
            assert item.text == (found.answer or "")[item.start : item.end]


@settings(max_examples=100, deadline=None)
@given(st.lists(ANSWER, max_size=3), ANSWER)
def test_modes_are_views_of_one_verification(units: list[str], answer: str) -> None:
    """Strict rejects exactly what failed; lenient and off keep every answer that was read."""
    found = verify_reply(number(units), {"answer": answer, "evidence_ids": ["E1"]})
    strict, lenient, off = (judge(found, mode) for mode in Mode)

    assert strict.passed == found.verified
    assert lenient.passed == off.passed == (found.problem is None)
    assert strict.verification is lenient.verification is off.verification
    assert not off.warnings


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_raw_text_gets_a_verdict(raw: str) -> None:
    """A reply that is no JSON at all is a parse error, not an exception."""
    found = verify_reply(number(["The lamp is blue."]), raw)

    assert found.verified or found.reasons
