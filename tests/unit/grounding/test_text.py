"""Folding and its map back to the original."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aletheia.grounding.text import fold, lowered, plain


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("co‑op’s limit ≥ 5 – “A…B”", 'co-op\'s limit >= 5 - "A...B"'),
        ("5½ days", "5 1/2 days"),
        ("10² m", "10^2 m"),
        ("١٢٣٫٥", "123.5"),
        ("１２３円", "123円"),
        ("Zu\u0308rich", "Zürich"),
        ("a\u200bb", "ab"),
        ("x\u00a0y", "x y"),
    ],
)
def test_fold(text: str, folded: str) -> None:
    """Typography, digits and widths fold; words, case and accents stay."""
    assert folded == fold(text).text


@pytest.mark.parametrize(
    ("word", "bare"),
    [
        ("Zürich", "Zurich"),
        ("Łódź", "Lodz"),
        ("Straße", "Strasse"),
        ("が", "が"),
        ("й", "й"),
        ("ё", "е"),
    ],
)
def test_plain(word: str, bare: str) -> None:
    """Marks go only where they are no letter of their own."""
    assert bare == plain(word)


@given(st.text())
def test_lowered_keeps_the_length(text: str) -> None:
    """Lower case never moves an offset."""
    assert len(text) == len(lowered(text))


@given(st.text(alphabet=st.characters(codec=None, categories=None), max_size=60))
def test_whole_text_maps_back_to_itself(text: str) -> None:
    """The folded whole covers the original from its first kept to its last kept character."""
    folded = fold(text)
    if folded.text:
        start, end = folded.span(0, len(folded.text))

        assert 0 <= start < end <= len(text)


@given(st.text(alphabet="aé½²’…\u200b١ß Z\u0308-", max_size=30), st.data())
def test_spans_are_ordered_and_inside(text: str, data: st.DataObject) -> None:
    """Every folded span maps to a span of the original, and spans keep their order."""
    folded = fold(text)
    if not folded.text:
        return
    start = data.draw(st.integers(0, len(folded.text) - 1))
    end = data.draw(st.integers(start + 1, len(folded.text)))
    low, high = folded.span(start, end)

    assert 0 <= low < high <= len(text)
    assert folded.locate(low) <= start
