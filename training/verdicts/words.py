"""Remake `words.npz`.

    python -m training.verdicts.words ../shared/data/verdicts

Vectors are those of all-MiniLM-L6-v2 (Apache-2.0) for single words, cut to 96 dimensions; how rare
a word is, is counted over the contexts of the permissive training records. The file holds no text
of the sources, only words.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from aletheia.judges.embedded.tokens import tokens
from aletheia.judges.embedded.words import DIMENSION
from aletheia.llm.embedded import MiniLM
from training.verdicts.rows import permissive

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "aletheia/judges/embedded/data/words.npz"
VOCABULARY = ROOT / "aletheia/llm/data/bert_base_uncased_vocab.txt"
WINDOW = 400
LEAST_SEEN = 4


def windows(root: Path) -> Iterator[str]:
    """Pieces of every distinct context."""
    seen: set[str] = set()
    for record in permissive((root / "train").glob("*.gz")):
        for text in record["context"]:
            if text not in seen:
                seen.add(text)
                yield from (text[i : i + WINDOW] for i in range(0, len(text), WINDOW))


def main() -> None:
    """Count, embed, cut, write."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("root", type=Path)
    seen: Counter[str] = Counter()
    pieces = 0
    for text in windows(asked.parse_args().root):
        pieces += 1
        seen.update({token.word for token in tokens(text)})
    listed = {*VOCABULARY.read_text(encoding="utf-8").split("\n"), *seen}
    known = set(VOCABULARY.read_text(encoding="utf-8").split("\n"))
    words = sorted(w for w in listed if usable(w) and (w in known or seen[w] >= LEAST_SEEN))
    vectors = MiniLM().embed(words)
    centred = vectors - vectors.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:DIMENSION]
    short = centred @ axes.T
    short /= np.linalg.norm(short, axis=1, keepdims=True)
    longest = math.log(pieces + 1)
    rarity = [math.log((pieces + 1) / (seen[word] + 0.5)) / longest for word in words]
    np.savez_compressed(
        OUTPUT,
        words=np.frombuffer("\n".join(words).encode(), np.uint8),
        vectors=np.round(short / np.abs(short).max() * 127).astype(np.int8),
        rarity=np.round(np.clip(rarity, 0, 1) * 255).astype(np.uint8),
    )


def usable(word: str) -> bool:
    """Whether this is a word of ASCII letters."""
    return word.isascii() and word.isalpha() and 2 <= len(word) <= 24


if __name__ == "__main__":
    main()
