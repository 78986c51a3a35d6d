"""Read what is written in base64, hexadecimal, rot13 or backwards."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterator
from typing import Final

LONGEST_WORD: Final = 24
"""From this length on a word can be encoded text."""

_BASE64: Final = re.compile(rf"(?<![\w+/])[A-Za-z0-9+/_-]{{{LONGEST_WORD},}}+={{0,2}}")
_HEXADECIMAL: Final = re.compile(
    rf"(?<!\w)(?:0x)?(?P<digits>[0-9A-Fa-f]{{{LONGEST_WORD},}}+)(?!\w)"
)
_TURNED: Final = ("ignore", "disregard", "instructions", "supported", "forget")
_ROT13: Final = frozenset(codecs.encode(word, "rot13") for word in _TURNED)
_BACKWARDS: Final = frozenset(word[::-1] for word in _TURNED)
_SPOKEN_OF: Final = frozenset(
    "base64 b64 decode decoded decodes encoded hex hexadecimal rot13 dekodiere dekodieren decodez "
    "decodifica decodifique decodificar base64url".split()
)
CODED_WORDS: Final = _ROT13 | _BACKWARDS | _SPOKEN_OF
"""Words of orders in rot13 and backwards, and words that speak of encoded text."""


def decoded_texts(text: str) -> Iterator[tuple[int, int, str]]:
    """Every span of `text` that can be decoded, with what it says."""
    for match in _BASE64.finditer(text):
        said = _from_base64(match.group())
        if said is not None:
            yield match.start(), match.end(), said
    for match in _HEXADECIMAL.finditer(text):
        digits = match["digits"]
        said = _printable(bytes.fromhex(digits[: len(digits) // 2 * 2]))
        if said is not None:
            yield match.start(), match.end(), said
    low = text.lower()
    if any(word in low for word in _ROT13):
        yield 0, len(text), codecs.encode(text, "rot13")
    if any(word in low for word in _BACKWARDS):
        yield 0, len(text), text[::-1]


def _from_base64(run: str) -> str | None:
    letters = run.rstrip("=").replace("-", "+").replace("_", "/")
    whole = letters[: len(letters) - (len(letters) % 4 == 1)]
    try:
        return _printable(base64.b64decode(whole + "=" * (-len(whole) % 4)))
    except (binascii.Error, ValueError):
        return None


def _printable(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if all(char.isprintable() or char in "\n\t\r" for char in text) else None
