"""Small bare numbers that count nothing: `The fee is 10.`, where no unit speaks of a fee.

A small number may be made by counting what the units list, so that it need not stand in them.
That excuse does not hold where the number is said to be the value of something the units never
name. A dozen languages are read; any other keeps the excuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from aletheia.grounding.lexicon import FUNCTION_WORDS, OTHER_FUNCTION_WORDS
from aletheia.grounding.scripts import UNCASED
from aletheia.grounding.text import plain
from aletheia.grounding.tokens import Corpus, letter_runs

_IS: Final = re.compile(
    r"(?:\b(?:is|was|costs?|equals?"
    r"|ist|war|beträgt|betrug|kostet|lautet|liegt bei"
    r"|est|était|coûte|vaut|sont|s'él[eè]ve(?:nt)? à"
    r"|es|era|fue|cuesta|asciende a|son"
    r"|è|era|costa|ammonta a|pari a|sono"
    r"|é|foi|custa|são"
    r"|bedraagt|bedroeg|kost"
    r"|составляет|составила?|составило|равна|равно|равен|стоит|стоила?"
    r")(?: (?:de|di|a|à|bei|op))?"
    r"|\b(?:هي|هو|تبلغ|يبلغ|بلغت?|تساوي|يساوي)"
    r"|是|为|為|等于|は|が|は|는|은|이|가)\s{0,4}$"
)
_LABEL: Final = re.compile(r"(?:[:=]|\s-)\s{0,4}$")
_MOST_LABEL_WORDS: Final = 4
_END: Final = re.compile(r"\s*+(?:[.,;:!。！，；।؟]|$)")
_VERB: Final = re.compile(
    r"\s*(?:'?[dt][iıuü]r|है|था|थी|हैं|です|でした|だ|である|であった|이다|입니다|였다|이었다|예요|이에요)"
    r"\s*+(?:[.,;:!。！，；।]|$)"
)
_VERB_LAST: Final = re.compile(
    r"[\u0900-\u097f\u3040-\u30ff\uac00-\ud7afığşĞŞİçöüÇÖÜ]|'?[dt][iıuü]r"
)
_ARABIC: Final = re.compile(r"[\u0600-\u06ff]")
_COUNTING: Final = re.compile(
    r"\b(?:numbers?|totals?|count|sum|answer|result|tally|score|anzahl|zahl|summe|gesamt\w*|ergebnis"
    r"|nombre|somme|résultat|número|cantidad|suma|resultado|numero|totale|somma|quantità|risultato"
    r"|quantidade|soma|aantal|totaal|som|число|количество|сумма|всего|итого|ответ|sayı\w*|toplam\w*"
    r"|adet|cevap)\b|عدد|مجموع|إجمالي|الجواب|संख्या|कुल|उत्तर|数|數|总|總|合計|答|수는|총|개수|합계|정답",
)
_EMPTY: Final = FUNCTION_WORDS.union(*OTHER_FUNCTION_WORDS.values()) | frozenset(
    "beträgt betrug kostet lautet liegt coûte vaut élève élèvent cuesta asciende costa ammonta pari "
    "custa bedraagt bedroeg kost costs cost equals equal составляет составила составило равна равно "
    "равен стоит стоила стоил 이 는 은 가 هي هو تبلغ يبلغ بلغ بلغت تساوي يساوي का की के में".split()
)
_DENSE_EMPTY: Final = re.compile(r"[\u3041-\u309f的是为為了等于了]")
_DENSE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_PARTICLE: Final = re.compile(r"(?<=[\uac00-\ud7af])(?:은|는|이|가|을|를|의)$")
_BEGINNING: Final = 4
"""Letters that the forms of one word share."""
_MOST_WORDS: Final = 12


def is_value_of_unknown(
    text: str, span: tuple[int, int], sentence_start: int, units: Corpus
) -> bool:
    """Whether the number at `text[span]` is said to be the value of what `units` never name.

    `text` is folded. A number that a word of counting introduces is a count all the same.
    """
    before, end = text[sentence_start : span[0]].lower(), span[1]
    if not _is_stated(before, text, end) or _COUNTING.search(before) is not None:
        return False
    words = list(_content(before))
    return 0 < len(words) <= _MOST_WORDS and not any(_is_known(word, units) for word in words)


def _is_stated(before: str, text: str, end: int) -> bool:
    """Whether the words around a number say that something has it as its value."""
    if _END.match(text, end) is None:
        return (
            _VERB.match(text, end) is not None
            and _VERB_LAST.search(before + text[end:]) is not None
        )
    if _IS.search(before) is not None:
        return True
    words = before.split()
    if _LABEL.search(before) is not None:
        return len(words) <= _MOST_LABEL_WORDS
    # Arabic states a value without a verb.
    return bool(_ARABIC.search(before)) and len(words) <= _MOST_LABEL_WORDS


def _content(before: str) -> Iterator[str]:
    """Yield the words that name what has the value."""
    if _DENSE.search(before) is not None:
        yield from filter(None, _DENSE_EMPTY.sub(" ", before).strip(" :=-").split())
        return
    runs = before.split() if UNCASED.search(before) is not None else letter_runs(before)
    for word in runs:
        bare = _PARTICLE.sub("", word.strip(".,:;=-()\"'"))
        if len(bare) > 1 and bare not in _EMPTY:
            yield bare


def _is_known(word: str, units: Corpus) -> bool:
    """Whether the units hold the word in any form."""
    if _DENSE.search(word) is not None:
        pairs = [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        return any(pair in units.folded for pair in pairs)
    if UNCASED.search(word) is not None:
        return word.removeprefix("ال")[:4] in units.folded
    folded = plain(word)
    beginning = folded if len(folded) < _BEGINNING else folded[:_BEGINNING]
    return folded in units.vocabulary or (
        len(folded) >= _BEGINNING and f" {beginning}" in units.lower
    )
