"""What people call a cell when they look for traces."""

from __future__ import annotations

import pytest

from aletheia.diagnosis.cell_names import cells_named
from aletheia.errors import UsageError
from aletheia.schema.diagnosis import FailureCell as Cell


@pytest.mark.parametrize("cell", list(Cell))
def test_every_id_and_every_plain_name_is_its_cell(cell: Cell) -> None:
    assert cells_named(cell.value) == (cell,)
    assert cells_named(cell.plain_name) == (cell,)
    assert cells_named(cell.value.replace("_", "-").upper()) == (cell,)
    assert cells_named(f"  {cell.plain_name.lower()} ") == (cell,)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("hallucination", (Cell.COMPLETE_UNGROUNDED, Cell.EXTRA_UNGROUNDED)),
        ("Hallucinations", (Cell.COMPLETE_UNGROUNDED, Cell.EXTRA_UNGROUNDED)),
        ("retrieval gap", (Cell.INCOMPLETE_GROUNDED,)),
        ("retrieval-gap", (Cell.INCOMPLETE_GROUNDED,)),
        ("missing made-up", (Cell.INCOMPLETE_UNGROUNDED,)),
        ("missing_+_made_up", (Cell.INCOMPLETE_UNGROUNDED,)),
    ],
)
def test_everyday_words(name: str, cells: tuple[Cell, ...]) -> None:
    assert cells_named(name) == cells


def test_unhealthy_is_everything_but_healthy() -> None:
    assert set(cells_named("unhealthy")) == set(Cell) - {Cell.COMPLETE_GROUNDED}


@pytest.mark.parametrize("name", ["", "helthy", "complete", "hallucinate me", "1"])
def test_another_name_is_an_error_that_lists_the_cells(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        cells_named(name)
    assert "`complete_grounded` (Healthy)" in str(caught.value.hint)


def test_a_near_miss_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        cells_named("helthy")
    assert "did you mean `healthy`?" in str(caught.value.hint)
