"""Signs of a statement: negation cues, opposite words, and clauses to compare them in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from aletheia.grounding.lexicon import FUNCTION_WORDS, OTHER_FUNCTION_WORDS
from aletheia.grounding.scripts import UNCASED
from aletheia.grounding.text import cached_by_word

NEGATIONS = frozenset(
    """
    not no never none nobody nothing neither nor without cannot cant wont dont doesnt didnt isnt arent
    wasnt werent hasnt havent hadnt wouldnt shouldnt couldnt mustnt neednt except lacks lacked lacking
    nicht kein keine keinen keiner keinem nie ohne pas jamais sans aucun aucune nunca ningún ninguna sin
    non mai senza não nem sem niet geen nooit zonder не нет без никогда nie bez inte ej ikke ingen
    नहीं न मत لا لم لن ليس ليست بدون غير
    """.split()
)
"""Words that turn a clause into its opposite. Latin ones are looked up without apostrophes."""

NEGATION_HINT = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|except|lack\w*|fail\w*|non)\b|n't\b|\bnon-"
    r"|\b(?:nicht|kein\w*|nie|ohne|pas|jamais|sans|nunca|sin|mai|senza|não|niet|geen|zonder|не|нет|без)\b"
    r"|नहीं|لا |لم |لن |ليس|不|没|沒|未|无|無|非|ない|ません|ぬ|않|없|아니",
    re.IGNORECASE,
)

_CUES = frozenset(
    "not no never none neither nor without cannot except nobody nothing non nicht pas "
    "jamais nunca senza niet geen zonder ohne nie".split()
)
_CUE_STEMS = ("lack", "fail", "kein")


def negation_positions(lower: str, words: frozenset[str]) -> list[int]:
    """Where a folded lower-case text, which consists of `words`, holds a negation cue.

    Only cues among the words are searched for: on ASCII text far faster than one pattern.
    """
    if not lower.isascii():
        return [match.start() for match in NEGATION_HINT.finditer(lower)]
    found = [place for cue in _CUES & words for place in occurrences(lower, cue, end=True)]
    found += [place for cue in _CUE_STEMS for place in occurrences(lower, cue, end=False)]
    if "n't" in lower:
        found += [match.start() for match in _CONTRACTED.finditer(lower)]
    return found


_CONTRACTED = re.compile(r"n't\b")


def occurrences(text: str, word: str, *, end: bool) -> Iterator[int]:
    """Places of `word` that begin (and, with `end`, stop) at the edge of a word."""
    place = text.find(word)
    while place >= 0:
        after = place + len(word)
        if not text[place - 1 : place].isalnum() and not (
            end and text[after : after + 1].isalnum()
        ):
            yield place
        place = text.find(word, after)


_PAIRS = """
enable disable|enabled disabled|include exclude|included excluded|increase decrease|increase fall|
increased decreased|rise fall|rose fell|risen fallen|grew shrank|accept reject|accepted rejected|
approve reject|approved rejected|open close|opened closed|open closed|win lose|won lost|pass fail|passed failed|
allow forbid|allowed forbidden|allow prohibit|allowed prohibited|permit prohibit|permitted prohibited|
permitted banned|allowed banned|legal illegal|lawful unlawful|before after|more less|more fewer|
most least|above below|maximum minimum|highest lowest|higher lower|high low|positive negative|
present absent|true false|buy sell|bought sold|import export|imported exported|start stop|
started stopped|begin end|began ended|always never|mandatory optional|required optional|
compulsory voluntary|public private|guilty innocent|convicted acquitted|alive dead|north south|
northern southern|east west|eastern western|active inactive|success failure|succeed fail|
succeeded failed|gain loss|profit loss|agree disagree|agreed disagreed|support oppose|
supported opposed|supports opposes|join leave|joined left|arrive depart|upgrade downgrade|
expand shrink|expanded contracted|strengthen weaken|strengthened weakened|improve worsen|
improved worsened|first last|earlier later|early late|older younger|oldest youngest|larger smaller|
largest smallest|longer shorter|longest shortest|faster slower|hot cold|warm cool|wet dry|male female|
inside outside|internal external|upper lower|top bottom|left right|hired fired|appointed dismissed|
accelerate slow|confirmed denied|confirm deny|admitted denied|same different|safe dangerous|
safe unsafe|known unknown|common rare|majority minority|parent child|lender borrower|seller buyer|
teacher student|winner loser|import export|ascending descending|acidic alkaline|benign malignant|
acute chronic|dominant recessive|arrival departure|entrance exit|credit debit|income expense|
taxable exempt|refundable nonrefundable|exhaustive nonexhaustive|flammable nonflammable|
taller shorter|heavier lighter|cheaper dearer|stronger weaker|better worse|best worst|
"""

_PREFIX_PAIRS = (
    ("hyper", "hypo"), ("pre", "post"), ("intra", "inter"), ("macro", "micro"), ("over", "under"),
    ("up", "down"), ("anti", "pro"), ("intra", "extra"), ("endo", "exo"), ("mono", "poly"),
    ("sub", "super"), ("in", "out"), ("en", "dis"), ("in", "de"), ("ante", "post"), ("tachy", "brady"),
    ("max", "min"), ("im", "ex"), ("in", "ex"), ("pro", "con"),
)  # fmt: skip
_NEGATIVE_PREFIXES = ("un", "non", "dis", "in", "im", "il", "ir", "mis")


def _opposites() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for pair in _PAIRS.replace("\n", "").split("|"):
        if pair.strip():
            one, other = pair.split()
            table.setdefault(one, set()).add(other)
            table.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in table.items()}


_OPPOSITES = _opposites()


@cached_by_word
def stem(word: str) -> str:
    """A light English stem of a lower-case word; other languages lose at most an ending."""
    word = _IRREGULAR.get(word, word)
    if len(word) <= 3:
        return word
    for suffix, least in _STEM_SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            word = word[: len(word) - len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1]
    return word[:9]


# Past forms that no ending shows.
_IRREGULAR = {
    past: verb
    for verb, pasts in {
        "uphold": "upheld", "hold": "held", "withhold": "withheld", "win": "won", "lose": "lost",
        "sell": "sold", "buy": "bought", "build": "built", "lead": "led", "make": "made", "pay": "paid",
        "say": "said", "go": "went gone", "give": "gave given", "take": "took taken", "come": "came",
        "become": "became", "begin": "began begun", "rise": "rose risen", "fall": "fell fallen",
        "grow": "grew grown", "meet": "met", "keep": "kept", "send": "sent", "spend": "spent",
        "choose": "chose chosen", "write": "wrote written", "speak": "spoke spoken",
        "break": "broke broken", "drive": "drove driven", "fly": "flew flown", "run": "ran",
        "see": "saw seen", "know": "knew known", "bring": "brought", "teach": "taught",
        "think": "thought", "catch": "caught", "seek": "sought", "fight": "fought", "hear": "heard",
        "tell": "told", "stand": "stood", "understand": "understood", "forbid": "forbade forbidden",
        "withdraw": "withdrew withdrawn", "draw": "drew drawn", "throw": "threw thrown",
        "wear": "wore worn", "swear": "swore sworn", "steal": "stole stolen", "shut": "shut",
        "eat": "ate eaten", "feed": "fed", "flee": "fled", "shoot": "shot", "strike": "struck",
    }.items()
    for past in pasts.split()
}  # fmt: skip

_STEM_SUFFIXES = (
    ("ational", 4), ("ization", 4), ("isation", 4), ("fulness", 4), ("iveness", 4), ("ations", 4),
    ("ation", 4), ("ments", 4), ("ment", 4), ("ingly", 4), ("edly", 4), ("ities", 4), ("ness", 4),
    ("ions", 4), ("ies", 2), ("ion", 4), ("ing", 3), ("ers", 4), ("ors", 4), ("ied", 2), ("est", 4),
    ("ity", 4), ("ers", 4), ("ed", 3), ("er", 4), ("or", 4), ("es", 3), ("ly", 4), ("al", 4), ("s", 3),
)  # fmt: skip


@cached_by_word
def opposites(word: str) -> frozenset[str]:
    """Words (lower case) that mean the opposite of `word`, as far as form or a pair shows it."""
    found = set(_OPPOSITES.get(word, ()))
    for one, other in _PREFIX_PAIRS:
        for a, b in ((one, other), (other, one)):
            if word.startswith(a) and len(word) - len(a) >= 4:
                found.add(b + word[len(a) :])
    for prefix in _NEGATIVE_PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= 4:
            found.add(word[len(prefix) :])
        if len(word) >= 4:
            found.add(prefix + word)
    return frozenset(found)


def is_listed_opposite(a: str, b: str) -> bool:
    """Whether two lower-case words stand in the table of pairs."""
    return b in _OPPOSITES.get(a, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A piece of a sentence small enough that one negation governs it.

    `start`, `end` are offsets in the folded text, `stems` the stems of its content words,
    `words` the content words themselves (lower case), `negated` the parity of its cues.
    """

    start: int
    end: int
    words: frozenset[str]
    stems: frozenset[str]
    negated: bool


