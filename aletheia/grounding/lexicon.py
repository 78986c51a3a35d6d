"""Word lists the checks lean on. Each is short, except the counted list of common words."""

from __future__ import annotations

import gzip
from functools import lru_cache
from importlib import resources

from aletheia.grounding.text import cached_by_word, plain

FUNCTION_WORDS = frozenset(
    """
    a an the this that these those it its he she they them their his her hers him we us our you your
    i me my mine who whom whose which what when where why how and or but nor so yet for of in on at
    by to from with without within into onto over under about above below between among through
    during before after since until till while as than then there here is are was were be been being
    am has have had having do does did doing done will would shall should can could may might must
    ought not no yes if because although though however therefore thus hence also too very more most
    less least much many few several some any all both each every either neither other others another
    such same own only just even still already ever never always often sometimes again further once
    up down out off per via et al vs one ones s t re ve ll d m
    """.split()
)
"""English words that carry no content of their own."""

OTHER_FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "de": frozenset(
        "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren "
        "wird werden wurde wurden hat haben hatte nicht kein keine auch als wie mit von vom zu zum zur im "
        "in an am auf aus bei nach für über unter durch um bis es er sie sich dass sowie noch nur".split()
    ),
    "fr": frozenset(
        "le la les un une des du de et ou mais est sont était étaient a ont avait ne pas plus que qui "
        "dans sur par pour avec sans en au aux ce cette ces il elle ils elles se son sa ses leur".split()
    ),
    "es": frozenset(
        "el la los las un una unos unas de del y o pero es son fue fueron era ha han no más que en "
        "por para con sin sobre al se su sus lo como este esta estos estas entre también".split()
    ),
    "it": frozenset(
        "il lo la i gli le un uno una di del della dei e o ma è sono era ha hanno non più che in nel "
        "nella per con su da dal al alla si come questo questa anche".split()
    ),
    "pt": frozenset(
        "o a os as um uma de do da dos das e ou mas é são foi era foram tem não mais que em no na "
        "por para com sem se seu sua como este esta também ao".split()
    ),
    "nl": frozenset(
        "de het een en of maar is zijn was waren wordt werden heeft niet geen ook als met van te in "
        "op aan uit bij naar voor over door om dat die dit er zich".split()
    ),
}
"""Function words by language, to tell in which one a text is written."""

HONORIFICS = frozenset(
    """
    mr mrs ms miss mx dr prof professor sir dame lord lady madam rev reverend hon honorable
    honourable president vice prime minister chancellor senator sen representative rep congressman
    congresswoman governor gov mayor king queen prince princess emperor pope bishop archbishop
    cardinal saint st general gen colonel col major maj captain capt lieutenant lt sergeant sgt
    admiral commander judge justice ambassador secretary chairman chairwoman chairperson chair
    director ceo cfo cto chief officer founder cofounder coach actor actress singer author
    sheikh shaikh imam ayatollah herr frau monsieur madame señor señora don doña
    """.split()
)
"""Titles that may be added to or left off a name."""

GENERIC = frozenset(
    """
    inc incorporated corp corporation co company ltd limited llc plc gmbh ag sa nv bv oy ab the
    city town village county state province region district republic kingdom river lake mount
    mountain island group organization organisation movement party
    """.split()
)
"""Words of kind that may be left off a longer name, or added to one."""

ROLE_WORDS = frozenset(
    """
    foreign former deputy acting interim interior defence defense finance justice health education
    trade energy home state assistant associate executive managing chief senior junior honorary
    lead head late outgoing incoming current then co
    """.split()
)
"""Words before a title that say which office it is, and belong to no name."""

AMBIGUOUS_NAMES = frozenset(
    """
    mark rose will bill grace may jack frank hope faith joy art pat rob sue drew chase hunter mason
    cooper dean ray gene guy jay lance max miles nick norm pierce reed rich rusty sandy skip stone
    ward wade turkey china chad jordan june april august dawn eve fern heather holly iris ivy jade
    lily myrtle olive pearl penny poppy robin ruby summer violet cliff clay dale glen grant hank
    hardy heath king lane page price read rice rod
    """.split()
)
"""Ordinary words that are also given names or countries: only a capitalised one carries them."""

