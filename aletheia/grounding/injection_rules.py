"""The rules by which an order to a model is known, read from `data/injection.toml`.

Each rule is tried only where one of its words stands, and every pattern is bounded, so that time
grows with the length of the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, Literal, cast

from aletheia.grounding.hidden_orders import CODED_WORDS

InjectionKind = Literal[
    "override",  # ignore the instructions, new instructions
    "verdict_order",  # how to judge, or the judgement itself as JSON
    "role",  # a role header, words to a model, a new role for it
    "template_token",  # a token of a chat template
    "forged_structure",  # an end of the data, a heading or a unit that is none of ours
    "prompt_leak",  # an order to show the prompt
    "hidden_text",  # characters that nobody sees and that spell something
    "encoded",  # an order in base64, hexadecimal, rot13 or backwards
    "comment",  # words to a model in an HTML comment
    "many_shot",  # a row of examples of the wanted verdict
]

Found = tuple[InjectionKind, int, int]
"""What was found, with offsets of the text that was read."""

_REACH: Final = 112
_MOST: Final = 1000
"""How often one word is looked at in one text, so that a text of nothing else costs little."""
_FRAGMENT: Final = re.compile(r"GAP|SHORT|ORDERS|SUP|MODEL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`then` is matched at a word or stem, `before` must match right before it.

    One of `signs` stands in every text that it matches; empty where there is no such sign.
    """

    kind: InjectionKind
    language: str | None
    before: re.Pattern[str] | None
    then: re.Pattern[str]
    reach: int = _REACH
    absent_from: str | None = None
    signs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules by the word or stem at which they are tried."""

    by_word: Mapping[str, tuple[Rule, ...]]
    by_stem: Mapping[str, tuple[Rule, ...]]
    triggers: frozenset[str]
    signs: Mapping[str, str]
    """The triggers that no rule is tried at where a text holds none of these signs."""
    of_language: frozenset[str]
    """The triggers of rules that are about words, which an order over two units consists of."""

    def worth_trying(self, words: Iterable[str], texts: Sequence[str]) -> frozenset[str]:
        """Return those of `words`, triggers of `texts`, at which a rule could match."""
        return frozenset([word for word in words if self._has_sign(word, texts)])

    def _has_sign(self, word: str, texts: Sequence[str]) -> bool:
        signs = self.signs.get(word)
        if signs is None:
            return True
        for text in texts:
            for sign in signs:
                if sign in text:
                    return True
        return False


@cache
def all_rules() -> Rules:
    """Return the rules, read once."""
    source = resources.files("aletheia.grounding") / "data" / "injection.toml"
    table = tomllib.loads(source.read_text(encoding="utf-8"))
    by_word: dict[str, list[Rule]] = {}
    by_stem: dict[str, list[Rule]] = {}
    for entry in table["rule"]:
        rule = _rule(entry, table["fragments"])
        for word in entry.get("words", "").split():
            by_word.setdefault(word, []).append(rule)
        for stem in entry.get("stems", ()):
            by_stem.setdefault(stem.lower(), []).append(rule)
    return Rules(
        by_word={word: tuple(rules) for word, rules in by_word.items()},
        by_stem={stem: tuple(rules) for stem, rules in by_stem.items()},
        triggers=frozenset(by_word) | CODED_WORDS,
        signs={
            word: "".join(dict.fromkeys("".join([rule.signs for rule in rules])))
            for word, rules in by_word.items()
            if word not in CODED_WORDS and all(rule.signs for rule in rules)
        },
        of_language=frozenset(
            word for word, rules in by_word.items() if any(rule.language for rule in rules)
        ),
    )


def _rule(entry: Mapping[str, str], fragments: Mapping[str, str]) -> Rule:
    def compiled(pattern: str) -> re.Pattern[str]:
        return re.compile(_FRAGMENT.sub(lambda match: fragments[match.group()], pattern))

    return Rule(
        kind=cast("InjectionKind", entry["kind"]),
        language=entry.get("language"),
        before=compiled(entry["before"]) if "before" in entry else None,
        then=compiled(entry["then"]),
        reach=int(entry.get("reach", _REACH)),
        absent_from=entry.get("except"),
        signs=entry.get("signs", ""),
    )


def ruled(low: str, where: str, words: Iterable[str]) -> Iterator[Found]:
    """What the rules find at `words` and at stems in a lower-case text, each rule once a word."""
    rules = all_rules()
    for word in sorted(words):
        yield from _at(low, word, rules.by_word.get(word, ()), where, whole=True)
    if not low.isascii():
        for stem, its_rules in rules.by_stem.items():
            if stem in low:
                yield from _at(low, stem, its_rules, where, whole=False)


def _at(low: str, word: str, rules: Iterable[Rule], where: str, *, whole: bool) -> Iterator[Found]:
    waiting = [rule for rule in rules if rule.absent_from != where]
    position = low.find(word)
    for _ in range(_MOST):
        if position < 0 or not waiting:
            return
        if not (whole and position and low[position - 1].isalnum()):
            for rule in tuple(waiting):
                span = _match(rule, low, position)
                if span is not None:
                    waiting.remove(rule)
                    yield (rule.kind, *span)
        position = low.find(word, position + len(word))


def _match(rule: Rule, low: str, position: int) -> tuple[int, int] | None:
    start = position
    if rule.before is not None:
        head = low[max(0, position - rule.reach) : position]
        before = rule.before.search(head)
        if before is None:
            return None
        start -= len(head) - before.start()
    then = rule.then.match(low, position)
    if then is None or (rule.language is not None and _is_quoted(low, start, then.end())):
        return None
    return start, then.end()


_QUOTES: Final = {
    '"': '"', "“": "”", "„": "“”", "«": "»", "‘": "’", "'": "'", "`": "`", "»": "«",
    "「": "」", "『": "』",
}  # fmt: skip
_TALK: Final = re.compile(
    r"\b(?:such as|e\.g\.|for example|for instance|known as|phrases? like|called|prompt injections?"
    r"|jailbreaks?|attackers? (?:writes?|says?)|told to|tells? (?:it|them|the model) to"
    r"|asked to)\b[^.!?\n]{0,30}$"
)


def _is_quoted(low: str, start: int, end: int) -> bool:
    """Whether somebody only tells of such an order: it is in quotation marks, or an example."""
    head = low[max(0, start - 60) : start]
    opening = head.rstrip()[-1:] or low[start]
    closing = _QUOTES.get(opening, "")
    if closing and any(sign in low[end : end + 120] for sign in closing):
        return True
    return _TALK.search(head) is not None


# --- rows of examples -------------------------------------------------------------------------

_EXAMPLE: Final = re.compile(
    r"\b(?:verdict|label|judg[e]?ment|assistant|grade|result|output|answer)[\"']?\s{0,3}[:=]\s{0,3}"
    r"[\"']?(?:fully )?(?:supported|grounded|faithful)\b"
)
_MANY: Final = 3


def examples(low: str) -> Iterator[Found]:
    """Find a row of examples of the wanted verdict in a lower-case text."""
    if sum(map(low.count, ("supported", "grounded", "faithful"))) < _MANY:
        return
    shots = list(_EXAMPLE.finditer(low))
    if len(shots) >= _MANY:
        yield "many_shot", shots[0].start(), shots[-1].end()
