"""Words that decide whether two statements of the evidence can contradict each other."""

from __future__ import annotations

import re
from typing import Final

from aletheia.grounding.lexicon import FUNCTION_WORDS, OTHER_FUNCTION_WORDS
from aletheia.grounding.polarity import NEGATIONS, stem
from aletheia.grounding.text import plain


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(plain(word)) for word in words.split())


_MORE_FUNCTION_WORDS: Final = _stems(
    """
    и в на с по из у о к за от до был была было были это он она оно они его её их как что
    هو هي هذا هذه كان كانت في من على إلى عن مع أن ما هذه ذلك
    है हैं था थी थे का की के में से को पर ने और यह वह एक
    ve bir bu şu da de için ile olarak oldu olan idi
    jest są był była było i w na z do się to
    är var och det den en ett som på i er og det den en et som på
    ist sind war waren hat haben wird wurde wurden beträgt
    est sont a été était être fut ont
    es son fue era ha sido está
    è sono era stato stata
    é são foi era tem
    is was zijn waren heeft wordt werd
    """
)
_KEPT: Final = _stems("more less most least before after above below over under up down all some")
EMPTY_WORDS: Final = (
    frozenset(
        stem(plain(word)) for word in FUNCTION_WORDS.union(*OTHER_FUNCTION_WORDS.values())
    )
    | _MORE_FUNCTION_WORDS
    | _stems("according reportedly officially official note notice only just also exactly")
) - _KEPT  # fmt: skip
"""Stems that say nothing about what a statement speaks of. Those that order two things are kept."""

NEGATION_STEMS: Final = frozenset(plain(word) for word in NEGATIONS)

_REVISIONS: Final = (
    r"\b(?:revis\w+|updat\w+|correct(?:ed|ion)\w*|amend\w+|errat\w+|corrigend\w+|now|current(?:ly)?"
    r"|korrigier\w*|korrektur|berichtig\w+|überarbeitet\w*|aktualisier\w*|neu(?:er|e|es)? stand"
    r"|révisée?s?|corrigée?s?|mise? à jour|rectifiée?s?|revisad[oa]s?|corregid[oa]s?"
    r"|actualizad[oa]s?|rivist[oa]|corrett[oa]|aggiornat[oa]|revist[oa]s?|corrigid[oa]s?"
    r"|atualizad[oa]s?|herzien|gecorrigeerd|bijgewerkt|исправлен\w*|уточн[её]н\w*|обновл[её]н\w*"
    r"|güncellen\w*|düzeltil\w*|güncel)\b"
    r"|修订版?|修訂版?|更新|更正|改訂版?|改定|訂正版?|修正版?|수정본?|개정판?|정정"
    r"|مُ?عد[َّ]*ل[ةه]?|محد[َّ]*ث[ةه]?|مصح[َّ]*ح[ةه]?|संशोधित|अद्यतन"
)
REVISION: Final = re.compile(_REVISIONS, re.IGNORECASE)
"""Says that a statement takes the place of an earlier one; it names nothing."""

FORMER: Final = re.compile(
    r"\b(?:former(?:ly)?|previous(?:ly)?|originally|initially|once|used to|until|before|prior|old"
    r"|early|earlier|then|planned|expected|projected|estimated|forecast|proposed|target|may|might"
    r"|could|would|should|if|unless|except|per|each|every|average|max(?:imum|imal)?\w*"
    r"|min(?:imum|imal)?\w*|least|most|record|peak|first|second|third|last|other|another|some"
    r"|winds?|humidity|sometimes|often|usually|früher\w*|ehemal\w*|zuvor|ursprünglich|bis|geplant\w*|jeweils|pro"
    r"|ancien\w*|auparavant|jusqu\w*|prévue?s?|par|antes|anterior\w*|hasta|previst[oa]|por"
    r"|prima|precedente\w*|fino|previst[oa]|anteriormente|até|voorheen|eerder|tot|per|gepland"
    r"|раньше|прежде|бывш\w*|до|план\w*|кажд\w*|eskiden|önce|eski|planlan\w*)\b"
    r"|以前|曾|原|旧|計画|计划|予定|每|毎|かつて|최대|최소|예전|سابق|قبل|पहले|पूर्व",
    re.IGNORECASE,
)
"""Leaves open whether two values hold at one time, or of one thing."""

FLOW: Final = re.compile(
    r"\b(?:revenue|profit|sales|earning|turnover|income|loss|output|production|export|import|visitor"
    r"|passenger|growth|inflation|unemployment|population|rate|share|budget|spending|debt|score"
    r"|temperature|rainfall|attendance|price|stock|wage|salary|gdp|emission|umsatz|gewinn|einwohner"
    r"|bevölkerung|chiffre|bénéfice|population|ventas|ingresos|beneficio|población|fatturato|utile"
    r"|ricavi|popolazione|receita|lucro|população|omzet|winst|bevolking|выручк|прибыл|населени"
    r"|доход|gelir|nüfus|kar|satış)\w*|收入|利润|人口|売上|利益|매출|인구|إيراد|أرباح|سكان|राजस्व|लाभ|जनसंख्या",
    re.IGNORECASE,
)
"""What is counted anew each year: units of two years do not contradict each other."""

