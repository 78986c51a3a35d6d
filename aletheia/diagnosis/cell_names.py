"""What people call a cell when they look for traces: ids, plain names, and everyday words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from aletheia.errors import UsageError
from aletheia.schema.diagnosis import FailureCell

_GROUPS: Final[Mapping[str, tuple[FailureCell, ...]]] = MappingProxyType(
    {
        "hallucination": (FailureCell.COMPLETE_UNGROUNDED, FailureCell.EXTRA_UNGROUNDED),
        "hallucinations": (FailureCell.COMPLETE_UNGROUNDED, FailureCell.EXTRA_UNGROUNDED),
        "ungrounded": (
            FailureCell.COMPLETE_UNGROUNDED,
            FailureCell.INCOMPLETE_UNGROUNDED,
            FailureCell.EXTRA_UNGROUNDED,
        ),
        "grounded": (
            FailureCell.COMPLETE_GROUNDED,
            FailureCell.INCOMPLETE_GROUNDED,
            FailureCell.EXTRA_GROUNDED,
        ),
        "incomplete": (FailureCell.INCOMPLETE_GROUNDED, FailureCell.INCOMPLETE_UNGROUNDED),
        "extra": (FailureCell.EXTRA_GROUNDED, FailureCell.EXTRA_UNGROUNDED),
        "padded": (FailureCell.EXTRA_GROUNDED, FailureCell.EXTRA_UNGROUNDED),
        "retrieval gaps": (FailureCell.INCOMPLETE_GROUNDED,),
        "worst case": (FailureCell.INCOMPLETE_UNGROUNDED,),
        "unhealthy": tuple(
            cell for cell in FailureCell if cell is not FailureCell.COMPLETE_GROUNDED
        ),
    }
)


def cells_named(name: str) -> tuple[FailureCell, ...]:
    """Return the cells that a name stands for: one for an id or plain name, several for a kind.

    Case, spaces, hyphens and underscores do not matter. Raises UsageError that lists the names.
    """
    key = _plain(name)
    found = _NAMES.get(key)
    if found is None:
        near = get_close_matches(key, _NAMES, n=1)
        start = f"did you mean `{near[0]}`? " if near else ""
        listed = ", ".join(f"`{cell}` ({cell.plain_name})" for cell in FailureCell)
        raise UsageError(
            f"there is no cell `{name}`", hint=f"{start}the cells are {listed}; or `hallucination`"
        )
    return found


def _plain(name: str) -> str:
    return " ".join(re.findall(r"\w+", name.replace("_", " ").casefold()))


_NAMES: Final[Mapping[str, tuple[FailureCell, ...]]] = MappingProxyType(
    {
        **{_plain(name): cells for name, cells in _GROUPS.items()},
        **{_plain(cell.plain_name): (cell,) for cell in FailureCell},
        **{_plain(cell): (cell,) for cell in FailureCell},
    }
)
