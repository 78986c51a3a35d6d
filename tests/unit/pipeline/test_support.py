"""Statements of an answer that the evidence supports, counted by verification alone."""

from __future__ import annotations

import pytest

from aletheia.grounding.numbering import number
from aletheia.pipeline.support import count_support

EVIDENCE = number(
    [
        "The harbour of Port Ellery opened in 1911.",
        "Port Ellery exports tea and salt.",
        "Raised bog that is a nature reserve.",
    ]
)


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        pytest.param("Port Ellery exports tea.", (1, 1, 0), id="supported"),
        pytest.param("Port Ellery exports tea. It opened in 1915.", (1, 2, 0), id="wrong year"),
        pytest.param("Mara Quint runs Port Ellery.", (0, 1, 0), id="unknown name"),
        pytest.param("Raised bog that is a nature reserve.", (1, 1, 0), id="word for word"),
        pytest.param("", (0, 0, 0), id="empty"),
    ],
)
def test_counts(answer: str, counts: tuple[int, int, int]) -> None:
    assert tuple(count_support(answer, EVIDENCE, ())) == counts


def test_the_unit_cited_makes_no_difference() -> None:
    """Faithfulness is about the evidence; a wrong citation is another fault."""
    answer = "The harbour of Port Ellery opened in 1911."

    assert count_support(answer, EVIDENCE, ("E2",)) == count_support(answer, EVIDENCE, ("E1",))


@pytest.mark.parametrize(
    "answer", ["Yes.", "Tea! Salt? 1911.", "a b c", "- x\n- y", "港は1911年。"]
)
def test_the_counts_never_contradict_each_other(answer: str) -> None:
    supported, total, undecided = count_support(answer, EVIDENCE, ())

    assert min(supported, total, undecided) >= 0
    assert supported + undecided <= total