PARTICLES = frozenset(
    "of de del della di da do dos das du des la le el van von der den ter ten zu bin ibn abu".split()
)
"""Lower-case words inside a name."""

ACRONYMS: dict[str, tuple[str, ...]] = {
    "us": ("united states", "united states of america", "usa", "america"),
    "usa": ("united states", "united states of america", "us", "america"),
    "uk": ("united kingdom", "great britain", "britain"),
    "eu": ("european union",),
    "un": ("united nations",),
    "uae": ("united arab emirates",),
    "ussr": ("soviet union",),
    "drc": ("democratic republic of the congo", "democratic republic of congo"),
    "nato": ("north atlantic treaty organization", "north atlantic treaty organisation"),
    "imf": ("international monetary fund",),
    "who": ("world health organization", "world health organisation"),
    "wto": ("world trade organization", "world trade organisation"),
    "mit": ("massachusetts institute of technology",),
    "nasa": ("national aeronautics and space administration",),
    "fbi": ("federal bureau of investigation",),
    "cia": ("central intelligence agency",),
    "opec": ("organization of the petroleum exporting countries",),
    "oecd": ("organisation for economic co operation and development",),
    "unesco": ("united nations educational scientific and cultural organization",),
    "bbc": ("british broadcasting corporation",),
    "nfl": ("national football league",),
    "nba": ("national basketball association",),
    "fda": ("food and drug administration",),
    "epa": ("environmental protection agency",),
    "irs": ("internal revenue service",),
    "sec": ("securities and exchange commission",),
    "ucla": ("university of california los angeles",),
    "aids": ("acquired immunodeficiency syndrome", "acquired immune deficiency syndrome"),
    "dna": ("deoxyribonucleic acid",),
    "gdp": ("gross domestic product",),
    "ww2": ("world war ii", "second world war", "wwii", "world war 2"),
    "ww1": ("world war i", "first world war", "wwi", "world war 1"),
}
"""Short forms everybody writes without defining them."""

DEMONYMS: dict[str, tuple[str, ...]] = {
    "france": ("french",), "germany": ("german",), "spain": ("spanish", "spaniard"),
    "britain": ("british",), "england": ("english",), "scotland": ("scottish",),
    "wales": ("welsh",), "ireland": ("irish",), "netherlands": ("dutch",), "holland": ("dutch",),
    "greece": ("greek",), "switzerland": ("swiss",), "denmark": ("danish", "dane"),
    "sweden": ("swedish", "swede"), "finland": ("finnish", "finn"), "poland": ("polish", "pole"),
    "turkey": ("turkish", "turk"), "portugal": ("portuguese",), "norway": ("norwegian",),
    "china": ("chinese",), "japan": ("japanese",), "iceland": ("icelandic",),
    "philippines": ("filipino", "philippine"), "thailand": ("thai",), "wale": ("welsh",),
    "afghanistan": ("afghan",), "pakistan": ("pakistani",), "lebanon": ("lebanese",),
    "argentina": ("argentine", "argentinian"), "peru": ("peruvian",), "iraq": ("iraqi",),
    "cyprus": ("cypriot",), "hungary": ("hungarian",), "ukraine": ("ukrainian",),
    "united states": ("american", "u.s", "us"), "europe": ("european",), "arabia": ("arab", "arabian"),
    "kurdistan": ("kurdish", "kurd"), "belgium": ("belgian",), "czechia": ("czech",),
    "israel": ("israeli",), "yemen": ("yemeni",), "slovakia": ("slovak",), "serbia": ("serb",),
    "monaco": ("monegasque",), "congo": ("congolese",), "vietnam": ("vietnamese",),
    "texas": ("texan",), "somalia": ("somali",), "burma": ("burmese",), "brazil": ("brazilian",), "canada": ("canadian",), "paris": ("parisian",),
}  # fmt: skip
"""Peoples and adjectives that no suffix rule gives."""