ONCE: Final = re.compile(
    r"\b(?:open|found|establish|built|build|complet|launch|publish|sign|introduc|discover|invent"
    r"|clos|dissolv|incorporat|inaugurat|creat|start|begin|began|end|expir|born|die[ds]?|died|due"
    r"|deadline|birth|death|demolish|abolish|ratif|commission|releas|debut|eröffn|gegründet"
    r"|gründung|gebaut|erbaut|geboren|gestorben|starb|schloss|endet|beginn|frist|ouvert|ouvr|fond"
    r"|construit|né|née|mort|décéd|inaugur|ferm|lanc|abri|fundad|fundó|construid|naci|muri|cerr"
    r"|apert|aprì|fondat|costruit|nat[oa]|mort[oa]|chius|scadenz|abert|fundou|construíd|nasc|morre"
    r"|fech|geopend|opgericht|gebouwd|overled|gesloten|открыл|открыт|основан|построен|родил|умер"
    r"|закры|açıl|kurul|doğ|öl[dü]|inşa|kapan)\w*"
    r"|开业|开放|开馆|成立|创立|创建|建成|建于|出生|去世|开幕|生于|開業|開館|設立|創業|創立|建設|生まれ|死去|開設"
    r"|개관|설립|개장|출생|사망|창립|افتتح|افتتاح|تأسيس|بناء|مولد|وفاة|تأسس|ولد|توفي|بني|खुल|स्थापित|जन्म|निधन|स्थापना",
    re.IGNORECASE,
)
"""What happens to one thing on one day. Anything else may have happened on both."""

PRONOUN: Final = re.compile(
    r"\W*(?:it|they|he|she|its|their|es|er|sie|il|elle|ils|elles|lui|lei|esso|essa|ella|ele|ela"
    r"|het|hij|zij|он|она|оно|они)\b|それ|これ|它|其|彼|그것|هو|هي|यह|वह",
    re.IGNORECASE,
)
"""Stands for what the sentence before speaks of."""

_PRESENT: Final = re.compile(
    r"(?:\b(?:is|are|falls?|ist|sind|est|sont|es|son|è|é|opens?|closes?|starts?|begins?|ends?|leaves?"
    r"|departs?|arrives?|takes?|lasts?|dauert|dure|dura|duurt|öffnet|schließt|beginnt|ouvre|ferme|abre|cierra|apre|chiude|fecha|opent"
    r"|sluit)(?:\s(?:on|at|in|by|um|am|à|le|a|el|las|alle|il|às|em|om|op|the))*|[:=]|是|为|為|は)"
    r"\s*$",
    re.IGNORECASE,
)


def states_now(before: str) -> bool:
    """Whether the words before a value say that it holds: `The deadline is `, `Deadline: `."""
    return _PRESENT.search(before) is not None


_GENERIC: Final = _stems(
    """
    weight mass price cost length height width depth size age population capacity speed range date
    year number amount total value area volume rating address code level duration time name type
    gewicht preis länge höhe breite größe alter anzahl betrag wert poids prix longueur hauteur taille
    âge nombre montant valeur peso precio longitud altura tamaño edad número importe valor prezzo
    lunghezza altezza età numero importo valore preço comprimento tamanho idade gewicht prijs lengte
    hoogte leeftijd aantal вес цена длина высота возраст число сумма стоимость
    it they he she this that these those company firm business organization organisation city town
    village hotel restaurant study film movie book paper article patient author team player school
    university game match song album show series episode product device country state government
    president party man woman person people child group project program programme event meeting
    report site page result unit item model version place location building house room car vehicle
    vote percent number day week month hour minute
    """
)


def names_something(stems: frozenset[str]) -> bool:
    """Whether stems name a thing: `weight` and `the company` may be of anything."""
    return not stems <= _GENERIC


_IMPLIED: Final[dict[str, frozenset[str]]] = {
    "mass": _stems(
        "weigh weighs weighed weighing weight mass heavy wiegt wog wiegen gewicht schwer pèse pesait "
        "poids masse pesa pesaba peso pesava weegt woog весит весил вес масса يزن وزن وزنها वजन भार "
        "ağırlığı ağırlık 重 量 さ 무게 무게는"
    ),
    "money": _stems(
        "cost costs price priced kostet kostete preis coûte coûtait prix cuesta costaba precio costa "
        "costava prezzo custa custava preço kost kostte prijs стоит стоил цена سعر يكلف कीमत मूल्य "
        "fiyat fiyatı tutar 价 格 値 段 費 가격"
    ),
}


def implied(kind: str) -> frozenset[str]:
    """Words that a value of this dimension implies: `Tent 3.1 kg` says that it weighs that."""
    return _IMPLIED.get(kind, frozenset())
