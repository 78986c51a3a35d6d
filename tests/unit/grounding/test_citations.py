"""Inline markers: the declared grammar, the forms of lenient mode, and what is just text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aletheia.grounding.citations import find_markers

UNITS = 12


def cited(text: str, *, lenient: bool = False, n_units: int = UNITS) -> list[tuple[str, ...]]:
    return [marker.ids for marker in find_markers(text, n_units, lenient=lenient)]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[E1]", ("E1",)),
        ("[e1]", ("E1",)),
        ("[e01]", ("E1",)),
        ("[E001]", ("E1",)),
        ("[ E1 ]", ("E1",)),
        ("[E1, E2]", ("E1", "E2")),
        ("[E1,E2;E3]", ("E1", "E2", "E3")),
        ("[E1 E2]", ("E1", "E2")),
        ("[E1, E1]", ("E1",)),
        ("[E1-E3]", ("E1", "E2", "E3")),
        ("[E1–E3]", ("E1", "E2", "E3")),
        ("[E1—E3]", ("E1", "E2", "E3")),
        ("[E9-12]", ("E9", "E10", "E11", "E12")),
        ("[E10-2]", ("E10", "E11", "E12")),
        ("[E1-E2, E5]", ("E1", "E2", "E5")),
        ("[E99]", ("E99",)),
        ("[E0]", ("E0",)),
        ("[T1.E1]", ("T1.E1",)),
        ("[E1, T2.E3]", ("E1", "T2.E3")),
        ("[E1](#e1)", ("E1",)),
        ("[[E1]]", ("E1",)),
        ("**[E1]**", ("E1",)),
    ],
)
def test_declared_forms_count_in_every_mode(text: str, ids: tuple[str, ...]) -> None:
    for lenient in (False, True):
        (marker,) = find_markers(f"Tea {text}.", UNITS, lenient=lenient)

        assert marker.ids == ids
        assert marker.declared
        assert marker.valid_form


@pytest.mark.parametrize(
    "text",
    [
        "(E1)", "[1]", "E1", "evidence:1", "Evidence 1", "【E1】", "[E１]", "[E 1]", "[^1]", "[^E1]",
        "[#1]", "［Ｅ１］", "〔E1〕", "{E1}", "<E1>", "(see E1)", "[Source: E1]", "(Evidence E1)", "[doc 1]",
        "evidence #1", "Evidence unit 1", "\\[E1\\]", "【1†source】", "[Е1]", "[E٠١]", "[E\u200b1]", "[E_1]",
        "[Evidence #1]", "证据1", "[证据1]", "Beleg 1", "Доказательство 1", "الدليل 1", "साक्ष्य 1", "증거 1",
    ],
)  # fmt: skip
def test_other_forms_are_read_in_lenient_mode_and_only_seen_in_strict(text: str) -> None:
    answer = f"Tea {text}."
    (read,) = find_markers(answer, UNITS, lenient=True)
    (seen,) = find_markers(answer, UNITS, lenient=False)

    assert read.ids == ("E1",)
    assert not read.declared
    assert seen.ids == ()
    assert not seen.declared
    assert (seen.start, seen.end) == (read.start, read.end)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("(E1, E2)", ("E1", "E2")),
        ("(E1–E3)", ("E1", "E2", "E3")),
        ("[1, 2]", ("E1", "E2")),
        ("[1-3]", ("E1", "E2", "E3")),
        ("[E1, 2]", ("E1", "E2")),
        ("[E1 and E2]", ("E1", "E2")),
        ("(E1 und E2)", ("E1", "E2")),
        ("E1–E3", ("E1", "E2", "E3")),
        ("[E1、E2]", ("E1", "E2")),
    ],
)
def test_lists_and_ranges_in_other_forms(text: str, ids: tuple[str, ...]) -> None:
    assert cited(f"Tea {text}.", lenient=True) == [ids]


@pytest.mark.parametrize(
    "text", ["[E3-E1]", "[E1-E900]", "[E1-E13]", "[E1-E99999999999999]", "(E3-E1)"]
)
def test_a_range_that_is_inverted_or_too_long_is_invalid_and_not_expanded(text: str) -> None:
    (marker,) = find_markers(text, UNITS, lenient=True)

    assert not marker.valid_form
    assert marker.ids == ()


@pytest.mark.parametrize(
    "text",
    [
        "30 [km/h]", "in [2019]", "[sic]", "(1) first", "1. first", "1", "The 12 units", "a[0] = 3",
        "the E45 road", "vitamin E2x", "3E1", "E1.5 volts", "e1", "[0, 1]", "[E1a]", "(2019)", "{x}",
        "[]", "[E]", "E1-based", "[-1]", "[10%]", "[1.5]", "f(1)", "<b>1</b>", "[2019-2020]", "$E1",
        "see http://ex.org/E1", "evidence 2 people gave", "evidence 100%", "[a1]", "[TE1]", "#E1",
    ],
)  # fmt: skip
def test_what_is_not_of_the_grammar_is_text(text: str) -> None:
    assert find_markers(text, UNITS, lenient=True) == ()


def test_adjacent_markers_and_repeats_keep_their_places() -> None:
    text = "See the 1985 Act [E1][E2] and [E1], again [E1]."
    found = find_markers(text, UNITS, lenient=False)

    assert [marker.ids for marker in found] == [("E1",), ("E2",), ("E1",), ("E1",)]
    assert [text[marker.start : marker.end] for marker in found] == ["[E1]", "[E2]", "[E1]", "[E1]"]


def test_a_bare_bracket_number_beyond_the_evidence_is_an_unknown_id() -> None:
    assert cited("Tea [7].", lenient=True, n_units=4) == [("E7",)]


def test_markers_come_in_order_of_the_text() -> None:
    text = "A (E2) b [E1] c Evidence 3."

    assert cited(text, lenient=True) == [("E2",), ("E1",), ("E3",)]


@given(
    st.text(alphabet=st.sampled_from("[](){}【】Ee1 2,-–.^T證据vidence\ud83d²٣#\\\n")),
    st.booleans(),
)
def test_spans_are_true_ordered_and_apart(text: str, lenient: bool) -> None:
    position = 0
    for marker in find_markers(text, 3, lenient=lenient):
        assert marker.start >= position
        assert marker.text == text[marker.start : marker.end] != ""
        assert len(marker.ids) <= len(marker.text)
        position = marker.end


@pytest.mark.parametrize(
    "text", ["[" * 5000, "[E1" * 5000, "(E1 " * 5000, "[E1," * 5000, "E1 " * 5000]
)
def test_hostile_text_is_read_in_reasonable_time(text: str) -> None:
    assert len(find_markers(text, 3, lenient=True)) <= 5000
