"""Number words of languages in other scripts, read where a unit follows: سه روز is 3 روز.

What is read so can carry a number in digits. It is always `soft`: the words have many forms, of
which only these are known, so that a claim in them is no failure.
"""

from __future__ import annotations

import re
from typing import Final

from aletheia.grounding.number_add import Place, add_quantity
from aletheia.grounding.number_dates import Scan, Taken
from aletheia.grounding.number_words import named, next_word
from aletheia.grounding.numerals import Numeral

_COUNTS: Final[tuple[str, ...]] = (
    "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
    "одна две - - - - - - - - - -",
    "один два три чотири п'ять шість сім вісім дев'ять десять одинадцять дванадцять",
    "یک دو سه چهار پنج شش هفت هشت نه ده یازده دوازده",
    "واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة - -",
    "واحدة اثنتان ثلاث أربع خمس ست سبع ثماني تسع عشر - -",
    "אחד שני שלושה ארבעה חמישה שישה שבעה שמונה תשעה עשרה - -",
    "אחת שתי שלוש ארבע חמש שש שבע - תשע עשר - -",
    "एक दो तीन चार पांच छह सात आठ नौ दस ग्यारह बारह",
    "- - - - पाँच छः - - - - - -",
    "หนึ่ง สอง สาม สี่ ห้า หก เจ็ด แปด เก้า สิบ - -",
    "한 두 세 네 다섯 여섯 일곱 여덟 아홉 열 열한 열두",
)
_VALUES: Final[dict[str, int]] = {
    word: value for row in _COUNTS for value, word in enumerate(row.split(), 1) if word != "-"
}
_LETTER: Final = "[^\\W\\d_]|[\u0900-\u0dff\u0e00-\u0eff]"
_WORD: Final = re.compile(
    f"(?<!{_LETTER.replace('|', ')(?<!')})(?:"
    + "|".join(sorted(map(re.escape, _VALUES), key=len, reverse=True))
    + ")(?= )|(?:"
    + "|".join(_COUNTS[10].replace(" -", "").split())
    + ")(?=[\u0e00-\u0eff])"
)
_OTHER_SCRIPTS: Final = re.compile("[\u0400-\u06ff\u0900-\u097f\u0e00-\u0e7f\uac00-\ud7af]")
# What makes more of a word before it or behind it: двадцать пять лет, بیست و پنج سال.
_PART_OF_MORE: Final = re.compile(
    "(?:дцать|десят|сорок|девяносто|сто|сот|ста|тысяч[аи]?|надцать|ست و|سی و|هل و|جاه و|صت و|تاد و"
    "|ود و|صد و|زار و|สิบ|ร้อย|ยี่|สาม|ש(?:רים|לושים) ו|십|백|천|이|삼|사|스물|서른|마흔|쉰"
    "|सौ|हजार) ?$"
)


def scan_spelled(scan: Scan) -> None:
    """Record small number words before a unit."""
    text = scan.text
    if text.isascii() or _OTHER_SCRIPTS.search(text) is None:
        return
    taken = Taken(scan)
    for match in _WORD.finditer(text):
        start, end = match.span()
        after = next_word(text, end)
        if start in taken or after is None or _PART_OF_MORE.search(text, max(0, start - 12), start):
            continue
        item = named(text, after)[1]
        if item is not None and item.kind == "measure":
            known = len(scan.quantities)
            add_quantity(scan, Place(start, start, end), Numeral(_VALUES[match[0]]), is_word=True)
            if len(scan.quantities) > known:  # else it became the end of a range
                scan.quantities[-1] = scan.quantities[-1]._replace(soft=True)