STATES: dict[str, str] = {
    "alabama": "AL", "alaska": "AK", "arizona": "AZ", "arkansas": "AR", "california": "CA",
    "colorado": "CO", "connecticut": "CT", "delaware": "DE", "florida": "FL", "georgia": "GA",
    "hawaii": "HI", "idaho": "ID", "illinois": "IL", "indiana": "IN", "iowa": "IA", "kansas": "KS",
    "kentucky": "KY", "louisiana": "LA", "maine": "ME", "maryland": "MD", "massachusetts": "MA",
    "michigan": "MI", "minnesota": "MN", "mississippi": "MS", "missouri": "MO", "montana": "MT",
    "nebraska": "NE", "nevada": "NV", "new hampshire": "NH", "new jersey": "NJ", "new mexico": "NM",
    "new york": "NY", "north carolina": "NC", "north dakota": "ND", "ohio": "OH", "oklahoma": "OK",
    "oregon": "OR", "pennsylvania": "PA", "rhode island": "RI", "south carolina": "SC",
    "south dakota": "SD", "tennessee": "TN", "texas": "TX", "utah": "UT", "vermont": "VT",
    "virginia": "VA", "washington": "WA", "west virginia": "WV", "wisconsin": "WI", "wyoming": "WY",
    "ontario": "ON", "quebec": "QC", "british columbia": "BC", "alberta": "AB",
}  # fmt: skip
"""States and provinces with the code that addresses carry instead."""

SURNAMES_IN_S = frozenset(
    """
    robert william edward peter stephen richard phillip philip daniel michael matthew andrew adam
    hugh evan owen harri jame jone davi martin simon roger gibb wood brook field bank stone burn
    mill well rhode hick parson clement jacob isaac abraham samuel nichol cole mark hank jenkin
    watkin hopkin perkin wilkin collin robin dougla lewi morri denni franci charle thoma walter
    rogers alan ander peter hans jan han jen nil lar carl karl erik henrik johan petter
    """.split()
)
"""Given names (or their stems) to which an `s` makes another name, not a plural."""

OPENERS: frozenset[str] = frozenset(
    plain(word)
    for word in """
    furthermore moreover additionally nevertheless nonetheless meanwhile conversely similarly
    likewise accordingly consequently notably specifically importantly interestingly alternatively
    hello hi hey dear thanks thank please sorry ok okay yes
    enfin depuis ainsi ensuite puis cependant toutefois néanmoins selon après avant pendant donc car
    alors aussi lors dès parmi chez malgré outre certains plusieurs beaucoup quelques chaque tous
    toutes aucun quand lorsque comme si même bien voici voilà oui non il elle ils elles on nous vous
    además también sin embargo según después antes durante mientras muchas muchos algunas algunos
    cada todos todas cuando como aunque así luego entonces por lo tanto finalmente actualmente
    inoltre tuttavia infine secondo dopo prima durante mentre quindi molti molte alcuni alcune ogni
    quando come anche però così poi attualmente
    além também segundo depois antes enquanto muitos muitas alguns algumas cada todos quando embora
    assim então portanto
    außerdem jedoch zudem ferner schließlich danach davor während dabei dazu daher deshalb dort hier
    heute später früher zunächst allerdings laut viele einige manche alle jeder jede jedes wenn als
    obwohl so dann ja nein dies diese dieser dieses man
    bovendien echter daarna volgens tijdens vele sommige elke wanneer hoewel dus
    """.split()
)
"""Words that open sentences in the languages whose common words are not counted."""

NAME_ADJECTIVES = frozenset(
    """
    new old north south east west northern southern eastern western central upper lower great grand
    greater little big saint san santa los las fort port royal national united international federal
    first second third black white red green blue american british general high supreme world
    """.split()
)
"""Ordinary words that make one name into another: New Jersey is not Jersey."""

