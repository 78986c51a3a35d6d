"""Read numerals in Chinese characters, where what follows shows that they count something."""

from __future__ import annotations

import re

from aletheia.grounding import dates as d
from aletheia.grounding.number_add import Place, add_quantity
from aletheia.grounding.number_dates import Scan, Taken
from aletheia.grounding.numerals import Numeral, numeral
from aletheia.grounding.quantity import Quantity
from aletheia.grounding.word_numerals import HAN_NUMERAL, han_numeral

HAN = re.compile("[〇零一二三四五六七八九十两兩]")
_HAN_COUNTED = re.compile(
    "[个個名位人年月日天次种種类類岁歳枚台回度倍家条條部所座届期票支只歩層层楼分小時時点點公米元円万億亿%％]"
)
_HAN_SHARE = re.compile("百分之([〇零一二三四五六七八九十百]+|\\d+(?:\\.\\d+)?)")


def scan_han(scan: Scan) -> None:
    """Numerals in Chinese characters, where what follows shows that they count something."""
    text = scan.text
    for match in _HAN_SHARE.finditer(text):
        value = han_numeral(match[1]) if not match[1][0].isdigit() else None
        read = Numeral(value) if value is not None else numeral(match[1])
        if read is not None:
            scan.quantities.append(
                Quantity(*match.span(), text, "percent", read.value, read.exponent, is_word=True)
            )
    taken = Taken(scan)
    for match in HAN_NUMERAL.finditer(text):
        start, end = match.span()
        if (
            start in taken
            or text[start - 1 : start] in ("第", "十")
            or text[start - 1 : start].isdigit()
        ):
            continue
        value = han_numeral(match[0])
        counted = _HAN_COUNTED.match(text, end)
        if value is None or not (counted or (len(match[0]) > 2 and value > 20)):
            continue
        _han_number(scan, start, end, value)


def _han_number(scan: Scan, start: int, end: int, value: int) -> None:
    follows = scan.text[end : end + 1]
    if follows == "年" and 1000 <= value <= 2100:
        scan.date(start, end + 1, d.year(value))
        return
    if follows == "月" and 1 <= value <= 12:
        scan.date(start, end + 1, d.month(value))
        return
    place = Place(start, start, end)
    add_quantity(scan, place, Numeral(value), is_word=True, soft=value <= 3)
