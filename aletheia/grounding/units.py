"""Units, currencies and scale words, and exact conversion within one dimension.

A table instead of a units library: the checks need some hundred aliases and exact factors, looked
up in one dictionary access. A library that parses unit expressions costs more to import than the
whole command may take to answer `--help`, and works in floats by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal
from unicodedata import normalize

from aletheia.grounding.number_names import (
    CURRENCY_NAMES,
    NO_UNITS,
    PERCENT_NAMES,
    POINT_NAMES,
    SCALE_NAMES,
    UNIT_NAMES,
    ends_word,
    joined_scales,
)

Exact = int | Fraction
"""Values are exact: an int, or a fraction when they are not whole."""

Kind = Literal[
    "number", "percent", "points", "money", "measure", "ordinal", "fraction", "ratio", "version"
]


def listed(words: str) -> list[str]:
    """Split a listing of words; word lists read better on a few lines than on sixty."""
    return words.split()


@dataclass(frozen=True, slots=True)
class Unit:
    """`symbol` is canonical. A value in the base of `dimension` is `value * factor + offset`."""

    symbol: str
    dimension: str
    factor: Exact = 1
    offset: Exact = 0


@dataclass(frozen=True, slots=True)
class Suffix:
    """What a word beside a numeral says: a scale (`10 ** power`), a unit, a currency or a kind.

    `divisor` turns cents into the currency they belong to and per mille into percent.
    """

    power: int = 0
    kind: Kind | None = None
    unit: str | None = None
    currency: str | None = None
    divisor: int = 1
    factor: int = 1


# Each row: the symbol, its dimension, factor and offset, aliases in any case, and symbols as
# they are written.
_F = Fraction
_TABLE: Final[tuple[tuple[str, str, Exact, Exact, str, str], ...]] = (
    ("mm", "length", _F(1, 1000), 0, "millimetre millimetres millimeter millimeters", "mm"),
    ("cm", "length", _F(1, 100), 0, ("centimetre centimetres centimeter centimeters zentimeter "
     "centimètres centímetros centimetri"), "cm"),
    ("m", "length", 1, 0, "metre metres meter meters mètre mètres metros metri", "m"),
    ("km", "length", 1000, 0, ("kilometre kilometres kilometer kilometers kms kilomètre kilomètres "
     "kilómetro kilómetros chilometri quilômetros quilómetros"), "km"),
    ("nm", "length", _F(1, 10**9), 0, "nanometre nanometres nanometer nanometers", "nm"),
    ("µm", "length", _F(1, 10**6), 0, ("micron microns micrometre micrometres micrometer "
     "micrometers"), "µm μm um"),
    ("in", "length", _F(254, 10**4), 0, "inch inches zoll pulgadas pouces", ""),
    ("ft", "length", _F(3048, 10**4), 0, "foot feet", "ft"),
    ("yd", "length", _F(9144, 10**4), 0, "yard yards", "yd yds"),
    ("mi", "length", _F(1609344, 1000), 0, "mile miles meilen millas", "mi"),
    ("nmi", "length", 1852, 0, "nautical-mile nautical-miles", "nmi"),
    ("ly", "lightyear", 1, 0, "light-year light-years lightyear lightyears", "ly"),
    ("AU", "au", 1, 0, "astronomical-unit astronomical-units", "AU"),
    ("mg", "mass", _F(1, 1000), 0, "milligram milligrams milligramme milligrammes", "mg"),
    ("µg", "mass", _F(1, 10**6), 0, "microgram micrograms", "µg μg ug mcg"),
    ("g", "mass", 1, 0, "gram grams gramme grammes gramm gramos grammi gramas", "g gr"),
    ("kg", "mass", 1000, 0, ("kilogram kilograms kilogramme kilogrammes kilo kilos kgs kilogramm "
     "kilogramos chilogrammi quilos"), "kg Kg KG"),
    ("t", "mass", 10**6, 0, "tonne tonnes metric-ton metric-tons tonnen toneladas tonnellate", "t"),
    ("ton", "ton", 1, 0, "ton tons", ""),
    ("lb", "mass", _F(45359237, 10**5), 0, "pound pounds lbs", "lb lbs"),
    ("oz", "mass", _F(45359237, 16 * 10**5), 0, "ounce ounces", "oz"),
    ("ms", "time", _F(1, 1000), 0, "millisecond milliseconds", "ms"),
    ("s", "time", 1, 0, "second seconds sec secs sekunden secondes segundos secondi", "s"),
    ("min", "time", 60, 0, "minute minutes mins minuten minutos minuti minuut", "min"),
    ("h", "time", 3600, 0, ("hour hours hr hrs stunde stunden heure heures hora horas "
     "ore uur uren"), "h"),
    ("d", "time", 86400, 0, ("day days tag tage tagen jour jours día días giorno giorni dia dias "
     "dag dagen business-day business-days"), ""),
    ("wk", "time", 604800, 0, ("week weeks wk wks woche wochen semaine semaines semana semanas "
     "settimana settimane weken fortnight-week"), ""),
    ("mo", "month", 1, 0, ("month months monat monate monaten mois meses mese mesi mês maand "
     "maanden"), ""),
    ("yr", "month", 12, 0, ("year years yr yrs jahr jahre jahren ans année années año años anno "
     "anni ano anos jaar jaren"), ""),
    ("decade", "month", 120, 0, "decade decades jahrzehnt jahrzehnte década décadas", ""),
    ("century", "month", 1200, 0, "centuries jahrhunderte siècles siglos", ""),
    ("m^2", "area", 1, 0, ("sqm square-metre square-metres square-meter square-meters "
     "quadratmeter"), "m^2 m2"),
    ("km^2", "area", 10**6, 0, ("square-kilometre square-kilometres square-kilometer "
     "square-kilometers quadratkilometer sq-km"), "km^2 km2"),
    ("ft^2", "area", _F(3048**2, 10**8), 0, "square-foot square-feet sqft sq-ft", "ft^2 ft2"),
    ("mi^2", "area", _F(1609344**2, 10**6), 0, "square-mile square-miles sq-mi", "mi^2"),
    ("ha", "area", 10**4, 0, "hectare hectares hektar hectáreas", "ha"),
    ("acre", "area", _F(40468564224, 10**7), 0, "acre acres", ""),
    ("ml", "volume", _F(1, 1000), 0, "millilitre millilitres milliliter milliliters", "ml mL"),
    ("cl", "volume", _F(1, 100), 0, "centilitre centilitres centiliter centiliters", "cl cL"),
    ("l", "volume", 1, 0, "litre litres liter liters litro litros litri", "l L"),
    ("m^3", "volume", 1000, 0, "cubic-metre cubic-metres cubic-meter cubic-meters", "m^3 m3"),
    ("cm^3", "volume", _F(1, 1000), 0, ("cc cubic-centimetre cubic-centimetres cubic-centimeter "
     "cubic-centimeters"), "cm^3 cm3"),
    ("gal", "volume", _F(3785411784, 10**9), 0, "gallon gallons", "gal"),
    ("bbl", "barrel", 1, 0, "barrel barrels", "bbl"),
    ("cup", "cup", 1, 0, "cup cups", ""),
    ("tbsp", "spoon", 3, 0, "tablespoon tablespoons", "tbsp"),
    ("tsp", "spoon", 1, 0, "teaspoon teaspoons", "tsp"),
    ("m/s", "speed", 1, 0, "metres-per-second meters-per-second m/sec", "m/s"),
    ("km/h", "speed", _F(1000, 3600), 0, ("kph kmh km/hr kilometres-per-hour kilometers-per-hour "
     "kilometres-an-hour kilometers-an-hour km-per-hour km-an-hour stundenkilometer "
     "kilómetros-por-hora"), "km/h"),
    ("km/s", "speed", 1000, 0, "kilometres-per-second kilometers-per-second", "km/s"),
    ("mph", "speed", _F(1609344, 3600 * 1000), 0, "mph miles-per-hour miles-an-hour mi/h", "mph"),
    ("kn", "speed", _F(1852, 3600), 0, "knot knots", "kn kt"),
    ("m/s^2", "acceleration", 1, 0, "", "m/s^2"),
    ("K", "temperature", 1, 0, "kelvin kelvins", ""),
    ("°C", "temperature", 1, _F(27315, 100), ("celsius centigrade degrees-celsius degree-celsius "
     "degrees-centigrade degrees-c grad-celsius"), "°C ℃"),
    ("°F", "temperature", _F(5, 9), _F(45967 * 5, 900), ("fahrenheit degrees-fahrenheit "
     "degree-fahrenheit degrees-f"), "°F ℉"),
    ("°", "angle", 1, 0, "degree degrees", "°"),
    ("bit", "data", _F(1, 8), 0, "bit bits", "bit"),
    ("B", "data", 1, 0, "byte bytes", ""),
    ("kB", "data", 10**3, 0, "kilobyte kilobytes", "kB KB"),
    ("MB", "data", 10**6, 0, "megabyte megabytes", "MB"),
    ("GB", "data", 10**9, 0, "gigabyte gigabytes", "GB Gb"),
    ("TB", "data", 10**12, 0, "terabyte terabytes", "TB"),
    ("PB", "data", 10**15, 0, "petabyte petabytes", "PB"),
    ("KiB", "data", 2**10, 0, "kibibyte kibibytes", "KiB"),
    ("MiB", "data", 2**20, 0, "mebibyte mebibytes", "MiB"),
    ("GiB", "data", 2**30, 0, "gibibyte gibibytes", "GiB"),
    ("kbit/s", "rate", 10**3, 0, "kbps", "kbit/s kb/s"),
    ("Mbit/s", "rate", 10**6, 0, "mbps", "Mbit/s Mb/s"),
    ("Gbit/s", "rate", 10**9, 0, "gbps", "Gbit/s Gb/s"),
    ("W", "power", 1, 0, "watt watts", "W"),
    ("kW", "power", 10**3, 0, "kilowatt kilowatts", "kW KW"),
    ("MW", "power", 10**6, 0, "megawatt megawatts", "MW"),
    ("GW", "power", 10**9, 0, "gigawatt gigawatts", "GW"),
    ("hp", "horsepower", 1, 0, "horsepower", "hp bhp PS"),
    ("J", "energy", 1, 0, "joule joules", "J"),
    ("kJ", "energy", 10**3, 0, "kilojoule kilojoules", "kJ"),
    ("Wh", "energy", 3600, 0, "watt-hour watt-hours", "Wh"),
    ("kWh", "energy", 3600 * 10**3, 0, "kilowatt-hour kilowatt-hours", "kWh"),
    ("MWh", "energy", 3600 * 10**6, 0, "megawatt-hour megawatt-hours", "MWh"),
    ("GWh", "energy", 3600 * 10**9, 0, "gigawatt-hour gigawatt-hours", "GWh"),
    ("TWh", "energy", 3600 * 10**12, 0, "terawatt-hour terawatt-hours", "TWh"),
    # Food labels write Calories for kilocalories, so the three are one unit.
    ("kcal", "calorie", 1, 0, "calorie calories kilocalorie kilocalories kcals", "kcal cal"),
    ("V", "voltage", 1, 0, "volt volts", "V"),
    ("kV", "voltage", 1000, 0, "kilovolt kilovolts", "kV"),
    ("mV", "voltage", _F(1, 1000), 0, "millivolt millivolts", "mV"),
    ("A", "current", 1, 0, "ampere amperes amp amps", ""),
    ("mAh", "charge", 1, 0, "", "mAh"),
    ("Hz", "frequency", 1, 0, "hertz", "Hz"),
    ("kHz", "frequency", 10**3, 0, "kilohertz", "kHz"),
    ("MHz", "frequency", 10**6, 0, "megahertz", "MHz"),
    ("GHz", "frequency", 10**9, 0, "gigahertz", "GHz"),
    ("Pa", "pressure", 1, 0, "pascal pascals", "Pa"),
    ("hPa", "pressure", 100, 0, "hectopascal hectopascals millibar millibars", "hPa mbar"),
    ("kPa", "pressure", 1000, 0, "kilopascal kilopascals", "kPa"),
    ("MPa", "pressure", 10**6, 0, "megapascal megapascals", "MPa"),
    ("psi", "psi", 1, 0, "psi", "psi"),
    ("mmHg", "mmHg", 1, 0, "mmhg", "mmHg"),
    ("mg/dL", "concentration", _F(1, 100), 0, "mg/dl", "mg/dL"),
    ("mg/L", "concentration", _F(1, 1000), 0, "mg/l", "mg/L"),
    ("g/L", "concentration", 1, 0, "g/l", "g/L"),
    ("mmol/L", "molarity", 1, 0, "mmol/l", "mmol/L"),
    ("mg/kg", "dose", 1, 0, "mg/kg", "mg/kg"),
    ("ppm", "share", 1000, 0, "ppm", "ppm"),
    ("ppb", "share", 1, 0, "ppb", "ppb"),
    ("dB", "level", 1, 0, "decibel decibels", "dB dBA"),
    ("bpm", "bpm", 1, 0, "bpm beats-per-minute", "bpm"),
    ("rpm", "rpm", 1, 0, "rpm revolutions-per-minute", "rpm"),
    ("mpg", "mpg", 1, 0, "mpg miles-per-gallon", "mpg"),
    ("px", "px", 1, 0, "pixel pixels", "px"),
    ("MP", "mp", 1, 0, "megapixel megapixels", "MP"),
    ("times", "times", 1, 0, "times fold fois veces", "x"),
    # Said for a thousand and a thousandth of what everybody knows is meant.
    ("kilo", "kilo", 1, 0, "", ""),
    ("milli", "milli", 1, 0, "", ""),
)  # fmt: skip

UNITS: Final[dict[str, Unit]] = {row[0]: Unit(*row[:4]) for row in _TABLE}
"""Canonical symbol to unit."""

# canonical code or class, symbols and words (case-insensitive)
_CURRENCIES: Final[tuple[tuple[str, str], ...]] = (
    ("$", "$ dollar dollars dólares dollari bucks"),
    ("USD", "usd us$ us-dollar us-dollars u.s.-dollars american-dollars"),
    ("CAD", "cad c$ ca$ canadian-dollars"),
    ("AUD", "aud a$ au$ australian-dollars"),
    ("NZD", "nzd nz$ new-zealand-dollars"),
    ("HKD", "hkd hk$ hong-kong-dollars"),
    ("SGD", "sgd s$ singapore-dollars"),
    ("TWD", "twd nt$"),
    ("MXN", "mxn mx$"),
    ("BRL", "brl r$ reais"),
    ("EUR", "€ eur euro euros"),
    ("GBP", "£ gbp sterling quid pounds-sterling"),
    ("¥", "¥"),
    ("JPY", "jpy yen jp¥"),
    ("CNY", "cny rmb yuan renminbi cn¥"),
    ("₹", "₹ inr rs rs. rupee rupees"),
    ("kr", "kr crown crowns krone kroner krona kronor kronen couronnes koruna korun kč"),
    ("SEK", "sek"), ("NOK", "nok"), ("DKK", "dkk"), ("CZK", "czk"), ("ISK", "isk"),
    ("CHF", "chf sfr swiss-francs franken fr."),
    ("franc", "franc francs"),
    ("₽", "₽ rub ruble rubles rouble roubles"),
    ("₩", "₩ krw"),
    ("PLN", "pln zł zloty zlotys złotych"),
    ("₺", "₺ lira liras"),
    ("₪", "₪ ils shekel shekels"),
    ("peso", "peso pesos"),
    ("ZAR", "zar rand"),
    ("₦", "₦ ngn naira"),
    ("฿", "฿ thb baht"),
    ("AED", "aed dirham dirhams"),
    ("SAR", "sar riyal riyals"),
    ("UAH", "₴ uah hryvnia hryvnias"),
    ("VND", "₫ vnd"),
    ("BTC", "btc bitcoin bitcoins ₿"),
)  # fmt: skip

_FAMILIES: Final[dict[str, frozenset[str]]] = {
    "$": frozenset(listed("USD CAD AUD NZD HKD SGD TWD MXN cent")),
    "¥": frozenset(listed("JPY CNY")),
    "kr": frozenset(listed("SEK NOK DKK CZK ISK")),
    "franc": frozenset({"CHF"}),
    "cent": frozenset(listed("$ USD EUR CAD AUD")),
}

_SCALES: Final[dict[int, str]] = {
    2: "hundred",
    3: "thousand k tausend tsd tsd. mille mil mila duizend",
    5: "lakh lakhs lac lacs",
    6: "million millions mn mln mio mio. m. mm. millionen millones millón milioni milione milhão "
    "milhões miljoen",
    7: "crore crores cr",
    9: "billion billions bn bln milliard milliards milliarde milliarden mrd mrd. miliardi "
    "miljard mil-millones",
    12: "trillion trillions tn trn billionen",
}
_PERCENT: Final = (
    "% percent pct pct. per-cent prozent procent per-cento por-ciento por-cento pour-cent "
    "por_ciento percents " + PERCENT_NAMES
)
_POINTS: Final = (
    "percentage-point percentage-points %-points prozentpunkte pp pp. p.p. ppt " + POINT_NAMES
)


def _spelled(words: str, said: Suffix) -> dict[str, Suffix]:
    """Give every name as folded text has it; Hebrew abbreviations with either mark."""
    folded = normalize("NFKC", words)
    return dict.fromkeys((*folded.split(), *folded.replace('"', "\u05f4").split()), said)


def _suffixes() -> dict[str, Suffix]:
    table: dict[str, Suffix] = {}
    for symbol, _, _, _, aliases, _ in _TABLE:
        table.update(dict.fromkeys(aliases.split(), Suffix(kind="measure", unit=symbol)))
    for code, words in _CURRENCIES:
        table.update(dict.fromkeys(words.split(), Suffix(kind="money", currency=code)))
    cents = Suffix(kind="money", currency="cent", divisor=100)
    table.update(dict.fromkeys(("cents", "cent", "¢", "pence"), cents))
    for power, words in _SCALES.items():
        table.update(dict.fromkeys(words.split(), Suffix(power=power)))
    table.update({word: Suffix(power=power) for word, power in joined_scales().items()})
    for power, words in SCALE_NAMES.items():
        table.update(_spelled(words, Suffix(power=power)))
    for symbol, words in UNIT_NAMES.items():
        table.update(_spelled(words, Suffix(kind="measure", unit=symbol)))
    for code, words in CURRENCY_NAMES.items():
        table.update(_spelled(words, Suffix(kind="money", currency=code)))
    table.update(dict.fromkeys(_PERCENT.split(), Suffix(kind="percent")))
    table.update(dict.fromkeys(_POINTS.split(), Suffix(kind="points")))
    table["‰"] = Suffix(kind="percent", divisor=10)
    basis = Suffix(kind="points", divisor=100)
    table.update(dict.fromkeys(("basis-points", "basis-point", "bps"), basis))
    table.update(dict.fromkeys(("dozen", "dozens"), Suffix(factor=12)))
    return table


_NAMES: Final[dict[str, Suffix]] = _suffixes()
_SYMBOLS: Final[dict[str, Suffix]] = {
    **{symbol: Suffix(kind="measure", unit=row[0]) for row in _TABLE for symbol in row[5].split()},
    "M": Suffix(power=6),
    "K": Suffix(power=3),
    "MM": Suffix(power=6),
    "B": Suffix(power=9),
    "T": Suffix(power=12),
    "tr": Suffix(power=12),
    "Md": Suffix(power=9),
}
# Letters that mean a scale or a unit only when they touch the number.
_ATTACHED: Final[dict[str, Suffix]] = {
    "b": Suffix(power=9),
    "C": Suffix(kind="measure", unit="°C"),
    "F": Suffix(kind="measure", unit="°F"),
    "in": Suffix(kind="measure", unit="in"),
    "p": Suffix(kind="money", currency="GBP", divisor=100),
    "fold": Suffix(kind="measure", unit="times"),
    "с": Suffix(kind="measure", unit="s"),  # a preposition where a space stands between
    "times": Suffix(kind="measure", unit="times"),
}
# Abbreviations that stand for something else (a state, a title) in capitals.
_NEVER_CAPITALS: Final = frozenset({"mn", "tn", "cr", "mil", "lac", "ore"})
UNIT_STARTS: Final = frozenset(
    word.split("-")[0] for word in _NAMES if "-" in word and not word.startswith("-")
)
"""First words of names that take more than one word (`square`, `percentage`)."""
LOOKUP: Final = frozenset(
    {*_NAMES, *_SYMBOLS, *_ATTACHED, *UNIT_STARTS, "x", *map(str.capitalize, _NAMES)}
    | {name.upper() for name in _NAMES}
)
"""Every word that may say something about the numeral before it; most words are not in it."""

QUICK: Final[dict[str, Suffix]] = {
    word: found
    for word, found in {**_NAMES, **_SYMBOLS}.items()
    if len(word) > 1 and word.isalpha() and word not in UNIT_STARTS
}
"""Words that mean one thing after a number and a space, whatever follows them."""


def suffix(word: str, *, attached: bool) -> Suffix | None:
    """Tell what `word` after a numeral says, or None. `attached`: no space between them.

    Words of several parts are joined with hyphens: `percentage-points`, `square-metres`.
    """
    if attached and word in _ATTACHED:
        return _ATTACHED[word]
    found = _SYMBOLS.get(word)
    if found is not None:
        return found
    lower = word.lower()
    if len(lower) == 1 and lower.isascii() and lower.isalpha() and lower != "k":
        return None
    if lower in _NEVER_CAPITALS and word.isupper():
        return None
    return _NAMES.get(lower)


def is_dense(char: str) -> bool:
    """Whether words of this letter's script are written together: Thai, Han, kana, Hangul."""
    return char >= "\u2e80" or "\u0e00" <= char <= "\u0eff"