PLACES = frozenset(
    """
    afghanistan albania algeria america andorra angola arabia argentina armenia asia australia austria
    azerbaijan bahamas bahrain bangladesh barbados belarus belgium belize benin bhutan bolivia bosnia
    botswana brazil brunei bulgaria burundi cambodia cameroon canada chad chile china colombia congo
    croatia cuba cyprus czechia dominica ecuador egypt eritrea estonia ethiopia europe fiji finland
    gabon gambia georgia germany ghana grenada guatemala guinea guyana haiti honduras hungary iceland
    india indonesia iran iraq israel italy jamaica japan jordan kazakhstan kenya korea kosovo kuwait
    kyrgyzstan laos latvia lebanon liberia libya lithuania luxembourg macedonia madagascar malawi
    malaysia mali malta mauritania mauritius mexico moldova monaco mongolia montenegro morocco
    mozambique namibia nepal nicaragua niger nigeria oman pakistan palestine panama paraguay peru
    qatar romania russia rwanda samoa saudi senegal serbia seychelles singapore slovakia slovenia
    somalia sudan suriname syria taiwan tajikistan tanzania togo tonga trinidad tunisia turkmenistan
    uganda ukraine uruguay uzbekistan venezuela vietnam yemen zambia zimbabwe africa scandinavia
    siberia persia bengal punjab kashmir chechnya catalonia bavaria saxony tuscany sicily sardinia
    venice florence rome athens moscow berlin london paris hawaii alaska texas california virginia
    florida georgia arizona alabama louisiana pennsylvania indiana ohio oregon tennessee kentucky
    victoria tasmania queensland ontario quebec galicia andalusia prussia bohemia moravia flanders
    corsica crete thrace anatolia mesopotamia byzantium babylon carthage sparta tibet manchuria
    """.split()
)
"""Places whose people and adjectives are formed with a suffix."""

SPELLINGS_OF_ONE_NAME = (
    frozenset({"gaddafi", "qaddafi", "kadhafi", "gadhafi", "khadafi", "kaddafi", "qadhafi"}),
    frozenset({"kiev", "kyiv", "kyyiv"}),
    frozenset({"kharkov", "kharkiv"}),
    frozenset({"lvov", "lviv"}),
    frozenset({"odessa", "odesa"}),
    frozenset({"yeltsin", "eltsin", "jelzin"}),
    frozenset({"taliban", "taleban"}),
    frozenset({"koran", "quran", "coran"}),
    frozenset({"muslim", "moslem"}),
    frozenset({"beijing", "peking"}),
    frozenset({"tehran", "teheran"}),
    frozenset({"mecca", "makkah", "mekka"}),
    frozenset({"moscow", "moskva", "moskau"}),
    frozenset({"tchaikovsky", "chaikovsky", "tschaikowski", "tchaikovski"}),
    frozenset({"khrushchev", "chruschtschow", "khruschev"}),
)
"""Well-known names that no sound rule brings together."""

MONTHS_AND_DAYS = frozenset(
    """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
    mondays tuesdays wednesdays thursdays fridays saturdays sundays am pm bc ad bce ce gmt utc est
    pst cet
    """.split()
)
"""Words of dates; dates are decided elsewhere."""


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """About 20,000 English words that are written in lower case (built by training/lexicon.py)."""
    packed = resources.files("aletheia.grounding").joinpath("data/lexicon.txt.gz").read_bytes()
    return frozenset(gzip.decompress(packed).decode("ascii").split())


@cached_by_word
def is_common(word: str) -> bool:
    """Whether `word` (lower case) or its obvious base is an ordinary English word."""
    words = common_words()
    if word in words or word in FUNCTION_WORDS:
        return True
    for suffix, tail in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_BASE:
            base = word[: len(word) - len(suffix)]
            if base + tail in words:
                return True
    return False


# James is not the plural of `jam`, nor Peter one who pets: short bases and the endings of names
# derive nothing.
_SHORTEST_BASE = 5
_SUFFIXES = (
    ("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"), ("ly", ""), ("ily", "y"),
    ("ness", ""), ("less", ""), ("ally", ""), ("ation", "e"), ("ations", "e"),
)  # fmt: skip
