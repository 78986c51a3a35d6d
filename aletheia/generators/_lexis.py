"""Words that shape questions, as data: question words, function words, light words.

General English, and the question words of a few more languages.
"""

from __future__ import annotations

from typing import Final, Literal

Kind = Literal["who", "when", "where", "number", "what"]
"""What kind of thing the question asks for."""

KIND_WORDS: Final[dict[str, Kind]] = {
    "who": "who", "whom": "who", "whose": "who", "when": "when", "where": "where",
    "what": "what", "which": "what", "how": "what", "why": "what",
    "wer": "who", "wem": "who", "wen": "who", "wann": "when", "wo": "where", "wohin": "where",
    "was": "what", "welche": "what", "welcher": "what", "welches": "what",
    "qui": "who", "quand": "when", "où": "where", "ou": "where", "quel": "what", "quelle": "what",
    "combien": "number", "quién": "who", "quien": "who", "quiénes": "who", "cuándo": "when",
    "cuando": "when", "dónde": "where", "donde": "where", "qué": "what", "que": "what",
    "cuál": "what", "cual": "what", "cuánto": "number", "cuántos": "number", "cuántas": "number",
    "chi": "who", "quando": "when", "dove": "where", "quanto": "number", "quanti": "number",
    "quem": "who", "onde": "where", "quantos": "number", "wie": "what", "wanneer": "when",
    "кто": "who", "кем": "who", "когда": "when", "где": "where", "сколько": "number",
    "что": "what", "какой": "what", "какая": "what", "waar": "where", "wieviel": "number",
    "wieviele": "number",
}  # fmt: skip

TIME_NOUNS: Final = frozenset(
    "year date day month time decade century era jahr datum année".split()
)
PERSON_NOUNS: Final = frozenset("person people man woman individual someone somebody".split())
PLACE_NOUNS: Final = frozenset("place location where".split())
COUNTING: Final = frozenset(
    "many much long high tall deep wide far old big large fast heavy".split()
)
"""After `how` they ask for a number."""

IRREGULAR: Final = {"found": "find"}
"""Forms that would share a stem with another word."""

UNITS: Final[dict[str, str]] = {
    unit: name
    for name, units in {
        "@duration": "second seconds minute minutes hour hours day days week weeks month months "
        "year years",
        "@length": "mm cm km metre metres meter meters mile miles foot feet kilometre kilometres",
        "@weight": "kg g gram grams kilogram kilograms tonne tonnes ton tons pound pounds",
        "@cost": "euro euros dollar dollars pounds cents usd eur gbp",
    }.items()
    for unit in units.split()
}
"""A number with one of these says how long, how heavy or how dear something is."""

AUXILIARIES: Final = frozenset(
    """
    is are was were be been being am isnt arent wasnt werent do does did doesnt didnt dont has
    have had hasnt havent hadnt can could will would shall should may might must
    """.split()
)

NEGATIONS: Final = frozenset(
    """
    not no never none nobody nothing neither nor without cannot isnt arent wasnt werent doesnt
    didnt dont hasnt havent hadnt wont nicht kein keine keinen nie ne pas jamais nunca non
    """.split()
)

STOPWORDS: Final = (
    frozenset(
        """
    a an the this that these those it its he she they them their his her hers him we us our
    you your i me my who whom whose which what when where why how and or but nor so for of in
    on at by to from with into onto about between among through during as than then there here
    ever also too very more most please yes no if because all any some each every both other
    another such same own just still already up out off per via vs s over under across around
    behind beyond toward towards upon within without inside outside near next before after
    anywhere tell say says find show list describe explain give gives know exist exists real
    der die das den dem des ein eine einen einem einer und oder ist sind war waren wird wurde
    wurden hat haben im am von vom zu zum zur le la les un une du et est sont était ont el los
    las una y es son fue en il lo gli e di da del della o os um uma de het een
    """.split()
    )
    | AUXILIARIES
)

SOLID_FUNCTION_WORDS: Final = frozenset(
    "是什么什麼时候時候哪里裡谁誰多少的了吗嗎呢在几幾个個何有被由于於和与與"
)
"""Han characters that shape a question; other Han, Hangul and Thai characters must all be met."""

LIGHT: Final = frozenset(
    """
    first ever originally known number amount total kind kinds sort type types people person
    persons thing things name names use used have has get take took taken put
    give gave given come came go goes went called call main official exact current currently
    today now actual full many much part group entity
    """.split()
)
"""Words that say little about what is asked; they count a quarter."""

ABOUT_EVIDENCE: Final = frozenset(
    """
    graph data dataset database record records entry entries mention mentioned mentions
    contain contains include includes included information document documents text evidence
    context anything something heard hear aware familiar appear appears
    """.split()
)
"""In a yes-or-no question they speak of the evidence, not of the subject."""

ABOUT_ANSWER: Final = frozenset(
    """
    description summary overview information info detail details short brief briefly famous
    introduction
    """.split()
)
"""Words for the answer that is wanted; a question with nothing else asks for a description."""
