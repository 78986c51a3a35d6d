"""Read a reply as a bijection: every id asked is answered once, and nothing else is.

What does not fit costs that item alone. Nothing is looked for in prose, no word is found inside
another, no number becomes a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from aletheia.grounding.numbering import is_blank
from aletheia.grounding.relaxed_json import NumberText, Pairs, strict_loads
from aletheia.grounding.reply_scan import scan
from aletheia.judges.roster import Family, Item, Roster

DEEPEST: Final = 5
"""How many objects or lists may stand around an item."""

_KEYS: Final[dict[str, str]] = {
    alias: name
    for name, aliases in {
        "id": "id key idx index item claimid questionid subquestionid itemid",
        "check": "check hash checksum checkcode",
        "verdict": "verdict label judgement judgment",
        "evidence_ids": "evidenceids evidence units unitids citations citedids evidenceid",
        "why": "why reason reasoning explanation",
        "answers": "answers questions questionids answeredquestions",
        "off_topic": "offtopic extra",
        "quote": "quote span",
        "text": "text claim statement",
        "kind": "kind type",
    }.items()
    # The name as the prompts write it is found without folding it.
    for alias in (name, *aliases.split())
}
_SIGNS: Final = re.compile(r"[\s_-]+")
_ID: Final = re.compile(
    r"(?:claim|statement|sub-?question|question|item)?[\s_#:.-]*(?P<family>[qc])?[\s_#:.-]*"
    r"0*(?P<number>[1-9]\d{0,4})",
    re.IGNORECASE,
)
_SECTIONS: Final[dict[str, Family]] = {
    **dict.fromkeys(("claims", "claim", "faithfulness", "statements"), "C"),
    **dict.fromkeys(("questions", "subquestions", "question", "sufficiency"), "Q"),
}

Fields = Mapping[str, object]
"""An item of a reply under our names for its fields. `duplicate_key` marks a contradiction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """The JSON values of a reply, each told once. `problem` says why there is none."""

    values: tuple[object, ...] = ()
    cut: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsRead:
    """The items of one roster. Every item asked is in `fields` or in `problems`, never in both.

    `unknown` are ids of the reply that were not asked.
    """

    fields: dict[str, Fields] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


def decode(text: str, *, cut: bool = False) -> Decoded:
    """Find the JSON in a reply. `cut` says that the endpoint stopped it at its length."""
    if is_blank(text):
        return Decoded(cut=cut, problem="empty_reply")
    try:
        return _checked(_unquoted(strict_loads(text)), cut=cut)
    except (ValueError, RecursionError):
        return _scanned(text, cut=cut)


def _unquoted(value: object) -> object:
    """Read an object that was written into a JSON string."""
    if type(value) is str and value.lstrip()[:1] in ("{", "["):
        return strict_loads(value)
    return value


def _scanned(text: str, *, cut: bool) -> Decoded:
    try:
        found = scan(text)
    except RecursionError:
        return Decoded(cut=cut, problem="unreadable")
    cut = cut or found.unfinished_thought or any(item.cut for item in found.broken)
    values: list[object] = []
    for candidate in found.objects:
        cut = cut or candidate.unclosed
        # A model that says the same thing twice, draft and result, says it once.
        if not (_is_whole(candidate.value) and candidate.value in values):
            values.append(candidate.value)
    return _checked(*values, cut=cut)


def _is_whole(value: object) -> bool:
    """Tell a whole reply from a single item."""
    return any(isinstance(inner, list) for inner in _inner(value))


def _checked(*values: object, cut: bool) -> Decoded:
    kept = tuple(value for value in values if isinstance(value, list))
    if any(_is_schema(value) for value in kept):
        return Decoded(cut=cut, problem="schema_echo")
    if not kept:
        return Decoded(cut=cut, problem="truncated" if cut else "unreadable")
    return Decoded(values=kept, cut=cut)


def _is_schema(value: object) -> bool:
    """Tell a reply that is the schema itself."""
    if not isinstance(value, Pairs):
        return False
    keys = dict(value)
    return isinstance(keys.get("properties"), Pairs) and keys.get("type") == "object"