_LONGEST_DENSE: Final = max(len(name) for name in _NAMES if is_dense(name[0]))


def leading_suffix(run: str) -> tuple[int, Suffix | None]:
    """Read the unit that a run of a dense script begins with, and its length; 0 and None for none.

    The longest name counts, so that a word that only begins as a unit does is none (`NO_UNITS`).
    """
    for size in range(min(_LONGEST_DENSE, len(run)), 0, -1):
        name = run[:size]
        if name in NO_UNITS:
            return 0, None
        item = _NAMES.get(name)
        if item is None:
            continue
        if item.kind is None or ends_word(name, run[size:]):
            return size, item
    return 0, None


def currency_of(mark: str) -> str | None:
    """Currency of a sign, code or word written before a number; None when it is none."""
    found = _NAMES.get(mark.lower())
    return found.currency if found is not None else None


@lru_cache(maxsize=1024)
def same_currency(one: str, other: str) -> bool:
    """Whether two currencies may be the same: `$` may be any dollar, `USD` is not `CAD`."""
    return (
        one == other
        or other in _FAMILIES.get(one, frozenset())
        or one in _FAMILIES.get(other, frozenset())
    )


_SHORT_FORMS: Final = frozenset(
    {("°", "°C"), ("°", "°F"), ("kilo", "kg"), ("kilo", "km")}
    | {("milli", "mm"), ("milli", "ml"), ("milli", "mg")}
)


