"""Text that would act on a screen is shown instead."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aletheia.reports.visible import cells, fit, one_line, pad, visible, without_surrogates, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "‹ESC›[31mred"),
        ("a\x00b", "a‹NUL›b"),
        ("a\x7fb", "a‹DEL›b"),
        ("\x9b2J", "‹U+009B›2J"),
        ("\u202eabc", "‹U+202E›abc"),
        ("a\ud83db", "a\ufffdb"),
        ("a\u2028b", "a‹U+2028›b"),
        ("tag\U000e0041", "tag‹U+E0041›"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("lone\rreturn", "lone‹CR›return"),
        ("日本語 العربية é 👩‍👩‍👧", "日本語 العربية é 👩‍👩‍👧"),
    ],
)
def test_acting_characters_are_named_and_others_left_alone(text, shown):
    assert visible(text) == shown


def test_one_line_names_line_ends_too():
    assert one_line("id\nwith\ttab") == "id‹LF›with‹TAB›tab"


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("", 0), ("a\u200db", 2)]
)
def test_columns_of_a_terminal(text, columns):
    assert cells(text) == columns


def test_a_cut_is_shown():
    assert fit("日本語の本", 6) == "日本…"
    assert fit("short", 5) == "short"
    assert pad("日本", 6) == "日本  "


@settings(deadline=None)
@given(st.text(), st.integers(2, 40))
def test_wrapped_lines_keep_the_width_and_every_word(text, width):
    lines = wrap(text, width)

    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_can_be_encoded_and_holds_no_controls(text):
    shown = visible(text, keep="")

    assert shown.encode().decode() == shown
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in shown)


def test_surrogates_are_replaced_one_for_one():
    assert without_surrogates("a\ud83d\udc00b") == ("a\ufffd\ufffdb", 2)