def read_items(decoded: Decoded, rosters: Sequence[Roster]) -> dict[Family, ItemsRead]:
    """Match the items of a reply with those asked, for each family that was asked."""
    found: dict[Family, dict[str, list[Fields]]] = {item.family: {} for item in rosters}
    only = rosters[0].family if len(rosters) == 1 else None
    for value in decoded.values:
        for family, key, fields in _items(value, only, 0):
            if family in found:
                found[family].setdefault(key, []).append(fields)
    missing = decoded.problem or ("truncated" if decoded.cut else "missing")
    return {item.family: _matched(item, found[item.family], missing) for item in rosters}


def _matched(asked: Roster, found: dict[str, list[Fields]], missing: str) -> ItemsRead:
    fields: dict[str, Fields] = {}
    problems: dict[str, str] = {}
    for item in asked.items:
        answers = found.get(item.key, [])
        problem = missing if not answers else _problem(item, answers)
        if problem is None:
            fields[item.key] = answers[0]
        else:
            problems[item.key] = problem
    known = {item.key for item in asked.items}
    return ItemsRead(
        fields=fields, problems=problems, unknown=tuple(key for key in found if key not in known)
    )


def _problem(item: Item, answers: list[Fields]) -> str | None:
    if len(answers) > 1:
        return "duplicate_id"
    if "duplicate_key" in answers[0]:
        return "duplicate_key"
    check = answers[0].get("check")
    if check is not None and (not isinstance(check, str) or _folded_check(check) != item.check):
        return "check_mismatch"
    return None


def _folded_check(check: str) -> str:
    return check.strip(" ()#\"'`").casefold()


def _items(
    value: object, family: Family | None, depth: int
) -> Iterator[tuple[Family, str, Fields]]:
    """Yield every item in `value`; `family` is what the list around it is about, if known."""
    if depth > DEEPEST:
        return
    if isinstance(value, Pairs):
        read = _identified(named(value), family)
        if read is not None:
            yield read
            return
        for key, inner in value:
            section = _SECTIONS.get(key) or _SECTIONS.get(_folded(key), family)
            keyed = _keyed(key, inner, section)
            if keyed is not None:
                yield keyed
            else:
                yield from _items(inner, section, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _items(inner, family, depth + 1)


def _identified(fields: Fields, family: Family | None) -> tuple[Family, str, Fields] | None:
    # `claim` names the item where there is no other id; elsewhere it is its text.
    marks = [fields[name] for name in ("id", "text") if name in fields]
    for mark in marks:
        found = read_id(mark, family)
        if found is not None:
            return found[0], f"{found[0]}{found[1]}", fields
    return None


def _keyed(key: str, inner: object, family: Family | None) -> tuple[Family, str, Fields] | None:
    """Read `"C1": {"verdict": "Y"}`."""
    match = _ID.fullmatch(key.strip())
    if not isinstance(inner, Pairs) or match is None or match["family"] is None:
        return None
    found = read_id(key, family)
    return None if found is None else (found[0], f"{found[0]}{found[1]}", named(inner))


def read_id(value: object, family: Family | None) -> tuple[Family, int] | None:
    """Read `C1`, `c01`, `claim 1`, and a bare number where the family is known."""
    if not isinstance(value, str):
        return None
    if isinstance(value, NumberText):
        return (family, int(value)) if family is not None and _is_whole_number(value) else None
    match = _ID.fullmatch(value.strip(" ()[]\"'`*"))
    if match is None:
        return None
    letter = match["family"]
    if letter is not None:
        return ("Q" if letter in "qQ" else "C", int(match["number"]))
    return None if family is None else (family, int(match["number"]))


def _is_whole_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5


def named(pairs: Pairs) -> Fields:
    """Return the fields of an object under our names; those we do not know are left out."""
    fields: dict[str, object] = {}
    for key, value in pairs:
        name = _KEYS.get(key) or _KEYS.get(_folded(key))
        if name is None:
            continue
        if name in fields and fields[name] != value:
            fields["duplicate_key"] = key
        fields.setdefault(name, value)
    return fields


def _folded(key: str) -> str:
    return _SIGNS.sub("", key.strip().casefold())


def _inner(value: object) -> list[object]:
    if isinstance(value, Pairs):
        return [inner for _, inner in value]
    return list(value) if isinstance(value, list) else []
