"""Rebuild `aletheia/grounding/data/lexicon.txt.gz` from the permissive training records.

    python training/lexicon.py ../shared/data/verdicts

A word is listed when it stands in lower case at least three times and at least as often as
capitalised inside a sentence. The list says which sentence openers are ordinary words; it holds
no text of the sources.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

WORD = re.compile(r"(?<![\w'’-])[A-Za-z][a-z]+(?![\w])")
LICENCES = ("MIT", "Apache-2.0", "CC0", "CC-BY-4.0", "ODC-BY")
OUTPUT = Path(__file__).resolve().parents[1] / "aletheia/grounding/data/lexicon.txt.gz"


def texts(root: Path) -> Iterator[str]:
    """Every distinct English context and response of the permissive records below `root`."""
    seen: set[str] = set()
    for path in sorted([*root.glob("train/*.gz"), *root.glob("nli/*.gz")]):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if record.get("language", "en") != "en":
                    continue
                if not str(record["license"]).startswith(LICENCES):
                    continue
                for text in (*record["context"], record.get("response") or ""):
                    if text not in seen:
                        seen.add(text)
                        yield text


def count(root: Path) -> tuple[Counter[str], Counter[str]]:
    """How often each word stands in lower case, and capitalised inside a sentence."""
    lower: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in texts(root):
        for match in WORD.finditer(text):
            word, before = match.group(), text[max(0, match.start() - 2) : match.start()]
            if word[0].islower():
                lower[word] += 1
            elif (
                len(before) == 2 and before[1] == " " and (before[0].isalnum() or before[0] == ",")
            ):
                capital[word.lower()] += 1
    return lower, capital


def main() -> None:
    """Write the list, byte for byte the same for the same records."""
    lower, capital = count(Path(sys.argv[1]))
    words = sorted(word for word, n in lower.items() if n >= 3 and n >= capital[word])
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, compresslevel=9) as packed:
        packed.write("\n".join(words).encode("ascii"))
    OUTPUT.write_bytes(buffer.getvalue())
    sys.stdout.write(f"{len(words)} words, {len(buffer.getvalue())} bytes -> {OUTPUT}\n")


if __name__ == "__main__":
    main()
