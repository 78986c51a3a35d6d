"""Evidence as a caller gives it, read into numbered units. What cannot be read is an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from aletheia.errors import DataError
from aletheia.grounding.numbering import number
from aletheia.grounding.relaxed_json import NumberText
from aletheia.schema.evidence import EvidenceSet, EvidenceText

__all__ = ["UNIT_KEYS", "EvidenceLike", "read_evidence", "text_of"]

EvidenceLike = str | EvidenceSet | Iterable[str | Mapping[str, object] | EvidenceText]
"""One text, numbered units, or an ordered collection of texts, mappings and `EvidenceText`."""

UNIT_KEYS: Final = ("text", "source", "aliases")
"""The keys of a unit that is given as a mapping; others are not read."""

_NOT_LISTS: Final = (str, bytes, bytearray, Mapping, AbstractSet)
"""What can be walked through and is no list of units; a set has no order to number them by."""


def read_evidence(given: EvidenceLike | None) -> EvidenceSet:
    """Read `given` into units numbered `E1`, `E2`, ... in its order, blank ones left out.

    A plain string is one unit. In a mapping only `text`, `source` and `aliases` are read.
    Raises DataError that names the place, such as `evidence[2].source`.
    """
    if isinstance(given, EvidenceSet):
        return given
    return number([_unit(item, f"evidence[{index}]") for index, item in enumerate(_items(given))])


def _items(given: object) -> Iterable[object]:
    if _is_text(given):
        return (given,)
    if not isinstance(given, Iterable) or isinstance(given, _NOT_LISTS):
        hint = "give a list of texts or of objects with `text`"
        raise DataError(f"it is {_named(given)}", field="evidence", hint=hint)
    return given


def _unit(item: object, where: str) -> EvidenceText:
    if isinstance(item, EvidenceText):
        text_of(item.text, f"{where}.text")
        return item
    if isinstance(item, Mapping):
        return _from_mapping(item, where)
    return EvidenceText(text=text_of(item, where))


def _from_mapping(item: Mapping[object, object], where: str) -> EvidenceText:
    misspelled = _misspelled(item)
    if misspelled is not None:
        key, meant = misspelled
        raise DataError(f"{key!r} is not a key", field=where, hint=f"did you mean `{meant}`?")
    if "text" not in item:
        raise DataError(
            "it has no `text`", field=where, hint="a unit is a text or an object with `text`"
        )
    source = item.get("source")
    return EvidenceText(
        text=text_of(item["text"], f"{where}.text"),
        source=None if source is None else text_of(source, f"{where}.source"),
        aliases=_aliases(item.get("aliases"), f"{where}.aliases"),
    )


def _misspelled(item: Mapping[object, object]) -> tuple[str, str] | None:
    """Find a key that is nearly one of ours: leaving it unread would lose what it says."""
    for key in item:
        if key not in UNIT_KEYS:
            near = _near(str(key))
            if near is not None and near not in item:
                return str(key), near
    return None


@lru_cache(maxsize=256)
def _near(key: str) -> str | None:
    return next(iter(get_close_matches(key.lower(), UNIT_KEYS, n=1, cutoff=0.8)), None)


def _aliases(given: object, where: str) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise DataError(f"it is {_named(given)}", field=where, hint="give a list of texts")
    return tuple(text_of(alias, f"{where}[{index}]") for index, alias in enumerate(given))


def text_of(value: object, where: str) -> str:
    """Return `value` if it is text. Raises DataError for the field `where` if not."""
    if not isinstance(value, str) or not _is_text(value):
        raise DataError(f"it is {_named(value)}, not text", field=where)
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, NumberText)


def _named(value: object) -> str:
    """Name the type in words of JSON where there is one."""
    if value is None:
        return "null"
    if isinstance(value, NumberText):
        return "a number"
    return f"a `{type(value).__name__}`"
