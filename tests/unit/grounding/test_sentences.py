"""Sentence spans: true offsets, boundaries of many scripts, markers with their sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aletheia.grounding.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Opens at 8. [E1] Closes at 9. [E2]", ["Opens at 8. [E1]", "Closes at 9. [E2]"]),
        ("It runs.[E1] Next.", ["It runs.[E1]", "Next."]),
        ("It runs (E1). Next [1].", ["It runs (E1).", "Next [1]."]),
        ("It opens.\n[E1]\nNext.", ["It opens.\n[E1]", "Next."]),
        ("Rent is 900 [E1]. It is warm.", ["Rent is 900 [E1].", "It is warm."]),
        ("J. Smith met Dr. Ode. Prof. Li left.", ["J. Smith met Dr. Ode.", "Prof. Li left."]),
        (
            "In the U.S. Army. In the U.S. The end.",
            ["In the U.S. Army.", "In the U.S.", "The end."],
        ),
        (
            "It is 3.5 kg, e.g. Fig. 3. No. 5 is v1.2.",
            ["It is 3.5 kg, e.g. Fig. 3.", "No. 5 is v1.2."],
        ),
        ("No. He left.", ["No.", "He left."]),
        ("Well... Mara left… so she did.", ["Well...", "Mara left… so she did."]),
        ("It was 1991. The end.", ["It was 1991.", "The end."]),
        ("Am 3. Mai kam er. Gut.", ["Am 3. Mai kam er.", "Gut."]),
        ("1. First\n2. Second", ["1. First", "2. Second"]),
        ("- Leeds [E1]\n- York\n- Hull", ["- Leeds [E1]", "- York", "- Hull"]),
        ("East • west • north", ["East", "• west", "• north"]),
        ("children/\nadolescents are.", ["children/\nadolescents are."]),
        ("Stem.\nlower", ["Stem.", "lower"]),
        ("a\n\nb", ["a", "b"]),
        ('He said "No. Never." Then left.', ['He said "No. Never."', "Then left."]),
        ('"Why?" he asked. He left.', ['"Why?" he asked.', "He left."]),
        ("See ex.org/a.b and a@b.c. Next.", ["See ex.org/a.b and a@b.c.", "Next."]),
        ("東京で開催。[E1]大阪でも！", ["東京で開催。[E1]", "大阪でも！"]),
        ("यह सच है। वह गया।", ["यह सच है।", "वह गया।"]),
        ("هل هذا صحيح؟ نعم.", ["هل هذا صحيح؟", "نعم."]),
        ("Это г. Москва. Он ушёл.", ["Это г. Москва.", "Он ушёл."]),
        ("Acme Inc. The firm grew.", ["Acme Inc.", "The firm grew."]),
        ("", []),
        (" \n\u2028 ", []),
        ("a. . b", ["a. . b"]),
    ],
)
def test_boundaries(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@given(st.text(alphabet=st.sampled_from('aB .!?…。\n[E1]"“”()•😀İ\u2028\ud83d-3')))
def test_spans_are_ordered_stripped_and_lose_nothing(text: str) -> None:
    spans = sentences(text)

    position = 0
    for start, end in spans:
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        position = end
    assert not text[position:].strip()
