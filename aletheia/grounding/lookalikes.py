"""See a text as a careless reader sees it: hidden characters gone, look-alikes as plain letters.

Two readings are needed. In one, compatibility forms are plain (`Ｅ` is `E`, `é` is `e`); in the other, Greek
and Cyrillic letters that look Latin are Latin as well, which would spoil true Greek and Cyrillic.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

_CYRILLIC = "АВЕЅІЈКМНОРСТУХаеѕіјорсухԛԝһԁӏёїь", "ABESIJKMHOPCTYXaesijopcyxqwhdleib"
_GREEK = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχϲ", "ABEZHIKMNOPTYXaeikvoptuxc"
_OTHERS = (
    "ıɑɡɩɪʏʀɴᴀᴄᴇᴍᴏᴘꜱᴛᴜᴠᴡᴢꓢꓰꓲｌ⁅⁆❲❳⦗⦘〚〛⟦⟧‹›⟨⟩《》〈〉˂˃＜＞⧼⧽∶꞉ː｜∣",
    ("iagiiyrnacemopstuvwzSEIl[][][][][]<><><><><><><>:::||"),
)

_LATIN: Final = str.maketrans(
    dict(
        zip(
            _CYRILLIC[0] + _GREEK[0] + _OTHERS[0],
            _CYRILLIC[1] + _GREEK[1] + _OTHERS[1],
            strict=True,
        )
    )
)
_HIDDEN_CHARS: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_MARKS: Final = "\u0300-\u036f\u064b-\u0652"
_DROPPED: Final = re.compile(f"[{_HIDDEN_CHARS}{_MARKS}]")
"""Characters that take no room on a page, and the marks that are written over a letter."""

SPELLED: Final = re.compile(
    # A flag is a black flag, a few tag characters and their end.
    "(?P<flag>\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{1,6}\U000e007f)"
    "|(?P<tags>[\U000e0000-\U000e007f]+)"
    # Emoji and Indic scripts need single selectors and joiners.
    "|(?P<selectors>[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,})"
    "|(?P<joiners>[\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff\u180e]{4,})"
    "|(?P<turns>[\u202d\u202e])"
)
"""Characters that nobody sees and that can spell a text, or turn its order round; and flags."""


_STROKED: Final = {ord(char): ord(base) for char, base in zip("łŁøØđĐıħ", "lLoOdDih", strict=True)}


class _Plain(dict[int, int]):
    """A table for `str.translate`: a character with a plain form of one character becomes that.

    Latin letters lose their accents. It fills as characters are asked for.
    """

    def __missing__(self, code: int) -> int:
        self[code] = _plain_code(code)
        return self[code]


def _plain_code(code: int) -> int:
    if code < 0x80:
        return code
    plain = unicodedata.normalize("NFKC", chr(code))
    if len(plain) != 1:
        return code
    base = unicodedata.normalize("NFD", plain)[0]
    return ord(base) if base.isascii() else _STROKED.get(ord(plain), ord(plain))


_PLAIN: Final = _Plain()


class Views(NamedTuple):
    """The readings of a text, all of one length. `offsets` leads back (None: it is the same)."""

    texts: tuple[str, ...]
    offsets: tuple[int, ...] | None

    def origin(self, position: int) -> int:
        """Offset in the original of a position in a reading."""
        return position if self.offsets is None else self.offsets[position]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in the original of a span that is not empty."""
        return self.origin(start), self.origin(end - 1) + 1


def views(text: str) -> Views:
    """Return the readings of `text`: one for ASCII, else plain and with look-alikes."""
    if text.isascii():
        return Views((text,), None)
    offsets = None
    if _DROPPED.search(text) is not None:
        kept = [index for index, char in enumerate(text) if _DROPPED.match(char) is None]
        text, offsets = "".join([text[index] for index in kept]), tuple(kept)
    plain = text.translate(_PLAIN)
    latin = text.translate(_LATIN).translate(_PLAIN)
    return Views((plain,) if latin == plain else (plain, latin), offsets)