def same_unit(one: str | None, other: str | None) -> bool:
    """Whether two units may be one: `degrees` leaves the scale open, a Japanese `kilo` the kind."""
    return one == other or (one, other) in _SHORT_FORMS or (other, one) in _SHORT_FORMS


def meanings(symbol: str) -> tuple[str, ...]:
    """Return the units that a short form of two kinds may stand for; the unit itself elsewhere."""
    return _MEANINGS.get(symbol, (symbol,))


_MEANINGS: Final[dict[str, tuple[str, ...]]] = {
    "kilo": ("kg", "km"),
    "milli": ("mm", "ml", "mg"),
}


@lru_cache(maxsize=1024)
def same_dimension(one: str, other: str) -> bool:
    """Whether values in the two units can be converted into each other."""
    return UNITS[one].dimension == UNITS[other].dimension


def distance(one: Exact, other: Exact) -> Exact:
    """How far two values are apart."""
    return one - other if one > other else other - one


def convert(value: Exact, source: str, target: str) -> Exact:
    """`value` in unit `source`, expressed exactly in unit `target` of the same dimension."""
    start, end = UNITS[source], UNITS[target]
    exact = Fraction((value * start.factor + start.offset - end.offset) / Fraction(end.factor))
    return exact.numerator if exact.denominator == 1 else exact
