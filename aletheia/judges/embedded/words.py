"""What is known of English words: a vector of 96 numbers each, and how rare they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DIMENSION = 96
_UNSEEN = 1.0
"""Rarity of a word that the list does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTable:
    """Rows of words: vectors (int8, of about one length) and rarity in [0, 1]."""

    rows: dict[str, int]
    vectors: npt.NDArray[np.int8]
    rarity: npt.NDArray[np.float32]

    def vectors_of(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """Shape (len(words), 96), length 1; zero for a word that is not in the list."""
        import numpy as np

        rows = [self.rows.get(word, -1) for word in words]
        out = self.vectors[rows].astype(np.float32)
        out[[i for i, row in enumerate(rows) if row < 0]] = 0.0
        lengths = np.sqrt((out * out).sum(axis=1, keepdims=True))
        scaled: npt.NDArray[np.float32] = out / np.maximum(lengths, 1e-6)
        return scaled

    def rarity_of(self, word: str) -> float:
        """0 for the commonest, 1 for a word that was not seen."""
        row = self.rows.get(word, -1)
        return _UNSEEN if row < 0 else float(self.rarity[row])


@lru_cache(maxsize=1)
def word_table() -> WordTable:
    """The table shipped with the package, loaded on first use (about 20 ms)."""
    import numpy as np

    path = resources.files("aletheia.judges.embedded").joinpath("data/words.npz")
    with path.open("rb") as handle, np.load(handle, allow_pickle=False) as data:
        names = bytes(data["words"]).decode("ascii").split("\n")
        rarity = data["rarity"].astype(np.float32) / 255.0
        vectors = data["vectors"]
    return WordTable(rows={word: i for i, word in enumerate(names)}, vectors=vectors, rarity=rarity)
