"""Text from data made safe to look at: what would act on a terminal or page is shown instead.

Control characters become their names (`‹ESC›`), other invisible actors become `‹U+202E›`, unpaired
surrogates become `�`. Ordinary text of any script is left alone. Names and not the Unicode control
pictures, because many fonts lack those.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import partial

_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: terminals obey them
    "\u2028\u2029"  # separators that some readers take for a line end
    "\u202a-\u202e\u2066-\u2069"  # order overrides: the eye reads another text than the program
    "\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"  # tag characters: invisible text
    "\ud800-\udfff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")

_C0 = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "TAB", "LF", "VT", "FF", "CR"),
    *("SO", "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB"),
    *("ESC", "FS", "GS", "RS", "US"),
)

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

Show = Callable[[str], str]


def name_of(char: str) -> str:
    """Return the visible form of one acting character."""
    code = ord(char)
    if code < 0x20:
        return f"‹{_C0[code]}›"
    if code == 0x7F:
        return "‹DEL›"
    if 0xD800 <= code <= 0xDFFF:
        return REPLACEMENT
    return f"‹U+{code:04X}›"


def visible(text: str, *, keep: str = "\n\t", show: Show = name_of) -> str:
    """`text` with every acting character shown by `show`, except those in `keep`.

    A carriage return before a line feed is part of a line end and goes with it.
    """
    if "\n" in keep:
        text = text.replace("\r\n", "\n")
    return _ACTING.sub(partial(_shown, keep, show), text)


def _shown(keep: str, show: Show, match: re.Match[str]) -> str:
    return match[0] if match[0] in keep else show(match[0])


def one_line(text: str) -> str:
    """`text` on one line: line ends and tabs are shown as well."""
    return visible(text, keep="")


def without_surrogates(text: str) -> tuple[str, int]:
    """`text` that UTF-8 can encode, and how many code points were replaced, one for one."""
    return _SURROGATE.subn(REPLACEMENT, text)


def cells(text: str) -> int:
    """Columns that `text` takes on a terminal: wide characters two, combining marks none."""
    return sum(map(_cell, text))


def _cell(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def fit(text: str, width: int) -> str:
    """`text` cut to `width` columns; a cut is shown by an ellipsis."""
    if cells(text) <= width:
        return text
    used, kept = 0, 0
    for char in text:
        if used + _cell(char) > width - 1:
            break
        used, kept = used + _cell(char), kept + 1
    return f"{text[:kept]}…"


def pad(text: str, width: int) -> str:
    """`text` filled with spaces to `width` columns."""
    return text + " " * (width - cells(text))


def wrap(text: str, width: int) -> list[str]:
    """Break `text` at spaces into lines of at most `width` columns; longer words are cut."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and cells(lines[-1]) + 1 + cells(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines += _cut(word, width)
    return lines


def _cut(word: str, width: int) -> list[str]:
    pieces = [""]
    for char in word:
        if cells(pieces[-1]) + _cell(char) > width:
            pieces.append("")
        pieces[-1] += char
    return pieces
