"""Which retrieved units hold the answer, decided without a model.

With supporting facts the graph decides. Without them, the gold answer or an alias must stand in
the unit word for word. Whether that can decide anything depends on the gold answer alone, never
on the evidence, so that a miss and a hit are equally likely to be counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from aletheia.grounding.text import fold, plain
from aletheia.ragas_bridge.base import MetricSample, context_of
from aletheia.schema.evidence import EvidenceUnit

_TOKEN = re.compile(r"\d+(?:[.:]\d+)*|[^\W\d_]+|[%$€£¥+#°]")
_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LIST = re.compile(r"\s*[;,\n]\s*(?:and\s+|or\s+)?|\s+and\s+|\s+or\s+|\s+&\s+")
_POLAR = frozenset(
    ("yes", "no", "true", "false", "none", "unknown", "neither", "both", "correct", "incorrect")
)
# Scripts that put no space between words; group 1 to 3 tell runs of one script apart.
_SPACELESS = re.compile(
    r"([\u3400-\u9fff\uf900-\ufaff])|([\u3040-\u309f])|([\u30a0-\u30ff])|([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])"
)
_MOST_WORDS = 8
_MOST_CHARACTERS = 24
_ACRONYM = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Verdicts over one row.

    `units` has one verdict per evidence unit in rank order; `wanted` pairs each thing that had
    to be retrieved with whether it was. `basis` says what decided.
    """

    units: tuple[bool, ...]
    wanted: tuple[tuple[str, bool], ...]
    basis: str


def judge(sample: MetricSample) -> Relevance | str:
    """Relevance of every unit of the sample, or why it cannot be decided."""
    units = sample.evidence.units
    if sample.supporting_facts and any(unit.facts for unit in units):
        return _by_facts(units, tuple(dict.fromkeys(sample.supporting_facts)))
    return _by_words(units, sample.gold_answer, sample.gold_aliases)


def _by_facts(units: tuple[EvidenceUnit, ...], facts: tuple[str, ...]) -> Relevance:
    retrieved = {fact for unit in units for fact in unit.facts}
    return Relevance(
        units=tuple(not set(facts).isdisjoint(unit.facts) for unit in units),
        wanted=tuple((fact, fact in retrieved) for fact in facts),
        basis="supporting facts",
    )


def _by_words(
    units: tuple[EvidenceUnit, ...], gold: str, aliases: tuple[str, ...]
) -> Relevance | str:
    forms = [form for form in (gold, *aliases) if _undecidable(form) is None]
    if _is_polar(gold) or not forms:
        why = _undecidable(gold) or "it is blank"
        return f"the gold answer cannot be looked for word for word: {why}; give supporting facts"
    whole = [_any(unit, forms) for unit in units]
    parts = _parts(gold)
    each = {part: [_any(unit, [part]) for unit in units] for part in parts}
    if True in whole or not parts:
        verdicts, wanted = whole, [(gold, _or(whole))]
    else:
        verdicts = [_or([found[i] for found in each.values()]) for i in range(len(units))]
        wanted = [(part, _or(found)) for part, found in each.items()]
    return _decided(verdicts, wanted)


def _decided(verdicts: list[bool | None], wanted: list[tuple[str, bool | None]]) -> Relevance | str:
    if None in verdicts or None in [found for _, found in wanted]:
        return "the gold answer stands inside a longer run of a script without word spaces"
    return Relevance(
        units=tuple(bool(verdict) for verdict in verdicts),
        wanted=tuple((part, bool(found)) for part, found in wanted),
        basis="gold answer words",
    )


def _or(verdicts: list[bool | None]) -> bool | None:
    if True in verdicts:
        return True
    return None if None in verdicts else False


def _any(unit: EvidenceUnit, forms: list[str]) -> bool | None:
    text = context_of(unit)
    return _or([carries(text, form) for form in forms])


def carries(text: str, form: str) -> bool | None:
    """Whether `form` stands in `text` as whole words; None when its script cannot tell."""
    if _SPACELESS.search(form):
        return _carries_run(_flat(text).casefold(), _flat(form).casefold().strip())
    needle, hay = _words(form), _words(text)
    size = len(needle)
    return size > 0 and any(
        all(map(_same, needle, hay[i : i + size])) for i in range(len(hay) - size + 1)
    )


def _same(wanted: str, found: str) -> bool:
    # `IT` and `WHO` are not `It` and `who`; from four letters on, `NATO` may be `Nato`.
    if 1 < len(wanted) <= _ACRONYM and wanted.isupper() and found != wanted:
        return len(wanted) > 3 and found == wanted.title()
    return plain(wanted.casefold()) == plain(found.casefold())


def _carries_run(text: str, form: str) -> bool | None:
    inside = False
    start = text.find(form)
    while start >= 0:
        end = start + len(form)
        if _boundary(text, start) and _boundary(text, end):
            return True
        inside = True
        start = text.find(form, start + 1)
    return None if inside else False


def _boundary(text: str, position: int) -> bool:
    """Whether a word may end before `position`: an edge, a non-letter, or a change of script."""
    if position in (0, len(text)):
        return True
    before, after = text[position - 1], text[position]
    if not (before.isalnum() and after.isalnum()):
        return True
    return _script(before) != _script(after)


def _script(char: str) -> int:
    match = _SPACELESS.match(char)
    return match.lastindex or 0 if match else 0


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(_flat(text)))


def _flat(text: str) -> str:
    return _GROUPING.sub("", fold(text).text)


def _is_polar(form: str) -> bool:
    words = _words(form)
    return bool(words) and words[0].casefold() in _POLAR


def _undecidable(form: str) -> str | None:
    """Why whole-word search for `form` would prove nothing, or None."""
    words = _words(form)
    if not words:
        return f"`{form}` holds no word"
    if _is_polar(form):
        return f"`{form}` is a verdict, not something that stands in a text"
    if len(words) == 1 and words[0].isdigit() and len(words[0]) < 3:
        return f"`{form}` is a small number, which stands in many texts by chance"
    if len(words) == 1 and len(words[0]) == 1 and not _SPACELESS.match(words[0]):
        return f"`{form}` is a single letter"
    long = len(form) > _MOST_CHARACTERS if _SPACELESS.search(form) else len(words) > _MOST_WORDS
    return f"it is a description of {len(words)} words" if long else None


def _parts(gold: str) -> tuple[str, ...]:
    """Items of a gold answer that is a list; empty for any other.

    Only commas, semicolons and line ends make a list: `and` alone is part of many names. A
    piece that starts with a digit may belong to a date or an address, so it makes no list.
    """
    flat = _GROUPING.sub("", gold)
    if not re.search(r"[;,\n]", flat):
        return ()
    parts = tuple(dict.fromkeys(part.strip() for part in _LIST.split(flat) if part.strip()))
    if len(parts) < 2 or any(part[0].isdigit() or _undecidable(part) for part in parts):
        return ()
    return parts