_BREAK = re.compile(
    r"[;:]|,\s+(?:but|and|while|whereas|although|though|which|who)\b|\s(?:but|while|whereas|although)\s"
    r"|\s-\s|[.!?](?=\s|$)|\n|[。！？；]",
    re.IGNORECASE,
)
_AND = re.compile(r"\s(?:and|und|et|y|e|en)\s", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_STOP = FUNCTION_WORDS.union(*OTHER_FUNCTION_WORDS.values()) - {"more", "less", "most", "least", "before",
    "after", "above", "below", "always", "never", "over", "under", "up", "down", "all", "some"}  # fmt: skip
_ROOTLESS = {"non"}


def clauses(folded: str, start: int, end: int) -> list[Clause]:
    """The clauses of `folded[start:end]`, coordinated ones also taken apart."""
    found: list[Clause] = []
    position = start
    for match in _BREAK.finditer(folded, start, end):
        found.extend(_split_and(folded, position, match.start()))
        position = match.end()
    found.extend(_split_and(folded, position, end))
    return found


def _split_and(folded: str, start: int, end: int) -> Iterable[Clause]:
    whole = clause(folded, start, end)
    if whole is None:
        return ()
    parts = [start, *(m.start() for m in _AND.finditer(folded, start, end)), end]
    if len(parts) == 2:
        return (whole,)
    pieces = [clause(folded, a, b) for a, b in pairwise(parts)]
    return (whole, *(piece for piece in pieces if piece is not None and len(piece.words) >= 2))


def clause(folded: str, start: int, end: int) -> Clause | None:
    """The clause `folded[start:end]`, or None when it holds no content word.

    Scripts without capitals are compared by `scripts.uncased_findings` instead.
    """
    if UNCASED.search(folded, start, end):
        return None
    content: set[str] = set()
    cues = 0
    neither = False
    for token in _TOKEN.findall(folded, start, end):
        word = token.lower()
        if "'" in word:
            if word.endswith("n't"):
                cues += 1
                continue
            word = word.partition("'")[0]
        if word == "nor" and neither:
            continue  # the second half of one negation
        neither = neither or word == "neither"
        if word in NEGATIONS or word in _ROOTLESS:
            cues += 1
        elif word not in _STOP and len(word) > 1:
            content.add(word)
    if not content:
        return None
    return Clause(
        start=start,
        end=end,
        words=frozenset(content),
        stems=frozenset(map(stem, content)),
        negated=cues % 2 == 1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opposition:
    """Two clauses that say the same with opposite signs; `cue` is the word that shows it."""

    reason: str
    cue: str


MIN_SHARED = 2
"""Content words two clauses must share before their signs are compared."""


def opposed(claim: Clause, evidence: Clause) -> Opposition | None:
    """Whether `evidence` says the opposite of `claim`.

    All of the claim's content must stand in the evidence clause, up to one opposite pair; anything
    looser confuses two different statements.
    """
    missing = [word for word in claim.words if stem(word) not in evidence.stems]
    shared = len(claim.words) - len(missing)
    if not missing:
        if (
            shared >= MIN_SHARED
            and claim.negated != evidence.negated
            and _comparable(claim, evidence)
        ):
            return Opposition(reason="negation", cue="not")
        return None
    if len(missing) > 1 or claim.negated != evidence.negated or shared < 1:
        return None
    word = missing[0]
    other = min(opposites(word) & evidence.words, default=None)
    if other is None or stem(other) in claim.stems:
        return None
    if shared < MIN_SHARED and not _comparable(claim, evidence):
        return None
    return Opposition(reason="opposite_word", cue=other)


def _comparable(claim: Clause, evidence: Clause) -> bool:
    """Whether the evidence clause is about the same thing, not a longer list that holds it."""
    return len(evidence.words) <= len(claim.words) + 1


def agrees(claim: Clause, evidence: Clause) -> bool:
    """Whether the evidence clause holds all of the claim with the same sign."""
    return claim.negated == evidence.negated and claim.stems <= evidence.stems
